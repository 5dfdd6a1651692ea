"""What changes is a chain of versions, and the end of a recording can be taken back."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from storage_support import BASE, DIM, SPACE, US, grow, vector

from storage import Store
from storage.errors import NotFound
from storage.records import Decision, Edge, Episode, Intention, Moment, Pattern, Service, Window

HOUR = 3600 * US
DAY = 24 * HOUR
ONES = np.ones(DIM, np.float32)


def a_window(tx: Any, t: int, recording: str = "r") -> int:
    return int(tx.trace.add(Window(recording, t, t + 30 * US, 0), ONES))


def an_episode(tx: Any, w: int, t: int, known: int, recording: str = "r") -> int:
    return int(
        tx.episodes.add(
            Episode(recording, t, t + 30 * US, 0, "tea", "Tea.", ("tea",), "", "", w, w, "gap", known), ONES
        )
    )


def a_pattern(title: str, known: int, pattern_id: int = 0, recurrence: int = 1) -> Pattern:
    return Pattern("routine", title, f"{title}.", (title,), 0.5, recurrence, 1, 1.0, 480, 10, known, id=pattern_id)


def test_yesterdays_pattern_is_read_as_it_was() -> None:
    with Store.open(None, space=SPACE) as store:
        with store.transaction() as tx:
            w = a_window(tx, BASE)
            e = [an_episode(tx, w, BASE + n * DAY, BASE + n * DAY) for n in range(3)]
            p = tx.patterns.put(a_pattern("tea", BASE), ONES)
            tx.patterns.link(Edge(p, e[0], "core", 1.0, BASE))
            assert tx.patterns.put(a_pattern("tea in the morning", BASE + DAY, p, 2), -ONES) == p
            tx.patterns.link(Edge(p, e[1], "core", 0.9, BASE + DAY))
            tx.patterns.link(Edge(p, e[0], "detail", 0.2, BASE + DAY))  # judged anew
            tx.patterns.put(a_pattern("tea at eight", BASE + 2 * DAY, p, 3), ONES)
            tx.patterns.link(Edge(p, e[2], "core", 0.8, BASE + 2 * DAY))
        for day, (title, edges) in enumerate(
            [
                ("tea", [(e[0], "core")]),
                ("tea in the morning", [(e[0], "detail"), (e[1], "core")]),
                ("tea at eight", [(e[0], "detail"), (e[1], "core"), (e[2], "core")]),
            ]
        ):
            for t in (BASE + day * DAY, BASE + (day + 1) * DAY - 1):
                with store.snapshot(t) as snapshot:
                    pattern = snapshot.patterns.get(p)
                    assert (pattern.title, pattern.recurrence, pattern.version) == (title, day + 1, day + 1)
                    assert [(g.episode_id, g.role) for g in snapshot.patterns.edges(p)] == edges
                    assert [v.version for v in snapshot.patterns.versions(p)] == list(range(1, day + 2))
                    assert snapshot.patterns.vectors_of([p])[p][0] == (-1 if day == 1 else 1)
                    assert [h.id for h in snapshot.search("pattern", "morning")] == ([p] if day == 1 else [])
        with store.snapshot(BASE - 1) as snapshot, pytest.raises(NotFound):
            snapshot.patterns.get(p)


def test_an_intention_has_the_state_it_had() -> None:
    with Store.open(None, space=SPACE) as store:
        with store.transaction() as tx:
            w = a_window(tx, BASE)
            i = tx.intentions.add(Intention("wearer", "I must call", "call", BASE, 0, w, "", "open", BASE, ("w1",)))
            tx.intentions.move(i, "done", BASE + HOUR, ("w1", "w7"))
            tx.intentions.move(i, "open", BASE + 2 * HOUR, ("w9",))
        for hours, state, evidence in ((0, "open", ("w1",)), (1, "done", ("w1", "w7")), (2, "open", ("w9",))):
            with store.snapshot(BASE + hours * HOUR) as snapshot:
                found = snapshot.intentions.get(i)
                assert (found.state, found.evidence, found.version) == (state, evidence, hours + 1)
                assert [x.id for x in snapshot.intentions.all("open")] == ([i] if state == "open" else [])


def test_a_decision_is_known_when_it_was_made() -> None:
    with Store.open(None, space=SPACE) as store:
        with store.transaction() as tx:
            s = tx.services.add(Service("safety", BASE, 0, "Mind the step.", ("w1", "o3"), "step", BASE, "A"))
            tx.services.decide(Decision(s, BASE, "defer", "pause"))
            tx.services.decide(Decision(s, BASE + HOUR, "deliver", "clear"))
        for t, decisions in ((BASE - 1, []), (BASE, ["defer"]), (BASE + HOUR, ["defer", "deliver"])):
            with store.snapshot(t) as snapshot:
                assert [d.decision for d in snapshot.services.decisions(s)] == decisions
        with store.snapshot() as snapshot:
            assert snapshot.services.get(s).evidence == ("w1", "o3")


def close_at_the_end(tx: Any, rng: random.Random, w: int, t: int, pattern_id: int) -> None:
    """What the end of a recording derives: known one gap after its last window."""
    known = t + 30 * US + 60 * US
    e = an_episode(tx, w, t, known, "late")
    for _ in range(3):
        tx.moments.add(Moment(e, w, t, 0, "drank tea", ("tea",), "core", 1.0, "", "", known), vector(rng))
    p = tx.patterns.put(a_pattern("tea once more", known, pattern_id, 9), vector(rng))
    tx.patterns.link(Edge(p, e, "core", 0.5, known))
    tx.patterns.link(Edge(p, tx.snapshot().patterns.edges(p)[0].episode_id, "context", 0.1, known))
    s = tx.services.add(Service("task_reminder", t, 0, "Tea?", (f"w{w}", f"e{e}"), "tea", known, "C"))
    tx.services.decide(Decision(s, known, "deliver", "clear"))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("joins", [True, False])
def test_what_an_end_derived_can_be_taken_back_without_a_trace(seed: int, joins: bool) -> None:
    rng = random.Random(seed)
    with Store.open(None, space=SPACE) as store:
        made = grow(store, seed, 40)
        t = max(made.ends) + HOUR
        with store.transaction() as tx:
            w = a_window(tx, t, "late")
        before = list(store.dump())
        with store.transaction() as tx:
            close_at_the_end(tx, rng, w, t, made.patterns[0] if joins else 0)
        assert list(store.dump()) != before
        with store.transaction() as tx:
            gone = tx.rewind(t + 30 * US, "late").rows
        assert gone == 1 + 3 + 1 + (2 if joins else 1) + 2 + (0 if joins else 1)
        assert list(store.dump()) == before
        assert store.integrity() == []
        with store.transaction() as tx:
            assert tx.rewind(t + 30 * US, "late").rows == 0
            assert tx.rewind(0, "none").rows == 0


def test_a_rewind_inside_a_transaction_that_fails_never_was() -> None:
    with Store.open(None, space=SPACE) as store:
        grow(store, 3, 40)
        before = list(store.dump())
        with pytest.raises(RuntimeError), store.transaction() as tx:
            assert tx.rewind(0, "one").rows > 0
            raise RuntimeError
        assert list(store.dump()) == before
