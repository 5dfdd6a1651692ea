"""The glasses behind the bridge: what they show of themselves, and what they are told."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field, replace
from pathlib import Path

from edge.clock import Clock
from edge.power import HOT_CELL, Mode, PowerState, Reading, announcements
from edge.power import step as power_step
from firmware_bridge import protocol as p
from firmware_bridge.errors import BridgeError
from firmware_bridge.events import Deliver
from firmware_bridge.host import Glasses
from firmware_bridge.links import open_url
from firmware_bridge.view import DeviceState


@dataclass(frozen=True, slots=True)
class Companion:
    """What the glasses want and are told: power, whether the wearer paused, whether anything may be recorded.

    `announce` holds (alert type, key, slots) to be said; `light` is what the recording light shall do, None while the
    glasses are out of reach.  `taps` and `double_taps` count those since the look before.
    """

    power: PowerState = field(default_factory=PowerState)
    paused: bool = False
    recording: bool = True
    light: bool | None = None
    activity: p.Activity | None = None
    announce: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = ()
    taps: int = 0
    double_taps: int = 0


def follow(
    before: Companion,
    seen: DeviceState,
    gestures: list[p.Gesture],
    reported: int | None,
    mono: int,
    *,
    need_light: bool,
    choice: Mode | None = None,
) -> Companion:
    """The companion after what the glasses show at `mono` (monotonic microseconds).  Pure.

    A long press pauses and resumes; nothing is recorded while paused, muted or taken off, nor, with `need_light`, while
    the recording light does not shine.  `choice` is the power mode the wearer chose.
    """
    cell = seen.battery
    reading = Reading(
        battery=seen.percent,
        charging=None if cell is None else cell.charging in (p.Charging.CHARGING, p.Charging.FULL),
        cell_c=None if cell is None or cell.temp_dc is None else cell.temp_dc / 10,
        cell_v=None if cell is None or not cell.mv else cell.mv / 1000,
        watts=None if cell is None or not cell.mv or not cell.ma else max(0, -cell.ma) * cell.mv / 1e6,
        reported=reported,
        worn=seen.worn,
        choice=choice,
    )
    if p.FaultCode.OVERHEAT in seen.faults or (
        cell is not None and cell.health == p.Health.OVERHEAT
    ):  # the glasses know their own cell best
        reading = replace(reading, cell_c=max(reading.cell_c or 0.0, HOT_CELL[0]))
    power = power_step(before.power, reading, mono)
    if not seen.connected:
        power = replace(power, battery=None, reported=None)  # unknown, never stale
    presses = sum(g.kind == p.GestureKind.LONG_PRESS for g in gestures)
    paused = before.paused ^ bool(presses % 2)
    dark = need_light and seen.led_failed is True
    recording = not paused and not seen.muted and power.row.tier != "off" and not dark
    said = list(announcements(before.power, power))
    if seen.activity == p.Activity.FALL_SUSPECTED != before.activity:
        said.append(("safety", "fall", (("hazard", "that looked like a fall"),)))
    light = recording if seen.connected else None
    taps = sum(g.kind == p.GestureKind.TAP for g in gestures)
    doubles = sum(g.kind == p.GestureKind.DOUBLE_TAP for g in gestures)
    return Companion(power, paused, recording, light, seen.activity, tuple(said), taps, doubles)


class GlassesLink:
    """The glasses on the bus: `run` keeps the link, `step` turns what they show into what the runtime does."""

    def __init__(self, url: str, clock: Clock, *, journal: Path | None, need_light: bool) -> None:
        """Raises BridgeError when the address cannot be used."""
        self._clock, self._need_light = clock, need_light
        self._gestures: deque[p.Gesture] = deque(maxlen=64)
        self._reported: int | None = None
        self._shown: bool | None = None
        self.companion = Companion()
        self.choice: Mode | None = None
        self.notices = 0
        self.last_error = ""
        self.glasses = Glasses(open_url(url), clock.mono, self._wall, self._heard, journal=journal)

    def run(self, stop: threading.Event) -> None:
        """Keep the link until `stop`."""
        waker = threading.Thread(target=self._wake_on, args=(stop,), daemon=True)
        waker.start()
        self.glasses.run(stop)

    def step(self) -> Companion:
        """One look at the glasses; call it a few times a second from one thread."""
        gestures = [self._gestures.popleft() for _ in range(len(self._gestures))]
        seen = self.glasses.state()
        now = self._clock.mono()
        after = follow(
            self.companion, seen, gestures, self._reported, now, need_light=self._need_light, choice=self.choice
        )
        if self.glasses.notice():
            self.notices += 1
            after = replace(after, announce=(*after.announce, ("link_lost", "glasses", (("part", "the glasses"),))))
        self._show(after.light)
        self.companion = after
        return after

    def nudge(self, strong: bool) -> None:
        """Let the wearer feel an alert."""
        self._send(p.Haptic(p.Pattern.DOUBLE if strong else p.Pattern.TICK, 160 if strong else 96, 1))

    def close(self) -> None:
        """Let go, after `run` has ended: the light goes out with the link."""
        self.glasses.close()

    def _show(self, light: bool | None) -> None:
        if light is None:
            self._shown = None
        elif light != self._shown and self._send(
            p.SetLed(p.Led.RECORDING, p.LedMode.ON if light else p.LedMode.OFF, 0)
        ):
            self._shown = light

    def _send(self, message: p.Message) -> bool:
        try:
            self.glasses.send(message)
        except BridgeError as error:  # shown in /health; tried again at the next look
            self.last_error = str(error)
            return False
        self.last_error = ""
        return True

    def _heard(self, item: Deliver) -> bool:
        if isinstance(item.message, p.Gesture):
            self._gestures.append(item.message)
        elif isinstance(item.message, p.Battery):
            self._reported = self._clock.mono()
        return True

    def _wall(self) -> tuple[int, int]:
        return self._clock.now(), self._clock.offset() // 60

    def _wake_on(self, stop: threading.Event) -> None:
        stop.wait()
        self.glasses.wake()
