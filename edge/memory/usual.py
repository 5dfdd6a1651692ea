"""What is usual about patterns, read from their episodes: hours, weekdays, length, what comes before and what after."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from edge.clock import US, local, local_day
from edge.memory.hours import ANY_HOUR_MIN, Hours, hours
from storage.patterns import Member

FOLLOWS_US = 30 * 60 * US  # what begins later than this after an episode does not follow it
TIMES = 3  # that something followed before it is usual
SHARE = 1 / 3  # of the times at least
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True, slots=True)
class Usual:
    """Of one pattern: typical hours (None before a second day), days by weekday, minutes, ids of patterns beside it or 0."""

    hours: Hours | None
    weekdays: Mapping[str, int]
    minutes: int
    before: int
    after: int

    @property
    def when(self) -> str:
        """Hours and weekdays in a few words; "" while nothing is usual."""
        if self.hours is None:
            return ""
        told = "any time" if self.hours.spread >= ANY_HOUR_MIN else self.hours.short
        total = sum(self.weekdays.values())
        held = [d for d in WEEKDAYS if self.weekdays[d]]
        if total >= 2 * TIMES and len(held) <= 2:
            return f"{told}, {' and '.join(held)}"
        if total >= 2 * TIMES and not (self.weekdays["Sat"] or self.weekdays["Sun"]):
            return f"{told}, weekdays"
        return told


def usual(members: Mapping[int, Sequence[Member]]) -> dict[int, Usual]:
    """What is usual of each pattern, from the episodes of all of them (by pattern, in the order of time)."""
    before, after = _beside(members)
    found = {}
    for pattern_id, own in members.items():
        days = {local_day(m.t_start, m.offset_s): local(m.t_start, m.offset_s).weekday() for m in own}
        weekdays = Counter(days.values())
        found[pattern_id] = Usual(
            hours(own),
            {name: weekdays[n] for n, name in enumerate(WEEKDAYS)},
            max(1, round(median(m.t_end - m.t_start for m in own) / US / 60)),
            _most(before[pattern_id], len(own)),
            _most(after[pattern_id], len(own)),
        )
    return found


def _beside(
    members: Mapping[int, Sequence[Member]],
) -> tuple[defaultdict[int, Counter[int]], defaultdict[int, Counter[int]]]:
    """How often each pattern came right before and right after each other one."""
    before: defaultdict[int, Counter[int]] = defaultdict(Counter)
    after: defaultdict[int, Counter[int]] = defaultdict(Counter)
    last: dict[str, Member] = {}
    for m in sorted((m for own in members.values() for m in own), key=lambda m: (m.t_start, m.episode_id)):
        old = last.get(m.recording)
        if old is not None and old.pattern_id != m.pattern_id and m.t_start - old.t_end <= FOLLOWS_US:
            before[m.pattern_id][old.pattern_id] += 1
            after[old.pattern_id][m.pattern_id] += 1
        last[m.recording] = m
    return before, after


def _most(beside: Counter[int], of: int) -> int:
    """The pattern that stands there most often, if it often does; 0 for none."""
    best = min(beside, key=lambda p: (-beside[p], p), default=0)
    return best if beside[best] >= max(TIMES, SHARE * of) else 0
