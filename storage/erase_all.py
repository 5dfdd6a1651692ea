"""Forgetting everything: tables are dropped and made anew, for deleting millions of rows one by one takes an hour.

Nothing is zeroed on the way: what the rows stood on becomes free pages, which VACUUM leaves behind and the file is cut
by.  The proof looks for rows of every table, evenly chosen where there are too many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from storage.connect import Connection
from storage.erase_rules import EXEMPT, FOLLOWS, Follows
from storage.erase_search import Needles
from storage.migrations import VECTOR_TABLES

SAMPLE = 10_000  # rows of a table that are looked for
_INDEX = ("segment_column", "posting")

Note: TypeAlias = Callable[[Follows, str], None]


def empty(db: Connection, note: Note, needles: Needles) -> tuple[dict[str, int], list[str]]:
    """Take away every row but the owner's settings: rows by table, and the files of the keyframes.

    Inside a transaction of `Store.emptying`.  `note` is told what to look for, by rule and condition.
    """
    files = [str(row[0]) for row in db.execute("SELECT file FROM keyframe")]
    counts: dict[str, int] = {}
    gone = [rule for rule in FOLLOWS if not rule.own]
    for rule in gone:
        count = int(db.execute(f"SELECT count(*) FROM {rule.table}").fetchone()[0])
        if count:
            counts[rule.table] = count
            note(rule, _some(db, rule, count))
            if rule.texts:
                needles.left_out += max(0, count - SAMPLE)
    vectors = [vec for vec, _ in VECTOR_TABLES]
    near = [f"{owner}_near" for _, owner in VECTOR_TABLES]
    _anew(db, [*(rule.table for rule in gone), *vectors, *near, *_INDEX])
    # Numbers of segments are never used again: another process may remember what it read under one.
    db.execute("DELETE FROM segment")
    db.execute("UPDATE search_state SET epoch = epoch + 1, settled = 0")
    for table, exempt in EXEMPT.items():
        if exempt.all_goes:
            db.execute(f"DELETE FROM {table}")
    return counts, files


def _some(db: Connection, rule: Follows, count: int) -> str:
    """The condition of SAMPLE rows of a table, spread evenly over it where rows have numbers."""
    if count <= SAMPLE:
        return "1"
    if rule.key != "x.id":
        return f"1 LIMIT {SAMPLE}"
    low, high = db.execute(f"SELECT min(id), max(id) FROM {rule.table}").fetchone()
    steps = f"SELECT {low} UNION ALL SELECT i + {max(1, (high - low) // SAMPLE)} FROM n WHERE i < {high}"
    return f"x.id IN (WITH RECURSIVE n(i) AS ({steps}) SELECT i FROM n)"


def _anew(db: Connection, tables: list[str]) -> None:
    """Drop tables and make them again with their indexes and triggers, in the order they were made in."""
    marks = ",".join("?" * len(tables))
    made = db.execute(
        f"SELECT name, type, sql FROM sqlite_master WHERE tbl_name IN ({marks}) AND sql IS NOT NULL ORDER BY rowid",
        tables,
    ).fetchall()
    for name, kind, _ in made:
        if kind == "table":
            db.execute(f"DROP TABLE {name}")
    for _, _, sql in made:
        db.execute(sql)
