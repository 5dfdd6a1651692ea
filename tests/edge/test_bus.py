"""The bus: who gets what, what gives way when it is full, and what never does."""

from __future__ import annotations

import random
import stat
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge.bus import Bus
from edge.messages import Frame, Health, Message, Observation, RawWindow, Say
from edge.topics import BY_NAME, TOPICS
from storage.records import Window


def frame(n: int) -> Frame:
    return Frame(n, 0, np.full((2, 2, 3), n % 256, np.uint8), n)


def observed(n: int) -> Observation:
    return Observation(Window("r", n, n + 1, 0))


def test_every_subscriber_gets_every_message_of_its_topic_and_no_other() -> None:
    bus = Bus()
    one, two, other = bus.subscribe("health"), bus.subscribe("health"), bus.subscribe("voice")
    sent = [Health(n, "camera", "down") for n in range(3)]
    bus.publish(sent[0])
    bus.publish(sent[1:])
    assert [one.get(0) for _ in range(4)] == [*sent, None]
    assert [two.get(0) for _ in range(4)] == [*sent, None]
    assert other.get(0) is None
    bus.publish(Say("hi", 1, "test"))
    assert other.get(0) == Say("hi", 1, "test")
    assert bus.backlog() == {}


def test_what_was_published_before_is_not_seen() -> None:
    bus = Bus()
    bus.publish(Health(1, "a", "b"))
    assert bus.subscribe("health").get(0) is None


def test_a_topic_that_is_none_is_an_error() -> None:
    with pytest.raises(KeyError):
        Bus().subscribe("gossip")


def test_the_latest_frame_replaces_the_one_that_waits() -> None:
    bus = Bus()
    frames = bus.subscribe("frames")
    for n in range(5):
        bus.publish(frame(n))
    assert bus.dropped() == {"frames": 4}
    got = frames.get(0)
    assert isinstance(got, Frame)
    assert got.seq == 4
    assert frames.get(0) is None


def test_the_oldest_gives_way_and_is_counted() -> None:
    bus = Bus()
    queue = bus.subscribe("health")
    capacity = BY_NAME["health"].capacity
    for n in range(capacity + 10):
        bus.publish(Health(n, "a", "b"))
    assert queue.dropped == 10
    assert [m.t for m in iter(lambda: queue.get(0), None) if isinstance(m, Health)] == list(range(10, capacity + 10))


