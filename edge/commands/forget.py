"""grove-edge forget, pin, unpin, prune: what goes for good, and what stays whatever retention says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edge import config as settings
from edge.clock import SystemClock
from edge.commands.common import HOW, LONGEST_S, DbOption, JsonOption, db_path, moment_in, say
from edge.errors import UsageError

if TYPE_CHECKING:
    from edge.memory.forget import Wish
    from edge.server.control import ControlClient

_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(min|s|m|h|d|w)", re.IGNORECASE)
_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}


def forget(
    start: Annotated[str | None, typer.Option("--from", help=f"From this time on {HOW}.", show_default=False)] = None,
    end: Annotated[str | None, typer.Option("--to", help=f"Before this time {HOW}.", show_default=False)] = None,
    last: Annotated[
        str | None, typer.Option("--last", help="The newest stretch, as in 10m, 1h, 2d.", show_default=False)
    ] = None,
    entity: Annotated[
        str | None, typer.Option("--entity", metavar="NAME", help="A thing, by its name.", show_default=False)
    ] = None,
    person: Annotated[
        str | None, typer.Option("--person", metavar="NAME", help="Somebody, by name.", show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="The whole memory.")] = False,
    db: DbOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    look: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Forget a stretch of time, a thing, a person or everything: rows, pictures, indexes, logs; then prove it is gone.

    Without a running device the memory is changed directly.  Copies made earlier (backups, exports) are not reached.
    """
    path = db_path(db)
    wish = _wish(path, start, end, last, entity, person, everything)
    device = _device(path)
    concerned = _look(path, wish, device)
    if look:
        say(concerned, as_json, _lines_of(concerned, "Would go"))
        return
    if not yes:
        typer.echo("\n".join(_lines_of(concerned, "To be forgotten")), err=True)
        typer.confirm("Forget it for good?", abort=True, err=True)
    report = device.call("forget", **wish.to_json()) if device is not None else _directly(path, wish)
    say(report, as_json, _lines(report))
    if not report["done"]:
        raise typer.Exit(1)


def pin(
    refs: Annotated[list[str], typer.Argument(metavar="ID...", help="Windows, episodes or pictures: w12, e3, k7.")],
    db: DbOption = None,
    as_json: JsonOption = False,
) -> None:
    """Keep what retention would thin out or remove, until it is unpinned or forgotten."""
    _pin(refs, db, as_json, keep=True)


