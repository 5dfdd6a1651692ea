"""When in the day something usually begins, on a clock that has no end (circular statistics over local times).

A day begins in the middle of the longest pause that the thing itself takes on the clock, so that what is done around
midnight is not torn apart.  Its typical time is the median of the first start of each such day.  What happens at two or
three clear hours of the day has as many typical times: where starts crowd together, by a triangular kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Protocol

import numpy as np

from edge.clock import US

DAY = 1440  # minutes
ONE_MIN = 60  # what begins within this after the last one ended goes on with it
WIDTH_MIN = 90  # half width of the kernel, and the pause between two hours of the day
CROWDED = 0.4  # share of the greatest density from which starts crowd together
SHARE = 0.25  # of all starts that one hour of the day holds at least
DAYS = 3  # on which it is seen there at least
ANY_HOUR_MIN = 120  # a spread from which there is no usual hour


class Timed(Protocol):
    """What has a beginning and an end on the wearer's clock: an episode or a member of a pattern."""

    @property
    def t_start(self) -> int: ...
    @property
    def t_end(self) -> int: ...
    @property
    def offset_s(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Hours:
    """Typical local starts in minutes after midnight, the most usual first (at least one), and their spread in minutes."""

    times: tuple[int, ...]
    spread: int

    def __str__(self) -> str:
        return f"{self._clock}, give or take {self.spread} minutes" if self.spread else self._clock

    @property
    def short(self) -> str:
        """As in "07:30 or 22:10, ±20 min"."""
        return f"{self._clock}, ±{self.spread} min" if self.spread else self._clock

    @property
    def _clock(self) -> str:
        return " or ".join(told(m) for m in sorted(self.times))


def hours(seen: Sequence[Timed]) -> Hours | None:
    """When the things seen (in the order of their time) usually begin; None for less than two days of them."""
    starts = _starts(seen)
    if not starts:
        return None
    dawn = _dawn([s % DAY for s in starts])
    first: dict[int, int] = {}
    for s in starts:
        first.setdefault((s - dawn) // DAY, (s - dawn) % DAY)
    if len(first) < 2:
        return None
    usual = median(first.values())
    times = _crowds(starts, dawn)
    if len(times) < 2:
        spread = median(abs(m - usual) for m in first.values())
        return Hours(((int(usual) + dawn) % DAY,), int(spread))
    spread = median(min(apart(s, t) for t in times) for s in starts)
    return Hours(times, int(spread))


def told(minute: int) -> str:
    """A minute of the day as the clock shows it."""
    return f"{minute // 60:02d}:{minute % 60:02d}"


def apart(a: int, b: int) -> int:
    """Minutes between two times of day, the shorter way round."""
    return min((a - b) % DAY, (b - a) % DAY)


def _starts(seen: Sequence[Timed]) -> list[int]:
    """Local starts in minutes since 1970; what goes on after a short while has not begun again."""
    found: list[int] = []
    end = None
    for one in seen:
        if end is None or one.t_start - end > ONE_MIN * 60 * US:
            found.append((one.t_start // US + one.offset_s) // 60)
        end = one.t_end if end is None else max(end, one.t_end)
    return found


def _dawn(minutes: Sequence[int]) -> int:
    """The middle of the longest stretch of the clock in which nothing begins."""
    ring = sorted(set(minutes))
    pause, after = max(((b - a) % DAY or DAY, a) for a, b in zip(ring, [*ring[1:], ring[0]], strict=True))
    return (after + pause // 2) % DAY


def _crowds(starts: Sequence[int], dawn: int) -> tuple[int, ...]:
    """The medians of the clear hours of the day at which starts crowd together, the fullest first."""
    minutes = np.asarray([(s - dawn) % DAY for s in starts])
    off = np.abs(minutes[:, None] - minutes[None, :])
    density = np.maximum(0.0, 1.0 - np.minimum(off, DAY - off) / WIDTH_MIN).sum(axis=1)
    crowded = sorted(zip(minutes.tolist(), starts, density >= CROWDED * density.max(), strict=True))
    groups: list[list[tuple[int, int]]] = []
    for minute, start, inside in crowded:
        if not inside:
            continue
        if groups and minute - groups[-1][-1][0] <= WIDTH_MIN:
            groups[-1].append((minute, start))
        else:
            groups.append([(minute, start)])
    clear = [
        g for g in groups
        if len(g) >= SHARE * len(starts) and len({(start - dawn) // DAY for _, start in g}) >= DAYS
    ]  # fmt: skip
    clear.sort(key=lambda g: (-len(g), g[0]))
    return tuple((int(median(m for m, _ in g)) + dawn) % DAY for g in clear)
