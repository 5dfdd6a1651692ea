"""Facts: what holds beyond one moment, with what each rests on.  All their SQL is here.

A fact's words never change; its state and support are a chain of versions.  What it rests on is listed row by row, so
that a fact whose support is forgotten goes with it.
"""

from __future__ import annotations

from collections.abc import Sequence

from storage import vectors
from storage.connect import Connection
from storage.context_records import Fact, FactKind, FactState, Support
from storage.errors import NotFound
from storage.records import Us
from storage.vectors import Vector

_FACT = (
    "SELECT f.kind, f.subject, f.relation, f.object, f.text, f.key, v.state, v.support, v.days, v.t_first, v.t_last, "
    "v.known, f.made_by, v.reason, v.version, f.id FROM fact f CROSS JOIN fact_version v ON v.fact_id = f.id "
)
# The newest version known at t, looked for from the end of the chain: a habit has one for every day it was seen.
_NEWEST = (
    "v.version = (SELECT n.version FROM fact_version n WHERE n.fact_id = f.id AND n.known <= ? "
    "ORDER BY n.version DESC LIMIT 1)"
)
_SUPPORT = "SELECT ref, t, offset_s, quote, known, window_id, episode_id, correction_id FROM fact_support "
_DAY_US = 86_400_000_000


class FactReader:
    """Reads of facts as known at `until`."""

    def __init__(self, db: Connection, until: Us) -> None:
        self._db, self._until = db, until

    def get(self, fact_id: int) -> Fact:
        """One fact, whatever its state.  Raises NotFound."""
        found = self._rows(f"WHERE f.id = ? AND {_NEWEST}", (fact_id, self._until))
        if not found:
            raise NotFound(f"There is no fact f{fact_id} at that time.")
        return found[0]

    def all(self, kind: FactKind | None = None, state: FactState | None = "active") -> list[Fact]:
        """Facts (of one kind) in one state, or in any when it is None, in the order they came."""
        found = self._rows(f"WHERE {_NEWEST} ORDER BY f.id", (self._until,))
        return [f for f in found if kind in (None, f.kind) and state in (None, f.state)]

    def about(self, subject: str, state: FactState | None = "active") -> list[Fact]:
        """Facts about one subject, by its canonical name."""
        found = self._rows(f"WHERE f.subject = ? AND {_NEWEST} ORDER BY f.id", (subject, self._until))
        return [f for f in found if state in (None, f.state)]

    def many(self, ids: Sequence[int]) -> dict[int, Fact]:
        """Facts by id, those that are known."""
        found: dict[int, Fact] = {}
        for start in range(0, len(ids), 500):
            part = ids[start : start + 500]
            marks = ",".join("?" * len(part))
            for fact in self._rows(f"WHERE f.id IN ({marks}) AND {_NEWEST}", (*part, self._until)):
                found[fact.id] = fact
        return found

    def with_key(self, key: str) -> Fact | None:
        """The fact of that key, if it is known."""
        found = self._rows(f"WHERE f.key = ? AND {_NEWEST} ORDER BY f.id LIMIT 1", (key, self._until))
        return found[0] if found else None

    def family(self, kind: FactKind, subject: str, relation: str) -> list[Fact]:
        """The newest 200 facts of one kind, subject and relation: those a new one may be the same as."""
        return self._rows(
            f"WHERE f.kind = ? AND f.subject = ? AND f.relation = ? AND {_NEWEST} ORDER BY f.id DESC LIMIT 200",
            (kind, subject, relation, self._until),
        )

    def support(self, fact_id: int) -> list[Support]:
        """What a fact rests on, oldest first."""
        rows = self._db.execute(f"{_SUPPORT}WHERE fact_id = ? AND known <= ? ORDER BY t, ref", (fact_id, self._until))
        return [Support(*row) for row in rows]

    def rests(self, fact_id: int, refs: Sequence[str]) -> set[str]:
        """Those of some rows, by name, that a fact rests on."""
        found: set[str] = set()
        for start in range(0, len(refs), 500):
            part = refs[start : start + 500]
            sql = f"SELECT ref FROM fact_support WHERE fact_id = ? AND known <= ? AND ref IN ({','.join('?' * len(part))})"
            found.update(row[0] for row in self._db.execute(sql, (fact_id, self._until, *part)))
        return found

    def versions(self, fact_id: int) -> list[Fact]:
        """The chain of a fact up to this time, oldest first."""
        return self._rows("WHERE f.id = ? AND v.known <= ? ORDER BY v.version", (fact_id, self._until))

    def vectors(self, ids: list[int]) -> dict[int, Vector]:
        """Embeddings of facts, shape (dim,) each."""
        return vectors.get(self._db, "fact_vec", ids, "fact.known", self._until)

    def _rows(self, where: str, values: tuple[object, ...]) -> list[Fact]:
        return [Fact(*row) for row in self._db.execute(_FACT + where, values)]


