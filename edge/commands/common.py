"""What commands share: options, opening the memory, printing as a table or as JSON."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from edge import config as settings
from edge.clock import US, SystemClock, iso, parse_time
from edge.errors import InputError, UsageError
from storage import Snapshot, Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edge.growing import Growing
    from edge.memory.patterns import Embed
    from edge.thinkers import Thinkers
    from storage import EmbeddingSpace

LONGEST_S = 100 * 365.25 * 86_400  # no length of time that somebody means is longer
_LOCAL = re.compile(r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?))?", re.ASCII)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202d\u202e]")  # and the overrides of the direction of writing
DbOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--db", help="The memory's file; without it, the one in the data folder.", show_default=False),
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
HOW = "(ISO 8601; without a zone by the wearer's clock, a day alone is its midnight)"
FromOption: TypeAlias = Annotated[
    str | None, typer.Option("--from", help=f"Only from this time on {HOW}.", show_default=False)
]
ToOption: TypeAlias = Annotated[
    str | None, typer.Option("--to", help=f"Only before this time {HOW}.", show_default=False)
]
AtOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--at", help=f"As the memory was known at this time {HOW}.", show_default=False),
]


def db_path(given: Path | None) -> Path:
    """The memory's file: the one given, else memory.db in the data folder."""
    return given if given is not None else settings.data_dir() / "memory.db"


def moment(text: str | None, snapshot: Snapshot | None = None) -> int | None:
    """An optional time option in microseconds.

    With a memory's snapshot the zone may be left out (then it is the wearer's, as it was then), and the hour too (then it
    is midnight).  Raises InputError.
    """
    if text is None:
        return None
    bare = None if snapshot is None else _LOCAL.fullmatch(text.strip())
    if bare is None or snapshot is None:
        return parse_time(text)[0]
    try:
        shown = parse_time(f"{bare[1]}T{bare[2] or '00:00'}Z")[0]
    except InputError as error:
        raise InputError(f"{text!r} is not a time: write it as 2026-03-02, 2026-03-02T09:00 or with a zone.") from error
    near = shown - _offset_at(snapshot, shown) * US
    return shown - _offset_at(snapshot, near) * US


def moment_in(path: Path, text: str | None) -> int | None:
    """The same, for a memory that is not open yet."""
    if text is None or not _LOCAL.fullmatch(text.strip()):
        return moment(text)
    with Store.open(path, create=False, read_only=True) as store:
        return moment_of(store, text)


def moment_of(store: Store, text: str | None) -> int | None:
    """The same, for an open memory of which no snapshot is taken yet."""
    if text is None:
        return None
    with store.snapshot() as whole:
        return moment(text, whole)


def snapshot_at(store: Store, when: str | None) -> AbstractContextManager[Snapshot]:
    """The memory as known at an optional time, which may be by the wearer's clock.  Raises InputError."""
    return store.snapshot(moment_of(store, when))


@contextmanager
def reading(db: Path | None, at: str | None = None) -> Iterator[Snapshot]:
    """A snapshot of an existing memory (as known at a time); what a killed erasure left undone is done first."""
    path = db_path(db)
    with Store.open(path, create=False, read_only=True) as store:
        unfinished = bool(store.erasures())
        if not unfinished:
            with snapshot_at(store, at) as snapshot:
                yield snapshot
    if unfinished:
        from edge.forgetting import finish_at

        finish_at(path, settings.load())
        with Store.open(path, create=False, read_only=True) as store, snapshot_at(store, at) as snapshot:
            yield snapshot


@contextmanager
def open_for_growth(path: Path, config: settings.Config) -> Iterator[tuple[Store, Embed, Growing | None, Thinkers]]:
    """A memory to write, made if it is not there yet, the embedding it is made with, a model's part in its growth, and
    where models for other parts come from.
    """
    from edge import forgetting
    from edge.engines import Engines
    from edge.growing import growing
    from storage import EmbeddingSpace

    engines = Engines(config)
    try:
        model = engines.text_embedding()
        space = EmbeddingSpace(model.id, model.dim)
        with Store.open(path, space=space, own=True, synchronous=config.memory.synchronous) as store:
            forgetting.resume(store, model.embed, config)
            grows = growing(engines.thinkers, store, model.embed, config, path, inline=True)
            yield store, model.embed, grows, engines.thinkers
    finally:
        engines.close()


@contextmanager
def writing(path: Path) -> Iterator[IO[str]]:
    """A text file for its owner alone (0600) that is there whole or not at all.  Raises InputError."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # a pipe or a device takes what comes
            with path.open("w", encoding="utf-8") as target:
                yield target
            return
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        part = path.with_name(path.name + ".part")
        try:
            with os.fdopen(
                os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
            ) as target:
                yield target
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}): choose another path.") from error


def query_embedding(config: settings.Config, space: EmbeddingSpace) -> Embed | None:
    """The embedding a memory was made with, for questions; None (said on stderr) when it cannot be had."""
    from edge.engines import Engines
    from models.errors import ModelError

    chosen = config.models.model_copy(update={"text_embedding": space.id})
    try:
        return Engines(config.model_copy(update={"models": chosen})).text_embedding().embed
    except ModelError as error:
        typer.echo(f"Searching by words only: {error}", err=True)
        return None


def wearer_offset(snapshot: Snapshot) -> int:
    """The UTC offset of the newest window, else the machine's, in seconds."""
    last = snapshot.trace.last()
    return SystemClock().offset() if last is None else last.offset_s


def emit(rows: Sequence[dict[str, Any]], as_json: bool, columns: Sequence[str], empty: str) -> None:
    """Rows as a JSON array, or as a table of some columns; `empty` is said when there are none."""
    if as_json:
        typer.echo(json.dumps(list(rows), ensure_ascii=False))
        return
    if not rows:
        typer.echo(empty)
        return
    from edge.commands import table

    names = [column.replace("_", " ") for column in columns]
    cells = [[plain(_cell(row.get(column))) for column in columns] for row in rows]
    typer.echo("\n".join(table.lines(cells, names, table.width())))


def say(value: dict[str, Any], as_json: bool, lines: Iterable[str]) -> None:
    """One object as JSON, or as lines for people."""
    if as_json:
        typer.echo(json.dumps(value, ensure_ascii=False))
    else:
        for line in lines:
            typer.echo(plain(line))


def plain(text: str) -> str:
    """A text without what a terminal would obey: what was perceived may hold anything."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def at(t: int, offset_s: int) -> str:
    """A time for JSON output."""
    return iso(t, offset_s)


def clock_told(iso_time: str) -> str:
    """A time of the JSON output as people read it: the wearer's clock to the second."""
    return f"{iso_time[:10]} {iso_time[11:19]}"


def reference(text: str, letter: str) -> int:
    """The number in an id such as e12.  Raises UsageError."""
    if re.fullmatch(letter + "[0-9]{1,18}", text):
        return int(text[1:])
    raise UsageError(f"{text!r} is not an id of that kind: it looks like {letter}12.")


def _offset_at(snapshot: Snapshot, t: int) -> int:
    found = snapshot.lookup.offset_at(t)
    return wearer_offset(snapshot) if found is None else found


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(str(v) for v in value)
    return str(value)
