"""What the host knows of the glasses right now. Pure: events and times in, a state and at most one notice out.

Nothing in the state is stale: with the link gone, or after three missed reports, a value is None. The mute switch is
the exception on the safe side: once known to be muted it counts as muted until the device says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from firmware_bridge import protocol as p
from firmware_bridge.events import Down, Up

SECOND = 1_000_000
BATTERY_FRESH_US = 95 * SECOND
IMU_FRESH_US = 7 * SECOND
LIGHT_FRESH_US = 16 * SECOND
NOTICE_AFTER_US = 10 * SECOND
STABLE_US = 60 * SECOND
DROPS_FOR_NOTICE = 3
GAUGE_FRESH_US = 600 * SECOND


@dataclass(frozen=True, slots=True)
class DeviceState:
    """The glasses now; None means unknown."""

    connected: bool = False
    percent: int | None = None
    """Battery percent: the link's own report, else the standard Bluetooth battery service."""
    battery: p.Battery | None = None
    worn: bool | None = None
    muted: bool | None = None
    led: p.LedState | None = None
    """The recording light as it really is."""
    camera: p.CameraState | None = None
    activity: p.Activity | None = None
    lux: int | None = None
    firmware: p.Firmware | None = None
    faults: frozenset[p.FaultCode] = frozenset()

    @property
    def led_failed(self) -> bool | None:
        """True when the device says that the recording light does not shine; None when nothing is known."""
        return None if self.led is None else not self.led.working


class DeviceView:
    """Folds messages and link events into a DeviceState and decides whether an outage is worth a word.

    One outage is from the first loss until the link has held for a minute; flapping in between is the same outage.
    """

    def __init__(self) -> None:
        self._state = DeviceState()
        self._heard: dict[str, int] = {}
        self._gauge: int | None = None
        self._up_us: int | None = None
        self._down_us: int | None = None
        self._outage = self._told = self._expected = False
        self._drops = 0

    def link(self, now_us: int, event: Up | Down) -> None:
        """The session came up or went down."""
        if isinstance(event, Up):
            self._up_us, self._down_us = now_us, None
            self._expected = False
            self._state = replace(self._state, connected=True)
            return
        muted = True if self._state.muted else None
        self._state = DeviceState(muted=muted)
        self._heard.clear()
        self._gauge = None
        self._up_us, self._down_us = None, now_us
        if not self._expected:
            self._outage = True
            self._drops += 1

    def message(self, now_us: int, message: p.Message) -> None:
        """A message of the device arrived."""
        state, name = self._state, type(message).__name__
        self._heard[name] = now_us
        if isinstance(message, p.Battery):
            self._state = replace(state, battery=message)
        elif isinstance(message, p.Worn):
            self._state = replace(state, worn=message.worn)
        elif isinstance(message, p.Mute):
            self._state = replace(state, muted=message.muted)
        elif isinstance(message, p.LedState) and message.led == p.Led.RECORDING:
            self._state = replace(state, led=message)
        elif isinstance(message, p.CameraState):
            self._state = replace(state, camera=message)
        elif isinstance(message, p.ImuSummary):
            self._state = replace(state, activity=message.activity)
        elif isinstance(message, p.Light):
            self._state = replace(state, lux=message.lux)
        elif isinstance(message, p.Firmware):
            self._state = replace(state, firmware=message)
        elif isinstance(message, p.Fault):
            code = frozenset((message.fault,))
            self._state = replace(state, faults=state.faults | code if message.active else state.faults - code)
        elif isinstance(message, p.Sleep):
            self._expected = True

    def gauge(self, now_us: int, percent: int) -> None:
        """The standard Bluetooth battery service reported ``percent``."""
        self._gauge = percent
        self._heard["gauge"] = now_us

    def state(self, now_us: int) -> DeviceState:
        """The glasses at ``now_us``, without anything that is too old."""
        state = self._state
        battery = state.battery if self._fresh(now_us, "Battery", BATTERY_FRESH_US) else None
        gauge = self._gauge if self._fresh(now_us, "gauge", GAUGE_FRESH_US) else None
        return replace(
            state,
            battery=battery,
            percent=gauge if battery is None else battery.percent,
            activity=state.activity if self._fresh(now_us, "ImuSummary", IMU_FRESH_US) else None,
            lux=state.lux if self._fresh(now_us, "Light", LIGHT_FRESH_US) else None,
        )

    def notice(self, now_us: int) -> bool:
        """True exactly once in an outage, when it has lasted or the link keeps dropping: say that the link is lost."""
        if self._up_us is not None and now_us - self._up_us >= STABLE_US:
            self._outage = self._told = False
            self._drops = 0
        lasting = self._down_us is not None and now_us - self._down_us >= NOTICE_AFTER_US
        if not self._outage or self._told or not (lasting or self._drops >= DROPS_FOR_NOTICE):
            return False
        self._told = True
        return True

    def _fresh(self, now_us: int, name: str, limit_us: int) -> bool:
        heard = self._heard.get(name)
        return heard is not None and now_us - heard <= limit_us
