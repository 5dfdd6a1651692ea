"""The simulated cell and its heat: enough physics that gauges slide, sag under load and warm up like real ones."""

from __future__ import annotations

import itertools
import random

from firmware_bridge.scenario import BatterySpec, ThermalSpec

CURVE: tuple[tuple[float, float], ...] = (
    (0, 3.30), (5, 3.55), (10, 3.65), (20, 3.72), (40, 3.79), (60, 3.90), (80, 4.03), (100, 4.20),
)  # fmt: skip
"""Open-circuit volts of a small lithium-polymer cell by percent; rounded from the usual shape, not from one product."""


def volts(percent: float) -> float:
    """Open-circuit voltage at ``percent`` (0 to 100)."""
    for (p0, v0), (p1, v1) in itertools.pairwise(CURVE):
        if percent <= p1:
            return v0 + (v1 - v0) * (max(percent, p0) - p0) / (p1 - p0)
    return CURVE[-1][1]


class Cell:
    """Charge, current and temperature; the gauge reads all three."""

    def __init__(self, battery: BatterySpec, thermal: ThermalSpec, seed: int) -> None:
        self.spec, self.ambient_c = battery, thermal.ambient_c
        self._thermal = thermal
        self._rng = random.Random(seed)
        self.percent = battery.percent
        self.temp_c = thermal.ambient_c
        self.ma = 0.0
        self._gauge = battery.percent

    def step(self, dt_s: float, load_ma: float, *, charging: bool) -> None:
        """Let ``dt_s`` seconds of the world pass under a load."""
        while dt_s > 0:  # long steps are cut so that the exponential of the heat stays true
            part = min(dt_s, self._thermal.tau_s / 8)
            dt_s -= part
            taper = min(1.0, max(0.05, (100 - self.percent) / 10))  # constant current, then constant voltage
            self.ma = (self.spec.charge_ma * taper if charging and self.percent < 100 else 0.0) - load_ma
            if charging and self.percent >= 100:
                self.ma = 0.0
            self.percent += 100 * self.ma * part / 3600 / self.spec.capacity_mah
            self.percent = min(100.0, max(0.0, self.percent))
            watts = load_ma / 1000 * self.volts() + max(self.ma, 0) / 1000 * 0.6
            target = self.ambient_c + self._thermal.c_per_w * watts
            self.temp_c += (target - self.temp_c) * min(1.0, part / self._thermal.tau_s)

    def volts(self) -> float:
        """Volts at the terminals under the present current."""
        return volts(self.percent) + self.ma / 1000 * self.spec.resistance_ohm

    def gauge(self) -> int:
        """Percent as the device reports it: a noisy reading, smoothed, never outside 0 to 100."""
        raw = self.percent + self._rng.gauss(0, self.spec.noise_percent)
        weight = 0.2 if self.spec.noise_percent else 1.0
        self._gauge += weight * (raw - self._gauge)
        return round(min(100.0, max(0.0, self._gauge)))

    def jump(self, percent: float) -> None:
        """The cell is at ``percent`` now."""
        self.percent = self._gauge = min(100.0, max(0.0, percent))
