"""The four skills over a small memory of every stratum, and the same calls as tools for a model."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest

from edge.errors import InputError
from edge.retrieval.skills import Skills
from edge.retrieval.tools import TOOLS, call
from storage.records import Caption, Edge, Entity, Episode, Event, Moment, Pattern, SeenText, Utterance, Window
from storage.store import EmbeddingSpace, Store

MINUTE = 60_000_000
NOTHING = np.zeros(8, dtype=np.float32)


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    """Three days on which the wearer waters tomatoes on a balcony; on the second a neighbour calls over."""
    store = Store.open(None, space=EmbeddingSpace("test", 8))
    with store.transaction() as tx:
        pattern = 0
        for day in range(3):
            start = day * 1440 * MINUTE
            window = tx.trace.add(
                Window(
                    "balcony", start, start + MINUTE, 0,
                    captions=(Caption(start + 5_000_000, "water runs over the tomato pots"),),
                    description="watering tomatoes on the balcony",
                    entities=(Entity("watering can", 1, ("green",), "balcony"), Entity("tomato plant", 4)),
                    events=(
                        Event(start + 1_000_000, "wearer", "fill", "watering can"),
                        Event(start + 6_000_000, "wearer", "water", "tomato plant"),
                        Event(start + 6_000_000, "wearer", "water", "tomato plant"),
                        Event(start + 40_000_000, "wearer", "waters", "basil plant"),
                    ),
                    texts=(SeenText(start + 9_000_000, "ORGANIC FERTILISER 5 L"),),
                    speech=(Utterance(start + 20_000_000, "Ines", "Your tomatoes look splendid"),) if day == 1 else (),
                ),
                NOTHING,
            )  # fmt: skip
            known = start + MINUTE
            episode = tx.episodes.add(
                Episode(
                    "balcony", start, known, 0, "watering the tomatoes", "The wearer waters tomatoes.", ("tomato", "water"),
                    "", "balcony", window, window, "gap", known,
                ),
                NOTHING,
            )  # fmt: skip
            for n in range(3):
                tx.moments.add(
                    Moment(
                        episode, window, start + n * 10_000_000, 0, f"tomato pot {n} is watered", ("tomato",), "core",
                        0.9 - n / 10, "habit", "balcony", known,
                    ),
                    NOTHING,
                )  # fmt: skip
            pattern = tx.patterns.put(
                Pattern(
                    "routine", "Watering the balcony", "Tomatoes are watered every morning.", ("tomato",), 0.9, day + 1,
                    day + 1, 1.0, 0, 5, known, id=pattern,
                ),
                NOTHING,
            )  # fmt: skip
            tx.patterns.link(Edge(pattern, episode, "core", 0.8, known))
    yield store
    store.close()


def ids(found: list) -> list[str]:
    return [e.id for e in found]


def test_perception_lookup(store: Store) -> None:
    with store.snapshot() as snapshot:
        skills = Skills(snapshot)
        assert [e.text for e in skills.recent_captions()] == ["water runs over the tomato pots"]
        assert ids(skills.global_captions("balcony tomatoes")) == ["w1", "w2", "w3"]
        assert [e.id for e in skills.search_text("fertiliser organic")] == ["w3", "w2", "w1"]
        assert len(skills.text_in_range(0, 1440 * MINUTE)) == 1
        assert ids(skills.search_events("splendid tomatoes", person="ines")) == ["w2"]
        assert skills.search_entities("can", place="balcony")[0].text == "watering can (green, balcony)"
        assert skills.search_entities("can", place="cellar") == []
        assert skills.calls == 7


def test_counting_states_its_rule(store: Store) -> None:
    with store.snapshot() as snapshot:
        skills = Skills(snapshot)
        plants = skills.count_events("water", "plant")
        assert plants.n == 6  # two a day: the doubled instant counts once
        assert "once" in plants.rule
        assert skills.count_events("water", "tomato plant", 0, MINUTE).n == 1
        assert skills.count_events("burn", "plant").n == 0


def test_moments_and_episodes(store: Store) -> None:
    with store.snapshot() as snapshot:
        skills = Skills(snapshot)
        assert len(skills.search_moments("tomato pot", k=4)) == 4
        assert skills.search_moments("tomato pot", category="safety") == []
        assert [e.text for e in skills.moments_in_range(0, MINUTE, k=2)] == [
            "tomato pot 0 is watered",
            "tomato pot 1 is watered",
        ]
        assert ids(skills.recent_episodes(2)) == ["e3", "e2"]
        assert ids(skills.search_episodes("tomatoes", start=1440 * MINUTE)) == ["e2", "e3"]
        assert len(skills.episode_moments(2)) == 3


def test_traversal_keeps_its_fan_out(store: Store) -> None:
    with store.snapshot() as snapshot:
        (branch,) = Skills(snapshot).traverse("tomatoes", (3, 2, 1))
        assert branch.pattern.id == "p1"
        assert len(branch.episodes) == 2
        assert all(len(moments) == 1 for _, moments in branch.episodes)


def test_nothing_after_the_cutoff_comes_out(store: Store) -> None:
    with store.snapshot(1440 * MINUTE) as snapshot:
        skills = Skills(snapshot)
        assert skills.count_events("water", "tomato plant").n == 1
        assert ids(skills.recent_episodes()) == ["e1"]
        assert [len(b.episodes) for b in skills.traverse("tomatoes")] == [1]
        assert skills.search_events("splendid") == []


def test_the_embedder_is_asked_once_a_search(store: Store) -> None:
    asked: list[str] = []

    def embed(texts: list[str]) -> np.ndarray:
        asked.extend(texts)
        return np.ones((len(texts), 8), dtype=np.float32)

    with store.snapshot() as snapshot:
        Skills(snapshot, embed).search_moments("pots")
    assert asked == ["pots"]


@pytest.mark.parametrize(
    "query", ['"', "AND OR NOT", "tomato* NEAR(pot, 3)", "a:b", "(((", "'; DROP TABLE item; --", "", "*"]
)
def test_queries_are_plain_words(store: Store, query: str) -> None:
    with store.snapshot() as snapshot:
        skills = Skills(snapshot)
        for search in (skills.global_captions, skills.search_text, skills.search_events, skills.search_moments):
            assert isinstance(search(query), list)
        assert isinstance(skills.traverse(query), list)


def test_every_tool_has_a_schema_and_runs(store: Store) -> None:
    examples = {"string": "tomato", "integer": 1}
    with store.snapshot() as snapshot:
        skills = Skills(snapshot)
        for tool in TOOLS:
            properties = {k: tool.parameters["properties"][k] for k in tool.parameters["required"]}
            arguments = {k: examples["string" if p["type"] == "string" else "integer"] for k, p in properties.items()}
            json.dumps(call(skills, tool.name, arguments))
            assert tool.text
            assert tool.parameters["additionalProperties"] is False


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("forget", {}, "no call"),
        ("search_moments", {}, "query"),
        ("search_moments", {"query": "x", "limit": 3}, "limit"),
        ("search_moments", {"query": 3}, "text"),
        ("episode_moments", {"episode": True}, "whole number"),
        ("episode_moments", {"episode": 77}, "e77"),
    ],
)
def test_wrong_arguments_are_refused(store: Store, name: str, arguments: dict, said: str) -> None:
    with store.snapshot() as snapshot, pytest.raises(InputError, match=said):
        call(Skills(snapshot), name, arguments)
