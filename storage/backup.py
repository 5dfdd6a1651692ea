"""Copies of a memory: online backups with their keyframes, the copy kept before an update, and the way back.

A backup is a memory like any other, the database at the path asked for and its keyframes in the folder beside it, so
that every command can read it with --db.  It is made from one read transaction while the device goes on writing, page
for page, encrypted with the same key when the memory is.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import sqlcipher3

from storage import cipher, owner
from storage.cipher import Secret
from storage.connect import Connection, DriverError, connect, load_extension, private_folder, translate
from storage.erase_jobs import unscrubbed
from storage.errors import StorageError, StoreLocked, StoreUnreadable, StoreUnwritable
from storage.files import PART, sync_file, sync_folder, whole_file
from storage.keyframes import KeyframeFolder, folder_of

_BEFORE = ".before-"
RESTORING, REPLACED = ".restoring", ".replaced"
COMPANIONS = ("-wal", "-shm", "-journal")


@dataclass(frozen=True, slots=True)
class Copied:
    """What a backup or a restore copied; `missing` names keyframes that were not there to copy."""

    path: Path
    size: int
    keyframes: int
    keyframe_bytes: int
    missing: tuple[str, ...]


def backup(db: Connection, source: Path, target: Path, key: Secret | None = None) -> Copied:
    """Copy a memory while it is in use; an older backup at `target` is replaced when the new one is whole.

    `db` is a connection to `source` outside a transaction.  Raises StoreUnwritable, StoreLocked or StoreUnreadable.
    """
    _may_replace(source, target, key)
    part = target.with_name(target.name + PART)
    try:
        _page_copy(db, source, part, key)
        known = _frames_named(part, key)
        frames, size, missing = _copy_frames(folder_of(source), folder_of(target), known)
        for companion in COMPANIONS:
            target.with_name(target.name + companion).unlink(missing_ok=True)
        part.replace(target)
        sync_folder(target.parent)
        _drop_others(folder_of(target), set(known))
    except OSError as error:
        raise _unwritable(target, error) from error
    finally:
        _remove_file(part)
    return Copied(target, target.stat().st_size, frames, size, missing)


def plain_copy(db: Connection, source: Path, target: Path, key: Secret | None = None) -> Copied:
    """Copy a memory as one file that any SQLite reads, never encrypted, with its frames as plain pictures beside it.

    `db` is a connection to `source` outside a transaction.  Raises StoreUnwritable, StoreLocked or StoreUnreadable.
    """
    _may_replace(source, target, key)
    part, plain = (target.with_name(target.name + end) for end in (PART, PART + "2"))
    try:
        _page_copy(db, source, part, key)
        _remove_file(plain)
        os.close(os.open(plain, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        copy = _reopened(part, source, key)
        try:
            copy.execute("ATTACH ? AS plain KEY ''", (str(plain),))
            copy.execute("SELECT sqlcipher_export('plain')").fetchone()
        finally:
            copy.close()
        known = _frames_named(plain, None)
        here, there = KeyframeFolder(folder_of(target)), KeyframeFolder(folder_of(source), key)
        missing = tuple(name for name in known if not here.take(there, name))
        sync_file(plain)
        plain.replace(target)
        sync_folder(target.parent)
        _drop_others(here.root, set(known))
    except DriverError as error:
        raise translate(error, target) from error
    except OSError as error:
        raise _unwritable(target, error) from error
    finally:
        _remove_file(part)
        _remove_file(plain)
    sizes = [here.path(name).stat().st_size for name in known if name not in missing]
    return Copied(target, target.stat().st_size, len(sizes), sum(sizes), missing)


def before_update(db: Connection, path: Path, step: str, key: Secret | None = None) -> Path:
    """Keep a copy of a database beside it before a step of the schema is applied; it takes the place of older ones.

    Raises StoreUnwritable when there is no room: then nothing was changed.
    """
    kept = path.with_name(f"{path.name}{_BEFORE}{step}")
    part = kept.with_name(kept.name + PART)
    try:
        _page_copy(db, path, part, key)
        part.replace(kept)
        sync_folder(path.parent)
    except OSError as error:
        raise _unwritable(kept, error) from error
    finally:
        _remove_file(part)
    for older in copies_before_updates(path):
        if older != kept:
            older.unlink(missing_ok=True)
    return kept


def copies_before_updates(path: Path) -> list[Path]:
    """Copies of a database that were kept before updates of its schema."""
    return sorted(p for p in path.parent.glob(f"{_escaped(path.name)}{_BEFORE}*") if p.suffix != PART)


def beside(path: Path) -> list[Path]:
    """Every other whole or half copy of a memory that operations of this room may have left beside it."""
    names = (RESTORING, REPLACED, ".new", ".leaving", PART)
    found = copies_before_updates(path)
    for name in names:
        other = path.with_name(path.name + name)
        found += [
            p for p in (other, *(other.with_name(other.name + c) for c in COMPANIONS), folder_of(other)) if p.exists()
        ]
    return found


def restore(source: Path, target: Path, *, replace: bool = False, key: Secret | None = None) -> Copied:
    """Put a backup in the place of a memory that nobody has open; what was there is kept as NAME.replaced.

    The backup is copied beside and checked before anything is moved; a restore that was killed is simply done again.
    Raises StoreUnreadable when the backup is missing, damaged or another's, StoreUnwritable, StoreLocked, WrongKey.
    """
    if not source.is_file():
        raise StoreUnreadable(f"There is no backup at {source}: check the path.")
    if target.exists() and source.samefile(target):
        raise StoreUnreadable(f"{source} is the memory itself: give the path of a backup.")
    if target.exists() and not replace:
        raise StoreUnwritable(f"There is a memory at {target}: add --replace to put the backup in its place.")
    fresh = target.with_name(target.name + RESTORING)
    try:
        private_folder(target.parent)
        _clear(fresh)
        _copy_file(source, fresh)
        log = source.with_name(source.name + "-wal")
        if log.exists():  # somebody used it as a memory and was killed
            _copy_file(log, fresh.with_name(fresh.name + "-wal"))
        try:
            _check(fresh, source, key)
        except StorageError:  # nothing of another's file stays
            _clear(fresh)
            raise
        known = _frames_named(fresh, key)
        frames, size, missing = _copy_frames(folder_of(source), folder_of(fresh), known)
        if target.exists():
            held = owner.take(target)
            try:
                _set_aside(target)
            finally:
                os.close(held)
        elif folder_of(target).exists():
            shutil.rmtree(folder_of(target))
        if folder_of(fresh).exists():
            folder_of(fresh).rename(folder_of(target))
        fresh.replace(target)
        sync_folder(target.parent)
    except OSError as error:
        raise _unwritable(target, error) from error
    return Copied(target, target.stat().st_size, frames, size, missing)


def _set_aside(target: Path) -> None:
    """Move a memory away under another name, its log and its keyframes with it."""
    aside = target.with_name(target.name + REPLACED)
    if aside.exists():  # of an earlier restore; the file is moved last, so without it the move was cut short
        _clear(aside)
    if folder_of(target).exists():
        folder_of(target).rename(folder_of(aside))
    for companion in COMPANIONS:
        with_it = target.with_name(target.name + companion)
        if with_it.exists():
            with_it.rename(aside.with_name(aside.name + companion))
    target.rename(aside)


def _clear(path: Path) -> None:
    _remove_file(path)
    if folder_of(path).exists():
        shutil.rmtree(folder_of(path))


def _page_copy(db: Connection, source: Path, part: Path, key: Secret | None) -> None:
    """What `db` shows now into a file of its own (0600), every page of it on the disk."""
    _remove_file(part)
    size = source.stat().st_size
    free = shutil.disk_usage(part.parent).free
    if free < size:
        raise StoreUnwritable(
            f"A copy of {source} needs {size // 1_000_000} MB and {part.parent} has {free // 1_000_000} MB free: "
            "free some space first; nothing was changed."
        )
    os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    salt = cipher.salt_of(source)
    copy = sqlcipher3.connect(str(part), isolation_level=None)
    try:
        secret = cipher.secret_for(source, key)
        if salt is not None and secret is not None:
            copy.execute(f"PRAGMA key = {cipher.clause(secret, salt)}")
        copy.execute("PRAGMA synchronous = OFF")  # synced once, below
        db.backup(copy)
        if unscrubbed(copy):  # a copy of pages has what stood in the free ones
            copy.execute("VACUUM")
    except DriverError as error:
        raise translate(error, part) from error
    finally:
        copy.close()
    sync_file(part)


def _reopened(part: Path, source: Path, key: Secret | None) -> Connection:
    """A copy of `source`, with the key that opens it."""
    copy = sqlcipher3.connect(str(part), isolation_level=None)
    copy.execute("PRAGMA cipher_log_level = NONE")
    salt, secret = cipher.salt_of(part), cipher.secret_for(source, key)
    if salt is not None and secret is not None:
        copy.execute(f"PRAGMA key = {cipher.clause(secret, salt)}")
    load_extension(copy)
    return copy


def _frames_named(path: Path, key: Secret | None) -> list[str]:
    db = connect(path, read_only=True, key=key)
    try:
        return [str(row[0]) for row in db.execute("SELECT DISTINCT file FROM keyframe ORDER BY file")]
    except DriverError as error:
        raise translate(error, path) from error
    finally:
        db.close()


def _check(path: Path, told: Path, key: Secret | None) -> None:
    """Raises StoreUnreadable when a copy is not a whole memory."""
    db = connect(path, key=key)
    try:
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "migration" not in tables:
            raise StoreUnreadable(f"{told} holds no memory: give the path of a backup.")
        wrong = [str(row[0]) for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
        dim = db.execute("SELECT value FROM meta WHERE key = 'embedding_dim'").fetchone()
        if dim is None or not str(dim[0]).isdecimal():
            wrong.append("it does not say which embedding it was made with")
        if wrong:
            raise StoreUnreadable(
                f"The backup {told} is damaged ({wrong[0]}): choose another one; nothing was changed."
            )
    except DriverError as error:
        raise StoreUnreadable(
            f"The backup {told} is damaged ({error}): choose another one; nothing was changed."
        ) from error
    finally:
        db.close()


def _copy_frames(source: Path, target: Path, names: Iterable[str]) -> tuple[int, int, tuple[str, ...]]:
    """Copy the frames that are not there yet; gives how many are there now, their bytes, and which were missing."""
    count, size, missing = 0, 0, []
    for name in names:
        from_, to = source / name, target / name
        try:
            length = from_.stat().st_size
            if not (to.is_file() and to.stat().st_size == length):
                private_folder(to.parent)
                _copy_file(from_, to)
        except FileNotFoundError:  # retention or the owner removed it
            missing.append(name)
            continue
        count, size = count + 1, size + length
    return count, size, tuple(missing)


def _drop_others(folder: Path, known: set[str]) -> None:
    """Take frames out of a backup that the memory does not hold any more."""
    for path in folder.glob("*/*"):
        if path.relative_to(folder).as_posix() not in known:
            path.unlink()
            if not any(path.parent.iterdir()):
                path.parent.rmdir()


def _copy_file(source: Path, target: Path) -> None:
    with whole_file(target) as to, source.open("rb") as from_:
        shutil.copyfileobj(from_, to, 1 << 20)


def _may_replace(source: Path, target: Path, key: Secret | None) -> None:
    if target.is_dir():
        raise StoreUnwritable(f"{target} is a folder: give the path of the file to write.")
    if not target.exists():
        try:
            private_folder(target.parent)
        except OSError as error:
            raise _unwritable(target, error) from error
        return
    if target.samefile(source):
        raise StoreUnwritable(f"{target} is the memory itself: give another path.")
    if any(_filled(target.with_name(target.name + c)) for c in COMPANIONS):
        raise StoreLocked(f"{target} is in use: give another path.")
    db = connect(target, read_only=True, key=key)
    try:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'migration'").fetchone():
            raise StoreUnreadable(f"{target} is there and is not a backup: give another path.")
    finally:
        db.close()


def _filled(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0 and not path.name.endswith("-shm")


def _remove_file(path: Path) -> None:
    for each in _with_companions(path):
        each.unlink(missing_ok=True)


def _with_companions(path: Path) -> Iterator[Path]:
    yield path
    for companion in COMPANIONS:
        yield path.with_name(path.name + companion)


def _unwritable(path: Path, error: OSError) -> StoreUnwritable:
    reason = error.strerror or str(error)
    return StoreUnwritable(f"{path} cannot be written ({reason}): free some space or choose another path.")


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
