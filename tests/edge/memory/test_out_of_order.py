"""Recordings that come in another order than they happened: patterns say at every time what their edges say."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta, timezone
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from tests_support import trace_of

from edge.clock import ReplayClock
from edge.config import Config
from edge.memory.growth import Growth
from edge.pipeline import Pipeline
from edge.recorder import read_trace
from storage import EmbeddingSpace, Snapshot, Store
from storage.records import Window

SPACE = EmbeddingSpace("wordllama-256", 256)
START = datetime(2026, 3, 2, 8, 0, tzinfo=timezone.utc)
DISHES = [("wash", "plate"), ("turn on", "tap"), ("dry", "cup")]
WRITING = [("open", "laptop"), ("type", "report"), ("read", "letter")]


def session(folder: Path, name: str, start: datetime, acts: list[tuple[str, str]], windows: int = 8) -> list[Window]:
    """One recording of one job."""
    path = trace_of(folder, start, windows, lambda _: acts)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    path.write_text("".join(json.dumps({**line, "recording": name}) + "\n" for line in lines), encoding="utf-8")
    return list(read_trace(path, 5.0))


def week(folder: Path) -> list[list[Window]]:
    """Ten sessions over five days, two jobs in turn."""
    made = []
    for day in range(5):
        made.append(session(folder, f"dishes-{day}", START + timedelta(days=day), DISHES))
        made.append(session(folder, f"writing-{day}", START + timedelta(days=day, hours=2), WRITING))
    return made


def grown(sessions: list[list[Window]], embed: Any) -> Store:
    store = Store.open(None, space=SPACE)
    for windows in sessions:
        growth = Growth(store, embed, Config().memory)
        for window in windows:
            growth.step(window)
        growth.end()
    return store


def times(snapshot: Snapshot) -> list[int]:
    return sorted({e.known for e in snapshot.episodes.between()})


def check(store: Store) -> None:
    """At every time each pattern counts the episodes that its edges show then, and no later ones."""
    with store.snapshot() as everything:
        knowns = times(everything)
    for t in knowns:
        with store.snapshot(t) as snapshot:
            for pattern in snapshot.patterns.all():
                edges = snapshot.patterns.edges(pattern.id)
                assert pattern.recurrence == len(edges)
                assert pattern.known == max(snapshot.episodes.get(e.episode_id).known for e in edges) <= t
                assert [p.version for p in snapshot.patterns.versions(pattern.id)] == list(
                    range(1, pattern.version + 1)
                )
    assert store.integrity() == []


def told(store: Store) -> list[tuple[Any, ...]]:
    """What the patterns come to, without ids."""
    with store.snapshot() as snapshot:
        return sorted((p.title, p.recurrence, p.days, p.typical_minute, p.summary) for p in snapshot.patterns.all())


@pytest.mark.parametrize("seed", range(4))
def test_whatever_the_order_of_arrival_patterns_agree_with_their_edges(seed: int, tmp_path: Path, embed: Any) -> None:
    sessions = week(tmp_path)
    with grown(sessions, embed) as expected:
        check(expected)
        one_by_one = told(expected)
        assert {row[1] for row in one_by_one} == {5}
    first, rest = sessions[:2], sessions[2:]
    random.Random(seed).shuffle(rest)
    with grown([*first, *rest], embed) as store:
        check(store)
        assert told(store) == one_by_one, "the same sessions, the same patterns"


def test_what_comes_in_late_is_not_the_newest(tmp_path: Path, embed: Any) -> None:
    orders = enumerate(permutations(DISHES))  # the same words, each time in another order
    days = [session(tmp_path, f"dishes-{n}", START + timedelta(days=n), list(acts)) for n, acts in orders]
    with grown([*days[:1], *days[4:], *days[1:4]], embed) as store, store.snapshot() as snapshot:
        (pattern,) = snapshot.patterns.all()
        newest = snapshot.patterns.newest(pattern.id, 3)
        assert [m.recording for m in newest] == ["dishes-3", "dishes-4", "dishes-5"]
        held = snapshot.patterns.newest(pattern.id, 20)
        assert [m.recording for m in held] == [f"dishes-{n}" for n in range(6)]
        assert len({m.subject for m in held}) == 6
        assert snapshot.patterns.subjects(pattern.id, 3) == [m.subject for m in reversed(newest)]


def test_a_recording_that_goes_on_takes_nothing_from_those_after_it(tmp_path: Path, embed: Any) -> None:
    """It ends, others with the same job are closed, then it goes on within its gap: only its own end is taken back."""
    before = session(tmp_path, "dishes-0", START - timedelta(days=1), DISHES)
    torn = session(tmp_path, "torn", START, DISHES, 16)
    others = [session(tmp_path, f"other-{n}", START + timedelta(hours=n + 1), DISHES) for n in range(3)]
    with grown([before, torn[:8], *others, torn[8:]], embed) as store:
        check(store)
        with store.snapshot() as snapshot:
            (pattern,) = snapshot.patterns.all()
            joined = {snapshot.episodes.get(e.episode_id).recording for e in snapshot.patterns.edges(pattern.id)}
            assert joined == {"dishes-0", "torn", "other-0", "other-1", "other-2"}
            assert pattern.recurrence == 5
            (episode,) = [e for e in snapshot.episodes.between() if e.recording == "torn"]
            assert (episode.t_start, episode.t_end) == (torn[0].t_start, torn[-1].t_end)


def test_a_pattern_that_rested_on_the_torn_end_alone_is_kept_for_the_others(tmp_path: Path, embed: Any) -> None:
    torn = session(tmp_path, "torn", START, DISHES, 16)
    others = [session(tmp_path, f"other-{n}", START + timedelta(hours=n + 1), DISHES) for n in range(2)]
    with grown([torn[:8], *others, torn[8:]], embed) as store:
        check(store)
        with store.snapshot() as snapshot:
            assert sum(p.recurrence for p in snapshot.patterns.all()) == 3


def test_the_experts_bear_it_too(tmp_path: Path, embed: Any) -> None:
    sessions = week(tmp_path)
    with Store.open(None, space=SPACE) as store:
        for windows in (*sessions[4:], *sessions[:4]):
            pipeline = Pipeline(store, embed, Config(), ReplayClock())
            for window in windows:
                pipeline.step(window)
            pipeline.end()
        check(store)
