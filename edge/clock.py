"""Time as an argument: the system clock for the device, the replay clock for everything recorded.

This is the only file that reads the machine's clocks.
"""

from __future__ import annotations

import ctypes
import re
import threading
import time
from datetime import datetime, timedelta, timezone
from typing import Protocol

from edge.errors import InputError

US = 1_000_000


class Clock(Protocol):
    """Wall time in microseconds UTC with the local offset, and monotonic time in microseconds."""

    def now(self) -> int:
        """Microseconds since the epoch, UTC."""

    def mono(self) -> int:
        """Microseconds that never jump back."""

    def offset(self) -> int:
        """The wearer's UTC offset in seconds, now."""

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        """Wait until `stop` is set or the time is over; true when it was set."""


def synchronised() -> bool:
    """Whether the kernel holds the wall clock for right: something such as NTP keeps it (adjtimex)."""
    try:
        state = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES))  # all zero: only asks
    except (AttributeError, OSError):  # not Linux, or not allowed
        return False
    return bool(0 <= state < _TIME_ERROR)


_TIMEX_BYTES, _TIME_ERROR = 256, 5


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> int:
        return time.time_ns() // 1000

    def mono(self) -> int:
        return time.monotonic_ns() // 1000

    def offset(self) -> int:
        shift = datetime.fromtimestamp(self.now() / US, tz=timezone.utc).astimezone().utcoffset()
        return int((shift or timedelta()).total_seconds())

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        return stop.wait(seconds)


class ReplayClock:
    """A clock that shows what the recording says; waiting costs nothing."""

    def __init__(self, now: int = 0, offset_s: int = 0) -> None:
        self._now, self._mono, self._offset = now, now, offset_s

    def now(self) -> int:
        return self._now

    def mono(self) -> int:
        return self._mono

    def offset(self) -> int:
        return self._offset

    def set(self, now: int, offset_s: int | None = None) -> None:
        """Show another time; the monotonic side never goes back."""
        self._mono += max(0, now - self._now)
        self._now = now
        if offset_s is not None:
            self._offset = offset_s

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        self.set(self._now + int(seconds * US))
        return stop.is_set()


def parse_time(text: str) -> tuple[int, int]:
    """ISO 8601 with an offset -> (microseconds UTC, offset in seconds).

    Raises InputError without an offset, outside 1900-2199, and for an offset that no place on earth has.
    """
    match = _TIME.fullmatch(text.strip())
    try:
        if match is None:
            raise ValueError
        day, clock, fraction, zone = match.groups()
        moment = datetime.fromisoformat(f"{day}T{clock}")
    except ValueError as error:
        raise InputError(f"{text!r} is not a time: write it as 2026-03-02T09:00:00+01:00.") from error
    if zone is None:
        raise InputError(f"{text!r} has no zone: add one, as in 2026-03-02T09:00:00+01:00.")
    offset_s = 0
    if zone not in "Zz":
        hours, minutes = int(zone[1:3]), int(zone[3:].lstrip(":") or 0)
        offset_s = (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)
        if hours > _FARTHEST_H or minutes > 59:
            raise InputError(f"{text!r}: no place is {zone} from UTC; correct the zone.")
    if not 1900 <= moment.year < 2200:
        raise InputError(f"{text!r}: the year {moment.year} cannot be right; times lie between 1900 and 2199.")
    micros = int((fraction or "")[:6].ljust(6, "0"))
    since = (moment - _EPOCH.replace(tzinfo=None)) // timedelta(seconds=1)
    return (since - offset_s) * US + micros, offset_s


def iso(t: int, offset_s: int) -> str:
    """Microseconds UTC as ISO 8601 in the wearer's offset, to the millisecond."""
    return local(t, offset_s).isoformat(timespec="milliseconds")


def local(t: int, offset_s: int) -> datetime:
    """Microseconds UTC as an aware local datetime."""
    return (_EPOCH + timedelta(microseconds=t)).astimezone(timezone(timedelta(seconds=offset_s)))


def local_day(t: int, offset_s: int) -> int:
    """The local day as a count of days since 1970-01-01."""
    return (t + offset_s * US) // (86_400 * US)


_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_FARTHEST_H = 14  # Line Islands
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,9}))?(Z|z|[+-]\d\d(?::?\d\d)?)?", re.ASCII)
