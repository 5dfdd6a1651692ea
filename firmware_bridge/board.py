"""The simulated board: sensors that have something to report, and parts that obey. Pure; time is passed in."""

from __future__ import annotations

import random

from firmware_bridge import protocol as p
from firmware_bridge.cell import Cell
from firmware_bridge.fields import Sample
from firmware_bridge.scenario import Event, Scenario
from firmware_bridge.update import Vitals

SECOND = 1_000_000
BATTERY_EVERY_US = 30 * SECOND
IMU_EVERY_US = 2 * SECOND
LIGHT_EVERY_US = 5 * SECOND
RAW_HZ_MOST = 1_000

_GESTURES = {
    "tap": (p.GestureKind.TAP, 90),
    "double_tap": (p.GestureKind.DOUBLE_TAP, 240),
    "long_press": (p.GestureKind.LONG_PRESS, 1_200),
    "swipe_forward": (p.GestureKind.SWIPE_FORWARD, 0),
    "swipe_back": (p.GestureKind.SWIPE_BACK, 0),
}
_MOTION = {
    "still": (p.Activity.STILL, 6, 15, 0),
    "walk": (p.Activity.WALKING, 180, 350, 4),
    "run": (p.Activity.RUNNING, 520, 1_200, 6),
    "fall": (p.Activity.FALL_SUSPECTED, 900, 2_500, 0),
}
"""activity, standard deviation mg, rate 0.1 degrees/s, steps in two seconds."""


