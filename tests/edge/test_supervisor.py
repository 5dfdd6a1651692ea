"""The supervisor: what dies is started again, what dies too often stays down and says so, what hangs holds nobody."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from edge.app import RESTART_WINDOW_US, SERVICES, Service, Supervisor
from edge.bus import Bus
from edge.clock import US, ReplayClock
from edge.errors import ServiceDown
from edge.messages import Health


class Stage:
    """A supervisor over made-up services, under a clock of our own."""

    def __init__(self, *services: Service) -> None:
        self.clock = ReplayClock(1_000_000 * US)
        self.runtime: Any = SimpleNamespace(bus=Bus(), states={}, wanted=True, live=True)
        self.changes = self.runtime.bus.subscribe("health")
        self.supervisor = Supervisor(self.runtime, self.clock, services)

    def step(self, seconds: float = 0.1) -> None:
        """A look after some time, once every service that was going to die has died."""
        for running in self.supervisor._all:
            if running.thread is not None and running.service.name.startswith("dies"):
                running.thread.join(60)
        self.clock.set(self.clock.now() + round(seconds * US))
        self.supervisor.step()

    def state(self, name: str) -> Any:
        return self.runtime.states[name]["state"]


def always(runtime: Any) -> bool:
    return bool(runtime.wanted)


def serves(begun: list[int]) -> Callable[[Any, threading.Event], None]:
    def run(_: Any, stop: threading.Event) -> None:
        begun.append(1)
        stop.wait(60)

    return run


def dies(begun: list[int], error: BaseException | None = None) -> Callable[[Any, threading.Event], None]:
    def run(_: Any, stop: threading.Event) -> None:
        begun.append(1)
        raise error or RuntimeError("the cable\n was pulled")

    return run


def test_a_service_that_dies_is_started_again_a_little_later_each_time() -> None:
    begun: list[int] = []
    stage = Stage(Service("dies", dies(begun), always, restarts=3))
    stage.step()
    assert (len(begun), stage.state("dies")) == (1, "running")
    stage.step()
    assert (len(begun), stage.state("dies")) == (1, "restarting")
    assert stage.runtime.states["dies"]["last_error"] == "the cable was pulled"
    stage.step(0.3)
    assert len(begun) == 1, "not before half a second"
    stage.step(0.3)
    assert len(begun) == 2
    stage.step()
    stage.step(0.6)
    assert len(begun) == 2, "the second time it takes longer"
    stage.step(0.6)
    assert len(begun) == 3
    assert stage.changes.get(0) is None


@pytest.mark.parametrize("essential", [True, False])
def test_one_that_dies_too_often_within_a_minute_stays_down_and_is_told(essential: bool) -> None:
    begun: list[int] = []
    other: list[int] = []
    stage = Stage(
        Service("dies", dies(begun), always, restarts=3, essential=lambda _: essential),
        Service("serves", serves(other), always, restarts=1),
    )
    for _ in range(40):
        stage.step(1.0)
    assert len(begun) == 4
    assert stage.state("dies") == "down"
    assert stage.runtime.states["dies"] == {"state": "down", "restarts": 4, "last_error": "the cable was pulled"}
    told = stage.changes.get(0)
    assert isinstance(told, Health)
    assert (told.part, told.state, told.detail) == ("dies", "down", "the cable was pulled")
    assert stage.changes.get(0) is None, "told once"
    assert stage.state("serves") == "running", "the others go on"
    if essential:
        assert isinstance(stage.supervisor.failed, ServiceDown)
        assert "dies failed 4 times within a minute (the cable was pulled)" in str(stage.supervisor.failed)
    else:
        assert stage.supervisor.failed is None
    stage.supervisor.stop(60)


def test_deaths_that_lie_apart_are_forgiven() -> None:
    begun: list[int] = []
    stage = Stage(Service("dies", dies(begun), always, restarts=1))
    for _ in range(30):
        stage.step(RESTART_WINDOW_US / US / 2 + 1)
    assert len(begun) > 10
    assert stage.state("dies") != "down"
    assert stage.supervisor.failed is None


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), MemoryError()])
def test_whatever_ends_a_service_is_a_death(error: BaseException) -> None:
    begun: list[int] = []
    stage = Stage(Service("dies", dies(begun, error), always, restarts=1))
    stage.step()
    stage.step()
    assert stage.state("dies") == "restarting"
    assert stage.runtime.states["dies"]["last_error"]


def test_a_service_that_has_done_its_work_has_ended() -> None:
    begun: list[int] = []

    def work(runtime: Any, stop: threading.Event) -> None:
        begun.append(1)
        runtime.wanted = False

    stage = Stage(Service("dies not", work, always, restarts=1))
    stage.step()
    for _ in range(5):
        stage.step()
    assert begun == [1]
    assert stage.state("dies not") == "ended"


def test_it_runs_when_it_is_wanted_and_rests_when_it_is_not() -> None:
    """What pausing is: the predicate turns, the service is asked to stop, and is taken up again."""
    begun: list[int] = []
    stage = Stage(Service("serves", serves(begun), always, restarts=1))
    stage.runtime.wanted = False
    stage.step()
    assert (begun, stage.state("serves")) == ([], "waiting")
    stage.runtime.wanted = True
    stage.step()
    assert stage.state("serves") == "running"
    stage.runtime.wanted = False
    stage.step()
    assert stage.state("serves") == "stopping"
    stage.supervisor._all[0].thread.join(60)  # type: ignore[union-attr]
    stage.step()
    assert stage.state("serves") == "ended"
    stage.runtime.wanted = True
    stage.step()
    assert (len(begun), stage.state("serves")) == (2, "running")
    assert stage.supervisor.stop(60) == []


def test_one_that_hangs_does_not_hold_the_stop() -> None:
    hold, begun = threading.Event(), []  # type: ignore[var-annotated]

    def hang(_: Any, stop: threading.Event) -> None:
        hold.wait(60)

    stage = Stage(Service("hangs", hang, always, restarts=1), Service("serves", serves(begun), always, restarts=1))
    stage.step()
    assert stage.supervisor.stop(0.05) == ["hangs"]
    assert all(r.thread is None or r.thread.daemon for r in stage.supervisor._all), "nor the end of the process"
    hold.set()


def test_stop_wakes_those_that_wait_at_the_bus() -> None:
    def read(runtime: Any, stop: threading.Event) -> None:
        queue = runtime.bus.subscribe("voice")
        while not stop.is_set():
            queue.get(None)

    stage = Stage(Service("reads", read, always, restarts=1))
    stage.step()
    assert stage.supervisor.stop(60) == []


@pytest.mark.parametrize("service", SERVICES, ids=lambda s: s.name)
def test_each_row_of_the_table_of_services(service: Service) -> None:
    assert 1 <= service.restarts <= 10
    assert callable(service.run)
    file, camera = SimpleNamespace(live=False), SimpleNamespace(live=True)
    rests = (service.essential(file), service.essential(camera))  # type: ignore[arg-type]
    expected = {"perception": (True, True), "memory": (True, True), "capture": (True, False)}
    assert rests == expected.get(service.name, (False, False))


def test_services_are_named_once() -> None:
    names = [s.name for s in SERVICES]
    assert len(names) == len(set(names))
    assert names[:3] == ["capture", "perception", "memory"]
