"""Procedures the owner gave: step lists, each a chain of versions.  All their SQL is here.

They are the owner's settings, not something perceived: a recording of earlier days is followed with those in force now,
so they are read without regard to a snapshot's time.
"""

from __future__ import annotations

from storage.connect import Connection
from storage.context_records import StoredProcedure
from storage.errors import NotFound
from storage.records import Us

_PROCEDURE = (
    "SELECT p.name, v.body, v.t, v.state, v.version, p.id FROM procedure p JOIN procedure_version v "
    "ON v.procedure_id = p.id WHERE v.version = (SELECT max(version) FROM procedure_version WHERE procedure_id = p.id)"
)


class ProcedureReader:
    """Reads of the procedures in force."""

    def __init__(self, db: Connection) -> None:
        self._db = db

    def all(self) -> list[StoredProcedure]:
        """Every procedure in force, in the order they came."""
        rows = self._db.execute(f"{_PROCEDURE} AND v.state = 'active' ORDER BY p.id")
        return [StoredProcedure(*row) for row in rows]

    def get(self, name: str) -> StoredProcedure:
        """One procedure in force by its name (case does not count).  Raises NotFound."""
        found = [p for p in self.all() if p.name.casefold() == name.strip().casefold()]
        if not found:
            raise NotFound(f"There is no procedure called {name!r}: see grove-edge procedures list.")
        return found[0]

    def stamp(self) -> int:
        """A number that changes whenever a procedure does."""
        return int(self._db.execute("SELECT coalesce(max(id), 0) FROM procedure_version").fetchone()[0])


class ProcedureWriter:
    """Writes of procedures, inside one transaction of the store."""

    def __init__(self, db: Connection) -> None:
        self._db = db

    def put(self, procedure: StoredProcedure) -> int:
        """Append a version of the procedure of that name; returns the procedure's id."""
        self._db.execute("INSERT OR IGNORE INTO procedure(name) VALUES (?)", (procedure.name,))
        (procedure_id,) = self._db.execute("SELECT id FROM procedure WHERE name = ?", (procedure.name,)).fetchone()
        self._db.execute(
            "INSERT INTO procedure_version(procedure_id, version, state, body, t) VALUES "
            "(?, 1 + (SELECT count(*) FROM procedure_version WHERE procedure_id = ?), ?, ?, ?)",
            (procedure_id, procedure_id, procedure.state, procedure.body, procedure.t),
        )
        return int(procedure_id)

    def remove(self, procedure: StoredProcedure, t: Us) -> None:
        """Take a procedure out of force; its versions stay."""
        self.put(StoredProcedure(procedure.name, procedure.body, t, "removed"))
