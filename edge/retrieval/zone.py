"""The wearer's own time: local clock and days to microseconds UTC and back, and stretches of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Literal, TypeAlias

Us: TypeAlias = int
SpanKind: TypeAlias = Literal["day", "point", "range"]

SECOND: Us = 1_000_000
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - local times are naive here; Zone gives them their offset


@dataclass(frozen=True, slots=True)
class Span:
    """A phrase as [start, end) in microseconds UTC, with the words it came from."""

    kind: SpanKind
    start: Us
    end: Us
    text: str
    note: str = ""


def midnight(day: date) -> datetime:
    """The naive local time at which a day begins."""
    return _EPOCH + timedelta(days=(day - _EPOCH.date()).days)


class Zone:
    """Local time to UTC and back; `offset_at` tells the wearer's offset (s) near a UTC time."""

    def __init__(self, now: Us, offset_s: int, offset_at: Callable[[Us], int] | None = None) -> None:
        self.now, self.offset_s = now, offset_s
        self._offset_at = offset_at

    def utc(self, local: datetime) -> Us:
        """Naive local time -> microseconds UTC."""
        naive = round((local - _EPOCH) / timedelta(microseconds=1))
        guess = naive - self.offset_s * SECOND
        if self._offset_at is None:
            return guess
        return naive - self._offset_at(guess) * SECOND

    def offset(self, t: Us) -> int:
        """The wearer's offset in seconds near a UTC time."""
        return self.offset_s if self._offset_at is None else self._offset_at(t)

    def local(self, t: Us) -> datetime:
        """Microseconds UTC -> naive local time."""
        return _EPOCH + timedelta(microseconds=t + self.offset(t) * SECOND)

    @property
    def today(self) -> date:
        return (_EPOCH + timedelta(microseconds=self.now + self.offset_s * SECOND)).date()

    def day(self, day: date) -> tuple[Us, Us]:
        """A local day as [start, end)."""
        start = midnight(day)
        return self.utc(start), self.utc(start + timedelta(days=1))

    def iso(self, t: Us) -> str:
        """ISO 8601 with the wearer's offset, to the millisecond."""
        shift = timezone(timedelta(seconds=self.offset(t)))
        return self.local(t).replace(tzinfo=shift).isoformat(timespec="milliseconds")