class FactWriter:
    """Writes of facts, inside one transaction of the store."""

    def __init__(self, db: Connection, dim: int) -> None:
        self._db, self._dim = db, dim

    def add(self, fact: Fact, vector: Vector, support: Sequence[Support]) -> int:
        """Store a new fact with what it rests on; its counts are taken from there.  Returns its id."""
        row = self._db.execute(
            "INSERT INTO fact(kind, subject, relation, object, text, key, made_by, known) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (fact.kind, fact.subject, fact.relation, fact.object, fact.text, fact.key, fact.made_by, fact.known),
        ).lastrowid
        vectors.put(self._db, "fact_vec", int(row), vector, self._dim)
        self.support(int(row), support, fact.known, fact.state, fact.reason)
        return int(row)

    def support(self, fact_id: int, support: Sequence[Support], known: Us, state: FactState, reason: str = "") -> None:
        """Add what a fact rests on (a row that it rests on already counts once) and append the version that follows."""
        self._db.executemany(
            "INSERT OR IGNORE INTO fact_support(fact_id, ref, window_id, episode_id, correction_id, t, offset_s, quote, "
            "known) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (fact_id, s.ref, s.window_id, s.episode_id, s.correction_id, s.t, s.offset_s, s.quote, s.known)
                for s in support
            ],
        )
        self.move(fact_id, state, known, reason)

    def move(self, fact_id: int, state: FactState, known: Us, reason: str = "") -> None:
        """Append a version with the support there is at `known`."""
        count, days, first, last = self._db.execute(
            "SELECT count(*), count(DISTINCT (t + offset_s * 1000000) / ?), min(t), max(t) FROM fact_support s "
            "WHERE fact_id = ? AND known <= ? AND NOT EXISTS (SELECT 1 FROM correction_version v WHERE "
            "v.correction_id = s.correction_id AND v.state = 'undone' AND v.known <= ?)",
            (_DAY_US, fact_id, known, known),
        ).fetchone()
        self._db.execute(
            "INSERT INTO fact_version(fact_id, version, state, support, days, t_first, t_last, reason, known) VALUES "
            "(?, 1 + (SELECT count(*) FROM fact_version WHERE fact_id = ?), ?, ?, ?, ?, ?, ?, ?)",
            (fact_id, fact_id, state, count, days, first or known, last or known, reason, known),
        )

    def let_go(self, correction_id: int, known: Us) -> None:
        """A correction was undone: facts that rested on it count without it, and are retired when nothing is left."""
        rows = self._db.execute("SELECT fact_id FROM fact_support WHERE correction_id = ?", (correction_id,)).fetchall()
        for (fact_id,) in rows:
            (others,) = self._db.execute(
                "SELECT count(*) FROM fact_support s WHERE fact_id = ? AND NOT EXISTS (SELECT 1 FROM correction_version v "
                "WHERE v.correction_id = s.correction_id AND v.state = 'undone')",
                (fact_id,),
            ).fetchone()
            self.move(fact_id, "active" if others else "retired", known, "" if others else "the correction was undone")
