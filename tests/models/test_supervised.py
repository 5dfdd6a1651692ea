"""A child that dies, hangs, leaks or talks nonsense is an error for one caller, never for the runtime or the next one."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from edge.clock import SystemClock
from models.child.memory import held_kb
from models.child.process import Child
from models.child.supervisor import Limits, Supervised
from models.child.wire import BLOBS_MAX, Decoder, Packet, ProtocolError, pack
from models.errors import InputError, ModelBusyError, ModelCancelledError, ModelDownError, ModelTimeoutError

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, str(Path(__file__).with_name("odd_child.py")))
# A child on a starved machine may be silent for seconds: only where it hangs on purpose is it given up soon.
QUICK = Limits(grace_s=0.3, stale_s=60.0, ping_s=0.1, pings=600, pause_s=0.05, rest_s=6.0, look_s=0.02, load_s=300.0,
               within_s=600.0)  # fmt: skip
HASTY = replace(QUICK, pings=40)
Make = Callable[..., Supervised]


mono = SystemClock().mono


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[Supervised] = []

    def build(limits: Limits = QUICK) -> Supervised:
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        made.append(Supervised("odd", COMMAND, {}, mono=mono, limits=limits, env=env))
        return made[-1]

    yield build
    for one in made:
        one.close()


def ask(process: Supervised, do: str = "ask", timeout_s: float = 120.0, **more: object) -> dict[str, object]:
    return process.request({"op": "ask", "do": do, **more}, timeout_s=timeout_s)


def test_frames_survive_any_cut() -> None:
    sent = [({"op": "a", "text": "ä€"}, (b"", b"x" * 1000)), ({"op": "b"}, ()), ({"id": 3}, (b"\x00",))]
    stream = b"".join(pack(h, b) for h, b in sent)
    for size in (1, 7, 64, len(stream)):
        decoder, got = Decoder(), []
        for i in range(0, len(stream), size):
            got += list(decoder.feed(stream[i : i + size]))
        assert got == [Packet(h, b) for h, b in sent]


@pytest.mark.parametrize("data", [b"HTTP/1.1 200 OK\r\n", b"GEf1\xff\xff\xff\xff\x00\x00", pack({"a": 1})[:-1] + b"!"])
def test_what_is_no_frame_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        list(Decoder().feed(data))


def test_a_frame_beyond_the_limits_is_not_sent() -> None:
    with pytest.raises(ProtocolError):
        pack({}, [b""] * (BLOBS_MAX + 1))


def test_requests_large_and_small_come_through(make: Make) -> None:
    process, pieces = make(), []
    big = os.urandom(3 << 20)  # far more than a pipe holds
    answer = process.request({"op": "ask", "say": "ü"}, [big, b"x"], timeout_s=120, on_piece=pieces.append)
    assert (answer["text"], answer["blobs"], pieces) == ("ü", [len(big), 1], ["a"])
    assert process.state == "up"
    with pytest.raises(InputError, match="No"):
        ask(process, "refuse")
    assert process.health()["restarts"] == 0


@pytest.mark.parametrize(
    ("do", "told"),
    [
        ("abort", "SIGABRT.*GGML_ASSERT"),
        ("exit", "status 3"),
        ("garbage", "no frame"),
        ("mute", "hung"),
        ("stop", "hung"),
    ],
)
def test_a_child_that_fails_is_an_error_and_the_next_request_works(make: Make, do: str, told: str) -> None:
    process = make(HASTY if told == "hung" else QUICK)
    with pytest.raises(ModelDownError, match=told):
        ask(process, do)
    assert ask(process, say="on")["text"] == "on"
    assert process.health()["restarts"] == 1


def test_a_killed_child_is_replaced_between_requests(make: Make) -> None:
    process = make()
    ask(process)
    pid = process.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: held_kb(pid) is None)
    assert ask(process, say="on")["text"] == "on"
    assert process.pid != pid


def test_an_allocation_bomb_is_stopped_at_the_limit(make: Make) -> None:
    process = make(replace(QUICK, memory_mb=200))
    with pytest.raises(ModelDownError, match="more than the 200 MB"):
        ask(process, "bomb")
    assert ask(process, say="on")["text"] == "on"


def test_slow_growth_means_a_planned_restart_between_requests(make: Make) -> None:
    process = make(replace(QUICK, creep_mb=40, warm=2))
    for _ in range(12):
        ask(process, "leak", mb=10)
    health = process.health()
    assert health["planned_restarts"] >= 1
    assert health["restarts"] == 0
    assert ask(process, say="on")["text"] == "on"


def test_too_many_deaths_bring_it_down_until_it_has_rested(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    process = make()
    with caplog.at_level(logging.ERROR):
        for _ in range(5):
            with pytest.raises(ModelDownError):
                ask(process, "exit")
    assert process.state == "down"
    assert sum("is down" in r.message for r in caplog.records) == 1
    started = process.requests
    with pytest.raises(ModelDownError, match="rests"):
        ask(process)
    assert process.requests == started + 1
    assert process.pid is None
    wait_until(lambda: process.state != "down")
    assert ask(process, say="on")["text"] == "on"


def test_a_deadline_leaves_the_child_alive(make: Make) -> None:
    process = make()
    ask(process)
    pid = process.pid
    with pytest.raises(ModelTimeoutError):
        ask(process, "sleep", timeout_s=0.2)
    assert ask(process, say="on")["text"] == "on"
    assert process.pid == pid


def test_a_request_taken_back_leaves_the_child_alive(make: Make) -> None:
    process, back = make(), threading.Event()
    ask(process)
    pid = process.pid
    threading.Timer(0.1, back.set).start()
    with pytest.raises(ModelCancelledError):
        process.request({"op": "ask", "do": "sleep"}, timeout_s=300, cancelled=back.is_set)
    assert ask(process, say="on")["text"] == "on"
    assert process.pid == pid


def test_a_child_that_does_not_leave_a_request_is_ended(make: Make) -> None:
    process = make(replace(QUICK, stale_s=1.0))
    ask(process)
    pid = process.pid
    with pytest.raises(ModelTimeoutError):
        ask(process, "stubborn", timeout_s=1.0)
    try:
        ask(process)  # who asks before it is ended is told why
    except ModelDownError as error:
        assert "leave" in str(error)
    assert ask(process, say="on")["text"] == "on"
    assert process.pid != pid
    assert process.health()["restarts"] == 1


def test_callers_queue_and_too_many_are_turned_away(make: Make) -> None:
    process = make(replace(QUICK, waiting=2))
    ask(process)
    release, results = threading.Event(), []

    def call(number: int) -> None:
        try:
            results.append(ask(process, say=str(number))["text"])
        except ModelBusyError as error:
            results.append(error.code)

    def hold() -> None:
        with pytest.raises(ModelCancelledError):
            process.request({"op": "ask", "do": "sleep"}, timeout_s=300, cancelled=release.is_set)

    holder = threading.Thread(target=hold)
    holder.start()
    wait_until(lambda: process.requests == 2)
    threads = []
    for number in range(3):
        threads.append(threading.Thread(target=call, args=(number,)))
        threads[-1].start()
        wait_until(lambda n=number: process.health()["waiting"] == min(n + 1, 2) or "model.busy" in results)
    wait_until(lambda: "model.busy" in results)
    release.set()
    for thread in [holder, *threads]:
        thread.join()
    assert results == ["model.busy", "0", "1"]


def test_waiting_ends_with_the_deadline(make: Make) -> None:
    process, release = make(), threading.Event()
    ask(process)

    def hold() -> None:
        with pytest.raises(ModelCancelledError):
            process.request({"op": "ask", "do": "sleep"}, timeout_s=300, cancelled=release.is_set)

    holder = threading.Thread(target=hold)
    holder.start()
    wait_until(lambda: process.requests == 2)
    with pytest.raises(ModelTimeoutError):
        ask(process, timeout_s=0.2)
    release.set()
    holder.join()
    assert ask(process, say="on")["text"] == "on"


def test_idle_children_are_let_go_and_come_back(make: Make) -> None:
    process = make(replace(QUICK, idle_s=0.2))
    ask(process)
    wait_until(lambda: process.pid is None)
    assert process.state == "idle"
    assert ask(process, say="on")["text"] == "on"
    process.unload()
    assert process.pid is None


def test_closing_ends_a_request_under_way_and_the_process(make: Make) -> None:
    process, errors = make(), []
    ask(process)
    pid = process.pid
    assert pid is not None

    def call() -> None:
        try:
            ask(process, "stubborn", timeout_s=60)
        except ModelDownError as error:
            errors.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    wait_until(lambda: process.requests == 2)
    process.close()
    thread.join(60)
    assert errors
    assert held_kb(pid) is None
    assert process.state == "closed"
    with pytest.raises(ModelDownError, match="closed"):
        ask(process)
    process.close()


def test_a_program_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelDownError, match="cannot be started"):
        Child([str(tmp_path / "nothing")])


def wait_until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    until, never = mono() + round(seconds * 1e6), threading.Event()
    while not true():
        assert mono() < until, "it never came"
        never.wait(0.01)
