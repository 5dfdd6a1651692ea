"""Reading the bytes of files that are searched for what was erased, those of an open database among them.

SQLite's locks are the process's: closing any descriptor of a file releases them all, and another process that opens the
memory then takes itself for the only one and removes the log from under the writer.  So a file of a database, once
opened here, stays open until the process ends.

The pages of an encrypted database are decrypted, or the search would look at noise: AES-256-CBC, each page with its
vector and its code (which SQLCipher checks, not this) in its last 80 bytes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC

CHUNK = 1 << 20  # bytes
PAGE = 4096  # bytes of an encrypted page, SQLCipher's own choice
_RESERVED, _IV, _SALT = 80, 16, 16
_WAL_HEAD, _FRAME_HEAD = 32, 24

_LOCK = threading.Lock()
_HELD: dict[tuple[int, int], int] = {}


def read(path: Path) -> Iterator[bytes]:
    """A file of nobody's, CHUNK bytes at a time; nothing when it is not there."""
    try:
        with path.open("rb") as file:
            while more := file.read(CHUNK):
                yield more
    except FileNotFoundError:
        return


def read_database(path: Path, key: bytes | None) -> Iterator[bytes]:
    """The same of a file of a database that may be open here; `key` (32 bytes) decrypts the pages."""
    handle = _held(path)
    if handle is None:
        return
    if key is None or path.name.endswith("-shm"):
        yield from _runs(handle, 0, CHUNK)
    elif path.name.endswith("-wal"):
        for frame in _runs(handle, _WAL_HEAD, _FRAME_HEAD + PAGE):
            yield _plain(frame[_FRAME_HEAD:], key, first=frame[:4] == b"\0\0\0\1")
    else:
        for at, block in enumerate(_runs(handle, 0, CHUNK)):
            pages = range(0, len(block), PAGE)
            yield b"".join(_plain(block[p : p + PAGE], key, first=at == p == 0) for p in pages)


def _held(path: Path) -> int | None:
    with _LOCK:
        try:
            found = path.stat()
            handle = _HELD.get((found.st_dev, found.st_ino))
            if handle is None:
                handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                found = os.fstat(handle)
                _HELD[found.st_dev, found.st_ino] = handle
        except FileNotFoundError:
            return None
        return handle


def _runs(handle: int, at: int, size: int) -> Iterable[bytes]:
    while more := os.pread(handle, size, at):
        yield more
        at += len(more)


def _plain(page: bytes, key: bytes, *, first: bool) -> bytes:
    """A page as SQLite sees it; the very first begins with the salt, which is not encrypted.  Half a page says nothing."""
    if len(page) < PAGE:
        return b""
    end = PAGE - _RESERVED
    open_page = Cipher(AES(key), CBC(page[end : end + _IV])).decryptor()
    return open_page.update(page[_SALT if first else 0 : end]) + open_page.finalize()
