"""Who grows a memory: one process at a time.

SQLite keeps two writers from tearing a row, but not from telling two stories: the open unit of a growing memory is in
its owner's hands, so a second one would cut episodes through windows it does not know.  The lock is a file beside the
database that the kernel releases when its holder dies, however it dies.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from storage.errors import StoreLocked, StoreUnwritable

SUFFIX = ".owner"


def lock_of(database: Path) -> Path:
    """Where the lock of a database lies."""
    return database.with_name(database.name + SUFFIX)


def take(database: Path) -> int:
    """Become the one that grows a database; closing the descriptor gives it up.

    Raises StoreLocked naming the process that has it, StoreUnwritable when the lock cannot be made.
    """
    path = lock_of(database)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreUnwritable(
            f"{path} cannot be written ({error.strerror}): choose another --db or fix the folder."
        ) from error
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
