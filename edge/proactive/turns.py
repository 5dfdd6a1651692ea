"""Turning points of a day: an activity has ended or another has begun, the wearer goes, gets up, comes back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from edge.clock import US
from edge.proactive.acts import doings
from edge.proactive.experts import UNIT_FLOOR_US, Screening, items_of, stem_set
from edge.proactive.leaving import SPAN_US, Sign, going, signs
from edge.retrieval.words import key
from storage.records import Episode, Item, Window
from storage.snapshot import Snapshot

NEW_US = 120 * US  # what is being done now
OLD_US = 600 * US  # what was being done before
LONG_US = 180 * US  # an activity lasts at least so long
ALIKE = 0.2  # at most so much of what is done now goes on with what was done before

_ENDS = re.compile(
    r"^(?:finish|finishes|finished|complete|completes|end|ends|stop|stops) \w+|^(?:hang|hangs|hung) up(?: (?:the )?(?:phone|call|receiver)|$)|"
    r"\b(?:end|ends|finish|finishes) (?:the |a )?(?:call|meeting|meal|lunch|dinner|breakfast|lesson|episode|film|movie)\b"
    r"|^(?:stand|stands|get|gets) up(?: from\b|$)"
    r"|^(?:put|puts) (?:down )?(?:the )?(?:phone|receiver)(?: down)?$|^(?:close|closes|shut|shuts) (?:the |my )?(?:laptop|book)\b"
)
_BEGINS = re.compile(
    r"^(?:start|starts|begin|begins)(?: activity| task| recipe|:| (?:to )?(?:cook|mak|prepar|work|clean|eat)\w*) "
)
_SAID_DONE = re.compile(
    r"\b(?:all done|that's (?:it|done)|(?:i'm|i am|we're) (?:done|finished)|okay,? (?:what's )?next|right,? what's next|"
    r"what was i (?:going|about) to)\b"
)
# Acts that belong to any activity.
_COMMON = frozenset(
    key(w)
    for w in """take put get open close pick grab move hold look go turn use place give bring lift set walk hand finger
    table counter side thing something up down""".split()
)


@dataclass(frozen=True, slots=True)
class Turn:
    """A turning point, at something perceived: kind out, bed, room, change, begin, end, return or time."""

    t: int
    kind: str
    text: str
    refs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Doing:
    t: int
    words: str
    keys: frozenset[str]
    ref: str


class Turns:
    """Finds turning points.  Keeps the last minutes alone, read back from the store when they do not fit the unit."""

    def __init__(self, wearer: frozenset[str]) -> None:
        self._wearer = wearer
        self._last: tuple[str, int] = ("", 0)
        self._signs: list[Sign] = []
        self._done: list[_Doing] = []

    def follow(self, unit: Screening, window: Window, items: Sequence[Item], snapshot: Snapshot) -> None:
        """Take a window in; to be called for every window of a recording, in order."""
        before = (unit.recording, unit.previous.id if unit.previous is not None else 0)
        if self._last != before:
            reach = NEW_US + OLD_US + 2 * SPAN_US
            recent = snapshot.trace.windows(window.t_start - reach, window.t_start)
            recent = [w for w in recent if w.recording == unit.recording and w.id != window.id]
            self._signs, self._done = [], []
            for previous, one in zip([None, *recent], recent, strict=False):
                dated = items_of(one)
                self._done += self._doings(dated)
                if one.t_end > window.t_start - SPAN_US:
                    self._signs += signs(one, dated, previous, self._wearer)
        self._signs = [s for s in self._signs if s.t > window.t_start - SPAN_US]
        self._signs += signs(window, items, unit.previous, self._wearer)
        self._done = [d for d in self._done if d.t > window.t_start - NEW_US - OLD_US] + self._doings(items)
        self._last = (unit.recording, window.id)

    def of(self, unit: Screening, window: Window, items: Sequence[Item], snapshot: Snapshot) -> list[Turn]:
        """The turning points of the window taken in last, in time order."""
        first = items[0].t if items else window.t_start
        found = [Turn(g.t, g.goes, g.text, g.refs) for g in going(self._signs, window.t_start)]
        found += [
            Turn(first, "change", f"after {e.subject}", (f"e{e.id}",))
            for e in unit.closed
            if e.cut == "change" and self._ended(_activity(e, snapshot), items)
        ]
        if unit.resumed and items and window.id > 1:
            found.append(Turn(first, "return", "back again", ()))
        other = self._turned_to(window)
        if other is not None:
            found.append(Turn(other.t, "change", other.words, (other.ref,)))
        for item in items:
            ref = (f"o{item.id}",)
            if item.kind == "speech":
                low = item.text.lower().replace("\u2019", "'")
                if item.speaker.lower() in self._wearer and _SAID_DONE.search(low):
                    found.append(Turn(item.t, "end", item.text, ref))
            for words, mine in doings(item, self._wearer):
                if mine and _ENDS.search(words):
                    found.append(Turn(item.t, "end", words, ref))
                elif mine and _BEGINS.match(words):
                    found.append(Turn(item.t, "begin", words, ref))
        return sorted(found, key=lambda t: t.t)

    def _doings(self, items: Sequence[Item]) -> list[_Doing]:
        found = []
        for item in items:
            for words, mine in doings(item, self._wearer):
                keys = stem_set(words) - _COMMON
                if mine and keys:
                    found.append(_Doing(item.t, words, keys, f"o{item.id}"))
        return found

    def _ended(self, activity: Sequence[Episode], items: Sequence[Item]) -> bool:
        """Whether an activity of some length gave way to a doing that has no part in it; talk alone is no moment to
        break in.
        """
        if activity[0].t_end - activity[-1].t_start < UNIT_FLOOR_US:
            return False
        known = stem_set(" ".join(w for e in activity for w in (e.subject, *e.keywords)))
        done = self._doings(items)
        return bool(done) and not any(d.keys & known for d in done)

    def _turned_to(self, window: Window) -> _Doing | None:
        """What the wearer has turned to, when it shares nothing with a longer activity before it: told once, when it
        is first seen.
        """
        if self._other(window.t_start) is not None:
            return None
        found = self._other(window.t_end)
        return found if found is not None and found.t <= window.t_end else None

    def _other(self, until: int) -> _Doing | None:
        new = [d for d in self._done if until - NEW_US < d.t <= until]
        old = [d for d in self._done if until - NEW_US - OLD_US < d.t <= until - NEW_US]
        texts = {d.words for d in new}
        if len(texts) < 2 or len(old) < 3 or old[-1].t - old[0].t < LONG_US:
            return None
        before = frozenset().union(*(d.keys for d in old))
        foreign = [d for d in new if not d.keys & before]
        if len(foreign) < 2 or len(new) - len(foreign) > ALIKE * len(new):
            return None
        return foreign[-1]


def _activity(episode: Episode, snapshot: Snapshot) -> list[Episode]:
    """An episode, with the one before when only the length cap parted them."""
    before = snapshot.episodes.of_window(episode.first_window - 1)
    if before is not None and before.recording == episode.recording and before.cut == "cap":
        return [episode, before]
    return [episode]
