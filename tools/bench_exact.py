"""What an exact search would have found: brute force over all vectors, and BM25 written down from its formula.

Equal texts have equal vectors and scores, so "the" twenty best are rarely one set.  A row counts as found when no more
than nineteen are strictly better than it; for fused lists, when its score with its best possible ranks reaches that of
the twentieth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from storage.bm25 import K1, B
from storage.index_strata import GROUNDS
from storage.index_text import counted, terms
from storage.search import DEPTH, RRF_K, content_words
from tools.bench_engines import Corpus

_BLOCK = 65_536
_SLACK = 1e-5


@dataclass(frozen=True, slots=True)
class Question:
    """One query: what kind, its words, its vector, and rows first <= n < last it is asked over."""

    kind: str
    text: str
    vector: Any
    first: int
    last: int


class Exact:
    """Exact rankings of questions over a corpus; `recall` judges what an engine found."""

    def __init__(self, corpus: Corpus, questions: Sequence[Question], k: int) -> None:
        self._k, self._depth = k, k * DEPTH
        self._vectors = corpus.vectors()
        self._asked = [terms(" ".join(content_words(q.text))) for q in questions]
        self._lengths, self._held = _postings(corpus, {t for asked in self._asked for t in asked})
        self._rows = corpus.rows
        self._dense = self._all_dense(questions)
        self._sparse = [self._bm25(q, asked) for q, asked in zip(questions, self._asked, strict=True)]
        self._questions = questions

    def recall(self, n: int, dense: Sequence[int], fused: Sequence[int]) -> tuple[float, float]:
        """Recall at k of the two lists of one question; 1 when there was nothing to find."""
        q = self._questions[n]
        best, (rows, scores) = self._dense[n], self._sparse[n]
        count = min(self._k, best.size)
        if not count:
            return 1.0, 1.0
        found = np.asarray(self._far(q, dense[: self._k]))
        of_dense = float((found <= best[count - 1] + _SLACK).sum()) / count
        place = {int(r): i for i, r in enumerate(rows)}

        def ideal(row: int, far: float) -> float:
            rank_d = 1 + int(np.searchsorted(best, far - _SLACK))
            score = float(scores[place[row]]) if row in place else 0.0
            rank_s = (
                1 + int(np.searchsorted(-scores, -(score * (1 + _SLACK)), side="left")) if score else self._depth + 1
            )
            return sum(1 / (RRF_K + r) for r in (rank_d, rank_s) if r <= self._depth)

        strict = sorted(self._fused(n), reverse=True)[: self._k]
        ours = [ideal(row, far) for row, far in zip(fused[: self._k], self._far(q, fused[: self._k]), strict=True)]
        return of_dense, sum(o >= strict[-1] - 1e-9 for o in ours) / len(strict)

    def _far(self, q: Question, rows: Sequence[int]) -> list[float]:
        if not len(rows):
            return []
        gap = np.asarray(self._vectors[np.asarray(rows)], dtype=np.float32) - q.vector
        return [float(x) for x in (gap * gap).sum(axis=1)]

    def _fused(self, n: int) -> list[float]:
        """Scores of the exact fused list with ties in the order of rows."""
        rows = self._nearest[n][: self._depth]
        ranks: dict[int, float] = {int(r): 1 / (RRF_K + i) for i, r in enumerate(rows, 1)}
        for i, row in enumerate(self._sparse[n][0][: self._depth], 1):
            ranks[int(row)] = ranks.get(int(row), 0.0) + 1 / (RRF_K + i)
        return list(ranks.values())

    def _all_dense(self, questions: Sequence[Question]) -> list[Any]:
        """For each question the squared distances of its `depth` nearest rows, ascending; the rows in _nearest."""
        kept: list[tuple[Any, Any]] = [(np.empty(0, np.float32), np.empty(0, np.int64)) for _ in questions]
        asked = np.asarray([q.vector for q in questions], dtype=np.float32)
        for start in range(0, self._rows, _BLOCK):
            block = np.asarray(self._vectors[start : start + _BLOCK])
            far = (block * block).sum(axis=1)[:, None] - 2 * (block @ asked.T) + (asked * asked).sum(axis=1)
            for n, q in enumerate(questions):
                low, high = max(q.first - start, 0), min(q.last - start, len(block))
                if low >= high:
                    continue
                mine = far[low:high, n]
                best = (
                    np.argpartition(mine, self._depth)[: self._depth]
                    if mine.size > self._depth
                    else np.arange(mine.size)
                )
                d = np.concatenate((kept[n][0], mine[best]))
                rows = np.concatenate((kept[n][1], best + start + low))
                order = np.lexsort((rows, d))[: self._depth]
                kept[n] = d[order], rows[order]
        self._nearest = [rows for _, rows in kept]
        return [np.maximum(d, 0) for d, _ in kept]

    def _bm25(self, q: Question, asked: Sequence[str]) -> tuple[Any, Any]:
        """Rows inside the range that hold a term, best first, and their scores; all those that tie with the last too."""
        total = np.zeros(q.last - q.first)
        typical = GROUNDS["moment"].typical
        for term in asked:
            rows, counts = self._held[term]
            if not rows.size:
                continue
            idf = math.log(1 + (self._rows - rows.size + 0.5) / (rows.size + 0.5))
            a, b = np.searchsorted(rows, (q.first, q.last))
            n = counts[a:b].astype(np.float64)
            norm = K1 * ((1 - B) + B * self._lengths[rows[a:b]] / typical)
            total[rows[a:b] - q.first] += idf * n * (K1 + 1) / (n + norm)
        at = np.flatnonzero(total)
        order = at[np.lexsort((at, -np.round(total[at], 6)))]
        scores = total[order]
        if order.size > self._depth:
            keep = int(np.searchsorted(-scores, -scores[self._depth - 1] * (1 - _SLACK), side="right"))
            order, scores = order[:keep], scores[:keep]
        return order + q.first, scores


def _postings(corpus: Corpus, wanted: set[str]) -> tuple[Any, dict[str, tuple[Any, Any]]]:
    """Lengths of all texts, and where each wanted term occurs and how often."""
    lengths = np.zeros(corpus.rows)
    held: dict[str, list[tuple[int, int]]] = {t: [] for t in wanted}
    for row, text in enumerate(corpus.texts()):
        lengths[row] = len(text)
        bag = counted(text)
        for term in bag.keys() & wanted:
            held[term].append((row, bag[term]))
    made = {}
    for term, pairs in held.items():
        both = np.asarray(pairs, dtype=np.int32).reshape(-1, 2)
        made[term] = both[:, 0], both[:, 1]
    return lengths, made
