"""Keeping a live source alive: when it counts as dead, when it is opened again, and the gap it left.

`Reopen` is the rule alone, on times; `LiveFeed` applies it to a source.
"""

from __future__ import annotations

import threading
from typing import Generic, Protocol, TypeVar

from edge.capture.base import Source
from edge.capture.steady import SteadyTime
from edge.clock import US, Clock
from edge.config import Capture
from edge.errors import GroveError, sentence_of
from edge.logs import Log
from storage.records import Gap

_SLOW_US = 3 * US  # without an item for so long, the health report says so

_log = Log("capture")


class Timed(Protocol):
    """An item that carries its capture time."""

    @property
    def t(self) -> int:
        """Microseconds UTC."""


_T = TypeVar("_T", bound=Timed)


class Reopen:
    """All times are monotonic microseconds.

    A source is dead when it says so, or when nothing came from it for `stale_s`.  It is opened again after
    `backoff_s`, doubled at each failure up to `backoff_max_s`; once items have flowed for as long as the first wait,
    the next failure begins with the first wait again.
    """

    def __init__(self, stale_s: float, backoff_s: float, backoff_max_s: float, what: str = "camera") -> None:
        self._what = what
        self._stale, self._first, self._most = (round(s * US) for s in (stale_s, backoff_s, backoff_max_s))
        self._wait = self._first
        self._due = 0
        self._opened: int | None = None
        self._flowing_since: int | None = None
        self._last: int | None = None
        self._ever = False
        self.reason = ""  # why it failed first since items last flowed

    @property
    def open(self) -> bool:
        return self._opened is not None

    @property
    def flows(self) -> bool | None:
        """Whether items come; None before the first one, and until the first one after it was closed on purpose."""
        if self._ever and self.reason:
            return False
        return True if self._last is not None else None

    def due(self, now: int) -> bool:
        """Whether it is time to open the source."""
        return self._opened is None and now >= self._due

    def opened(self, now: int) -> None:
        """The source was opened."""
        self._opened, self._last, self._flowing_since = now, None, None

    def item(self, now: int) -> None:
        """Something came."""
        self._ever = True
        self._last = now
        self.reason = ""
        if self._flowing_since is None:
            self._flowing_since = now
        if now - self._flowing_since >= self._first:
            self._wait = self._first

    def stale(self, now: int) -> bool:
        """Whether an open source counts as hanging: its newest item, not its thread, is what tells."""
        since = self._last if self._last is not None else self._opened
        return since is not None and now - since >= self._stale

    def died(self, now: int, reason: str) -> None:
        """The source failed; plan the next opening."""
        self._opened = None
        self.reason = self.reason or reason
        self._due = now + self._wait
        self._wait = min(2 * self._wait, self._most)

    def closed(self) -> None:
        """The source was closed on purpose and may be opened at once."""
        self._opened, self._due, self._last, self.reason = None, 0, None, ""

    def says(self, now: int) -> str:
        """The state in words."""
        if self._opened is None and self.reason:
            left = max(0, -((now - self._due) // US))
            return (
                f"reopening in {left} s: {self.reason}" if self._ever else f"waiting for a {self._what}: {self.reason}"
            )
        if self._last is None:
            return f"opening: {self.reason}" if self.reason else "opening"
        if now - self._last >= _SLOW_US:
            return f"running, nothing for {(now - self._last) // US} s"
        return "running"


class LiveFeed(Generic[_T]):
    """A live source that is opened again whenever it dies.  `poll` never raises for the source's sake."""

    def __init__(
        self,
        source: Source[_T],
        settings: Capture,
        clock: Clock,
        time: SteadyTime,
        recording: str,
        what: str = "camera",
    ) -> None:
        self.source = source
        self.gaps: list[Gap] = []
        self._clock, self._time, self._recording = clock, time, recording
        self._rule = Reopen(settings.stale_s, settings.backoff_s, settings.backoff_max_s, what)
        self._stale_s = settings.stale_s
        self._last_t: int | None = None  # of the newest item; before the first: when capture began

    def poll(self, stop: threading.Event, timeout_s: float) -> list[_T | Gap]:
        """What has come, waiting at most `timeout_s` seconds; the gap of an outage stands before the first new item."""
        now = self._clock.mono()
        if self._last_t is None:
            self._last_t = self._time.now()
        if not self._rule.open:
            if not self._rule.due(now):
                self._clock.wait(stop, timeout_s)
                return []
            try:
                self.source.open(stop)
            except GroveError as error:
                self._died(sentence_of(error))
                return []
            self._rule.opened(now)
        return self._read(timeout_s)

    def says(self) -> str:
        """The state in words."""
        return self._rule.says(self._clock.mono())

    @property
    def flows(self) -> bool | None:
        """Whether something comes; None: nothing has yet."""
        return self._rule.flows

    def close(self) -> None:
        """Let go of the source; polling opens it again and counts from then: a pause is no failure."""
        self.source.close()
        self._rule.closed()
        self._last_t = None

    def _read(self, timeout_s: float) -> list[_T | Gap]:
        out: list[_T | Gap] = []
        try:
            item = self.source.read(timeout_s)
            while item is not None:
                out += self._gap_before(item.t)
                self._rule.item(self._clock.mono())
                self._last_t = item.t
                out.append(item)
                item = self.source.read(0)
        except GroveError as error:
            self._died(sentence_of(error))
        else:
            if self._rule.stale(self._clock.mono()):
                self._died(f"{self.source.describe()} gave nothing for {self._stale_s:.0f} s")
        return out

    def _gap_before(self, t: int) -> list[Gap]:
        assert self._last_t is not None
        if not self._rule.reason or t <= self._last_t:
            return []
        gap = Gap(self._recording, self._last_t, t, self._rule.reason)
        self.gaps.append(gap)
        _log.info("source_back", source=self.source.describe(), seconds=round((t - self._last_t) / US, 1))
        return [gap]

    def _died(self, reason: str) -> None:
        _log.warning("source_died", source=self.source.describe(), reason=reason)
        self.source.close()
        self._rule.died(self._clock.mono(), reason)
