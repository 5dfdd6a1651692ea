"""BM25 as it was known at a time: how rare a word is counts only over rows that are visible.

FTS5's own bm25() weighs words by all rows of the file, so what came after t would change the order of what is found at
t; its k1 is fixed at 1.2; and it walks every match of a common word at a microsecond or two each.  Here the postings of
the search index are added up, the rarest word's first.  The formula is GROVE's (table 10): k1 = 1.5, b = 0.75.  The length of
a text is its characters against a typical one of its stratum: a mean of the corpus would have to be that of time t.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from storage.index import Span, View, ids_of
from storage.index_segments import Array

K1 = 1.5
B = 0.75
_FEW = 8  # a list is looked into, not spread out, when the rows that may still rank are so many times fewer
_ALL = 2**14  # so many times may the words occur in range for every row that holds one to be scored
_CHUNK = 2**15  # rows that are scored at once
_SLACK = np.float32(1.0001)  # over the rounding of sums


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of the query: its weight, the places of the rows inside that hold it, and how often (None: once)."""

    weight: float
    at: Array
    times: Array | None
    most: int


def rank(view: View, terms: Sequence[str], depth: int) -> list[int]:
    """Ids of the rows inside a cut view that hold one of the terms, best first; ties in the order they were stored."""
    spans, size = view.spans(), view.size()
    found = [(term, *_places(view, spans, term)) for term in terms]
    held = sorted(((view.count(term), term, at, times) for term, at, times in found if at.size), key=lambda h: h[:2])
    if not held:
        return []
    words = [
        _Word(math.log(1 + (size - n + 0.5) / (n + 0.5)), at, times, 1 if times is None else int(times.max()))
        for n, _, at, times in held
    ]
    lengths = np.concatenate([_lengths(span) for span in spans])
    plan = _all if sum(word.at.size for word in words) <= _ALL else _likely
    best, _ = plan(words, lengths, view.ground.typical, depth)
    ids = np.empty(best.size, dtype=np.int64)
    by_place = np.argsort(best)
    ids[by_place] = ids_of(spans, best[by_place])
    ranked: list[int] = ids.tolist()
    return ranked


def _all(words: Sequence[_Word], lengths: Array, typical: int, depth: int) -> tuple[Array, Array]:
    """Places and scores of the best rows, after every row that holds a word was scored."""
    scores = np.zeros(lengths.size, dtype=np.float32)
    for word in words:
        scores[word.at] += np.float32(word.weight) * _gains(lengths[word.at], word.times, typical)
    at = np.flatnonzero(scores)
    return _first(at, scores[at], depth)


def _likely(words: Sequence[_Word], lengths: Array, typical: int, depth: int) -> tuple[Array, Array]:
    """Places and scores of the best rows, which words that cannot lift a row among them were only looked up for.

    Rarest word first, the rows that hold it and none before it are scored in full.  Words that all together cannot lift a
    row to the last of the best so far are only looked up for rows of rarer ones, and only for such as they can lift there
    (MaxScore: Turtle and Flood, 1995): common words cost little.
    """
    shortest = int(lengths.min())
    seen = np.zeros(lengths.size, dtype=bool)
    best, scores, floor = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float32), np.float32(0)
    for n, word in enumerate(words):
        longest = _longest(words[n:], typical, float(floor)) if floor else math.inf
        if longest < shortest:
            break
        wanted = None if longest >= 65535 else lengths[word.at] <= longest
        if n:
            wanted = ~seen[word.at] if wanted is None else wanted & ~seen[word.at]
        rows = np.arange(word.at.size) if wanted is None else np.flatnonzero(wanted)
        for begin in range(0, rows.size, _CHUNK):  # the first of them raise the floor for those that follow
            at, score = _scored(words[n:], rows[begin : begin + _CHUNK], lengths, typical, floor)
            if at.size:
                best, scores = _first(np.concatenate((best, at)), np.concatenate((scores, score)), depth)
                floor = scores.min() if best.size == depth else floor
        if n + 1 < len(words):
            seen[word.at] = True
    return best, scores


