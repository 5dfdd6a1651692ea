"""Expert C, the episodic: what the wearer said should happen and has not (task_reminder), by rules.

A stated intention older than five minutes and still open is told at a turning point: an activity has ended, the wearer
goes, comes back, or the time or occasion that was named has come.  Never near the moment it was said, at most once at
a turning point, a few times in all, and ever more rarely.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from edge.clock import US
from edge.proactive.acts import doings
from edge.proactive.alerts import speak
from edge.proactive.due import Due, due_of
from edge.proactive.experts import UNIT_FLOOR_US, Screening, items_of, service, stem_set
from edge.proactive.leaving import SPAN_US, Sign, going, signs
from edge.retrieval.words import content, key
from storage.records import Intention, Item, Service, Window
from storage.snapshot import Snapshot

OLD_US = 5 * 60 * US
TURN_GAP_US = 120 * US  # turning points closer than this are one
CONTEXT_WAIT_US = 60 * 60 * US  # an occasion that was named is waited for so long
FORGET_US = 36 * 3600 * US
# After so many deliveries, the wait until the next one; as many reminders as entries.
WAITS_US = (0, 45 * 60 * US, 3 * 3600 * US)
RETRY_US = 10 * 60 * US  # after one that was held back

_ENDS = re.compile(
    r"^(?:finish|finishes|finished|complete|completes|end|ends|stop|stops) \w+|^(?:hang|hangs|hung) up\b|"
    r"\b(?:end|ends|finish|finishes) (?:the |a )?(?:call|meeting|meal|lunch|dinner|breakfast|lesson|episode|film|movie)\b"
    r"|^(?:stand|stands|get|gets) up(?: from\b|$)"
    r"|^(?:put|puts) (?:down )?(?:the )?(?:phone|receiver)(?: down)?$|^(?:close|closes|shut|shuts) (?:the |my )?(?:laptop|book)\b"
)
_BEGINS = re.compile(r"^(?:start|starts|begin|begins)(?: activity| task| recipe)?:? ")
_SAID_DONE = re.compile(
    r"\b(?:all done|that's (?:it|done)|(?:i'm|i am|we're) (?:done|finished)|okay,? (?:what's )?next|right,? what's next|what was i (?:going|about) to)\b"
)
_STRONG = re.compile(
    r"\b(?:remind|(?:don't|do not|dont) let me|must(?:n't)?|ha(?:ve|s|d) to|need(?:s)? to|got to|gotta|promised?|note to self|remember to|not forget)\b",
    re.IGNORECASE,
)
_PERSON = {
    "my": "your", "me": "you", "mine": "yours", "i": "you", "myself": "yourself", "our": "your", "us": "you", "i'm": "you're",
    "i've": "you've", "i'll": "you'll", "we": "you", "am": "are",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Turn:
    """A turning point, at something perceived."""

    t: int
    kind: str
    text: str
    refs: tuple[str, ...]


class EpisodicExpert:
    """Asks for task_reminder.  Keeps only the signs of going of the last minutes, read back when they do not fit."""

    name = "C"
    types: tuple[str, ...] = ("task_reminder",)

    def __init__(self, wearer: frozenset[str]) -> None:
        self._wearer = wearer
        self._last: tuple[str, int] = ("", 0)
        self._signs: list[Sign] = []

    def screen(self, unit: Screening, snapshot: Snapshot) -> list[Service]:
        """At most one reminder at this window; none at an idle closing, when nobody is there to be told."""
        window = unit.window
        if window is None:
            return []
        items = items_of(window)
        self._follow(unit, window, items, snapshot)
        old = [i for i in unit.intentions if i.who in ("wearer", "") and unit.known - i.t > OLD_US and not _wish(i)]
        if not old:
            return []
        turns = self._turns(unit, window, items, snapshot)
        best: tuple[tuple[int, int, int], Service] | None = None
        for intention in old:
            found = self._remind(intention, turns, unit, window, items, snapshot)
            if found is not None and (best is None or found[0] < best[0]):
                best = found
        return [] if best is None else [best[1]]

    def holds(self, service: Service, unit: Screening, snapshot: Snapshot) -> bool:
        """Whether the intention is still open."""
        del snapshot
        number = int(service.key[1:].split("#")[0])
        return any(i.id == number for i in unit.intentions)

    def _follow(self, unit: Screening, window: Window, items: list[Item], snapshot: Snapshot) -> None:
        before = (unit.recording, unit.previous.id if unit.previous is not None else 0)
        if self._last != before:
            recent = snapshot.trace.windows(window.t_start - 2 * SPAN_US, window.t_start)
            recent = [w for w in recent if w.recording == unit.recording and w.id != window.id]
            self._signs = []
            for previous, one in zip([None, *recent], recent, strict=False):
                if one.t_end > window.t_start - SPAN_US:
                    self._signs += signs(one, items_of(one), previous, self._wearer)
        self._signs = [s for s in self._signs if s.t > window.t_start - SPAN_US]
        self._signs += signs(window, items, unit.previous, self._wearer)
        self._last = (unit.recording, window.id)

    def _turns(self, unit: Screening, window: Window, items: list[Item], snapshot: Snapshot) -> list[Turn]:
        """The turning points of a window, in time order."""
        first = items[0].t if items else window.t_start
        found = [Turn(g.t, g.goes, g.text, g.refs) for g in going(self._signs, window.t_start)]
        found += [
            Turn(first, "change", f"after {e.subject}", (f"e{e.id}",))
            for e in unit.closed
            if e.cut == "change" and e.t_end - e.t_start >= UNIT_FLOOR_US and items
        ]
        if unit.resumed and items and snapshot.trace.count() > 1:
            found.append(Turn(first, "return", "back again", ()))
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

    def _remind(
        self,
        intention: Intention,
        turns: list[Turn],
        unit: Screening,
        window: Window,
        items: list[Item],
        snapshot: Snapshot,
    ) -> tuple[tuple[int, int, int], Service] | None:
        if unit.known - intention.t > FORGET_US + max(0, due_of(intention).start - intention.t):
            return None
        strong = bool(_STRONG.search(intention.quote))
        number = self._next(intention, unit, snapshot, most=len(WAITS_US) if strong else 1)
        if number is None or _doing(intention, items):
            return None
        due = due_of(intention)
        here = list(turns)
        if due.at is not None and window.t_start <= due.at <= window.t_end:
            seen = [i.t for i in items if i.t >= due.at]
            here.append(Turn(seen[0] if seen else due.at, "time", "the time has come", ()))
        for turn in here:
            if turn.t - intention.t <= OLD_US or turn.t < due.start:
                continue
            fit = _fits(due, turn, intention, window, items)
            if fit is None:
                continue
            what = spoken(intention.what)
            refs = (f"i{intention.id}", f"w{intention.window_id}", *turn.refs, f"w{window.id}")
            asked = service(
                "task_reminder",
                turn.t,
                speak("task_reminder", what=what),
                refs,
                f"i{intention.id}#{number}",
                unit,
                self.name,
            )
            return (fit, 0 if strong else 1, intention.t), asked
        return None

    def _next(self, intention: Intention, unit: Screening, snapshot: Snapshot, most: int) -> int | None:
        """The number the next reminder of an intention would have, or None when it must wait or was told enough."""
        for number in range(1, most + 1):
            asked = snapshot.services.with_key("task_reminder", f"i{intention.id}#{number}")
            if not asked:
                return number
            decisions = [d for s in asked for d in snapshot.services.decisions(s.id)]
            told = [d.t for d in decisions if d.decision == "deliver"]
            if not told:  # held back, waiting, or (behind a backlog) decided on later than this unit was known
                waited = unit.known - max(s.known for s in asked)
                settled = bool(decisions) and decisions[-1].decision != "defer"
                return number if settled and waited >= RETRY_US and len(asked) < 3 else None
            if number < most and unit.known - told[-1] < WAITS_US[number]:
                return None
        return None


def _fits(due: Due, turn: Turn, intention: Intention, window: Window, items: list[Item]) -> int | None:
    """How well a turning point suits: 0 it was named, 1 any will do, None not yet."""
    if turn.kind == "time":
        return 0
    if not due.how:
        return 0 if turn.kind in ("out", "bed") else 1
    leaving = bool(due.words & _GO) and turn.kind in ("out", "bed")
    around = stem_set(" ".join([turn.text, window.scene, window.description, *(i.text for i in items)]))
    named = bool(due.words & around) or leaving
    if due.how == "before":
        return 0 if named else 1
    if named or (due.how == "after" and turn.kind in ("end", "change") and not due.words - _VAGUE):
        return 0
    return 1 if turn.t - intention.t >= CONTEXT_WAIT_US else None


_GO = frozenset(key(w) for w in ("leave", "go", "out", "bed", "sleep", "home", "head", "way"))
_VAGUE = frozenset(key(w) for w in ("this", "that", "call", "meeting", "finish", "done"))


def _wish(intention: Intention) -> bool:
    """Whether it was only wished ("I want to see the world one day"), with no time or occasion named."""
    wanted = re.search(r"\bwant(?:ed)? to " + re.escape(intention.what[:12]), intention.quote, re.IGNORECASE)
    return wanted is not None and not intention.due


def _doing(intention: Intention, items: list[Item]) -> bool:
    """Whether the wearer is at it right now."""
    act = content(intention.what)
    if not act:
        return False
    things = frozenset(act[1:]) or frozenset(act)
    for item in items:
        if item.kind == "speech":
            continue
        seen = stem_set(item.text)
        if act[0] in seen and things & seen:
            return True
        if len(things) > 0 and things <= seen:
            return True
    return False


@lru_cache(maxsize=1024)
def spoken(what: str) -> str:
    """What was said, turned to the wearer: "call my sister" becomes "call your sister"."""
    return " ".join(_PERSON.get(word.lower(), word) for word in what.split())
