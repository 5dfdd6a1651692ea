"""Following a procedure: which one is under way, what is done of it, what came too early, too late or not at all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from edge.clock import US
from edge.proactive.procedures import KnownError, Procedure, sort_of
from edge.proactive.wording import as_step, idle
from edge.retrieval.words import content
from storage.records import Item

Happening: TypeAlias = Literal["step", "finished", "missing", "idle", "open"]

PAUSE_US = 1800 * US  # after so long without a doing the procedure is over
WAIT_US = 10 * US  # a step that was passed over may still be on its way for so long
IDLE_US = 10 * US
SURE = 0.6  # how well doings must fit to tell which procedure is under way
POINT_US = 30 * US  # two steps that end so close together, none begun between them, want one word about what comes next
NAMES = 2  # so many different steps tell it
RECENT = 4
MOSTLY = 1 / 2  # from this share of its steps on a procedure is under way in earnest
MUDDLED = 1 / 3  # from this share of steps done late on, an order is not kept at all

_FINISHED = re.compile(r"^(?:finished|finishes|finish|completed|completes|done with):? ", re.IGNORECASE)
_BEGINS = re.compile(
    r"^(?:start|starts|started|begin|begins|began)(?: the)?(?: recipe| task| procedure| activity| making| assembling| cooking| preparing|:)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to the procedure under way, at a perceived second.

    kind "step": step was begun; undone are steps that should have come before, late says that a step it should
    precede was done already, fault is the known error that the doing is, described that it was told as one who looks on
    tells it.  "finished": step ended.  "missing": undone were passed over and have not come since.
    "idle": nothing was done for a while after step.  "open": the wearer goes, and undone are what could be done next.
    """

    kind: Happening
    t: int
    refs: tuple[str, ...]
    step: int
    text: str
    undone: tuple[int, ...] = ()
    late: bool = False
    fault: KnownError | None = None
    described: bool = False


@dataclass(slots=True)
class Run:
    """A procedure under way."""

    procedure: Procedure
    t: int
    done: list[int] = field(default_factory=list)
    begun: dict[str, int] = field(default_factory=dict)
    asked: set[int] = field(default_factory=set)
    waiting: list[Event] = field(default_factory=list)
    lates: int = 0
    marked: bool = False
    last: Event | None = None
    idle_told: bool = False
    pointed: int = 0

    @property
    def so_far(self) -> frozenset[int]:
        """The steps done or begun."""
        return frozenset(self.done)

    def next_steps(self) -> list[int]:
        """What may come next."""
        return self.procedure.open_after(self.so_far)

    def passed_over(self) -> set[int]:
        """What a step done or begun needs and what was neither done nor begun itself."""
        return {j for i in self.done for j in self.procedure.needs[i]} - self.so_far


@dataclass(frozen=True, slots=True)
class _Doing:
    t: int
    text: str
    ref: str
    described: bool = False


