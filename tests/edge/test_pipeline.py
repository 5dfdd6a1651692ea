"""The pump under a disk that fills up now and then: nothing twice, nothing left out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from edge.bus import Bus
from edge.clock import ReplayClock
from edge.config import Config
from edge.messages import Health, Message, Observation, RawWindow
from edge.pipeline import Pipeline
from edge.recorder import read_trace
from edge.runtime import Options, Runtime
from storage import EmbeddingSpace, Store, Transaction
from storage.errors import StoreUnwritable
from storage.records import Gap, Window

SPACE = EmbeddingSpace("wordllama-256", 256)


class Disk:
    """Says of each write whether the disk is full; a write that fails has done all its work and is rolled back."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full: Callable[[int], bool] = lambda _: False
        self.writes = 0
        real = Store.transaction
        disk = self

        @contextmanager
        def transaction(store: Store) -> Iterator[Transaction]:
            disk.writes += 1
            with real(store) as tx:
                yield tx
                if disk.full(disk.writes):
                    raise StoreUnwritable("No space left.")

        monkeypatch.setattr(Store, "transaction", transaction)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture
def windows(day: Callable[..., Path]) -> list[Window]:
    return list(read_trace(day(21, 60), 5.0))


CALM: dict[tuple[Window, ...], tuple[list[str], list[Message]]] = {}


def uninterrupted(windows: list[Window], embed: Any) -> tuple[list[str], list[Message]]:
    """What the windows come to on a disk with room: the dump, and what was told.  Grown once for all tests."""
    known = tuple(windows)
    if known not in CALM:
        with Store.open(None, space=SPACE) as store:
            pipeline = Pipeline(store, embed, Config(), ReplayClock())
            told = [m for w in windows for m in pipeline.step(w)] + pipeline.end()
            CALM[known] = list(store.dump()), told
    return CALM[known]


def insist(call: Callable[[], list[Message]]) -> list[Message]:
    for _ in range(10):
        try:
            return call()
        except StoreUnwritable:
            continue
    raise AssertionError("it never went through")


@pytest.mark.parametrize("every", [1, 2, 3, 5])
@pytest.mark.parametrize("phase", [0, 1])
def test_a_write_that_failed_is_made_good(
    every: int, phase: int, disk: Disk, windows: list[Window], embed: Any
) -> None:
    expected, told = uninterrupted(windows, embed)
    with Store.open(None, space=SPACE) as store:
        pipeline = Pipeline(store, embed, Config(), ReplayClock())
        failed: set[int] = set()

        def full(n: int) -> bool:
            once = every == 1 and n % 2 == phase  # each write fails once
            if once or (every > 1 and n % every == phase):
                failed.add(n)
                return True
            return False

        disk.writes, disk.full = 0, full
        happened = [m for w in windows for m in insist(lambda w=w: pipeline.step(w))] + insist(pipeline.end)
        disk.full = lambda _: False
        assert len(failed) > 10
        assert list(store.dump()) == expected
        assert store.integrity() == []
        kinds = [type(m).__name__ for m in happened]
        assert sorted(kinds) == sorted(type(m).__name__ for m in told), "what happened is told once, and all of it"


def test_a_recording_that_goes_on_is_taken_back_once(disk: Disk, windows: list[Window], embed: Any) -> None:
    """The reopening is rolled back with its write, and so must be what was held of it in memory."""
    expected, _ = uninterrupted(windows, embed)
    with Store.open(None, space=SPACE) as store:
        first = Pipeline(store, embed, Config(), ReplayClock())
        for w in windows[:20]:
            first.step(w)
        first.end()
        pipeline = Pipeline(store, embed, Config(), ReplayClock())
        disk.writes, disk.full = 0, lambda n: n <= 2
        for w in windows[20:]:
            insist(lambda w=w: pipeline.step(w))
        insist(pipeline.end)
        assert list(store.dump()) == expected


