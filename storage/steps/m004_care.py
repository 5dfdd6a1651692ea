"""What caring for a memory needs: pins, the marks that retention leaves, erasures under way and done, recorded files.

An erasure is a row from the moment it is asked for: `request` says what (and is emptied in the transaction that takes
the rows away), `todo` what is left to do to files, `removed` how many rows of each table went, `sought` (until it is proved)
what must not be found any more.  A pruned window keeps
its row, so that what was made from it still stands on something; `pruned` says that its content is gone, and why.
"""

from __future__ import annotations

from storage.connect import Connection

_TABLES = """
CREATE TABLE erasure(
    id INTEGER PRIMARY KEY, t INTEGER NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL, request TEXT NOT NULL,
    todo TEXT NOT NULL, removed TEXT NOT NULL, sought BLOB);
CREATE TABLE pin(ref TEXT PRIMARY KEY, t INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE pruned(window_id INTEGER PRIMARY KEY REFERENCES window(id), t INTEGER NOT NULL, why TEXT NOT NULL);
CREATE TABLE keyframe_tier(keyframe_id INTEGER PRIMARY KEY REFERENCES keyframe(id), tier TEXT NOT NULL);
CREATE TABLE recorded_file(path TEXT PRIMARY KEY, t INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX keyframe_time ON keyframe(t);
CREATE INDEX gap_window ON gap(window_id);
CREATE INDEX intention_window ON intention(window_id);
CREATE INDEX episode_first ON episode(first_window);
CREATE INDEX view_first ON view(first_window);
CREATE INDEX view_last ON view(last_window);
CREATE INDEX alias_window ON alias(window_id);
CREATE INDEX correction_window ON correction(window_id)
"""


def m004_care(db: Connection, _dim: int) -> None:
    """The tables, and the indexes by which what rests on a window is found."""
    for statement in _TABLES.split(";\n"):
        if statement.strip():
            db.execute(statement)
