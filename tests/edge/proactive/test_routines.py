"""Routines that are late today."""

from __future__ import annotations

from dataclasses import replace

from edge.clock import US, ReplayClock
from edge.config import Alerts, Memory
from edge.memory.growth import Growth
from edge.messages import ServiceDecided
from edge.proactive.screening import Proactive
from models.backends.fake import HashEmbedding
from storage import Store
from storage.records import Event, Window

MONDAY = 1_772_409_600 * US  # Monday 2 March 2026, 00:00 UTC
DAY = 86_400 * US
EMBED = HashEmbedding().embed


def at(day, clock):
    hours, minutes = clock.split(":")
    return MONDAY + day * DAY + (int(hours) * 60 + int(minutes)) * 60 * US


def window(t, *acts, minutes=1):
    events = tuple(Event(t + n * US, "wearer", "start activity", a) for n, a in enumerate(acts))
    return Window("home", t, t + minutes * 60 * US, 0, events=events)


def days(starts, label="lunch"):
    """A morning window each day and one in which the activity begins (None: not that day)."""
    made = []
    for day, clock in enumerate(starts):
        made.append(window(at(day, "09:00"), "reading"))
        if clock is not None:
            made.append(window(at(day, clock), label))
    return made


def late(windows):
    store, clock = Store.open(None), ReplayClock()
    growth = Growth(store, EMBED, Memory())
    proactive = Proactive(store, Alerts(), clock)
    out = []
    for each in sorted(windows, key=lambda w: w.t_start):
        out += proactive.step(growth.idle(each.t_start))
        grown = growth.step(each)
        clock.set(each.t_end, 0)
        out += proactive.step(grown)
    return [m.service for m in out if isinstance(m, ServiceDecided) and m.service.key.startswith("late:")]


USUAL = ["12:10", "12:30", "12:20", "12:25", "12:15", None, "12:05", "12:20"]


def test_lunch_is_late():
    watch = [window(at(8, "09:00"), "reading"), *(window(at(8, f"12:{m:02d}")) for m in range(20, 60))]
    found = late([*days(USUAL), *watch])
    assert [s.text for s in found] == ["Not yet today: lunch."], "told once"
    assert found[0].known == at(8, "12:45"), "a quarter of an hour after the latest usual beginning"
    assert len(found[0].evidence) >= 4


def test_not_when_it_has_begun_nor_long_after_nor_without_a_habit():
    def watching(clock):
        return window(at(8, clock))

    begun = [window(at(8, "12:40"), "lunch"), watching("12:46")]
    assert late([*days(USUAL), *begun]) == []
    assert late([*days(USUAL), watching("15:00")]) == [], "nobody was there when it could have helped"
    assert late([*days(USUAL[:5]), replace(watching("12:46"))]) == [], "five days are no habit"
    seldom = ["12:10", None, None, "12:25", None, None, "12:05", "12:20"]
    assert late([*days(seldom), watching("12:46")]) == []
    assert late([*days(USUAL, "use toilet"), watching("12:46")]) == [], "some things are private"


def test_after_midnight_belongs_to_the_evening_before():
    evenings = [
        window(at(d, c), "brushing teeth")
        for d, c in ((0, "23:30"), (1, "23:40"), (3, "00:20"), (3, "23:20"), (4, "23:50"))
    ]
    evenings += [
        window(at(6, "00:10"), "brushing teeth"),
        window(at(6, "23:45"), "brushing teeth"),
        window(at(7, "23:30"), "brushing teeth"),
    ]
    found = late([*evenings, window(at(8, "23:58")), window(at(9, "00:40"))])
    assert [s.t for s in found] == [at(9, "00:40")], "usual by 00:20"


def test_who_leaves_home_before_it_is_late_is_told_at_the_door():
    door = Window(
        "home", at(8, "12:05"), at(8, "12:06"), 0,
        events=(Event(at(8, "12:05"), "wearer", "start activity", "leave house"),),
    )  # fmt: skip
    found = late([*days(USUAL), window(at(8, "09:00"), "reading"), door])
    assert [s.text for s in found] == ["Not yet today: lunch."]
    early = replace(door, t_start=at(8, "11:30"), t_end=at(8, "11:31"), events=())
    assert not late([*days(USUAL), window(at(8, "09:00"), "reading"), early])


def test_just_before_it_is_late_only_a_turn_of_the_day_is_used():
    still = [window(at(8, "09:00"), "reading"), window(at(8, "12:24"))]
    assert not late([*days(USUAL), *still])
    turn = [window(at(8, "09:00"), "reading"), window(at(8, "12:24"), "get a drink")]
    assert [s.text for s in late([*days(USUAL), *turn])] == ["Not yet today: lunch."]


def test_an_evening_in_which_the_memory_begins_says_nothing_of_when_things_begin():
    evening = [window(at(-1, "22:30"), "lunch")]  # a late one, before anything else was recorded
    watch = [window(at(8, "09:00"), "reading"), *(window(at(8, f"12:{m:02d}")) for m in range(20, 60))]
    assert [s.text for s in late([*evening, *days(USUAL), *watch])] == ["Not yet today: lunch."]


def seen(t, action, thing):
    return replace(window(t), events=(Event(t, "wearer", action, thing),))


def unnamed(starts, *, now):
    """Weekdays of a camera that names no activity: medicine in the morning, a keyboard all day; then the morning `now`."""
    made = []
    for n, clock in enumerate(starts):
        day = n + 2 * (n // 5)
        made += [seen(at(day, clock), "take", "medicine"), *(seen(at(day, f"{h}:00"), *act) for h, act in DAY_LONG)]
    today = len(starts) + 2 * (len(starts) // 5)
    return [*made, *(seen(at(today, f"{clock // 60}:{clock % 60:02d}"), *act) for clock, act in now)]


DAY_LONG = (
    (11, ("type on", "keyboard")), (12, ("peel", "potato")), (14, ("walk through", "park")), (16, ("sweep", "yard")),
    (18, ("iron", "shirt")), (20, ("watch", "film")),
)  # fmt: skip
MORNINGS = ["08:05", "08:00", "08:10", "08:05", "08:02", "08:07", "08:00", "08:09"]
DESK = [(minute, ("type on", "keyboard")) for minute in range(490, 560, 5)]


def test_what_the_pattern_memory_knows_is_late_where_nothing_is_named():
    found = late(unnamed(MORNINGS, now=DESK))
    assert [s.text for s in found] == ["Not yet today: take medicine."]
    assert any(ref.startswith("p") for ref in found[0].evidence)
    assert any(ref.startswith("e") for ref in found[0].evidence)


def test_what_has_been_done_is_not_late_where_nothing_is_named():
    assert late(unnamed(MORNINGS, now=[(481, ("take", "medicine")), *DESK])) == []


def test_what_merely_recurs_is_not_missed():
    paper = ((minute, ("read", "paper")) for minute in range(650, 720, 5))
    assert late(unnamed(MORNINGS, now=[(481, ("take", "medicine")), *paper])) == []
