"""Every read the store offers, against a memory whose future was taken away: a snapshot at t must tell the same."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from storage_support import DIM, SPACE, THINGS, US, VERBS, WHO, History, grow

from storage import Snapshot, Store
from storage.errors import NotFound
from storage.lookup import all_words, any_words
from storage.migrations import VECTOR_TABLES

# What can be named by one argument or another; ids of rows that are not known at t among them.
Call = Callable[[Snapshot, History, random.Random], Any]

ALL_IDS = list(range(200))
QUERY = np.asarray([0.5, -1, 0.25, 1, 0, -0.5, 1, 0.1], dtype=np.float32)
KINDS = ("caption", "event", "text", "speech")


def span(h: History, rng: random.Random) -> tuple[int | None, int | None]:
    """A range of time, now and then open on a side."""
    low, high = sorted(rng.choice(h.ends) + rng.randint(-50, 50) * US for _ in range(2))
    return rng.choice([None, low]), rng.choice([None, high])


def each(ids: list[int], read: Callable[[int], Any]) -> list[Any]:
    """A read for each of those ids; what is not there is told as such."""
    found = []
    for i in ids:
        try:
            found.append(read(i))
        except NotFound as error:
            found.append(str(error))
    return found


def arrays(found: dict[int, Any]) -> dict[int, bytes]:
    return {k: v.tobytes() for k, v in found.items()}


def searched(s: Snapshot, h: History, rng: random.Random) -> Any:
    """What is found and in which order, by words and by vectors: how rare a word is must not be told by the future."""
    start, end = span(h, rng)
    query = np.asarray([rng.uniform(-1, 1) for _ in range(DIM)], dtype=np.float32)
    told: list[Any] = []
    for stratum in ("item", "window", "moment", "episode", "pattern", "view", "fact", "correction"):
        for text in ("washing the cup, take a red door", "plumber EXIT again"):
            for vector in (None, query):
                told += [stratum, s.search(stratum, text, vector, k=3, start=start, end=end)]
        told += [stratum, s.search(stratum, "cup knife wash kitchen", k=200), s.search(stratum, "", query, k=3)]
    return told


CALLS: dict[str, Call] = {
    "trace.window": lambda s, h, r: each(ALL_IDS, s.trace.window),
    "trace.windows": lambda s, h, r: (s.trace.windows(), s.trace.windows(*span(h, r), limit=r.randint(0, 5))),
    "trace.recent": lambda s, h, r: s.trace.recent(r.randint(1, 9)),
    "trace.span": lambda s, h, r: s.trace.span(3, 60),
    "trace.after": lambda s, h, r: s.trace.after("two", r.randint(0, 9)),
    "trace.before": lambda s, h, r: s.trace.before("one", r.randint(5, 99), r.randint(1, 9)),
    "trace.newest_stored": lambda s, h, r: s.trace.newest_stored(),
    "trace.first": lambda s, h, r: [s.trace.first(name) for name in ("one", "two", "none")],
    "trace.last": lambda s, h, r: [s.trace.last(name) for name in (None, "one", "two", "none")],
    "trace.count": lambda s, h, r: s.trace.count(),
    "trace.recordings": lambda s, h, r: s.trace.recordings(),
    "trace.days": lambda s, h, r: s.trace.days(),
    "trace.items": lambda s, h, r: (
        s.trace.items(KINDS),
        s.trace.items(("event",), *span(h, r), limit=r.randint(0, 9)),
    ),
    "trace.events": lambda s, h, r: (s.trace.events(), s.trace.events(r.choice(VERBS), *span(h, r))),
    "trace.following": lambda s, h, r: [s.trace.following(i, r.randint(1, 10**9)) for i in s.trace.events()],
    "trace.event_terms": lambda s, h, r: sorted(s.trace.event_terms()),
    "trace.neighbours": lambda s, h, r: [s.trace.neighbours(i, KINDS, 4) for i in s.trace.items(KINDS, limit=5)],
    "trace.items_by_id": lambda s, h, r: s.trace.items_by_id(ALL_IDS),
    "trace.entities": lambda s, h, r: (s.trace.entities(), s.trace.entities(r.choice(THINGS), *span(h, r))),
    "trace.entity_names": lambda s, h, r: s.trace.entity_names(),
    "trace.speakers": lambda s, h, r: s.trace.speakers(),
    "trace.keyframes": lambda s, h, r: (s.trace.keyframes(), s.trace.keyframes(*span(h, r))),
    "trace.gaps": lambda s, h, r: s.trace.gaps(),
    "trace.vectors": lambda s, h, r: arrays(s.trace.vectors(ALL_IDS)),
    "lookup.days": lambda s, h, r: s.lookup.days(),
    "lookup.size": lambda s, h, r: s.lookup.size(),
    "lookup.offset_at": lambda s, h, r: [s.lookup.offset_at(t) for t in h.ends],
    "lookup.stretches": lambda s, h, r: (s.lookup.stretches(), s.lookup.stretches(*span(h, r), gap=30 * US)),
    "lookup.actions": lambda s, h, r: s.lookup.actions(),
    "lookup.objects": lambda s, h, r: [s.lookup.objects(v) for v in VERBS],
    "lookup.speakers": lambda s, h, r: s.lookup.speakers(),
    "lookup.entity_names": lambda s, h, r: s.lookup.entity_names(),
    "lookup.newest": lambda s, h, r: s.lookup.newest(KINDS, *span(h, r), limit=r.randint(1, 9)),
    "lookup.events_of": lambda s, h, r: s.lookup.events_of([(v, o) for v in VERBS for o in THINGS], *span(h, r)),
    "lookup.matching": lambda s, h, r: [
        s.lookup.matching(all_words(("cup",)), KINDS, *span(h, r)),
        s.lookup.matching(any_words(("plumber", "door")), KINDS, limit=r.randint(0, 9)),
    ],
    "lookup.matches": lambda s, h, r: [
        list(s.lookup.matches(any_words(("plumber", "door", "cup")), KINDS, *span(h, r))),
        list(islice(s.lookup.matches(all_words(("cup",)), KINDS), r.randint(0, 9))),
    ],
    "lookup.times_of": lambda s, h, r: sorted(s.lookup.times_of("cup", *span(h, r))),
    "episodes.get": lambda s, h, r: each(ALL_IDS, s.episodes.get),
    "episodes.many": lambda s, h, r: s.episodes.many(ALL_IDS),
    "episodes.between": lambda s, h, r: (s.episodes.between(), s.episodes.between(*span(h, r), limit=r.randint(0, 4))),
    "episodes.recent": lambda s, h, r: s.episodes.recent(r.randint(1, 5)),
    "episodes.last": lambda s, h, r: [s.episodes.last(name) for name in ("one", "two", "none")],
    "episodes.of_window": lambda s, h, r: [s.episodes.of_window(i) for i in ALL_IDS],
    "episodes.since": lambda s, h, r: (s.episodes.since(r.randint(0, 60), 5), s.episodes.since(0, 200)),
    "episodes.count": lambda s, h, r: s.episodes.count(),
    "episodes.vectors": lambda s, h, r: arrays(s.episodes.vectors(ALL_IDS)),
    "moments.get": lambda s, h, r: each(ALL_IDS, s.moments.get),
    "moments.many": lambda s, h, r: s.moments.many(ALL_IDS),
    "moments.between": lambda s, h, r: (s.moments.between(), s.moments.between(*span(h, r), limit=r.randint(0, 4))),
    "moments.of_episode": lambda s, h, r: [s.moments.of_episode(i) for i in ALL_IDS],
    "moments.count": lambda s, h, r: s.moments.count(),
    "patterns.get": lambda s, h, r: each(ALL_IDS, s.patterns.get),
    "patterns.many": lambda s, h, r: s.patterns.many(ALL_IDS),
    "patterns.all": lambda s, h, r: s.patterns.all(),
    "patterns.versions": lambda s, h, r: [s.patterns.versions(i) for i in ALL_IDS],
    "patterns.by_version_row": lambda s, h, r: s.patterns.by_version_row(ALL_IDS),
    "patterns.edges": lambda s, h, r: [s.patterns.edges(i) for i in ALL_IDS],
    "patterns.newest": lambda s, h, r: [s.patterns.newest(i, r.randint(1, 9)) for i in ALL_IDS],
    "patterns.subjects": lambda s, h, r: [s.patterns.subjects(i, r.randint(1, 9)) for i in ALL_IDS],
    "patterns.first": lambda s, h, r: [s.patterns.first(i) for i in ALL_IDS],
    "patterns.size": lambda s, h, r: [s.patterns.size(i) for i in ALL_IDS],
    "patterns.recent": lambda s, h, r: s.patterns.recent(r.randint(1, 40)),
    "patterns.edges_to": lambda s, h, r: [s.patterns.edges_to(i, list(ALL_IDS)) for i in ALL_IDS],
    "patterns.of_episode": lambda s, h, r: [s.patterns.of_episode(i) for i in ALL_IDS],
    "patterns.count": lambda s, h, r: s.patterns.count(),
    "patterns.vectors_of": lambda s, h, r: arrays(s.patterns.vectors_of(ALL_IDS)),
    "intentions.get": lambda s, h, r: each(ALL_IDS, s.intentions.get),
    "intentions.all": lambda s, h, r: [s.intentions.all(state) for state in (None, "open", "done", "dropped")],
    "services.get": lambda s, h, r: each(ALL_IDS, s.services.get),
    "services.between": lambda s, h, r: (s.services.between(), s.services.between(*span(h, r))),
    "services.with_key": lambda s, h, r: [s.services.with_key("task_reminder", k) for k in "abc"],
    "services.decisions": lambda s, h, r: [s.services.decisions(), *(s.services.decisions(i) for i in ALL_IDS)],
    "views.get": lambda s, h, r: each(ALL_IDS, s.views.get),
    "views.between": lambda s, h, r: (s.views.between(), s.views.between(*span(h, r), scale_s=180, limit=4)),
    "views.of_window": lambda s, h, r: [s.views.of_window(i) for i in ALL_IDS],
    "views.of_block": lambda s, h, r: [
        s.views.of_block(w.recording, 180, w.t_start // (180 * US) * 180 * US) for w in h.windows
    ],
    "views.newest_of": lambda s, h, r: s.views.newest_of(ALL_IDS),
    "views.count": lambda s, h, r: s.views.count(),
    "looks.alike": lambda s, h, r: [
        s.looks.alike(QUERY, "made", k=4, start=span(h, r)[0]),
        s.looks.alike(QUERY, "made", window_ids=[1, 2, 3, 4, 5, 6]),
        s.looks.alike(QUERY, "another"),
    ],
    "looks.vectors": lambda s, h, r: arrays(s.looks.vectors(ALL_IDS, "made")),
    "looks.missing": lambda s, h, r: (s.looks.missing("made"), s.looks.missing("another", limit=5)),
    "graph.get": lambda s, h, r: each(ALL_IDS, s.graph.get),
    "graph.nodes": lambda s, h, r: s.graph.nodes(ALL_IDS),
    "graph.find": lambda s, h, r: [s.graph.find(x) for x in ("cup", "Mug ", "kitchen", "none")],
    "graph.relations": lambda s, h, r: (
        s.graph.relations([1, 2]),
        s.graph.relations([2], ("at",), *span(h, r), limit=3),
    ),
    "graph.of_episode": lambda s, h, r: [s.graph.of_episode(i) for i in ALL_IDS],
    "graph.of_windows": lambda s, h, r: s.graph.of_windows(ALL_IDS),
    "graph.around": lambda s, h, r: s.graph.around(ALL_IDS[:9], limit=6, fan_out=3),
    "graph.count": lambda s, h, r: s.graph.count(),
    "facts.get": lambda s, h, r: each(ALL_IDS, s.facts.get),
    "facts.all": lambda s, h, r: (s.facts.all(), s.facts.all("habit", None), s.facts.all(state="retired")),
    "facts.about": lambda s, h, r: s.facts.about("wearer", None),
    "facts.many": lambda s, h, r: s.facts.many(ALL_IDS),
    "facts.with_key": lambda s, h, r: [s.facts.with_key(f"likes {i}") for i in range(4)],
    "facts.family": lambda s, h, r: s.facts.family("habit", "wearer", "washes"),
    "facts.support": lambda s, h, r: [s.facts.support(i) for i in ALL_IDS],
    "facts.rests": lambda s, h, r: [s.facts.rests(i, [f"e{n}" for n in ALL_IDS]) for i in ALL_IDS],
    "facts.versions": lambda s, h, r: [s.facts.versions(i) for i in ALL_IDS],
    "facts.vectors": lambda s, h, r: arrays(s.facts.vectors(ALL_IDS)),
    "corrections.get": lambda s, h, r: each(ALL_IDS, s.corrections.get),
    "corrections.all": lambda s, h, r: (s.corrections.all(), s.corrections.all(None)),
    "corrections.of": lambda s, h, r: [s.corrections.of(f"m{i}") for i in ALL_IDS],
    "corrections.amendments": lambda s, h, r: s.corrections.amendments(),
    "corrections.vectors": lambda s, h, r: arrays(s.corrections.vectors(ALL_IDS)),
    "standing.get": lambda s, h, r: each(ALL_IDS, s.standing.get),
    "standing.all": lambda s, h, r: s.standing.all(),
    "standing.open": lambda s, h, r: s.standing.open(),
    "patience.wishes": lambda s, h, r: (s.patience.wishes(), s.patience.wishes("snooze")),
    "patience.wish": lambda s, h, r: s.patience.wish("snooze", "place:shed"),
    "patience.newest": lambda s, h, r: s.patience.newest(),
    "patience.feedback": lambda s, h, r: (s.patience.feedback(), s.patience.feedback(r.choice(h.ends))),
    "patience.power": lambda s, h, r: (s.patience.power(), s.patience.power(r.choice(h.ends))),
    "patience.last_power": lambda s, h, r: s.patience.last_power(),
    "health.recent": lambda s, h, r: s.health.recent(5),
    "retention.pruned": lambda s, h, r: s.retention.pruned(ALL_IDS),
    "retention.behind": lambda s, h, r: [s.retention.behind(f"{letter}{i}") for letter in "wem" for i in ALL_IDS],
    "snapshot.search": searched,
    "snapshot.open_unit": lambda s, h, r: [s.open_unit(name) for name in ("one", "two", "none")],
}

# Reads that tell nothing of the memory, each with its reason.
EXEMPT = {
    "services.cursor": "how far a stage has worked, which a crash must find as it is",
    "procedures.all": "procedures are the owner's settings: those in force now, whatever the time asked about",
    "procedures.get": "the same",
    "procedures.stamp": "the same",
}


def offered() -> set[str]:
    """Every public read a snapshot offers, as "reader.method"."""
    with Store.open(None, space=SPACE) as store, store.snapshot() as snapshot:
        rooms = {name: value for name, value in vars(snapshot).items() if type(value).__name__.endswith("Reader")}
        rooms["snapshot"] = snapshot
        return {
            f"{name}.{method}"
            for name, room in rooms.items()
            for method, _ in inspect.getmembers(type(room), inspect.isfunction)
            if not method.startswith("_")
        }


def test_no_read_is_left_out() -> None:
    assert offered() == set(CALLS) | set(EXEMPT), "a new read needs a line in CALLS: it must not see the future"


# table -> which rows are of the future of `?`; deleted in this order, children first
FUTURE = {
    "feedback": "t > ? OR service_id IN (SELECT id FROM service WHERE known > ?1)",
    "wish": "t > ?",
    "power_event": "t > ?",
    "correction_effect": "correction_id IN (SELECT id FROM correction WHERE known > ?)",
    "correction_version": "known > ?",
    "fact_support": "known > ?",
    "fact_version": "known > ?",
    "fact": "known > ?",
    "correction": "known > ?",
    "relation": "known > ?",
    "alias": "known > ?",
    "node": "known > ?",
    "view": "known > ?",
    "decision": "t > ?",
    "service": "known > ?",
    "edge": "known > ?",
    "pattern_version": "known > ?",
    "pattern": "known > ?",
    "intention_version": "known > ?",
    "intention": "known > ?",
    "moment": "known > ?",
    "episode": "known > ?",
    "keyframe_look": "keyframe_id IN (SELECT k.id FROM keyframe k JOIN window w ON w.id = k.window_id WHERE w.t_end > ?)",
    "keyframe": "window_id IN (SELECT id FROM window WHERE t_end > ?)",
    "gap": "window_id IN (SELECT id FROM window WHERE t_end > ?)",
    "entity": "window_id IN (SELECT id FROM window WHERE t_end > ?)",
    "item": "window_id IN (SELECT id FROM window WHERE t_end > ?)",
    "window": "t_end > ?",
    "recording": "NOT EXISTS (SELECT 1 FROM window WHERE recording_id = recording.id AND t_end <= ?)",
    "health_event": "t > ?",
}
TIMELESS = {"meta", "migration", "cursor", "procedure", "procedure_version"}
CARE = {"pin", "pruned", "keyframe_tier", "erasure", "recorded_file"}  # what the owner and retention did, since
ASKED = {"standing", "standing_event"}  # what the owner waits for: tests/edge/agent/test_standing.py
INDEX = {"search_state", "segment", "segment_column", "posting"}  # derived from the rows, and gone with them
VECTORS = {owner: vec for vec, owner in VECTOR_TABLES}


def forget_future(store: Store, t: int) -> None:
    """Take every row of the future away by hand, without a reader's help."""
    db = store._writer
    db.execute("PRAGMA foreign_keys = OFF")
    for table, future in FUTURE.items():
        vectors = VECTORS.get(table)
        if vectors:
            for (row,) in db.execute(f"SELECT id FROM {table} WHERE {future}", (t,)).fetchall():
                db.execute(f"DELETE FROM {vectors} WHERE rowid = ?", (row,))
        db.execute(f"DELETE FROM {table} WHERE {future}", (t,))