class Board:
    """State of the parts. ``world_us`` runs ``scenario.speed`` times as fast as the device's clock ``at_us``."""

    def __init__(self, scenario: Scenario) -> None:
        self.cell = Cell(scenario.battery, scenario.thermal, scenario.seed)
        self.worn, self.muted, self.charging = scenario.worn, scenario.muted, scenario.charging
        self.lux = 300
        self.motion = "still"
        self.leds = {p.Led.RECORDING: p.LedMode.OFF, p.Led.STATUS: p.LedMode.OFF}
        self.led_works = self.camera_works = self.gauge_works = True
        self.camera_on = False
        self.connected = False
        self.clock: p.ClockSet | None = None
        self.shown: list[p.Message] = []
        """Haptic, Tone and Display commands carried out, oldest first."""
        self._rng = random.Random(scenario.seed + 1)
        self._world_us = 0
        self._told: tuple[object, ...] = ()
        self._battery_at = self._imu_at = self._light_at = 0
        self._raw_until = self._raw_at = self._raw_period = 0

    def restart(self) -> None:
        """Power-on: parts are off, nothing was told yet. What a switch or the world decides stays."""
        self.leds = dict.fromkeys(self.leds, p.LedMode.OFF)
        self.camera_on = self.connected = False
        self.clock = None
        self._raw_until = 0

    def vitals(self) -> Vitals:
        """What an update asks for."""
        return Vitals(self.cell.gauge() if self.gauge_works else None, round(self.cell.temp_c * 10))

    def greet(self, at_us: int) -> list[p.Message]:
        """Everything a freshly connected host must know."""
        self.connected = True
        self._told = ()
        self._battery_at = self._imu_at = self._light_at = at_us
        return [p.Worn(at_us, self.worn), p.Mute(at_us, self.muted), self._led(at_us, p.Led.RECORDING)]

    def step(self, at_us: int, world_us: int) -> list[p.Message]:
        """Let the world move on; what there is to report."""
        load = self.cell.spec.base_ma + (self.cell.spec.link_ma if self.connected else 0)
        load += self.cell.spec.camera_ma * self.camera_on
        load += sum(self.cell.spec.led_ma for mode in self.leds.values() if mode != p.LedMode.OFF)
        self.cell.step(max(0, world_us - self._world_us) / SECOND, load, charging=self.charging)
        self._world_us = world_us
        if not self.connected:
            return []
        out: list[p.Message] = []
        battery = self.battery(at_us)
        told = (battery.percent, battery.charging, battery.health)
        if told != self._told or at_us >= self._battery_at:
            self._told, self._battery_at = told, at_us + BATTERY_EVERY_US
            out.append(battery)
        if at_us >= self._imu_at:
            self._imu_at = at_us + IMU_EVERY_US
            out.append(self._summary(at_us))
        if at_us >= self._light_at:
            self._light_at = at_us + LIGHT_EVERY_US
            out.append(p.Light(at_us, self.lux))
        while (ready := self._burst_ready()) is not None and at_us >= ready:
            count = (ready - self._raw_at) // self._raw_period
            out.append(p.ImuRaw(self._raw_at, self._raw_period, tuple(self._sample() for _ in range(count))))
            self._raw_at = ready
        return out

    def deadline(self, at_us: int) -> int:
        """Device time at which ``step`` is next needed; a second at most, for the cell's sake."""
        times = [at_us + SECOND]
        if self.connected:
            times += [self._battery_at, self._imu_at, self._light_at]
            ready = self._burst_ready()
            if ready is not None:
                times.append(ready)
        return min(times)

    def battery(self, at_us: int) -> p.Battery:
        """The gauge's reading now."""
        cell = self.cell
        hot, cold = cell.temp_c > 45, cell.temp_c < 0
        health = p.Health.OVERHEAT if hot else p.Health.COLD if cold else p.Health.GOOD
        temp = round(cell.temp_c * 10)
        if not self.gauge_works:
            return p.Battery(at_us, None, p.Charging.UNKNOWN, p.Health.UNKNOWN, None, None, temp)
        charging = p.Charging.DISCHARGING
        if self.charging:
            charging = p.Charging.FULL if cell.percent >= 99.5 else p.Charging.CHARGING
        return p.Battery(at_us, cell.gauge(), charging, health, round(cell.volts() * 1000), round(cell.ma), temp)

    def happen(self, event: Event, at_us: int) -> list[p.Message]:
        """Something happens to the glasses; what they report of it."""
        do, value = event.do, event.value
        if do in _GESTURES:
            kind, held = _GESTURES[do]
            return [p.Gesture(at_us, p.Control.TOUCH, kind, held)]
        if do in ("wear", "unwear"):
            self.worn = do == "wear"
            return [p.Worn(at_us, self.worn)]
        if do in ("mute", "unmute"):
            self.muted = do == "mute"
            return [p.Mute(at_us, self.muted)]
        if do in _MOTION:
            self.motion = do
            summary = [self._summary(at_us)]
            if do == "fall":
                self.motion = "still"
            return summary
        if do in ("led_fault", "led_ok"):
            self.led_works = do == "led_ok"
            return [p.Fault(at_us, p.FaultCode.LED, not self.led_works, 0), self._led(at_us, p.Led.RECORDING)]
        if do in ("camera_fault", "camera_ok"):
            self.camera_works = do == "camera_ok"
            self.camera_on = self.camera_on and self.camera_works
            fault = p.Fault(at_us, p.FaultCode.CAMERA, not self.camera_works, 0)
            return [fault, p.CameraState(at_us, self.camera_on, self.camera_works)]
        if do in ("gauge_fault", "gauge_ok"):
            self.gauge_works = do == "gauge_ok"
            return [p.Fault(at_us, p.FaultCode.BATTERY_GAUGE, not self.gauge_works, 0), self.battery(at_us)]
        if do in ("charge", "uncharge"):
            self.charging = do == "charge"
        elif do == "battery":
            self.cell.jump(float(value))
        elif do == "ambient":
            self.cell.ambient_c = float(value)
        elif do == "lux":
            self.lux = int(value)
        elif do == "log":
            return [p.Log(at_us, p.Level.INFO, str(value))]
        elif do == "raw":
            return [p.Unknown(0x7F, b"from a later version")]
        return []

    def obey(self, message: p.Message, at_us: int) -> list[p.Message]:
        """Carry out a command of the host; the answer."""
        if isinstance(message, p.SetLed):
            self.leds[message.led] = message.mode
            return [self._led(at_us, message.led)]
        if isinstance(message, p.CameraPower):
            self.camera_on = message.on and self.camera_works
            return [p.CameraState(at_us, self.camera_on, self.camera_works)]
        if isinstance(message, p.ClockSet):
            self.clock = message
            utc = message.utc_us + at_us - message.device_us
            return [p.ClockReport(at_us, utc, p.ClockSource.HOST)]
        if isinstance(message, p.ImuStream):
            self._raw_period = SECOND // min(max(message.hz, 1), RAW_HZ_MOST)
            samples = message.ms * 1_000 // self._raw_period if message.hz else 0
            self._raw_at, self._raw_until = at_us, at_us + samples * self._raw_period
        elif isinstance(message, p.Haptic | p.Tone | p.Display):
            self.shown.append(message)
        return []

    def _burst_ready(self) -> int | None:
        """Device time at which the next burst of at most 16 samples is complete."""
        if self._raw_at >= self._raw_until:
            return None
        return min(self._raw_at + 16 * self._raw_period, self._raw_until)

    def _led(self, at_us: int, led: p.Led) -> p.LedState:
        return p.LedState(at_us, led, self.leds[led], self.led_works or led != p.Led.RECORDING)

    def _summary(self, at_us: int) -> p.ImuSummary:
        activity, std, rate, steps = _MOTION[self.motion]
        noise = self._rng.randint(-3, 3)
        return p.ImuSummary(at_us, 2_000, activity, noise, -noise, 1_000 + noise, std, 1_000 + 3 * std, rate, steps)

    def _sample(self) -> Sample:
        _, std, rate, _ = _MOTION[self.motion]
        draw = [round(self._rng.gauss(0, std)) for _ in range(3)] + [round(self._rng.gauss(0, rate)) for _ in range(3)]
        draw[2] += 1_000
        x, y, z, a, b, c = (max(-32_768, min(32_767, v)) for v in draw)
        return (x, y, z, a, b, c)
