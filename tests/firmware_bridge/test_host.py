"""The runtime's face on a real line: state, time of day, updates, and messages that outlive a crash of the handler."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from firmware_bridge import protocol as p
from firmware_bridge.errors import JournalError, UpdateError
from firmware_bridge.events import Deliver, Settings
from firmware_bridge.host import Glasses
from firmware_bridge.links import open_url
from firmware_bridge.scenario import parse
from firmware_bridge.simulate import simulate
from firmware_bridge.simulator import Simulator


def now_us() -> int:
    return time.monotonic_ns() // 1_000


def wait_for(condition: Callable[[], object], seconds: float = 60.0) -> None:
    end, pause = now_us() + seconds * 1e6, threading.Event()
    while not condition():
        assert now_us() < end, "it never happened"
        pause.wait(0.005)


class Both:
    """A simulated device and the runtime's side, each in its thread."""

    def __init__(self, tmp_path: Path, scenario: dict, *, reference: Path | None = None, handler=None) -> None:
        self.stop, self.host_stop = threading.Event(), threading.Event()
        self.got: list[Deliver] = []
        self.wall = [1_700_000_000_000_000, 60]
        self.shift = 0
        ready, found = threading.Event(), []

        def tell(sim: Simulator, url: str) -> None:
            found[:] = [sim, url]
            ready.set()

        options = {"tcp": ("127.0.0.1", 0), "reference": reference, "ready": tell}
        self.thread = threading.Thread(target=simulate, args=(parse(scenario), now_us, self.stop), kwargs=options)
        self.thread.start()
        assert ready.wait(60)
        self.sim, self.url = found
        self.path, self.custom = tmp_path / "link.journal", handler
        self.start()

    def start(self) -> None:
        self.host_stop.clear()
        began = now_us()
        self.glasses = Glasses(
            open_url(self.url),
            now_us,
            lambda: (self.wall[0] + now_us() - began + self.shift, self.wall[1]),
            self.handle,
            journal=self.path,
            settings=Settings(time_ping_us=200_000),
        )
        self.host = threading.Thread(target=self.work)
        self.failed: list[Exception] = []
        self.host.start()

    def work(self) -> None:
        try:
            self.glasses.run(self.host_stop)
        except RuntimeError as error:
            self.failed.append(error)

    def handle(self, item: Deliver) -> bool:
        if self.custom is not None:
            self.custom(item)
        self.got.append(item)
        return True

    def messages(self, kind: type) -> list:
        return [item.message for item in self.got if isinstance(item.message, kind)]

    def end_host(self) -> None:
        self.host_stop.set()
        self.glasses.wake()
        self.host.join(60)
        self.glasses.close()

    def close(self) -> None:
        self.end_host()
        self.stop.set()
        self.thread.join(60)
        assert not self.thread.is_alive() and not self.host.is_alive()


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Callable[..., Both]]:
    made: list[Both] = []

    def make(scenario: dict, **options) -> Both:
        made.append(Both(tmp_path, scenario, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_state_follows_the_device_and_is_unknown_without_it(both) -> None:
    pair = both({"worn": True, "battery": {"percent": 71.0}})
    wait_for(lambda: pair.glasses.state().percent == 71 and pair.glasses.state().worn)
    pair.sim.do("mute")
    wait_for(lambda: pair.glasses.state().muted)
    pair.stop.set()
    pair.thread.join(60)
    wait_for(lambda: not pair.glasses.state().connected)
    state = pair.glasses.state()
    assert (state.percent, state.worn, state.muted) == (None, None, True)
    assert not pair.glasses.notice()  # not yet: ten seconds are no outage


def test_the_time_of_day_is_told_and_told_again_when_it_steps(both) -> None:
    pair = both({})
    wait_for(lambda: pair.messages(p.ClockReport))
    first = pair.messages(p.ClockReport)[0]
    assert abs(first.utc_us - pair.wall[0]) < 60_000_000 and pair.sim.board.clock.offset_min == 60
    pair.shift = 3_600_000_000
    wait_for(lambda: len(pair.messages(p.ClockReport)) >= 2)
    second = pair.messages(p.ClockReport)[-1]
    assert 3_599_000_000 < (second.utc_us - second.at_us) - (first.utc_us - first.at_us) < 3_601_000_000
    tap_at = now_us()
    pair.sim.do("tap")
    wait_for(lambda: pair.messages(p.Gesture))
    assert abs(pair.glasses.at(pair.messages(p.Gesture)[0].at_us) - tap_at) < 5_000_000


@pytest.mark.parametrize("reference", [False, True])
def test_an_update_runs_by_itself(both, tmp_path: Path, reference: bool) -> None:
    pair = both({}, reference=tmp_path / "c" if reference else None)
    image = random.Random(1).randbytes(40_000)
    pair.glasses.update(image, "2.1.0")
    with pytest.raises(UpdateError, match="already"):
        pair.glasses.update(image, "2.2.0")
    wait_for(lambda: pair.glasses.update_progress()[1])
    wait_for(lambda: pair.glasses.state().firmware is not None)
    assert [m.version for m in pair.messages(p.Firmware)] == ["1.0.0", "2.1.0"]
    assert pair.messages(p.UpdateStatus)[-1].state == p.UpdateState.CONFIRMED


def test_a_refused_update_says_why(both) -> None:
    pair = both({"battery": {"percent": 9.0}})
    pair.glasses.update(b"image", "2")

    def refused() -> bool:
        try:
            pair.glasses.update_progress()
        except UpdateError as error:
            return "below 30 %" in str(error)
        return False

    wait_for(refused)
    pair.sim.do("battery", 80)
    wait_for(lambda: pair.glasses.state().percent == 80)
    pair.glasses.update(b"image", "2")
    wait_for(lambda: pair.glasses.update_progress()[1])


def test_a_message_survives_the_crash_of_its_handler(both) -> None:
    crash = [True]

    def handler(item: Deliver) -> None:
        if isinstance(item.message, p.Gesture) and crash[0]:
            raise RuntimeError("the runtime died while it worked on it")

    pair = both({}, handler=handler)
    wait_for(lambda: pair.messages(p.Battery))
    pair.sim.do("tap")
    wait_for(lambda: pair.failed)
    pair.end_host()
    crash[0] = False
    pair.start()
    wait_for(lambda: pair.messages(p.Gesture))
    wait_for(lambda: pair.glasses.state().connected)
    pair.sim.do("double_tap")
    wait_for(lambda: len(pair.messages(p.Gesture)) >= 2)
    assert [m.kind for m in pair.messages(p.Gesture)] == [p.GestureKind.TAP, p.GestureKind.DOUBLE_TAP]


def test_a_device_without_updates_refuses_them_politely(both) -> None:
    pair = both({})
    wait_for(lambda: pair.messages(p.Battery))
    pair.sim.engine.session.capabilities = p.Capability.BATTERY
    pair.sim.do("reboot")
    pair.sim.engine.capabilities = p.Capability.BATTERY
    wait_for(lambda: len(pair.messages(p.Wake)) == 2)
    pair.glasses.update(b"image", "2")
    with pytest.raises(UpdateError, match="cannot"):
        pair.glasses.update_progress()


def test_a_full_disk_costs_the_memory_not_the_glasses(both, monkeypatch) -> None:
    pair = both({})
    wait_for(lambda: pair.messages(p.Battery))

    def full(item: object) -> None:
        raise JournalError("no space left on device")

    news: list[object] = []
    pair.glasses._endpoint._listener = news.append
    monkeypatch.setattr(pair.glasses._journal, "commit", full)
    for action in ("tap", "double_tap", "long_press"):
        pair.sim.do(action)
    wait_for(lambda: len(pair.messages(p.Gesture)) == 3)
    pair.glasses.send(p.Haptic(p.Pattern.TICK, 9, 1))
    wait_for(lambda: pair.sim.board.shown)
    wait_for(lambda: not pair.sim.engine.memory.restored.queued)  # all acknowledged
    assert [type(event) for event in news if isinstance(event, JournalError)] == [JournalError]
