"""Standing questions: what the wearer wants to be told or reminded of once something happens, and what came of it."""

from __future__ import annotations

from storage.connect import Connection

_TABLES = """
CREATE TABLE standing(
    id INTEGER PRIMARY KEY, text TEXT NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('tell', 'remind')), what TEXT NOT NULL,
    trigger TEXT NOT NULL, repeats INTEGER NOT NULL, gap_us INTEGER NOT NULL, due INTEGER, offset_s INTEGER NOT NULL,
    known INTEGER NOT NULL);
CREATE INDEX standing_known ON standing(known);
CREATE TABLE standing_event(
    id INTEGER PRIMARY KEY, standing_id INTEGER NOT NULL REFERENCES standing(id),
    kind TEXT NOT NULL CHECK (kind IN ('fired', 'done', 'cancelled')), t INTEGER NOT NULL, evidence TEXT NOT NULL,
    known INTEGER NOT NULL);
CREATE INDEX standing_event_of ON standing_event(standing_id, known)
"""


def m005_asking(db: Connection, _dim: int) -> None:
    """A standing question never changes; what became of it is a row of its own, so that every snapshot shows its time."""
    for statement in _TABLES.split(";\n"):
        if statement.strip():
            db.execute(statement)
