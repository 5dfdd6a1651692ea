"""The wearer's patience: what was wished, how alerts were taken, and how the device fared on its battery."""

from __future__ import annotations

from storage.connect import Connection

_TABLES = """
CREATE TABLE wish(
    id INTEGER PRIMARY KEY, t INTEGER NOT NULL, kind TEXT NOT NULL, target TEXT NOT NULL, value TEXT NOT NULL,
    until INTEGER);
CREATE INDEX wish_target ON wish(kind, target);
CREATE TABLE feedback(
    id INTEGER PRIMARY KEY, t INTEGER NOT NULL, service_id INTEGER NOT NULL REFERENCES service(id),
    kind TEXT NOT NULL CHECK (kind IN ('dismissed', 'thanked')), how TEXT NOT NULL);
CREATE INDEX feedback_service ON feedback(service_id);
CREATE INDEX feedback_time ON feedback(t);
CREATE TABLE power_event(
    id INTEGER PRIMARY KEY, t INTEGER NOT NULL, mode TEXT NOT NULL, battery REAL, charging INTEGER,
    temperature_c REAL, watts REAL, hours_left REAL, warned TEXT NOT NULL);
CREATE INDEX power_event_time ON power_event(t);
"""


def m006_patience(db: Connection, _dim: int) -> None:
    """Wishes (a chain by kind and target, the newest counts), feedback on alerts, and the power log."""
    for statement in _TABLES.split(";\n"):
        if statement.strip():
            db.execute(statement)
