"""Matching by rules: what each word tells, what makes two alike, what goes on, and who takes an episode in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import log, sqrt
from typing import Any

import numpy as np
import pytest

from edge.config import Memory
from edge.memory import matching
from edge.memory.matching import GOES_ON, MATCH, Surroundings, likeness
from storage import EmbeddingSpace, Store
from storage.patterns import Member
from storage.records import Edge, Episode, Event, Pattern, Window

US = 1_000_000
SPACE = EmbeddingSpace("t-4", 4)
X, Y, Z = (np.eye(4, dtype=np.float32)[n] for n in range(3))
EPISODE = Episode("r", 0, 60 * US, 0, "Wash cup", "", (), "", "", 1, 1, "cap", 60 * US)
PATTERN = Pattern("thread", "Wash plate", "", (), 1.0, 1, 1, 1.0, None, None, 0)


def test_a_word_tells_the_more_the_rarer_it_is_of_late() -> None:
    near = Surroundings(9, {"take": 9, "cup": 1}, {}, 0)
    assert near.weights["violin"] == pytest.approx(log(10 / 0.5) ** 2)
    assert near.weights["cup"] == pytest.approx(log(10 / 1.5) ** 2)
    assert near.weights["take"] == pytest.approx(log(10 / 9.5) ** 2)
    assert Surroundings(9, {"take": 40}, {}, 0).weights["take"] == pytest.approx(0.05**2), "never nothing"


def test_a_large_pattern_is_asked_for_more() -> None:
    near = Surroundings(40, {}, {1: 20, 2: 6, 3: 14}, 0)
    assert near.asked(1) == pytest.approx(2 * (0.5 - 0.15))
    assert near.asked(2) == near.asked(7) == 0
    assert Surroundings(3, {}, {1: 3}, 0).asked(1) == 0, "of three episodes all may be one job"
    assert Surroundings(10, {}, {1: 10}, 0).asked(1) == pytest.approx(2 * (0.5 - 0.15)), "shares are of at least twenty"


def test_no_pattern_takes_more_than_a_quarter() -> None:
    near = Surroundings(39, {}, {1: 9, 2: 10}, 0)
    assert not near.full(1), "ten of forty"
    assert near.full(2), "eleven of forty"
    assert not near.full(3)
    assert not Surroundings(4, {}, {1: 2}, 0).full(1), "of so few a pattern may hold three"
    assert Surroundings(10, {}, {1: 3}, 0).full(1)


def member(n: int, pattern: int, start_s: int, end_s: int, recording: str = "r") -> Member:
    return Member(n, recording, "", (), start_s * US, end_s * US, 0, pattern)


def of(*patterns: int) -> list[Member]:
    """Episodes in these patterns, newest first; the arguments are in the order of time."""
    return [member(n, p, n * 100, n * 100 + 60) for n, p in enumerate(patterns, 1)][::-1]


@pytest.mark.parametrize(
    ("patterns", "wanted"),
    [
        (of(*range(1, 20)), 0),  # too few to tell
        (of(*range(1, 21)), 0.1),  # each opened its own: never more than that
        (of(*range(1, 11), *range(1, 11)), 0),  # all came back
        (of(*range(1, 21), *range(1, 18), 21, 22, 23), 0.15 - 0.1),
        (of(*range(1, 11), *range(1, 10), 11), 0),  # as many as may
        (of(9, *[5] * 12, 10, 8, 7, 6, *[5] * 5), 0.1 - 0.1),  # older than all of these: only the tenth is new
    ],
)
def test_less_is_asked_where_too_many_open_a_pattern(patterns: list[Member], wanted: float) -> None:
    eased = matching._eased(patterns)
    assert eased == pytest.approx(wanted)
    near = Surroundings(40, {}, {1: 20, 2: 20}, 0, eased)
    assert near.asked(3) == pytest.approx(-wanted)
    assert near.asked(1) == pytest.approx(2 * (0.5 - 0.15) - wanted)


def test_going_on_alone_never_makes_a_match() -> None:
    assert GOES_ON < MATCH - matching.EASED


def test_likeness_is_the_mean_of_three_cosines() -> None:
    same = replace(EPISODE, keywords=("cup", "tap")), replace(PATTERN, title="Wash cup", keywords=("cup", "tap"))
    assert likeness(same[0], X, same[1], X) == pytest.approx(1, abs=1e-3)
    assert likeness(EPISODE, X, replace(PATTERN, title="Read letter"), Y) == 0
    assert likeness(EPISODE, X, replace(PATTERN, title="Read letter"), -X) == 0, "opposite is no less than nothing"
    assert likeness(EPISODE, X, PATTERN, None) == pytest.approx((1 / 2) / 3), "one word of two, by the title"
    assert likeness(EPISODE, X, PATTERN, X, ["Wash cup", "Wash cup"]) == pytest.approx(2 / 3)
    skewed = likeness(EPISODE, X, PATTERN, None, ["Wash plate", "Wash cup"])
    assert skewed == pytest.approx((2 * 1 + 1 * 1) / sqrt(2 * 6) / 3), "wash twice, plate and cup once"


def test_keywords_count_by_their_place() -> None:
    episode, pattern = replace(EPISODE, keywords=("x", "y")), replace(PATTERN, title="", keywords=("y", "x"))
    wanted = (1 * (63 / 64) + 23 / 24) / sqrt((1 + (23 / 24) ** 2) * (1 + (63 / 64) ** 2))
    assert likeness(episode, X, pattern, None) == pytest.approx(wanted / 3)


def test_a_named_activity_weighs_double_and_wants_its_name() -> None:
    both = (EPISODE, X, PATTERN, None)
    assert likeness(*both, ["Wash cup", "Read"], main="Wash") == pytest.approx(2 * (_cos(2, 2, 3) + 1 / 2) / 2 / 4)
    assert likeness(*both, ["Wash cup"], main="Paint") == pytest.approx(2 * (1 + 0) / 2 / 4)


def _cos(both: float, a: float, b: float) -> float:
    return both / sqrt(a * b)


def test_common_words_hardly_count() -> None:
    near = Surroundings(20, {"wash": 20}, {}, 0)
    common, rare = near.weights["wash"], near.weights["cup"]
    assert near.weights["plate"] == rare > 1000 * common
    assert likeness(EPISODE, X, PATTERN, None, ["Wash plate"], near) == pytest.approx(common / (common + rare) / 3)


class Life:
    """A memory whose episodes are put where the test says; each lasts a minute."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def episode(self, t_s: int, subject: str, recording: str = "r") -> Episode:
        start, end = t_s * US, (t_s + 60) * US
        with self.store.transaction() as tx:
            window = tx.trace.add(Window(recording, start, end, 0), X)
            made = Episode(recording, start, end, 0, subject, "", (), "", "", window, window, "cap", end)
            return replace(made, id=tx.episodes.add(made, X))

    def put(self, episode: Episode, vector: Any, pattern: Pattern | None = None) -> Pattern:
        with self.store.transaction() as tx:
            count = 1 if pattern is None else pattern.recurrence + 1
            kept = replace(PATTERN, title=episode.subject, known=episode.known, recurrence=count)
            number = tx.patterns.put(replace(kept, id=0 if pattern is None else pattern.id), vector)
            tx.patterns.link(Edge(number, episode.id, "core", 1.0, episode.known))
            return tx.snapshot().patterns.get(number)

    def match(self, episode: Episode, vector: Any, *named: str) -> Pattern | None:
        events = tuple(Event(episode.t_start, "wearer", "start activity", name) for name in named)
        own = [Window("r", episode.t_start, episode.t_end, 0, events=events)]
        with self.store.snapshot(episode.known) as snapshot:
            return matching.match(snapshot, episode, vector, episode.subject, Memory(), own)


