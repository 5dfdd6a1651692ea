"""The one voice queue: answers and alerts wait here for their turn to speak, and nothing stale is ever said.

Pure: time is the monotonic microseconds given to each call.  `VoiceService` (service.py) is the loop around it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from edge.messages import Say

# Priorities of Say; what lies between is allowed, the order of these is what the product promises.
CRITICAL = 100  # danger now: cuts off whatever is being said
URGENT = 70  # before an answer, after the sentence being said
ANSWER = 50  # the wearer asked
ALERT = 30  # a service worth saying
NOTICE = 10  # about the device itself


@dataclass(frozen=True, slots=True)
class Waiting:
    """A Say in the queue; `order` is its place among those of one priority."""

    say: Say
    order: int


class VoiceQueue:
    """Highest priority first, then first come first served; at most `capacity` wait."""

    def __init__(self, capacity: int = 16) -> None:
        self.dropped: Counter[str] = Counter()  # why: stale, full, double, hushed
        self._capacity = capacity
        self._waiting: list[Waiting] = []
        self._order = 0

    def push(self, say: Say, mono: int) -> bool:
        """Let it wait; false when it is stale, said twice over, or less urgent than all that fill the queue."""
        if _stale(say, mono):
            self.dropped["stale"] += 1
            return False
        if any(w.say.text == say.text and w.say.source == say.source for w in self._waiting):
            self.dropped["double"] += 1
            return False
        self._order += 1
        new = Waiting(say, self._order)
        self._waiting.append(new)
        if len(self._waiting) > self._capacity:
            self._discard_stale(mono)
        if len(self._waiting) > self._capacity:
            last = min(self._waiting, key=lambda w: (w.say.priority, w.order))  # the oldest of the least urgent
            self._waiting.remove(last)
            self.dropped["full"] += 1
            return last is not new
        return True

    def next(self, mono: int, least: int | None = None) -> Say | None:
        """Take what is to be said now; what went stale meanwhile is dropped and counted.

        With `least` nothing of a lower priority comes; it waits on.
        """
        self._discard_stale(mono)
        if not any(least is None or w.say.priority >= least for w in self._waiting):
            return None
        first = min(self._waiting, key=lambda w: (-w.say.priority, w.order))
        self._waiting.remove(first)
        return first.say

    def resume(self, say: Say, rest: str, mono: int) -> bool:
        """Put the unsaid rest of an interrupted Say back, before the others of its priority; false when stale."""
        if _stale(say, mono):
            self.dropped["stale"] += 1
            return False
        first = min((w.order for w in self._waiting), default=1) - 1
        self._waiting.append(Waiting(replace(say, text=rest), first))
        return True

    def interrupts(self, current: Say) -> bool:
        """True when something critical waits and what is being said is not."""
        return current.priority < CRITICAL and any(w.say.priority >= CRITICAL for w in self._waiting)

    def clear(self, source: str | None = None) -> int:
        """Drop all that waits (of one source); critical warnings stay.  Returns how many went."""
        kept = [w for w in self._waiting if w.say.priority >= CRITICAL or source not in (None, w.say.source)]
        gone = len(self._waiting) - len(kept)
        self._waiting = kept
        if gone:
            self.dropped["hushed"] += gone
        return gone

    def __len__(self) -> int:
        return len(self._waiting)

    def _discard_stale(self, mono: int) -> None:
        kept = [w for w in self._waiting if not _stale(w.say, mono)]
        if len(kept) < len(self._waiting):
            self.dropped["stale"] += len(self._waiting) - len(kept)
            self._waiting = kept


def _stale(say: Say, mono: int) -> bool:
    return say.deadline is not None and mono > say.deadline
