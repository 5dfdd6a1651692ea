"""Procedures kept with the memory: loaded, followed by replay, told where one is, and the shorter units they bring."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from edge.clock import US, ReplayClock
from edge.config import Config
from edge.errors import InputError
from edge.messages import EpisodeClosed, Message, ServiceAsked
from edge.pipeline import Pipeline
from edge.proactive.library import add, progress, remove, stored, under_way
from storage import EmbeddingSpace, Store
from storage.errors import NotFound
from storage.records import Caption, Event, Window

SPACE = EmbeddingSpace("wordllama-256", 256)
NINE = int(datetime(2026, 3, 2, 9, tzinfo=timezone.utc).timestamp()) * US
STEPS = ["Fill the kettle with water", "Boil the water", "Put a tea bag in the cup", "Pour the water into the cup",
         "Take out the tea bag", "Stir honey into the tea"]  # fmt: skip
FILE = {"Herbal Tea": {"steps": STEPS, "before": [[STEPS[0], STEPS[1]], [STEPS[1], STEPS[3]], [STEPS[2], STEPS[3]], [STEPS[3], STEPS[4]]]},
        "Toast": {"steps": ["Cut the bread", "Toast the bread", "Spread butter on the bread"]}}  # fmt: skip


def window(n: int, *told: str, recording: str = "day") -> Window:
    t = NINE + n * 30 * US
    return Window(
        recording,
        t,
        t + 30 * US,
        0,
        captions=tuple(Caption(t + (i * 5 + 1) * US, text) for i, text in enumerate(told)),
        frames=6,
    )


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open(None, space=SPACE) as opened:
        yield opened


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kitchen.json"
    path.write_text(json.dumps(FILE), encoding="utf-8")
    return path


def feed(store: Store, embed: Any, windows: list[Window], *, restart: bool = False) -> list[Message]:
    clock = ReplayClock()
    pipeline, told = Pipeline(store, embed, Config(), clock), []
    for w in windows:
        if restart:
            pipeline = Pipeline(store, embed, Config(), clock)
            told += pipeline.catch_up()
        told += pipeline.step(w)
    return told + pipeline.end()


def day() -> list[Window]:
    return [
        window(0, "start Herbal Tea"), window(1, STEPS[0], STEPS[1]), window(2, STEPS[3]), window(3, STEPS[5]),
        *(window(n, "look out of the window") for n in range(4, 12)),
    ]  # fmt: skip


def test_a_file_is_loaded_listed_renewed_and_removed(store: Store, file: Path) -> None:
    assert add(store, file, NINE) == ["Herbal Tea", "Toast"]
    with store.snapshot() as snapshot:
        known = stored(snapshot)
        first = snapshot.procedures.stamp()
        assert known["Toast"].steps == ("Cut the bread", "Toast the bread", "Spread butter on the bread")
        assert known["Herbal Tea"].open_after(frozenset()) == [0, 2, 5]
    file.write_text(json.dumps({"Toast": {"steps": ["Toast the bread"]}}), encoding="utf-8")
    add(store, file, NINE + US)
    with store.snapshot() as snapshot:
        assert stored(snapshot)["Toast"].steps == ("Toast the bread",)
        assert snapshot.procedures.get("toast").version == 2
        assert snapshot.procedures.stamp() != first
    assert remove(store, "toast", NINE + 2 * US) == ["Toast"]
    assert remove(store, "all", NINE + 3 * US) == ["Herbal Tea"]
    with store.snapshot() as snapshot:
        assert stored(snapshot) == {}
    for name in ("Toast", "all", str(file)):
        with pytest.raises(NotFound):
            remove(store, name, NINE)


@pytest.mark.parametrize(
    "text", ['{"a": {"steps": ["x"], "before": [["x", "y"]]}}', '{"a": 3}', "[]", "no", '{"": {"steps": ["x"]}}']
)
def test_a_file_that_is_none_leaves_nothing_behind(store: Store, file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError):
        add(store, file, NINE)
    with store.snapshot() as snapshot:
        assert snapshot.procedures.all() == []


def test_known_errors_are_stored_and_told_at_the_steps_that_are_next(store: Store, embed: Any, file: Path) -> None:
    wrong = {"step": STEPS[2], "error": "Put two tea bags in the cup", "remedy": "take one out"}
    file.write_text(json.dumps({"Herbal Tea": {**FILE["Herbal Tea"], "errors": [wrong]}}), encoding="utf-8")
    add(store, file, NINE)
    feed(store, embed, day()[:2])
    with store.snapshot() as snapshot:
        found = progress(snapshot)
        assert found is not None
        assert found.to_json()["watch"] == [wrong]


def test_the_recipes_of_the_recorded_data_load(store: Store, recorded: Path) -> None:
    names = add(store, recorded / "open" / "cc4d" / "recipes.json", NINE)
    with store.snapshot() as snapshot:
        assert len(names) == len(stored(snapshot)) == 24


def test_where_the_wearer_is_and_what_was_skipped(store: Store, embed: Any, file: Path) -> None:
    add(store, file, NINE)
    feed(store, embed, day()[:4])
    with store.snapshot() as snapshot:
        found = progress(snapshot)
        assert found is not None
        assert under_way(snapshot) == "day"
        told = found.to_json()
    assert told["procedure"] == "Herbal Tea"
    assert told["done"] == [STEPS[0], STEPS[1], STEPS[3], STEPS[5]]
    assert told["skipped"] == [STEPS[2]]
    assert told["ready"] == [STEPS[2], STEPS[4]]
    with store.snapshot(NINE + 61 * US) as early:
        found = progress(early)
        assert found is not None
        assert found.done == (0, 1)
        assert found.skipped == ()


def test_stored_procedures_are_followed_and_shorten_units(embed: Any, file: Path) -> None:
    with Store.open(None, space=SPACE) as with_them, Store.open(None, space=SPACE) as without:
        add(with_them, file, NINE)
        told, plain = feed(with_them, embed, day()), feed(without, embed, day())
    asked = [m.service.type for m in told if isinstance(m, ServiceAsked)]
    assert "task_reminder" in asked or "error_recovery" in asked
    assert not [m for m in plain if isinstance(m, ServiceAsked)]
    units = [m.episode for m in told if isinstance(m, EpisodeClosed)]
    assert all(e.t_end - e.t_start <= 90 * US for e in units)
    assert len(units) > len([m for m in plain if isinstance(m, EpisodeClosed)])


def test_a_restart_follows_on(embed: Any, file: Path) -> None:
    with Store.open(None, space=SPACE) as one, Store.open(None, space=SPACE) as two:
        for s in (one, two):
            add(s, file, NINE)
        feed(one, embed, day())
        feed(two, embed, day(), restart=True)
        assert list(one.dump()) == list(two.dump())


def test_a_procedure_added_meanwhile_is_taken_up(store: Store, embed: Any, file: Path) -> None:
    pipeline = Pipeline(store, embed, Config(), ReplayClock())
    for w in day()[:2]:
        pipeline.step(w)
    assert not pipeline.proactive.under_way
    add(store, file, NINE)
    for w in day()[2:4]:
        pipeline.step(w)
    assert pipeline.proactive.under_way
    remove(store, "all", NINE)
    pipeline.step(window(4, STEPS[4]))
    assert not pipeline.proactive.under_way


def test_another_recording_is_not_cut_short(store: Store, embed: Any, file: Path) -> None:
    add(store, file, NINE)
    other = [Window(w.recording + "2", w.t_start + 40 * 30 * US, w.t_end + 40 * 30 * US, 0, events=(
        Event(w.t_start + 40 * 30 * US + US, "wearer", "sweep", "path"),), frames=6) for w in day()]  # fmt: skip
    told = feed(store, embed, [*day()[:4], *other])
    last = [m.episode for m in told if isinstance(m, EpisodeClosed) and m.episode.recording == "day2"]
    assert [(e.t_end - e.t_start) // US for e in last] == [360]
