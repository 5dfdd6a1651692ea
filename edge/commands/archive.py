"""grove-edge encrypt, decrypt, rekey, backup, restore: the memory's file as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from edge import config as settings
from edge.commands.common import DbOption, JsonOption, db_path, say

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

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
    if key_file is not None:
        if not path.is_file():
            _no_memory(path)
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
        lines.append(
            f'The key is in {key_file}: keep a copy elsewhere, and put into the settings: [storage] key_file = "{key_file}"'
        )
    say({"db": str(path), **_swapped(done), "key_made": made}, as_json, lines)


def decrypt(db: DbOption = None, key_file: KeyFileOption = None, as_json: JsonOption = False) -> None:
    """Take the encryption of the memory and its keyframes away; killed at any moment, the same command goes on."""
    from storage.cipher_swap import decrypt as swap

    path = db_path(db)
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
