"""Dense search over one stratum: the rows whose vectors are nearest, by codes in memory and a few coarse vectors.

The plan adapts to how much lies in range.  Of many rows those are kept whose sign codes differ least from the query's, of
these the ones whose codes lean most towards it; and the coarse vectors of the rest, which are read row by row, put them in
their order.  The vec0 tables stay the store of record.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from storage.connect import Connection
from storage.index import Mask, Span, View, ids_of, shared_out
from storage.index_codes import Codes, apart, codes, hamming, lean
from storage.vectors import Vector

# So many are kept by the bits of their codes, then by how these lean: at least, at most, and one in so many of what is in
# range between.  Chosen for recall@20 of at least 0.95 to three million rows; a row that is read costs as much as two
# thousand that are scanned.
WIDE, FINE = (1024, 4096, 24), (192, 512, 400)

FEW = 768  # rows in range that are all read: that takes no longer than to choose among them
DENSE = 2  # rows walked over for each that is wanted, at most

Ints: TypeAlias = npt.NDArray[np.int64]
Far: TypeAlias = npt.NDArray[np.uint16]
NONE = 65535  # a distance
MANY = 2**18  # rows in range whose bits are counted by two threads


def nearest(view: View, query: Vector, depth: int) -> list[int]:
    """Ids of the rows inside a cut view whose vectors are nearest to `query` (Euclidean), best first; ties by id."""
    near = view.ground.near
    if near is None:
        return []
    spans = view.spans()
    few = sum(span.high - span.low for span in spans) <= FEW
    rows = _coarse(view.db, near, _inside(spans) if few else _picked(spans, query, depth))
    if not rows:
        return []
    ids = np.asarray([row[0] for row in rows], dtype=np.int64)
    best: list[int] = ids[np.lexsort((ids, apart([row[1] for row in rows], query)))][:depth].tolist()
    return best


def _inside(spans: Sequence[Span]) -> list[int]:
    """Ids of all rows inside, ascending."""
    at = [
        span.at + (np.arange(span.high - span.low) if span.mask is None else np.flatnonzero(span.mask))
        for span in spans
    ]
    ids: list[int] = ids_of(spans, np.concatenate(at)).tolist() if at else []
    return ids


def _coarse(db: Connection, near: str, ids: list[int]) -> list[tuple[int, bytes]]:
    """The coarse vectors of those rows, by their ascending ids, that have one."""
    if ids and ids[-1] - ids[0] < len(ids) * DENSE:  # they lie together: one walk is cheaper than so many steps
        walked = db.execute(f"SELECT id, v FROM {near} WHERE id BETWEEN ? AND ?", (ids[0], ids[-1])).fetchall()
        if len(ids) == ids[-1] - ids[0] + 1:
            return walked  # type: ignore[no-any-return]
        wanted = set(ids)
        return [row for row in walked if row[0] in wanted]
    rows: list[tuple[int, bytes]] = []
    for at in range(0, len(ids), 512):
        part = ids[at : at + 512]
        rows += db.execute(f"SELECT id, v FROM {near} WHERE id IN ({','.join('?' * len(part))})", part)
    return rows


def _picked(spans: Sequence[Span], query: Vector, depth: int) -> list[int]:
    """Ids, ascending, of the rows that are likely nearest: all that are inside when those are few."""
    coded = [(span, code) for span in spans if (code := span.column("code")) is not None]
    spans = [span for span, _ in coded]
    far = _scan(coded, codes(query[None, :])[:, 0])
    fine = max(_share(far.size, FINE), depth)
    at = _closest(far, max(_share(far.size, WIDE), fine))
    if at.size > fine:
        code_of = {span.number: code for span, code in coded}
        found = [code_of[span.number][:, at[a:b] - span.at] for span, a, b in shared_out(spans, at)]
        leans = lean(np.concatenate(found, axis=1), query)
        at = np.sort(at[np.argsort(-leans, kind="stable")[:fine]])
    ids: list[int] = ids_of(spans, at).tolist()
    return ids


def _share(count: int, bounds: tuple[int, int, int]) -> int:
    least, most, one_in = bounds
    return min(most, max(least, count // one_in))


def _scan(coded: Sequence[tuple[Span, Codes]], asked: Codes) -> Far:
    """How many bits of the code of each row of some spans differ: shape (rows,), NONE for those that are not inside."""
    count = coded[-1][0].at + coded[-1][1].shape[1] if coded else 0
    far: Far = np.empty(count, dtype=np.uint16)
    if sum(code.shape[1] for _, code in coded) < count:  # spans without any vector lie between
        far[:] = NONE
    parts = [(far[s.at : s.at + s.high - s.low], code, s.mask, s.column("blank")) for s, code in coded]
    widest = max((code.shape[1] for _, code in coded), default=0)

    def scan(some: Sequence[tuple[Far, Codes, Mask, Mask]]) -> None:
        scratch = np.empty(widest, dtype=np.uint64)
        for mine, code, mask, blank in some:
            hamming(code, asked, mine, scratch)
            if mask is not None:
                mine[~mask] = NONE
            if blank is not None:
                mine[blank] = NONE

    if count < MANY:
        scan(parts)
    else:  # numpy counts outside of the interpreter's lock
        list(_pool().map(scan, (parts[0::2], parts[1::2])))
    return far


def _closest(far: Far, most: int) -> Ints:
    """Positions, ascending, of the `most` least of some distances, of equal ones the first, without those of NONE."""
    if far.size <= most:
        return np.flatnonzero(far < NONE)
    some = far[:: far.size // 4096 + 1]
    guess = min(some.size - 1, some.size * 2 * most // far.size + 4)
    at = np.flatnonzero(far <= np.partition(some, guess)[guess])
    if at.size < most:  # rare: the sample was too near
        at = np.arange(far.size)
    near = far[at]
    edge = np.partition(near, most - 1)[most - 1]
    at = at[near <= min(edge, NONE - 1)]
    level = np.flatnonzero(far[at] == edge)
    return np.delete(at, level[level.size - max(0, at.size - most) :])


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(min(2, os.cpu_count() or 1), "codes")
