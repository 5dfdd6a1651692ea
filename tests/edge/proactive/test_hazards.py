"""Signs of acute danger in single sentences, and everyday life that only sounds like it."""

from __future__ import annotations

import pytest

from edge.proactive.alerts import SPEAKABLE_S, speak, spoken_s
from edge.proactive.hazards import TABLE, TECHNIQUES, advice, warning

DANGERS = {
    "blade": ["Her thumb is under the knife.", "cuts towards his hand", "grabs the falling knife by the blade", "pushes the chisel towards the other hand",
              "The fingers are close to the spinning grinder disc.", "A sleeve is caught in the drill."],
    "distraction": ["looks away while cutting bread", "slices the loaf while looking at the phone"],
    "burn": ["touches the hot pan without a glove", "The hand is right above the boiling water.", "a bare hand on the hot tray"],
    "fire": ["The paper lies on top of the burner.", "the oil in the pan is on fire"],
    "slippery floor": ["spills oil on the floor", "walks over the wet tiles"],
    "broken glass": ["The jar shatters on the floor.", "shards of glass near the bare feet"],
    "fall": ["the chair wobbles under the wearer", "loses her balance on the stairs", "stands on the top step of the ladder"],
    "traffic": ["crosses the street while looking at the phone", "A car is approaching fast from the left.", "driving while texting"],
    "electricity": ["plugs in the kettle with wet hands", "pokes a fork into the toaster", "touches an exposed wire"],
    "child": ["A toddler reaches for the pan handle.", "the child crawls towards the open stairs"],
    "dose": ["swallows a second dose of the tablets", "takes the sleeping pill with a glass of wine"],
    "gas": ["It smells of gas in the cellar.", "the generator is running in the closed garage"],
    "fumes": ["pours vinegar into the bucket with bleach"],
}  # fmt: skip
SLIPS = {
    "shaky hold": ["films the bird with the phone in one shaking hand", "the camera wobbles"],
    "too hard": ["scrubs the pan too hard", "overtightens the bolt"],
    "slipping": ["The wrench slips off the nut."],
    "short grip": ["holds the hammer near the head"],
    "tilted": ["pushes the saw crooked through the board", "drilling at an angle"],
    "bent back": ["picks up a crate with a rounded back"],
    "wrong tool": ["uses a knife as a screwdriver", "the screwdriver is too small for the screw"],
}
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


def test_each_hazard_is_tested_and_can_be_said():
    assert set(DANGERS) == {h.name for h in TABLE}
    assert set(SLIPS) == {h.name for h in TECHNIQUES}
    for hazard in (*TABLE, *TECHNIQUES):
        assert spoken_s(speak("safety", hazard=hazard.say)) <= SPEAKABLE_S / 1.5, "a warning is short"
