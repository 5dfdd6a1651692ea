"""BM25 as it was known at a time: how rare a word is counts only over rows that are visible.

FTS5's own bm25() weighs words by all rows of the file, so what came after t would change the order of what is found at
t; its k1 is fixed at 1.2; and it walks every match of a common word at a microsecond or two each.  Here the postings of
the search index are added up segment by segment.  The formula is GROVE's (table 10): k1 = 1.5, b = 0.75.  The length of
a text is its characters against a typical one of its stratum: a mean of the corpus would have to be that of time t.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from storage.index import Mask, Piece, View
from storage.index_segments import Array, posted

K1 = 1.5
B = 0.75
_FEW = 8  # a list is looked into, not added up, when the rows that may still rank are so many times fewer

Postings = tuple[Array, Array | None]  # positions of rows, and how often (None: once)


def rank(view: View, terms: Sequence[str], depth: int) -> list[int]:
    """Ids of the rows inside a cut view that hold one of the terms, best first; ties in the order they were stored."""
    size = view.size()
    weighed: list[tuple[float, str, dict[int, Postings]]] = []
    for term in terms:
        found, lists = _postings(view, term)
        if found:
            weighed.append((math.log(1 + (size - found + 0.5) / (found + 0.5)), term, lists))
    weighed.sort(key=lambda w: (-w[0], w[1]))
    once = _once(view.ground.typical)
    scores: npt.NDArray[np.float32] = np.empty(0, dtype=np.float32)
    ids = np.empty(0, dtype=np.int64)
    floor = np.float32(0)
    for i, (piece, inside) in enumerate(zip(view.pieces, view.inside, strict=True)):
        lists_here = [(weight, lists[i]) for weight, _, lists in weighed if i in lists]
        if inside is False or not lists_here:
            continue
        at, score = _add_up(piece, inside, lists_here, once, view.ground.typical, float(floor), depth)
        if at.size:
            scores = np.concatenate((scores, score))
            ids = np.concatenate((ids, piece.ids(at)))
            if scores.size > depth:
                best = np.lexsort((ids, -scores))[:depth]
                scores, ids = scores[best], ids[best]
                floor = scores[-1]
    return [int(i) for i in ids[np.lexsort((ids, -scores))[:depth]]]


def _add_up(
    piece: Piece, inside: Mask | bool, lists: list[tuple[float, Postings]], once: Array, typical: int, floor: float, depth: int
) -> tuple[Array, Array]:  # fmt: skip
    """Positions and scores of the best rows of one piece, no more than `depth`, all above `floor`.

    A word whose weight cannot lift a row above the floor by itself, together with the words after it, is looked up only
    for rows that the rarer words have found already (MaxScore: Turtle and Flood, 1995): common words cost little.
    """
    lengths = piece.column("length")
    assert lengths is not None
    total = np.zeros(piece.head.rows, dtype=np.float32)
    rest = sum(weight for weight, _ in lists) * (K1 + 1)
    some: Array | None = None
    for weight, (at, often) in lists:
        if some is None and floor > rest * 1.0001:
            some = np.flatnonzero(total > floor - rest * 1.0001)
        held, times = at, often
        if some is not None and some.size * _FEW < at.size:
            place = np.searchsorted(at, some)
            hit = np.flatnonzero(at[np.minimum(place, at.size - 1)] == some)
            held, times = some[hit], None if often is None else often[place[hit]]
        gain = once[lengths[held]]
        if times is not None:
            more = np.flatnonzero(times > 1)
            n = times[more].astype(np.float32)
            gain[more] = n * (K1 + 1) / (n + K1 * ((1 - B) + B * lengths[held[more]].astype(np.float32) / typical))
        total[held] += np.float32(weight) * gain
        rest -= weight * (K1 + 1)
    if inside is not None:
        total[~inside] = 0
    best = np.flatnonzero(total > floor)
    if best.size > depth:
        edge = np.partition(total[best], best.size - depth)[best.size - depth]
        above, level = best[total[best] > edge], best[total[best] == edge]
        best = np.concatenate((above, level[: depth - above.size]))
    return best, total[best]


def _postings(view: View, term: str) -> tuple[int, dict[int, Postings]]:
    """In how many visible rows a term occurs, and where, by the number of each piece that has rows inside."""
    number = 0
    lists: dict[int, Postings] = {}
    stored: dict[int, int] = {}
    for i, piece in enumerate(view.pieces):
        words = piece.words()
        if words is None:
            stored[piece.head.id] = i
        elif (held := words.get(term)) is not None:
            number += _visible(held[0], view.visible[i])
            if view.inside[i] is not False:
                lists[i] = held
    if not stored:
        return number, lists
    read = {s for s, i in stored.items() if view.inside[i] is not False or view.visible[i] is not None}
    key = (view.ground.number, term)
    if len(read) > len(stored) // 2:
        rows = view.db.execute("SELECT segment_id, n, docs FROM posting WHERE stratum = ? AND term = ?", key).fetchall()
    else:
        rows = view.db.execute("SELECT segment_id, n, NULL FROM posting WHERE stratum = ? AND term = ?", key).fetchall()
        rows = [r for r in rows if r[0] not in read]
        one = "SELECT segment_id, n, docs FROM posting WHERE stratum = ? AND term = ? AND segment_id = ?"
        rows += [row for s in read for row in view.db.execute(one, (*key, s))]
    for segment, n, docs in rows:
        i = stored.get(segment, -1)
        if i < 0:
            continue
        if segment not in read:
            number += n
            continue
        postings = posted(docs, n)
        number += _visible(postings[0], view.visible[i])
        if view.inside[i] is not False:
            lists[i] = postings
    return number, lists


def _visible(at: Array, visible: Mask) -> int:
    return int(at.size) if visible is None else int(np.count_nonzero(visible[at]))


@lru_cache(maxsize=16)
def _once(typical: int) -> npt.NDArray[np.float32]:
    """What a word that occurs once adds, by the length of the text: shape (65536,)."""
    lengths = np.arange(65536, dtype=np.float64)
    return ((K1 + 1) / (1 + K1 * ((1 - B) + B * lengths / typical))).astype(np.float32)
