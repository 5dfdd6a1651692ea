"""The report on a memory's shape: true activities, pairs, shares and counts, each worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pytest
from tests_support import trace_of

from storage import EmbeddingSpace, Store
from storage.records import Edge, Episode, Event, Pattern, Window
from tools import report_memory

US = 1_000_000
DAY = 86_400
SPACE = EmbeddingSpace("t-4", 4)
NONE = np.zeros(4, dtype=np.float32)


def window(start_s: int, end_s: int, *events: tuple[int, str, str], recording: str = "r") -> Window:
    told = tuple(Event(t * US, "wearer", action, thing) for t, action, thing in events)
    return Window(recording, start_s * US, end_s * US, 0, events=told)


def spans(windows: list[Window]) -> list[tuple[float, float, str]]:
    return sorted((a / US, b / US, name) for a, b, name in report_memory.activities(windows))


def test_activities_are_in_force_from_their_start_to_their_finish() -> None:
    told = [
        window(0, 30, (5, "start activity", "bathing"), (6, "open", "door")),
        window(30, 60, (40, "start activity", "dressing"), (50, "finish activity", "bathing")),
        window(60, 90, (70, "finish activity", "grooming")),
    ]
    assert spans(told) == [(5, 50, "bathing"), (40, 90, "dressing")], "what is not finished lasts to the end"


def test_a_recipe_ends_where_the_next_begins_and_a_long_pause_ends_all() -> None:
    told = [
        window(0, 30, (5, "start recipe", "soup"), (6, "start step", "peel")),
        window(30, 60, (40, "start recipe", "salad")),
        window(60 + 1201, 60 + 1230, (60 + 1210, "start recipe", "cake")),
        window(60 + 1230, 60 + 1260, recording="other"),
    ]
    assert spans(told) == [(5, 40, "soup"), (6, 60, "peel"), (40, 60, "salad"), (1270, 1290, "cake")]


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        ([], ""),
        ([(500, 900, "a")], ""),
        ([(0, 100, "a"), (150, 350, "b")], "b"),
        ([(0, 149, "a"), (0, 149, "b")], "a"),  # alike: by name
        ([(0, 120, "a"), (180, 210, "a"), (110, 165, "b")], "b"),  # 20 and 20 s against 55
    ],
)
def test_the_true_activity_is_in_force_for_most_of_an_episode(held: list[tuple[int, int, str]], wanted: str) -> None:
    episode = Episode("r", 100 * US, 200 * US, 0, "", "", (), "", "", 1, 1, "cap", 200 * US)
    assert report_memory.true_activity(episode, [(a * US, b * US, name) for a, b, name in held]) == wanted


@pytest.fixture
def memory() -> Iterator[tuple[Store, Callable[[int, str, int], None]]]:
    """A memory, and a way to give it an episode of a minute: when, doing what, in which pattern (0: none)."""
    with Store.open(None, space=SPACE) as store:
        held: dict[int, int] = {}

        def live(start_s: int, name: str, pattern: int) -> None:
            start, end = start_s * US, (start_s + 60) * US
            events = [(start_s, "start activity", name), (start_s + 59, "finish activity", name)] if name else []
            with store.transaction() as tx:
                number = tx.trace.add(window(start_s, start_s + 60, *events), NONE)
                made = Episode("r", start, end, 0, name, "", (), "", "", number, number, "cap", end)
                episode = tx.episodes.add(made, NONE)
                if pattern:
                    held[pattern] = held.get(pattern, 0) + 1
                    known = pattern in {p.id for p in tx.snapshot().patterns.all()}
                    kind = "routine" if pattern == 1 else "thread"
                    version = Pattern(kind, name, "", (), 1.0, held[pattern], 1, 1.0, None, None, end)  # type: ignore[arg-type]
                    if known:
                        version = replace(version, id=pattern)
                    tx.patterns.put(version, NONE)
                    tx.patterns.link(Edge(pattern, episode, "core", 1.0, end))

        yield store, live


def test_pairs_of_different_days_are_judged(memory: tuple[Store, Callable[[int, str, int], None]]) -> None:
    store, live = memory
    live(100, "tea", 1)
    live(5000, "tea", 1)  # the same day: no pair
    live(DAY, "tea", 1)  # two pairs, true and found
    live(DAY + 5000, "soup", 1)  # two pairs with the first day: found, not true
    live(2 * DAY, "tea", 2)  # three pairs: true, not found; and one with the soup: neither
    live(2 * DAY + 5000, "", 2)  # of no activity: left out
    with store.snapshot() as snapshot:
        told = report_memory.pairs(snapshot)
    assert (told["judged"], told["activities"]) == (5, 2)
    assert (told["precision"], told["recall"]) == (0.5, 0.4)
    assert told["f1"] == round(2 * 0.5 * 0.4 / 0.9, 3)
    assert told["times"] == {}, "nothing was done on five days"


def test_the_shape_is_counted(memory: tuple[Store, Callable[[int, str, int], None]]) -> None:
    store, live = memory
    for n in range(6):
        live(n * 1000, "tea", 1)
    live(DAY, "soup", 2)
    live(DAY + 1000, "walk", 3)
    live(DAY + 2000, "", 0)
    with store.snapshot() as snapshot:
        assert report_memory.shape(snapshot) == {
            "days": 2, "episodes": 9, "moments": 0, "per_episode": 0.0, "patterns": 3, "per_pattern": 2.67, "largest": 0.75,
            "routines": 1, "opened": [1, 2],
        }  # fmt: skip


def test_a_trace_is_grown_and_kept(tmp_path: Path) -> None:
    begun = datetime(2026, 3, 2, 9, tzinfo=timezone.utc)
    trace = trace_of(
        tmp_path, begun, 40, lambda n: [("open", "fridge"), ("wash", "bowl")] if n < 20 else [("dig", "bed")]
    )
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "made.db").write_text("an older one")
    row = report_memory.one((str(trace), True, str(tmp_path / "kept")))
    assert (row["recording"], row["windows"], row["days"], row["hours"]) == ("made", 40, 1, 0.3)
    assert row["s_per_hour"] > 0
    assert report_memory.show(row).splitlines()[0].split()[:5] == ["made", "0.3", "1", "40", str(row["episodes"])]
    with Store.open(tmp_path / "kept" / "made.db", read_only=True) as store, store.snapshot() as snapshot:
        assert snapshot.episodes.count() == row["episodes"] >= 2
        assert snapshot.moments.count() == row["moments"]
        assert snapshot.patterns.count() == row["patterns"]
