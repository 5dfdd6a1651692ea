"""A pair of glasses anyone can run: a firmware (Python or the C reference) on a simulated board behind a bad line.

    sim = Simulator(scenario, now)          # now() -> microseconds, any clock that does not go back
    sim.run(PtyLink(), stop)                # a thread's whole work; or step it by hand:
    reply = sim.step(bytes_from_the_host)

The runtime cannot tell it from a board: it only ever sees the line.
"""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from firmware_bridge import protocol as p
from firmware_bridge.board import Board
from firmware_bridge.device import Engine, PythonDevice, Reaction, Retained
from firmware_bridge.errors import LinkLost, LinkUnavailable
from firmware_bridge.faults import BadLine, LineRates
from firmware_bridge.links.base import Link, wait_ready
from firmware_bridge.scenario import Event, Scenario, line_rates
from firmware_bridge.update import Flash

BOOT_US = 800_000
_BOARDLESS = ("link_down", "link_up", "unplug", "plug", "line", "crash", "reboot", "bad_image")
_WAKES = {
    "wear": p.Reason.WORN,
    "tap": p.Reason.BUTTON,
    "double_tap": p.Reason.BUTTON,
    "long_press": p.Reason.BUTTON,
    "charge": p.Reason.CHARGER,
}


@dataclass(slots=True)
class _Power:
    """Whether the firmware runs. ``booted_us``: simulator's clock at device time 0."""

    booted_us: int = 0
    on: bool = False
    back_us: int | None = None
    reason: p.Reason = p.Reason.POWER_ON


