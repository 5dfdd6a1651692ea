"""Entities and events of a window, and what is read of the windows before it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edge.perception.gate import thumbnail
from edge.perception.hands import NEAR_HAND
from edge.perception.looks import Light
from edge.perception.registry import (
    Carry,
    View,
    camera_shift,
    carry_of,
    confirm,
    entities_of,
    events_of,
    texts_of,
)
from edge.perception.things import Thing
from storage.records import Entity, Event, SeenText, Window

US = 1_000_000
EMPTY = np.zeros((90, 160), np.uint8)


def thing(name, score=0.6, x=100, y=60, place="centre", attributes=(), size=40):
    return Thing(name, score, (x, y, x + size, y + size), place, tuple(attributes))


def view(t, *things, weak=(), lines=(), thumb=EMPTY, looked=True):
    return View(t * US, 320, 180, tuple(things), frozenset(weak), tuple(lines), Light(100, ""), thumb, looked)


def window(start, end, entities=(), events=(), texts=(), recording="r"):
    return Window(
        recording,
        start * US,
        end * US,
        0,
        entities=tuple(Entity(n) for n in entities),
        events=tuple(Event(t * US, n, a, "") for t, n, a in events),
        texts=tuple(SeenText(start * US, x) for x in texts),
    )


def told(events):
    return [(e.t // US, e.subject, e.action, e.object) for e in events]


KNOWN = Carry(known=True)


def test_counts_are_the_most_seen_at_once():
    views = [
        view(0, thing("cup"), thing("cup")),
        view(5, thing("cup"), thing("cup"), thing("cup")),
        view(10, thing("cup")),
    ]
    (cup,) = entities_of(views)
    assert (cup.name, cup.count) == ("cup", 3)


def test_an_entity_has_its_clearest_looks_and_its_last_place():
    views = [
        view(0, thing("cup", 0.9, place="left", attributes=("white",))),
        view(5, thing("cup", 0.5, place="right", attributes=("gray", NEAR_HAND))),
    ]
    (cup,) = entities_of(views)
    assert cup.attributes == ("white", NEAR_HAND)
    assert cup.location == "right"


def test_what_is_there_from_the_start_does_not_appear():
    assert told(events_of([view(0, thing("cup")), view(5, thing("cup"))], Carry())) == []


def test_appears_and_leaves_at_the_first_absence():
    views = [view(0), view(5, thing("cup")), view(10), view(15), view(20)]
    assert told(events_of(views, Carry())) == [(5, "cup", "appears", ""), (10, "cup", "leaves", "")]


def test_one_missed_frame_is_no_leaving():
    views = [view(0, thing("cup")), view(5), view(10, thing("cup")), view(15)]
    assert told(events_of(views, KNOWN)) == [(0, "cup", "appears", "")]


def test_a_weak_sight_keeps_a_thing_but_does_not_bring_it():
    views = [view(0, thing("cup")), view(5), view(10, weak=["cup"]), view(15), view(20, weak=["dog"])]
    assert told(events_of(views, Carry())) == [(15, "cup", "leaves", "")]


def test_a_failed_look_is_no_absence():
    views = [view(0, thing("cup")), view(5, looked=False), view(10, looked=False), view(15, thing("cup"))]
    assert told(events_of(views, Carry())) == []


def test_presence_goes_on_across_windows():
    earlier = [window(0, 30, ["cup", "dog"], [(20, "dog", "leaves")])]
    carry = carry_of(earlier, "r", 30 * US)
    assert carry.known
    assert carry.present == {"cup"}
    views = [view(30, thing("cup"), thing("dog")), view(35), view(40)]
    assert told(events_of(views, carry)) == [
        (30, "dog", "appears", ""),
        (35, "cup", "leaves", ""),
        (35, "dog", "leaves", ""),
    ]


def test_a_thing_that_left_and_came_back_is_present():
    earlier = [window(0, 30, ["cup"], [(5, "cup", "leaves"), (25, "cup", "appears")])]
    assert carry_of(earlier, "r", 30 * US).present == {"cup"}


@pytest.mark.parametrize(("recording", "t"), [("other", 30), ("r", 95)])
def test_another_recording_or_a_long_pause_carries_nothing(recording, t):
    assert carry_of([window(0, 30, ["cup"])], recording, t * US) == Carry()


def test_three_windows_are_looked_back_on():
    chain = [window(0, 30, ["cup"]), window(30, 60, ["book"]), window(60, 90), window(90, 120)]
    assert carry_of(chain, "r", 120 * US).present == {"book"}


def test_a_thing_moves_when_the_camera_does_not(world):
    before, after = (
        thumbnail(world.paint(world.room(), "cup", 40, 60)),
        thumbnail(world.paint(world.room(), "cup", 200, 60)),
    )
    views = [view(0, thing("cup", x=40), thumb=before), view(5, thing("cup", x=200, place="right"), thumb=after)]
    assert told(events_of(views, Carry())) == [(5, "cup", "moved", "right")]


def test_when_only_the_camera_moves_nothing_moved(world):
    wide = np.hstack([world.room(1), world.room(2)])
    before, after = thumbnail(wide[:, 0:320].copy()), thumbnail(wide[:, 60:380].copy())
    shift = camera_shift(before, after)
    assert shift is not None
    assert shift[0] == pytest.approx(-30, abs=1.5)
    views = [view(0, thing("cup", x=160), thumb=before), view(5, thing("cup", x=100), thumb=after)]
    assert told(events_of(views, Carry())) == []


def test_two_different_views_say_nothing_of_moving(world):
    before, after = thumbnail(world.room(1)), thumbnail(world.room(7))
    assert camera_shift(before, after) is None
    assert (
        told(events_of([view(0, thing("cup", x=0), thumb=before), view(5, thing("cup", x=250), thumb=after)], Carry()))
        == []
    )
    assert camera_shift(before, before[:40]) is None


def test_which_of_two_cups_moved_cannot_be_told():
    views = [view(0, thing("cup", x=0), thing("cup", x=100)), view(5, thing("cup", x=250), thing("cup", x=100))]
    assert told(events_of(views, Carry())) == []


def test_the_hand_at_a_thing_is_told_once_a_time():
    near = thing("cup", attributes=(NEAR_HAND,))
    views = [view(0, near), view(5, near), view(10, thing("cup")), view(15, near)]
    assert told(events_of(views, Carry())) == [(0, "wearer", "hand near", "cup"), (15, "wearer", "hand near", "cup")]


def test_text_is_an_event_once_and_a_row_whenever_it_comes_back():
    views = [view(0, lines=["EXIT"]), view(5, lines=["EXIT", "12:05"]), view(10), view(15, lines=["EXIT"])]
    assert [(x.t // US, x.text) for x in texts_of(views)] == [(0, "EXIT"), (5, "12:05"), (15, "EXIT")]
    assert told(events_of(views, Carry())) == [(0, "text", "seen", "EXIT"), (5, "text", "seen", "12:05")]
    carry = carry_of([window(-30, 0, texts=["Exit"])], "r", 0)
    assert told(events_of(views, carry)) == [(5, "text", "seen", "12:05")]


def test_one_weak_frame_is_not_believed_two_are_and_a_strong_one_is():
    once, strong = view(0, thing("bird", 0.48)), view(0, thing("bird", 0.6))
    assert [v.names for v in confirm([once, view(5)], Carry(), 0.45)] == [frozenset(), frozenset()]
    assert confirm([once], Carry(), 0.45)[0].weak == {"bird"}
    assert confirm([once, replace(once, t=5)], Carry(), 0.45)[0].names == {"bird"}
    assert confirm([strong], Carry(), 0.45)[0].names == {"bird"}
    assert confirm([once], Carry(known=True, present=frozenset({"bird"})), 0.45)[0].names == {"bird"}
