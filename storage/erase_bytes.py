"""Erasure of bytes: after the rows are gone, so is what they were in: free pages, vector chunks, the WAL, frame files.

The connection deletes securely (PRAGMA secure_delete), so a freed cell is zeroed; what that leaves is stale copies that
a rebalanced page kept, vectors that their table only marked as deleted, and the WAL.  `scrub` removes these: each vector
table is written anew, VACUUM writes every page anew, and the WAL is folded in and cut to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from storage.connect import Connection
from storage.erase_read import read, read_database
from storage.erase_rules import EXEMPT, FOLLOWS
from storage.erase_search import Found, Needles
from storage.migrations import VECTOR_TABLES

SIDES = ("", "-wal", "-shm", "-journal")


@dataclass(slots=True)
class Scrubbed:
    """What was done to the file; `waiting` says why it is not finished."""

    vacuumed: bool = False
    wal_bytes: int = 0
    waiting: str = ""


@dataclass(slots=True)
class Proof:
    """What was looked for and where; `found` is empty when nothing of it is left."""

    texts: int = 0
    vectors: int = 0
    pieces: int = 0
    files: int = 0
    megabytes: float = 0.0
    left_out: int = 0
    found: list[Found] = field(default_factory=list)


def scrub(db: Connection, path: Path | None, *, whole: bool) -> Scrubbed:
    """Remove what is left of deleted rows.  Not inside a transaction.

    `whole` writes vector tables and file anew, which takes time and, for a while, as much disk again as the file is large;
    without it only the WAL goes, and what is freed is zeros.
    """
    done = Scrubbed()
    if whole:
        dims = _dimension(db)
        for vec in _present(db, (vec for vec, _ in VECTOR_TABLES)):
            _renew(db, vec, dims)
        if path is not None:
            db.execute("PRAGMA temp_store = FILE")  # as large as the database: that is no thing to hold in memory
        try:
            db.execute("VACUUM")
        finally:
            db.execute("PRAGMA temp_store = MEMORY")
        done.vacuumed = True
    if path is not None:
        busy, _, _ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        wal = path.with_name(path.name + "-wal")
        done.wal_bytes = wal.stat().st_size if wal.exists() else 0
        if busy or done.wal_bytes:
            done.waiting = "another process reads an older state of the memory"
    return done


def survivors(db: Connection, *, vectors: bool = True) -> Iterator[str | bytes]:
    """Every text and vector that the memory still holds, the schema's own words among them."""
    for row in db.execute("SELECT name, sql FROM sqlite_master"):
        yield from (str(text) for text in row if text)
    for table in _present(db, EXEMPT):
        columns = [r[1] for r in db.execute(f"PRAGMA table_info({table})") if r[2] == "TEXT"]
        if columns:
            for row in db.execute(f"SELECT {', '.join(columns)} FROM {table}"):
                yield from (str(text) for text in row if text)
    for rule in FOLLOWS:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (rule.table,)).fetchone():
            continue
        if rule.texts:
            for row in db.execute(f"SELECT {', '.join(rule.texts)} FROM {rule.table}"):
                yield from (str(text) for text in row if text)
    if not vectors:
        return
    for vec in _present(db, (vec for vec, _ in VECTOR_TABLES)):
        for (data,) in db.execute(f"SELECT embedding FROM {vec}"):
            yield bytes(data)
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'keyframe_look'").fetchone():
        for (data,) in db.execute("SELECT embedding FROM keyframe_look"):
            yield bytes(data)


def files_of(path: Path) -> list[Path]:
    """The files that a database consists of."""
    return [path.with_name(path.name + side) for side in SIDES]


def prove(
    db: Connection, needles: Needles, path: Path | None, others: Iterable[Path] = (), key: bytes | None = None
) -> Proof:
    """Look for all needles in the files of a database and in others; `key` is that of the pages of an encrypted one.

    What stands in rows that stay says nothing, and is asked about last.
    """
    proof = Proof(needles.texts, needles.vectors, len(needles), left_out=needles.left_out)
    places: dict[bytes, list[Found]] = {}
    own = [] if path is None else [p for p in files_of(path) if p.exists()]
    for file, blocks in [*((p, read_database(p, key)) for p in own), *((p, read(p)) for p in others)]:
        for piece, offset in needles.search(blocks).items():
            places.setdefault(piece, []).append(Found(str(file), offset))
        proof.files += 1
        proof.megabytes += file.stat().st_size / 1e6 if file.exists() else 0.0
    if places:
        rest = needles.only(places)
        rest.drop(survivors(db, vectors=needles.holds_vector(places)))
        first: dict[str, Found] = {}
        for piece in rest.pieces():
            for found in places[piece]:
                first.setdefault(found.path, found)
        proof.found = list(first.values())
    proof.megabytes = round(proof.megabytes, 2)
    return proof


def _renew(db: Connection, vec: str, dim: int) -> None:
    """Write a vector table anew under its own name (it cannot be renamed); all or nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        db.execute("CREATE TABLE renewed(id INTEGER PRIMARY KEY, embedding BLOB NOT NULL)")
        db.execute(f"INSERT INTO renewed SELECT rowid, embedding FROM {vec}")
        db.execute(f"DROP TABLE {vec}")
        db.execute(f"CREATE VIRTUAL TABLE {vec} USING vec0(embedding float[{dim}])")
        db.execute(f"INSERT INTO {vec}(rowid, embedding) SELECT id, embedding FROM renewed ORDER BY id")
        db.execute("DROP TABLE renewed")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _dimension(db: Connection) -> int:
    return int(db.execute("SELECT value FROM meta WHERE key = 'embedding_dim'").fetchone()[0])


def _present(db: Connection, names: Iterable[str]) -> list[str]:
    tables = {r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return [n for n in names if n in tables]
