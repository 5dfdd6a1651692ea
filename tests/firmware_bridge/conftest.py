"""Two sessions, or a session and a whole simulated device, on one made-up clock with a bad line between them."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import strategies as st

from firmware_bridge import protocol as p
from firmware_bridge.device import Engine
from firmware_bridge.events import Deliver, Down, Output, Queued, Released, Restored, Settings, Transmit, Up
from firmware_bridge.faults import CLEAN, BadLine, LineRates
from firmware_bridge.reference_device import ReferenceDevice, build
from firmware_bridge.scenario import Scenario
from firmware_bridge.session import Session
from firmware_bridge.simulator import Simulator


class Side:
    """A session and the application above it; ``got`` and ``store`` survive ``restart``."""

    def __init__(self, role: p.Role, nonce: int, stream: int, settings: Settings) -> None:
        self.role, self.nonce, self.settings = role, nonce, settings
        self.got: list[p.Message] = []
        self.events: list[Output] = []
        self.queue: dict[int, tuple[int, bytes]] = {}
        self.stream, self.next, self.peer = stream, 1, (0, 0)
        self.slow: list[Deliver] | None = None
        self.restart()

    def restart(self) -> None:
        queued = tuple((seq, number, payload) for seq, (number, payload) in self.queue.items())
        restored = Restored(self.stream, self.next, queued, *self.peer)
        self.nonce += 1
        self.session = Session(self.role, nonce=self.nonce, restored=restored, settings=self.settings)

    def take(self, now: int, outputs: list[Output]) -> bytes:
        data, work = b"", list(outputs)
        for output in work:
            if isinstance(output, Transmit):
                data += output.data
            elif isinstance(output, Queued):
                self.queue[output.seq] = (output.number, output.payload)
                self.next = (output.seq + 1) & 0xFFFFFFFF
            elif isinstance(output, Released):
                for seq in list(self.queue):
                    del self.queue[seq]
                    if seq == output.seq:
                        break
            elif isinstance(output, Deliver) and output.seq is not None:
                if self.slow is not None:
                    self.slow.append(output)
                else:
                    work += self.commit(now, output)
            elif isinstance(output, Deliver):
                self.got.append(output.message)
            else:
                self.events.append(output)
        return data

    def commit(self, now: int, item: Deliver) -> list[Output]:
        self.got.append(item.message)
        self.peer = (item.stream, item.seq or 0)
        return self.session.commit(now, item.stream, item.seq or 0)

    @property
    def ups(self) -> int:
        return sum(isinstance(e, Up) for e in self.events)

    @property
    def downs(self) -> list[str]:
        return [e.reason for e in self.events if isinstance(e, Down)]


class Pair:
    """Host and device; ``run`` moves the clock to whatever comes next."""

    def __init__(self, rates: LineRates = CLEAN, *, seed: int = 1, delay_us: int = 2_000, **settings: int) -> None:
        self.now = 1_000_000
        made = Settings(**settings)
        self.host = Side(p.Role.HOST, 100, 7_000_001, made)
        self.device = Side(p.Role.DEVICE, 200, 7_000_002, made)
        self.lines = {self.host: BadLine(rates, seed), self.device: BadLine(rates, seed + 1)}
        self.delay_us = delay_us
        self.cut = False
        self._air: list[tuple[int, int, Side, bytes]] = []
        self._order = itertools.count()

    def open(self) -> None:
        for side in (self.host, self.device):
            self.put(side, side.session.opened(self.now))

    def other(self, side: Side) -> Side:
        return self.device if side is self.host else self.host

    def put(self, side: Side, outputs: list[Output]) -> None:
        data = side.take(self.now, outputs)
        if data and not self.cut:
            data = self.lines[side].send(data)
            heapq.heappush(self._air, (self.now + self.delay_us, next(self._order), self.other(side), data))

    def send(self, side: Side, message: p.Message) -> None:
        self.put(side, side.session.send(self.now, message))

    def restart(self, side: Side) -> None:
        """Crash and start again: what is in the air towards it is lost, what it sent stays in the air."""
        self._air = [item for item in self._air if item[2] is not side]
        heapq.heapify(self._air)
        side.restart()
        self.put(side, side.session.opened(self.now))

    def run(self, us: int, until: Callable[[], bool] = lambda: False) -> None:
        end = self.now + us
        while not until():
            times = [(t, s) for s in (self.host, self.device) if (t := s.session.deadline()) is not None]
            due = min([t for t, _ in times] + [a[0] for a in self._air[:1]] + [end])
            self.now = max(self.now, due)
            if self.now >= end:
                return
            while self._air and self._air[0][0] <= self.now:
                _, _, side, data = heapq.heappop(self._air)
                self.put(side, side.session.feed(self.now, data))
            for side in (self.host, self.device):
                deadline = side.session.deadline()
                if deadline is not None and deadline <= self.now:
                    self.put(side, side.session.tick(self.now))


@pytest.fixture
def pair() -> type[Pair]:
    return Pair


def _field(kind: str, choices: type | None) -> st.SearchStrategy[object]:
    unsigned = {"u8": 8, "u16": 16, "u32": 32, "u64": 64}
    if kind in unsigned:
        return st.integers(0, 2 ** unsigned[kind] - 1)
    if choices is not None:
        return st.sampled_from(list(choices))
    return {
        "i16": st.integers(-(2**15), 2**15 - 1),
        "i64": st.integers(-(2**63), 2**63 - 1),
        "bool": st.booleans(),
        "percent": st.none() | st.integers(0, 100),
        "u16?": st.none() | st.integers(0, 0xFFFE),
        "i16?": st.none() | st.integers(-(2**15) + 1, 2**15 - 1),
        "bytes32": st.binary(min_size=32, max_size=32),
        "text": st.text(max_size=16),
        "blob": st.binary(max_size=192),
        "samples": st.lists(st.tuples(*[st.integers(-(2**15), 2**15 - 1)] * 6), max_size=18).map(tuple),
    }[kind]


def messages(row: p.Row) -> st.SearchStrategy[object]:
    layout = p.LAYOUTS[row.message]
    fields = zip(layout.names, layout.kinds, layout.enums, strict=True)
    return st.builds(row.message, **{name: _field(kind, choices) for name, kind, choices in fields})


@pytest.fixture(scope="session")
def any_message() -> st.SearchStrategy[object]:
    """Any message of the table with any values."""
    return st.sampled_from(p.TABLE).flatmap(messages)


@pytest.fixture(scope="session")
def reference_binary(tmp_path_factory) -> Path:
    """The C reference device, compiled once with warnings as errors and the sanitizers on."""
    return build(tmp_path_factory.mktemp("reference") / "device", options=("-DGB_QUEUE=256",))


class Rig:
    """A host session and a whole simulated device on one made-up clock, over the scenario's bad line."""

    def __init__(self, scenario: Scenario, engine: Engine | None = None, *, delay_us: int = 1_000) -> None:
        self.now = 50_000_000
        self.host = Side(p.Role.HOST, 500, 9_000_001, Settings())
        self.sim = Simulator(scenario, lambda: self.now, engine=engine)
        self.delay_us = delay_us
        self._air: list[tuple[int, int, str, bytes]] = []
        self._order = itertools.count()
        self.to_host(self.sim.line_opened())
        self.to_device(self.host.session.opened(self.now))

    def send(self, *messages: p.Message) -> None:
        for message in messages:
            self.to_device(self.host.session.send(self.now, message))

    def to_device(self, outputs: list[Output]) -> None:
        self._fly("device", self.host.take(self.now, outputs))

    def to_host(self, data: bytes) -> None:
        self._fly("host", data)

    def _fly(self, where: str, data: bytes) -> None:
        if data:
            heapq.heappush(self._air, (self.now + self.delay_us, next(self._order), where, data))

    def run(self, us: int, until: Callable[[], bool] = lambda: False) -> bool:
        """Let ``us`` pass; True as soon as ``until`` holds, False when it never did."""
        end = self.now + us
        while not until():
            host = self.host.session.deadline()
            due = min([self.sim.deadline(), *([] if host is None else [host]), *(a[0] for a in self._air[:1]), end])
            self.now = max(self.now, due)
            if self.now >= end:
                return False
            while self._air and self._air[0][0] <= self.now:
                _, _, where, data = heapq.heappop(self._air)
                if where == "device":
                    self.to_host(self.sim.step(data))
                else:
                    self.to_device(self.host.session.feed(self.now, data))
            if self.sim.deadline() <= self.now:
                self.to_host(self.sim.step())
            if host is not None and host <= self.now:
                self.to_device(self.host.session.tick(self.now))
        return True

    def got(self, kind: type) -> list:
        return [m for m in self.host.got if isinstance(m, kind)]


@pytest.fixture(params=["python", "c"])
def make_rig(request, tmp_path) -> Iterator[Callable[..., Rig]]:
    """Makes a Rig with the Python firmware, then with the compiled C one; its processes must end well."""
    made: list[ReferenceDevice] = []

    def make(scenario: Scenario, **options: int) -> Rig:
        if request.param == "python":
            return Rig(scenario, **options)
        made.append(ReferenceDevice(request.getfixturevalue("reference_binary"), tmp_path / f"state{len(made)}"))
        return Rig(scenario, made[-1], **options)

    yield make
    for device in made:
        assert device.close() == 0, "the sanitizers found something"


@pytest.fixture
def rig_class() -> type[Rig]:
    return Rig
