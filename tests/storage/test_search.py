"""Hybrid search: what is found, what a query may hold, what is refused."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from storage_support import BASE, DIM, SPACE, US, grow, vector

from storage import Store
from storage.errors import BadVector
from storage.index_text import terms
from storage.lookup import all_words, any_words
from storage.records import Caption, Pattern, Window
from storage.search import RRF_K, content_words, fuse

TEXTS = [
    "turn OFF the tap NOT the lamp",
    'he said "NEAR(cup, 3)" AND left',
    "café crème brûlée",
    "東京タワーを見た",
    "a rocket 🚀 on the wall",
    "the wearer's don't-care attitude",
    "column: text : foo* ^bar -baz",
    "washing the blue cups",
]


@pytest.fixture(scope="module")
def told() -> Iterator[Store]:
    """A memory whose captions are TEXTS, one window each."""
    with Store.open(None, space=SPACE) as store:
        rng = random.Random(1)
        with store.transaction() as tx:
            for n, text in enumerate(TEXTS):
                t = BASE + n * 30 * US
                tx.trace.add(Window("r", t, t + 30 * US, 0, (Caption(t, text),), text), vector(rng))
        yield store


def found(store: Store, query: str, stratum: Any = "item", **more: Any) -> list[str]:
    with store.snapshot() as snapshot:
        hits = snapshot.search(stratum, query, **more)
        return [TEXTS[h.id - 1] for h in hits]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("tap", TEXTS[0]),
        ("cup NEAR", TEXTS[1]),
        ("CAFE", TEXTS[2]),
        ("brulee", TEXTS[2]),
        ("東京タワーを見た", TEXTS[3]),
        ("rocket 🚀", TEXTS[4]),
        ("don't", TEXTS[5]),
        ("baz", TEXTS[6]),
        ("wash", TEXTS[7]),
        ("cup", TEXTS[7]),
        ("Where did I leave the lamp?", TEXTS[0]),
    ],
)
def test_words_are_found_in_any_script_and_inflection(told: Store, query: str, expected: str) -> None:
    assert expected in found(told, query)


@pytest.mark.parametrize(
    "query",
    ["", "   ", "🚀", "🚀🎉", '"', '"""', "'", "*", "^", "-", "()", "AND", "NOT", "NEAR(", "a AND", "text:", "{x y} : z", ";--",
     "\0", "\x00cup\x00", "\ud800", "%s", "\\", "a" * 1_000_000, "cup " * 100_000, "東" * 10_000, "' OR 1=1 --", "__", "٣", "²"],
)  # fmt: skip
def test_no_query_is_an_error(told: Store, query: str) -> None:
    for stratum in ("item", "window", "moment", "episode", "pattern"):
        found(told, query, stratum)
    with told.snapshot() as snapshot:
        for expression in (all_words(query.split()[:5000]), any_words(query.split()[:5000])):
            snapshot.lookup.matching(expression, ("caption", "event"))


@settings(max_examples=60, deadline=None)
@given(query=st.text(max_size=60))
def test_no_text_breaks_the_expression(told: Store, query: str) -> None:
    found(told, query)
    with told.snapshot() as snapshot:
        snapshot.lookup.matching(all_words([query]), ("caption",))
        snapshot.lookup.times_of(query)


def test_operators_are_words() -> None:
    assert content_words("cup OR NOT knife") == ["cup", "not", "knife"]
    assert content_words("what did I do") == ["what", "did", "i", "do"], "a query of stop words keeps them"
    assert content_words('say "hi" * ^ : say') == ["say", "hi"]
    assert len(content_words(" ".join(f"w{n}" for n in range(1000)))) == 64


def test_words_are_cut_to_the_terms_of_the_index() -> None:
    assert terms("washing WASHED cups café don't 東京") == ("cafe", "cup", "don", "t", "wash", "東京")
    assert terms("🚀 -- \ud800".encode("utf-8", "replace").decode()) == ()


