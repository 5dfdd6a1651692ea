"""grove-edge facts, views, correct, corrections, procedures: what holds, what went on, what the owner knows better."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from edge import config as settings
from edge.clock import SystemClock
from edge.commands.common import (
    AtOption,
    DbOption,
    FromOption,
    JsonOption,
    ToOption,
    at,
    clock_told,
    db_path,
    emit,
    moment,
    query_embedding,
    reading,
    reference,
    say,
    wearer_offset,
)
from edge.errors import UsageError
from storage import Store
from storage.context_records import Correction, Fact, FactKind, FactState

if TYPE_CHECKING:
    from edge.memory.corrections import Asked
    from edge.memory.patterns import Embed
    from edge.proactive.library import Progress
    from edge.proactive.procedures import KnownError, Procedure

_DAY_US = 86_400_000_000
procedures = typer.Typer(help="Step lists you may follow, and where you are in one.", no_args_is_help=False)
KindOption = Annotated[
    Literal["habit", "preference", "relation", "ownership", "plan"] | None,
    typer.Option("--kind", help="Only these.", show_default=False),
]


def facts(
    kind: KindOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Candidates and retired ones too.")] = False,
    db: DbOption = None,
    when: AtOption = None,
    as_json: JsonOption = False,
) -> None:
    """What holds beyond one moment: habits, preferences, relations, ownership, plans, each with what it rests on."""
    wanted: FactKind | None = kind
    state: FactState | None = None if everything else "active"
    with reading(db, when) as snapshot:
        offset = wearer_offset(snapshot)
        rows = []
        for fact in snapshot.facts.all(wanted, state):
            support = snapshot.facts.support(fact.id)
            rows.append({**_fact(fact, offset), "evidence": [{"id": s.ref, "quote": s.quote} for s in support]})
    for row in rows:
        row["last"] = row["t_last"][:10]
    emit(
        rows, as_json, ("id", "kind", "text", "support", "days", "last", "state"), "Nothing of that kind is known yet."
    )


def views(
    scale_s: Annotated[
        int | None,
        typer.Option("--scale", help="Only of this length, seconds.", show_default=False, min=1, max=1_000_000_000),
    ] = None,
    db: DbOption = None,
    start: FromOption = None,
    end: ToOption = None,
    when: AtOption = None,
    as_json: JsonOption = False,
) -> None:
    """Longer stretches told in a few sentences: what went on and what was in view."""
    with reading(db, when) as snapshot:
        rows: list[dict[str, Any]] = [
            {
                "id": f"v{v.id}", "scale_s": v.scale_s, "t_start": at(v.t_start, v.offset_s), "t_end": at(v.t_end, v.offset_s),
                "text": v.text, "visual": v.visual, "objects": list(v.objects), "actions": list(v.actions),
                "topics": list(v.topics), "speakers": list(v.speakers), "names": list(v.names),
                "windows": [f"w{v.first_window}", f"w{v.last_window}"], "version": v.version, "made_by": v.made_by,
            }
            for v in snapshot.views.between(moment(start, snapshot), moment(end, snapshot), scale_s)
        ]  # fmt: skip
        nothing = "No stretch is told yet."
        if scale_s is not None and not rows:
            there = sorted({v.scale_s for v in snapshot.views.between()})
            if there:
                lengths = ", ".join(map(str, there))
                nothing = f"No stretch of {scale_s} seconds is told; there are some of {lengths} seconds."
    for row in rows:
        row["time"] = f"{row['t_start'][:10]} {row['t_start'][11:16]}-{row['t_end'][11:16]}"
    emit(rows, as_json, ("id", "time", "text", "visual"), nothing)


def correct(
    what: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="m12, e4, w7, o33, f2 or i5; or the words.")
    ] = None,
    words: Annotated[str | None, typer.Argument(metavar="TEXT", help='As in "that was my sister\'s mug".')] = None,
    undo: Annotated[str | None, typer.Option("--undo", metavar="ID", help="Take a correction back, as in c1.")] = None,
    db: DbOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what was really so: it stands above what was perceived, and can be taken back.

    With an id it is about that row ("not a cup but a mug", "that was Anna", "that did not happen"); without one say
    when ("I did drink water at 3").
    """
    from edge.memory.corrections import correct as make
    from edge.memory.corrections import undo as take_back

    now = SystemClock().now()
    with Store.open(db_path(db), create=False) as store:
        if undo is not None:
            if what is not None:
                raise UsageError("--undo stands alone: give it the id of the correction.")
            made = take_back(store, reference(undo, "c"), now=now)
        elif what is None:
            raise UsageError('Say what was so, as in grove-edge correct m12 "that was my sister\'s mug".')
        else:
            ref, text = (what, words) if words is not None else ("", what)
            text = text.encode("utf-8", "replace").decode("utf-8")  # a terminal may hand on bytes that are no text
            with store.snapshot() as snapshot:
                last, offset = snapshot.trace.last(), wearer_offset(snapshot)
            asked = _asked(text, ref, now if last is None or now - last.t_end < _DAY_US else last.t_end, offset)
            made = make(store, _embed(store), asked, now=now, offset_s=offset)
    row = _correction(made)
    about = ", ".join(row["bears_on"]) or clock_told(row["t"])
    told = "undone" if made.state == "undone" else f"{made.kind}, bears on {about}"
    say(
        row,
        as_json,
        [f"c{made.id}: {told}. (Undo: grove-edge correct --undo c{made.id})" if not undo else f"c{made.id}: {told}."],
    )


