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
from edge.messages import Health, Message, Observation
from edge.pipeline import Pipeline, Totals
from edge.recorder import read_trace
from edge.runtime import Options, Runtime
from storage import EmbeddingSpace, Store, Transaction
from storage.errors import StoreUnwritable
from storage.records import Window

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


def uninterrupted(windows: list[Window], embed: Any) -> tuple[list[str], list[Message]]:
    with Store.open(None, space=SPACE) as store:
        pipeline = Pipeline(store, embed, Config(), ReplayClock())
        told = [m for w in windows for m in pipeline.step(w)] + pipeline.end()
        return list(store.dump()), told


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


def test_observations_wait_for_a_full_disk(disk: Disk, windows: list[Window], embed: Any, tmp_path: Path) -> None:
    """The memory service itself: it stays up, says what is wrong, and goes on with the very observation."""
    expected, _ = uninterrupted(windows, embed)
    bus = Bus(tmp_path / "spool")
    changes = bus.subscribe("health")
    with Store.open(tmp_path / "m.db", space=SPACE) as store:
        nothing: Any = SimpleNamespace()
        runtime = Runtime(
            config=Config(), options=Options(tmp_path / "m.db"), clock=ReplayClock(), bus=bus, store=store, engines=nothing,
            capture=nothing, live=False, light=nothing, pipeline=Pipeline(store, embed, Config(), ReplayClock()),
            voice=nothing, raw=nothing, recording="made", control=nothing, totals=Totals(),
        )  # fmt: skip
        tries = [0]

        def wait(stop: threading.Event, seconds: float) -> bool:
            tries[0] += 1
            if tries[0] == 3:  # somebody made room
                disk.full = lambda _: False
            return stop.is_set()

        runtime.wall = SimpleNamespace(now=lambda: 7, mono=lambda: 7, wait=wait)  # type: ignore[assignment]
        disk.full = lambda n: n > disk_at
        disk_at = disk.writes + 12
        for w in windows:
            bus.publish(Observation(w))
        runtime.perceived.set()
        runtime.run_memory(threading.Event())
        assert runtime.grown.is_set()
        assert list(store.dump()) == expected
        assert tries[0] == 3
    told = [changes.get(0) for _ in range(2)]
    assert told == [Health(7, "memory", "stuck", "No space left."), Health(7, "memory", "ok", "written again")]
    assert runtime.totals.windows == len(windows)
