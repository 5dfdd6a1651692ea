"""Capture time that never runs backwards.

A small board without a battery-backed clock boots with a wrong time and is put right once it is online.  Windows must
not overlap, so a step back is waited out on the monotonic clock; a step forward is followed at once and shows as a gap.
"""

from __future__ import annotations

import threading

from edge.capture.filetime import offset_at
from edge.clock import US, Clock

_STEP_US = US  # smaller differences are the clock being slewed


class SteadyTime:
    """Wall time for captured items, from any thread.  `zone`: the wearer's IANA zone, "" for the machine's."""

    def __init__(self, clock: Clock, zone: str = "") -> None:
        self._clock, self._zone = clock, zone
        self._lock = threading.Lock()
        self._wall, self._mono = clock.now(), clock.mono()
        self._last = self._wall
        self.ahead_s = 0.0  # how far it runs ahead of a wall clock that was set back, seconds

    def now(self) -> int:
        """Microseconds UTC, never less than the value before."""
        with self._lock:
            wall, mono = self._clock.now(), self._clock.mono()
            steady = self._wall + mono - self._mono
            if wall >= steady - _STEP_US:
                self._wall, self._mono = wall, mono
                steady, self.ahead_s = wall, 0.0
            else:
                self.ahead_s = (steady - wall) / US
            self._last = max(self._last, steady)
            return self._last

    def offset(self) -> int:
        """The wearer's UTC offset in seconds, now."""
        return offset_at(self.now(), self._zone) if self._zone else self._clock.offset()