@pytest.fixture
def life() -> Iterator[Life]:
    with Store.open(None, space=SPACE) as store:
        yield Life(store)


@pytest.mark.parametrize(
    ("recent", "wanted"),
    [
        ([member(2, 7, 900, 960), member(1, 5, 800, 860)], 7),
        ([member(2, 7, 800, 939)], 0),  # 61 s of pause
        ([member(2, 0, 900, 990), member(1, 5, 800, 860)], 5),  # over an episode that shows nothing
        ([member(2, 0, 900, 990), member(1, 5, 700, 800)], 0),
        ([member(3, 9, 1000, 1060), member(2, 8, 900, 990, "other"), member(1, 5, 900, 990)], 5),  # later, and elsewhere
        ([], 0),
    ],
)  # fmt: skip
def test_what_an_episode_goes_on_from(recent: list[Member], wanted: int) -> None:
    assert matching._goes_on(recent, replace(EPISODE, t_start=1000 * US)) == wanted


def test_the_likeliest_pattern_takes_an_episode_in(life: Life) -> None:
    cups, letters = life.put(life.episode(0, "Wash cup"), X), life.put(life.episode(500, "Read letter"), Y)
    found = life.match(life.episode(1000, "Read letter"), Y)
    assert found is not None
    assert found.id == letters.id != cups.id
    assert life.match(life.episode(2000, "Dig bed"), Z) is None
    with life.store.snapshot(1) as snapshot:
        assert matching.match(snapshot, EPISODE, X, "Wash cup", Memory(), [Window("r", 0, 1, 0)]) is None, (
            "not known yet"
        )


