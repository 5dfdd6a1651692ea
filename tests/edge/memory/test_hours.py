"""When something usually begins: around midnight, twice a day, at any hour."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest

from edge.clock import US
from edge.memory.hours import ANY_HOUR_MIN, apart, hours

DAY_US = 1440 * 60 * US


@dataclass(frozen=True)
class Seen:
    t_start: int
    t_end: int
    offset_s: int = 0


def at(day: int, clock: str, minutes: int = 10, offset_s: int = 0) -> Seen:
    hour, minute = map(int, clock.split(":"))
    t = day * DAY_US + (hour * 60 + minute) * 60 * US - offset_s * US
    return Seen(t, t + minutes * 60 * US, offset_s)


def minute(clock: str) -> int:
    return int(clock[:2]) * 60 + int(clock[3:])


def days(*clocks: str, count: int = 6) -> list[Seen]:
    return sorted((at(d, c) for d in range(count) for c in clocks), key=lambda s: s.t_start)


@pytest.mark.parametrize(
    ("seen", "times", "spread"),
    [
        (days("08:00"), ["08:00"], 0),
        ([at(0, "07:40"), at(1, "08:00"), at(2, "08:20")], ["08:00"], 20),
        ([at(0, "23:50"), at(2, "00:10"), at(2, "23:40"), at(4, "00:20"), at(5, "00:00")], ["00:00"], 10),
        (days("07:30", "22:30"), ["07:30", "22:30"], 0),
        (days("07:00", "13:00", "19:00"), ["07:00", "13:00", "19:00"], 0),
        ([*days("08:00", count=9), at(10, "15:00")], ["08:00"], 0),
        ([*days("08:00"), *(at(d, "08:30") for d in range(6, 12))], ["08:15"], 15),
        ([at(d, "18:00", offset_s=7200) for d in range(4)], ["18:00"], 0),
    ],
    ids=["sharp", "spread", "midnight", "twice", "thrice", "an odd one", "two of one crowd", "a zone"],
)
def test_usual_hours(seen: list[Seen], times: list[str], spread: int) -> None:
    found = hours(sorted(seen, key=lambda s: s.t_start))
    assert found is not None
    assert sorted(found.times) == [minute(t) for t in times]
    assert found.spread == spread


def test_one_day_tells_no_usual_hour() -> None:
    assert hours([]) is None
    assert hours([at(0, "08:00"), at(0, "13:00")]) is None
    assert hours([at(0, "23:55"), at(1, "00:05")]) is None, "one night"


def test_what_goes_on_after_a_while_has_not_begun_again() -> None:
    cooking = [s for d in range(5) for s in (at(d, "18:00", 20), at(d, "18:50", 20), at(d, "19:30", 20))]
    found = hours(cooking)
    assert found is not None
    assert found.times == (18 * 60,)


def test_a_flat_day_has_no_usual_hour() -> None:
    rng = random.Random(1)
    seen = [at(d, f"{rng.randrange(24):02d}:{rng.randrange(60):02d}") for d in range(60)]
    found = hours(seen)
    assert found is not None
    assert found.spread >= ANY_HOUR_MIN


@pytest.mark.parametrize("turn", range(0, 1440, 97))
def test_the_clock_has_no_end(turn: int) -> None:
    """The same life led so many minutes later has the same hours so many minutes later."""
    rng = random.Random(7)
    life = sorted(d * 1440 + m + rng.randrange(-25, 26) for d in range(9) for m in (450, 1290) if rng.random() < 0.9)
    plain, turned = (hours([Seen((s + by) * 60 * US, (s + by + 5) * 60 * US) for s in life]) for by in (0, turn))
    assert plain is not None
    assert turned is not None
    assert [(t + turn) % 1440 for t in plain.times] == list(turned.times)
    assert plain.spread == turned.spread


def test_apart_goes_the_shorter_way() -> None:
    assert (apart(10, 1430), apart(1430, 10), apart(0, 720), apart(5, 5)) == (20, 20, 720, 0)
