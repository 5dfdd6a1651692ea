"""Coarse vectors: a sign code of each to scan by the million, and one byte a dimension to put the survivors in order.

A code is the signs of a vector after a fixed rotation (random signs, then a Walsh-Hadamard transform): signs of rotated
coordinates keep angles better than those of raw ones, and this rotation is the same on every machine and needs no file.
Hamming distance is counted column-wise, 64 bits at a time.  Both are derived from the vec0 tables and can be made anew.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Codes = npt.NDArray[np.uint64]
Distances = npt.NDArray[np.uint16]

_EIGHT = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.float32)
_HEAD = np.dtype([("step", "<f4"), ("square", "<f4")])


def squeeze(vectors: Floats) -> list[bytes]:
    """Vectors (n, dim), none of them zero, at a byte a dimension.

    For each a blob: the size of a step and the squared length (two float32), then int8 of shape (dim,).
    """
    step = (np.abs(vectors).max(axis=1) / np.float64(127)).astype("<f4")
    head = np.stack([step, np.einsum("ij,ij->i", vectors, vectors)], axis=1).astype("<f4")
    small = np.rint(vectors / step[:, None]).astype(np.int8)
    rows = np.concatenate((head.view(np.uint8), small.view(np.uint8)), axis=1)
    data, width = rows.tobytes(), rows.shape[1]
    return [data[at : at + width] for at in range(0, len(data), width)]


def spread(rows: list[bytes]) -> Floats:
    """Squeezed vectors as float32 of shape (n, dim)."""
    head, small = _parted(rows)
    vectors: Floats = small * head["step"][:, None]
    return vectors


def apart(rows: list[bytes], query: Floats) -> Floats:
    """Squared distances of n squeezed vectors from a query (dim,), all less its own squared length: shape (n,)."""
    head, small = _parted(rows)
    distances: Floats = head["square"] - 2 * head["step"] * (small @ query)
    return distances


def _parted(rows: list[bytes]) -> tuple[npt.NDArray[np.void], Floats]:
    raw = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), -1)
    head = np.ascontiguousarray(raw[:, : _HEAD.itemsize]).view(_HEAD)[:, 0]
    return head, raw[:, _HEAD.itemsize :].view(np.int8).astype(np.float32)


def words_of(dim: int) -> int:
    """How many 64-bit words a code of a vector of that length has."""
    return max(64, 1 << (dim - 1).bit_length()) // 64


def codes(vectors: Floats) -> Codes:
    """Sign codes of vectors (n, dim): shape (words, n), so that a scan reads each word's column in one run."""
    dim = vectors.shape[1]
    bits = words_of(dim) * 64
    turned = vectors @ _rotation(dim, bits)
    packed = np.packbits(turned > 0, axis=1, bitorder="little")
    return np.ascontiguousarray(packed.view("<u8").T)


def hamming(columns: Codes, query: Codes, out: Distances | None = None, scratch: Codes | None = None) -> Distances:
    """Distances of n codes (words, n) to one (words,): shape (n,), written to `out` when it is given.

    `scratch`, of n words or more, spares a scan of many columns as many allocations.
    """
    n = columns.shape[1]
    total: Distances = np.empty(n, dtype=np.uint16) if out is None else out
    differ = np.empty(n, dtype=np.uint64) if scratch is None else scratch[:n]
    bits = np.empty(n, dtype=np.uint8)
    total[:] = 0
    for column, word in zip(columns, query, strict=True):
        np.bitwise_count(np.bitwise_xor(column, word, out=differ), out=bits)
        np.add(total, bits, out=total)
    return total


def lean(columns: Codes, query: Floats) -> Floats:
    """How far n codes (words, n) lean towards a query (dim,): finer than counting bits, at ten times the cost.

    The sum of the turned query's coordinates where a code has its bit set, eight of them looked up at a time.
    """
    dim = query.shape[0]
    turned = query @ _rotation(dim, words_of(dim) * 64)
    sums = _EIGHT @ turned.reshape(-1, 8).T  # (256, bytes of a code)
    octets = np.ascontiguousarray(columns.T).view(np.uint8)
    total: Floats = np.zeros(octets.shape[0], dtype=np.float32)
    for at in range(octets.shape[1]):
        total += sums[:, at].take(octets[:, at])
    return total


@lru_cache(maxsize=4)
def _rotation(dim: int, bits: int) -> Floats:
    """Signs from a hash, then the Walsh-Hadamard matrix: (dim, bits).  Its scale does not matter to a sign."""
    matrix = np.ones((1, 1), dtype=np.float32)
    while matrix.shape[0] < bits:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    drawn = hashlib.shake_256(b"grove-edge sign codes").digest(bits // 8)
    flips = np.unpackbits(np.frombuffer(drawn, dtype=np.uint8)).astype(np.float32) * 2 - 1
    return np.ascontiguousarray((matrix * flips[:, None])[:dim])
