"""The journal: what must survive a crash so that nothing is lost and nothing doubled.

One append-only file of checksummed records. Appending a peer's message *is* its commit: content and position are one
record, so a crash leaves either both or neither. A torn last record is cut off when the file is opened again; a long
file is replaced by one with what still matters.

    record = kind u8 | number u8 | length u16 | stream u32 | seq u32 | crc32 u32 (of all before it and the payload) | payload
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

from firmware_bridge import protocol as p
from firmware_bridge.errors import JournalError
from firmware_bridge.events import Deliver, Queued, Restored

HEAD = struct.Struct("<BBHII")
SUM = struct.Struct("<I")
STREAM, QUEUED, RELEASED, COMMITTED, DONE = range(1, 6)
REWRITE_BYTES = 262_144

Record = tuple[int, int, int, int, bytes]
"""(kind, message number, stream, seq, payload)."""


class Journal:
    """Keeps one session's memory in ``path``. ``stream`` names a new queue when the file is new (random, not 0).

    ``sync`` False trades the last moments before a power cut for speed; a killed process loses nothing either way.
    """

    def __init__(self, path: Path, stream: int, *, sync: bool = True) -> None:
        self._path, self._sync = path, sync
        self._stream, self._next = 0, 1
        self._queue: dict[int, tuple[int, bytes]] = {}
        self._peer = (0, 0)
        self._open: dict[tuple[int, int], tuple[int, bytes]] = {}
        self._rewrite_at = REWRITE_BYTES
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            data = path.read_bytes() if path.exists() else b""
            good = self._replay(data)
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            os.ftruncate(self._fd, good)
            os.lseek(self._fd, 0, os.SEEK_END)
        except OSError as error:
            raise JournalError(f"{path}: {error.strerror}") from error
        self._size = good
        if not self._stream:
            self._append((STREAM, 0, stream, 0, b""))

    @property
    def restored(self) -> Restored:
        """What a new Session continues from."""
        queued = tuple((seq, number, payload) for seq, (number, payload) in self._queue.items())
        return Restored(self._stream, self._next, queued, *self._peer)

    def queued(self, item: Queued) -> None:
        """Store one of our messages before it is sent."""
        self._append((QUEUED, item.number, self._stream, item.seq, item.payload))

    def released(self, seq: int) -> None:
        """The peer has everything up to ``seq``."""
        self._append((RELEASED, 0, self._stream, seq, b""), sync=False)  # forgetting this only re-sends what is dropped

    def commit(self, item: Deliver) -> None:
        """Store a message of the peer for good, with its position."""
        number, payload = p.pack(item.message)
        self._append((COMMITTED, number, item.stream, item.seq or 0, payload))

    def done(self, item: Deliver) -> None:
        """The application has dealt with a committed message: it is not handed over again after a restart."""
        self._append((DONE, 0, item.stream, item.seq or 0, b""))

    def pending(self) -> list[Deliver]:
        """Committed messages that the application has not dealt with, oldest first."""
        return [Deliver(p.unpack(number, data), *key) for key, (number, data) in self._open.items()]

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def _append(self, record: Record, *, sync: bool = True) -> None:
        data = _encode(record)
        try:
            if os.write(self._fd, data) != len(data):
                raise JournalError(f"{self._path}: the disk is full")
            if sync and self._sync:
                os.fdatasync(self._fd)
        except OSError as error:
            raise JournalError(f"{self._path}: {error.strerror}") from error
        self._apply(record)
        self._size += len(data)
        if self._size > self._rewrite_at:
            self._rewrite()

    def _apply(self, record: Record) -> None:
        kind, number, stream, seq, payload = record
        if kind == STREAM:
            self._stream = stream
        elif kind == QUEUED:
            self._queue[seq] = (number, payload)
            self._next = (seq + 1) & 0xFFFFFFFF
        elif kind == RELEASED:
            if not self._queue:
                self._next = (seq + 1) & 0xFFFFFFFF
            for old in list(self._queue):
                del self._queue[old]
                if old == seq:
                    break
        elif kind == COMMITTED:
            self._peer = (stream, seq)
            self._open[stream, seq] = (number, payload)
        else:
            self._open.pop((stream, seq), None)

    def _replay(self, data: bytes) -> int:
        """Apply the records of a file; returns how many of its bytes are good."""
        at = 0
        while at + HEAD.size + SUM.size <= len(data):
            kind, number, length, stream, seq = HEAD.unpack_from(data, at)
            end = at + HEAD.size + SUM.size + length
            payload = data[end - length : end]
            record = (kind, number, stream, seq, payload)
            if end > len(data) or not STREAM <= kind <= DONE or _encode(record) != data[at:end]:
                break
            self._apply(record)
            at = end
        return at

    def _rewrite(self) -> None:
        """Write what still matters to a new file and put it in the old one's place."""
        records: list[Record] = [(STREAM, 0, self._stream, 0, b"")]
        first = next(iter(self._queue), self._next)
        records.append((RELEASED, 0, self._stream, (first - 1) & 0xFFFFFFFF, b""))
        records += [(QUEUED, number, self._stream, seq, data) for seq, (number, data) in self._queue.items()]
        if self._peer not in self._open:
            records += [(COMMITTED, 0, *self._peer, b""), (DONE, 0, *self._peer, b"")]
        records += [(COMMITTED, number, *key, data) for key, (number, data) in self._open.items()]
        data = b"".join(map(_encode, records))
        fresh = self._path.with_suffix(".new")
        try:
            with fresh.open("wb") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self._path)
            directory = os.open(self._path.parent, os.O_RDONLY)
            os.fsync(directory)
            os.close(directory)
            os.close(self._fd)
            self._fd = os.open(self._path, os.O_RDWR | os.O_APPEND)
        except OSError as error:
            raise JournalError(f"{self._path}: {error.strerror}") from error
        self._size = len(data)
        self._rewrite_at = max(REWRITE_BYTES, 2 * self._size)  # much that still matters must not be rewritten each time


def _encode(record: Record) -> bytes:
    kind, number, stream, seq, payload = record
    head = HEAD.pack(kind, number, len(payload), stream, seq)
    return head + SUM.pack(zlib.crc32(head + payload)) + payload
