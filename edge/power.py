"""Power: from battery, charging, heat, wear and the wearer's choice to a mode.  Pure, with hysteresis.

Each mode is a row of one table.  Gauges jump, so the battery is low-passed; thresholds have two edges, so that a
reading on the edge does not flap; time is monotonic, since clocks are set while a device runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from edge.clock import US

Mode: TypeAlias = Literal["performance", "balanced", "saver", "critical", "charging", "cool-down", "unworn"]
Tier: TypeAlias = Literal["vlm", "light", "off"]


@dataclass(frozen=True, slots=True)
class ModeRow:
    """What a mode means: factor on the frame interval, perception tier, offload allowed, least alert priority."""

    interval: float
    tier: Tier
    offload: bool
    min_priority: int


# Least alert priority 5 still lets everything critical pass: no mode silences safety.
MODES: dict[Mode, ModeRow] = {
    "performance": ModeRow(1.0, "vlm", True, 0),
    "charging": ModeRow(1.0, "vlm", True, 0),
    "balanced": ModeRow(1.0, "light", True, 1),
    "saver": ModeRow(2.0, "light", False, 2),
    "cool-down": ModeRow(3.0, "light", False, 2),
    "critical": ModeRow(4.0, "light", False, 4),
    "unworn": ModeRow(1.0, "off", True, 5),
}

# (enter at or below, leave at or above), percent
CRITICAL = (10.0, 15.0)
SAVER = (40.0, 45.0)
# (enter at or above, leave at or below), degrees Celsius
HOT = (80.0, 70.0)
HOT_CELL = (45.0, 40.0)  # of the battery itself
UNWORN_S = 2.0  # taken off for so long before it counts: a shove at the frame is none
NEW_SHARE = 0.6  # weight of a new report of the battery gauge in the low-pass
WARN_AT = (20, 10, 5)  # percent, each said once a discharge


@dataclass(frozen=True, slots=True)
class Reading:
    """What the device tells now; None is "not known", and what is not known changes nothing.

    `reported` is the monotonic time of the battery's report: one report counts once, however often it is read.
    """

    battery: float | None = None
    charging: bool | None = None
    temperature_c: float | None = None
    cell_c: float | None = None
    reported: int | None = None
    worn: bool | None = None
    choice: Mode | None = None


@dataclass(frozen=True, slots=True)
class PowerState:
    """The mode and what its hysteresis needs to remember.  `warn` holds the levels crossed by the last step."""

    mode: Mode = "performance"
    battery: float | None = None
    reported: int | None = None
    saving: bool = False
    critical: bool = False
    hot: bool = False
    off_since: int | None = None
    warned: frozenset[int] = frozenset()
    warn: tuple[int, ...] = ()


def step(state: PowerState, reading: Reading, mono: int) -> PowerState:
    """The state after one reading at monotonic time `mono` (microseconds)."""
    reported = mono if reading.reported is None else reading.reported
    battery = _smoothed(state, reading, reported)
    charging = bool(reading.charging)
    saving, critical, hot = state.saving, state.critical, state.hot
    if battery is not None:
        critical = battery < CRITICAL[1] if critical else battery <= CRITICAL[0]
        saving = battery < SAVER[1] if saving else battery <= SAVER[0]
    heat = [(reading.temperature_c, HOT), (reading.cell_c, HOT_CELL)]
    known = [(t, band) for t, band in heat if t is not None]
    if known:
        hot = any(t > band[1] if hot else t >= band[0] for t, band in known)
    off_since = state.off_since
    if reading.worn is not None:
        off_since = None if reading.worn else (mono if off_since is None else off_since)
    unworn = off_since is not None and mono - off_since >= UNWORN_S * US
    warned = frozenset[int]() if charging else state.warned
    crossed = () if charging or battery is None else tuple(w for w in WARN_AT if battery <= w and w not in warned)
    moved = replace(
        state,
        battery=battery,
        reported=reported,
        saving=saving and not charging,
        critical=critical and not charging,
        hot=hot,
        off_since=off_since,
        warned=warned | frozenset(crossed),
        warn=crossed[-1:],  # a fall past several levels is told once, at the lowest
    )
    return replace(moved, mode=_mode(moved, reading, charging=charging, unworn=unworn))


def _mode(state: PowerState, reading: Reading, *, charging: bool, unworn: bool) -> Mode:
    if unworn:
        return "unworn"
    if state.hot:
        return "cool-down"
    if charging:
        return "charging"
    if state.critical:
        return "critical"
    if reading.choice is not None:
        return reading.choice
    if state.saving:
        return "saver"
    return "performance" if state.battery is None else "balanced"


def _smoothed(state: PowerState, reading: Reading, reported: int) -> float | None:
    if reading.battery is None or not 0 <= reading.battery <= 100:
        return state.battery
    if state.battery is None:
        return float(reading.battery)
    if reported == state.reported:
        return state.battery
    return state.battery + NEW_SHARE * (reading.battery - state.battery)