def reference(docs: list[str], query: str) -> list[tuple[float, int]]:
    """BM25 written down from its formula, for texts that are all of the typical length."""
    k1, b, typical = 1.5, 0.75, 30
    bags = [Counter(d.split()) for d in docs]
    scores = []
    for n, (doc, bag) in enumerate(zip(docs, bags, strict=True), 1):
        score = 0.0
        for word in query.split():
            df = sum(1 for other in bags if word in other)
            tf = bag[word]
            if tf:
                idf = math.log(1 + (len(docs) - df + 0.5) / (df + 0.5))
                score += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(doc) / typical))
        if score:
            scores.append((-score, n))
    return sorted(scores)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_the_ranking_is_bm25_with_the_papers_constants(seed: int) -> None:
    rng = random.Random(seed)
    vocabulary = ["red", "blue", "cup", "lamp", "door", "tap"]
    docs = [" ".join(rng.choices(vocabulary, k=rng.randint(1, 12))) for _ in range(25)]
    query = " ".join(rng.sample(vocabulary, 3))
    with Store.open(None, space=SPACE) as store:
        with store.transaction() as tx:
            for n, text in enumerate(docs):
                t = BASE + n * 30 * US
                tx.trace.add(Window("r", t, t + 30 * US, 0, (Caption(t, text),)), np.zeros(DIM, np.float32))
        for known in (len(docs), 12):
            with store.snapshot(BASE + known * 30 * US) as snapshot:
                hits = snapshot.search("item", query, k=25)
            expected = reference(docs[:known], query)
            assert sorted(h.id for h in hits) == sorted(n for _, n in expected)
            score = {n: s for s, n in expected}
            told = [score[h.id] for h in hits]
            assert told == pytest.approx(sorted(told)), "best first, by the rows known at that time"


def test_time_bounds_a_search(told: Store) -> None:
    assert found(told, "the", start=BASE + 200 * US) == [TEXTS[7]]
    assert found(told, "tap lamp cups", end=BASE + 1) == [TEXTS[0]]
    assert found(told, "tap", start=BASE + 60 * US) == []


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros(DIM + 1),
        np.zeros(0),
        np.full(DIM, np.nan),
        np.full(DIM, np.inf),
        np.zeros((1, DIM)),
        np.full(DIM, 1e300),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_a_bad_query_vector_is_refused(told: Store, bad: Any) -> None:
    with told.snapshot() as snapshot, pytest.raises(BadVector):
        snapshot.search("window", "tap", bad)


def test_a_vector_of_zeros_ranks_nothing(told: Store) -> None:
    with told.snapshot() as snapshot:
        assert snapshot.search("window", "", np.zeros(DIM, np.float32)) == []
        assert [h.dense_rank for h in snapshot.search("window", "tap", np.zeros(DIM, np.float32))] == [0]


def test_dense_ranks_by_distance(told: Store) -> None:
    rng = random.Random(1)
    vectors = [vector(rng) for _ in TEXTS]
    with told.snapshot() as snapshot:
        for query in vectors:
            hits = snapshot.search("window", "", query)
            expected = sorted(range(len(TEXTS)), key=lambda i: float(np.linalg.norm(vectors[i] - query)))
            assert [h.id - 1 for h in hits] == expected


def test_fusion_is_reciprocal_rank() -> None:
    hits = fuse("item", [7, 8, 9], [9, 7], 2)
    assert [(h.id, h.bm25_rank, h.dense_rank) for h in hits] == [(7, 1, 2), (9, 3, 1)]
    assert hits[0].score == 1 / (RRF_K + 1) + 1 / (RRF_K + 2)


def test_old_versions_do_not_crowd_out_other_patterns() -> None:
    """A pattern that was rewritten a thousand times is one result, and the others are still found beside it."""
    rng = random.Random(5)
    with Store.open(None, space=SPACE) as store:
        with store.transaction() as tx:
            near = np.ones(DIM, np.float32)
            known = BASE

            def put(title: str, what: Any, pattern_id: int = 0) -> int:
                return tx.patterns.put(
                    Pattern("thread", title, title, (), 0.5, 1, 1, 1.0, None, None, known, id=pattern_id), what
                )

            first = put("making tea", near)
            others = [put(f"making tea for {n}", vector(rng)) for n in range(5)]
            for _ in range(1000):
                known += US
                put("making tea", near, first)
        with store.snapshot() as snapshot:
            hits = snapshot.search("pattern", "making tea", near, k=6)
            assert {h.id for h in hits} == {first, *others}
            assert hits[0].id == first
        with store.snapshot(BASE + 500 * US) as snapshot:
            assert len(snapshot.search("pattern", "tea", near, k=6)) == 6


def test_a_search_takes_k_and_no_more() -> None:
    with Store.open(None, space=SPACE) as store:
        grow(store, 4, 80)
        with store.snapshot() as snapshot:
            for k in (1, 3, 20):
                hits = snapshot.search("item", "cup knife door tap", k=k)
                assert len(hits) == k
                assert sorted(hits, key=lambda h: (-h.score, h.id)) == hits