class Following:
    """Follows the doings of one recording window by window; the same windows give the same course."""

    def __init__(self, procedures: Mapping[str, Procedure], wearer: frozenset[str]) -> None:
        self._procedures, self._wearer = procedures, wearer
        self._names = {name: frozenset(content(name)) for name in procedures}
        self.run: Run | None = None
        self._recent: list[_Doing] = []

    def feed(self, items: Sequence[Item], until: int) -> list[Event]:
        """Take in the items of a window that ends at `until`; what happened, in time order."""
        found: list[Event] = []
        doings = self._doings(items)
        for doing in doings:
            found += self._take(doing)
        run = self.run
        if run is None:
            return found
        for event in list(run.waiting):
            if until - event.t >= WAIT_US:
                run.waiting.remove(event)
                undone = tuple(i for i in event.undone if i not in run.so_far)
                if run.lates > MUDDLED * len(run.done):  # who does much out of order has rarely forgotten
                    undone = tuple(i for i in undone if sort_of(run.procedure.steps[i]) == "addition")
                if undone:
                    found.append(Event("missing", event.t, event.refs, event.step, event.text, undone))
        last = run.last
        if (
            last is not None
            and not doings
            and not run.marked
            and not run.idle_told
            and len(run.done) >= NAMES
            and until - last.t >= IDLE_US
        ):
            run.idle_told = True
            found.append(Event("idle", last.t, last.refs, last.step, last.text))
        if last is not None and until - last.t > PAUSE_US:
            self.run = None
        return found

    def left(self, t: int, refs: tuple[str, ...]) -> list[Event]:
        """What is still to be done when the wearer goes at t, most of the steps done; each step is asked for once."""
        run = self.run
        if run is None or run.last is None or len(run.done) < MOSTLY * len(run.procedure.steps):
            return []
        undone = tuple(i for i in run.next_steps() if i not in run.asked)
        if not undone:
            return []
        run.asked.update(undone)
        return [Event("open", t, refs, run.last.step, run.last.text, undone)]

    def _doings(self, items: Sequence[Item]) -> list[_Doing]:
        """What is done, in time order; an event that a caption of its second tells of too is left to the caption."""
        found: list[_Doing] = []
        told: dict[int, set[str]] = {}
        for item in items:
            if item.kind == "caption":
                text, described = as_step(item.text)
                told.setdefault(item.t, set()).update(content(text))
                if not (described and idle(text) and not self._asks(text)):
                    found.append(_Doing(item.t, text, f"o{item.id}", described))
        for item in items:
            if item.kind == "event" and item.subject.lower() in self._wearer:
                text = f"{item.action} {item.object}".strip()
                if not set(content(text)) <= told.get(item.t, set()) or (_begins(text) and not told.get(item.t)):
                    found.append(_Doing(item.t, text, f"o{item.id}"))
        return sorted(found, key=lambda d: (d.t, not _FINISHED.match(d.text), not _begins(d.text)))

    def _asks(self, text: str) -> bool:
        """Whether a step of the procedure under way begins with the verb of a text ("Wait until it has cooled")."""
        verb = content(text)[:1]
        return self.run is not None and any(content(step)[:1] == verb for step in self.run.procedure.steps)

    def _take(self, doing: _Doing) -> list[Event]:
        named = self._named(doing.text)
        if named is not None:
            self.run, self._recent = Run(named, doing.t), []
            return []
        finished = _FINISHED.match(doing.text)
        if finished:
            return self._finish(doing, doing.text[finished.end() :])
        if self.run is None:
            self._recent = [*self._recent[-RECENT + 1 :], doing]
            return self._guess()
        return self._begin(self.run, doing)

    def _named(self, text: str) -> Procedure | None:
        """The procedure a text says is begun."""
        if not _begins(text):
            return None
        said = frozenset(content(text))
        fits = [name for name, words in self._names.items() if words and words <= said]
        return self._procedures[max(fits, key=lambda n: len(self._names[n]))] if fits else None

    def _guess(self) -> list[Event]:
        """Tell from the last doings which procedure is under way: one that several of them fit, and no other as well;
        what happened at the last of them.
        """
        scores: list[tuple[int, str]] = []
        for name, procedure in self._procedures.items():
            steps = {m[0] for d in self._recent if (m := procedure.match(d.text, frozenset())) and m[1] >= SURE}
            scores.append((len(steps), name))
        scores.sort(reverse=True)
        if not scores or scores[0][0] < NAMES or (len(scores) > 1 and scores[1][0] == scores[0][0]):
            return []
        self.run = Run(self._procedures[scores[0][1]], self._recent[0].t)
        found: list[Event] = []
        for doing in self._recent:
            found = self._begin(self.run, doing)
        self._recent = []
        if self.run.done[0] == 0:  # it was followed from its first step on
            return found
        self.run.waiting.clear()  # how it began was not followed: its order is not held against it
        return [replace(event, undone=(), late=False) for event in found]

    def _begin(self, run: Run, doing: _Doing) -> list[Event]:
        wrong = run.procedure.known_error(doing.text, run.so_far)
        match = wrong or run.procedure.match(doing.text, run.so_far)
        if match is None:
            return []
        step, fault = match[0], wrong[1] if wrong is not None else None
        undone = tuple(sorted(run.procedure.direct[step] - run.so_far))
        late = step not in run.so_far and any(step in run.procedure.needs[j] for j in run.done)
        event = Event("step", doing.t, (doing.ref,), step, doing.text, undone, late, fault, doing.described)
        run.lates += late
        lacking = run.procedure.needs[step] - run.so_far  # further back too: what was skipped may have had a need
        new = tuple(i for i in sorted(lacking - run.asked) if _forgotten(run.procedure, i))
        if new:
            run.asked.update(new)
            run.waiting.append(Event("missing", doing.t, (doing.ref,), step, doing.text, new))
        run.begun[doing.text.lower()] = step
        run.last, run.idle_told = event, False
        if step not in run.done:
            run.done.append(step)
        return [event]

    def _finish(self, doing: _Doing, text: str) -> list[Event]:
        run = self.run
        if run is None:
            return []
        run.marked = True
        step = run.begun.get(text.lower())
        if step is None:
            match = run.procedure.match(text, frozenset())
            if match is None:
                return []
            step = match[0]
        begun = run.last is not None and run.last.t > run.pointed
        if doing.t - run.pointed < POINT_US and not begun:
            return []
        run.pointed = doing.t
        return [Event("finished", doing.t, (doing.ref,), step, text)]


def _forgotten(procedure: Procedure, step: int) -> bool:
    """Whether a step that was passed over is likely forgotten: what is made ready is made ready when it is needed, a dish
    that was not heated is noticed, and what needs nothing before it begins a branch that is still to come.
    """
    sort = sort_of(procedure.steps[step])
    return sort == "addition" or (sort == "other" and bool(procedure.needs[step]))


def _begins(text: str) -> bool:
    return bool(_BEGINS.match(text))