@settings(max_examples=60, deadline=None)
@given(moves=st.lists(st.booleans(), max_size=120), spills=st.booleans())
def test_observations_never_drop_and_keep_their_order(
    moves: list[bool], spills: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever the interleaving of writer and reader, beyond the capacity and back."""
    spool = tmp_path_factory.mktemp("bus") / "spool"
    bus = Bus(spool if spills else None)
    queue = bus.subscribe("observations")
    sent, got = 0, []
    for put in moves:
        if put:
            for _ in range(5):
                bus.publish(observed(sent))
                sent += 1
        elif (message := queue.get(0)) is not None:
            got.append(message)
        assert queue.backlog() == sent - len(got)
        assert len(list(spool.glob("*"))) <= max(0, queue.backlog() - BY_NAME["observations"].capacity) + 1
    bus.close()
    got += list(iter(lambda: queue.get(0), None))
    assert got == [observed(n) for n in range(sent)]
    assert queue.dropped == 0
    assert list(spool.glob("*")) == []


def test_spilled_windows_come_back_whole_and_lie_privately(tmp_path: Path) -> None:
    bus = Bus(tmp_path / "spool")
    queue = bus.subscribe("raw_windows")
    rng = np.random.default_rng(1)
    sent = [
        RawWindow("r", n, n + 1, 0, (Frame(n, 0, rng.integers(0, 255, (4, 4, 3), dtype=np.uint8)),), None)
        for n in range(12)
    ]
    bus.publish(sent)
    files = list((tmp_path / "spool").iterdir())
    assert len(files) == 12 - BY_NAME["raw_windows"].capacity == queue.spilled
    assert {stat.S_IMODE(f.stat().st_mode) for f in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "spool").stat().st_mode) == 0o700
    needle = sent[-1].frames[0].image.tobytes()[:12]  # what was seen and heard lies there sealed
    assert not any(needle in f.read_bytes() or b"RawWindow" in f.read_bytes() for f in files)
    for raw in sent:
        got = queue.get(0)
        assert isinstance(got, RawWindow)
        assert (got.t_start, got.frames[0].image.tobytes()) == (raw.t_start, raw.frames[0].image.tobytes())


def test_what_a_dead_run_spilled_is_swept(tmp_path: Path) -> None:
    bus = Bus(tmp_path)
    bus.subscribe("observations")
    bus.publish(observed(n) for n in range(30))
    (tmp_path / "mine.txt").touch()
    assert len(list(tmp_path.iterdir())) == 30 - BY_NAME["observations"].capacity + 1
    Bus(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


def test_a_closed_bus_lets_its_readers_go_with_what_is_left() -> None:
    bus = Bus()
    queue = bus.subscribe("health")
    got: list[Message | None] = []
    reader = threading.Thread(target=lambda: got.append(queue.get(None)))
    reader.start()
    bus.close()
    reader.join(60)
    assert got == [None]
    bus.publish(Health(1, "a", "b"))
    assert queue.get(None) == Health(1, "a", "b")
    assert queue.get(None) is None
    assert queue.wait_below(0, 20) is True, "nobody waits for room at a closed bus"


def test_a_source_that_can_wait_waits_for_its_reader() -> None:
    bus = Bus()
    queue = bus.subscribe("raw_windows")
    bus.publish(RawWindow("r", n, n + 1, 0, (), None) for n in range(3))
    assert not queue.wait_below(2, 0.01)
    done = threading.Event()
    writer = threading.Thread(target=lambda: done.set() if queue.wait_below(2, 60) else None)
    writer.start()
    queue.get(0)
    assert not done.is_set()
    queue.get(0)
    writer.join(60)
    assert done.is_set()


@pytest.mark.parametrize("spills", [True, False])
def test_many_writers_and_readers_at_once(spills: bool, tmp_path: Path) -> None:
    bus = Bus(tmp_path / "spool" if spills else None)
    queues = [bus.subscribe("observations") for _ in range(2)]
    got: list[list[int]] = [[], []]

    def read(n: int) -> None:
        while len(got[n]) < 600:
            message = queues[n].get(60)
            assert isinstance(message, Observation)
            got[n].append(message.window.t_start)

    def write(first: int) -> None:
        rng = random.Random(first)
        for n in range(200):
            bus.publish(observed(first + n))
            if rng.random() < 0.02:
                threading.Event().wait(0.001)

    threads = [threading.Thread(target=read, args=(n,)) for n in range(2)]
    threads += [threading.Thread(target=write, args=(first,)) for first in (0, 1000, 2000)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    for seen in got:
        assert sorted(seen) == [first + n for first in (0, 1000, 2000) for n in range(200)]
        for first in (0, 1000, 2000):
            own = [n for n in seen if first <= n < first + 1000]
            assert own == sorted(own), "each writer's messages keep their order"


@pytest.mark.parametrize("topic", TOPICS, ids=lambda t: t.name)
def test_each_row_of_the_table_of_topics(topic: object) -> None:
    assert isinstance(topic, type(TOPICS[0]))
    assert topic.capacity >= 1
    assert topic.policy in ("keep_latest", "drop_oldest", "never_drop")
    assert topic.policy != "keep_latest" or topic.capacity == 1
    kept = {"raw_windows", "observations", "windows", "episodes", "services"}
    assert (topic.policy == "never_drop") == (topic.name in kept), "what is remembered or asked for is never dropped"


def test_while_the_disk_takes_nothing_memory_holds_it_within_a_bound(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.write_text("a file where the folder should be")
    bus = Bus(spool)
    queue = bus.subscribe("raw_windows")
    topic = BY_NAME["raw_windows"]

    def raw(n: int) -> RawWindow:
        return RawWindow("r", n, n + 1, 0, (), None)

    for n in range(topic.capacity + topic.held):
        bus.publish(raw(n))
    assert bus.dropped() == {} and queue.backlog() == topic.capacity + topic.held
    bus.publish(raw(99))
    assert bus.dropped() == {"raw_windows": 1}, "beyond the bound the oldest of those gives way"
    spool.unlink()
    bus.publish(raw(100))
    assert queue.spilled == 1, "and once there is room again it goes to the disk"
    got = [queue.get(0) for _ in range(topic.capacity + topic.held + 1)]
    numbers = [m.t_start for m in got if isinstance(m, RawWindow)]
    assert numbers == [*range(topic.capacity), *range(topic.capacity + 1, topic.capacity + topic.held), 99, 100]
    assert queue.get(0) is None and list(spool.glob("*")) == []
