"""Who grows a memory, and who brings its schema up to date: one process at a time.

SQLite keeps two writers from tearing a row, but not from telling two stories: the open unit of a growing memory is in
its owner's hands, so a second one would cut episodes through windows it does not know.  The lock is a file beside the
database that the kernel releases when its holder dies, however it dies.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from storage.errors import StoreLocked, StoreUnwritable

SUFFIX = ".owner"
UPDATING = ".updating"
WAIT_S = 60.0  # for another process's update; those of a memory of years take that long
_STEP_S = 0.02


def lock_of(database: Path) -> Path:
    """Where the lock of a database lies."""
    return database.with_name(database.name + SUFFIX)


def take(database: Path) -> int:
    """Become the one that grows a database; closing the descriptor gives it up.

    Raises StoreLocked naming the process that has it, StoreUnwritable when the lock cannot be made.
    """
    descriptor = _opened(lock_of(database))
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.read(descriptor, 32).decode("ascii", "replace").strip()
        os.close(descriptor)
        raise StoreLocked(
            f"{database} is being grown by another process ({holder}): stop it, or choose another --db."
        ) from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


@contextmanager
def updating(database: Path, wait_s: float = WAIT_S) -> Iterator[None]:
    """Be the only process that brings a database up to date, or makes it.

    A second one that looked in between would find half a schema, and keep a copy of that as if it were of old.  The file
    that is locked is taken away afterwards.  Raises StoreLocked when another process has it for longer than `wait_s`,
    StoreUnwritable when the lock cannot be made.
    """
    path = database.with_name(database.name + UPDATING)
    never = threading.Event()
    for _ in range(max(1, round(wait_s / _STEP_S))):
        descriptor = _opened(path)
        try:
            if not _locked(descriptor, path):
                never.wait(_STEP_S)
                continue
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return
        finally:
            os.close(descriptor)
    raise StoreLocked(f"{database} is being brought up to date by another process: wait until that has ended.")


def _locked(descriptor: int, path: Path) -> bool:
    """Whether we have the lock now, and it is still the one that others will find."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except (BlockingIOError, FileNotFoundError):
        return False


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreUnwritable(
            f"{path} cannot be written ({error.strerror}): choose another --db or fix the folder."
        ) from error
