"""Hybrid search over one stratum: BM25 (storage.bm25) and dense vectors, fused by reciprocal rank (GROVE, table 10).

The plan adapts to how much lies in range: few rows are compared one by one; of many, sign codes pick candidates (a scan
of bits in memory) and coarse vectors read by row put those in order.  The vec0 tables stay the store of record.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from storage import bm25
from storage.connect import Connection
from storage.index import SearchIndex, View
from storage.index_codes import codes, hamming, lean, spread
from storage.index_strata import Stratum
from storage.index_text import MOST_TERMS, terms
from storage.records import Hit, Us
from storage.search_where import Where, deeper, few, keep
from storage.vectors import Vector, pack

__all__ = ["RRF_K", "Stratum", "Where", "content_words", "fuse", "nearest", "search"]

RRF_K = 60
DEPTH = 5  # each ranking is read to DEPTH * k before fusion
EXACT = 1024  # rows in range that are compared one by one
# Of more rows, so many are kept by the bits of their codes, then by how their codes lean, then put in order: at least,
# at most, and one in so many of what is in range between.  Chosen for recall@20 of at least 0.95 to three million rows.
WIDE, FINE = (2048, 16384, 24), (256, 1024, 200)
_FAR = np.uint16(65535)

Ids: TypeAlias = npt.NDArray[np.int64]

# Words that carry no content of their own; they would only make a query add up long lists.
STOPWORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "been",
        "by",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "him",
        "his",
        "how",
        "i",
        "in",
        "into",
        "is",
        "it",
        "its",
        "me",
        "my",
        "of",
        "on",
        "or",
        "our",
        "she",
        "so",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "up",
        "us",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whom",
        "why",
        "will",
        "with",
        "you",
        "your",
    ]
)
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?", re.UNICODE)


def content_words(text: str) -> list[str]:
    """The words of a query that carry content, each once; all of them when none does."""
    words = [w.lower() for w in _WORD.findall(text)]
    content = [w for w in words if w not in STOPWORDS] or words
    return list(dict.fromkeys(content))[:MOST_TERMS]


def search(
    db: Connection,
    until: Us,
    stratum: Stratum,
    text: str,
    vector: Vector | None,
    *,
    k: int = 20,
    start: Us | None = None,
    end: Us | None = None,
    where: Where | None = None,
    index: SearchIndex | None = None,
) -> list[Hit]:
    """The k best rows of a stratum that overlap [start, end) and fit `where`, best first.

    `vector` has shape (dim,) or is None for BM25 alone.  `index` is what this process remembers of the database's index;
    without it everything is read anew.  Raises BadVector on a wrong vector, BadRecord on a filter that does not apply.
    """
    query = None if vector is None else np.frombuffer(pack(vector, _dim(db)), dtype="<f4")
    words = terms(" ".join(content_words(text)))
    if k < 1 or (not words and query is None):
        return []
    span = (-(2**62) if start is None else start, 2**62 if end is None else end)
    allowed = few(db, stratum, where) if where else None
    view = (index or SearchIndex()).view(db, stratum).cut(until, span, allowed)
    depth = k * DEPTH

    def sparse(most: int) -> list[int]:
        return bm25.rank(view, words, most) if words else []

    def dense(most: int) -> list[int]:
        return nearest(view, query, most) if query is not None and query.any() else []

    if where and allowed is None:
        fit = partial(keep, db, stratum, where)
        return fuse(stratum, deeper(sparse, fit, depth), deeper(dense, fit, depth), k)
    return fuse(stratum, sparse(depth), dense(depth), k)


def nearest(view: View, query: Vector, depth: int) -> list[int]:
    """Ids of the rows inside a cut view whose vectors are nearest to `query` (Euclidean), best first; ties by id."""
    near = view.ground.near
    found = view.found()
    if near is None or not found:
        return []
    if found <= max(EXACT, depth):
        picked = _inside(view)
    else:
        wide, fine = (min(most, max(least, found // share)) for least, most, share in (WIDE, FINE))
        picked = _by_lean(view, query, _by_codes(view, query, wide), max(fine, depth))
    rows: list[tuple[int, bytes]] = []
    for at in range(0, len(picked), 512):
        part = picked[at : at + 512]
        rows += view.db.execute(f"SELECT id, v FROM {near} WHERE id IN ({','.join('?' * len(part))})", part)
    if not rows:
        return []
    ids = np.asarray([row[0] for row in rows], dtype=np.int64)
    vectors, squares = spread([row[1] for row in rows])
    return [int(i) for i in ids[np.lexsort((ids, squares - 2 * (vectors @ query)))][:depth]]


def _inside(view: View) -> list[int]:
    ids: list[int] = []
    for piece, inside in zip(view.pieces, view.inside, strict=True):
        if inside is not False:
            ids += piece.ids(np.arange(piece.head.rows) if inside is None else np.flatnonzero(inside)).tolist()
    return ids


def _by_codes(view: View, query: Vector, most: int) -> Ids:
    """Ids, ascending, of the `most` rows whose codes differ least from the query's; of equal ones the oldest."""
    asked = codes(query[None, :])[:, 0]
    keys = np.empty(0, dtype=np.int64)  # distance, then id, in one number
    worst = int(_FAR)
    for piece, inside in zip(view.pieces, view.inside, strict=True):
        code = None if inside is False else piece.column("code")
        if code is None:
            continue
        far = hamming(code, asked)
        if inside is not None:
            far[~inside] = _FAR
        blank = piece.column("blank")
        if blank is not None:
            far[blank] = _FAR
        close = np.flatnonzero(far < worst)
        keys = np.concatenate((keys, (far[close].astype(np.int64) << 44) | piece.ids(close)))
        if keys.size > 2 * most:
            keys = np.partition(keys, most - 1)[:most]
            worst = int(keys.max() >> 44)  # a later row that is as far has a greater id: it loses
    if keys.size > most:
        keys = np.partition(keys, most - 1)[:most]
    return np.sort(keys & ((1 << 44) - 1))


def _by_lean(view: View, query: Vector, ids: Ids, most: int) -> list[int]:
    """Of rows given by ascending ids the `most` whose codes lean most towards the query."""
    if ids.size <= most:
        return [int(i) for i in ids]
    leans = np.empty(ids.size, dtype=np.float32)
    for piece in view.pieces:
        low, high = np.searchsorted(ids, (piece.head.first, piece.head.last + 1))
        code = piece.column("code") if low < high else None
        if code is not None:
            leans[low:high] = lean(code[:, piece.places(ids[low:high])], query)
    return [int(i) for i in ids[np.lexsort((ids, -leans))[:most]]]


def _dim(db: Connection) -> int:
    return int(db.execute("SELECT value FROM meta WHERE key = 'embedding_dim'").fetchone()[0])


def fuse(kind: str, sparse: list[int], dense: list[int], k: int) -> list[Hit]:
    """Reciprocal rank fusion with constant 60: score = sum over rankings of 1 / (60 + rank)."""
    rank_s = {row: i for i, row in enumerate(sparse, 1)}
    rank_d = {row: i for i, row in enumerate(dense, 1)}
    scores = {row: 1.0 / (RRF_K + i) for row, i in rank_s.items()}
    for row, i in rank_d.items():
        scores[row] = scores.get(row, 0.0) + 1.0 / (RRF_K + i)
    best = sorted(scores, key=lambda row: (-scores[row], row))[:k]
    return [Hit(kind, row, scores[row], rank_s.get(row, 0), rank_d.get(row, 0)) for row in best]
