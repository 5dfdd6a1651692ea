"""Clocks that jump, zones that change, days of 23 and 25 hours: order, ranges and causality stay right."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from storage_support import DIM, SPACE, US, grow

from edge.capture.steady import AHEAD_US, LEAP_US, SteadyTime
from edge.clock import ReplayClock, SystemClock, local_day, synchronised
from storage import Store
from storage.records import Caption, Window

HOUR, DAY = 3600 * US, 86_400 * US
NOON = int(datetime(2026, 10, 24, 12, tzinfo=ZoneInfo("Europe/Zurich")).timestamp()) * US
VECTOR: Any = np.ones(DIM, np.float32)


class Wrong(ReplayClock):
    """A wall clock that can be set wrong while the monotonic one goes on."""

    def __init__(self, now: int) -> None:
        super().__init__(now)
        self.shift = 0

    def now(self) -> int:
        return super().now() + self.shift

    def after(self, seconds: float) -> None:
        self.set(super().now() + round(seconds * US))


def captured(steady: SteadyTime, clock: Wrong, jumps: list[int], each: int = 5) -> list[int]:
    """Times of frames taken every ten seconds, the wall clock set wrong by so much between them."""
    times = []
    for shift in jumps:
        clock.shift = shift
        for _ in range(each):
            clock.after(10)
            times.append(steady.now())
    return times


def stored(store: Store, times: list[int], recording: str, offset_s: int = 3600) -> None:
    with store.transaction() as tx:
        for start, end in zip(times, times[1:], strict=False):
            if end > start:
                window = Window(recording, start, end, offset_s, captions=(Caption(start, f"at {start}"),))
                tx.trace.add(window, VECTOR)


# --- jumps ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [True, False])
@settings(max_examples=40, deadline=None)
@given(
    jumps=st.lists(st.sampled_from([0, -HOUR, HOUR, -DAY, 3 * 365 * DAY, -3 * 365 * DAY, 7]), min_size=1, max_size=8)
)
def test_whatever_the_clock_does_time_does_not_run_back(kept: bool, jumps: list[int]) -> None:
    clock = Wrong(NOON)
    times = captured(SteadyTime(clock, kept=lambda: kept), clock, jumps)
    assert times == sorted(times)
    if not kept:
        assert all(abs(t - NOON) < LEAP_US for t in times), "no leap of years by a clock that nothing keeps"


def test_an_hour_back_is_waited_out_and_then_right_again() -> None:
    clock = Wrong(NOON)
    steady = SteadyTime(clock, kept=lambda: True)
    times = captured(steady, clock, [0, -HOUR, -HOUR])
    assert [b - a for a, b in zip(times, times[1:], strict=False)] == [10 * US] * (len(times) - 1)
    assert steady.ahead_s == 3600
    clock.after(3600)
    clock.shift = 0
    assert (steady.now(), steady.ahead_s) == (clock.now(), 0)


def test_three_years_ahead_and_back_leaves_the_days_where_they_were(tmp_path: Path) -> None:
    """By a clock that nothing keeps: nobody notices.  Retention by age would else take everything."""
    clock = Wrong(NOON)
    times = captured(SteadyTime(clock, kept=lambda: False), clock, [0, 3 * 365 * DAY, 0])
    assert [b - a for a, b in zip(times, times[1:], strict=False)] == [10 * US] * (len(times) - 1)


def test_a_correction_by_a_kept_clock_is_followed_at_once() -> None:
    clock = Wrong(NOON - 3 * 365 * DAY)  # a board without a battery boots in the past
    steady = SteadyTime(clock, kept=lambda: True)
    times = captured(steady, clock, [0, 3 * 365 * DAY], 2)
    assert times[-1] == clock.now()


def test_after_a_reboot_time_goes_on_where_the_memory_ends(tmp_path: Path) -> None:
    """The newest recording is the newest by its windows too, and no recording has the name of another."""
    with Store.open(tmp_path / "m.db", space=SPACE) as store:
        clock = Wrong(NOON)
        stored(store, captured(SteadyTime(clock, kept=lambda: False), clock, [0]), "before")
        for n in range(3):
            clock = Wrong(NOON - 200 * DAY)  # the same wrong time at every boot
            steady = SteadyTime(clock, kept=lambda: False)
            with store.snapshot() as snapshot:
                last = snapshot.trace.last()
            assert last is not None
            assert steady.go_on_after(last.t_end)
            stored(store, captured(steady, clock, [0]), f"boot {n}")
        with store.snapshot() as snapshot:
            windows = snapshot.trace.windows()
            assert [w.id for w in windows] == sorted(w.id for w in windows)
            assert all(a.t_end <= b.t_start for a, b in zip(windows, windows[1:], strict=False))
            assert snapshot.trace.recordings() == ["before", "boot 0", "boot 1", "boot 2"]


def test_a_kept_clock_is_believed_over_a_memory_that_ran_ahead() -> None:
    clock = Wrong(NOON)
    steady = SteadyTime(clock, kept=lambda: True)
    assert steady.go_on_after(NOON + HOUR), "an hour may be a step that is still waited out"
    assert steady.now() == NOON + HOUR
    assert not SteadyTime(clock, kept=lambda: True).go_on_after(NOON + AHEAD_US + US)
    assert SteadyTime(clock, kept=lambda: True).go_on_after(NOON - HOUR)


def test_the_kernel_says_whether_the_clock_is_kept() -> None:
    assert synchronised() in (True, False)
    assert SteadyTime(SystemClock()).now() > NOON


# --- a memory whose times are wrong -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [-HOUR, 3 * 365 * DAY, -3 * 365 * DAY])
def test_recordings_of_a_wrong_time_hide_nothing_and_show_no_future(shift: int, tmp_path: Path) -> None:
    """Stored all the same: each range gives what was stamped with it, each snapshot what its time allows."""
    with Store.open(tmp_path / "m.db", space=SPACE) as store:
        spans = [(NOON, "right"), (NOON + shift, "wrong"), (NOON + HOUR * 2, "right again")]
        for start, name in spans:
            stored(store, [start + n * 10 * US for n in range(7)], name)
        with store.snapshot() as snapshot:
            windows = snapshot.trace.windows()
            assert [w.t_start for w in windows] == sorted(w.t_start for w in windows)
            for start, name in spans:
                own = snapshot.trace.windows(start, start + 60 * US)
                assert [w.recording for w in own] == [name] * 6
                assert len(snapshot.trace.items(("caption",), start, start + 60 * US)) == 6
            newest = max(spans)[1]
            last = snapshot.trace.last()
            assert last is not None
            assert last.recording == newest
        for start, _ in spans:
            with store.snapshot(start + 30 * US) as snapshot:
                assert all(w.t_end <= start + 30 * US for w in snapshot.trace.windows())
                assert snapshot.trace.count() == sum(
                    1 for s, _ in spans for n in range(6) if s + (n + 1) * 10 * US <= start + 30 * US
                )


@pytest.mark.parametrize("seed", range(3))
def test_a_random_history_of_two_clocks_is_whole(seed: int, tmp_path: Path) -> None:
    with Store.open(tmp_path / "m.db", space=SPACE) as store:
        made = grow(store, seed, 60)  # the second recording lies an hour before the first, stored among it
        assert store.integrity() == []
        with store.snapshot() as snapshot:
            starts = [w.t_start for w in snapshot.trace.windows()]
            assert starts == sorted(starts)
            assert len(starts) == len(made.windows)


# --- zones and days ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zone", "night", "hours"),
    [("Europe/Zurich", (2026, 10, 25), 25), ("Europe/Zurich", (2026, 3, 29), 23),
     ("America/New_York", (2026, 11, 1), 25), ("America/New_York", (2026, 3, 8), 23), ("Australia/Lord_Howe", (2026, 4, 5), 24.5)],
)  # fmt: skip
def test_the_nights_on_which_clocks_change(
    zone: str, night: tuple[int, int, int], hours: float, tmp_path: Path
) -> None:
    """A window every ten minutes over three local days: none is lost, doubled or put on another day."""
    home = ZoneInfo(zone)
    begin = datetime(*night, tzinfo=home) - timedelta(days=1)
    first, end = (int(x.timestamp()) * US for x in (begin, begin + timedelta(days=3)))
    with Store.open(tmp_path / "m.db", space=SPACE) as store:
        with store.transaction() as tx:
            for start in range(first, end, 600 * US):
                offset = datetime.fromtimestamp(start / US, home).utcoffset()
                assert offset is not None
                tx.trace.add(Window("r", start, start + 600 * US, round(offset.total_seconds())), VECTOR)
        with store.snapshot() as snapshot:
            windows = snapshot.trace.windows()
            assert len(windows) == (48 + hours) * 6
            assert all(a.t_end == b.t_start for a, b in zip(windows, windows[1:], strict=False))
            days = [str((begin + timedelta(days=n)).date()) for n in range(3)]
            assert snapshot.trace.days() == days
            middle = local_day(windows[len(windows) // 2].t_start, windows[len(windows) // 2].offset_s)
            of_day = [w for w in windows if local_day(w.t_start, w.offset_s) == middle]
            assert len(of_day) == hours * 6
            low, high = of_day[0].t_start, of_day[-1].t_end
            assert snapshot.trace.windows(low, high) == of_day


def test_a_flight_into_another_zone_keeps_the_order_of_what_happened(tmp_path: Path) -> None:
    """Local clocks run back by nine hours; what came later stays later, and the day is lived twice."""
    with Store.open(tmp_path / "m.db", space=SPACE) as store:
        rng, t = random.Random(3), NOON
        with store.transaction() as tx:
            for n in range(48):
                offset = 7200 if n < 24 else -25_200
                tx.trace.add(Window("r", t, t + 1800 * US, offset, captions=(Caption(t, f"step {n}"),)), VECTOR)
                t += 1800 * US + rng.randrange(2) * US
        with store.snapshot() as snapshot:
            assert [c.text for w in snapshot.trace.windows() for c in w.captions] == [f"step {n}" for n in range(48)]
            assert snapshot.trace.days() == ["2026-10-24", "2026-10-25"]
