"""GROVE's deterministic rules on made-up and on real days: cuts, caps, moments, patterns."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests_support import trace_of

from edge.clock import US, local_day
from edge.config import Config
from edge.memory import moments
from edge.replay import replay
from storage import EmbeddingSpace, Snapshot, Store

SPACE = EmbeddingSpace("wordllama-256", 256)


def grown(path: Path, trace: Path, embed: Any) -> Store:
    store = Store.open(path, space=SPACE, synchronous="normal")
    replay(trace, store, embed, Config())
    return store


def check_rules(snapshot: Snapshot, cap_s: float = 600.0, gap_s: float = 60.0) -> None:
    windows = {w.id: w for w in snapshot.trace.windows()}
    covered: list[int] = []
    for episode in snapshot.episodes.between():
        own = [windows[i] for i in range(episode.first_window, episode.last_window + 1)]
        covered += [w.id for w in own]
        assert episode.t_end - episode.t_start <= cap_s * US
        assert (episode.t_start, episode.t_end) == (own[0].t_start, own[-1].t_end)
        assert all(b.t_start - a.t_end <= gap_s * US for a, b in pairwise(own))
        assert len({local_day(w.t_start, w.offset_s) for w in own}) == 1
        found = snapshot.moments.of_episode(episode.id)
        things = {x.text for w in own for x in (*w.captions, *w.texts, *w.speech)}
        things |= {f"{e.action} {e.object}" for w in own for e in w.events}
        assert min(5, len(things)) <= len(found) <= 200
        assert len(found) <= max(5, math.floor(1.5 * moments.target(episode.t_end - episode.t_start)))
        times = [m.t for m in found]
        assert times == sorted(times)
        assert all(episode.t_start <= t <= episode.t_end for t in times)
        dated = {x.t for w in own for x in (*w.captions, *w.events, *w.texts, *w.speech)} | {w.t_start for w in own}
        assert set(times) <= dated, "a moment's time is copied from something perceived"
    assert covered == sorted(windows), "every window belongs to exactly one episode once the recording has ended"
    ids = {e.id for e in snapshot.episodes.between()}
    for pattern in snapshot.patterns.all():
        members = [e.episode_id for e in snapshot.patterns.edges(pattern.id)]
        assert members
        assert set(members) <= ids
        assert len(members) == pattern.recurrence == len(set(members))


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 8))])
def test_rules_hold_on_made_up_days(seed: int, day: Callable[..., Path], embed: Any, tmp_path: Path) -> None:
    with grown(tmp_path / "m.db", day(seed, 120), embed) as store, store.snapshot() as snapshot:
        check_rules(snapshot)
        assert snapshot.episodes.count() > 3
        assert store.integrity() == []


@pytest.mark.parametrize(
    "name",
    [
        "holo/holo-z029",
        "locomo/locomo-30",
        pytest.param("epic/epic-P16", marks=pytest.mark.slow),
        pytest.param("hdepic/hdepic-P07", marks=pytest.mark.slow),
    ],
)
def test_rules_hold_on_real_days(name: str, recorded: Path, embed: Any, tmp_path: Path) -> None:
    trace = recorded / "open" / f"{name}.trace.jsonl"
    with grown(tmp_path / "m.db", trace, embed) as store, store.snapshot() as snapshot:
        check_rules(snapshot)


def test_local_midnight_forces_a_cut(embed: Any, tmp_path: Path) -> None:
    start = datetime(2026, 3, 1, 23, 56, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    trace = trace_of(tmp_path, start, 16, lambda _: [("stir", "soup")])
    with grown(tmp_path / "m.db", trace, embed) as store, store.snapshot() as snapshot:
        found = snapshot.episodes.between()
    assert [(e.cut, e.last_window - e.first_window + 1) for e in found] == [("day", 8), ("gap", 8)]


def test_a_calm_stream_is_cut_at_the_cap_and_the_next_unit_starts_empty(embed: Any, tmp_path: Path) -> None:
    start = datetime(2026, 3, 2, 9, tzinfo=timezone.utc)
    trace = trace_of(tmp_path, start, 45, lambda _: [("stir", "soup")])
    with grown(tmp_path / "m.db", trace, embed) as store, store.snapshot() as snapshot:
        found = snapshot.episodes.between()
    assert [e.cut for e in found] == ["cap", "cap", "gap"]
    assert [e.last_window - e.first_window + 1 for e in found] == [20, 20, 5]


def test_a_change_of_activity_starts_the_next_unit_with_the_window_that_shows_it(embed: Any, tmp_path: Path) -> None:
    start = datetime(2026, 3, 2, 9, tzinfo=timezone.utc)
    acts = {False: [("stir", "soup"), ("taste", "soup")], True: [("hammer", "nail"), ("saw", "plank")]}
    trace = trace_of(tmp_path, start, 16, lambda n: acts[n >= 8])
    with grown(tmp_path / "m.db", trace, embed) as store, store.snapshot() as snapshot:
        first, second = snapshot.episodes.between()
    assert first.cut == "change"
    assert (first.last_window, second.first_window) == (8, 9)


@pytest.mark.parametrize(("seconds", "wanted"), [(1, 1), (300, 60), (301, 31), (900, 90), (901, 46), (600, 60)])
def test_moment_density_is_groves(seconds: int, wanted: int) -> None:
    assert moments.target(seconds * US) == wanted
