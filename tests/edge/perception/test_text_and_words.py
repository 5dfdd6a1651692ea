"""Lines in reading order and without repeats; sentences that say what was measured and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from edge.perception import words
from edge.perception.hands import NEAR_HAND
from edge.perception.looks import Light
from edge.perception.registry import View
from edge.perception.text import new_lines, reading, same_line
from edge.perception.things import Thing
from models.roles import TextLine
from storage.records import Entity, Event

PLAIN = Light(100.0, "")


def line(text, x, y, w=40, h=10, score=0.95):
    return TextLine(text, score, (x, y, x + w, y + h))


def view(*things, lines=(), light=PLAIN, looked=True):
    return View(0, 320, 180, tuple(things), frozenset(), tuple(lines), light, np.zeros((90, 160), np.uint8), looked)


def thing(name, place="centre", *attributes):
    return Thing(name, 0.6, (0, 0, 10, 10), place, attributes)


def test_rows_are_read_from_top_to_bottom_and_each_from_left_to_right():
    lines = [
        line("copy centre", 60, 98, h=20),
        line("the", 10, 102),
        line("ground floor", 10, 140),
        line("WELCOME", 90, 10),
    ]
    assert reading(lines, 0.9) == ("WELCOME", "the", "copy centre", "ground floor")


def test_words_of_one_line_are_joined_and_neighbouring_signs_are_not():
    lines = [line("AND", 10, 10, w=30), line("EGGS", 44, 11, w=40), line("EXIT", 120, 10), line("small", 162, 13, h=6)]
    assert reading(lines, 0.9) == ("AND EGGS", "EXIT", "small")


def test_unsure_lines_and_lines_without_a_letter_or_figure_are_not_read():
    assert reading([line("EXlT", 0, 0, score=0.89), line("—.", 0, 20), line("EXIT", 0, 40, score=0.9)], 0.9) == (
        "EXIT",
    )
    assert reading([], 0.9) == ()


def test_a_running_clock_is_new_at_every_second_and_a_sign_is_not():
    assert not same_line("13;20;05;12", "13;20;06;12")
    assert not same_line("200 mg", "100 mg")
    assert same_line("NOTICE", "Notice.")
    assert same_line("Reduce your risk of infection", "Reduce your risk of lnfection")
    assert not same_line("PUSH", "PULL")
    assert not same_line("Gate A", "Gate B")
    assert new_lines(["EXIT", "exit", "OPEN"], ["Open"]) == ["EXIT"]


def test_captions_count_name_and_place():
    assert words.caption(view(thing("cup", "left", "white"))) == "A white cup on the left."
    assert words.caption(view(thing("person"), thing("person", "left"), thing("cup", "left", "white", NEAR_HAND))) == (
        "2 persons, a white cup on the left near a hand."
    )
    assert words.caption(view(thing("knife"), thing("knife", "left", NEAR_HAND))) == "2 knives (one near a hand)."
    assert words.caption(view(thing("oven"), lines=("EXIT",))) == 'An oven in the centre; text reads "EXIT".'


def test_a_repeated_view_does_not_repeat_its_text():
    assert words.caption(view(thing("clock"), lines=("12:00",)), text=False) == "A clock in the centre."


def test_an_empty_view_says_only_what_was_measured():
    assert words.caption(view()) == "Nothing recognised."
    assert (
        words.caption(view(light=Light(20.0, "black"))) == "Nothing recognised; the picture is dark and mostly black."
    )
    assert words.caption(view(looked=False)) == "No detector looked."


def test_a_description_tells_entities_then_changes_in_order_then_text():
    entities = (Entity("cup", 1, ("white", NEAR_HAND), "left"), Entity("person", 2))
    events = (Event(1, "dog", "leaves", ""), Event(2, "cup", "appears", ""), Event(3, "cup", "moved", "right"))
    text = words.description(entities, events, ["EXIT"], [view()])
    assert text == (
        "In view: a white cup on the left near a hand and 2 persons. The dog leaves the view. The cup comes into view. "
        'The cup moves; it is on the right. Text reads "EXIT".'
    )
    assert words.description((), (), (), ()) == ""


def test_the_scene_is_light_colour_and_what_most_frames_show():
    lights = [Light(200.0, "white")] * 3
    assert words.scene(lights, [{"chair", "person"}, {"chair"}, {"cup"}]) == "bright, mostly white, with a chair"
    assert words.scene([], []) == ""


def test_long_text_is_cut_with_a_word_that_says_so():
    assert words.caption(view(lines=[f"line {i}" for i in range(9)])).endswith('"line 5" and more.')


@pytest.mark.parametrize(
    ("name", "many"), [("cup", "cups"), ("knife", "knives"), ("wine glass", "wine glasses"), ("bus", "buses")]
)
def test_plurals(name, many):
    assert words.counted(name, 2) == f"2 {many}"
    assert words.counted(name, 1) == f"a {name}"
