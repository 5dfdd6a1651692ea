"""Screening over a real memory: one transaction a unit, the same rows after a crash, nothing from the future."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge.clock import US, ReplayClock
from edge.config import Alerts, Memory
from edge.memory.growth import Growth
from edge.messages import EpisodeClosed, Say, ServiceAsked, ServiceDecided
from edge.proactive.experts import Screening, service
from edge.proactive.screening import COALESCE, STAGE, Proactive
from edge.proactive.why import why
from models.backends.fake import HashEmbedding
from storage import Store
from storage.errors import NotFound
from storage.records import Caption, Event, Utterance, Window

T0 = 1_772_438_400 * US
EMBED = HashEmbedding().embed
ACTS = [
    ("open", "fridge"), ("close", "fridge"), ("turn on", "hob"), ("turn off", "hob"), ("put on", "coat"), ("take", "keys"),
    ("leave", "house"), ("chop", "carrot"), ("read", "book"), ("turn on", "tap"), ("put down", "phone"), ("wash", "plate"),
    ("finish activity", "cooking"), ("open", "drawer"), ("go to", "bed"),
    ("drink", "water"), ("put", "keys on the shelf"), ("look for", "keys"), ("plug in", "phone"), ("take", "phone"),
    ("eat", "chocolate"), ("sit down on", "chair"), ("scroll", "phone"), ("hold", "hammer near its head"),
]  # fmt: skip
SAID = [
    "I have to call the dentist.", "Remind me to take the trash out when I leave.", "I turned off the hob.",
    "I need to buy milk in ten minutes.", "See you later, I'm leaving now.",
]  # fmt: skip
SCENES = ["kitchen", "kitchen", "kitchen", "living room", "hallway", "street"]


def life(seed, count=60, recording="day", start=T0):
    """A stretch of busy everyday life, with gaps now and then."""
    rng = random.Random(seed)
    t, scene, windows = start, "kitchen", []
    for _ in range(count):
        if rng.random() < 0.06:
            t += rng.choice([50, 61, 400, 4000]) * US
        if rng.random() < 0.2:
            scene = rng.choice(SCENES)
        length = rng.choice([10, 30, 30, 30])
        events = [
            Event(t + rng.randrange(length * US), "wearer", *rng.choice(ACTS)) for _ in range(rng.choice([0, 1, 2, 4]))
        ]
        events.sort(key=lambda e: e.t)
        speech = [Utterance(t + US, "wearer", rng.choice(SAID))] if rng.random() < 0.12 else []
        captions = tuple(Caption(e.t, f"{e.action} {e.object}") for e in events)
        windows.append(
            Window(recording, t, t + length * US, 3600, captions, "; ".join(c.text for c in captions), (), tuple(events), (),
                   tuple(speech), scene)
        )  # fmt: skip
        t += length * US
    return windows


class Session:
    """Growth and screening over one store, as replay drives them."""

    def __init__(self, store, alerts=None):
        self.store, self.clock = store, ReplayClock()
        self.growth = Growth(store, EMBED, Memory())
        self.proactive = Proactive(store, alerts or Alerts(frequency="high"), self.clock)
        self.out = self.proactive.catch_up()

    def grow(self, window):
        grown = self.growth.idle(window.t_start) + self.growth.step(window)
        self.clock.set(window.t_end, window.offset_s)
        return grown

    def step(self, window):
        idle = self.growth.idle(window.t_start)
        self.out += self.proactive.step(idle)
        grown = self.growth.step(window)
        self.clock.set(window.t_end, window.offset_s)
        self.out += self.proactive.step(grown)

    def end(self):
        self.out += self.proactive.step(self.growth.end())
        return self


def whole(windows, store=None):
    session = Session(store or Store.open(None))
    for window in windows:
        session.step(window)
    return session.end()


def dump(store):
    return list(store.dump())


def test_a_busy_day_asks_decides_and_says():
    session = whole(life(3, 200))
    asked = [m.service for m in session.out if isinstance(m, ServiceAsked)]
    decided = [m for m in session.out if isinstance(m, ServiceDecided)]
    said = [m for m in session.out if isinstance(m, Say)]
    assert {s.type for s in asked} >= {"resource_reminder", "task_reminder", "memory_recall", "tool_use"}
    delivered = [m for m in decided if m.decision.decision == "deliver"]
    assert len(said) == len(delivered) > 0
    assert {m.source for m in said} == {f"a{m.service.id}" for m in delivered}
    assert all(m.deadline is not None and m.deadline >= session.clock.mono() - 10**12 for m in said)
    with session.store.snapshot() as snapshot:
        stored = snapshot.services.between()
        assert [s.id for s in stored] == [s.id for s in asked]
        for s in stored:
            assert s.t <= s.known and s.evidence
            trail = snapshot.services.decisions(s.id)
            assert trail and all(d.t >= s.known for d in trail)
            assert [d.decision for d in trail[:-1]] in ([], ["defer"]), "a deferred one gets one more row, at its end"
            explained = why(snapshot, s.id)
            assert not any(g.forgotten for g in explained.grounds)
            assert all(g.t <= s.known for g in explained.grounds), "no evidence from the future"
    assert session.store.integrity() == []


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(n, marks=pytest.mark.slow) for n in range(3, 12))])
def test_a_kill_between_growth_and_screening_changes_nothing(seed):
    first, second = life(seed, 60), life(seed + 100, 30, "next", T0 + 90_000 * US)
    undisturbed = whole(second, whole(first).store).store
    rng = random.Random(seed)
    store = Store.open(None)
    for windows in (first, second):
        session = Session(store)
        for window in windows:
            if rng.random() < 0.2:  # killed after growth's commit, before screening's
                session.grow(window)
                session = Session(store)
            else:
                session.step(window)
        if rng.random() < 0.5:
            session.growth.end()  # killed before the idle closing was screened
            Session(store)
        else:
            session.end()
    assert dump(store) == dump(undisturbed)


@pytest.mark.parametrize("seed", range(2))
def test_screening_late_and_all_at_once_gives_the_same(seed):
    windows = life(seed, 80)
    store = Store.open(None)
    growth = Growth(store, EMBED, Memory())
    for window in windows:
        growth.idle(window.t_start)
        growth.step(window)
    growth.end()
    late = Proactive(store, Alerts(frequency="high"), ReplayClock())
    late.catch_up()
    assert dump(store) == dump(whole(windows).store)
    assert late.catch_up() == [], "and doing it again does nothing"


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 59))
def test_what_comes_later_changes_nothing_before(seed, cut):
    windows = life(seed, 60)
    full = whole(windows).store
    until = windows[cut - 1].t_end
    session = Session(Store.open(None))
    for window in windows[:cut]:
        session.step(window)
    assert list(full.dump(until)) == list(session.store.dump(until))


def test_a_recording_that_goes_on_takes_back_what_its_end_asked_for():
    windows = life(3, 50)

    class AtTheEnd:
        name, types = "B", ("memory_recall",)

        def screen(self, unit, snapshot):
            if unit.window is not None:
                return []
            return [service("memory_recall", unit.known, "It is over.", ("w1",), f"k{unit.known}", unit, "B")]

        def holds(self, service, unit, snapshot):
            return True

    def run(stops):
        store, at = Store.open(None), 0
        for stop in (*stops, len(windows)):
            growth, clock = Growth(store, EMBED, Memory()), ReplayClock()
            proactive = Proactive(store, Alerts(), clock, experts=[AtTheEnd()])
            proactive.catch_up()
            for window in windows[at:stop]:
                proactive.step(growth.idle(window.t_start))
                grown = growth.step(window)
                clock.set(window.t_end, window.offset_s)
                proactive.step(grown)
            proactive.step(growth.end())
            at = stop
        return store

    once = run(())
    with once.snapshot() as snapshot:
        services = snapshot.services.between()
        assert services and all(any(e.startswith("e") for e in s.evidence) for s in services)
    assert [r for r in dump(run((7, 19, 33))) if '"table": "decision"' not in r] == [
        r for r in dump(once) if '"table": "decision"' not in r
    ]
    assert len(dump(run((7, 19, 33)))) == len(dump(once))


def test_a_window_that_asks_for_nothing_seldom_moves_the_cursor(monkeypatch):
    windows = [
        Window("r", T0 + n * 30 * US, T0 + (n + 1) * 30 * US, 0, (Caption(T0 + n * 30 * US, "a tree"),), "a tree")
        for n in range(25)
    ]
    session = Session(Store.open(None))
    seen = []
    for window in windows:
        session.step(window)
        with session.store.snapshot() as snapshot:
            seen.append(snapshot.services.cursor(STAGE))
    assert len(set(seen)) <= 1 + 25 // COALESCE
    session.end()
    with session.store.snapshot() as snapshot:
        assert snapshot.services.cursor(STAGE) == 25


def test_a_failed_write_leaves_nothing_and_can_be_repeated():
    windows = life(1, 100)
    store = Store.open(None)
    session = Session(store)
    broken = 0
    for window in windows:
        grown = session.grow(window)
        decide = session.proactive._store.transaction
        if broken < 3:
            session.proactive._store = _Failing(store)
            try:
                session.proactive.step(grown)
            except RuntimeError:
                broken += 1
            session.proactive._store = store
        assert decide is not None
        session.proactive.step([m for m in grown if not isinstance(m, EpisodeClosed) or m.window_id])
    session.end()
    assert broken == 3
    assert dump(store) == dump(whole(windows).store)


class _Failing:
    """A store whose transactions fail at their end."""

    def __init__(self, store):
        self._store = store

    def __getattr__(self, name):
        return getattr(self._store, name)

    def transaction(self):
        from contextlib import contextmanager

        @contextmanager
        def failing():
            with self._store.transaction() as tx:
                yield tx
                raise RuntimeError("the disk is full")

        return failing()


def test_announcements_of_the_device_pass_the_same_arbiter():
    session = Session(Store.open(None))
    session.clock.set(T0, 3600)
    out = session.proactive.announce("link_lost", "glasses", T0, "I lost the glasses.")
    assert [m.decision.decision for m in out if isinstance(m, ServiceDecided)] == ["deliver"]
    session.clock.set(T0 + 30 * US)
    again = session.proactive.announce("link_lost", "glasses", T0 + 30 * US, "I lost the glasses.")
    assert [m.decision.reason.split(":")[0] for m in again if isinstance(m, ServiceDecided)] == ["same"]
    restarted = Session(session.store)
    restarted.clock.set(T0 + 60 * US)
    late = restarted.proactive.announce("link_lost", "glasses", T0 + 60 * US, "I lost the glasses.")
    assert [m.decision.reason.split(":")[0] for m in late if isinstance(m, ServiceDecided)] == ["same"]


def test_after_a_long_absence_old_alerts_are_not_spoken():
    windows = life(1, 200)
    store = Store.open(None)
    growth = Growth(store, EMBED, Memory())
    for window in windows:
        growth.idle(window.t_start)
        growth.step(window)
    clock = ReplayClock(windows[-1].t_end + 8 * 3600 * US, 3600)  # a live device, rebooted eight hours later
    out = Proactive(store, Alerts(), clock).catch_up()
    assert any(isinstance(m, ServiceAsked) for m in out)
    assert not any(isinstance(m, Say) for m in out)
    assert {m.decision.reason.split(":")[0] for m in out if isinstance(m, ServiceDecided)} == {"stale"}


def test_a_service_from_the_future_is_refused():
    unit = Screening(T0, 0, "r", None, None, (), (), whole=False)
    with pytest.raises(ValueError, match="future"):
        service("safety", T0 + 1, "Careful.", (), "k", unit, "A")


def test_why_of_nothing():
    with Store.open(None) as store, store.snapshot() as snapshot, pytest.raises(NotFound):
        why(snapshot, 1)
