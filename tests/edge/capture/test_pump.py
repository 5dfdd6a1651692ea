from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from edge.capture.base import CLOSE_S
from edge.capture.pump import MAX_LEFT, Pump
from edge.errors import AudioError, CameraError

STOP = threading.Event()


class Counter:
    """A driver that counts as fast as it can, or does what `act` says at each turn."""

    def __init__(self, act: Callable[[threading.Event, int], object] | None = None) -> None:
        self.n, self.released, self._act = 0, threading.Event(), act

    def describe(self) -> str:
        return "counter"

    def open(self, closed: threading.Event) -> None:
        pass

    def take(self, closed: threading.Event) -> int | None:
        self.n += 1
        if self._act is not None:
            self._act(closed, self.n)
        return self.n

    def release(self) -> None:
        self.released.set()


def read_until(pump: Pump[int, int], wanted: Callable[[int], bool]) -> int:
    while True:
        item = pump.read(60)
        assert item is not None
        if wanted(item):
            return item


def test_the_newest_wins_and_closing_releases() -> None:
    full = threading.Event()

    def act(closed: threading.Event, n: int) -> None:
        if n == 1000:
            full.set()
            closed.wait(60)

    driver = Counter(act)
    pump = Pump(lambda: driver, lambda n: n)
    pump.open(STOP)
    assert full.wait(60)
    assert pump.read(0) == 999
    assert pump.read(0) is None
    pump.close()
    pump.close()
    assert driver.released.wait(60)


def test_several_may_wait_in_order() -> None:
    full = threading.Event()
    driver = Counter(lambda closed, n: (full.set(), closed.wait(60)) if n == 8 else None)
    pump = Pump(lambda: driver, lambda n: n * 10, keep=3)
    pump.open(STOP)
    assert full.wait(60)
    assert [pump.read(0) for _ in range(4)] == [50, 60, 70, None]
    pump.close()


def test_what_was_taken_before_the_end_is_read_before_the_error() -> None:
    def act(closed: threading.Event, n: int) -> None:
        if n == 2:
            raise CameraError("lost.")

    pump = Pump(lambda: Counter(act), lambda n: n)
    pump.open(STOP)
    assert read_until(pump, lambda n: True) == 1
    for _ in range(2):
        with pytest.raises(CameraError, match="lost"):
            pump.read(60)
    pump.close()


def test_a_foreign_failure_becomes_the_devices_error() -> None:
    def act(closed: threading.Event, n: int) -> None:
        raise ZeroDivisionError

    pump = Pump(lambda: Counter(act), lambda n: n, error=AudioError)
    with pytest.raises(AudioError, match="not open"):
        pump.read(0)
    pump.open(STOP)
    with pytest.raises(AudioError, match=r"counter failed \(ZeroDivisionError\)"):
        pump.read(60)
    pump.close()


def test_a_driver_that_hangs_is_left_behind_and_not_piled_up() -> None:
    free = threading.Event()
    made: list[Counter] = []

    def make() -> Counter:
        made.append(Counter(lambda closed, n: free.wait(60)))
        return made[-1]

    pump = Pump(make, lambda n: n)
    for i in range(MAX_LEFT):
        pump.open(STOP)
        assert pump.read(0.05) is None
        waited = threading.Thread(target=pump.close)
        waited.start()
        waited.join(CLOSE_S + 60)
        assert not waited.is_alive()
        assert pump.hanging == i + 1
    with pytest.raises(CameraError, match="hangs"):
        pump.open(STOP)
    free.set()
    assert all(driver.released.wait(60) for driver in made[1:])  # the first only gave its name
    while pump.hanging:
        STOP.wait(0.01)
    pump.open(STOP)
    assert read_until(pump, lambda n: n > 1) > 1
    pump.close()
