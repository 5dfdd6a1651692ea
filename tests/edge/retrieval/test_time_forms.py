"""Some hundreds of time phrases against plain calendar arithmetic; asked on Wednesday 16 July 2025 at 15:20."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest

from edge.clock import parse_time
from edge.retrieval.timephrase import extract
from edge.retrieval.zone import Zone

NOW, OFFSET_S = parse_time("2025-07-16T15:20:00+02:00")
ZONE = Zone(NOW, OFFSET_S)
HERE = datetime(2025, 7, 16, 15, 20)  # noqa: DTZ001 - local time is naive by design
TODAY = HERE.date()
WORDS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 8: "eight", 10: "ten", 12: "twelve"}
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip
PARTS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24)}


def span(phrase: str) -> tuple[datetime, datetime]:
    """The one stretch a question with the phrase names, in local time; nothing of the phrase stays."""
    found = extract(f"How often did I open the door {phrase}?", ZONE)
    assert len(found.spans) == 1, found
    assert "How often did I open the door" in found.rest
    (only,) = found.spans
    return ZONE.local(only.start), ZONE.local(only.end)


def midnight(day: date, hours: int = 0) -> datetime:
    return datetime(day.year, day.month, day.day) + timedelta(hours=hours)  # noqa: DTZ001


@pytest.mark.parametrize("n", WORDS)
@pytest.mark.parametrize("form", ["{n} days ago", "{w} days ago", "about {n} days ago"])
def test_days_ago(n: int, form: str) -> None:
    phrase = form.format(n=n, w=WORDS[n]).replace("1 days", "1 day").replace("one days", "one day")
    day = TODAY - timedelta(days=n)
    assert span(phrase) == (midnight(day), midnight(day, 24))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("form", ["{n} weeks ago", "{w} weeks ago"])
def test_weeks_ago(n: int, form: str) -> None:
    phrase = form.format(n=n, w=WORDS[n]).replace("1 weeks", "1 week").replace("one weeks", "one week")
    low, high = span(phrase)
    assert low.date() <= TODAY - timedelta(days=7 * n) <= high.date()
    assert high - low <= timedelta(days=7)


@pytest.mark.parametrize("n", WORDS)
@pytest.mark.parametrize("unit", ["hour", "minute"])
def test_short_ago_lies_around_its_moment(n: int, unit: str) -> None:
    low, high = span(f"{WORDS[n]} {unit}{'s' if n > 1 else ''} ago")
    then = HERE - timedelta(**{f"{unit}s": n})
    assert low <= then <= high
    assert high - low <= timedelta(**{f"{unit}s": max(1, n)}) * 2


@pytest.mark.parametrize("n", WORDS)
@pytest.mark.parametrize(("unit", "seconds"), [("hours", 3600), ("minutes", 60), ("seconds", 1)])
@pytest.mark.parametrize("form", ["in the last {n} {u}", "during the past {w} {u}"])
def test_the_last_of_clock_units(n: int, unit: str, seconds: int, form: str) -> None:
    low, high = span(form.format(n=n, w=WORDS[n], u=unit))
    assert low == HERE - timedelta(seconds=n * seconds)
    assert timedelta(0) <= high - HERE <= timedelta(seconds=1)


@pytest.mark.parametrize("n", [2, 3, 5, 10])
@pytest.mark.parametrize("form", ["in the last {n} days", "over the past {w} days", "within the last {n} days"])
def test_the_last_days(n: int, form: str) -> None:
    low, high = span(form.format(n=n, w=WORDS[n]))
    assert low == midnight(TODAY - timedelta(days=n))
    assert high >= HERE


@pytest.mark.parametrize("name", DAYS)
@pytest.mark.parametrize(
    ("form", "part"),
    [("on {d}", ""), ("last {d}", ""), *((f, p) for f in ("on {d} {p}", "last {d} {p}") for p in PARTS)],
)
def test_weekdays_are_the_newest_before_today(name: str, form: str, part: str) -> None:
    back = (TODAY.weekday() - DAYS.index(name)) % 7
    if back == 0 and form.startswith("last"):
        back = 7
    day = TODAY - timedelta(days=back)
    low, high = PARTS.get(part, (0, 24))
    assert span(form.format(d=name.title(), p=part)) == (midnight(day, low), midnight(day, high))


@pytest.mark.parametrize("month", range(1, 13))
@pytest.mark.parametrize("form", ["in {m}", "in {m} 2023", "on 5 {m} 2024", "on {m} 5, 2024"])
def test_months_and_their_days(month: int, form: str) -> None:
    low, high = span(form.format(m=MONTHS[month - 1].title()))
    if "5" in form.replace("2025", ""):
        assert low == midnight(date(2024, month, 5))
        assert high == midnight(date(2024, month, 5), 24)
        return
    year = 2023 if "2023" in form else (2025 if month <= 7 else 2024)
    assert low == midnight(date(year, month, 1))
    assert high == midnight(date(year + month // 12, month % 12 + 1, 1))


CLOCKS = [
    ("9 am", 9, 0),
    ("9:30", 9, 30),
    ("11.15 am", 11, 15),
    ("noon", 12, 0),
    ("1 pm", 13, 0),
    ("2:45 p.m.", 14, 45),
]


@pytest.mark.parametrize("low", range(3))
@pytest.mark.parametrize("high", range(3, 6))
@pytest.mark.parametrize("form", ["between {a} and {b}", "from {a} to {b}", "from {a} until {b} yesterday"])
def test_between_clocks(low: int, high: int, form: str) -> None:
    a, b = CLOCKS[low], CLOCKS[high]
    day = TODAY - timedelta(days="yesterday" in form)
    wanted = (midnight(day) + timedelta(hours=a[1], minutes=a[2]), midnight(day) + timedelta(hours=b[1], minutes=b[2]))
    assert span(form.format(a=a[0], b=b[0])) == wanted


@pytest.mark.parametrize("clock", CLOCKS, ids=lambda c: c[0])
@pytest.mark.parametrize("form", ["since {c}", "since {c} today", "since {c} yesterday", "before {c} today"])
def test_bounds(clock: tuple[str, int, int], form: str) -> None:
    (only,) = extract(f"Did I run {form.format(c=clock[0])}?", ZONE).spans
    day = TODAY - timedelta(days="yesterday" in form)
    at = midnight(day) + timedelta(hours=clock[1], minutes=clock[2])
    assert ZONE.local(only.end if form.startswith("before") else only.start) == at


@pytest.mark.parametrize("clock", CLOCKS, ids=lambda c: c[0])
@pytest.mark.parametrize(
    ("form", "back"),
    [("yesterday before {c}", 1), ("yesterday after {c}", 1), ("on Monday since {c}", 2), ("on 3 July until {c}", 13)],
)
def test_a_bound_takes_the_day_that_is_named(clock: tuple[str, int, int], form: str, back: int) -> None:
    low, high = extract(f"Did I run {form.format(c=clock[0])}?", ZONE).window
    assert low is not None
    assert high is not None
    day = TODAY - timedelta(days=back)
    assert midnight(day) <= ZONE.local(low) <= ZONE.local(high) <= midnight(day, 24)
    at = midnight(day) + timedelta(hours=clock[1], minutes=clock[2])
    edge = ZONE.local(high if "before" in form or "until" in form else low)
    assert timedelta(0) <= edge - at <= timedelta(minutes=1)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(
    ("form", "back"), [("this {p}", 0), ("yesterday {p}", 1), ("yesterday in the {p}", 1), ("in the {p}", 0)]
)
def test_parts_of_days(part: str, form: str, back: int) -> None:
    low, high = PARTS[part]
    day = TODAY - timedelta(days=back)
    assert span(form.format(p=part)) == (midnight(day, low), midnight(day, high))
