"""Views over longer stretches, the graph, facts, the owner's corrections, procedures and the look of keyframes.

After EM2Mem (context views, episodic and semantic graph) and VAM (frames kept with their embedding).  A view that is
written anew, a fact that gains or loses support and a correction that is undone get a further version; nothing of
these tables is changed in place.
"""

from __future__ import annotations

from storage.connect import Connection

# (vec table, owner table)
VECTORS = (("view_vec", "view"), ("fact_vec", "fact"), ("correction_vec", "correction"))


def m003_context(db: Connection, dim: int) -> None:
    """The tables and their indexes."""
    for statement in _TABLES.split(";\n"):
        if statement.strip():
            db.execute(statement)
    for vec, _ in VECTORS:
        db.execute(f"CREATE VIRTUAL TABLE {vec} USING vec0(embedding float[{dim}])")


_TABLES = """
CREATE TABLE view(
    id INTEGER PRIMARY KEY, recording_id INTEGER NOT NULL REFERENCES recording(id), scale_s INTEGER NOT NULL,
    t_block INTEGER NOT NULL, version INTEGER NOT NULL, t_start INTEGER NOT NULL, t_end INTEGER NOT NULL,
    offset_s INTEGER NOT NULL, first_window INTEGER NOT NULL REFERENCES window(id),
    last_window INTEGER NOT NULL REFERENCES window(id), text TEXT NOT NULL, visual TEXT NOT NULL, objects TEXT NOT NULL,
    actions TEXT NOT NULL, topics TEXT NOT NULL, speakers TEXT NOT NULL, names TEXT NOT NULL, made_by TEXT NOT NULL,
    known INTEGER NOT NULL);
CREATE UNIQUE INDEX view_chain ON view(recording_id, scale_s, t_block, version);
CREATE INDEX view_known ON view(known);
CREATE INDEX view_time ON view(scale_s, t_start);
CREATE TABLE node(
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL COLLATE NOCASE, known INTEGER NOT NULL);
CREATE UNIQUE INDEX node_name ON node(name, kind);
CREATE TABLE alias(
    id INTEGER PRIMARY KEY, node_id INTEGER NOT NULL REFERENCES node(id), name TEXT NOT NULL COLLATE NOCASE,
    window_id INTEGER NOT NULL REFERENCES window(id), known INTEGER NOT NULL);
CREATE UNIQUE INDEX alias_name ON alias(name, node_id);
CREATE INDEX alias_node ON alias(node_id);
CREATE TABLE relation(
    id INTEGER PRIMARY KEY, source INTEGER NOT NULL REFERENCES node(id), type TEXT NOT NULL, label TEXT NOT NULL,
    target INTEGER NOT NULL REFERENCES node(id), episode_id INTEGER NOT NULL REFERENCES episode(id),
    window_id INTEGER NOT NULL REFERENCES window(id), t INTEGER NOT NULL, count INTEGER NOT NULL, known INTEGER NOT NULL);
CREATE INDEX relation_source ON relation(source, t);
CREATE INDEX relation_target ON relation(target, t);
CREATE INDEX relation_episode ON relation(episode_id);
CREATE INDEX relation_window ON relation(window_id);
CREATE TABLE fact(
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, subject TEXT NOT NULL, relation TEXT NOT NULL, object TEXT NOT NULL,
    text TEXT NOT NULL, key TEXT NOT NULL, made_by TEXT NOT NULL, known INTEGER NOT NULL);
CREATE INDEX fact_key ON fact(key);
CREATE INDEX fact_family ON fact(kind, subject, relation);
CREATE TABLE fact_version(
    id INTEGER PRIMARY KEY, fact_id INTEGER NOT NULL REFERENCES fact(id), version INTEGER NOT NULL, state TEXT NOT NULL,
    support INTEGER NOT NULL, days INTEGER NOT NULL, t_first INTEGER NOT NULL, t_last INTEGER NOT NULL,
    reason TEXT NOT NULL, known INTEGER NOT NULL);
CREATE UNIQUE INDEX fact_chain ON fact_version(fact_id, version);
CREATE TABLE fact_support(
    fact_id INTEGER NOT NULL REFERENCES fact(id), ref TEXT NOT NULL, window_id INTEGER REFERENCES window(id),
    episode_id INTEGER REFERENCES episode(id), correction_id INTEGER REFERENCES correction(id), t INTEGER NOT NULL,
    offset_s INTEGER NOT NULL, quote TEXT NOT NULL, known INTEGER NOT NULL, PRIMARY KEY (fact_id, ref)) WITHOUT ROWID;
CREATE INDEX fact_support_window ON fact_support(window_id);
CREATE INDEX fact_support_episode ON fact_support(episode_id);
CREATE TABLE correction(
    id INTEGER PRIMARY KEY, ref TEXT NOT NULL, text TEXT NOT NULL, kind TEXT NOT NULL, t INTEGER NOT NULL,
    offset_s INTEGER NOT NULL, subject TEXT NOT NULL, action TEXT NOT NULL, object TEXT NOT NULL,
    window_id INTEGER REFERENCES window(id), known INTEGER NOT NULL);
CREATE INDEX correction_time ON correction(t);
CREATE TABLE correction_version(
    id INTEGER PRIMARY KEY, correction_id INTEGER NOT NULL REFERENCES correction(id), version INTEGER NOT NULL,
    state TEXT NOT NULL, known INTEGER NOT NULL);
CREATE UNIQUE INDEX correction_chain ON correction_version(correction_id, version);
CREATE TABLE correction_effect(
    correction_id INTEGER NOT NULL REFERENCES correction(id), ref TEXT NOT NULL, kind TEXT NOT NULL,
    old TEXT NOT NULL, new TEXT NOT NULL, PRIMARY KEY (correction_id, ref, kind, old)) WITHOUT ROWID;
CREATE INDEX correction_effect_ref ON correction_effect(ref);
CREATE TABLE procedure(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE procedure_version(
    id INTEGER PRIMARY KEY, procedure_id INTEGER NOT NULL REFERENCES procedure(id), version INTEGER NOT NULL,
    state TEXT NOT NULL, body TEXT NOT NULL, t INTEGER NOT NULL);
CREATE UNIQUE INDEX procedure_chain ON procedure_version(procedure_id, version);
CREATE TABLE keyframe_look(
    keyframe_id INTEGER PRIMARY KEY REFERENCES keyframe(id), model TEXT NOT NULL, embedding BLOB NOT NULL);
"""
