"""Encrypting, decrypting and re-keying a memory in its place, so that a kill at any moment loses nothing.

The database is written anew beside itself, compared row by row, and renamed into place; the old file is overwritten and
removed.  Frames follow one by one, each whole at every moment and saying itself whether it is sealed.  Whatever was
half done when the power went is finished by asking for the same again:

    encrypt   database, then frames: until the last one is sealed, plain ones lie beside an encrypted database
    decrypt   frames, then database: the same state, left in the other direction
    rekey     frames, then database: those that open with the new key are done already

Nobody else may have the memory open meanwhile: the owner's lock and SQLite's own exclusive lock see to it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import sqlcipher3

from storage import cipher, owner
from storage.backup import COMPANIONS, copies_before_updates
from storage.cipher import Sealer, Secret
from storage.connect import Connection, DriverError, connect, load_extension, translate
from storage.errors import BadRecord, StoreLocked, StoreUnreadable, StoreUnwritable, WrongKey
from storage.files import scrub, sync_file, sync_folder
from storage.keyframes import KeyframeFolder, folder_of

Progress: TypeAlias = Callable[[Literal["database", "keyframes"], int, int], None]
NEW, LEAVING = ".new", ".leaving"


@dataclass(frozen=True, slots=True)
class Swapped:
    """What was done: whether the database was rewritten (false: an earlier run had), and how many frames were."""

    database: bool
    keyframes: int
    removed: tuple[Path, ...]  # plain copies that lay beside: kept before updates, or left by a kill


def encrypt(path: Path, secret: Secret, progress: Progress = lambda *_: None) -> Swapped:
    """Encrypt a memory and its frames; one that is encrypted already is checked and its frames are finished.

    Raises StoreUnreadable, StoreLocked, StoreUnwritable or WrongKey.
    """
    with _alone(path):
        removed = _tidy(path)
        salt = cipher.salt_of(path)
        done = salt is None
        if salt is None:
            salt = cipher.new_salt()
            _rewrite(path, None, (secret, salt), progress)
        else:
            connect(path, key=secret).close()  # Raises WrongKey before a frame is touched
        for copy in copies_before_updates(path):  # they are as plain as the memory was
            scrub(copy)
            removed.append(copy)
        frames = _each_frame(path, progress, lambda name, data: _sealed_once(Sealer(secret, salt), name, data))
    return Swapped(done, frames, tuple(removed))


def decrypt(path: Path, secret: Secret, progress: Progress = lambda *_: None) -> Swapped:
    """Take the encryption of a memory and its frames away again.  Raises as `encrypt`."""
    with _alone(path):
        removed = _tidy(path)
        salt = cipher.salt_of(path)
        if salt is not None:
            connect(path, key=secret).close()

        def opened(name: str, data: bytes) -> bytes | None:
            return cipher.unseal(secret, name, data) if cipher.is_sealed(data) else None

        frames = _each_frame(path, progress, opened)
        if salt is not None:
            _rewrite(path, (secret, salt), None, progress)
    return Swapped(salt is not None, frames, tuple(removed))


def rekey(path: Path, old: Secret, new: Secret, progress: Progress = lambda *_: None) -> Swapped:
    """Encrypt a memory and its frames with another key.  Raises as `encrypt`."""
    with _alone(path):
        removed = _tidy(path)
        salt = cipher.salt_of(path)
        if salt is None:
            raise StoreUnreadable(f"{path} is not encrypted: grove-edge encrypt does that.")
        done = _opens(path, new)
        if not done:
            connect(path, key=old).close()
        for copy in copies_before_updates(path):  # the old key would open them for ever
            scrub(copy)
            removed.append(copy)
        sealer = Sealer(new, salt)

        def sealed_anew(name: str, data: bytes) -> bytes | None:
            if not cipher.is_sealed(data):
                return sealer.seal(name, data)
            try:
                cipher.unseal(new, name, data)
            except BadRecord:
                return sealer.seal(name, cipher.unseal(old, name, data))
            return None

        frames = _each_frame(path, progress, sealed_anew)
        if not done:
            _rewrite(path, (old, salt), (new, salt), progress)
    return Swapped(not done, frames, tuple(removed))


def unfinished(path: Path) -> int:
    """How many frames are not as the database is, sealed or plain: left by an encryption that was cut short."""
    wanted = cipher.is_encrypted(path)
    count = 0
    for file in folder_of(path).glob("*/*.jpg"):
        with file.open("rb") as head:
            count += cipher.is_sealed(head.read(len(cipher.FRAME_MAGIC))) != wanted
    return count


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    if not path.is_file():
        raise StoreUnreadable(f"There is no memory at {path}: check --db.")
    held = owner.take(path)
    try:
        yield
    finally:
        os.close(held)


def _tidy(path: Path) -> list[Path]:
    """Remove what a killed run left: a half written new file, the old one on its way out."""
    removed = []
    for name in (path.with_name(path.name + NEW), path.with_name(path.name + LEAVING)):
        for left in (name, *(name.with_name(name.name + c) for c in COMPANIONS)):
            if not left.exists():
                continue
            if left.samefile(path):  # killed between giving the old file its second name and taking its first
                left.unlink()
            else:
                scrub(left)
                removed.append(left)
    return removed


def _rewrite(
    path: Path, now: tuple[Secret, bytes] | None, then: tuple[Secret, bytes] | None, progress: Progress
) -> None:
    """The database anew with another key (or none), compared and renamed into place, the old one overwritten."""
    fresh, leaving = path.with_name(path.name + NEW), path.with_name(path.name + LEAVING)
    db = _exclusive(path, now)
    try:
        progress("database", 0, 2)
        os.close(os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        db.execute("ATTACH ? AS fresh KEY ''", (str(fresh),)) if then is None else db.execute(
            f"ATTACH ? AS fresh KEY {cipher.clause(*then)}", (str(fresh),)
        )
        db.execute("PRAGMA fresh.synchronous = FULL")
        db.execute("SELECT sqlcipher_export('fresh')").fetchone()
        for pragma in ("user_version", "application_id"):
            value = db.execute(f"PRAGMA main.{pragma}").fetchone()[0]
            db.execute(f"PRAGMA fresh.{pragma} = {value}")
        db.execute("DETACH fresh")
        progress("database", 1, 2)
        _same(db, fresh, then)
        sync_file(fresh)
        os.link(path, leaving)
        fresh.replace(path)
        sync_folder(path.parent)
    except DriverError as error:
        raise translate(error, fresh) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreUnwritable(f"{fresh} cannot be written ({reason}): free some space; nothing was changed.") from error
    finally:
        db.close()
        fresh.unlink(missing_ok=True)
    scrub(leaving)
    progress("database", 2, 2)


def _exclusive(path: Path, now: tuple[Secret, bytes] | None) -> Connection:
    """The database for us alone, its log folded in; readers and writers elsewhere are refused."""
    db = connect(path, key=None if now is None else now[0])
    try:
        db.execute("PRAGMA busy_timeout = 2000")
        mode = db.execute("PRAGMA journal_mode = DELETE").fetchone()[0]  # folds the log in; needs everybody gone
        db.execute("PRAGMA main.locking_mode = EXCLUSIVE")
        db.execute("BEGIN EXCLUSIVE")
        db.execute("COMMIT")
    except DriverError as error:
        db.close()
        if "locked" in str(error).lower() or "busy" in str(error).lower():
            raise StoreLocked(f"{path} is in use: stop whatever reads or writes it first.") from error
        raise translate(error, path) from error
    if mode != "delete":
        db.close()
        raise StoreLocked(f"{path} is in use: stop whatever reads or writes it first.")
    return db


def _same(db: Connection, fresh: Path, then: tuple[Secret, bytes] | None) -> None:
    """Raises StoreUnreadable when the new file is not whole or differs in a row of a table that holds rows itself."""
    other = sqlcipher3.connect(str(fresh), isolation_level=None)
    try:
        other.execute("PRAGMA cipher_log_level = NONE")
        if then is not None:
            other.execute(f"PRAGMA key = {cipher.clause(*then)}")
        load_extension(other)
        wrong = [str(row[0]) for row in other.execute("PRAGMA integrity_check") if row[0] != "ok"]
        if wrong or _digest(db) != _digest(other):
            raise StoreUnreadable(
                f"The copy of {fresh.name.removesuffix(NEW)} does not hold what it should "
                f"({wrong[0] if wrong else 'rows differ'}): nothing was changed; look with grove-edge doctor."
            )
    finally:
        other.close()


def _digest(db: Connection) -> str:
    """Of everything a database holds: its schema and each row of each real table, those behind the indexes too."""
    told = hashlib.sha256()
    rows = db.execute("SELECT type, name, tbl_name, sql FROM main.sqlite_master ORDER BY type, name").fetchall()
    for row in rows:
        told.update(repr(tuple(row)).encode("utf-8", "surrogatepass"))
    virtual = {name for kind, name, _, sql in rows if kind == "table" and "VIRTUAL TABLE" in (sql or "")}
    for name in sorted(name for kind, name, _, _ in rows if kind == "table" and name not in virtual):
        told.update(name.encode())
        for row in db.execute(f'SELECT * FROM main."{name}"'):
            told.update(repr(tuple(row)).encode("utf-8", "surrogatepass"))
    return told.hexdigest()


def _opens(path: Path, secret: Secret) -> bool:
    try:
        connect(path, read_only=True, key=secret).close()
    except WrongKey:
        return False
    return True


def _sealed_once(sealer: Sealer, name: str, data: bytes) -> bytes | None:
    return None if cipher.is_sealed(data) else sealer.seal(name, data)


def _each_frame(path: Path, progress: Progress, change: Callable[[str, bytes], bytes | None]) -> int:
    """Replace each frame by what `change` makes of it (None: it stays); gives how many were replaced."""
    folder = KeyframeFolder(folder_of(path))
    names = folder.files()
    changed = 0
    for number, name in enumerate(names, 1):
        file = folder.path(name)
        data = change(name, file.read_bytes())
        if data is not None:
            folder.exchange(name, data)
            changed += 1
        progress("keyframes", number, len(names))
    return changed
