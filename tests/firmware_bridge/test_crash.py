"""kill -9 on either side at any point of an acknowledged transfer: nothing lost, nothing doubled."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import struct
import threading
import time
from pathlib import Path

import pytest

from firmware_bridge import protocol as p
from firmware_bridge.device import Reaction
from firmware_bridge.endpoint import Endpoint
from firmware_bridge.errors import OutboxFull, ReferenceFailed
from firmware_bridge.journal import Journal
from firmware_bridge.links import Backoff, TcpLink, TcpListener
from firmware_bridge.reference_device import ReferenceDevice
from firmware_bridge.scenario import parse
from firmware_bridge.session import Session

KILLS = 50
TOTAL = 1_200
fork = multiprocessing.get_context("fork")


def now_us() -> int:
    return time.monotonic_ns() // 1_000


def message(role: p.Role, i: int) -> p.Message:
    return p.Worn(i, True) if role == p.Role.DEVICE else p.Tone(i, 1, 1)


def number(item: p.Message) -> int:
    return item.at_us if isinstance(item, p.Worn) else item.hz


def side(role: p.Role, path: Path, port: int) -> None:
    """One process: queues message after message, keeps all it hears in its journal. It never ends by itself."""
    journal = Journal(path, int.from_bytes(os.urandom(4), "little") | 1, sync=False)
    link = TcpListener(port=port, timeout_s=0.05) if role == p.Role.DEVICE else TcpLink("127.0.0.1", port)
    session = Session(role, nonce=int.from_bytes(os.urandom(4), "little") | 1, restored=journal.restored)
    endpoint = Endpoint(session, link, now_us, lambda _: False, journal=journal, backoff=Backoff(0.01, 0.05))
    first = journal.restored.next_seq

    def produce() -> None:
        pause, i = threading.Event(), first
        while i <= TOTAL:
            try:
                endpoint.send(message(role, i))
                i += 1
            except OutboxFull:
                pause.wait(0.005)
            pause.wait(0.001)

    threading.Thread(target=produce, daemon=True).start()
    endpoint.run(threading.Event())


def look(path: Path, copy: Path) -> Journal:
    """A journal as it is now, without touching the one in use."""
    shutil.copyfile(path, copy)
    return Journal(copy, 1, sync=False)


def test_fifty_kills_of_either_process_lose_and_double_nothing(tmp_path: Path) -> None:
    rng = random.Random(3)
    free = TcpListener()
    port = free.port
    free.shut()
    roles = (p.Role.HOST, p.Role.DEVICE)
    paths = {role: tmp_path / role.name for role in roles}

    def start(role: p.Role) -> multiprocessing.process.BaseProcess:
        process = fork.Process(target=side, args=(role, paths[role], port), daemon=True)
        process.start()
        return process

    running = {role: start(role) for role in roles}
    pause = threading.Event()
    try:
        for _ in range(KILLS):
            pause.wait(rng.uniform(0.005, 0.12))
            role = rng.choice(roles)
            os.kill(running[role].pid, signal.SIGKILL)
            running[role].join()
            assert running[role].exitcode == -signal.SIGKILL, "it ended before it was killed"
            running[role].close()
            running[role] = start(role)
        for _ in range(4000):
            pause.wait(0.05)
            views = [look(paths[role], tmp_path / "copy") for role in roles if paths[role].exists()]
            done = [len(view.pending()) >= TOTAL and not view.restored.queued for view in views]
            for view in views:
                view.close()
            if len(done) == 2 and all(done):
                break
    finally:
        for process in running.values():
            process.kill()
            process.join()
            process.close()
    for role in roles:
        view = look(paths[role], tmp_path / "copy")
        assert [number(item.message) for item in view.pending()] == list(range(1, TOTAL + 1))
        view.close()


class Mortal(ReferenceDevice):
    """The C firmware, whose process may be killed at any moment; the simulator sees a crash."""

    dead = False

    def _do(self, op: str, at_us: int, data: bytes = b"") -> Reaction:
        if self.dead and op != "B":
            return Reaction()
        try:
            self.dead = False
            return super()._do(op, at_us, data)
        except ReferenceFailed:
            self.reference.restart()
            self.dead = True
            return Reaction(lost=True)

    def deadline(self) -> int | None:
        return None if self.dead else super().deadline()


def next_seq(state: Path) -> int:
    """``gb_retained.next_seq`` in the C device's state file."""
    return int(struct.unpack_from("<III", state.read_bytes(), 0)[2])


def test_fifty_kills_of_the_c_device_lose_and_double_nothing(rig_class, reference_binary, tmp_path: Path) -> None:
    state = tmp_path / "state"
    engine = Mortal(reference_binary, state)
    rig = rig_class(parse({"line": {"corrupt": 0.03, "drop": 0.03, "duplicate": 0.03, "reorder": 0.03}}), engine)
    rng, stop = random.Random(4), threading.Event()
    kills = 0

    def reaper() -> None:
        while not stop.wait(rng.uniform(0.001, 0.02)):
            process = engine.reference.process
            if not engine.dead and process.poll() is None:
                process.kill()

    def work(us: int) -> int:
        """Let the device run; bring it back when it was killed. Returns how often it was."""
        rig.run(us)
        if not engine.dead:
            return 0
        rig.sim.do("crash")
        rig.run(1_500_000)
        return 1

    thread = threading.Thread(target=reaper)
    thread.start()
    told = sent = 0
    try:
        while kills < KILLS or sent < 300:
            if rig.sim.running and not engine.dead and sent < 900:
                at = next_seq(state)
                rig.to_host(engine.send(0, p.Worn(1_000_000 + sent, True)).data)
                if next_seq(state) != at:  # it reached the queue before any kill
                    sent += 1
            if rig.host.session.queued < 100 and told < 900:
                told += 1
                rig.send(p.Tone(told, 1, 1))
            kills += work(20_000)
        stop.set()
        thread.join()
        for _ in range(600):  # the last kill may show only now
            kills += work(200_000)
            if rig.host.session.queued == 0 and quiet(rig, sent) and not engine.dead:
                break
        assert [m.at_us - 1_000_000 for m in rig.got(p.Worn) if m.at_us >= 1_000_000] == list(range(sent))
        engine.reference.restart()  # what it did is read from its state file by a fresh process
        kept = [p.unpack(data[0], data[1:]) for kind, data in engine.reference.ask("K")[0] if kind == "k"]
        assert [m.hz for m in kept if isinstance(m, p.Tone)] == list(range(1, told + 1))
    finally:
        stop.set()
        thread.join()
        engine.close()


def quiet(rig, sent: int) -> bool:
    return sum(m.at_us >= 1_000_000 for m in rig.got(p.Worn)) >= sent


@pytest.mark.parametrize("seed", range(4))
def test_a_restart_in_the_middle_of_each_frame(make_rig, seed: int) -> None:
    """The firmware crashes between any two bytes that reach it."""
    rng = random.Random(seed)
    rig = make_rig(parse({"seed": seed}))
    rig.run(1_000_000)
    for i in range(30):
        rig.send(p.Tone(440, i, 1))
        if rng.random() < 0.4:
            data = rig.host.take(rig.now, rig.host.session.tick(rig.now + 300_000))
            rig.to_host(rig.sim.step(data[: rng.randrange(len(data) + 1)]))
            rig.sim.do("crash")
        rig.run(rng.randrange(200_000))
    rig.run(60_000_000, until=lambda: rig.host.session.queued == 0)
    assert [m.ms for m in rig.sim.commands] == list(range(30))