def test_going_on_helps_unless_another_activity_begins(life: Life) -> None:
    first = life.put(life.episode(0, "Wash red cup with sponge slowly"), X)
    vector = np.asarray([0.6, 0.8, 0, 0], dtype=np.float32)
    alone = likeness(replace(EPISODE, subject="Dry cup"), vector, first, X)
    assert alone == pytest.approx((1 / sqrt(2 * 5) + 0.6) / 3)
    assert MATCH - GOES_ON < alone < MATCH, "too little alike by itself"
    assert life.match(life.episode(200, "Dry cup"), vector) is None
    going_on = life.episode(60, "Dry cup")
    found = life.match(going_on, vector)
    assert found is not None
    assert found.id == first.id
    assert life.match(going_on, vector, "painting") is None


def test_the_first_batch_with_a_yes_ends_the_search(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(12):
        life.put(life.episode(n * 500, f"Wash cup number{n}"), X)
    judged: list[int] = []
    episode = life.episode(9000, "Wash cup")
    with life.store.snapshot() as snapshot:
        ranked = [h.id for h in snapshot.search("pattern", "Wash cup", X, k=30)]
    scores = {ranked[-1]: 1.0}

    def judge(*given: Any) -> float:
        judged.append(given[2].id)
        return scores.get(given[2].id, 0.0)

    monkeypatch.setattr(matching, "likeness", judge)
    found = life.match(episode, X)
    assert found is not None
    assert found.id == ranked[-1]
    assert judged == ranked, "two batches"
    judged.clear()
    scores[ranked[3]] = MATCH
    found = life.match(episode, X)
    assert found is not None
    assert found.id == ranked[3], "the first yes absorbs, though a better one stands in the next batch"
    assert judged == ranked[: Memory().pattern_batch]


def test_cost_is_bounded_however_many_patterns_there_are(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(40):
        life.put(life.episode(n * 500, f"Wash cup number{n}"), X)
    judged: list[int] = []

    def judge(*given: Any) -> float:
        judged.append(given[2].id)
        return 0.0

    monkeypatch.setattr(matching, "likeness", judge)
    assert life.match(life.episode(30_000, "Wash cup"), X) is None
    assert len(judged) == len(set(judged)) == 30


def test_of_patterns_about_as_likely_the_one_that_holds_most_takes_it_in(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = life.put(life.episode(0, "Wash cup"), X)
    large = life.put(life.episode(500, "Wash cup"), X)
    large = life.put(life.episode(1000, "Wash cup"), X, large)
    scores = {small.id: 0.7, large.id: 0.56}
    monkeypatch.setattr(matching, "likeness", lambda *given: scores[given[2].id])
    found = life.match(life.episode(2000, "Wash cup"), X)
    assert found is not None
    assert found.id == large.id
    scores[large.id] = 0.54
    found = life.match(life.episode(3000, "Wash cup"), X)
    assert found is not None
    assert found.id == small.id, "so much likelier that size tells nothing"
    large = life.put(life.episode(3500, "Wash cup"), X, large)
    scores[large.id] = 0.74
    found = life.match(life.episode(4000, "Wash cup"), X)
    assert found is not None
    assert found.id == small.id, "the large one is full"
    scores[large.id] = 0.75
    found = life.match(life.episode(5000, "Wash cup"), X)
    assert found is not None
    assert found.id == large.id, "the very same belongs together while the memory is young"
    monkeypatch.setattr(matching, "YOUNG", 3)
    found = life.match(life.episode(6000, "Wash cup"), X)
    assert found is not None
    assert found.id == small.id
