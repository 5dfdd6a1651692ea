"""Looking words up in the index: what FTS5 finds by the same expression, newest first, whatever the pieces."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from storage_support import BASE, DIM, SPACE, US

from storage import Store, index, index_segments
from storage.index_match import parse
from storage.lookup import all_words, any_words, phrase
from storage.records import Caption, Event, SeenText, Utterance, Window

WORDS = ["red", "cup", "cups", "washing", "door", "don't", "lamp", "café", "the"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("SEAL", 8), ("STEP", 2), ("SPAN", 64), ("_PACKED_MOST", 16)):
        monkeypatch.setattr(index_segments, name, value)
    monkeypatch.setattr(index, "PIECE", 4)


def told(store: Store, rng: random.Random, windows: int) -> None:
    """Windows of two recordings, one an hour behind the other, so that the order of ids is not that of times."""
    with store.transaction() as tx:
        for n in range(windows):
            late = rng.random() < 0.5
            t = BASE + n * 30 * US - (3600 * US if late else 0)

            def said() -> str:
                return " ".join(rng.choices(WORDS, k=rng.randint(1, 6)))

            tx.trace.add(
                Window("b" if late else "a", t, t + 30 * US, 0, (Caption(t + 1, said()), Caption(t + 9, said())), "",
                       events=(Event(t + 2, "wearer", said(), said()),), texts=(SeenText(t + 3, said()),),
                       speech=(Utterance(t + 4, "Ana", said()),)),
                np.zeros(DIM, np.float32),
            )  # fmt: skip


def expression(rng: random.Random) -> str:
    some = rng.sample(WORDS, rng.randint(1, 3))
    return rng.choice(
        [
            phrase(" ".join(some)),
            all_words(some),
            any_words(some),
            f"{all_words(some)} AND ({any_words(['cup', 'lamp'])})",
        ]
    )


@pytest.mark.usefixtures("small")
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_it_finds_what_fts_finds(seed: int) -> None:
    rng = random.Random(seed)
    with Store.open(None, space=SPACE) as store:
        told(store, rng, rng.randint(1, 60))
        store._writer.execute(
            "CREATE VIRTUAL TABLE temp.said USING fts5(text, tokenize='porter unicode61 remove_diacritics 2')"
        )
        store._writer.execute("INSERT INTO said(rowid, text) SELECT id, text FROM item")
        for _ in range(12):
            wanted, kinds = expression(rng), rng.sample(("caption", "event", "text", "speech"), rng.randint(1, 4))
            low, high = sorted(BASE + rng.randint(-3600, 1800) * US for _ in range(2))
            until, limit = BASE + rng.randint(0, 1800) * US, rng.choice([None, 1, 3])
            rows = store._writer.execute(
                "SELECT i.id FROM said JOIN item i ON i.id = said.rowid JOIN window w ON w.id = i.window_id "
                f"WHERE said MATCH ? AND i.kind IN ({','.join('?' * len(kinds))}) AND i.t >= ? AND i.t < ? AND w.t_end <= ? "
                "ORDER BY i.t DESC, i.id DESC LIMIT ?",
                (wanted, *kinds, low, high, until, -1 if limit is None else limit),
            ).fetchall()
            with store.snapshot(until) as snapshot:
                found = snapshot.lookup.matching(wanted, kinds, low, high, limit)
            assert [i.id for i in found] == [r[0] for r in rows], wanted


@pytest.mark.usefixtures("small")
def test_times_of_a_word_are_its_newest() -> None:
    with Store.open(None, space=SPACE) as store:
        told(store, random.Random(4), 50)
        with store.snapshot() as snapshot:
            items = snapshot.lookup.matching(all_words(["cup"]), ("caption", "event", "text", "speech"))
            assert len(items) > 60
            assert snapshot.lookup.times_of("cups", limit=7) == [(i.t, i.id, i.kind) for i in items[:7]]
            wanted = snapshot.lookup.times_of("don't")
            assert wanted
            assert all("don't" in i.text for i in snapshot.trace.items_by_id([i for _, i, _ in wanted]).values())


def test_words_of_scripts_without_spaces_are_found_inside() -> None:
    with Store.open(None, space=SPACE) as store:
        with store.transaction() as tx:
            tx.trace.add(
                Window("r", BASE, BASE + US, 0, (Caption(BASE, "東京タワーを見た"),)), np.zeros(DIM, np.float32)
            )
        with store.snapshot() as snapshot:
            assert len(snapshot.lookup.matching(all_words(["タワー"]), ("caption",))) == 1
            assert snapshot.lookup.matching(all_words(["京東"]), ("caption",)) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"a" AND', ["a"]),
        ('("a" OR "b"', ["a", "b"]),
        ("", []),
        ('""', []),
        ("AND OR ( )", []),
        (') "a"', []),
        ("'; DROP TABLE", []),
    ],
)
def test_what_is_no_expression_is_calm(text: str, words: list[str]) -> None:
    node = parse(text)
    assert ([] if node is None else sorted(node.terms or [t for p in node.parts for t in p.terms])) == words
