"""grove-edge standing: what the wearer wants to be told once it happens; listed, added, taken back."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from edge.clock import SystemClock
from edge.commands.common import AtOption, DbOption, JsonOption, at, db_path, emit, reading, say, wearer_offset
from storage import Store
from storage.standing import Standing

standing = typer.Typer(help="What you want to be told or reminded of once something happens.", no_args_is_help=False)
AllOption = Annotated[bool, typer.Option("--all", help="Those that are done or cancelled too.")]


@standing.callback(invoke_without_command=True)
def default(context: typer.Context, db: DbOption = None, as_json: JsonOption = False) -> None:
    """List what waits; add and cancel change it."""
    if context.invoked_subcommand is None:
        list_(db=db, everything=False, when=None, as_json=as_json)


@standing.command("list")
def list_(
    db: DbOption = None, everything: AllOption = False, when: AtOption = None, as_json: JsonOption = False
) -> None:
    """What waits to be told."""
    with reading(db, when) as snapshot:
        found = snapshot.standing.all() if everything else snapshot.standing.open()
        rows = [_row(s) for s in found]
    emit(rows, as_json, ("id", "text", "state", "fired", "last"), "You are waiting for nothing.")


@standing.command("add")
def add_(
    text: Annotated[str, typer.Argument(help='As in "tell me when you see a bus", in English.')],
    db: DbOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask to be told or reminded once something happens."""
    from edge.agent.standing import add, described
    from edge.retrieval.zone import Zone

    clock = SystemClock()
    with Store.open(db_path(db), create=False) as store:
        with store.snapshot() as snapshot:
            offset_s = wearer_offset(snapshot)
        made = add(store, text, now=clock.now(), offset_s=offset_s)
    told = described(made, Zone(clock.now(), offset_s))
    say({**_row(made), "answer": told}, as_json, [f"q{made.id}: {told}"])


@standing.command("cancel")
def cancel_(
    which: Annotated[str, typer.Argument(metavar="ID|WORDS|all", help="q3, words of it, or all.")],
    db: DbOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take back what waits."""
    from edge.agent.standing import cancel

    with Store.open(db_path(db), create=False) as store:
        gone = cancel(store, which, now=SystemClock().now())
    say({"cancelled": [f"q{s.id}" for s in gone]}, as_json, [f"q{s.id} cancelled: {s.text}" for s in gone])


def _row(s: Standing) -> dict[str, Any]:
    return {
        "id": f"q{s.id}", "text": s.text, "kind": s.kind, "what": s.what, "trigger": s.trigger, "repeats": s.repeats,
        "due": None if s.due is None else at(s.due, s.offset_s), "asked": at(s.known, s.offset_s), "state": s.state,
        "fired": s.fired, "last": None if s.last is None else at(s.last, s.offset_s),
    }  # fmt: skip
