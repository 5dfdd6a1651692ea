"""The proof of an erasure: what was erased is looked for, byte by byte, in the files that remain.

A text is cut into pieces, so that a remainder of it is found as well as the whole; a vector is looked for by its
beginning, middle and end.  Pieces that also stand in what stays say nothing and are left out.  All pieces are looked
for in one pass: of each the eight bytes that the fewest pieces share stand in a table of marks, and numpy compares
every place of a file with the table at once.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

PIECE = 24  # bytes
STEP = 16  # bytes from one piece of a text to the next: whatever is left of it in 40 bytes or more is found
SHORTEST = 8  # bytes; what is shorter stands everywhere
MOST = 400_000  # pieces held at once
CHUNK = 1 << 20  # bytes of survivors looked at together
_VECTOR = 0x80  # marks the length of a vector's piece
_LEAST_BITS, _MOST_BITS = 16, 24
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Found:
    """A piece of something erased that is still there."""

    path: str
    offset: int


class Needles:
    """What to look for; `left_out` counts what was beyond MOST."""

    def __init__(self) -> None:
        self._pieces: set[bytes] = set()
        self._index: dict[int, list[tuple[int, bytes]]] | None = None
        self._marks: npt.NDArray[np.bool_] | None = None
        self._keys: npt.NDArray[np.uint64] | None = None
        self._of_vectors: set[bytes] = set()
        self.texts = 0
        self.vectors = 0
        self.left_out = 0

    def packed(self) -> bytes:
        """All of it as one blob in which none of it stands: a random key, then everything under the key's stream."""
        pieces = sorted(self._pieces)
        head = struct.pack("<IIII", self.texts, self.vectors, self.left_out, len(pieces))
        sizes = bytes(len(p) | (_VECTOR if p in self._of_vectors else 0) for p in pieces)
        key = os.urandom(32)
        return key + _disguised(key, head + sizes + b"".join(pieces))

    @classmethod
    def unpacked(cls, blob: bytes) -> Needles:
        """The inverse of `packed`."""
        data = _disguised(blob[:32], blob[32:])
        made = cls()
        made.texts, made.vectors, made.left_out, count = struct.unpack_from("<IIII", data)
        at = 16 + count
        for size in data[16:at]:
            piece = data[at : at + (size & ~_VECTOR)]
            made._pieces.add(piece)
            if size & _VECTOR:
                made._of_vectors.add(piece)
            at += len(piece)
        return made

    def __len__(self) -> int:
        return len(self._pieces)

    def add_text(self, text: str) -> None:
        """Look for a text, as SQLite stores it."""
        data = text.encode("utf-8")
        self.texts += 1
        starts = list(range(0, max(1, len(data) - PIECE + 1), STEP))
        if len(data) > PIECE:
            starts.append(len(data) - PIECE)
        for start in starts:
            self._add(data[start : start + PIECE])

    def add_vector(self, data: bytes) -> None:
        """Look for a vector by its packed bytes."""
        self.vectors += 1
        middle = len(data) // 2 // 4 * 4
        for start in (0, middle, max(0, len(data) - PIECE)):
            piece = data[start : start + PIECE]
            self._add(piece)
            self._of_vectors.add(piece)

    def holds_vector(self, pieces: Iterable[bytes]) -> bool:
        """Whether one of those pieces is of a vector."""
        return any(piece in self._of_vectors for piece in pieces)

    def only(self, pieces: Iterable[bytes]) -> Needles:
        """Some of the pieces, to be looked for by themselves."""
        fewer = Needles()
        fewer._pieces = set(pieces)
        return fewer

    def drop(self, survivors: Iterable[str | bytes]) -> None:
        """Leave out the pieces that stand in what stays."""
        for block in _blocks(survivors):
            common = {piece for _, piece in self._matches(block)}
            if common:  # what is known to stay need not be found again and again
                self._pieces -= common
                self._index = None
            if not self._pieces:
                return

    def pieces(self) -> set[bytes]:
        """What is looked for."""
        return set(self._pieces)

    def search(self, blocks: Iterable[bytes]) -> dict[bytes, int]:
        """The pieces found in a file, given block by block, with where each was found first."""
        found: dict[bytes, int] = {}
        before, at = b"", 0
        for more in blocks:
            data = before + more
            for place, piece in self._matches(data):
                found.setdefault(piece, at - len(before) + place)
            before = data[-PIECE:]
            at += len(more)
        return found

    def inside(self, data: bytes) -> bool:
        """Whether a piece stands in these bytes."""
        return next(self._matches(data), None) is not None

    def _add(self, piece: bytes) -> None:
        if len(piece) < SHORTEST or len(set(piece)) < 4 or piece in self._pieces:
            return
        if len(self._pieces) >= MOST:
            self.left_out += 1
            return
        self._pieces.add(piece)
        self._index = None

    def _matches(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        if not self._pieces or len(data) < SHORTEST:
            return
        index, marks, keys = self._table()
        shifted = np.uint64(64 - (len(marks) - 1).bit_length())
        for shift in range(8):
            count = (len(data) - shift) // 8
            if count <= 0:
                continue
            words = np.frombuffer(data, dtype="<u8", count=count, offset=shift)
            maybe = np.nonzero(marks[(words * _FACTOR) >> shifted])[0]
            nearest = np.minimum(np.searchsorted(keys, words[maybe]), len(keys) - 1)
            for hit in maybe[keys[nearest] == words[maybe]]:
                place = shift + 8 * int(hit)
                for into, piece in index.get(int(words[hit]), ()):
                    if place >= into and data.startswith(piece, place - into):
                        yield place - into, piece

    def _table(self) -> tuple[dict[int, list[tuple[int, bytes]]], npt.NDArray[np.bool_], npt.NDArray[np.uint64]]:
        if self._index is None or self._marks is None or self._keys is None:
            shared = Counter(word for piece in self._pieces for _, word in _eights(piece))
            index: dict[int, list[tuple[int, bytes]]] = {}
            for piece in self._pieces:
                into, word = min(_eights(piece), key=lambda x: (shared[x[1]], x[0]))
                index.setdefault(word, []).append((into, piece))
            # As small as it may be with one mark in fifty set: it is quick while it fits the processor's cache.
            bits = min(_MOST_BITS, max(_LEAST_BITS, (50 * len(index)).bit_length()))
            marks = np.zeros(1 << bits, dtype=np.bool_)
            keys = np.sort(np.asarray(list(index), dtype=np.uint64))
            marks[(keys * _FACTOR) >> np.uint64(64 - bits)] = True
            self._index, self._marks, self._keys = index, marks, keys
        return self._index, self._marks, self._keys


def _disguised(key: bytes, data: bytes) -> bytes:
    stream = np.frombuffer(hashlib.shake_256(key).digest(len(data)), np.uint8)
    mixed: bytes = (np.frombuffer(data, np.uint8) ^ stream).tobytes()
    return mixed


def _eights(piece: bytes) -> list[tuple[int, int]]:
    """Eight bytes of a piece as a number, from every fourth place on."""
    return [(at, int.from_bytes(piece[at : at + 8], "little")) for at in range(0, len(piece) - 7, 4)]


def _blocks(parts: Iterable[str | bytes]) -> Iterator[bytes]:
    """Texts and vectors put together to blocks of about CHUNK bytes, parted by zeros."""
    held: list[bytes] = []
    size = 0
    for part in parts:
        data = part.encode("utf-8") if isinstance(part, str) else part
        held.append(data)
        size += len(data) + 1
        if size >= CHUNK:
            yield b"\0".join(held)
            held, size = [], 0
    if held:
        yield b"\0".join(held)