def unpin(
    refs: Annotated[list[str], typer.Argument(metavar="ID...", help="What was pinned.")],
    db: DbOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let retention have it again."""
    _pin(refs, db, as_json, keep=False)


def prune(db: DbOption = None, as_json: JsonOption = False) -> None:
    """Thin out and remove what the settings under [retention] say, now; a running device does it by itself."""
    from edge.keeping import prune as one_pass

    config = settings.load()
    done = one_pass(db_path(db), config)
    value = {
        "removed": done.removed,
        "smaller": done.smaller,
        "windows": done.windows,
        "freed_mb": round(done.freed / 1e6, 2),
        "why": done.why,
        "short": done.short,
    }
    say(value, as_json, [done.told()[0].upper() + done.told()[1:] + ".", *([done.short] if done.short else [])])


def length_of(text: str) -> float:
    """A length of time such as 90s, 10m, 1h30m or 2d in seconds.  Raises UsageError."""
    squeezed = "".join(text.split())
    parts = _LENGTH.findall(squeezed)
    if not parts or "".join(f"{n}{u}" for n, u in parts) != squeezed:
        raise UsageError(f"{text!r} is not a length of time: write it as 10m, 1h or 2d.")
    length = sum(float(n) * _UNITS[u.lower()] for n, u in parts)
    if not 0 < length < LONGEST_S:
        raise UsageError(f"{text[:40]!r} is no length to forget: write it as 10m, 1h or 2d, or say --all.")
    return length


def _wish(
    path: Path,
    start: str | None,
    end: str | None,
    last: str | None,
    entity: str | None,
    person: str | None,
    everything: bool,
) -> Wish:
    from edge.memory.forget import Wish
    from edge.memory.forget import last as newest

    ways = [start is not None or end is not None, last is not None, entity is not None, person is not None, everything]
    if sum(ways) != 1:
        raise UsageError("Say what to forget, in one way: --from/--to, --last, --entity, --person or --all.")
    if last is not None:
        return newest(length_of(last), SystemClock().now())
    if entity is not None:
        return Wish("entity", name=entity)
    if person is not None:
        return Wish("person", name=person)
    if everything:
        return Wish("all")
    low, high = moment_in(path, start), moment_in(path, end)
    return Wish("range", -(2**61) if low is None else low, 2**61 if high is None else high)


def _device(path: Path) -> ControlClient | None:
    """The running device, when it is this memory that it grows."""
    from edge.errands import WAIT_S
    from edge.errors import ControlError
    from edge.server.control import ControlClient, control_path

    client = ControlClient(control_path(), timeout_s=WAIT_S + 30)
    try:
        grown = Path(str(client.call("health")["db"]))
    except ControlError:
        return None
    return client if grown.resolve() == path.resolve() else None


def _look(path: Path, wish: Wish, device: ControlClient | None) -> dict[str, Any]:
    from edge import forgetting
    from storage import Store

    if device is not None:
        return device.call("forget", look=True, **wish.to_json())
    with Store.open(path, create=False, own=True) as store:
        return {**forgetting.look(store, wish), "kind": wish.kind}


def _directly(path: Path, wish: Wish) -> dict[str, Any]:
    from edge import forgetting
    from edge.engines import Engines
    from storage import Store

    config = settings.load()
    engines = Engines(config)
    try:
        with Store.open(path, create=False, own=True, synchronous=config.memory.synchronous) as store:
            embed = forgetting.embedding(engines, store)
            forgetting.resume(store, embed, config)
            return forgetting.forget_now(store, wish, embed, config)
    finally:
        engines.close()


def _pin(refs: list[str], db: Path | None, as_json: bool, *, keep: bool) -> None:
    from storage import Store

    now = SystemClock().now()
    with Store.open(db_path(db), create=False) as store, store.transaction() as tx:
        for ref in refs:
            (tx.retention.pin if keep else tx.retention.unpin)(ref, now)
        pinned = tx.retention.pins()
    say({"pinned": pinned}, as_json, [f"Pinned: {', '.join(pinned) or 'nothing'}."])


def _lines_of(concerned: dict[str, Any], head: str) -> list[str]:
    if concerned.get("kind") == "all":
        return [f"{head}: everything in this memory."]
    c = concerned
    if not (c["windows"] or c["windows_cut"] or c["episodes"]):
        return [f"{head}: nothing, no window of this memory is of that time or names it."]
    gone = f"{c['windows']} windows ({c['seconds'] / 60:.0f} minutes), part of {c['windows_cut']} more, {c['episodes']} episodes"
    return [f"{head}: {gone}; written anew: {c['episodes_rewritten']} episodes and {c['patterns']} patterns."]


def _counted(count: int, table: str) -> str:
    name = table.replace("_", " ")
    return f"{count} {name}" if count == 1 else f"{count} {name[:-1]}ies" if name.endswith("y") else f"{count} {name}s"


def _lines(report: dict[str, Any]) -> list[str]:
    rows = ", ".join(_counted(count, table) for table, count in report["removed"].items())
    lines = [f"Removed: {rows or 'nothing, there was nothing of it'}; {report['keyframes']} pictures."]
    for file, count in report["recordings"].items():
        lines.append(f"Rewritten: {file} ({count} windows).")
    if report["log_lines"]:
        lines.append(f"Dropped: {report['log_lines']} lines of the log.")
    looked = report["looked_for"]
    where = f"{looked['files']} files ({looked['megabytes']} MB)"
    told = f"{looked['texts']} texts and {looked['vectors']} vectors in {where}"
    lines.append(f"Looked for {told}: " + ("; ".join(looked["found"]) or "nothing is left."))
    if report["waiting"]:
        lines.append(f"Not finished: {report['waiting']}; it is finished at the next start.")
    lines.append(f"Not reached: {'; '.join(report['not_reached'])}.")
    return lines
