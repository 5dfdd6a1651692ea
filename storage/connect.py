"""Opening the database file: driver, extension, pragmas, checks, permissions.

The driver is sqlcipher3: it carries its own SQLite (new enough to be free of the WAL-reset race fixed in 3.51.3),
loads extensions on every Python, and can encrypt.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path
from typing import Any, TypeAlias

import sqlcipher3
import sqlite_vec

from storage import cipher
from storage.cipher import Secret
from storage.errors import EngineTooOld, StorageError, StoreLocked, StoreUnreadable, StoreUnwritable

Connection: TypeAlias = Any  # sqlcipher3 ships no types; its connection is the sqlite3 one

MIN_SQLITE = (3, 51, 3)
MIN_VEC = (0, 1, 9)
BUSY_MS = 10_000
WAL_WAIT_MS = 20
APPLICATION = 0x47524F56  # "GROV", in the header of an encrypted file
SMALLEST = 512  # bytes; no database has less than a page
# What the driver raises; the second when a damaged file gives it a message that is no text.
DriverError: tuple[type[Exception], ...] = (sqlcipher3.Error, UnicodeDecodeError)


def connect(path: Path | None, *, read_only: bool = False, key: Secret | None = None) -> Connection:
    """A connection with the extension loaded and the pragmas set; `path` None is a database in memory.

    An encrypted file is opened with `key`, else with what this process was told to ask (storage.cipher.provide); a new
    file is encrypted when there is a key.  Nothing is written yet: the file may turn out to be another program's.
    Raises StorageError subclasses.
    """
    if path is not None:
        _plain_file(path)
        if not read_only:
            _claim(path)
    target = ":memory:" if path is None else str(path)
    keyed = False
    try:
        db = sqlcipher3.connect(target, check_same_thread=False, isolation_level=None, timeout=BUSY_MS / 1000)
        keyed = path is not None and _unlock(db, path, key, read_only=read_only)
        load_extension(db)
        db.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA secure_delete = ON")
        db.execute("PRAGMA temp_store = MEMORY")
        db.execute("PRAGMA cache_size = -8192")
        if read_only:
            db.execute("PRAGMA query_only = ON")
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except DriverError as error:
        if keyed and path is not None and "not a database" in str(error).lower():
            raise cipher.wrong_key(path) from error
        raise translate(error, path) from error
    return db


def load_extension(db: Connection) -> None:
    """Give a connection sqlite-vec.  Raises EngineTooOld where it cannot be loaded."""
    try:
        db.enable_load_extension(True)
        sqlite_vec.load(db)
        db.enable_load_extension(False)
    except (AttributeError, sqlcipher3.Error) as error:
        raise EngineTooOld(f"sqlite-vec cannot be loaded ({error}): install sqlcipher3 0.6.4 or newer.") from error


def _unlock(db: Connection, path: Path, key: Secret | None, *, read_only: bool) -> bool:
    """Set the key of an encrypted file, or of a new one when there is a key; true when one was set."""
    db.execute("PRAGMA cipher_log_level = NONE")  # it would write to stderr; what is wrong is told by our errors
    salt = cipher.salt_of(path)
    fresh = salt is None and not read_only and path.stat().st_size == 0
    secret = cipher.secret_for(path, key) if salt is not None or fresh else None
    if salt is None and secret is None:
        return False
    if secret is None:
        raise cipher.missing_key(path)
    db.execute(f"PRAGMA key = {cipher.clause(secret, salt or cipher.new_salt())}")
    if salt is None:
        try:
            db.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            db.execute(f"PRAGMA application_id = {APPLICATION}")  # writes the salt: whoever comes next finds it
        except DriverError:  # another process was quicker, with a salt of its own
            salt = cipher.salt_of(path)
            if salt is None:
                raise
            db.execute(f"PRAGMA key = {cipher.clause(secret, salt)}")
    return True


def prepare(db: Connection, synchronous: str = "full") -> None:
    """Make a database of ours ready to be written.

    `synchronous` "full" makes every commit survive a power cut (one fsync of the WAL per commit); "normal" survives
    a crash of the process but may lose the last commits when power fails.
    """
    _to_wal(db)
    db.execute(f"PRAGMA synchronous = {synchronous}")
    db.execute("PRAGMA wal_autocheckpoint = 500")


def _to_wal(db: Connection) -> None:
    """Switch to a write-ahead log.

    The switch of a new file asks for it alone and fails at once when somebody else has it open for a moment: SQLite does
    not wait there by itself.
    """
    for left in range(BUSY_MS // WAL_WAIT_MS, -1, -1):
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except DriverError as error:
            if not left or "locked" not in str(error).lower():
                raise
        _pause()


def _pause() -> None:
    threading.Event().wait(WAL_WAIT_MS / 1000)


def check_engine(db: Connection) -> dict[str, str]:
    """Versions of the engine; raises EngineTooOld when one cannot be relied on."""
    sqlite, vec = (str(db.execute(f"SELECT {f}()").fetchone()[0]) for f in ("sqlite_version", "vec_version"))
    if _numbers(sqlite) < MIN_SQLITE:
        raise EngineTooOld(f"SQLite {sqlite} has a known corruption race: install sqlcipher3 0.6.4 or newer.")
    if _numbers(vec) < MIN_VEC:
        raise EngineTooOld(f"sqlite-vec {vec} is too old: install sqlite-vec 0.1.9 or newer.")
    options = {row[0] for row in db.execute("PRAGMA compile_options")}
    if "ENABLE_FTS5" not in options:
        raise EngineTooOld(
            "This SQLite lacks FTS5, whose tokenizer cuts texts to words: install sqlcipher3 0.6.4 or newer."
        )
    return {"sqlite": sqlite, "sqlite_vec": vec, "driver": f"sqlcipher3 {sqlcipher3.version}"}


def translate(error: Exception, path: Path | None) -> StorageError:
    """A driver's error as one of ours, with what to do about it."""
    text, where = str(error), f"{path}" if path is not None else "the database in memory"
    low = text.lower()
    if "locked" in low or "busy" in low:
        return StoreLocked(f"{where} is being written by another process: stop it, or choose another --db.")
    if "not a database" in low or "encrypted" in low:
        return StoreUnreadable(
            f"{where} is not a grove-edge database (or it is damaged): choose another --db, or restore a backup."
        )
    if any(sign in low for sign in ("malformed", "corrupt", "decode", "vtable", "blob", "no such table")):
        return StoreUnreadable(f"{where} is damaged ({text}): restore it from a backup (grove-edge restore).")
    if "full" in low:
        return StoreUnwritable(f"No space left while writing {where}: free some space; nothing was half written.")
    if "readonly" in low or "read-only" in low or "unable to open" in low or "i/o" in low:
        return StoreUnwritable(f"{where} cannot be opened or written ({text}): check the path and its permissions.")
    return StorageError(f"{where}: {text}; grove-edge doctor tells whether it is whole.")


