"""Quiet hours: local time and weekday, across midnight and changes of the clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from edge.clock import US, local
from edge.config import Quiet

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True, slots=True)
class QuietNow:
    """Whether it is quiet, and how many microseconds until it no longer is (0 when it is not)."""

    quiet: bool
    left_us: int
    until: str = ""


LOUD = QuietNow(quiet=False, left_us=0)


def quiet_now(settings: Quiet, now: int, offset_s: int) -> QuietNow:
    """Judge a moment given in microseconds UTC with the wearer's offset in seconds.

    Hours that end at or before their beginning run past midnight and belong to the day they began on; a change of the
    clock needs nothing special, because the wearer's offset comes with each moment.
    """
    if not settings.start or not settings.end:
        return LOUD
    days = weekdays(settings.weekdays)
    start, end = _minutes(settings.start), _minutes(settings.end)
    length = end - start if end > start else end - start + 1440
    moment = local(now, offset_s)
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    for back in (0, 1):
        day = midnight - timedelta(days=back)
        begins = day + timedelta(minutes=start)
        ends = begins + timedelta(minutes=length)
        if _DAYS[day.weekday()] in days and begins <= moment < ends:
            return QuietNow(quiet=True, left_us=int((ends - moment) / timedelta(microseconds=1)), until=settings.end)
    return LOUD


def weekdays(text: str) -> frozenset[str]:
    """The days named in a setting, as in "mon tue" or "Saturday, Sunday"."""
    named = {word[:3].lower() for word in text.replace(",", " ").split()}
    return frozenset(named & set(_DAYS))


def _minutes(clock: str) -> int:
    return int(clock[:2]) * 60 + int(clock[3:5])


def minutes(us: int) -> str:
    """A length of time for a reason: seconds below two minutes, else minutes."""
    return f"{us // US} s" if us < 120 * US else f"{us // (60 * US)} min"
