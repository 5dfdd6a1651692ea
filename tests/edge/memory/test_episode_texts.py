"""What is written about an episode and a pattern by rules: whole phrases, each deed once, nothing twice."""

from __future__ import annotations

import pytest

from edge.memory import episodes
from edge.memory.text import headline
from storage.records import Caption, Event, Window

US = 1_000_000


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Melt a small knob of butter in a non-stick frying pan over heat", "Melt a small knob of butter"),
        ("Cook 5 to 6 minutes until the cubes are lightly browned all over", "Cook 5 to 6 minutes"),
        ("Set up the camera, swap the old battery of the tripod head", "Set up the camera, swap the old battery"),
        ("Take plate, squeeze sponge, open bin, close the drawer with one hand", "Take plate, squeeze sponge, open bin, close the drawer"),
        ("Ten words are what a subject may hold at the", "Ten words are what a subject may hold at the"),
        ("Somebody shows a picture of a dog walking past a gate", "Somebody shows a picture of a dog walking"),
        ("one two three four five six seven eight nine ten eleven", "one two three four five six seven eight nine ten"),
    ],
)  # fmt: skip
def test_a_headline_ends_where_a_phrase_does(text: str, wanted: str) -> None:
    assert headline(text, 5, 10) == wanted


def test_what_ended_was_done_and_is_told_once() -> None:
    step, other = "Peel one onion", "Wash the rice"
    begun = Window(
        "r", 0, 30 * US, 0, captions=(Caption(US, step),), events=(Event(US, "wearer", "peel", "one onion"),), id=1
    )
    ended = Window(
        "r", 30 * US, 60 * US, 0, captions=(Caption(40 * US, f"finished: {step}"), Caption(50 * US, other)), id=2
    )
    told = episodes.write([begun, ended]).summary
    assert "finished" not in told.lower()
    assert "Mostly: peel one onion and Wash the rice." in told
