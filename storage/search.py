"""Hybrid search over one stratum: BM25 (FTS5) and dense (sqlite-vec), fused by reciprocal rank (GROVE, table 10).

FTS5's bm25() has k1 = 1.2 and b = 0.75 built in; the paper uses k1 = 1.5.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from storage.connect import Connection
from storage.records import Hit, Us
from storage.vectors import Vector, pack

Stratum: TypeAlias = Literal["item", "window", "moment", "episode", "pattern"]

RRF_K = 60
DEPTH = 5  # each ranking is read to DEPTH * k before fusion


@dataclass(frozen=True, slots=True)
class Plan:
    """Where a stratum's texts, vectors, times and visibility live; of a chain of versions only the `newest` counts."""

    fts: str
    vec: str | None
    owner: str
    time: str
    end: str
    known: str
    newest: str = "? IS NOT NULL"  # a condition with the cutoff as its one value


PLANS: dict[Stratum, Plan] = {
    "item": Plan("item_fts", None, "item o JOIN window w ON w.id = o.window_id", "o.t", "o.t", "w.t_end"),
    "window": Plan("window_fts", "window_vec", "window o", "o.t_start", "o.t_end", "o.t_end"),
    "moment": Plan("moment_fts", "moment_vec", "moment o", "o.t", "o.t", "o.known"),
    "episode": Plan("episode_fts", "episode_vec", "episode o", "o.t_start", "o.t_end", "o.known"),
    "pattern": Plan(
        "pattern_fts",
        "pattern_vec",
        "pattern_version o",
        "o.known",
        "o.known",
        "o.known",
        "NOT EXISTS (SELECT 1 FROM pattern_version n WHERE n.pattern_id = o.pattern_id AND n.known <= ? "
        "AND n.version > o.version)",
    ),
}

# Words that carry no content of their own; they would only make FTS5 walk long lists.
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


def match_expression(text: str) -> str:
    """A safe FTS5 expression: each content word quoted, joined by OR; "" when there is none.

    Quoting makes operators, columns and punctuation of the query plain words.
    """
    words = [w.lower() for w in _WORD.findall(text)]
    content = [w for w in words if w not in STOPWORDS] or words
    return " OR ".join(f'"{w}"' for w in dict.fromkeys(content[:64]))


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
) -> list[Hit]:
    """The k best rows of a stratum that overlap [start, end), best first.

    `vector` has shape (dim,) or is None for BM25 alone.  Raises BadVector on a wrong one.
    """
    plan = PLANS[stratum]
    bounds = (until, -(2**62) if start is None else start, 2**62 if end is None else end, until)
    visible = f"{plan.known} <= ? AND {plan.end} >= ? AND {plan.time} < ? AND {plan.newest}"
    depth = k * DEPTH
    sparse: list[int] = []
    expression = match_expression(text)
    if expression:
        sparse = [
            row[0]
            for row in db.execute(
                f"SELECT f.rowid FROM {plan.owner} JOIN {plan.fts} f ON f.rowid = o.id "
                f"WHERE {plan.fts} MATCH ? AND {visible} ORDER BY bm25({plan.fts}), f.rowid LIMIT ?",
                (expression, *bounds, depth),
            )
        ]
    dense: list[int] = []
    query = None if vector is None else pack(vector, _dim(db))
    if query is not None and plan.vec is not None and any(query):
        dense = [
            row[0]
            for row in db.execute(
                f"SELECT rowid, distance FROM {plan.vec} WHERE embedding MATCH ? AND k = ? "
                f"AND rowid IN (SELECT o.id FROM {plan.owner} WHERE {visible}) ORDER BY distance",
                (query, min(depth, 4096), *bounds),
            )
        ]
    return fuse(stratum, sparse, dense, k)


def _dim(db: Connection) -> int:
    return int(db.execute("SELECT value FROM meta WHERE key = 'embedding_dim'").fetchone()[0])


def fuse(kind: str, sparse: list[int], dense: list[int], k: int) -> list[Hit]:
    """Reciprocal rank fusion with constant 60: score = sum over rankings of 1 / (60 + rank)."""
    rank_s = {row: i for i, row in enumerate(sparse, 1)}
    rank_d = {row: i for i, row in enumerate(dense, 1)}
    hits = []
    for row in dict.fromkeys(sparse + dense):
        ranks = [r[row] for r in (rank_s, rank_d) if row in r]
        score = sum(1.0 / (RRF_K + r) for r in ranks)
        hits.append(Hit(kind, row, score, rank_s.get(row, 0), rank_d.get(row, 0)))
    return sorted(hits, key=lambda h: (-h.score, h.id))[:k]