def _plain_file(path: Path) -> None:
    """Refuse what is there and is no file: SQLite would wait for a pipe, and write a journal beside a device."""
    try:
        mode = path.stat().st_mode
    except OSError:  # it is not there, or cannot be looked at: what opens it says so
        return
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "no file but a device or a pipe"
        raise StoreUnwritable(f"{path} is {what}: give --db the path of a file.")


def _claim(path: Path) -> None:
    """Make the folder (0700 when it is new) and the file (0600) before SQLite would make them with the umask's mode.

    A file that is there is never opened: closing it would release every lock this process holds on it for SQLite.
    """
    try:
        private_folder(path.parent)
        if path.exists() and 0 < path.stat().st_size < SMALLEST:  # which SQLite would take for an empty one
            raise StoreUnreadable(f"{path} is not a grove-edge database: choose another --db.")
        if not path.exists():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        elif not os.access(path, os.R_OK | os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreUnwritable(f"{path} cannot be written ({reason}): choose another --db or fix the folder.") from error


def private_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing, each for its owner alone (0700) whatever the umask."""
    for each in (*reversed(folder.parents), folder):
        if not each.exists():
            each.mkdir(mode=0o700, exist_ok=True)
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(p) for p in version.lstrip("v").split("-")[0].split(".") if p.isdigit())
