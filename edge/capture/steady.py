"""Capture time that never runs backwards.

A small board without a battery-backed clock boots with a wrong time and is put right once it is online.  Windows must
not overlap, so a step back is waited out on the monotonic clock; a step forward is followed at once and shows as a gap,
but one of months by a clock that nothing keeps is taken for a mistake.  After a reboot time goes on after the newest
window of the memory, unless the clock is kept and says that it was the memory's time which ran ahead.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from edge.capture.filetime import offset_at
from edge.clock import US, Clock, synchronised

LEAP_US = 30 * 86_400 * US  # no suspension lasts so long; a clock that nothing keeps and that leaps so far is wrong
AHEAD_US = 86_400 * US  # a kept clock so far behind the memory: the memory was written under a wrong one
_STEP_US = US  # smaller differences are the clock being slewed


class SteadyTime:
    """Wall time for captured items, from any thread.  `zone`: the wearer's IANA zone, "" for the machine's."""

    def __init__(self, clock: Clock, zone: str = "", kept: Callable[[], bool] = synchronised) -> None:
        self._clock, self._zone, self._kept = clock, zone, kept
        self._lock = threading.Lock()
        self._wall, self._mono = clock.now(), clock.mono()
        self._last = self._wall
        self.ahead_s = 0.0  # how far it runs ahead of a wall clock that was set back (behind one that leapt), seconds

    def go_on_after(self, newest: int) -> bool:
        """Begin after the newest window there is; false when the clock is kept and that window is the one in error."""
        with self._lock:
            wall, mono = self._clock.now(), self._clock.mono()
            if newest <= wall:
                return True
            if newest - wall > AHEAD_US and self._kept():
                return False
            self._wall, self._mono, self._last = newest, mono, max(self._last, newest)
            return True

    def now(self) -> int:
        """Microseconds UTC, never less than the value before."""
        with self._lock:
            wall, mono = self._clock.now(), self._clock.mono()
            steady = self._wall + mono - self._mono
            leapt = wall - steady > LEAP_US and not self._kept()
            if wall >= steady - _STEP_US and not leapt:
                self._wall, self._mono = wall, mono
                steady, self.ahead_s = wall, 0.0
            else:
                self.ahead_s = (steady - wall) / US
            self._last = max(self._last, steady)
            return self._last

    def offset(self) -> int:
        """The wearer's UTC offset in seconds, now."""
        return offset_at(self.now(), self._zone) if self._zone else self._clock.offset()
