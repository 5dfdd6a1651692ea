"""Named activities: which of them a person's words mean, when they began, and how long they went on.

An activity is what an event begins or ends by name ("start activity", "finish task", "start recipe").  Its name is rarely
what the wearer would say: "showered" means "take shower", "was out" means "leave house".
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edge.agent.question import Clause
from edge.agent.scope import Scope
from edge.retrieval import words
from edge.retrieval.zone import Us
from storage.records import Item

if TYPE_CHECKING:
    from edge.agent.view import View

_NAMES = re.compile(r"^(?P<verb>\w+)(?: on| with)? (?P<kind>activity|task|recipe|session|meal|game|exercise|job|procedure|chore)s?$", re.I)  # fmt: skip
_BEGIN = frozenset(words.key(w) for w in "start begin commence work do make cook".split())
_END = frozenset(words.key(w) for w in "finish end stop complete".split())
# Verbs that say no more than that the thing was done, whatever its name calls it.
_GENERIC = frozenset(
    words.key(w) for w in "have take do make go get use eat drink watch start begin cook prepare be spend finish play perform run attend work end stop".split()
)  # fmt: skip
_COOK = frozenset(words.key(w) for w in "cook make prepare bake fix".split())
_HOUSE = frozenset(words.key(w) for w in "house home flat apartment place room".split())
_FOOD = frozenset(words.key(w) for w in "meal dish recipe food something anything thing".split())
_A_THING = re.compile(r"^(?:the|my|our|a|an) ")
_LEAVE = re.compile(
    r"^(?:(?:leav\w+|left|quit)(?: (?:the |my )?(?:house|home|flat|apartment))?|(?:go|goes|going|gone|went|be|been|being) (?:out|away|outside)(?: of the (?:house|flat))?|"
    r"(?:be |been |spend |spent )?(?:out|outside|away)(?: (?:of|from) (?:the )?(?:house|home|flat))?)$",
    re.IGNORECASE,
)
_COME = re.compile(
    r"^(?:(?:came|come|got|get|gotten|arrived?|returned?|be|was|been) )?(?:back home|home|back|back to the (?:house|flat))(?: again)?$",
    re.I,
)
_SLEEP = re.compile(
    r"^(?:sleep|slept|asleep|sleeping|in bed|(?:be|been|lie|lay|spend|spent) (?:in bed|asleep)|(?:go|gone|went|going|get|got) (?:to (?:bed|sleep)|into bed))$",
    re.I,
)
_WAKE = re.compile(r"^(?:wake|woke|woken|waking|awake)(?: up)?$|^(?:get|got|gotten) (?:up|out of bed)$", re.IGNORECASE)
_IS_LEAVING = re.compile(
    r"^leav(?:e|es|ing)\b(?: (?:the )?(?:house|home|flat|apartment))?$|^go(?:es|ing)? out\b|^out(?:side)?$", re.I
)
_IS_SLEEPING = re.compile(r"^(?:sleep\w*|(?:go(?:ing)? to |in )?bed|nap\w*|(?:night )?sleep)$", re.IGNORECASE)
LONGEST: Us = 86_400_000_000
WORDY = 6  # a longer name says so much that one word of it and a verb that fits all do not mean it


@dataclass(frozen=True, slots=True)
class Meant:
    """The names of the activities meant, and whether their ends are ("came home" is the end of being out)."""

    names: tuple[str, ...]
    ends: bool = False


@dataclass(frozen=True, slots=True)
class Went:
    """One time an activity went on: its beginning, its last known moment, and the item that ended it, if one did."""

    begin: Item
    end: Us
    ended_by: Item | None


def is_name(action: str) -> bool:
    """Does an action begin or end an activity by its name?"""
    return _NAMES.match(action) is not None


def named(view: View) -> dict[str, set[str]]:
    """The names of the activities that were begun, and the kinds they were called ("activity", "recipe")."""
    found: dict[str, set[str]] = {}
    for action in view.actions():
        m = _NAMES.match(action)
        if m is not None and words.key(m.group("verb")) in _BEGIN:
            for name in view.objects(action):
                found.setdefault(name, set()).add(m.group("kind").lower())
    return found


def meant(view: View, clause: Clause) -> Meant | None:
    """The activities a clause means; None where it means none that is known."""
    if clause.quote or not clause.text:
        return None
    known = named(view)
    if not known:
        return None
    text = clause.text.lower().strip()
    if _A_THING.match(text):  # "how long was the bath": a thing that was done
        clause = Clause(((words.key("do"), ""),), text, "", text)
    for asked, is_it, ends in ((_LEAVE, _IS_LEAVING, False), (_COME, _IS_LEAVING, True), (_SLEEP, _IS_SLEEPING, False), (_WAKE, _IS_SLEEPING, True)):  # fmt: skip
        if asked.match(text) and (names := tuple(n for n in known if is_it.match(n))):
            return Meant(names, ends)
    acts = {a[0] for a in clause.acts}
    near = acts | {a[0] for act in clause.acts for a in words.near_acts(act)}
    things = set(words.content(clause.thing))
    ends = bool(acts & _END)
    if cooking(clause.acts, clause.thing) and (things or acts != {words.key("make")}):
        names = dishes(view)
        names = names or tuple(n for n in known if _COOK & set(words.keys(n)[:1]))
        return Meant(names) if names else None
    graded = [(grade, n) for n in known if (grade := max(_grade(acts, near, things, text, p) for p in n.split(" or ")))]
    best = max((g for g, _ in graded), default=0)
    names = tuple(n for g, n in graded if g == best)
    if acts <= _COOK:  # of a dish its making, not the single things done for it
        names = tuple(n for n in names if "recipe" in known[n]) or names
    return Meant(names, ends) if names else None


def dishes(view: View) -> tuple[str, ...]:
    """The names of what was cooked."""
    return tuple(n for n, kinds in named(view).items() if "recipe" in kinds or "meal" in kinds)


def nightly(clause: Clause) -> bool:
    """Is it going to bed, which goes around midnight?"""
    return _SLEEP.match(clause.text.strip()) is not None


def cooking(acts: tuple[tuple[str, str], ...], thing: str) -> bool:
    """Is it cooking (making, preparing) without saying what: "cook", "make a meal"?"""
    return bool(acts) and {a[0] for a in acts} <= _COOK and set(words.content(thing)) <= _FOOD


def _grade(acts: set[str], near: set[str], thing: set[str], text: str, name: str) -> int:
    """3 the activity itself, 2 one that its name holds, 0 another."""
    held = set(words.content(name))
    if not thing:
        return (3 if held <= acts else 2) if acts & held else 0
    if thing <= _HOUSE and acts & held:
        return 2
    if not acts or not thing <= held:
        return 0
    more = held - thing
    if more & near:
        return 3 if more <= near else 2
    if acts & _GENERIC or (words.key("leave") in acts and " for " in text):
        if words.key("put") in more:  # putting away comes after the thing itself
            return 1
        return 3 if not more else 2 if len(held) <= WORDY else 0
    return 0


def occurrences(view: View, which: Meant, scope: Scope) -> list[Item]:
    """The beginnings (or ends) of activities within a scope, in time order."""
    marks = _END if which.ends else _BEGIN
    terms = [(a, n) for a in view.actions() if _first_key(a) in marks and _NAMES.match(a) for n in which.names]
    if which.ends and not any(n in view.objects(a) for a, n in terms):
        return [w.ended_by for w in went(view, Meant(which.names), scope) if w.ended_by is not None]
    view.calls += 1
    return view.mine(view.snap.lookup.events_of(terms, scope.start, scope.end))


def went(view: View, which: Meant, scope: Scope, *, last: bool = False) -> list[Went]:
    """The times (or only the last of them) that activities went on within a scope.

    Each to its own end mark, else to the next beginning of that kind or the end of the recording.
    """
    low = None if scope.start is None else scope.start - LONGEST
    begun = occurrences(view, Meant(which.names), Scope(low, scope.end, scope.named))
    if not begun:
        return []
    begun = begun[-1:] if last else begun
    marks = [a for a in view.actions() if _NAMES.match(a) and _first_key(a) in _END]
    marked = {n for a in marks for n in view.objects(a)}
    terms = [(a, n) for a in marks for n in which.names if n in marked]
    ends = view.snap.lookup.events_of(terms, begun[0].t, begun[-1].t + LONGEST) if terms else []
    found: list[Went] = []
    for item in begun:
        if item.object in marked:
            stop = next(
                (e for e in ends[bisect_right(ends, item.t, key=lambda e: e.t) :] if e.object == item.object), None
            )
            if stop is not None and stop.t - item.t <= LONGEST:
                found.append(Went(item, stop.t, stop))
            continue
        run = next((r for r in view.around(item.t) if r.t_start <= item.t < r.t_end), None)
        limit = run.t_end if run is not None else item.t
        after = view.snap.trace.events(item.action, item.t + 1, limit)
        found.append(Went(item, after[0].t, after[0]) if after else Went(item, limit, None))
    return [w for w in found if scope.start is None or w.end > scope.start]


def at(view: View, t: Us) -> list[Went]:
    """What was going on at a time, the newest first."""
    names = tuple(named(view))
    if not names:
        return []
    under_way = [w for w in went(view, Meant(names), Scope(t - LONGEST // 2, t + 1, True)) if w.begin.t <= t < w.end]
    return under_way[::-1]


def _first_key(action: str) -> str:
    return words.key(action.split(" ", maxsplit=1)[0])
