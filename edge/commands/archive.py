"""grove-edge encrypt, decrypt, rekey, backup, restore, export, import: the memory's file as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from edge import config as settings
from edge.commands.common import AtOption, DbOption, JsonOption, db_path, moment_of, open_for_growth, say, writing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from storage import Store
    from storage.cipher import Secret
    from storage.cipher_swap import Progress, Swapped

KeyFileOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        help="The file with the key, made with a fresh one if it is not there; without it the configured key.",
        show_default=False,
    ),
]


def encrypt(db: DbOption = None, key_file: KeyFileOption = None, as_json: JsonOption = False) -> None:
    """Encrypt the memory and its keyframes where they are; killed at any moment, the same command goes on."""
    from edge.errors import ConfigError
    from edge.keys import configured, made_at, strong
    from storage.cipher_swap import encrypt as swap

    path, made = db_path(db), False
    _is_memory(path)  # before a key is made for it
    if key_file is not None:
        secret, made = made_at(key_file)
    else:
        found = configured(settings.load())
        if found is None:
            raise ConfigError(
                "No key is configured: add --key-file PATH (made if it is not there), or set storage.key_file, "
                "storage.keyring or GROVE_EDGE_STORAGE_KEY."
            )
        secret = found
    with _bar() as progress:
        done = swap(path, strong(secret), progress)
    lines = [_told("Encrypted", path, done)]
    if key_file is not None:
        place = key_file.absolute()
        lines.append(
            f'The key is in {place}: keep a copy elsewhere, and put into the settings: [storage] key_file = "{place}"'
        )
    say({"db": str(path), **_swapped(done), "key_made": made}, as_json, lines)


def decrypt(db: DbOption = None, key_file: KeyFileOption = None, as_json: JsonOption = False) -> None:
    """Take the encryption of the memory and its keyframes away; killed at any moment, the same command goes on."""
    from storage.cipher_swap import decrypt as swap

    path = db_path(db)
    _is_memory(path)
    with _bar() as progress:
        done = swap(path, _present(key_file), progress)
    say({"db": str(path), **_swapped(done)}, as_json, [_told("Decrypted", path, done)])


def rekey(
    new_key_file: Annotated[
        Path | None,
        typer.Option(
            "--new-key-file",
            help="The file with the new key, made with a fresh one if it is not there; "
            "without it GROVE_EDGE_STORAGE_NEW_KEY.",
            show_default=False,
        ),
    ] = None,
    db: DbOption = None,
    key_file: KeyFileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Encrypt the memory and its keyframes with another key; killed at any moment, the same command goes on."""
    import os

    from edge.errors import ConfigError
    from edge.keys import NEW_VARIABLE, made_at, strong
    from storage.cipher import Secret
    from storage.cipher_swap import rekey as swap

    path = db_path(db)
    old = _present(key_file)
    if not path.is_file():
        _no_memory(path)
    if new_key_file is not None:
        new, _ = made_at(new_key_file)
    elif NEW_VARIABLE in os.environ:
        new = Secret.of(os.environ[NEW_VARIABLE])
    else:
        raise ConfigError(f"There is no new key: add --new-key-file PATH, or set {NEW_VARIABLE}.")
    with _bar() as progress:
        done = swap(path, old, strong(new), progress)
    told = "From now on only the new key opens it, and the old one its older backups: change the settings."
    lines = [_told("Encrypted anew", path, done), told]
    say({"db": str(path), **_swapped(done)}, as_json, lines)