def _places(view: View, spans: Sequence[Span], term: str) -> tuple[Array, Array | None]:
    """Where the rows inside that hold a term stand among those of all spans, and how often it occurs."""
    lists = view.lists(term, [span.number for span in spans])
    parts: list[tuple[Span, Array, Array | None]] = []
    for span in spans:
        if span.number not in lists:
            continue
        at, times = lists[span.number]
        if span.high - span.low < span.piece.head.rows:
            first, last = np.searchsorted(at, np.asarray((span.low, span.high - 1), dtype=at.dtype))
            last += last < at.size and at[last] == span.high - 1
            at, times = at[first:last], None if times is None else times[first:last]
        if span.mask is not None:
            inside = span.mask[at - np.uint16(span.low)]
            at, times = at[inside], None if times is None else times[inside]
        if at.size:
            parts.append((span, at, times))
    count = sum(at.size for _, at, _ in parts)
    places = np.empty(count, dtype=np.int32)
    often = None if all(times is None for _, _, times in parts) else np.ones(count, dtype=np.uint8)
    begin = 0
    for span, at, times in parts:
        end = begin + at.size
        np.add(at, span.at - span.low, out=places[begin:end], dtype=np.int32)
        if times is not None and often is not None:
            often[begin:end] = times
        begin = end
    return places, often


def _lengths(span: Span) -> Array:
    found = span.column("length")
    assert found is not None
    return found


def _longest(words: Sequence[_Word], typical: int, floor: float) -> float:
    """How long a text may be that some words alone lift to the floor, if it holds each as often as any does."""
    n, weight = max(w.most for w in words), sum(w.weight for w in words)
    return typical * ((n * (K1 + 1) * weight * float(_SLACK) / floor - n) / K1 - (1 - B)) / B


def _scored(words: Sequence[_Word], rows: Array, lengths: Array, typical: int, floor: Any) -> tuple[Array, Array]:
    """Places and scores of those of some rows of the first word that score no less than `floor`."""
    word = words[0]
    at = word.at[rows]
    size = lengths[at]
    score = np.float32(word.weight) * _gains(size, None if word.times is None else word.times[rows], typical)
    for n, other in enumerate(words[1:], 1):
        if floor:
            most, weight = max(w.most for w in words[n:]), np.float32(sum(w.weight for w in words[n:]))
            gain = _once(typical)[size] if most == 1 else _gain(np.float32(most), size.astype(np.float32), typical)
            good = (score + weight * gain) * _SLACK >= floor
            at, score, size = at[good], score[good], size[good]
        if not at.size:
            return at, score
        hit, times = _looked_up(other, at)
        score[hit] += np.float32(other.weight) * _gains(size[hit], times, typical)
    good = score >= floor
    return at[good], score[good]


def _looked_up(word: _Word, at: Array) -> tuple[Array, Array | None]:
    """Which of some rows, one or more by their ascending places, hold a word, and how often."""
    low, high = np.searchsorted(word.at, np.asarray((at[0], at[-1] + 1), dtype=word.at.dtype))
    held, often = word.at[low:high], None if word.times is None else word.times[low:high]
    if not held.size:
        return np.empty(0, dtype=np.int64), None
    if at.size * _FEW < held.size:
        place = np.minimum(np.searchsorted(held, at), held.size - 1)
        hit = np.flatnonzero(held[place] == at)
        return hit, None if often is None else often[place[hit]]
    spread = np.zeros(int(at[-1] - at[0]) + 1, dtype=np.uint8)
    spread[held - at[0]] = 1 if often is None else often
    times = spread[at - at[0]]
    hit = np.flatnonzero(times)
    return hit, None if often is None else times[hit]


def _first(at: Array, scores: Array, depth: int) -> tuple[Array, Array]:
    """The `depth` greatest of some scores, greatest first, of equal ones those that stand first."""
    if scores.size > depth:
        edge = np.partition(scores, scores.size - depth)[scores.size - depth]
        above, level = np.flatnonzero(scores > edge), np.flatnonzero(scores == edge)
        most = depth - above.size
        if level.size > most:
            level = level[np.argpartition(at[level], most - 1)[:most]]
        best = np.concatenate((above, level))
        at, scores = at[best], scores[best]
    order = np.lexsort((at, -scores))
    return at[order], scores[order]


def _gains(size: Array, times: Array | None, typical: int) -> Array:
    """What a word of weight 1 adds to texts of such lengths that hold it so often."""
    gain: Array = _once(typical)[size]
    if times is not None:
        more = np.flatnonzero(times > 1)
        gain[more] = _gain(times[more].astype(np.float32), size[more].astype(np.float32), typical)
    return gain


def _gain(n: Any, length: Any, typical: int) -> Any:
    """BM25 of a word of weight 1 by how often it occurs and the length of the text in characters."""
    return n * (K1 + 1) / (n + K1 * ((1 - B) + B * length / typical))


@lru_cache(maxsize=16)
def _once(typical: int) -> npt.NDArray[np.float32]:
    """What a word that occurs once adds, by the length of the text: shape (65536,)."""
    made: npt.NDArray[np.float32] = _gain(1, np.arange(65536, dtype=np.float64), typical).astype(np.float32)
    return made
