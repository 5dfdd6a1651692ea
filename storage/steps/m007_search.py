"""The search index: coarse vectors beside the vec0 tables, and segments of words and codes (storage.index_segments).

Triggers keep it true whatever deletes or rewrites a row: its coarse vector and the segment that covers it go in the same
statement, `settled` falls back to before that segment, and `epoch` tells readers that what they remember of rows not yet
in a segment no longer holds.  The full-text tables of the first step, which this index replaces, go.
"""

from __future__ import annotations

import numpy as np

from storage.connect import Connection
from storage.index_codes import squeeze
from storage.index_segments import settle
from storage.index_strata import GROUNDS, Ground
from storage.steps import full_text


def m007_search(db: Connection, dim: int) -> None:
    """The tables and triggers, and the index of what is there already."""
    full_text.drop(db)
    for statement in _TABLES.split(";\n"):
        if statement.strip():
            db.execute(statement)
    for ground in GROUNDS.values():
        db.execute("INSERT INTO search_state(stratum, epoch, settled) VALUES (?, 0, 0)", (ground.number,))
        if ground.near is not None:
            db.execute(f"CREATE TABLE {ground.near}(id INTEGER PRIMARY KEY, v BLOB NOT NULL)")
            db.execute(f"CREATE TRIGGER {ground.near}_change AFTER UPDATE ON {ground.near} BEGIN {_void(ground)} END")
            _fill(db, ground, dim)
        gone = f"DELETE FROM {ground.near} WHERE id = old.id; " if ground.near else ""
        db.execute(
            f"CREATE TRIGGER {ground.owner}_unsearch AFTER DELETE ON {ground.owner} BEGIN {gone}{_void(ground)} END"
        )
        told = f"AFTER UPDATE ON {ground.owner}"
        db.execute(f"CREATE TRIGGER {ground.owner}_research {told} BEGIN {_void(ground)} END")
    settle(db)


def _void(ground: Ground) -> str:
    """Statements that take away the segment which covers `old.id`."""
    covering = f"SELECT id FROM segment WHERE stratum = {ground.number} AND first <= old.id ORDER BY first DESC LIMIT 1"
    return (
        "UPDATE search_state SET epoch = epoch + 1, settled = min(settled, coalesce("
        f"(SELECT first - 1 FROM segment WHERE id = ({covering}) AND last >= old.id), settled)) "
        f"WHERE stratum = {ground.number}; "
        f"DELETE FROM segment WHERE id = ({covering}) AND last >= old.id; "
    )


def _fill(db: Connection, ground: Ground, dim: int) -> None:
    """The coarse vectors of a memory made before this step."""
    after = 0
    while True:
        rows = db.execute(
            f"SELECT rowid, embedding FROM {ground.vec} WHERE rowid IN "
            f"(SELECT id FROM {ground.owner} WHERE id > ? ORDER BY id LIMIT 1000)",
            (after,),
        ).fetchall()
        newest = db.execute(
            f"SELECT max(id) FROM (SELECT id FROM {ground.owner} WHERE id > ? ORDER BY id LIMIT 1000)", (after,)
        )
        after = newest.fetchone()[0]
        if after is None:
            return
        vectors = np.frombuffer(b"".join(r[1] for r in rows), dtype="<f4").reshape(-1, dim)
        made = zip([r[0] for r in rows], squeeze(vectors), strict=True)
        db.executemany(f"INSERT INTO {ground.near}(id, v) VALUES (?, ?)", made)


_TABLES = """
CREATE TABLE search_state(stratum INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, settled INTEGER NOT NULL);
CREATE TABLE segment(
    id INTEGER PRIMARY KEY AUTOINCREMENT, stratum INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    rows INTEGER NOT NULL, known_min INTEGER NOT NULL, known_max INTEGER NOT NULL, start_min INTEGER NOT NULL,
    start_max INTEGER NOT NULL, end_min INTEGER NOT NULL, end_max INTEGER NOT NULL, packed INTEGER NOT NULL);
CREATE UNIQUE INDEX segment_first ON segment(stratum, first);
CREATE TABLE segment_column(
    segment_id INTEGER NOT NULL, name TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY (segment_id, name));
CREATE TABLE posting(
    stratum INTEGER NOT NULL, term TEXT NOT NULL, segment_id INTEGER NOT NULL, n INTEGER NOT NULL, docs BLOB NOT NULL,
    PRIMARY KEY (stratum, term, segment_id)) WITHOUT ROWID;
CREATE INDEX posting_segment ON posting(segment_id);
CREATE TRIGGER segment_drop AFTER DELETE ON segment BEGIN
    DELETE FROM segment_column WHERE segment_id = old.id; DELETE FROM posting WHERE segment_id = old.id; END;
DROP INDEX item_action;
CREATE INDEX item_action ON item(action, object, t) WHERE kind = 'event';
DROP INDEX entity_name;
CREATE INDEX entity_name ON entity(name, window_id);
CREATE INDEX episode_span ON episode(t_start, t_end);
CREATE INDEX moment_window ON moment(window_id);
CREATE INDEX moment_place ON moment(place) WHERE place <> '';
CREATE INDEX window_scene ON window(scene) WHERE scene <> '';
"""
