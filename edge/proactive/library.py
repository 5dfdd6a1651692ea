"""The procedures that are stored with a memory: loading them, what is in force, and where the wearer is in one.

Nothing is kept here: progress is read from the trace, the way the procedures' router does it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from edge.clock import US, iso
from edge.errors import InputError
from edge.proactive.experts import items_of
from edge.proactive.following import Following
from edge.proactive.procedures import KnownError, Procedure, given_in, load, make
from storage import Snapshot, Store
from storage.context_records import StoredProcedure
from storage.errors import NotFound

REACH_US = 3 * 3600 * US  # a procedure is followed from at most so long ago


@dataclass(frozen=True, slots=True)
class Progress:
    """A procedure under way as of time t: numbers of steps done in their order, allowed next, passed over, done too late."""

    procedure: Procedure
    begun: int
    t: int
    offset_s: int
    done: tuple[int, ...]
    ready: tuple[int, ...]
    skipped: tuple[int, ...]
    late: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        steps = self.procedure.steps
        return {
            "procedure": self.procedure.name,
            "begun": iso(self.begun, self.offset_s),
            "as_of": iso(self.t, self.offset_s),
            "steps": len(steps),
            **{name: [steps[i] for i in getattr(self, name)] for name in ("done", "ready", "skipped", "late")},
            "watch": [asdict(e) for e in self.watch],
        }

    @property
    def watch(self) -> list[KnownError]:
        """What is known to go wrong at the steps that are next."""
        ready = {self.procedure.steps[i] for i in self.ready}
        return [e for e in self.procedure.errors if e.step in ready]


def add(store: Store, path: Path, now: int) -> list[str]:
    """Store the procedures of a file; returns their names.  Raises MissingFile, InputError."""
    given = given_in(path)
    for name, body in given.items():  # all of it is checked before anything is stored
        make(name, body.steps, body.before, body.errors)
    with store.transaction() as tx:
        for name, body in given.items():
            if not name.strip() or "\n" in name:
                raise InputError("A procedure needs a name of one line.")
            kept = body.model_dump(exclude_defaults=True)
            tx.procedures.put(StoredProcedure(name, json.dumps(kept, ensure_ascii=False), now))
    return list(given)


def remove(store: Store, name: str, now: int) -> list[str]:
    """Take a procedure, those of a file, or all out of force; returns their names.  Raises NotFound."""
    with store.transaction() as tx:
        reader = tx.snapshot().procedures
        path = Path(name)
        names = [p.name for p in reader.all()] if name == "all" else [name]
        if name != "all" and path.suffix == ".json" and path.is_file():
            held = {p.name for p in reader.all()}
            names = [n for n in load(path) if n in held]
        found = [reader.get(n) for n in names]
        if not found:
            raise NotFound("There is nothing to remove: see grove-edge procedures list.")
        for procedure in found:
            tx.procedures.remove(procedure, now)
    return [p.name for p in found]


def stored(snapshot: Snapshot) -> dict[str, Procedure]:
    """The procedures in force by name."""
    return {p.name: _made(p.name, p.body) for p in snapshot.procedures.all()}


def progress(snapshot: Snapshot, owner: str = "") -> Progress | None:
    """Where the wearer is in the procedure under way, as known at the snapshot's time; None when none is."""
    known = stored(snapshot)
    last = snapshot.trace.newest_stored()
    if not known or last is None:
        return None
    following = Following(known, frozenset({"wearer", "me", "i", "", owner.lower()}))
    late: list[int] = []
    for window in snapshot.trace.windows(last.t_end - REACH_US, last.t_end + 1):
        if window.recording == last.recording:
            before = following.run
            happened = following.feed(items_of(window), window.t_end)
            if following.run is not before:
                late = []
            late += [e.step for e in happened if e.kind == "step" and e.late]
    run = following.run
    if run is None:
        return None
    return Progress(
        run.procedure, run.t, last.t_end, last.offset_s, tuple(dict.fromkeys(run.done)), tuple(run.next_steps()),
        tuple(sorted(run.passed_over())), tuple(dict.fromkeys(late)),
    )  # fmt: skip


def under_way(snapshot: Snapshot, owner: str = "") -> str:
    """The recording in which a procedure is under way at the end of what is known; "" when none is."""
    last = snapshot.trace.newest_stored()
    found = progress(snapshot, owner) if last is not None else None
    return last.recording if found is not None and last is not None else ""


@lru_cache(maxsize=512)
def _made(name: str, body: str) -> Procedure:
    given = json.loads(body)
    before = given.get("before")
    errors = [KnownError(e["step"], e["error"], e.get("remedy", "")) for e in given.get("errors", ())]
    return make(name, given["steps"], None if before is None else [(a, b) for a, b in before], errors)
