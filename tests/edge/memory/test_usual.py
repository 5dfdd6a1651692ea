"""What is usual about a pattern besides its hours: weekdays, length, what stands before and after it."""

from __future__ import annotations

from edge.clock import US
from edge.memory.usual import usual
from storage.patterns import Member

MONDAY = 20_514  # 2026-03-02 in days since 1970


def member(pattern: int, n: int, day: int, minute: int, minutes: int = 10, recording: str = "r") -> Member:
    t = ((MONDAY + day) * 1440 + minute) * 60 * US
    return Member(n, recording, f"s{pattern}", (), t, t + minutes * 60 * US, 0, pattern)


def test_coffee_follows_the_shower_on_weekdays() -> None:
    shower = [member(1, 10 * d, d + 2 * (d // 5), 450) for d in range(10)]
    coffee = [member(2, 10 * d + 1, d + 2 * (d // 5), 465, 20) for d in range(10)]
    rest = [member(3, 500 + d, 7 * d + 5, 600, 90) for d in range(2)]
    found = usual({1: shower, 2: coffee, 3: rest})
    assert (found[1].before, found[1].after) == (0, 2)
    assert (found[2].before, found[2].after) == (1, 0)
    assert (found[3].before, found[3].after) == (0, 0)
    assert [found[n].minutes for n in (1, 2, 3)] == [10, 20, 90]
    assert found[1].when == "07:30, weekdays"
    assert found[3].when == "10:00", "two days tell of no weekday"


def test_what_comes_much_later_or_in_another_recording_does_not_follow() -> None:
    first = [member(1, 10 * d, d, 450) for d in range(6)]
    late = [member(2, 10 * d + 1, d, 500) for d in range(6)]
    other = [member(3, 10 * d + 2, d, 462, recording="x") for d in range(6)]
    found = usual({1: first, 2: late, 3: other})
    assert [(u.before, u.after) for u in found.values()] == [(0, 0)] * 3


def test_once_is_not_usual() -> None:
    found = usual({1: [member(1, 1, 0, 450)], 2: [member(2, 2, 0, 465)]})
    assert found[1].hours is None
    assert found[1].when == ""
    assert (found[1].after, found[2].before) == (0, 0)
