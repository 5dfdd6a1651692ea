"""Hybrid search over one stratum: BM25 (storage.bm25) and dense (sqlite-vec), fused by reciprocal rank (GROVE, table 10)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from storage import bm25
from storage.bm25 import Corpus
from storage.connect import Connection
from storage.records import Hit, Us
from storage.vectors import Vector, pack

Stratum: TypeAlias = Literal["item", "window", "moment", "episode", "pattern"]

RRF_K = 60
DEPTH = 5  # each ranking is read to DEPTH * k before fusion


@dataclass(frozen=True, slots=True)
class Plan:
    """How a stratum is searched: its texts and, where it has them, its vectors."""

    corpus: Corpus
    vec: str | None


def _plan(
    fts: str, vec: str | None, owner: str, text: str, typical: int, *, size: str, known: str, time: str, end: str = "",
    joins: str = "", newest: str = "",
) -> Plan:  # fmt: skip
    visible = f"{known} <= ?{newest}"
    return Plan(Corpus(fts, owner, joins, visible, f"{end or time} >= ? AND {time} < ?", size, text, typical), vec)


# `size` steps to the newest visible row, whose id is about how many there are.
PLANS: dict[Stratum, Plan] = {
    "item": _plan(
        "item_fts", None, "item", "o.text", 30, known="w.t_end", time="o.t", joins="CROSS JOIN window w ON w.id = o.window_id",
        size="SELECT i.id FROM window w JOIN item i ON i.window_id = w.id WHERE w.t_end <= ? "
        "ORDER BY w.t_end DESC, i.id DESC LIMIT 1",
    ),
    "window": _plan(
        "window_fts", "window_vec", "window", "o.description || o.scene", 80, known="o.t_end", time="o.t_start", end="o.t_end",
        size="SELECT id FROM window WHERE t_end <= ? ORDER BY t_end DESC, id DESC LIMIT 1",
    ),
    "moment": _plan(
        "moment_fts", "moment_vec", "moment", "o.text || o.keywords", 80, known="o.known", time="o.t",
        size="SELECT m.id FROM episode e JOIN moment m ON m.episode_id = e.id WHERE e.known <= ? "
        "ORDER BY e.known DESC, m.id DESC LIMIT 1",
    ),
    "episode": _plan(
        "episode_fts", "episode_vec", "episode", "o.subject || o.summary || o.keywords || o.description", 600,
        known="o.known", time="o.t_start", end="o.t_end",
        size="SELECT id FROM episode WHERE known <= ? ORDER BY known DESC, id DESC LIMIT 1",
    ),
    "pattern": _plan(  # of a chain of versions only the newest visible one counts
        "pattern_fts", "pattern_vec", "pattern_version", "o.title || o.summary || o.keywords", 400,
        known="o.known", time="o.known",
        newest=" AND NOT EXISTS (SELECT 1 FROM pattern_version n WHERE n.pattern_id = o.pattern_id AND n.known <= ? "
        "AND n.version > o.version)",
        size="SELECT count(*) FROM pattern WHERE known <= ?",
    ),
}  # fmt: skip

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


def content_words(text: str) -> list[str]:
    """The words of a query that carry content, each once; all of them when none does."""
    words = [w.lower() for w in _WORD.findall(text)]
    content = [w for w in words if w not in STOPWORDS] or words
    return list(dict.fromkeys(content))[: bm25.MOST_TERMS]


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
    corpus = plan.corpus
    span = (-(2**62) if start is None else start, 2**62 if end is None else end)
    depth = k * DEPTH
    words = content_words(text)
    sparse = bm25.rank(db, corpus, words, until, span, depth) if words else []
    dense: list[int] = []
    query = None if vector is None else pack(vector, _dim(db))
    if query is not None and plan.vec is not None and any(query):
        known = (until,) * corpus.visible.count("?")
        dense = [
            row[0]
            for row in db.execute(
                f"SELECT rowid, distance FROM {plan.vec} WHERE embedding MATCH ? AND k = ? AND rowid IN "
                f"(SELECT o.id FROM {corpus.owner} o {corpus.joins} WHERE {corpus.visible} AND {corpus.inside}) "
                "ORDER BY distance",
                (query, min(depth, 4096), *known, *span),
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
