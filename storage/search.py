"""Hybrid search over one stratum: BM25 (storage.bm25) and dense vectors, fused by reciprocal rank (GROVE, table 10)."""

from __future__ import annotations

import re
from functools import partial

import numpy as np

from storage import bm25
from storage.connect import Connection
from storage.dense import nearest
from storage.index import SearchIndex
from storage.index_strata import Stratum
from storage.index_text import MOST_TERMS, terms
from storage.records import Hit, Us
from storage.search_where import Where, deeper, few, keep
from storage.vectors import Vector, pack

__all__ = ["RRF_K", "Stratum", "Where", "content_words", "fuse", "search"]

RRF_K = 60
DEPTH = 5  # each ranking is read to DEPTH * k before fusion

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
    index = index or SearchIndex()
    query = None if vector is None else np.frombuffer(pack(vector, index.dim(db)), dtype="<f4")
    words = terms(" ".join(content_words(text)))
    if k < 1 or (not words and query is None):
        return []
    span = (-(2**62) if start is None else start, 2**62 if end is None else end)
    allowed = few(db, stratum, where) if where else None
    view = index.view(db, stratum).cut(until, span, allowed)
    depth = k * DEPTH

    def sparse(most: int) -> list[int]:
        return bm25.rank(view, words, most) if words else []

    def dense(most: int) -> list[int]:
        return nearest(view, query, most) if query is not None and query.any() else []

    if where and allowed is None:
        fit = partial(keep, db, stratum, where)
        return fuse(stratum, deeper(sparse, fit, depth), deeper(dense, fit, depth), k)
    return fuse(stratum, sparse(depth), dense(depth), k)


def fuse(kind: str, sparse: list[int], dense: list[int], k: int) -> list[Hit]:
    """Reciprocal rank fusion with constant 60: score = sum over rankings of 1 / (60 + rank)."""
    rank_s = {row: i for i, row in enumerate(sparse, 1)}
    rank_d = {row: i for i, row in enumerate(dense, 1)}
    scores = {row: 1.0 / (RRF_K + i) for row, i in rank_s.items()}
    for row, i in rank_d.items():
        scores[row] = scores.get(row, 0.0) + 1.0 / (RRF_K + i)
    best = sorted((-score, row) for row, score in scores.items())[:k]
    return [Hit(kind, row, -score, rank_s.get(row, 0), rank_d.get(row, 0)) for score, row in best]