def backup(
    target: Annotated[Path, typer.Argument(metavar="PATH", help="The file to write; its keyframes go beside it.")],
    db: DbOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy the memory with its keyframes, while the device runs or not; an older backup there is replaced."""
    from storage import Store

    path = db_path(db)
    with Store.open(path, create=False, read_only=True) as store:
        done = store.backup(target)
    say({"db": str(path), **_copied(done)}, as_json, _copy_lines(f"Backed up {path} to {target}", done))


def restore(
    source: Annotated[Path, typer.Argument(metavar="BACKUP", help="A backup made by grove-edge backup.")],
    db: DbOption = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Put it in the place of a memory that is there, which is kept beside.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Put a backup in the place of the memory.  What was forgotten after it was made comes back with it."""
    from edge.keys import configured
    from storage.backup import REPLACED
    from storage.backup import restore as put_back
    from storage.cipher import is_encrypted

    path = db_path(db)
    there = path.exists()
    done = put_back(source, path, replace=replace)
    lines = _copy_lines(f"Restored {path} from {source}", done)
    if there:
        lines.append(f"What was there is kept as {path.name}{REPLACED} beside it: delete it when you need it no more.")
    if configured(settings.load()) is not None and not is_encrypted(path):
        lines.append("The backup was not encrypted, so the memory is not now: run grove-edge encrypt.")
    say({"db": str(path), **_copied(done)}, as_json, lines)


def export(
    db: DbOption = None,
    when: AtOption = None,
    canonical: Annotated[
        bool,
        typer.Option("--canonical", help="Every row of every stratum, one JSON line each, equal for equal memories."),
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Write here (0600) instead of to the terminal.")] = None,
    frames: Annotated[
        bool, typer.Option("--frames", help="With --out: the keyframes too, as pictures in OUT.keyframes.")
    ] = False,
    sqlite: Annotated[
        Path | None,
        typer.Option(
            "--sqlite",
            help="Write everything as an SQLite file, not encrypted, its keyframes beside.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """The memory as JSON lines: its trace in the trace format, with --canonical all rows; or as an SQLite file."""
    import sys

    from edge.errors import UsageError
    from storage import Store

    if sqlite is not None and (canonical or out is not None or when is not None or frames):
        raise UsageError("--sqlite writes everything there is: it goes with --db and --json alone.")
    if frames and (out is None or canonical):
        raise UsageError("--frames goes with --out, for the trace.")
    with Store.open(db_path(db), create=False, read_only=True) as store:
        if sqlite is not None:
            done = store.backup(sqlite, plain=True)
            say(_copied(done), as_json, _copy_lines(f"Exported {db_path(db)} to {sqlite}", done))
            return
        until = moment_of(store, when)
        lines = store.dump(until) if canonical else _trace_lines(store, until)
        if out is None:
            sys.stdout.writelines(line + "\n" for line in lines)
            return
        count = 0
        with writing(out) as target:
            for count, line in enumerate(lines, 1):  # noqa: B007  told below
                target.write(line + "\n")
        if frames:
            _frames_out(store, until, out)
    what = "rows" if canonical else "windows"
    say({"path": str(out), "lines": count}, as_json, [f"Exported {db_path(db)} to {out}: {count} {what}."])


def import_(
    source: Annotated[
        Path, typer.Argument(metavar="FILE", help="A trace (JSON lines), an exported SQLite file, or another memory.")
    ],
    db: DbOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take in a trace or another memory; into a memory that is not there yet an SQLite file comes with the same ids."""
    from edge.errors import MissingFile
    from edge.recorder import check_trace
    from storage.keyframes import KeyframeFolder, folder_of

    path = db_path(db)
    try:
        if not source.is_file():
            raise MissingFile(f"There is no file {source}: check the path.")
        with source.open("rb") as file:
            is_trace = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{"
    except OSError as error:  # no permission, or a name that no file can have
        raise MissingFile(f"The file cannot be read ({error.strerror}): check its path and permissions.") from error
    if not is_trace:
        _import_memory(source, path, as_json)
        return
    from edge.replay import replay

    config = settings.load()
    checked = check_trace(source)
    profile = checked.profile if checked.profile != "wear" else config.memory.profile
    config = config.model_copy(update={"memory": config.memory.model_copy(update={"profile": profile})})
    with open_for_growth(path, config) as (store, embed, growing, _):
        beside, own = KeyframeFolder(folder_of(source)), KeyframeFolder(folder_of(path))
        for name in beside.files():
            own.take(beside, name)
        report = replay(source, store, embed, config, checked=checked, growing=growing)
    new = report.totals
    value = {"db": str(path), "windows": new.windows, "episodes": new.episodes, "skipped": report.skipped}
    say(
        value,
        as_json,
        [f"Imported {source}: {new.windows} windows, {new.episodes} episodes; {report.skipped} were here."],
    )


def _import_memory(source: Path, path: Path, as_json: bool) -> None:
    from edge.keys import configured
    from edge.merging import merge
    from storage import Store
    from storage.backup import restore as put
    from storage.cipher import is_encrypted
    from storage.cipher_swap import encrypt as swap

    config = settings.load()
    if not path.exists():
        done = put(source, path)
        secret = configured(config)
        if secret is not None and not is_encrypted(path):
            swap(path, secret)
        say({"db": str(path), **_copied(done)}, as_json, _copy_lines(f"Imported {source} as {path}", done))
        return
    with (
        Store.open(source, create=False, read_only=True) as other,
        open_for_growth(path, config) as (store, embed, _, _),
        _bar() as progress,
    ):
        merged = merge(store, other, embed, config, lambda n, total: progress("database", n, total))
    value = {
        "db": str(path),
        "recordings": merged.recordings,
        "windows": merged.windows,
        "episodes": merged.episodes,
        "alerts": merged.services,
        "keyframes": merged.keyframes,
        "here": list(merged.here),
        "missing": list(merged.missing),
    }
    took = f"{merged.recordings} recordings, {merged.windows} windows, {merged.episodes} episodes"
    lines = [f"Took {took}, {merged.keyframes} keyframes of {source}; {len(merged.here)} recordings were here."]
    if merged.missing:
        lines.append(f"{len(merged.missing)} keyframes it names were not there, the first is {merged.missing[0]}.")
    say(value, as_json, lines)


def _trace_lines(store: Store, when: int | None) -> Iterator[str]:
    """Windows as lines of a trace, in the order in which they came: importing them gives the same ids."""
    import json

    from edge.recorder import to_line

    config = settings.load()
    interval = config.memory.growth(config.memory.profile).frame_interval_s
    with store.snapshot(when) as snapshot:
        newest = snapshot.trace.newest_stored()
        last = 0 if newest is None else newest.id
        for start in range(1, last + 1, 500):
            for window in snapshot.trace.span(start, min(start + 499, last)):
                yield json.dumps(to_line(window, interval), ensure_ascii=False)


def _frames_out(store: Store, when: int | None, out: Path) -> None:
    from storage.keyframes import KeyframeFolder, folder_of

    if store.path is None:
        return
    there, here = KeyframeFolder(folder_of(store.path)), KeyframeFolder(folder_of(out))
    with store.snapshot(when) as snapshot:
        for keyframe in snapshot.trace.keyframes():
            here.take(there, keyframe.file)


def _present(key_file: Path | None) -> Secret:
    """The key a memory is encrypted with now."""
    from edge.errors import ConfigError
    from edge.keys import configured, from_file

    found = from_file(key_file) if key_file is not None else configured(settings.load())
    if found is None:
        raise ConfigError("No key is configured: add --key-file PATH, or set storage.key_file.")
    return found


def _no_memory(path: Path) -> None:
    from storage.errors import StoreUnreadable

    raise StoreUnreadable(f"There is no memory at {path}: check --db.")


def _is_memory(path: Path) -> None:
    """Another program's file is left alone; one that is encrypted tells what it is by its key.  Raises StorageError."""
    from storage import Store
    from storage.cipher import is_encrypted

    if not is_encrypted(path):
        Store.open(path, create=False, read_only=True).close()


def _told(what: str, path: Path, done: Swapped) -> str:
    base = f"{what} {path}" if done.database else f"{path} was so already"
    removed = f"; {len(done.removed)} other copies beside it were removed" if done.removed else ""
    return f"{base}, {done.keyframes} keyframes{removed}."


def _swapped(done: Swapped) -> dict[str, Any]:
    return {"rewritten": done.database, "keyframes": done.keyframes, "removed": [str(p) for p in done.removed]}


def _copied(done: Any) -> dict[str, Any]:
    return {
        "path": str(done.path),
        "mb": round(done.size / 1e6, 1),
        "keyframes": done.keyframes,
        "keyframe_mb": round(done.keyframe_bytes / 1e6, 1),
        "missing": list(done.missing),
    }


def _copy_lines(head: str, done: Any) -> list[str]:
    lines = [f"{head}: {done.size / 1e6:.1f} MB and {done.keyframes} keyframes ({done.keyframe_bytes / 1e6:.1f} MB)."]
    if done.missing:
        lines.append(f"{len(done.missing)} keyframes it names were not there, the first is {done.missing[0]}.")
    return lines


def _bar() -> AbstractContextManager[Progress]:
    """A progress bar on a terminal, nothing elsewhere."""
    from contextlib import contextmanager

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    @contextmanager
    def shown() -> Iterator[Progress]:
        console = Console(stderr=True)
        with Bar(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=console,
            disable=not console.is_terminal,
        ) as bar:  # fmt: skip
            tasks = {part: bar.add_task(part, total=None) for part in ("database", "keyframes")}
            yield lambda part, number, total: bar.update(tasks[part], completed=number, total=total)

    return shown()