def corrections(
    everything: Annotated[bool, typer.Option("--all", help="Those that were undone too.")] = False,
    db: DbOption = None,
    when: AtOption = None,
    as_json: JsonOption = False,
) -> None:
    """What you have corrected."""
    with reading(db, when) as snapshot:
        rows = [_correction(c) for c in snapshot.corrections.all(None if everything else "active")]
    for row in rows:
        row["time"] = clock_told(row["t"])
    emit(rows, as_json, ("id", "time", "kind", "text", "bears_on", "state"), "Nothing was corrected.")


@procedures.callback(invoke_without_command=True)
def default(context: typer.Context, db: DbOption = None, as_json: JsonOption = False) -> None:
    """List the procedures; add, remove and status do more."""
    if context.invoked_subcommand is None:
        list_(db=db, steps=False, as_json=as_json)


@procedures.command("list")
def list_(
    db: DbOption = None,
    steps: Annotated[bool, typer.Option("--steps", help="With their steps.")] = False,
    as_json: JsonOption = False,
) -> None:
    """The procedures in force."""
    from edge.proactive.library import stored

    with reading(db) as snapshot:
        found = stored(snapshot)
        versions = {p.name: p for p in snapshot.procedures.all()}
        rows: list[dict[str, Any]] = [
            {
                "id": f"s{versions[name].id}", "name": name, "steps": len(p.steps), "ordered": all(p.direct[1:]),
                "version": versions[name].version, "step_list": list(p.steps),
                "errors": len(p.errors), "error_list": [asdict(e) for e in p.errors],
            }
            for name, p in found.items()
        ]  # fmt: skip
    if steps and not as_json:
        rows = [{**row, "steps": "\n".join(_steps(p))} for row, p in zip(rows, found.values(), strict=True)]
    columns = ("id", "name", "steps") if steps else ("id", "name", "steps", "ordered", "errors", "version")
    emit(rows, as_json, columns, "No procedure is loaded: grove-edge procedures add FILE.")


@procedures.command("add")
def add_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON: names with their steps and their order.")],
    db: DbOption = None,
    as_json: JsonOption = False,
) -> None:
    """Load procedures from a file; one of the same name gets a further version.

    The file looks like {"name": {"steps": ["...", "..."], "before": [["earlier step", "later step"]]}}; without "before"
    the steps are taken in the order they are listed.  "errors" may say what is known to go wrong; see
    docs/procedures.md.
    """
    from edge.proactive.library import add

    with Store.open(db_path(db), create=False) as store:
        added = add(store, file, SystemClock().now())
    say({"added": added}, as_json, [f"Loaded: {', '.join(added)}"])


