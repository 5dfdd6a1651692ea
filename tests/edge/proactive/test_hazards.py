"""Signs of acute danger in single sentences, and everyday life that only sounds like it."""

from __future__ import annotations

import pytest

from edge.proactive.alerts import SPEAKABLE_S, speak, spoken_s
from edge.proactive.hazards import MISTAKES, TABLE, TECHNIQUES, advice, mistake, warning

DANGERS = {
    "blade": ["Her thumb is under the knife.", "cuts towards his hand", "grabs the falling knife by the blade", "pushes the chisel towards the other hand",
              "The fingers are close to the spinning grinder disc.", "A sleeve is caught in the drill.", "catches a falling knife", "The needle points at the wearer's finger.", "cuts the bagel in the palm of the hand"],
    "distraction": ["looks away while cutting bread", "slices the loaf while looking at the phone"],
    "burn": ["touches the hot pan without a glove", "The hand is right above the boiling water.", "a bare hand on the hot tray", "lifts the lid and steam hits the hand"],
    "fire": ["The paper lies on top of the burner.", "the oil in the pan is on fire", "Smoke comes out of the toaster.", "Flames shoot out of the pan."],
    "flammable": ["The candle stands next to the curtain.", "pours petrol onto the barbecue", "The hot iron lies face down on the shirt."],
    "boiling over": ["The pot boils over."],
    "slippery floor": ["spills oil on the floor", "walks over the wet tiles"],
    "slippery ground": ["The steps in front of the door are covered with ice.", "runs down the icy stairs"],
    "opening": ["walks towards the open manhole", "leans out over the edge of the roof", "stands beyond the yellow line"],
    "falling": ["The wheelchair rolls down the ramp.", "The shelf tips over towards the wearer.", "the patient is about to fall out of bed"],
    "animal": ["A dog growls and bares its teeth."],
    "weather": ["Lightning strikes near the lake."],
    "broken glass": ["The jar shatters on the floor.", "shards of glass near the bare feet"],
    "fall": ["the chair wobbles under the wearer", "loses her balance on the stairs", "stands on the top step of the ladder"],
    "traffic": ["crosses the street while looking at the phone", "A car is approaching fast from the left.", "driving while texting", "A forklift backs up towards the wearer.", "A cyclist races straight at the wearer."],
    "eyes off the way": ["looks down at the phone while riding the bicycle", "texts while walking down the stairs"],
    "electricity": ["plugs in the kettle with wet hands", "pokes a fork into the toaster", "touches an exposed wire"],
    "current": ["The hair dryer lies on the edge of the bathtub full of water.", "drills into a live cable"],
    "machine": ["reaches under the running lawn mower", "holds the chainsaw with one hand", "reaches into the shredder"],
    "unprotected": ["welds without a mask", "climbs the scaffold without a harness", "pours acid with bare hands"],
    "child": ["A toddler reaches for the pan handle.", "the child crawls towards the open stairs", "The baby rolls towards the edge of the changing table.", "a boy climbs onto the railing of the balcony"],
    "dose": ["swallows a second dose of the tablets", "takes the sleeping pill with a glass of wine"],
    "gas": ["It smells of gas in the cellar.", "the generator is running in the closed garage"],
    "fumes": ["pours vinegar into the bucket with bleach"],
}  # fmt: skip
SLIPS = {
    "shaky hold": ["films the bird with the phone in one shaking hand", "the camera wobbles"],
    "too hard": ["scrubs the pan too hard", "overtightens the bolt"],
    "slipping": ["The wrench slips off the nut."],
    "short grip": ["holds the hammer near the head", "grips the racket too high up the handle"],
    "bending": ["pulls on the fabric and the needle bends", "strips the head of the screw"],
    "overloaded": ["paint drips from the roller"],
    "too fast": ["saws far too fast"],
    "blunt": ["cuts the tomato with a blunt knife"],
    "posture": ["squats and the knees cave in"],
    "wrong way round": ["holds the paddle upside down"],
    "tilted": [
        "pushes the saw crooked through the board",
        "drilling at an angle",
        "holds the syringe at the wrong angle",
    ],
    "bent back": ["picks up a crate with a rounded back"],
    "distance": ["The person waters the seedlings from too high.", "sprays the paint too close to the panel"],
    "tip": ["The person cuts the cardboard with only the tips of the scissors."],
    "wrong tool": ["uses a knife as a screwdriver", "the screwdriver is too small for the screw"],
}
WRONG = {
    "wrong way": [
        "The person inserts the battery the wrong way round.",
        "screws the side panel on upside down",
        "is putting the sweater on inside out",
    ],
    "wrong thing": [
        "The person pours the juice into the wrong glass.",
        "A hand is pressing the wrong button on the lift.",
    ],
    "mix-up": ["C adds salt instead of sugar to the dough.", "accidentally deletes the file"],
    "nothing under it": ["The person starts the coffee machine without a cup."],
}
NOT_WRONG = [
    "turns the jar upside down to empty it", "corrects the wrong word in the text", "A sign reads wrong way.", "notices the wrong key and takes it out",
    "turns the battery around because it was in the wrong way", "walks backwards through the door", "takes the stairs instead of the lift",
]  # fmt: skip
HARMLESS = [
    "cut carrot", "put knife in drawer", "washes the knife with her fingers", "holds the knife by the handle", "turn on hob",
    "takes the hot tray out with oven gloves", "boil water", "wipes spilled water from the floor", "sweeps up the broken glass",
    "puts the plate near the knife rack", "looks at the phone", "chops an onion", "A car is parked by the road.",
    "walks along the street", "stands on the balcony", "On the television a car speeds towards a wall.",
    "lights the candle", "puts the kettle on the burner", "dries wet hands with a towel", "climbs the stairs",
    "sharpens the chisel on the stone", "saws a board held in the vice", "holds the child's hand near the road", "takes a tablet with water",
    "fills the car with petrol at the petrol station", "turns off the gas", "reads to the child on the sofa", "the baby climbs over the toy knife",
    "pushes the needle through the cloth", "pulls the drawer with the knives open", "puts a tea towel into the washing machine",
    "puts bleach on the shelf next to the vinegar", "the dog runs over the toy", "warms hands by the fireplace",
    "reads messages on the bus", "looks at the phone while the bus drives on", "rides a bicycle along the canal", "walks down the stairs with a basket",
    "the bus comes round the corner towards the stop", "pushes the cart towards the checkout", "a dog runs after the ball", "a child plays in the sandbox",
    "the children swim in the pool", "the boy holds his mother's hand on the street", "the path is covered with leaves", "digs a hole in the ground",
    "sits down on the edge of the bed", "smoke rises from the barbecue", "the sauce bubbles over a low flame", "wipes the table with bleach",
    "opens the letter without gloves", "puts the cup into the running dishwasher", "holds it under running water", "cuts the cake without help",
    "the photo of a boy by the pool", "do not overfill the pan", "pours the coffee quickly", "bends the rod around the pipe", "turns the nut slowly",
    "drops the needle into the sharps container", "the lamp is burning on the table", "the pots come down from the shelf",
]  # fmt: skip


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in DANGERS.items() for t in texts])
def test_dangers(name, text):
    found = warning(text)
    assert found is not None and found.name == name


@pytest.mark.parametrize("text", HARMLESS)
def test_everyday_life(text):
    assert warning(text) is None
    assert advice(text) is None


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in SLIPS.items() for t in texts])
def test_slips_of_technique(name, text):
    found = advice(text)
    assert found is not None and found.name == name
    assert warning(text) is None, "not a danger"


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, texts in WRONG.items() for t in texts])
def test_mistakes_that_are_named(name, text):
    found = mistake(text)
    assert found is not None and found.name == name


@pytest.mark.parametrize("text", [*HARMLESS, *NOT_WRONG])
def test_no_mistake_is_made_up(text):
    assert mistake(text) is None


def test_each_hazard_is_tested_and_can_be_said():
    assert set(DANGERS) == {h.name for h in TABLE}
    assert set(SLIPS) == {h.name for h in TECHNIQUES}
    assert set(WRONG) == {h.name for h in MISTAKES}
    for hazard in (*TABLE, *TECHNIQUES):
        assert spoken_s(speak("safety", hazard=hazard.say)) <= SPEAKABLE_S / 1.5, "a warning is short"
