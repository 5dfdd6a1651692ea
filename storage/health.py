"""Health events: what broke, fell back or came back, and when.  All their SQL is here."""

from __future__ import annotations

from dataclasses import dataclass

from storage.connect import Connection
from storage.records import Us


@dataclass(frozen=True, slots=True)
class HealthEvent:
    """A change of state of one part of the system."""

    t: Us
    part: str
    state: str
    detail: str
    id: int = 0


class HealthReader:
    """Reads of health events up to `until`."""

    def __init__(self, db: Connection, until: Us) -> None:
        self._db, self._until = db, until

    def recent(self, count: int) -> list[HealthEvent]:
        """The newest events, oldest first."""
        rows = self._db.execute(
            "SELECT t, part, state, detail, id FROM health_event WHERE t <= ? ORDER BY id DESC LIMIT ?",
            (self._until, count),
        ).fetchall()
        return [HealthEvent(*row) for row in rows[::-1]]


class HealthWriter:
    """Writes of health events, inside one transaction of the store."""

    def __init__(self, db: Connection) -> None:
        self._db = db

    def add(self, event: HealthEvent) -> int:
        """Store an event; returns its id."""
        row = self._db.execute(
            "INSERT INTO health_event(t, part, state, detail) VALUES (?, ?, ?, ?)",
            (event.t, event.part, event.state, event.detail),
        ).lastrowid
        return int(row)