@procedures.command("remove")
def remove_(
    name: Annotated[str, typer.Argument(help="The procedure's name, or a file whose procedures go, or all.")],
    db: DbOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take procedures out of force; what was done by them stays in the memory."""
    from edge.proactive.library import remove

    with Store.open(db_path(db), create=False) as store:
        gone = remove(store, name, SystemClock().now())
    say({"removed": gone}, as_json, [f"Removed: {', '.join(gone)}"])


@procedures.command("status")
def status_(db: DbOption = None, when: AtOption = None, as_json: JsonOption = False) -> None:
    """Where you are in the procedure under way: done, next, skipped, out of order."""
    from edge.proactive.library import progress

    config = settings.load()
    with reading(db, when) as snapshot:
        found = progress(snapshot, config.owner.name)
    if found is None:
        say({"procedure": None}, as_json, ["No procedure is under way."])
        return
    say(found.to_json(), as_json, _progress_lines(found))


def _progress_lines(found: Progress) -> list[str]:
    steps = found.procedure.steps
    lines = [f"{found.procedure.name}: {len(found.done)} of {len(steps)} steps."]
    lines += [f"  done     {steps[i]}" for i in found.done]
    lines += [f"  next     {steps[i]}" for i in found.ready]
    lines += [f"  skipped  {steps[i]}" for i in found.skipped]
    lines += [f"  too late {steps[i]}" for i in found.late]
    return lines + [f"  mind     {_warning(e)}" for e in found.watch]


def _steps(procedure: Procedure) -> list[str]:
    """The steps by number, each with what is known to go wrong there."""
    lines = []
    for n, step in enumerate(procedure.steps, 1):
        lines.append(f"{n}. {step}")
        lines += [f"   mind: {_warning(e)}" for e in procedure.errors if e.step == step]
    return lines


def _warning(known: KnownError) -> str:
    return f"{known.error} ({known.remedy})" if known.remedy else known.error


def _asked(text: str, ref: str, now: int, offset_s: int) -> Asked:
    """The words of a correction with the time named in them; "at 3" is the last three o'clock there was."""
    from edge.memory.corrections import Asked
    from edge.retrieval.timephrase import Found, extract
    from edge.retrieval.zone import Zone

    zone = Zone(now, offset_s, lambda _: offset_s)
    bare = re.search(
        r"\bat (1[0-2]|0?[1-9])(?= *(?:o'clock)?(?:[.,!]|$| (?:today|yesterday)))(?: o'clock)?", text, re.I
    )
    found: Found = extract(text, zone)
    if bare is not None:
        hour = int(bare[1]) % 12
        both = [extract(text.replace(bare[0], f"at {h:02d}:00", 1), zone) for h in (hour, hour + 12)]
        past = [f for f in both if f.spans and f.spans[0].start <= now]
        found = max(past or both, key=lambda f: f.spans[0].start if f.spans else 0)
    start, end = (found.spans[0].start, found.spans[0].end) if found.spans else (None, None)
    return Asked(text, found.rest, ref, start, end)


def _embed(store: Store) -> Embed:
    """The memory's own embedding; without it corrections are found by their words alone."""
    import numpy as np

    found = query_embedding(settings.load(), store.space)
    if found is not None:
        return found
    dim = store.space.dim
    return lambda texts: np.zeros((len(texts), dim), dtype=np.float32)


def _fact(fact: Fact, offset_s: int) -> dict[str, Any]:
    return {
        "id": f"f{fact.id}", "kind": fact.kind, "subject": fact.subject, "relation": fact.relation, "object": fact.object,
        "text": fact.text, "state": fact.state, "reason": fact.reason, "support": fact.support, "days": fact.days,
        "t_first": at(fact.t_first, offset_s), "t_last": at(fact.t_last, offset_s), "version": fact.version,
        "made_by": fact.made_by,
    }  # fmt: skip


def _correction(c: Correction) -> dict[str, Any]:
    return {
        "id": f"c{c.id}", "ref": c.ref, "kind": c.kind, "text": c.text, "t": at(c.t, c.offset_s), "given": at(c.known, c.offset_s),
        "state": c.state, "bears_on": list(dict.fromkeys(e.ref for e in c.effects)),
        "action": c.action, "object": c.object,
    }  # fmt: skip
