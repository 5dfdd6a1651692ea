"""Two devices' memories into one: nothing lost, nothing doubled, the same every time, patterns over both."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from conftest import make_day, write_trace

from edge.clock import ReplayClock
from edge.config import Config
from edge.errors import InputError
from edge.merging import merge
from edge.pipeline import Pipeline
from edge.recorder import read_trace
from edge.replay import replay
from storage import EmbeddingSpace, Store
from storage.cipher import Secret
from storage.errors import BadRecord
from storage.keyframes import KeyframeFolder, folder_of
from storage.merge import COPIED, LEFT, REGROWN
from storage.migrations import VECTOR_TABLES
from storage.records import Keyframe

SPACE = EmbeddingSpace("wordllama-256", 256)
BASE = datetime(2026, 3, 2, 7, 0, tzinfo=timezone(timedelta(hours=1)))


def grown(folder: Path, name: str, sessions: list[tuple[str, int, float]], embed: Any) -> Path:
    """A memory of recordings: (name, seed, hours after the base)."""
    path = folder / name / "m.db"
    frames = KeyframeFolder(folder_of(path))
    with Store.open(path, space=SPACE) as store:
        for recording, seed, hours in sessions:
            rows = make_day(random.Random(seed), recording, BASE + timedelta(hours=hours), 30)
            for n, row in enumerate(rows[::10]):
                start = datetime.fromisoformat(row["t_start"])
                t = int(start.timestamp() * 1_000_000)
                kept: Keyframe = frames.save(t, b"\xff\xd8 %s %d" % (recording.encode(), n), 4, 4)
                row["keyframes"] = [
                    {"t": row["t_start"], "file": kept.file, "sha256": kept.sha256, "width": 4, "height": 4, "size": kept.size}
                ]  # fmt: skip
            replay(write_trace(folder / f"{recording}.jsonl", rows), store, embed, Config())
    return path


A = [("a-1", 1, 0.0), ("a-2", 2, 30.0)]
B = [("b-1", 3, 5.0), ("b-2", 1, 26.0)]


def rows_of(store: Store, table: str) -> list[dict[str, Any]]:
    return [r for r in map(json.loads, store.dump()) if r["table"] == table]


def without_ids(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(
        json.dumps(
            {
                k: v
                for k, v in r.items()
                if k != "id" and not k.endswith("_id") and not k.endswith("_window") and k != "evidence"
            }
        )
        for r in rows
    )


def test_every_table_has_its_place(tmp_path: Path) -> None:
    with Store.open(None, space=SPACE) as store:
        tables = {n for n, sql in store.schema() if sql.startswith("CREATE TABLE")}
    own = {t for t in tables if not any(t.startswith(f"{v}_") for v, _ in VECTOR_TABLES) and not t.endswith("_near")}
    copied = {rows.table for rows in COPIED}
    assert own - {"sqlite_sequence"} == copied | REGROWN | set(LEFT)
    assert not copied & REGROWN
    assert not (copied | REGROWN) & set(LEFT)


def test_a_merge_holds_what_both_held(tmp_path: Path, embed: Any) -> None:
    a, b = grown(tmp_path, "a", A, embed), grown(tmp_path, "b", B, embed)
    with Store.open(a) as ours, Store.open(b, read_only=True) as theirs:
        before = {t: (without_ids(rows_of(ours, t)), without_ids(rows_of(theirs, t))) for t in
                  ("recording", "window", "item", "entity", "keyframe", "gap", "episode", "moment", "intention", "service", "decision")}  # fmt: skip
        report = merge(ours, theirs, embed, Config())
        assert (report.recordings, report.windows, report.keyframes) == (2, 60, 6)
        assert report.here == report.missing == ()
        for table, (one, two) in before.items():
            assert without_ids(rows_of(ours, table)) == sorted(one + two), table
        assert ours.integrity() == []
        with ours.snapshot() as snapshot:
            for episode in snapshot.episodes.between():
                assert {w.recording for w in snapshot.trace.span(episode.first_window, episode.last_window)} == {
                    episode.recording
                }
            for pattern in snapshot.patterns.all():
                assert pattern.recurrence == len(snapshot.patterns.edges(pattern.id))
            both = [
                {snapshot.episodes.get(e.episode_id).recording[0] for e in snapshot.patterns.edges(p.id)}
                for p in snapshot.patterns.all()
            ]
            assert {"a", "b"} in both, "an errand of both devices is one errand"
            for service in snapshot.services.between():
                for ref in service.evidence:
                    if ref[0] == "w":
                        assert abs(snapshot.trace.window(int(ref[1:])).t_end - service.known) < 86_400_000_000 * 3
            for hit in snapshot.search("moment", "water tomatoes"):
                snapshot.moments.get(hit.id)
        frames = KeyframeFolder(folder_of(a))
        with ours.snapshot() as snapshot:
            assert len([frames.read(k) for k in snapshot.trace.keyframes()]) == 12


def test_a_merge_is_the_same_every_time_and_twice_is_once(tmp_path: Path, embed: Any) -> None:
    b = grown(tmp_path, "b", B, embed)
    dumps = []
    for n in range(2):
        a = grown(tmp_path, f"a{n}", A, embed)
        with Store.open(a) as ours, Store.open(b, read_only=True) as theirs:
            merge(ours, theirs, embed, Config())
            dumps.append(list(ours.dump()))
            again = merge(ours, theirs, embed, Config())
            assert (again.recordings, again.here) == (0, ("b-1", "b-2"))
            assert list(ours.dump()) == dumps[-1]
    assert dumps[0] == dumps[1]


def test_no_row_of_a_merged_memory_sees_its_future(tmp_path: Path, embed: Any) -> None:
    a, b = grown(tmp_path, "a", A, embed), grown(tmp_path, "b", B, embed)
    with Store.open(a) as ours, Store.open(b, read_only=True) as theirs:
        merge(ours, theirs, embed, Config())
        with ours.snapshot() as everything:
            ends = [w.t_end for w in everything.trace.windows()]
        for t in ends[::7]:
            with ours.snapshot(t) as snapshot:
                windows = {w.id for w in snapshot.trace.windows()}
                for episode in snapshot.episodes.between():
                    assert {episode.first_window, episode.last_window} <= windows
                for pattern in snapshot.patterns.all():
                    edges = snapshot.patterns.edges(pattern.id)
                    assert pattern.recurrence == len(edges)
                    assert all(snapshot.episodes.get(e.episode_id).known <= t for e in edges)


def test_a_merge_that_was_cut_short_goes_on(tmp_path: Path, embed: Any) -> None:
    class PowerCut(BaseException):
        pass

    def stop(number: int, _: int) -> None:
        raise PowerCut

    a, b = grown(tmp_path, "a", A, embed), grown(tmp_path, "b", B, embed)
    with Store.open(a) as ours, Store.open(b, read_only=True) as theirs:
        with pytest.raises(PowerCut):
            merge(ours, theirs, embed, Config(), stop)
        assert ours.integrity() == []
        report = merge(ours, theirs, embed, Config())
        assert (report.recordings, report.here) == (1, ("b-1",))
        cut = list(ours.dump())
    with Store.open(grown(tmp_path, "a2", A, embed)) as ours, Store.open(b, read_only=True) as theirs:
        merge(ours, theirs, embed, Config())
        assert list(ours.dump()) == cut


def test_a_plain_memory_takes_an_encrypted_one_and_the_other_way(tmp_path: Path, embed: Any) -> None:
    from storage import cipher, cipher_swap

    key = Secret.of("33" * 32)
    a, b = grown(tmp_path, "a", A, embed), grown(tmp_path, "b", B, embed)
    cipher_swap.encrypt(b, key)
    try:
        cipher.provide(lambda _: key)
        with Store.open(a) as ours, Store.open(b, read_only=True) as theirs:
            assert merge(ours, theirs, embed, Config()).keyframes == 6
        with Store.open(b) as ours, Store.open(a, read_only=True) as theirs:
            assert merge(ours, theirs, embed, Config()).keyframes == 6
        for path in (a, b):
            with Store.open(path) as store, store.snapshot() as snapshot:
                assert len([KeyframeFolder(folder_of(path)).read(k) for k in snapshot.trace.keyframes()]) == 12
            assert cipher_swap.unfinished(path) == 0
    finally:
        cipher.provide(None)


def test_another_recording_of_the_same_name_is_refused_before_anything_is_taken(tmp_path: Path, embed: Any) -> None:
    a, b = grown(tmp_path, "a", A, embed), grown(tmp_path, "b", [("b-1", 3, 5.0), ("a-1", 9, 90.0)], embed)
    with Store.open(a) as ours, Store.open(b, read_only=True) as theirs:
        before = list(ours.dump())
        with pytest.raises(BadRecord, match="a-1, and they differ"):
            merge(ours, theirs, embed, Config())
        assert list(ours.dump()) == before


def test_vectors_of_another_model_are_refused(tmp_path: Path, embed: Any) -> None:
    with (
        Store.open(None, space=SPACE) as ours,
        Store.open(None, space=EmbeddingSpace("other", 8)) as theirs,
        pytest.raises(InputError, match="other"),
    ):
        merge(ours, theirs, embed, Config())


def test_what_was_under_way_on_both_is_closed_and_each_goes_on(tmp_path: Path, embed: Any) -> None:
    config, paths = Config(), []
    for name, hours in (("a", 0.0), ("b", 100.0)):
        path = tmp_path / name / "m.db"
        rows = make_day(random.Random(5), f"{name}-open", BASE + timedelta(hours=hours), 12)
        with Store.open(path, space=SPACE) as store:
            pipeline = Pipeline(store, embed, config, ReplayClock())
            for window in read_trace(write_trace(tmp_path / f"{name}.jsonl", rows), 5.0):
                pipeline.step(window)
        paths.append(path)
    with Store.open(paths[0]) as ours, Store.open(paths[1], read_only=True) as theirs:
        merge(ours, theirs, embed, config)
        with ours.snapshot() as snapshot:
            for name in ("a-open", "b-open"):
                assert snapshot.open_unit(name).windows == ()
                assert snapshot.episodes.last(name) is not None
        assert Pipeline(ours, embed, config, ReplayClock()).catch_up() == [], "nothing is said about the past"
