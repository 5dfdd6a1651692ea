"""Taking back what the end of a recording derived, when the recording turns out to go on.

A recording that stops closes its open unit one gap after its last window.  When it is continued from that very
window, those rows would come from a future that did not happen; because each carries `known`, they can be removed
exactly.  Only rows known after `until` of that recording's last unit go: the trace itself is never touched.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from storage.connect import Connection
from storage.patterns import PatternWriter
from storage.records import Us


@dataclass(frozen=True, slots=True)
class Rewound:
    """How many rows went, and which episodes of other recordings must join their patterns again, in that order."""

    rows: int
    again: dict[int, list[tuple[int, Us]]] = field(default_factory=dict)


def rewind(db: Connection, until: Us, recording: str, dim: int) -> Rewound:
    """Remove episodes of `recording` known after `until` and all that rests on them.

    A pattern loses every version it had after `until`; what joined it from elsewhere is told, to be joined again.
    """
    episodes = [
        row[0]
        for row in db.execute(
            "SELECT e.id FROM episode e JOIN recording r ON r.id = e.recording_id WHERE r.name = ? AND e.known > ?",
            (recording, until),
        )
    ]
    gone = views(db, until, recording)
    if not episodes:
        return Rewound(gone)
    marks = ",".join("?" * len(episodes))
    refs = [f"e{i}" for i in episodes]
    # What rests on them: versions of their patterns and services that cite them, made at or after that time.
    gone += context(db, until, recording, episodes)
    patterns = [
        r[0] for r in db.execute(f"SELECT DISTINCT pattern_id FROM edge WHERE episode_id IN ({marks})", episodes)
    ]
    services = [
        row[0]
        for row in db.execute("SELECT id, evidence FROM service WHERE known > ?", (until,))
        if set(str(row[1]).split("\n")) & set(refs)
    ]
    for service in services:
        gone += db.execute("DELETE FROM feedback WHERE service_id = ?", (service,)).rowcount
        gone += db.execute("DELETE FROM decision WHERE service_id = ?", (service,)).rowcount
        gone += db.execute("DELETE FROM service WHERE id = ?", (service,)).rowcount
    again: dict[int, list[tuple[int, Us]]] = {}
    writer = PatternWriter(db, dim)
    for pattern in patterns:
        went, later = writer.unwind(pattern, until)
        gone += went
        others = [(e, known) for e, known in later if e not in episodes]
        if others:
            again[pattern] = others
    for table, vec, column in (("moment", "moment_vec", "episode_id"), ("episode", "episode_vec", "id")):
        rows = [r[0] for r in db.execute(f"SELECT id FROM {table} WHERE {column} IN ({marks})", episodes)]
        for row in rows:
            db.execute(f"DELETE FROM {vec} WHERE rowid = ?", (row,))
            gone += db.execute(f"DELETE FROM {table} WHERE id = ?", (row,)).rowcount
    return Rewound(gone, again)


def views(db: Connection, until: Us, recording: str) -> int:
    """Take back views of a recording known after `until`; returns how many."""
    found = [
        row[0]
        for row in db.execute(
            "SELECT v.id FROM view v JOIN recording r ON r.id = v.recording_id WHERE v.known > ? AND r.name = ?",
            (until, recording),
        )
    ]
    for view in found:
        db.execute("DELETE FROM view_vec WHERE rowid = ?", (view,))
        db.execute("DELETE FROM view WHERE id = ?", (view,))
    return len(found)


def context(db: Connection, until: Us, recording: str, episodes: list[int]) -> int:
    """Take back edges of the graph and support of facts that came with these episodes; returns how many rows."""
    gone: int = 0
    marks = ",".join("?" * len(episodes))
    ends = {
        node
        for row in db.execute(f"SELECT source, target FROM relation WHERE episode_id IN ({marks})", episodes)
        for node in row
    }
    gone += db.execute(f"DELETE FROM relation WHERE episode_id IN ({marks})", episodes).rowcount
    gone += db.execute(
        "DELETE FROM alias WHERE known > ? AND window_id IN (SELECT w.id FROM window w JOIN recording r "
        "ON r.id = w.recording_id WHERE r.name = ?)",
        (until, recording),
    ).rowcount
    for node in sorted(ends):
        gone += db.execute(
            "DELETE FROM node WHERE id = ? AND NOT EXISTS (SELECT 1 FROM relation WHERE source = node.id OR "
            "target = node.id) AND NOT EXISTS (SELECT 1 FROM alias WHERE node_id = node.id)",
            (node,),
        ).rowcount
    facts = [
        row[0]
        for row in db.execute(f"SELECT DISTINCT fact_id FROM fact_support WHERE episode_id IN ({marks})", episodes)
    ]
    gone += db.execute(f"DELETE FROM fact_support WHERE episode_id IN ({marks})", episodes).rowcount
    for fact in facts:
        gone += db.execute("DELETE FROM fact_version WHERE fact_id = ? AND known > ?", (fact, until)).rowcount
        if db.execute("SELECT 1 FROM fact_version WHERE fact_id = ?", (fact,)).fetchone() is None:
            db.execute("DELETE FROM fact_vec WHERE rowid = ?", (fact,))
            gone += db.execute("DELETE FROM fact WHERE id = ?", (fact,)).rowcount
    return gone
