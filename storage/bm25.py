"""BM25 as it was known at a time: how rare a word is counts only over rows that are visible.

FTS5's own bm25() weighs words by all rows of the file, so what came after t would change the order of what is found at
t; and its k1 is fixed at 1.2.  Here the index gives the places of each word (fts5vocab), and the formula is GROVE's
(table 10): k1 = 1.5, b = 0.75.  The length of a text is its characters against a typical one of its stratum: a mean of
the corpus would have to be that of time t.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from functools import lru_cache

import sqlcipher3

from storage.connect import Connection
from storage.migrations import FTS_TABLES, TOKENIZER
from storage.records import Us

K1 = 1.5
B = 0.75
MOST_TERMS = 64


@dataclass(frozen=True, slots=True)
class Corpus:
    """A stratum's texts: the index, its owner `o` with further joins, and conditions over the cutoff and a time range.

    `visible` has the cutoff as its values, once for each "?"; `size` is a statement over the cutoff that gives about how
    many rows are visible; `text` is what is measured, `typical` its usual length in characters.
    """

    fts: str
    owner: str
    joins: str
    visible: str
    inside: str
    size: str
    text: str
    typical: int


def attach(db: Connection) -> None:
    """Give a connection its views on the words of each index: temporary tables, nothing of the file is written."""
    read_only = db.execute("PRAGMA query_only").fetchone()[0]
    db.execute("PRAGMA query_only = OFF")
    for fts in FTS_TABLES:
        db.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{fts}_places USING fts5vocab('main', '{fts}', 'instance')")
    db.execute(f"PRAGMA query_only = {read_only}")


def rank(db: Connection, corpus: Corpus, words: list[str], until: Us, span: tuple[Us, Us], depth: int) -> list[int]:
    """The rows of [start, end) that hold one of the words, best first; ties in the order they were stored."""
    known = (until,) * corpus.visible.count("?")
    places = f"{corpus.fts}_places p CROSS JOIN {corpus.owner} o ON o.id = p.doc {corpus.joins}"
    weights: list[tuple[str, float]] = []
    size = 0
    for term in terms(" ".join(words)):
        if not size:
            row = db.execute(corpus.size, (until,)).fetchone()
            size = 0 if row is None else int(row[0])
        (found,) = db.execute(
            f"SELECT count(DISTINCT p.doc) FROM {places} WHERE p.term = ? AND {corpus.visible}", (term, *known)
        ).fetchone()
        if found:
            weights.append((term, math.log(1 + (max(size, found) - found + 0.5) / (found + 0.5))))
    if not weights:
        return []
    length = f"{K1} * ({1 - B} + {B} * length({corpus.text}) / {corpus.typical}.0)"
    one = (
        f"SELECT p.doc AS id, ? * count(*) * {K1 + 1} / (count(*) + {length}) AS score FROM {places} "
        f"WHERE p.term = ? AND {corpus.visible} AND {corpus.inside} GROUP BY p.doc"
    )
    values = [x for term, weight in weights for x in (weight, term, *known, *span)]
    rows = db.execute(
        f"SELECT id FROM ({' UNION ALL '.join([one] * len(weights))}) GROUP BY id ORDER BY sum(score) DESC, id LIMIT ?",
        (*values, depth),
    )
    return [int(row[0]) for row in rows]


@lru_cache(maxsize=1024)
def terms(text: str) -> tuple[str, ...]:
    """The terms an index would make of a text, each once, in the order of the alphabet."""
    with _LOCK:
        _SCRATCH.execute("DELETE FROM scratch")
        _SCRATCH.execute("INSERT INTO scratch VALUES (?)", (text,))
        return tuple(row[0] for row in _SCRATCH.execute("SELECT term FROM words LIMIT ?", (MOST_TERMS,)))


def _scratch() -> Connection:
    db = sqlcipher3.connect(":memory:", check_same_thread=False, isolation_level=None)
    db.execute(f"CREATE VIRTUAL TABLE scratch USING fts5(text, tokenize='{TOKENIZER}')")
    db.execute("CREATE VIRTUAL TABLE words USING fts5vocab('scratch', 'row')")
    return db


_LOCK = threading.Lock()
_SCRATCH = _scratch()
