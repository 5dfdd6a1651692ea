"""Files that are whole or not there, on the disk when they are said to be, and gone for good when they are removed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PART = ".part"  # how the name of a file ends that is still being written


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A new file, 0600, that takes the place of `path` once it is on the disk; after an error nothing is left of it.

    The caller flushes the folder.  Raises OSError.
    """
    handle, name = tempfile.mkstemp(prefix=path.name, suffix=PART, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def sync_file(path: Path) -> None:
    """Have a file's content on the disk.  Raises OSError."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Have a folder's names on the disk.  Raises OSError."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def zero(handle: int) -> None:
    """Overwrite an open file with zeros, on the disk.  Raises OSError."""
    size, done = os.fstat(handle).st_size, 0
    while done < size:
        done += os.pwrite(handle, bytes(min(1 << 20, size - done)), done)
    os.fsync(handle)


def scrub(path: Path) -> None:
    """Overwrite and remove a file.  Raises OSError."""
    handle = os.open(path, os.O_RDWR)
    try:
        zero(handle)
    finally:
        os.close(handle)
    path.unlink()
    sync_folder(path.parent)
