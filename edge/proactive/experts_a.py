"""Expert A, the present: acute danger (safety), bad technique (tool_use) and what is left open, on or behind (resource_reminder), by rules.

Two occasions: the wearer goes (out, to bed, out of the room) while something stands open or on; or the wearer has been
busy with other things, or in another place, for longer than the thing may stand so.  Nagging is the worse fault: where
closings often go unseen, nothing is claimed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from edge.clock import US
from edge.memory.bounds import short
from edge.proactive.acts import doings
from edge.proactive.alerts import speak
from edge.proactive.belongings import Belongings
from edge.proactive.experts import Screening, items_of, service, stem_set
from edge.proactive.hazards import warnings
from edge.proactive.leaving import SPAN_US, Going, Sign, going, places, signs
from edge.proactive.openings import (
    TRUST_ACTS,
    TRUST_AFTER_US,
    Books,
    Seen,
    Standing,
    fold,
    seen_in,
)
from storage.records import Item, Service, Window
from storage.snapshot import Snapshot

ELSEWHERE = 3  # so many different other things done since mean the wearer has turned to something else
AT_HAND = ("fridge",)  # nobody needs it open, not even who works beside it
EMPTY_S = 480  # an oven is on for nothing so long after what was in it came out
_EMPTIES = re.compile(
    r"^(?:take|takes|remove|removes|get|gets|pull|pulls|lift|lifts)\b.*\b(?:out of|from) the (?:hot )?oven\b"
)
_SHOPS = re.compile(r"\b(?:shop|super ?market|store|market|grocery|mall|aisle|drug ?store)\b(?! ?room)")
REACH_US = 12 * 3600 * US
DONE_US = 1200 * US  # the longest away_s of the table, over which doings are compared


class PresentExpert:
    """Asks for safety, tool_use and resource_reminder.  What it keeps is read back from the store when it does not fit the unit."""

    name = "A"
    types: tuple[str, ...] = ("safety", "tool_use", "error_recovery", "resource_reminder")

    def __init__(self, wearer: frozenset[str]) -> None:
        self._wearer = wearer
        self._last: tuple[str, int] = ("", 0)
        self._acts: list[Seen] = []
        self._signs: list[Sign] = []
        self._scenes: list[tuple[int, str]] = []
        self._done: list[tuple[int, str]] = []
        self._belongings = Belongings(wearer)

    def screen(self, unit: Screening, snapshot: Snapshot) -> list[Service]:
        """Reminders due at this window; none at an idle closing, when nobody is there to be told."""
        window = unit.window
        if window is None:
            return []
        items = items_of(window)
        self._follow(unit, window, items, snapshot)
        books = fold(self._acts, unit.known)
        asked: list[Service] = []
        leaves = going(self._signs, window.t_start)
        for leave in sorted(leaves, key=lambda g: ("out", "bed", "room").index(g.goes)):
            standing = self._at_leaving(books, leave, unit)
            if standing:
                asked.append(self._remind(unit, standing, leave.t, leave.refs, leave.goes))
                break
        if not asked:
            asked += self._after_long(unit, items, books)
        asked += self._belongings.left_behind(unit, leaves)
        dangers = warnings(unit, window, items, self._wearer)
        return dangers + [s for s in asked if not _asked_before(s, snapshot)][:2]

    def holds(self, service: Service, unit: Screening, snapshot: Snapshot) -> bool:
        """Whether what was to be told still stands open, on or behind; a danger is told or past."""
        del snapshot
        if service.type in ("safety", "tool_use", "error_recovery"):
            return False
        standing = fold(self._acts, unit.known).standing
        names = {f"{s.closure.name}@{s.t // US}" for s in standing.values()}
        kept = service.key.split(":")[0].split("+")
        return any(part in names or self._belongings.lies(part) for part in kept)

    def _follow(self, unit: Screening, window: Window, items: Sequence[Item], snapshot: Snapshot) -> None:
        """Take the window into the books; read them back first when another window came before it."""
        before = (unit.recording, unit.previous.id if unit.previous is not None else 0)
        edge = unit.known - TRUST_AFTER_US
        if self._last != before:
            earlier = snapshot.trace.items(("event", "caption", "speech"), edge)
            self._acts = seen_in([short(i) for i in earlier if i.window_id != window.id], self._wearer)
            recent = snapshot.trace.windows(window.t_start - REACH_US, window.t_start)
            recent = [w for w in recent if w.recording == unit.recording and w.id != window.id]
            self._scenes = [p for w in recent for p in places(w, items_of(w), self._wearer)]
            self._signs = []
            for previous, one in zip([None, *recent], recent, strict=False):
                if one.t_end > window.t_start - SPAN_US:
                    self._signs += signs(one, items_of(one), previous, self._wearer)
            self._belongings.reset(recent)
            self._done = [d for w in recent if w.t_end > unit.known - DONE_US for d in self._doings(items_of(w))]
        self._acts = [a for a in (*self._acts, *seen_in(items, self._wearer)) if a.t > edge][-TRUST_ACTS:]
        self._signs = [s for s in self._signs if s.t > window.t_start - SPAN_US]
        self._signs += signs(window, items, unit.previous, self._wearer)
        self._scenes += places(window, items, self._wearer)
        self._scenes = [s for s in self._scenes if s[0] > unit.known - REACH_US]
        self._done = [d for d in (*self._done, *self._doings(items)) if d[0] > unit.known - DONE_US]
        self._belongings.follow(window, items)
        self._last = (unit.recording, window.id)

    def _emptied(self, standing: Standing, until: int) -> bool:
        """Whether what was in the oven has been out of it for a while, the oven on."""
        if standing.closure.name != "oven":
            return False
        return any(standing.t < t <= until - EMPTY_S * US and _EMPTIES.search(words) for t, words in self._done)

    def _mine(self, standing: Standing) -> bool:
        """Whether it is for the wearer to close: a shop's own freezers shut themselves."""
        return standing.closure.name not in AT_HAND or not _SHOPS.search(self._scene_at(standing.t).lower())

    def _at_leaving(self, books: Books, leave: Going, unit: Screening) -> list[Standing]:
        found = [
            s
            for s in books.standing.values()
            if leave.goes in s.closure.on_going and s.t < leave.t and self._mine(s) and books.trusted(s, going=True)
        ]
        if leave.goes == "room":  # only what stands in the room that is left
            left = self._scene_at(min(leave.t, unit.window.t_start) - 1) if unit.window is not None else ""
            found = [s for s in found if self._scene_at(s.t) == left]
        return sorted(found, key=lambda s: (-s.closure.hazard, s.t))

    def _after_long(self, unit: Screening, items: Sequence[Item], books: Books) -> list[Service]:
        for standing in sorted(books.standing.values(), key=lambda s: (-s.closure.hazard, s.t)):
            closure = standing.closure
            away_s = closure.away_s or (EMPTY_S if self._emptied(standing, unit.known) else 0)
            if not away_s or not self._mine(standing) or not books.trusted(standing, going=False):
                continue
            mine = [i for i in items if i.kind != "speech" and i.t - standing.t >= away_s * US]
            if not mine:
                continue
            start, scene = self._scene_at(standing.t), self._scene_at(unit.known)
            if start and scene and (start != scene or closure.name not in AT_HAND):
                away = start != scene and self._away_for(start, unit.known) >= min(away_s, 600) * US // 2
            else:
                away = self._busy_elsewhere(standing, unit.known)
            if away:
                return [self._remind(unit, [standing], mine[-1].t, (f"o{mine[-1].id}",), "long")]
        return []

    def _away_for(self, scene: str, until: int) -> int:
        """For how long the wearer has been in other places than `scene`."""
        left = until
        for t, name in reversed(self._scenes):
            if name == scene:
                break
            left = t
        return until - left

    def _scene_at(self, t: int) -> str:
        return next((name for start, name in reversed(self._scenes) if start <= t), "")

    def _busy_elsewhere(self, standing: Standing, until: int) -> bool:
        """Where no place is known: much else was done of late, and nothing that goes with the thing."""
        since = max(standing.t, until - standing.closure.away_s * US)
        kin = stem_set(standing.closure.kin)
        others: set[str] = set()
        for t, text in self._done:
            if t <= since:
                continue
            named = stem_set(text)
            if named & kin:
                return False
            others.add(text)
        return bool(kin) and len(others) >= ELSEWHERE

    def _doings(self, items: Sequence[Item]) -> list[tuple[int, str]]:
        return [(i.t, words) for i in items for words, mine in doings(i, self._wearer) if mine]

    def _remind(self, unit: Screening, standing: Sequence[Standing], t: int, refs: Sequence[str], why: str) -> Service:
        told = list(standing[:2])
        key = "+".join(f"{s.closure.name}@{s.t // US}" for s in told) + f":{why}"
        evidence = [s.ref for s in told] + [f"w{s.window_id}" for s in told] + list(refs)
        if unit.window is not None:
            evidence.append(f"w{unit.window.id}")
        first = told[0]
        state = _state(first)
        if len(told) > 1:
            state += f", the {told[1].thing} {_bare_state(told[1])}"
        whose = "Your" if first.closure.way == "unsaved" else "The"
        text = speak("resource_reminder", thing=f"{whose} {first.thing}", state=state)
        return service("resource_reminder", t, text, evidence, key, unit, self.name)


def _asked_before(service: Service, snapshot: Snapshot) -> bool:
    """Whether this very occasion was asked for: of one opening, going out or to bed is an occasion of its own, going
    from the room or turning to other things are one.
    """
    thing, _, why = service.key.rpartition(":")
    whys = ("room", "long") if why in ("room", "long") else (why,)
    return any(snapshot.services.with_key(service.type, f"{thing}:{w}") for w in whys)


def _state(standing: Standing) -> str:
    return f"is still {_bare_state(standing)}"


def _bare_state(standing: Standing) -> str:
    if standing.closure.way == "open":
        return "open"
    if standing.closure.way == "unsaved":
        return "not saved"
    return {"tap": "running", "fire": "burning"}.get(standing.closure.name, "on")
