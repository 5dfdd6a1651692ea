"""A live source: a driver that may block, run in a thread of its own.

Nothing here ever waits for a driver longer than it promised.  `close` asks the thread to end and leaves it behind when
it does not: the thread releases its driver by itself as soon as the blocked call returns.  Threads that never come
back are counted, and with too many of them no further one is started.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from edge.capture.base import CLOSE_S
from edge.errors import CameraError, DeviceError, GroveError
from edge.logs import Log

MAX_LEFT = 3  # hanging threads of one source beyond which it is not opened again

_log = Log("capture")
_R = TypeVar("_R")
_R_co = TypeVar("_R_co", covariant=True)
_T = TypeVar("_T")


class Driver(Protocol[_R_co]):
    """A device or stream.  Every call is made by one thread and may block; a new one is made for each opening."""

    def describe(self) -> str:
        """What it is, for people, without passwords."""

    def open(self, closed: threading.Event) -> None:
        """Connect; may give up when `closed` is set.  Raises CameraError or AudioError with a sentence."""

    def take(self, closed: threading.Event) -> _R_co | None:
        """The next item, or None for none this time.  Raises CameraError or AudioError when the device is lost."""

    def release(self) -> None:
        """Let go of the device; called once, also after a failed `open`."""


class Pump(Generic[_R, _T]):
    """`make` gives a new driver for each opening, `stamp` puts the time on what it took, `keep` is how many items wait
    for the reader (the oldest give way: 1 is keep-latest).
    """

    live = True

    def __init__(
        self,
        make: Callable[[], Driver[_R]],
        stamp: Callable[[_R], _T],
        *,
        keep: int = 1,
        error: type[DeviceError] = CameraError,
    ) -> None:
        self._make, self._stamp, self._keep, self._error = make, stamp, keep, error
        self._name = make().describe()
        self._session: _Session[_R, _T] | None = None
        self._left: list[_Session[_R, _T]] = []

    @property
    def hanging(self) -> int:
        """Threads left behind that have not come back."""
        self._left = [s for s in self._left if s.thread.is_alive()]
        return len(self._left)

    def describe(self) -> str:
        return self._name

    def open(self, stop: threading.Event) -> None:
        """Start the driver's thread; returns at once.  Raises the device's error when too many threads hang."""
        del stop
        self.close()
        if self.hanging >= MAX_LEFT:
            raise self._error(f"The driver of {self._name} hangs: unplug the device and plug it in again.")
        self._session = _Session(self._make(), self._stamp, self._keep, self._error)
        self._session.thread.start()

    def read(self, timeout_s: float) -> _T | None:
        """The oldest item that waits.  Raises the device's error once it died and nothing waits any more."""
        if self._session is None:
            raise self._error(f"{self._name} is not open.")
        return self._session.read(timeout_s)

    def close(self) -> None:
        session, self._session = self._session, None
        if session is None:
            return
        session.closed.set()
        session.thread.join(CLOSE_S)
        if session.thread.is_alive():
            self._left.append(session)
            _log.warning("driver_left_behind", source=self._name, hanging=len(self._left))


class _Session(Generic[_R, _T]):
    """One opening of the device: its thread, its driver and what waits for the reader."""

    def __init__(self, driver: Driver[_R], stamp: Callable[[_R], _T], keep: int, error: type[DeviceError]) -> None:
        self.closed = threading.Event()
        self.thread = threading.Thread(target=self._run, name=f"capture {driver.describe()}", daemon=True)
        self._driver, self._stamp, self._error = driver, stamp, error
        self._items: deque[_T] = deque(maxlen=keep)
        self._ready = threading.Condition()
        self._failure: GroveError | None = None

    def read(self, timeout_s: float) -> _T | None:
        with self._ready:
            if not self._items and self._failure is None:
                self._ready.wait(timeout_s)
            if self._items:
                return self._items.popleft()
            if self._failure is not None:
                raise self._failure
            return None

    def _run(self) -> None:
        try:
            self._driver.open(self.closed)
            while not self.closed.is_set():
                item = self._driver.take(self.closed)
                if item is not None:
                    self._put(self._stamp(item))
        except GroveError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001  # drivers raise what they like; capture must outlive it
            _log.warning("driver_failed", cause=error, source=self._driver.describe())
            self._fail(self._error(f"{self._driver.describe()} failed ({type(error).__name__}): see the log."))
        finally:
            self._release()

    def _release(self) -> None:
        try:
            self._driver.release()
        except Exception as error:  # noqa: BLE001  # the same: the next opening makes a new driver anyway
            _log.warning("driver_not_released", cause=error, source=self._driver.describe())

    def _put(self, item: _T) -> None:
        with self._ready:
            self._items.append(item)
            self._ready.notify()

    def _fail(self, error: GroveError) -> None:
        with self._ready:
            self._failure = error
            self._ready.notify()