def device(folder: Path, store: Store, embed: Any, **more: Any) -> Runtime:
    """A runtime of which only the memory and perception stages are there."""
    nothing: Any = SimpleNamespace()
    parts: dict[str, Any] = {
        "config": Config(), "options": Options(folder / "m.db"), "clock": ReplayClock(), "bus": Bus(folder / "spool"),
        "store": store, "engines": nothing, "capture": nothing, "live": False, "light": nothing, "voice": nothing,
        "raw": nothing, "recording": "made", "control": nothing, **more,
    }  # fmt: skip
    return Runtime(**parts, pipeline=Pipeline(store, embed, Config(), ReplayClock()))


@pytest.mark.parametrize("after", [0, 1, 12, 13, 40])
def test_observations_wait_for_a_full_disk(
    after: int, disk: Disk, windows: list[Window], embed: Any, tmp_path: Path
) -> None:
    """The memory service itself: it stays up, says what is wrong, and goes on with the very observation."""
    expected, _ = uninterrupted(windows, embed)
    with Store.open(tmp_path / "m.db", space=SPACE) as store:
        runtime = device(tmp_path, store, embed)
        changes = runtime.bus.subscribe("health")
        tries = [0]

        def wait(stop: threading.Event, seconds: float) -> bool:
            tries[0] += 1
            if tries[0] == 3:  # somebody made room
                disk.full = lambda _: False
            return stop.is_set()

        runtime.wall = SimpleNamespace(now=lambda: 7, mono=lambda: 7, wait=wait)  # type: ignore[assignment]
        last = disk.writes + after
        disk.full = lambda n: n > last
        for w in windows:
            runtime.bus.publish(Observation(w))
        runtime.perceived.set()
        runtime.run_memory(threading.Event())
        assert runtime.grown.is_set()
        assert list(store.dump()) == expected
        assert tries[0] == 3
    told = [changes.get(0) for _ in range(3)]
    assert told == [Health(7, "memory", "stuck", "No space left."), Health(7, "memory", "ok", "written again"), None]
    assert runtime.totals.windows == len(windows)


class Eyes:
    """Perception that dies at some windows, so many times each."""

    def __init__(self, deaths: dict[int, int]) -> None:
        self.deaths = deaths

    def step(self, raw: RawWindow) -> list[Observation]:
        if self.deaths.get(raw.t_start, 0) > 0:
            self.deaths[raw.t_start] -= 1
            raise RuntimeError("the engine crashed")
        return [Observation(Window("r", raw.t_start, raw.t_end, 0, description="seen"))]


def test_a_window_at_which_perception_dies_is_not_lost(embed: Any, tmp_path: Path) -> None:
    """Tried again once; then remembered as one in which nothing could be perceived, with the reason."""
    with Store.open(None, space=SPACE) as store:
        bus = Bus(tmp_path / "spool")
        raw = bus.subscribe("raw_windows")
        runtime = device(tmp_path, store, embed, bus=bus, raw=raw, light=Eyes({30: 1, 60: 2, 90: 9}))
        seen = bus.subscribe("observations")
        early = Gap("r", 90, 95, "camera lost")
        for t in range(0, 150, 30):
            bus.publish(RawWindow("r", t, t + 30, 3600, (), None, (early,) if t == 90 else ()))
        runtime.captured.set()
        deaths = 0
        while not runtime.perceived.is_set():
            try:
                runtime.run_perception(threading.Event())  # as the supervisor starts it again
            except RuntimeError:
                deaths += 1
        assert deaths == 5
        got = [m.window for m in iter(lambda: seen.get(0), None) if isinstance(m, Observation)]
        assert [(w.t_start, w.description) for w in got] == [
            (0, "seen"),
            (30, "seen"),
            (60, ""),
            (90, ""),
            (120, "seen"),
        ]
        assert got[2].gaps == (Gap("r", 60, 90, "perception failed"),)
        assert got[3].gaps == (early, Gap("r", 90, 120, "perception failed"))
        assert (got[2].offset_s, got[2].frames) == (3600, 1)
