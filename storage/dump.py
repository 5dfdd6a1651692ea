"""The canonical dump: every row of the memory as a JSON line in a fixed order, for comparing and for the record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

from storage.connect import Connection
from storage.index_segments import amiss
from storage.migrations import VECTOR_TABLES
from storage.records import Us

# table -> (columns to leave out, how a row is known, order).  `?` is the cutoff.
_TABLES: dict[str, tuple[str, str]] = {
    "recording": ("EXISTS (SELECT 1 FROM window w WHERE w.recording_id = x.id AND w.t_end <= ?)", "x.id"),
    "window": ("x.t_end <= ?", "x.id"),
    "item": ("x.window_id IN (SELECT id FROM window WHERE t_end <= ?)", "x.id"),
    "entity": ("x.window_id IN (SELECT id FROM window WHERE t_end <= ?)", "x.id"),
    "keyframe": ("x.window_id IN (SELECT id FROM window WHERE t_end <= ?)", "x.id"),
    "gap": ("x.window_id IN (SELECT id FROM window WHERE t_end <= ?)", "x.id"),
    "episode": ("x.known <= ?", "x.id"),
    "moment": ("x.known <= ?", "x.id"),
    "pattern": ("x.known <= ?", "x.id"),
    "pattern_version": ("x.known <= ?", "x.pattern_id, x.version"),
    "edge": ("x.known <= ?", "x.pattern_id, x.episode_id, x.known"),
    "intention": ("x.known <= ?", "x.id"),
    "intention_version": ("x.known <= ?", "x.intention_id, x.version"),
    "view": ("x.known <= ?", "x.id"),
    "node": ("x.known <= ?", "x.id"),
    "alias": ("x.known <= ?", "x.id"),
    "relation": ("x.known <= ?", "x.id"),
    "fact": ("x.known <= ?", "x.id"),
    "fact_version": ("x.known <= ?", "x.fact_id, x.version"),
    "fact_support": ("x.known <= ?", "x.fact_id, x.ref"),
    "correction": ("x.known <= ?", "x.id"),
    "correction_version": ("x.known <= ?", "x.correction_id, x.version"),
    "correction_effect": (
        "x.correction_id IN (SELECT id FROM correction WHERE known <= ?)",
        "x.correction_id, x.ref, x.kind, x.old",
    ),
    "keyframe_look": (
        "x.keyframe_id IN (SELECT k.id FROM keyframe k JOIN window w ON w.id = k.window_id WHERE w.t_end <= ?)",
        "x.keyframe_id",
    ),
    "service": ("x.known <= ?", "x.id"),
    "decision": ("x.t <= ?", "x.id"),
    "standing": ("x.known <= ?", "x.id"),
    "standing_event": ("x.known <= ?", "x.id"),
}


def dump(db: Connection, until: Us) -> Iterator[str]:
    """One line a row: {"table": ..., column: value, ...}; a row with a vector carries the vector's sha256."""
    vec_of = {owner: vec for vec, owner in VECTOR_TABLES}
    for table, (visible, order) in _TABLES.items():
        columns = [r[1] for r in db.execute(f"PRAGMA table_info({table})")]
        for values in db.execute(f"SELECT x.* FROM {table} x WHERE {visible} ORDER BY {order}", (until,)).fetchall():
            row = {"table": table, **dict(zip(columns, map(_plain, values), strict=True))}
            if table in vec_of:
                found = db.execute(f"SELECT embedding FROM {vec_of[table]} WHERE rowid = ?", (row["id"],)).fetchone()
                row["vector"] = None if found is None else hashlib.sha256(found[0]).hexdigest()
            yield json.dumps(row, ensure_ascii=False, sort_keys=True)


def _plain(value: object) -> object:
    """A value as JSON has it: bytes by their sha256."""
    return hashlib.sha256(value).hexdigest() if isinstance(value, bytes) else value


def orphans(db: Connection) -> list[str]:
    """Index rows without an owner, and where the search index is amiss; empty when all is well."""
    found = []
    for vec, owner in VECTOR_TABLES:
        lost = db.execute(
            f"SELECT count(*) FROM {vec}_rowids v WHERE NOT EXISTS (SELECT 1 FROM {owner} o WHERE o.id = v.rowid)"
        ).fetchone()[0]
        if lost:
            found.append(f"{lost} vectors of {vec} have no row in {owner}")
    return found + amiss(db)
