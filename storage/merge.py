"""Taking recordings of another memory into this one, row by row, each under a new id.

Ids follow the order of the other memory, so the same two memories always give the same one.  COPIED names what comes
over as it is; REGROWN what the caller grows again over both memories together (patterns must count what both devices
saw, the graph and the facts rest on them); LEFT what belongs to the other device or is made again by itself.  A test
finds no fourth kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from storage import vectors
from storage.connect import Connection
from storage.errors import BadRecord
from storage.migrations import VECTOR_TABLES


@dataclass(frozen=True, slots=True)
class Rows:
    """A table that comes over: which rows `x` belong to recording `?`, and whose ids stand in which columns.

    `letter` names its rows in references ("w" for "w12"); `cites` is a column of references, one a line; rows whose
    `must` column names something that did not come over stay behind.
    """

    table: str
    where: str
    ids: Mapping[str, str] = field(default_factory=dict)
    letter: str = ""
    cites: str = ""
    must: str = ""
    own_id: bool = True


_OF_WINDOW = "x.window_id IN (SELECT id FROM window WHERE recording_id = ?)"
_OF_INTENTION = (
    "x.intention_id IN (SELECT i.id FROM intention i JOIN window w ON w.id = i.window_id WHERE w.recording_id = ?)"
)
# A service belongs to the recording of the newest window it cites.
_CITING = (
    "(SELECT w.recording_id FROM json_each('[\"' || replace(x.evidence, char(10), '\",\"') || '\"]') j JOIN window w "
    "ON j.value LIKE 'w%' AND w.id = CAST(substr(j.value, 2) AS INTEGER) ORDER BY w.id DESC LIMIT 1) = ?"
)
_OF_CORRECTION = (
    "x.correction_id IN (SELECT c.id FROM correction c JOIN window w ON w.id = c.window_id WHERE w.recording_id = ?)"
)

COPIED: tuple[Rows, ...] = (
    Rows("window", "x.recording_id = ?", {"recording_id": "recording"}, "w"),
    Rows("item", _OF_WINDOW, {"window_id": "window"}),
    Rows("entity", _OF_WINDOW, {"window_id": "window"}),
    Rows("keyframe", _OF_WINDOW, {"window_id": "window"}, "k"),
    Rows(
        "keyframe_look",
        "x.keyframe_id IN (SELECT k.id FROM keyframe k JOIN window w ON w.id = k.window_id WHERE w.recording_id = ?)",
        {"keyframe_id": "keyframe"},
        own_id=False,
    ),
    Rows(
        "keyframe_tier",
        "x.keyframe_id IN (SELECT k.id FROM keyframe k JOIN window w ON w.id = k.window_id WHERE w.recording_id = ?)",
        {"keyframe_id": "keyframe"},
        own_id=False,
    ),
    Rows("gap", "x.recording_id = ?", {"recording_id": "recording", "window_id": "window"}),
    Rows("pruned", _OF_WINDOW, {"window_id": "window"}, own_id=False),
    Rows(
        "episode",
        "x.recording_id = ?",
        {"recording_id": "recording", "first_window": "window", "last_window": "window"},
        "e",
    ),
    Rows(
        "moment",
        "x.episode_id IN (SELECT id FROM episode WHERE recording_id = ?)",
        {"episode_id": "episode", "window_id": "window"},
        "m",
    ),
    Rows(
        "view",
        "x.recording_id = ?",
        {"recording_id": "recording", "first_window": "window", "last_window": "window"},
        "v",
    ),
    Rows("intention", _OF_WINDOW, {"window_id": "window"}, "i"),
    Rows("intention_version", _OF_INTENTION, {"intention_id": "intention"}, cites="evidence"),
    Rows("service", _CITING, letter="a", cites="evidence"),
    Rows("decision", f"x.service_id IN (SELECT id FROM service x WHERE {_CITING})", {"service_id": "service"}),
    Rows("feedback", f"x.service_id IN (SELECT id FROM service x WHERE {_CITING})", {"service_id": "service"}),
    Rows("correction", _OF_WINDOW, {"window_id": "window"}, "c", must="ref"),
    Rows("correction_version", _OF_CORRECTION, {"correction_id": "correction"}),
    Rows("correction_effect", _OF_CORRECTION, {"correction_id": "correction"}, must="ref", own_id=False),
)
REGROWN = frozenset("pattern pattern_version edge node alias relation fact fact_version fact_support".split())
LEFT: dict[str, str] = {
    "recording": "made on the way",
    "meta": "of the file",
    "migration": "of the file",
    "cursor": "of the file: how far its own stages are",
    "health_event": "of the other device",
    "power_event": "of the other device",
    "wish": "said to the other device about itself",
    "standing": "asked of the other device",
    "standing_event": "of what was asked there",
    "procedure": "loaded there; a procedure is loaded where it is used",
    "procedure_version": "loaded there",
    "pin": "kept there; what comes over is under this memory's own care",
    "erasure": "what was forgotten there is not there",
    "recorded_file": "files of the other device",
    "search_state": "made anew as rows come in",
    "segment": "made anew as rows come in",
    "segment_column": "made anew as rows come in",
    "posting": "made anew as rows come in",
}


@dataclass(frozen=True, slots=True)
class Taken:
    """What came over of a recording: how many rows of each table, and its new episodes in the order they were known."""

    rows: dict[str, int]
    episodes: tuple[int, ...]


class Merger:
    """Copies recordings from `source` (a connection to another memory) through the writer of this one."""

    def __init__(self, source: Connection) -> None:
        self._source = source
        self._ids: dict[str, dict[int, int]] = {"recording": {}, **{rows.table: {} for rows in COPIED}}

    def recordings(self) -> list[str]:
        """Names of the other memory's recordings in the order they came."""
        return [str(row[0]) for row in self._source.execute("SELECT name FROM recording ORDER BY id")]

    def frames(self, name: str) -> list[str]:
        """Files of the keyframes of one of its recordings."""
        rows = self._source.execute(
            "SELECT k.file FROM keyframe k JOIN window w ON w.id = k.window_id JOIN recording r ON r.id = w.recording_id "
            "WHERE r.name = ? ORDER BY k.id",
            (name,),
        )
        return [str(row[0]) for row in rows]

    def held(self, db: Connection, name: str) -> bool:
        """Whether this memory has the recording already.  Raises BadRecord when it is another one of the same name."""
        spans = [
            each.execute(
                "SELECT w.t_start, w.t_end, w.id FROM window w JOIN recording r ON r.id = w.recording_id "
                "WHERE r.name = ? ORDER BY w.t_start",
                (name,),
            ).fetchall()
            for each in (self._source, db)
        ]
        if not spans[1]:
            return False
        if [tuple(row[:2]) for row in spans[0]] != [tuple(row[:2]) for row in spans[1]]:
            raise BadRecord(
                f"Both memories have a recording {name}, and they differ: it stays as it is here; nothing of it was taken. "
                "To take what goes on after it, export the other memory as a trace and import that."
            )
        self._known(db, name)
        return True

    def _known(self, db: Connection, name: str) -> None:
        """Learn which rows here are which rows there, of a recording that both have: later ones may cite them."""
        there, here = (
            each.execute("SELECT id FROM recording WHERE name = ?", (name,)).fetchone()[0]
            for each in (self._source, db)
        )
        self._ids["recording"][there] = here
        for rows in COPIED:
            if rows.letter:
                of = f"SELECT x.id FROM {rows.table} x WHERE {rows.where} ORDER BY x.id"
                theirs, ours = self._source.execute(of, (there,)).fetchall(), db.execute(of, (here,)).fetchall()
                if len(theirs) == len(ours):
                    self._ids[rows.table].update((t[0], o[0]) for t, o in zip(theirs, ours, strict=True))

    def take(self, db: Connection, name: str, dim: int) -> Taken:
        """Copy one recording with what is known of it, inside a transaction of the store."""
        old, profile = self._source.execute("SELECT id, profile FROM recording WHERE name = ?", (name,)).fetchone()
        made = db.execute("INSERT INTO recording(name, profile) VALUES (?, ?)", (name, profile)).lastrowid
        self._ids["recording"][old] = int(made)
        counts = {rows.table: self._copy(db, rows, old, dim) for rows in COPIED}
        found = db.execute("SELECT id FROM episode WHERE recording_id = ? ORDER BY known, id", (made,))
        return Taken(counts, tuple(row[0] for row in found))

    def _copy(self, db: Connection, rows: Rows, recording: int, dim: int) -> int:
        columns = [row[1] for row in self._source.execute(f"PRAGMA table_info({rows.table})")]
        order = "x.id" if rows.own_id else ", ".join(f"x.{c}" for c in columns[:3])
        names = [c for c in columns if not (rows.own_id and c == "id")]
        insert = f"INSERT INTO {rows.table}({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
        count = 0
        for values in self._source.execute(
            f"SELECT x.* FROM {rows.table} x WHERE {rows.where} ORDER BY {order}", (recording,)
        ).fetchall():
            row = dict(zip(columns, values, strict=True))
            if rows.own_id and row["id"] in self._ids[rows.table]:
                continue  # a service that cites two recordings came with the first
            if not self._moved(rows, row):
                continue
            new = db.execute(insert, [row[c] for c in names]).lastrowid
            count += 1
            if rows.own_id:
                self._ids[rows.table][row["id"]] = int(new)
                self._vector(db, rows.table, row["id"], int(new), dim)
        return count

    def _moved(self, rows: Rows, row: dict[str, object]) -> bool:
        """Put this memory's ids into a row; false when it rests on something that did not come over."""
        for column, table in rows.ids.items():
            old = row[column]
            if old is None:
                continue
            if old not in self._ids[table]:
                return False
            row[column] = self._ids[table][int(str(old))]
        if rows.must:
            ref = self.reference(str(row[rows.must]))
            if ref is None:
                return False
            row[rows.must] = ref
        if rows.cites:
            found = [self.reference(ref) for ref in str(row[rows.cites]).split("\n") if ref]
            row[rows.cites] = "\n".join(ref for ref in found if ref is not None)
        return True

    def reference(self, ref: str) -> str | None:
        """A reference such as "w12" as this memory names it; None for what did not come over."""
        letter, number = ref[:1], ref[1:]
        for rows in COPIED:
            if rows.letter == letter and number.isdigit():
                new = self._ids[rows.table].get(int(number))
                return None if new is None else f"{letter}{new}"
        return None

    def _vector(self, db: Connection, table: str, old: int, new: int, dim: int) -> None:
        for vec, owner in VECTOR_TABLES:
            if owner == table:
                row = self._source.execute(f"SELECT embedding FROM {vec} WHERE rowid = ?", (old,)).fetchone()
                if row is not None:
                    vectors.put(db, vec, new, np.frombuffer(row[0], dtype="<f4"), dim)
