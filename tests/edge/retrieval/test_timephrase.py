"""Time language against a few hundred forms: every date form with every clock form, and the relative ones by hand."""

from __future__ import annotations

from datetime import datetime

import pytest

from edge.clock import parse_time
from edge.retrieval.timephrase import extract, next_clock
from edge.retrieval.zone import Zone

# Asked on Wednesday 16 July 2025 at 15:20 in a zone two hours ahead of UTC.
NOW, OFFSET_S = parse_time("2025-07-16T15:20:00+02:00")
ZONE = Zone(NOW, OFFSET_S)


def spans(text: str) -> list[tuple[str, str]]:
    return [(ZONE.iso(s.start)[:16], ZONE.iso(s.end)[:16]) for s in extract(text, ZONE).spans]


@pytest.mark.parametrize(
    ("phrase", "start", "end"),
    [
        ("today", "2025-07-16T00:00", "2025-07-17T00:00"),
        ("yesterday", "2025-07-15T00:00", "2025-07-16T00:00"),
        ("the day before yesterday", "2025-07-14T00:00", "2025-07-15T00:00"),
        ("yesterday evening", "2025-07-15T17:00", "2025-07-16T00:00"),
        ("yesterday in the morning", "2025-07-15T05:00", "2025-07-15T12:00"),
        ("this morning", "2025-07-16T05:00", "2025-07-16T12:00"),
        ("this afternoon", "2025-07-16T12:00", "2025-07-16T18:00"),
        ("in the evening", "2025-07-16T17:00", "2025-07-17T00:00"),
        ("last night", "2025-07-15T20:00", "2025-07-16T05:00"),
        ("on Monday", "2025-07-14T00:00", "2025-07-15T00:00"),
        ("last Wednesday", "2025-07-09T00:00", "2025-07-10T00:00"),
        ("on Friday evening", "2025-07-11T17:00", "2025-07-12T00:00"),
        ("this week", "2025-07-14T00:00", "2025-07-21T00:00"),
        ("last week", "2025-07-07T00:00", "2025-07-14T00:00"),
        ("last weekend", "2025-07-12T00:00", "2025-07-14T00:00"),
        ("this month", "2025-07-01T00:00", "2025-08-01T00:00"),
        ("last month", "2025-06-01T00:00", "2025-07-01T00:00"),
        ("last year", "2024-01-01T00:00", "2025-01-01T00:00"),
        ("in May", "2025-05-01T00:00", "2025-06-01T00:00"),
        ("in December", "2024-12-01T00:00", "2025-01-01T00:00"),
        ("in March 2023", "2023-03-01T00:00", "2023-04-01T00:00"),
        ("two days ago", "2025-07-14T00:00", "2025-07-15T00:00"),
        ("a week ago", "2025-07-09T00:00", "2025-07-10T00:00"),
        ("an hour ago", "2025-07-16T13:50", "2025-07-16T14:50"),
        ("in the last 2 hours", "2025-07-16T13:20", "2025-07-16T15:20"),
        ("in the past three days", "2025-07-13T00:00", "2025-07-16T15:20"),
        ("since Monday", "2025-07-14T00:00", "2025-07-16T15:20"),
        ("since 9am", "2025-07-16T09:00", "2025-07-16T15:20"),
        ("after noon today", "2025-07-16T12:01", "2025-07-16T15:20"),
        ("between 9 am and 11:30 am", "2025-07-16T09:00", "2025-07-16T11:30"),
        ("between 18:00 and 19:00 yesterday", "2025-07-15T18:00", "2025-07-15T19:00"),
        ("from 10:15 to 10:45 on 3 July", "2025-07-03T10:15", "2025-07-03T10:45"),
        ("between 23:00 on 3 July 2025 and 01:00 on 4 July 2025", "2025-07-03T23:00", "2025-07-04T01:00"),
        ("at half past seven", "2025-07-16T07:30", "2025-07-16T07:31"),
        ("at quarter to nine yesterday", "2025-07-15T08:45", "2025-07-15T08:46"),
        ("at 8 o'clock", "2025-07-16T08:00", "2025-07-16T08:01"),
        ("at 16:00", "2025-07-15T16:00", "2025-07-15T16:01"),  # 16:00 today is still to come
        ("on the 3rd", "2025-07-03T00:00", "2025-07-04T00:00"),
        ("on the 25th", "2025-06-25T00:00", "2025-06-26T00:00"),
        ("on 5 August", "2024-08-05T00:00", "2024-08-06T00:00"),  # this year's is still to come
    ],
)
def test_relative_and_mixed(phrase: str, start: str, end: str) -> None:
    assert spans(f"What did I cook {phrase}?") == [(start, end)]