def test_every_table_is_known_to_this_test() -> None:
    with Store.open(None, space=SPACE) as store:
        rows = store._writer.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    own = {name for name, sql in rows if "VIRTUAL" not in (sql or "") and "_vec" not in name}
    own -= {name for name in own if name.endswith("_near")}
    assert own - {"sqlite_sequence"} - INDEX == set(FUTURE) | TIMELESS | CARE | ASKED
    assert {name for name, sql in rows if "vec0" in (sql or "")} == set(VECTORS.values())


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 60), share=st.floats(0, 1), shift=st.sampled_from([-1, 0, 1]))
def test_a_snapshot_tells_what_a_memory_without_the_future_tells(
    seed: int, steps: int, share: float, shift: int
) -> None:
    with Store.open(None, space=SPACE) as full, Store.open(None, space=SPACE) as past:
        made = grow(full, seed, steps)
        grow(past, seed, steps)
        t = sorted(made.ends)[round(share * (len(made.ends) - 1))] + shift
        forget_future(past, t)
        for name, call in CALLS.items():
            with full.snapshot(t) as then, past.snapshot() as now:
                assert call(then, made, random.Random(seed)) == call(now, made, random.Random(seed)), name
        assert list(full.dump(t)) == list(past.dump())
        assert past.integrity() == []


def test_the_made_up_history_holds_something_of_every_kind() -> None:
    """Else the property above would prove little."""
    with Store.open(None, space=SPACE) as store:
        grow(store, 3, 120)
        for table in FUTURE:
            assert store._writer.execute(f"SELECT count(*) FROM {table}").fetchone()[0], table
        with store.snapshot() as snapshot:
            assert any(len(snapshot.patterns.versions(p.id)) > 2 for p in snapshot.patterns.all())
            assert {i.state for i in snapshot.intentions.all()} > {"open"}
            assert set(WHO) == set(snapshot.trace.speakers())


@pytest.mark.parametrize("until", [None, -(2**60), 2**60])
def test_every_read_of_an_empty_memory_is_calm(until: int | None) -> None:
    made = History(ends=[0, US])
    with Store.open(None, space=SPACE) as store, store.snapshot(until) as snapshot:
        for name, call in CALLS.items():
            assert call(snapshot, made, random.Random(1)) is not ..., name
