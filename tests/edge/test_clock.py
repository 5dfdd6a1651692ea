"""Time as an argument: what a text says, and clocks that never go back."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.clock import US, ReplayClock, SystemClock, iso, local, local_day, parse_time
from edge.errors import InputError

NOON = 1_772_452_800 * US  # 2026-03-02T12:00:00Z


@pytest.mark.parametrize(
    ("text", "t", "offset_s"),
    [
        ("2026-03-02T12:00:00Z", NOON, 0),
        ("2026-03-02T12:00:00z", NOON, 0),
        ("2026-03-02t12:00Z", NOON, 0),
        ("2026-03-02 13:00:00+01:00", NOON, 3600),
        ("2026-03-02T13:00:00+0100", NOON, 3600),
        ("2026-03-02T13:00:00+01", NOON, 3600),
        ("2026-03-02T08:30:00-03:30", NOON, -12_600),
        ("2026-03-03T02:00:00+14:00", NOON, 50_400),
        ("2026-03-02T12:00:00.5Z", NOON + 500_000, 0),
        ("2026-03-02T12:00:00,25Z", NOON + 250_000, 0),
        ("2026-03-02T12:00:00.123456789Z", NOON + 123_456, 0),
        ("  2026-03-02T12:00:00Z\n", NOON, 0),
        ("1969-12-31T23:59:59.999999Z", -1, 0),
        ("2024-02-29T12:00:00Z", 1_709_208_000 * US, 0),
    ],
)
def test_what_a_time_says(text: str, t: int, offset_s: int) -> None:
    assert parse_time(text) == (t, offset_s)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is not a time"),
        ("noon", "is not a time"),
        ("2026-03-02", "is not a time"),
        ("12:00:00Z", "is not a time"),
        ("2026-13-02T12:00:00Z", "is not a time"),
        ("2026-02-29T12:00:00Z", "is not a time"),
        ("2026-03-02T24:00:01Z", "is not a time"),
        ("2026-03-02T12:00:60Z", "is not a time"),
        ("2026-W10-1T12:00:00Z", "is not a time"),
        ("20260302T120000Z", "is not a time"),
        ("2026-03-02T12:00:00.Z", "is not a time"),
        ("2026-03-02T12:00:00Z and more", "is not a time"),
        ("٢٠٢٦-03-02T12:00:00Z", "is not a time"),
        ("2026-03-02T12:00:00", "has no zone"),
        ("2026-03-02T12:00:00.5", "has no zone"),
        ("2026-03-02T12:00:00+15:00", "no place is"),
        ("2026-03-02T12:00:00+01:75", "no place is"),
        ("0001-01-01T00:00:00+01:00", "the year 1 "),
        ("9999-12-31T23:59:59-01:00", "the year 9999 "),
    ],
)
def test_what_is_no_time_is_told(text: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        parse_time(text)


offsets = st.integers(-12 * 60, 14 * 60).map(lambda m: m * 60)


@given(t=st.integers(-2_000_000_000 * US, 7_000_000_000 * US), offset_s=offsets)
def test_a_time_survives_the_way_there_and_back(t: int, offset_s: int) -> None:
    assert parse_time(local(t, offset_s).isoformat()) == (t, offset_s)
    millis = t - t % 1000
    assert parse_time(iso(millis, offset_s)) == (millis, offset_s)
    day = (local(t, offset_s).date() - datetime(1970, 1, 1, tzinfo=timezone.utc).date()) // timedelta(days=1)
    assert local_day(t, offset_s) == day


@given(t=st.datetimes(datetime(1901, 1, 1), datetime(2199, 1, 1)), offset_s=offsets)  # noqa: DTZ001
def test_it_agrees_with_the_library(t: datetime, offset_s: int) -> None:
    text = t.replace(tzinfo=timezone(timedelta(seconds=offset_s))).isoformat()
    moment = datetime.fromisoformat(text)
    assert parse_time(text)[0] == (moment - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1)


def test_a_replay_shows_the_recordings_time_and_waits_for_nothing() -> None:
    clock, stop = ReplayClock(), threading.Event()
    clock.set(NOON, 3600)
    assert (clock.now(), clock.mono(), clock.offset()) == (NOON, NOON, 3600)
    assert clock.wait(stop, 3600.0) is False
    assert clock.now() == NOON + 3600 * US
    stop.set()
    assert clock.wait(stop, 0.0) is True


@given(times=st.lists(st.integers(0, 10**15), max_size=20))
def test_the_monotonic_side_never_goes_back(times: list[int]) -> None:
    clock, last = ReplayClock(), 0
    for t in times:
        clock.set(t)
        assert clock.now() == t
        assert clock.mono() >= last
        last = clock.mono()


def test_the_system_clock_is_the_machines() -> None:
    clock, stop = SystemClock(), threading.Event()
    first = clock.mono()
    assert clock.wait(stop, 0.001) is False
    assert clock.mono() > first
    assert 2020 < local(clock.now(), clock.offset()).year < 2200
    assert -14 * 3600 <= clock.offset() <= 14 * 3600
    stop.set()
    assert clock.wait(stop, 60.0) is True