DATES = [
    "on 12 June 2025", "on Thursday 12 June 2025", "on June 12, 2025", "on the 12th of June 2025", "on 2025-06-12",
    "on Thursday, 12 June 2025", "on June 12th", "on 12 Jun", "on Thursday the 12th of June",
]  # fmt: skip
CLOCKS = ["08:05", "8:05 am", "8.05am", "08:05:00", "8:05 a.m."]


@pytest.mark.parametrize("date", DATES)
@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("order", ["{date} at {clock}", "at {clock} {date}"])
def test_dates_with_clocks(date: str, clock: str, order: str) -> None:
    found = extract(f"Where was I {order.format(date=date, clock=clock)}?", ZONE)
    (span,) = found.spans
    assert ZONE.local(span.start) == datetime(2025, 6, 12, 8, 5)  # noqa: DTZ001 - local time is naive by design
    assert found.rest == "Where was I?"


@pytest.mark.parametrize("date", DATES)
@pytest.mark.parametrize(("part", "hours"), [("", (0, 24)), (" in the morning", (5, 12)), (" evening", (17, 24))])
def test_dates_with_parts(date: str, part: str, hours: tuple[int, int]) -> None:
    (span,) = extract(f"Did I run {date}{part}?", ZONE).spans
    start, end = ZONE.local(span.start), ZONE.local(span.end)
    assert (start.month, start.day, start.hour) == (6, 12, hours[0])
    assert (end - start).total_seconds() / 3600 == hours[1] - hours[0]


@pytest.mark.parametrize(
    "text",
    [
        "How many days ago did I last water the ferns?",
        "When did I last open the fridge?",
        "Which may I eat?",
        "Was the second pot on the stove?",
        "Now add the flour and stir",
        "What march did the band play?",
        "",
        "99:99 31 February 2025",
        "between and",
    ],
)
def test_what_is_no_time_stays(text: str) -> None:
    assert extract(text, ZONE).spans == ()


def test_the_offset_of_the_day_is_used() -> None:
    """In winter the wearer's offset was another one: that day's midnight is read with it."""
    summer = parse_time("2025-03-30T00:00:00+00:00")[0]
    zone = Zone(NOW, OFFSET_S, lambda t: 7200 if t >= summer else 3600)
    (span,) = extract("on 10 January 2025", zone).spans
    assert zone.iso(span.start) == "2025-01-10T00:00:00.000+01:00"


def test_two_spans_meet() -> None:
    found = extract("Between 10:00 and 11:00 on 3 July 2025, did I sing in July?", ZONE)
    low, high = found.window
    assert low is not None and high is not None
    assert (high - low) == 3_600_000_000


def test_verbs_are_no_weekdays() -> None:
    assert extract("When did I last sit where I sat before?", ZONE).spans == ()


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("at half past 7", "16T19:30"), ("at half past seven", "16T19:30"), ("at a quarter to six", "16T17:45"),
        ("at 5", "16T17:00"), ("at three", "17T03:00"), ("at seven thirty", "16T19:30"), ("at ten forty-five", "16T22:45"),
        ("at 7 o'clock", "16T19:00"), ("at seven o'clock tomorrow", "17T07:00"), ("at 9:15 p.m.", "16T21:15"),
        ("at seven in the evening", "16T19:00"), ("at 8 in the morning", "17T08:00"), ("at noon", "17T12:00"),
        ("at midnight", "17T00:00"), ("at 17.30", "16T17:30"), ("at 99", None), ("at home", None),
    ],
)  # fmt: skip
def test_a_clock_to_come(text: str, due: str | None) -> None:
    found = next_clock(f"call Anna {text}", ZONE)  # at 15:20
    assert (None if found is None else ZONE.local(found[0]).strftime("%dT%H:%M")) == due