class Simulator:
    """One simulated device. ``now`` is its clock; ``seed`` (default: the scenario's) makes every run the same."""

    def __init__(
        self, scenario: Scenario, now: Callable[[], int], *, engine: Engine | None = None, seed: int | None = None
    ) -> None:
        self.scenario, self._now = scenario, now
        self._rng = random.Random(scenario.seed if seed is None else seed)
        self.board = Board(scenario)
        self.engine: Engine = engine or PythonDevice(Flash(), Retained(self._rng.randint(1, 2**32 - 1)))
        self.commands: list[p.Message] = []
        """Every command the device carried out, oldest first."""
        self.plugged = True
        self._began = now()
        self._events = deque(scenario.events)
        self._asked: deque[Event] = deque()
        self._power = _Power(back_us=self._began)
        self._air = True
        self._line_open = False
        self._to_host = BadLine(scenario.line, scenario.seed * 2 + 1)
        self._to_device = BadLine(scenario.line, scenario.seed * 2 + 2)
        self._out = bytearray()
        self._wake = threading.Event()
        self._bad_image = False

    @property
    def running(self) -> bool:
        """The firmware is up (not rebooting, not asleep)."""
        return self._power.on

    def do(self, action: str, value: Any = None) -> None:
        """Let something happen at the next step (any thread); ``action`` as in scenario files."""
        self._asked.append(Event(0.0, action, value))
        self._wake.set()

    def world_s(self) -> float:
        """Seconds of the world since the beginning."""
        return (self._now() - self._began) * self.scenario.speed / 1e6

    def line_opened(self) -> bytes:
        """The host (or a cable) opened the line."""
        self._line_open = True
        if self._power.on:
            self._take(self.engine.opened(self._at()))
        return self._leave()

    def line_closed(self) -> None:
        """The line ended."""
        self._line_open = False
        if self._power.on:
            self._take(self.engine.closed(self._at()))
        self._leave()

    def step(self, data: bytes = b"") -> bytes:
        """Let everything happen that is due, feed the firmware; bytes for the host."""
        self._happen()
        arrived = self._to_device.send(data) if data and self._air else b""
        if self._power.on:
            self.engine.vitals = self.board.vitals()
            at = self._at()
            if arrived:
                self._take(self.engine.feed(at, arrived))
        if self._power.on:
            self._report(self.board.step(self._at(), self._world_us()))
            deadline = self.engine.deadline()
            if deadline is not None and self._at() >= deadline:
                self._take(self.engine.tick(self._at()))
        else:
            self.board.step(0, self._world_us())
        return self._leave()

    def deadline(self) -> int:
        """When ``step`` is needed at the latest, on the simulator's clock."""
        now = self._now()
        times = [now + 1_000_000]
        if self._events:
            times.append(self._began + round(self._events[0].at_s * 1e6 / self.scenario.speed))
        if self._asked:
            times.append(now)
        power = self._power
        if power.on:
            times.append(power.booted_us + self.board.deadline(self._at()))
            engine = self.engine.deadline()
            if engine is not None:
                times.append(power.booted_us + engine)
        elif power.back_us is not None:
            times.append(power.back_us)
        return min(times)

    def run(self, link: Link, stop: threading.Event, opened: Callable[[Link], None] | None = None) -> None:
        """Serve the line until ``stop``; ``opened`` is told each time it is open (a pty's path is known then)."""
        while not stop.is_set():
            self.step()
            if not self.plugged:
                stop.wait(0.02)
                continue
            try:
                link.open()
            except LinkUnavailable:
                stop.wait(0.02)
                continue
            if opened is not None:
                opened(link)
            try:
                self._serve(link, stop)
            except LinkLost:
                self.line_closed()
            finally:
                link.close()

    def _serve(self, link: Link, stop: threading.Event) -> None:
        pending = bytearray(self.line_opened())
        while not stop.is_set() and self.plugged:
            wait = min(max(0, self.deadline() - self._now()) / 1e6, 0.05)
            fd = link.fileno()
            readable = wait_ready([fd], fd if pending else None, wait)
            pending += self.step(link.read() if fd in readable else b"")
            if pending:
                del pending[: link.write(bytes(pending))]
            if len(pending) > 65_536:  # nobody reads: a real UART would drop it too
                pending.clear()
        self.line_closed()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _at(self) -> int:
        return self._now() - self._power.booted_us

    def _world_us(self) -> int:
        return round((self._now() - self._began) * self.scenario.speed)

    def _happen(self) -> None:
        power = self._power
        if not power.on and power.back_us is not None and self._now() >= power.back_us:
            self._boot()
        due = self._world_us() / 1e6
        while self._events and self._events[0].at_s <= due:
            self._event(self._events.popleft())
        while self._asked:
            self._event(self._asked.popleft())

    def _event(self, event: Event) -> None:
        if event.do in _BOARDLESS:
            self._boardless(event)
            return
        if not self._power.on and self._power.back_us is None and event.do in _WAKES:
            self._power.reason = _WAKES[event.do]
            self._boot()
        reports = self.board.happen(event, self._at())
        if self._power.on:
            self._report(reports)

    def _boardless(self, event: Event) -> None:
        do = event.do
        if do in ("link_down", "link_up"):
            self._air = do == "link_up"
        elif do in ("unplug", "plug"):
            self.plugged = do == "plug"
        elif do == "line":
            rates: LineRates = line_rates(event.value, "line")
            self._to_host.rates = self._to_device.rates = rates
        elif do == "bad_image":
            self._bad_image = True
        elif self._power.on:
            self._off(self._now() + BOOT_US, p.Reason.CRASH if do == "crash" else p.Reason.HOST)

    def _off(self, back_us: int | None, reason: p.Reason) -> None:
        self._power.on, self._power.back_us, self._power.reason = False, back_us, reason
        self.board.restart()

    def _boot(self) -> None:
        power = self._power
        power.on, power.booted_us, power.back_us = True, self._now(), None
        self.engine.vitals = self.board.vitals()
        self._take(self.engine.boot(self._rng.randint(1, 2**32 - 1), power.reason))
        if self._line_open:
            self._take(self.engine.opened(0))
        if self._bad_image and power.reason == p.Reason.UPDATE:
            self._bad_image = False
            self._off(self._now() + BOOT_US, p.Reason.WATCHDOG)

    def _report(self, messages: list[p.Message]) -> None:
        for message in messages:
            self._take(self.engine.send(self._at(), message))

    def _take(self, reaction: Reaction) -> None:
        """Carry out what the firmware asks for."""
        self._out += reaction.data
        if reaction.lost:
            self.board.connected = False
        if reaction.restart:
            self._off(self._now() + BOOT_US, p.Reason.UPDATE)
            return
        if reaction.connected:
            self._report(self.board.greet(self._at()))
        for command in reaction.commands:
            self.commands.append(command)
            if isinstance(command, p.SleepRequest):
                self._sleep(command)
                return
            self._report(self.board.obey(command, self._at()))

    def _sleep(self, request: p.SleepRequest) -> None:
        at = self._at()
        self._take(self.engine.send(at, p.Sleep(at, p.Reason.HOST)))
        self._take(self.engine.sleep(at))
        wake = self._now() + request.wake_after_s * 1_000_000 if request.wake_after_s else None
        self._off(wake, p.Reason.TIMER)

    def _leave(self) -> bytes:
        data, self._out = bytes(self._out), bytearray()
        return self._to_host.send(data) if data and self._air else b""
