"""Reading acts, leaving, dues and belongings from words, as people and perception put them."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from edge.clock import US
from edge.proactive.acts import Act, clauses, read, told
from edge.proactive.due import NEVER, due_of
from edge.proactive.experts_c import spoken
from edge.proactive.leaving import at_home, going, signs
from edge.proactive.openings import closure_of, fold, seen_in
from storage.records import Intention, Item, Window

WEARER = frozenset({"wearer", ""})
T0 = 1_772_438_400 * US


@pytest.mark.parametrize(
    ("text", "doings"),
    [
        ("The person is eating ice cream from a tub.", ("eats ice cream from a tub",)),
        ("A hand is unplugging the power bank.", ("unplugs the power bank",)),
        ("The person is taking the milk and closing the fridge.", ("takes the milk", "closes the fridge")),
        ("C is carrying a box and lying down.", ("carries a box", "lies down")),
        ("The person is washing the cup", ("washes the cup",)),
        ("Baking powder and a washing machine", ("baking powder", "washing machine")),
        ("Nothing is on the ceiling", ("nothing is on the ceiling",)),
    ],
)
def test_a_caption_in_the_progressive_tells_the_same_doings(text, doings):
    assert clauses(text) == doings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("turn on hob", Act("power", True, "hob")),
        ("The wearer turns off the stove.", Act("power", False, "stove")),
        ("switch the oven off", Act("power", False, "oven")),
        ("turn on the heat to medium", Act("power", True, "heat")),
        ("turns the gas off under the pan", Act("power", False, "gas")),
        ("put the oven on", Act("power", True, "oven")),
        ("put on coat", None),
        ("put pan on hob", None),
        ("put lid on", Act("power", True, "lid")),
        ("opens the fridge", Act("open", True, "fridge")),
        ("open fridge door", Act("open", True, "fridge door")),
        ("The person shuts the refrigerator with her foot", Act("open", False, "refrigerator")),
        ("closing the front door behind him", Act("open", False, "front door")),
        ("lock front door", Act("open", False, "front door")),
        ("take milk from fridge", None),
        ("open bag of peas from freezer", Act("open", True, "bag of peas")),
        ("lights a candle on the table", Act("power", True, "candle")),
        ("blow out candle", Act("power", False, "candle")),
        ("extinguish fire", Act("power", False, "fire")),
        ("plug in iron", Act("power", True, "iron")),
        ("unplug the iron", Act("power", False, "iron")),
        ("run the tap", Act("power", True, "tap")),
        ("stir soup", None),
        ("fridge", None),
        ("", None),
    ],
)
def test_acts(text, expected):
    got = read(text.lower())
    if expected is None:
        assert got is None
    else:
        assert got is not None
        assert (got.way, got.begins) == (expected.way, expected.begins)
        row = closure_of(expected.way, expected.thing)
        assert closure_of(got.way, got.thing) is row
        assert row is not None or got.thing == expected.thing


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I turned off the stove.", [("off", "stove")]),
        ("I've already switched the iron off.", [("off", "iron")]),
        ("Don't worry, the oven is off.", [("off", "oven")]),
        ("The front door's locked.", [("off", "front door")]),
        ("I'll leave the window open for the cat.", [("stay", "window")]),
        ("Keep the lights on, please.", [("stay", "lights")]),
        ("I have to turn off the stove.", []),
        ("Can you close the window?", [("stay", "window")]),
        ("Could you keep an eye on the soup for a minute?", [("stay", "soup")]),
        ("Should we close the window?", []),
        ("Nice weather today.", []),
    ],
)
def test_words_about_the_state_of_things(text, expected):
    assert list(told(text)) == expected


@pytest.mark.parametrize(
    ("way", "thing", "name"),
    [
        ("power", "hob", "cooker"), ("power", "gas ring", "cooker"), ("power", "water tap", "tap"), ("power", "kettle", None),
        ("open", "refrigerator", "fridge"), ("open", "fridge door", "fridge"), ("open", "cupboard", None), ("open", "door", None),
        ("open", "back door", "outer door"), ("open", "living door", None), ("open", "bathroom window", "window"),
        ("open", "freezer drawer", None), ("power", "bedroom light", "light"), ("power", "oven knob", "oven"), ("open", "oven", None),
    ],
)  # fmt: skip
def test_what_is_worth_a_reminder(way, thing, name):
    row = closure_of(way, thing)
    assert (row.name if row else None) == name


def event(second, act, number=0, who="wearer"):
    action, thing = act.split(" | ")
    text = f"{who} {action} {thing}"
    return Item(number or second, 1, "event", T0 + second * US, 0, text, who, action, thing)


def speech(second, text, who="wearer"):
    return Item(second, 1, "speech", T0 + second * US, 0, text, speaker=who)


def books(*items, until=3600):
    return fold(seen_in(items, WEARER), T0 + until * US)


def test_open_until_closed_by_anybody_or_in_any_words():
    start = event(10, "open | fridge")
    assert set(books(start, until=60).standing) == {"fridge"}
    for end in (
        event(20, "close | refrigerator"),
        event(20, "shut | fridge door", who="Anna"),
        speech(20, "The fridge is closed."),
    ):
        assert books(start, end, until=60).standing == {}


def test_a_bare_closing_ends_what_was_opened_last():
    begun = [event(10, "open | front door"), event(30, "open | fridge"), event(35, "turn on | hob")]
    assert set(books(*begun, event(40, "close | door"), until=60).standing) == {"outer door", "cooker"}
    assert set(books(*begun, event(40, "turn | it off"), until=60).standing) == {"outer door", "fridge"}
    assert set(books(*begun, event(40, "switch off | everything"), until=60).standing) == {"outer door", "fridge"}


def test_the_act_of_another_is_not_the_wearers_to_mend():
    assert books(event(10, "open | fridge", who="Anna"), until=60).standing == {}


def test_a_caption_may_tell_of_several_acts_and_of_others():
    def caption(second, text):
        return Item(second, 1, "caption", T0 + second * US, 0, text)

    begun = caption(10, "The wearer opens the fridge and takes out the milk.")
    assert set(books(begun, until=60).standing) == {"fridge"}
    assert not books(begun, caption(20, "The wearer pours milk, closes the fridge and sits down."), until=60).standing
    assert not books(begun, caption(20, "Anna closes the fridge."), until=60).standing
    assert not books(begun, caption(20, "A man shuts the fridge door."), until=60).standing
    assert not books(caption(10, "Someone opens the fridge."), until=60).standing
    assert books(caption(10, "She turns on the oven while holding a tray."), until=60).standing


def test_one_act_seen_twice_is_one():
    caption = Item(11, 1, "caption", T0 + 10 * US, 0, "opens the fridge")
    one = books(event(10, "open | fridge"), caption, until=60)
    assert one.begun["open"] == 1 and one.missed["open"] == 0


def test_closings_that_are_never_seen_end_the_trust():
    items = [event(100 * n, "open | drawer") for n in range(1, 6)]
    found = books(*items, event(900, "open | fridge"), until=1000)
    assert found.missed["open"] >= 4
    assert not found.trusted(found.standing["fridge"], going=True)
    seen = [event(100 * n + d, f"{w} | drawer") for n in range(1, 6) for d, w in ((0, "open"), (9, "close"))]
    found = books(*seen, event(900, "open | fridge"), until=1000)
    assert found.trusted(found.standing["fridge"], going=False)


def test_after_its_time_nothing_is_claimed():
    assert books(event(10, "open | fridge"), until=60 * 29).standing
    assert not books(event(10, "open | fridge"), until=60 * 31).standing


def leaves(*items, scene="", before=""):
    window = Window("r", T0, T0 + 300 * US, 0, scene=scene)
    previous = Window("r", T0 - 30 * US, T0, 0, scene=before) if before else None
    return {g.goes for g in going(signs(window, items, previous, WEARER), T0)}


def test_signs_of_leaving_add_up():
    assert leaves(event(5, "pick up | keys")) == set()
    assert leaves(event(5, "put on | coat")) == set()
    assert leaves(event(5, "put on | coat"), event(65, "pick up | keys")) == {"out"}
    assert leaves(event(5, "put on | coat"), event(240, "pick up | keys")) == set(), "not within three minutes"
    assert leaves(event(5, "put on | coat"), event(7, "put on | jacket")) == set(), "one kind of sign"
    assert leaves(event(5, "leave | house")) == {"out"}
    assert leaves(event(5, "lock | front door")) == {"out"}
    assert leaves(event(5, "lock | front door", who="Anna")) == set()
    assert leaves(speech(5, "I'm leaving."), event(30, "open | front door")) == {"out"}
    assert leaves(speech(5, "I'm leaving.", who="Anna"), speech(9, "Bye!", who="Anna")) == set()
    assert leaves(speech(5, "Good night!")) == {"bed"}


def test_places_tell_of_leaving():
    assert leaves(before="kitchen", scene="hallway") == {"room"}
    assert leaves(before="hallway", scene="street") == {"out"}
    assert leaves(before="kitchen", scene="kitchen") == set()
    assert at_home("") and at_home("living room") and not at_home("cafe")


SAID = datetime(2026, 3, 2, 13, 0, tzinfo=timezone.utc)  # a Monday, 14:00 where the wearer is


def due(what, phrase=""):
    t = round(SAID.timestamp()) * US
    intention = Intention("wearer", what, what, t, 3600, 1, phrase, "open", t)
    got = due_of(intention)
    hours = None if got.start == NEVER else (got.start - t) / US / 3600
    at = None if got.at is None else (got.at - t) / US / 3600
    return hours, at, got.how


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("", (0, None, "")),
        ("tomorrow", (10, None, "")),
        ("tomorrow morning", (16, None, "")),
        ("tonight", (3, None, "")),
        ("on Wednesday", (34, None, "")),
        ("on monday", (6 * 24 + 10, None, "")),
        ("at 5", (2.75, 3, "")),
        ("at four", (1.75, 2, "")),
        ("by half past three", (1.25, 1.5, "")),
        ("at quarter to six", (3.5, 3.75, "")),
        ("before two people come", (0, None, "before")),
        ("at 17:30", (3.25, 3.5, "")),
        ("by 4 pm", (1.75, 2, "")),
        ("at 9 tomorrow", (18.75, 19, "")),
        ("in ten minutes", (1 / 6, 1 / 6, "")),
        ("in half an hour", (0.5, 0.5, "")),
        ("in two days", (48, None, "")),
        ("next month", (None, None, "")),
        ("some day", (None, None, "")),
        ("before I leave", (0, None, "before")),
        ("after lunch", (0, None, "after")),
        ("when I get home", (0, None, "when")),
        ("on the way home", (0, None, "when")),
    ],
)
def test_when_something_is_due(phrase, expected):
    got = due("call the dentist", phrase)
    assert got[0] == (None if expected[0] is None else pytest.approx(expected[0]))
    assert got[1] == (None if expected[1] is None else pytest.approx(expected[1]))
    assert got[2] == expected[2]


def test_words_are_turned_to_the_wearer():
    assert spoken("call my sister before I forget") == "call your sister before you forget"
