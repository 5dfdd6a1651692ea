"""Routines that are late today: what was begun on most recorded days by some time, and not yet today.

A day of habits runs from four to four, so that what is done after midnight belongs to the evening before.  Where
perception names activities as they begin, those beginnings tell a habit to the second; where it does not, as behind a
camera, the pattern memory tells which episodes recur and when (GROVE's routine candidates), and only what somebody
would be sorry to forget is told of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from edge.clock import US
from edge.proactive.alerts import speak
from edge.proactive.experts import Screening, service, stem_set
from storage.records import Item, Service, Window
from storage.snapshot import Snapshot

ACTIONS = ("start activity", "start task", "start recipe")  # how perception names the beginning of an activity
ENDS = ("finish activity", "finish task", "finish recipe")
DAY_US = 86_400 * US
BEGINS_US = 4 * 3600 * US
MIN_DAYS = 7
LAST_DAYS = 14
SHARE = 0.7  # of those days it was begun on at least so many
SLACK_US = 15 * 60 * US  # so long after the latest usual beginning it is late
GIVE_UP_US = 45 * 60 * US  # and so long after it a word about it comes too late
SOON_US = 5 * 60 * US  # so long before the latest usual beginning it is told when an activity begins or ends
LEAVING_US = 30 * 60 * US  # and so long before it to who leaves home: there will be no better moment
# Nobody wants to be told of these.
_PRIVATE = re.compile(r"toilet|bathroom visit|sleep|go(?:ing)? to bed")
# Of what merely recurs (doors, keyboards), this is worth a word when it has not come.
_WORTH = re.compile(
    r"\b(?:medicine|medication|pills?|tablets?|vitamins?|insulin|inhaler|eye drops|ointment|blood (?:pressure|sugar)|temperature|"
    r"breakfast|lunch|dinner|supper|shower|bath|brush(?:es)? (?:\w+ )?teeth|exercis\w*|yoga|gymnastics|workout|physio\w*|stretch\w*|meditat\w*|"
    r"feed\w*|walk\w* (?:\w+ )?dog|dog walk|water\w* (?:\w+ )?(?:plants?|flowers|garden|tomatoes)|diary|journal|practi[cs]e\w*|"
    r"back ?up|log ?book|rounds?|inspect\w*|lock\w* up|cash up|empt\w* (?:\w+ )?(?:bins?|till|mailbox))\b",
    re.IGNORECASE,
)
EPISODES = 60  # of a pattern that are looked at


@dataclass(frozen=True, slots=True)
class Habit:
    """An activity usually begun by `by` (microseconds into the day of habits), with the beginnings it rests on.

    words: what shows that it has begun, when perception does not name it.
    """

    label: str
    by: int
    refs: tuple[str, ...]
    words: frozenset[str] = frozenset()


class Routines:
    """Knows the habits of the day at hand; they are worked out anew when a day begins, from what was known then."""

    def __init__(self) -> None:
        self._day: tuple[int, int] = (0, 0)
        self._habits: tuple[Habit, ...] = ()

    def late(
        self,
        unit: Screening,
        window: Window,
        items: Sequence[Item],
        snapshot: Snapshot,
        leaves: Callable[[], bool],
    ) -> list[Service]:
        """A reminder for a routine that is late at the end of this window, or will be; at most one, once a day each.

        `leaves` tells whether the wearer is leaving home in this window; it is asked only when that matters.
        """
        day, into = _day(window.t_end, window.offset_s)
        if self._day != (day, window.offset_s):
            named = habits(snapshot, day, window.offset_s)
            self._habits = named or recurring(snapshot, day)
            self._day = (day, window.offset_s)
        for habit in self._habits:
            over = into - habit.by
            if not -LEAVING_US <= over <= GIVE_UP_US:
                continue
            key = f"late:{habit.label}:{day}"
            if snapshot.services.with_key("task_reminder", key):
                continue
            if self.begun(habit.label, day, window.offset_s, snapshot):
                continue
            if over < SLACK_US and not (over >= -SOON_US and _turns(items)) and not leaves():
                continue
            seen = [i for i in items if i.kind != "speech"]
            t = seen[-1].t if seen else window.t_start
            refs = (*habit.refs, *(f"o{i.id}" for i in seen[-1:]), f"w{window.id}")
            text = speak("task_reminder", variant="late", what=habit.label)
            return [service("task_reminder", t, text, refs, key, unit, "C")]
        return []

    def holds(self, asked: Service, unit: Screening, snapshot: Snapshot) -> bool:
        """Whether a routine that was late has still not begun."""
        label, _, day = asked.key.removeprefix("late:").rpartition(":")
        return not self.begun(label, int(day), unit.offset_s, snapshot)

    def begun(self, label: str, day: int, offset_s: int, snapshot: Snapshot) -> bool:
        """Whether an activity has begun on a day of habits."""
        start = day * DAY_US + BEGINS_US - offset_s * US
        words = next((h.words for h in self._habits if h.label == label), frozenset())
        if words:
            hits = snapshot.search("item", label, k=EPISODES, start=start, end=start + DAY_US)
            seen = snapshot.trace.items_by_id([h.id for h in hits]).values()
            return any(i.kind in ("event", "caption") and words <= stem_set(i.text) for i in seen)
        return any(
            i.object.lower() == label
            for action in ACTIONS
            for i in snapshot.trace.events(action, start, start + DAY_US)
        )


def habits(snapshot: Snapshot, today: int, offset_s: int) -> tuple[Habit, ...]:
    """The habits shown by the recorded days before `today`, by label."""
    first: dict[str, dict[int, tuple[int, int]]] = {}
    days: set[int] = set()
    until = today * DAY_US + BEGINS_US - offset_s * US
    since = until - 4 * LAST_DAYS * DAY_US
    for action in ACTIONS:
        for item in snapshot.trace.events(action, since, until):
            day, into = _day(item.t, item.offset_s)
            days.add(day)
            begun = first.setdefault(item.object.lower(), {})
            if day not in begun or into < begun[day][0]:
                begun[day] = (into, item.id)
    if days:
        eldest = min(days)
        theirs = [begun for begun in first.values() if eldest in begun]
        if min(begun[eldest][0] for begun in theirs) > DAY_US // 2:
            for begun in theirs:
                del begun[eldest]  # a memory that begins in the evening cannot tell when things begin on that day
    recent = sorted(days)[-LAST_DAYS:]
    if len(recent) < MIN_DAYS:
        return ()
    found = []
    for label in sorted(first):
        shown = [first[label][d] for d in recent if d in first[label]]
        if len(shown) >= SHARE * len(recent) and not _PRIVATE.search(label):
            found.append(Habit(label, max(into for into, _ in shown), tuple(f"o{number}" for _, number in shown[-3:])))
    return tuple(found)


def recurring(snapshot: Snapshot, today: int) -> tuple[Habit, ...]:
    """The habits that the routines of the pattern memory show, by title; weekdays and weekends have habits of their own."""
    first: dict[int, dict[int, tuple[int, int]]] = {}
    days: set[int] = set()
    for member in reversed(snapshot.patterns.recent(LAST_DAYS * EPISODES)):
        day, into = _day(member.t_start, member.offset_s)
        if not today - 4 * LAST_DAYS <= day < today or _weekend(day) != _weekend(today):
            continue
        days.add(day)
        begun = first.setdefault(member.pattern_id, {})
        if day not in begun or into < begun[day][0]:
            begun[day] = (into, member.episode_id)
    recent = sorted(days)[-LAST_DAYS:]
    if len(recent) < (MIN_DAYS if not _weekend(today) else MIN_DAYS // 2):
        return ()
    found = []
    for number in sorted(n for n in first if n):
        shown = [first[number][d] for d in recent if d in first[number]]
        if len(shown) < SHARE * len(recent):
            continue
        pattern = snapshot.patterns.get(number)
        label = pattern.title.lower()
        if pattern.kind == "routine" and _WORTH.search(label) and not _PRIVATE.search(label):
            refs = (f"p{number}", *(f"e{episode}" for _, episode in shown[-3:]))
            found.append(Habit(label, max(into for into, _ in shown), refs, stem_set(label)))
    return tuple(found)


def _weekend(day: int) -> bool:
    """Whether a day of habits, counted from 1970, is a Saturday or Sunday."""
    return (day + 3) % 7 >= 5


def _turns(items: Sequence[Item]) -> bool:
    """Whether an activity begins or ends."""
    return any(i.kind == "event" and i.action.lower() in (*ACTIONS, *ENDS) for i in items)


def _day(t: int, offset_s: int) -> tuple[int, int]:
    """The day of habits a time belongs to, and how far into it the time lies, microseconds."""
    return divmod(t + offset_s * US - BEGINS_US, DAY_US)
