"""Expert B, the long term: habits that pass a threshold, things met again hours after something was done to them, and
errands that recur.
"""

from __future__ import annotations

from edge.memory.bounds import short
from edge.proactive.errands import Errands
from edge.proactive.experts import Screening, items_of
from edge.proactive.habits import REACH_US, Habits
from edge.proactive.recall import LINK_UNTIL_US, Links
from storage.records import Service
from storage.snapshot import Snapshot


class LongTermExpert:
    """Asks for the three services of the long term.  What it keeps is read back when it does not fit the unit."""

    name = "B"
    types: tuple[str, ...] = ("habit_coaching", "memory_link_contextual", "routine_optimization")

    def __init__(self, wearer: frozenset[str]) -> None:
        self._last: tuple[str, int] = ("", 0)
        self._habits = Habits(wearer)
        self._links = Links(wearer)
        self._errands = Errands(wearer)

    def screen(self, unit: Screening, snapshot: Snapshot) -> list[Service]:
        """At most one of each at this window; none at an idle closing, when nobody is there to be told."""
        window = unit.window
        if window is None:
            return []
        items = items_of(window)
        before = (unit.recording, unit.previous.id if unit.previous is not None else 0)
        if self._last != before:
            recent = snapshot.trace.windows(window.t_start - REACH_US, window.t_start)
            self._habits.reset([w for w in recent if w.recording == unit.recording and w.id != window.id])
            earlier = snapshot.trace.items(("event", "caption"), window.t_end - LINK_UNTIL_US)
            earlier = [short(i) for i in earlier if i.window_id != window.id]
            self._links.reset(earlier)
            self._errands.reset(earlier)
        self._habits.follow(window, items, unit.previous)
        self._links.follow(window, items)
        self._errands.follow(window, items)
        self._last = (unit.recording, window.id)
        coached = self._habits.coach(unit, window, items, snapshot)
        met = self._links.met(unit, window, items, snapshot)
        return [*coached, *met, *self._errands.again(unit, window, snapshot)]

    def holds(self, service: Service, unit: Screening, snapshot: Snapshot) -> bool:
        """A natural moment passes within minutes."""
        del snapshot
        return unit.known - service.t < 300_000_000
