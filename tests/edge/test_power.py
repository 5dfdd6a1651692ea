"""Power modes: thresholds with two edges, noise, heat, wear, and the warnings of a discharge."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest

from edge.capture.power_sources import read_device
from edge.clock import US
from edge.power import MODES, PowerState, Reading, step


def run(readings: list[Reading], every_s: float = 30.0) -> list[PowerState]:
    state, out = PowerState(), []
    for n, reading in enumerate(readings):
        state = step(state, reading, round(n * every_s * US))
        out.append(state)
    return out


def settled(reading: Reading, before: PowerState | None = None) -> PowerState:
    """The state after the same reading for ten minutes."""
    state = before or PowerState()
    base = state.reported or 0
    for n in range(20):
        state = step(state, reading, base + (n + 1) * 30 * US)
    return state


@pytest.mark.parametrize(
    ("reading", "mode"),
    [
        (Reading(), "performance"),
        (Reading(battery=80), "balanced"),
        (Reading(battery=40), "saver"),
        (Reading(battery=10), "critical"),
        (Reading(battery=10, charging=True), "charging"),
        (Reading(battery=80, temperature_c=85), "cool-down"),
        (Reading(battery=80, choice="performance"), "performance"),
        (Reading(battery=9, choice="performance"), "critical"),
        (Reading(battery=80, worn=False), "unworn"),
    ],
)
def test_mode_of_a_steady_reading(reading: Reading, mode: str) -> None:
    assert settled(reading).mode == mode


def test_a_reading_on_the_edge_does_not_flap() -> None:
    rng = random.Random(4)
    states = run([Reading(battery=40 + rng.uniform(-3, 3)) for _ in range(200)])
    modes = [s.mode for s in states]
    assert sum(a != b for a, b in pairwise(modes)) <= 1


def test_heat_has_overlapping_bands() -> None:
    hot = settled(Reading(battery=80, temperature_c=81))
    warm = step(hot, Reading(battery=80, temperature_c=75), (hot.reported or 0) + US)
    cool = step(warm, Reading(battery=80, temperature_c=69), (warm.reported or 0) + US)
    assert [hot.mode, warm.mode, cool.mode] == ["cool-down", "cool-down", "balanced"]
    assert settled(Reading(battery=80, temperature_c=75)).mode == "balanced"


def test_each_level_is_warned_of_once_a_discharge_despite_noise() -> None:
    rng = random.Random(1)
    slide = [Reading(battery=max(0.0, 26 - n / 20 + rng.uniform(-3, 3))) for n in range(500)]
    warned = [w for s in run(slide) for w in s.warn]
    assert warned == [20, 10, 5]


def test_charging_starts_a_new_discharge() -> None:
    low = settled(Reading(battery=15))
    full = settled(Reading(battery=90, charging=True), low)
    again = settled(Reading(battery=15), full)
    assert 20 in low.warned
    assert full.warned == frozenset()
    assert 20 in again.warned


def test_no_mode_silences_what_is_critical() -> None:
    assert all(row.min_priority <= 5 for row in MODES.values())


def test_the_kernels_files_are_read(tmp_path: Path) -> None:
    battery = tmp_path / "supply" / "BAT0"
    battery.mkdir(parents=True)
    for name, text in (("type", "Battery"), ("capacity", "37"), ("status", "Charging")):
        (battery / name).write_text(text + "\n")
    zone = tmp_path / "thermal" / "thermal_zone0"
    zone.mkdir(parents=True)
    (zone / "temp").write_text("51500\n")
    assert read_device(tmp_path / "supply", tmp_path / "thermal") == Reading(37.0, True, 51.5)
    assert read_device(tmp_path / "none", tmp_path / "none") == Reading()
