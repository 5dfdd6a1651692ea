"""Erasures as rows, so that one that is killed is finished at the next start.  All their SQL is here.

asked -> rows (they are gone, in the same transaction) -> done; in between `proved`, when nothing is found any more but a
large file is still to be written anew, which can wait for a quiet hour.  What was asked for stands in the row only while it is
"asked"; from then on the row says no more than when, what kind, and how many rows of each table went.  What the proof
looks for is kept in it, disguised, until the proof is made: a process that finishes another's work looks for it too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from storage.connect import Connection
from storage.records import Us

JobState: TypeAlias = Literal["asked", "rows", "proved", "done"]


@dataclass(frozen=True, slots=True)
class Job:
    """One erasure; `request` is empty once the rows are gone, `files` are keyframes whose files are still to go."""

    id: int
    t: Us
    kind: str
    state: JobState
    request: dict[str, Any] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    removed: dict[str, int] = field(default_factory=dict)


def ask(db: Connection, t: Us, kind: str, request: dict[str, Any]) -> int:
    """Note that something is to be forgotten; gives the id."""
    values = (t, kind, json.dumps(request, ensure_ascii=False))
    return int(
        db.execute(
            "INSERT INTO erasure(t, kind, state, request, todo, removed) VALUES (?, ?, 'asked', ?, '[]', '{}')", values
        ).lastrowid
    )


def rows_gone(db: Connection, job_id: int, files: list[str], removed: dict[str, int], sought: bytes) -> None:
    """The rows are gone (in this very transaction); the files of these keyframes are to go, `sought` is to be proved."""
    db.execute(
        "UPDATE erasure SET state = 'rows', request = '', todo = ?, removed = ?, sought = ? WHERE id = ?",
        (json.dumps(files), json.dumps(removed), sought, job_id),
    )


def sought(db: Connection, job_id: int) -> bytes:
    """What an erasure whose rows are gone has to be proved by (storage.erase_search.Needles.packed)."""
    return bytes(db.execute("SELECT sought FROM erasure WHERE id = ?", (job_id,)).fetchone()[0])


def done(db: Connection, job_id: int, state: JobState = "done") -> None:
    """Nothing is left to do, or ("proved") nothing but to write the file anew."""
    db.execute("UPDATE erasure SET state = ?, request = '', todo = '[]', sought = NULL WHERE id = ?", (state, job_id))
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # what was sought leaves the file now, not some day


def refuse(db: Connection, job_id: int) -> None:
    """Nothing was to be forgotten: no trace of what was asked for stays."""
    db.execute("DELETE FROM erasure WHERE id = ?", (job_id,))


def pending(db: Connection) -> list[Job]:
    """Erasures of which something may still be there, oldest first."""
    return _jobs(db, "WHERE state IN ('asked', 'rows')")


def unscrubbed(db: Connection) -> bool:
    """Whether the file may still hold what was erased, in pages that are free; false in a memory older than erasures."""
    known = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'erasure'").fetchone()
    return bool(known and db.execute("SELECT 1 FROM erasure WHERE state IN ('rows', 'proved')").fetchone())


def proved(db: Connection) -> list[Job]:
    """Erasures after which the file is still to be written anew, oldest first."""
    return _jobs(db, "WHERE state = 'proved'")


def history(db: Connection, count: int) -> list[Job]:
    """The newest erasures, oldest first."""
    return _jobs(db, "", count)


def _jobs(db: Connection, where: str, count: int = -1) -> list[Job]:
    rows = db.execute(
        f"SELECT id, t, kind, state, request, todo, removed FROM erasure {where} ORDER BY id DESC LIMIT ?", (count,)
    ).fetchall()
    return [
        Job(r[0], r[1], r[2], r[3], json.loads(r[4]) if r[4] else {}, tuple(json.loads(r[5])), json.loads(r[6]))
        for r in rows[::-1]
    ]
