"""Expert C, the episodic: what the wearer said should happen and has not (task_reminder), and where a thing was put
that is looked for (memory_recall), by rules.

A stated intention older than five minutes and still open is told at a turning point: an activity has ended, the wearer
goes, comes back, or the time or occasion that was named has come.  Never near the moment it was said, at most once at
a turning point, a few times in all, and ever more rarely.  A routine that is late today is told once.
"""

from __future__ import annotations

import re
from functools import lru_cache

from edge.clock import US
from edge.proactive.alerts import speak
from edge.proactive.due import Due, due_of
from edge.proactive.experts import Screening, items_of, seen_doings, service, stem_set
from edge.proactive.leaving import at_home
from edge.proactive.recall import sought
from edge.proactive.routines import Routines
from edge.proactive.turns import Turn, Turns
from edge.retrieval.words import content, key
from storage.records import Intention, Item, Service, Window
from storage.snapshot import Snapshot

OLD_US = 5 * 60 * US
CONTEXT_WAIT_US = 60 * 60 * US  # an occasion that was named is waited for so long
FORGET_US = 36 * 3600 * US
# After so many deliveries, the wait until the next one; as many reminders as entries.
WAITS_US = (0, 45 * 60 * US, 3 * 3600 * US)
RETRY_US = 10 * 60 * US  # after one that was held back

_STRONG = re.compile(
    r"\b(?:remind|(?:don't|do not|dont) let me|must(?:n't)?|ha(?:ve|s|d) to|need(?:s)? to|got to|gotta|promised?|note to self|remember to|not forget)\b",
    re.IGNORECASE,
)
# What the body asks for is done without being told, and nobody wants to hear of it.
_FLEETING = re.compile(
    r"(?:go )?(?:to )?(?:pee|poop|poo|wee|sneeze|cough|breathe|yawn|cry|puke|throw up|sit down|lie down|catch my breath|think|"
    r"(?:use|go to|find) (?:the |a )?(?:toilet|bathroom|restroom|loo|washroom|ladies|gents))\b",
    re.IGNORECASE,
)
_PERSON = {
    "my": "your", "me": "you", "mine": "yours", "i": "you", "myself": "yourself", "our": "your", "us": "you", "i'm": "you're",
    "i've": "you've", "i'll": "you'll", "we": "you", "am": "are",
    "you": "them", "your": "their", "yours": "theirs",
}  # fmt: skip


class EpisodicExpert:
    """Asks for task_reminder and memory_recall.  What it keeps is read back from the store when it does not fit the unit."""

    name = "C"
    types: tuple[str, ...] = ("task_reminder", "memory_recall", "memory_link_contextual")

    def __init__(self, wearer: frozenset[str]) -> None:
        self._wearer = wearer
        self._turns = Turns(wearer)
        self._routines = Routines()

    def screen(self, unit: Screening, snapshot: Snapshot) -> list[Service]:
        """At most one reminder of what was said and one of a routine at this window; none at an idle closing, when nobody is there to be told."""
        window = unit.window
        if window is None:
            return []
        items = items_of(window)
        self._turns.follow(unit, window, items, snapshot)

        def leaves() -> bool:
            return any(turn.kind == "out" for turn in self._turns.of(unit, window, items, snapshot))

        late = self._routines.late(unit, window, items, snapshot, leaves)
        late += sought(unit, window, items, self._wearer, snapshot)
        old = [
            i
            for i in unit.intentions
            if i.who in ("wearer", "") and unit.known - i.t > OLD_US and not _wish(i) and not _FLEETING.match(i.what)
        ]
        if not old:
            return late
        turns = self._turns.of(unit, window, items, snapshot)
        best: tuple[tuple[int, int, int], Service] | None = None
        for intention in old:
            found = self._remind(intention, turns, unit, window, items, snapshot)
            if found is not None and (best is None or found[0] < best[0]):
                best = found
        return late if best is None else [best[1], *late]

    def holds(self, service: Service, unit: Screening, snapshot: Snapshot) -> bool:
        """Whether the intention is still open, the routine still late."""
        if service.type != "task_reminder":
            return unit.known - service.t < 60 * US  # the search is over, one way or the other
        if service.key.startswith("late:"):
            return self._routines.holds(service, unit, snapshot)
        number = int(service.key[1:].split("#")[0])
        return any(i.id == number for i in unit.intentions)

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
            if fit is None and due.how == "after" and due.words & _MEALS and turn.kind in ("end", "room", "out"):
                fit = 0 if self._eaten(intention.t, window, snapshot) else None
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

    def _eaten(self, since: int, window: Window, snapshot: Snapshot) -> bool:
        """Whether the wearer ate since a time and is no longer at it."""
        found = seen_doings(snapshot, "eat eats eating", since, window.t_end, self._wearer)
        seen = [t for t, words, mine in found if mine and words.startswith("eat")]
        return bool(seen) and max(seen) < window.t_start

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
    arriving = _HOME in due.words and not due.words & _OFF
    leaving = bool(due.words & _GO) and turn.kind in ("out", "bed") and not arriving
    around = stem_set(" ".join([turn.text, window.scene, window.description, *(i.text for i in items)]))
    named = bool(due.words & around) or leaving or (arriving and bool(window.scene) and at_home(window.scene))
    if due.how == "before":
        return 0 if named else 1
    if named or (turn.kind in _PARTS and not due.words - _VAGUE):
        return 0
    if due.how == "after" and due.words & _SESSION and turn.kind in _PARTS:
        return 0  # what goes on is rarely called by its name when it is seen
    return 1 if turn.t - intention.t >= CONTEXT_WAIT_US else None


_GO = frozenset(key(w) for w in ("leave", "go", "out", "bed", "sleep", "home", "head", "way"))
_MEALS = frozenset(key(w) for w in ("breakfast", "lunch", "dinner", "supper", "meal", "eating"))
_HOME = key("home")
_OFF = frozenset(key(w) for w in ("leave", "go", "out", "head", "way", "before"))
_PARTS = ("end", "change", "room", "out")
_SESSION = frozenset(
    key(w)
    for w in """workout training practice lesson class session rehearsal match game exercise set round shift ride treatment visit""".split()
)
_VAGUE = frozenset(
    key(w) for w in "this that call meeting finish done here ready through over minute moment chance".split()
)


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
