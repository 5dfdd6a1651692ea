"""The router for procedures: while one is under way, its services in place of the daily ones, by rules.

error_recovery: a step that differs in amount, thing or manner from what is asked, that is an error known to happen there,
or that comes too early or too late;
next_step_guidance: a step is done and the wearer stands idle or has just ended it; task_reminder: a step was passed
over, or is still to be done when the wearer goes; memory_recall: the wearer's own earlier error at this very step, from any day.
"""

from __future__ import annotations

from collections.abc import Mapping

from edge.clock import US
from edge.proactive.alerts import speak
from edge.proactive.experts import ROUTER, Screening, items_of, service
from edge.proactive.following import Event, Following, Run
from edge.proactive.leaving import going, signs
from edge.proactive.procedures import Difference, Procedure, difference
from edge.proactive.wording import departs
from storage.records import Service
from storage.snapshot import Snapshot

LATE_US = 30 * US  # a word about a step comes too late after so long
EARLY = "Not yet"  # how it is said that another step comes first
STEPS_TOLD = 25  # a model is told of at most so many steps, those around the one at hand
REACH_US = 3 * 3600 * US  # a procedure is followed from at most so long ago


class ProcedureExpert:
    """Asks for the services of a procedure.  What it keeps is read back from the store when it does not fit the unit."""

    name = ROUTER
    types: tuple[str, ...] = ("error_recovery", "next_step_guidance", "task_reminder", "memory_recall")

    def __init__(self, procedures: Mapping[str, Procedure], wearer: frozenset[str]) -> None:
        self._procedures, self._wearer = procedures, wearer
        self._last: tuple[str, int] = ("", 0)
        self._following = Following(procedures, wearer)

    @property
    def under_way(self) -> bool:
        """Whether a procedure is being followed."""
        return self._following.run is not None

    @property
    def course(self) -> list[str]:
        """Where the wearer is in the procedure that is followed, as a model is told it; empty when none is."""
        run = self._following.run
        if run is None:
            return []
        procedure, done = run.procedure, run.so_far
        ahead, passed = set(run.next_steps()), run.passed_over()
        states = {**dict.fromkeys(done, "done"), **dict.fromkeys(ahead, "next"), **dict.fromkeys(passed, "passed over")}
        last = max(done, default=0)
        first = max(0, min(last - STEPS_TOLD // 2, len(procedure.steps) - STEPS_TOLD))
        told = range(first, min(first + STEPS_TOLD, len(procedure.steps)))
        lines = [f"Procedure {procedure.name}:"]
        lines += [f"step {i + 1} ({states.get(i, 'later')}): {procedure.steps[i]}" for i in told]
        watched = {procedure.steps[i] for i in ahead | set(run.done[-1:])}
        return lines + [f"known to go wrong: {e.error}" for e in procedure.errors if e.step in watched]

    def screen(self, unit: Screening, snapshot: Snapshot) -> list[Service]:
        """The services of what happened to the procedure in this window."""
        window = unit.window
        if window is None or not self._procedures:
            return []
        before = (unit.recording, unit.previous.id if unit.previous is not None else 0)
        if self._last != before:
            self._following = Following(self._procedures, self._wearer)
            for earlier in snapshot.trace.windows(window.t_start - REACH_US, window.t_start):
                if earlier.recording == unit.recording and earlier.id != window.id:
                    self._following.feed(items_of(earlier), earlier.t_end)
        events = self._following.feed(items_of(window), window.t_end)
        self._last = (unit.recording, window.id)
        run = self._following.run
        if run is None:
            return []
        leave = next(iter(going(signs(window, items_of(window), unit.previous, self._wearer), window.t_start)), None)
        if leave is not None and run.last is not None and leave.t > run.last.t:
            events += self._following.left(leave.t, leave.refs)
        asked: list[Service] = []
        for event in events:
            asked += self._services(event, run, unit, snapshot)
        return asked

    def holds(self, service: Service, unit: Screening, snapshot: Snapshot) -> bool:
        """Whether a word about a step that had to wait is still about the step at hand."""
        del snapshot
        run = self._following.run
        if run is None or run.last is None:
            return False
        if service.type == "next_step_guidance":
            return run.last.t <= service.t  # else the next step has begun
        return unit.known - service.t < LATE_US

    def _services(self, event: Event, run: Run, unit: Screening, snapshot: Snapshot) -> list[Service]:
        steps = run.procedure.steps
        window = (f"w{unit.window.id}",) if unit.window is not None else ()
        refs = (*event.refs, *window)
        if event.kind == "missing":
            ready = run.procedure.open_after(run.so_far)
            first = next((i for i in event.undone if i in ready), event.undone[0])
            text = speak("task_reminder", variant="step", what=_act(steps[first]))
            return [service("task_reminder", event.t, text, refs, _key(run, first), unit, self.name)]
        if event.kind == "open":
            text = speak("task_reminder", variant="open", what=_act(steps[event.undone[0]]))
            return [service("task_reminder", event.t, text, refs, _key(run, event.undone[0]), unit, self.name)]
        if event.kind in ("finished", "idle"):
            ahead = run.next_steps()
            final = not any(event.step in needs for needs in run.procedure.direct)
            if final or not ahead:
                return []
            follows = [i for i in ahead if event.step in run.procedure.direct[i]]
            text = speak("next_step_guidance", step=_act(steps[(follows or ahead)[0]]))
            return [service("next_step_guidance", event.t, text, refs, _key(run, event.step), unit, self.name)]
        found: list[Service] = []
        earlier = self._went_wrong(run, event, snapshot)
        if earlier is not None:
            what = _act(earlier.text)
            told = speak("memory_recall", variant="step", what=what)
            if what not in told:  # too long for both: the error without its remedy
                told = speak("memory_recall", variant="step", what=what.partition(": ")[0])
            cited = (f"a{earlier.id}", *refs)
            found.append(service("memory_recall", event.t, told, cited, _key(run, event.step), unit, self.name))
        fault = self._fault(event, run)
        if fault is not None:
            text = speak("error_recovery", mistake=fault[0], remedy=fault[1])
            found.append(service("error_recovery", event.t, text, refs, _key(run, event.step), unit, self.name))
        return found

    def _fault(self, event: Event, run: Run) -> tuple[str, str] | None:
        """What is wrong with a step that was begun, and what to do about it."""
        steps = run.procedure.steps
        if event.fault is not None:
            return event.fault.error, _act(event.fault.remedy) or f"it says {_act(steps[event.step])}"
        asked = steps[event.step]
        differs = Difference(*departs(asked, event.text)) if event.described else difference(asked, event.text)
        if differs:
            done, asked = _phrase(differs.added, event.text), _phrase(differs.missing, steps[event.step])
            return (done or "Not quite", f"it says {asked}" if asked else f"it says {_act(steps[event.step])}")
        if event.undone:
            return EARLY, f"first {_act(steps[event.undone[0]])}"
        if event.late:
            return "This was due before", _act(steps[event.step])
        return None

    def _went_wrong(self, run: Run, event: Event, snapshot: Snapshot) -> Service | None:
        """The wearer's newest earlier error at this step, before this run began."""
        key = _key(run, event.step)
        earlier = [
            s
            for kind in ("error_recovery", "task_reminder")
            for s in snapshot.services.with_key(kind, key)
            if s.t < run.t and not (kind == "error_recovery" and _passed_over(s, snapshot))
        ]
        return max(earlier, key=lambda s: (s.t, s.id), default=None)


def _passed_over(error: Service, snapshot: Snapshot) -> bool:
    """Whether what came too early then turned out to be a step left out: that is recalled at the step left out."""
    if not error.text.startswith(EARLY):
        return False
    return any(s.type == "task_reminder" and s.t == error.t for s in snapshot.services.between(error.t, error.t + 1))


def _key(run: Run, step: int) -> str:
    return f"{run.procedure.name}|{step + 1}"


def _act(text: str) -> str:
    """A step as part of a sentence."""
    text = text.strip().rstrip(".")
    return text[:1].lower() + text[1:]


def _phrase(words: tuple[str, ...], text: str) -> str:
    """A few telling words as they stand in a text; an amount takes what it counts with it."""
    all_words = text.split()
    plain = [w.strip(".,;:()").lower() for w in all_words]
    kept: list[str] = []
    for word in words[:3]:
        if word not in plain:
            continue
        i = plain.index(word)
        end = i + 2 if word[0].isdigit() and i + 1 < len(plain) else i + 1
        kept += [w for w in plain[i:end] if w not in kept]
    return " ".join(kept)
