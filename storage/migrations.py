"""The schema as a diary: one function per step, each applied in one transaction together with its record.

Rules of the schema: times are integer microseconds UTC; every derived row has `known`, the time of the last
observation it was made from; rows that change are version chains, never updates; vec0 tables hold the embedding named
in `meta`; what searches read is derived (m007) and can be rebuilt.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from storage.connect import Connection
from storage.errors import SchemaTooNew
from storage.steps import full_text
from storage.steps import m003_context as context
from storage.steps.m003_context import m003_context
from storage.steps.m004_care import m004_care
from storage.steps.m005_asking import m005_asking
from storage.steps.m006_patience import m006_patience
from storage.steps.m007_search import m007_search

Step: TypeAlias = Callable[[Connection, int], None]

# Stratum tables with a vector beside them in the first step: (vec table, owner table)
_VECTORS = (
    ("window_vec", "window"),
    ("moment_vec", "moment"),
    ("episode_vec", "episode"),
    ("pattern_vec", "pattern_version"),
)

# The same of the whole schema
VECTOR_TABLES = (*_VECTORS, *context.VECTORS)


def m001_strata(db: Connection, dim: int) -> None:
    """Trace, episodes, moments, patterns, intentions, services, health: everything that issue one needs."""
    for statement in _M001.split(";\n"):
        if statement.strip():
            db.execute(statement)
    full_text.make(db)
    for vec, _ in _VECTORS:
        db.execute(f"CREATE VIRTUAL TABLE {vec} USING vec0(embedding float[{dim}])")


def m002_speakers(db: Connection, _dim: int) -> None:
    """An index of who spoke when: questions name people, and asking who is known must not read all that was said."""
    db.execute("CREATE INDEX item_speaker ON item(speaker, t) WHERE kind = 'speech'")


MIGRATIONS: tuple[Step, ...] = (
    m001_strata,
    m002_speakers,
    m003_context,
    m004_care,
    m005_asking,
    m006_patience,
    m007_search,
)


def migrate(db: Connection, embedding: tuple[str, int]) -> list[str]:
    """Bring the database to the newest schema; returns the names of the steps applied.

    A new file gets its embedding (id, length of its vectors) in the transaction of the first step, so that there is no
    moment at which it has one without the other.  Each step is applied once, whoever else opens the file meanwhile.
    Raises SchemaTooNew when the file was made by a newer version than this code.
    """
    applied = []
    for position, step in enumerate(MIGRATIONS, 1):
        if step not in missing(db):
            continue
        db.execute("BEGIN IMMEDIATE")
        try:
            db.execute(_MIGRATION)
            if step in missing(db):  # another process may have been quicker
                step(db, embedding[1])
                if position == 1:
                    values = [("embedding_id", embedding[0]), ("embedding_dim", str(embedding[1]))]
                    db.executemany("INSERT INTO meta VALUES (?, ?)", values)
                db.execute("INSERT INTO migration VALUES (?, ?)", (step.__name__, position))
                applied.append(step.__name__)
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")
    return applied


def missing(db: Connection) -> list[Step]:
    """The steps a database lacks.  Raises SchemaTooNew when it has one that is not known here."""
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'migration'").fetchone():
        return list(MIGRATIONS)
    done = {str(row[0]) for row in db.execute("SELECT name FROM migration")}
    strange = done - {step.__name__ for step in MIGRATIONS}
    if strange:
        raise SchemaTooNew(
            f"This database was made by a newer version (it has {', '.join(sorted(strange))}): "
            "update grove-edge, or choose another --db."
        )
    return [step for step in MIGRATIONS if step.__name__ not in done]


_MIGRATION = "CREATE TABLE IF NOT EXISTS migration(name TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID"


_M001 = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE recording(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, profile TEXT NOT NULL);
CREATE TABLE window(
    id INTEGER PRIMARY KEY, recording_id INTEGER NOT NULL REFERENCES recording(id),
    t_start INTEGER NOT NULL, t_end INTEGER NOT NULL CHECK (t_end > t_start), offset_s INTEGER NOT NULL,
    description TEXT NOT NULL, scene TEXT NOT NULL, made_by TEXT NOT NULL, frames INTEGER NOT NULL, device TEXT);
CREATE INDEX window_time ON window(t_end);
CREATE UNIQUE INDEX window_start ON window(recording_id, t_start);
CREATE TABLE item(
    id INTEGER PRIMARY KEY, window_id INTEGER NOT NULL REFERENCES window(id), kind TEXT NOT NULL, t INTEGER NOT NULL,
    text TEXT NOT NULL, subject TEXT NOT NULL, action TEXT NOT NULL, object TEXT NOT NULL, speaker TEXT NOT NULL);
CREATE INDEX item_window ON item(window_id);
CREATE INDEX item_time ON item(kind, t);
CREATE INDEX item_action ON item(action, object) WHERE kind = 'event';
CREATE TABLE entity(
    id INTEGER PRIMARY KEY, window_id INTEGER NOT NULL REFERENCES window(id), name TEXT NOT NULL,
    count INTEGER NOT NULL, attributes TEXT NOT NULL, location TEXT);
CREATE INDEX entity_window ON entity(window_id);
CREATE INDEX entity_name ON entity(name);
CREATE TABLE keyframe(
    id INTEGER PRIMARY KEY, window_id INTEGER NOT NULL REFERENCES window(id), t INTEGER NOT NULL, file TEXT NOT NULL,
    sha256 TEXT NOT NULL, width INTEGER NOT NULL, height INTEGER NOT NULL, size INTEGER NOT NULL);
CREATE INDEX keyframe_window ON keyframe(window_id);
CREATE TABLE gap(
    id INTEGER PRIMARY KEY, recording_id INTEGER NOT NULL REFERENCES recording(id), t_start INTEGER NOT NULL,
    t_end INTEGER NOT NULL, reason TEXT NOT NULL, window_id INTEGER NOT NULL REFERENCES window(id));
CREATE TABLE episode(
    id INTEGER PRIMARY KEY, recording_id INTEGER NOT NULL REFERENCES recording(id), t_start INTEGER NOT NULL,
    t_end INTEGER NOT NULL, offset_s INTEGER NOT NULL, subject TEXT NOT NULL, summary TEXT NOT NULL,
    keywords TEXT NOT NULL, description TEXT NOT NULL, place TEXT NOT NULL,
    first_window INTEGER NOT NULL REFERENCES window(id), last_window INTEGER NOT NULL REFERENCES window(id),
    cut TEXT NOT NULL, made_by TEXT NOT NULL, known INTEGER NOT NULL);
CREATE INDEX episode_time ON episode(t_start);
CREATE INDEX episode_known ON episode(known);
CREATE INDEX episode_window ON episode(last_window);
CREATE TABLE moment(
    id INTEGER PRIMARY KEY, episode_id INTEGER NOT NULL REFERENCES episode(id),
    window_id INTEGER NOT NULL REFERENCES window(id), t INTEGER NOT NULL, offset_s INTEGER NOT NULL,
    text TEXT NOT NULL, keywords TEXT NOT NULL, role TEXT NOT NULL, weight REAL NOT NULL, category TEXT NOT NULL,
    place TEXT NOT NULL, made_by TEXT NOT NULL, known INTEGER NOT NULL);
CREATE INDEX moment_episode ON moment(episode_id);
CREATE INDEX moment_time ON moment(t);
CREATE TABLE pattern(id INTEGER PRIMARY KEY, known INTEGER NOT NULL);
CREATE TABLE pattern_version(
    id INTEGER PRIMARY KEY, pattern_id INTEGER NOT NULL REFERENCES pattern(id), version INTEGER NOT NULL,
    kind TEXT NOT NULL, title TEXT NOT NULL, summary TEXT NOT NULL, keywords TEXT NOT NULL, coherence REAL NOT NULL,
    recurrence INTEGER NOT NULL, days INTEGER NOT NULL, frequency REAL NOT NULL, typical_minute INTEGER,
    spread_min INTEGER, made_by TEXT NOT NULL, known INTEGER NOT NULL);
CREATE UNIQUE INDEX pattern_chain ON pattern_version(pattern_id, version);
CREATE INDEX pattern_known ON pattern_version(known);
CREATE TABLE edge(
    pattern_id INTEGER NOT NULL REFERENCES pattern(id), episode_id INTEGER NOT NULL REFERENCES episode(id),
    role TEXT NOT NULL, weight REAL NOT NULL, known INTEGER NOT NULL, PRIMARY KEY (pattern_id, episode_id, known))
    WITHOUT ROWID;
CREATE INDEX edge_episode ON edge(episode_id);
CREATE TABLE intention(
    id INTEGER PRIMARY KEY, who TEXT NOT NULL, quote TEXT NOT NULL, what TEXT NOT NULL, t INTEGER NOT NULL,
    offset_s INTEGER NOT NULL, window_id INTEGER NOT NULL REFERENCES window(id), due TEXT NOT NULL,
    known INTEGER NOT NULL);
CREATE TABLE intention_version(
    id INTEGER PRIMARY KEY, intention_id INTEGER NOT NULL REFERENCES intention(id), version INTEGER NOT NULL,
    state TEXT NOT NULL, evidence TEXT NOT NULL, known INTEGER NOT NULL);
CREATE UNIQUE INDEX intention_chain ON intention_version(intention_id, version);
CREATE TABLE service(
    id INTEGER PRIMARY KEY, type TEXT NOT NULL, t INTEGER NOT NULL, offset_s INTEGER NOT NULL, text TEXT NOT NULL,
    evidence TEXT NOT NULL, key TEXT NOT NULL, expert TEXT NOT NULL, made_by TEXT NOT NULL, known INTEGER NOT NULL);
CREATE INDEX service_key ON service(type, key);
CREATE TABLE decision(
    id INTEGER PRIMARY KEY, service_id INTEGER NOT NULL REFERENCES service(id), t INTEGER NOT NULL,
    decision TEXT NOT NULL, reason TEXT NOT NULL);
CREATE INDEX decision_service ON decision(service_id);
CREATE TABLE cursor(stage TEXT PRIMARY KEY, window_id INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE health_event(
    id INTEGER PRIMARY KEY, t INTEGER NOT NULL, part TEXT NOT NULL, state TEXT NOT NULL, detail TEXT NOT NULL);
"""
