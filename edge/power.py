"""Power: from battery, charging, heat, wear, screen and the wearer's choice to a mode.  Pure, with hysteresis.

Each mode is a row of one table, and every column of it is applied by the runtime (edge/powering.py).  Gauges jump, so
the battery is the low-passed median of its last reports; thresholds have two edges and thermal bands overlap, so that
a reading on the edge does not flap; time is monotonic, since clocks are set while a device runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from edge.clock import US

Mode: TypeAlias = Literal["performance", "balanced", "saver", "critical", "charging", "cool-down", "unworn"]
Tier: TypeAlias = Literal["full", "light", "sparse", "off"]
Speech: TypeAlias = Literal["chosen", "small", "off"]
VoiceChoice: TypeAlias = Literal["chosen", "small"]
Sync: TypeAlias = Literal["now", "later"]


@dataclass(frozen=True, slots=True)
class ModeRow:
    """What a mode means.

    interval: factor on the frame interval of the profile.  glance_s: seconds between looks for danger alone, 0: none.
    tier: how much light perception looks for (TIERS).  vlm: share of the windows that the vision-language model
    describes, 0: it rests and gives its memory back.  offload: whether a remote model may be asked.  experts: who screens, by name.  min_priority: least alert priority that passes.
    tts and asr: the models chosen in the settings, or the smallest there are.  sync: whether work that can wait
    (consolidation by a language model, deferred requests, tidying of the memory) is done now or at the charger.
    """

    interval: float
    glance_s: float
    tier: Tier
    vlm: float
    offload: bool
    experts: tuple[str, ...]
    min_priority: int
    tts: VoiceChoice
    asr: Speech
    sync: Sync


# Least alert priority 5 still lets everything critical pass: no mode silences safety, and the expert A looks for it.
# fmt: off
MODES: dict[Mode, ModeRow] = {
    "performance": ModeRow(1.0, 0.5, "full",   1.0,  True,   ("A", "B", "C", "R", "U"), 0, "chosen", "chosen", "now"),
    "charging":    ModeRow(1.0, 0.5, "full",   1.0,  True,   ("A", "B", "C", "R", "U"), 0, "chosen", "chosen", "now"),
    "balanced":    ModeRow(1.0, 0.5, "light",  0.33, True,   ("A", "B", "C", "R", "U"), 1, "chosen", "chosen", "now"),
    "saver":       ModeRow(2.0, 1.0, "light",  0.0,  False,  ("A", "C", "R"),           2, "small",  "small",  "later"),
    "cool-down":   ModeRow(3.0, 1.0, "sparse", 0.0,  False,  ("A", "C", "R"),           2, "small",  "small",  "later"),
    "critical":    ModeRow(4.0, 2.0, "sparse", 0.0,  False,  ("A",),                     4, "small",  "off",    "later"),
    "unworn":      ModeRow(1.0, 0.0, "off",    0.0,  True,   (),                         5, "chosen", "chosen", "now"),
}
# fmt: on


@dataclass(frozen=True, slots=True)
class TierRow:
    """How much light perception looks for in a window: most frames looked at, most of them read for text."""

    frames: int
    texts: int


TIERS: dict[Tier, TierRow] = {
    "full": TierRow(64, 64),
    "light": TierRow(64, 2),
    "sparse": TierRow(2, 1),
    "off": TierRow(0, 0),
}

# (enter at or below, leave at or above), percent
CRITICAL = (10.0, 15.0)
SAVER = (40.0, 45.0)
# (enter at or above, leave at or below), degrees Celsius; the bands overlap
WARM = (74.0, 68.0)  # the vision model works less
HOT = (80.0, 70.0)
HOT_CELL = (45.0, 40.0)  # of the battery itself
UNWORN_S = 2.0  # taken off for so long before it counts: a shove at the frame is none
MEDIAN_OF = 3  # reports
NEW_SHARE = 0.6  # weight of a new report of the battery gauge in the low-pass
WARN_AT = (20, 10, 5)  # percent, each said once a discharge
REARM = 3.0  # percent above a level the charger must lift the battery before the level is told again
RATE_STEP = 2.0  # percent of fall between two estimates of how fast the battery empties
RATE_SHARE = 0.4  # weight of a new estimate
# Open-circuit voltage of one lithium-ion cell against what is left of it, percent: a typical discharge curve.
CELL_CURVE = (
    (3.00, 0.0), (3.45, 5.0), (3.68, 10.0), (3.74, 20.0), (3.77, 30.0), (3.79, 40.0), (3.82, 50.0), (3.87, 60.0),
    (3.92, 70.0), (3.98, 80.0), (4.06, 90.0), (4.20, 100.0),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reading:
    """What the device tells now; None is "not known", and what is not known changes nothing.

    `reported` is the monotonic time of the battery's report: one report counts once, however often it is read.
    `cell_v` (volts of one cell) stands in where nothing tells percent.  `watts` is drawn from the battery now, and
    `energy_wh` is what it still holds.  `screen` on: somebody looks at it, so it is in use, worn or not.
    """

    battery: float | None = None
    charging: bool | None = None
    temperature_c: float | None = None
    cell_c: float | None = None
    reported: int | None = None
    worn: bool | None = None
    choice: Mode | None = None
    cell_v: float | None = None
    watts: float | None = None
    energy_wh: float | None = None
    screen: bool | None = None


@dataclass(frozen=True, slots=True)
class PowerState:
    """The mode and what its hysteresis needs to remember.

    `warn` holds the level crossed by the last step.  `rate` is percent an hour, as estimated from `anchor`, a
    (monotonic time, percent) on the way down; `watts` is low-passed.
    """

    mode: Mode = "performance"
    battery: float | None = None
    reported: int | None = None
    saving: bool = False
    critical: bool = False
    warm: bool = False
    hot: bool = False
    off_since: int | None = None
    warned: frozenset[int] = frozenset()
    warn: tuple[int, ...] = ()
    recent: tuple[float, ...] = ()
    charging: bool | None = None
    temperature_c: float | None = None
    watts: float | None = None
    energy_wh: float | None = None
    rate: float | None = None
    anchor: tuple[int, float] | None = None

    @property
    def row(self) -> ModeRow:
        """The mode's row of the table."""
        return MODES[self.mode]

    @property
    def hours_left(self) -> float | None:
        """How long the battery lasts at the present draw, hours; None while it charges or nothing is known."""
        if self.charging or self.battery is None:
            return None
        if self.energy_wh is not None and self.watts is not None and self.watts > 0:
            return self.energy_wh / self.watts
        return self.battery / self.rate if self.rate else None


def step(state: PowerState, reading: Reading, mono: int) -> PowerState:
    """The state after one reading at monotonic time `mono` (microseconds)."""
    charging = bool(reading.charging)
    if reading.charging is not None and state.charging is not None and reading.charging != state.charging:
        state = replace(state, recent=(), anchor=None)  # a charger shifts every gauge
    reported = mono if reading.reported is None else reading.reported
    battery, recent = _smoothed(state, reading, reported)
    saving, critical = state.saving, state.critical
    if battery is not None:
        critical = battery < CRITICAL[1] if critical else battery <= CRITICAL[0]
        saving = battery < SAVER[1] if saving else battery <= SAVER[0]
    hot = _hot(state.hot, (reading.temperature_c, HOT), (reading.cell_c, HOT_CELL))
    warm = _hot(state.warm, (reading.temperature_c, WARM))
    off_since = state.off_since
    if reading.worn is not None or reading.screen is not None:
        used = reading.screen is True or reading.worn is not False
        off_since = None if used else (mono if off_since is None else off_since)
    unworn = off_since is not None and mono - off_since >= UNWORN_S * US
    warned = state.warned
    if charging and battery is not None:
        warned = frozenset(w for w in warned if battery <= w + REARM)
    crossed = () if charging or battery is None else tuple(w for w in WARN_AT if battery <= w and w not in warned)
    watts = reading.watts
    if watts is not None and state.watts is not None:
        watts = state.watts + RATE_SHARE * (watts - state.watts)
    rate, anchor = _rate(state, battery, mono, charging=charging)
    moved = replace(
        state,
        battery=battery,
        recent=recent,
        reported=reported,
        saving=saving and not charging,
        critical=critical and not charging,
        warm=warm,
        hot=hot,
        off_since=off_since,
        warned=warned | frozenset(crossed),
        warn=crossed[-1:],  # a fall past several levels is told once, at the lowest
        charging=state.charging if reading.charging is None else reading.charging,
        temperature_c=state.temperature_c if reading.temperature_c is None else reading.temperature_c,
        watts=state.watts if watts is None else watts,
        energy_wh=state.energy_wh if reading.energy_wh is None else reading.energy_wh,
        rate=rate,
        anchor=anchor,
    )
    return replace(moved, mode=_mode(moved, reading, charging=charging, unworn=unworn))


Announcement: TypeAlias = tuple[str, str, tuple[tuple[str, str], ...]]


def announcements(before: PowerState, now: PowerState) -> tuple[Announcement, ...]:
    """What is to be said of a step: (alert type, key, slots) for a level that was crossed and for heat."""
    said: list[Announcement] = [(f"battery_{level}", "battery", (("percent", str(level)),)) for level in now.warn]
    if now.mode == "cool-down" and before.mode != "cool-down":
        said.append(("too_hot", "heat", ()))
    return tuple(said)


def percent_of(cell_v: float) -> float:
    """What is left in one lithium-ion cell at rest, percent, by its voltage: interpolated in CELL_CURVE."""
    low = CELL_CURVE[0]
    for high in CELL_CURVE:
        if cell_v < high[0]:
            if high is low:
                return low[1]
            share = (cell_v - low[0]) / (high[0] - low[0])
            return low[1] + share * (high[1] - low[1])
        low = high
    return low[1]


def _mode(state: PowerState, reading: Reading, *, charging: bool, unworn: bool) -> Mode:
    if unworn:
        return "unworn"
    if state.hot:
        return "cool-down"
    usual: Mode = "performance" if state.battery is None else "balanced"
    if charging:
        return "balanced" if state.warm else "charging"
    if state.critical:
        return "critical"
    if reading.choice is not None:
        usual = reading.choice
    elif state.saving:
        usual = "saver"
    return "balanced" if state.warm and MODES[usual].vlm else usual


def _hot(was: bool, *readings: tuple[float | None, tuple[float, float]]) -> bool:
    """Whether any known temperature is in its band; nothing known changes nothing."""
    known = [(t, band) for t, band in readings if t is not None]
    return any(t > band[1] if was else t >= band[0] for t, band in known) if known else was


def _smoothed(state: PowerState, reading: Reading, reported: int) -> tuple[float | None, tuple[float, ...]]:
    """Battery percent and the reports it rests on."""
    level = reading.battery
    if level is None and reading.cell_v is not None:
        level = percent_of(reading.cell_v)
    if level is None or not 0 <= level <= 100:
        return state.battery, state.recent
    if state.battery is None:
        return float(level), (float(level),)
    if reported == state.reported:
        return state.battery, state.recent
    recent = (*state.recent, float(level))[-MEDIAN_OF:]
    middle = sorted(recent)[len(recent) // 2] if len(recent) % 2 else sum(recent) / len(recent)
    return state.battery + NEW_SHARE * (middle - state.battery), recent


def _rate(
    state: PowerState, battery: float | None, mono: int, *, charging: bool
) -> tuple[float | None, tuple[int, float] | None]:
    """Percent an hour and the point it is measured from next."""
    if charging or battery is None:
        return state.rate, None
    if state.anchor is None or battery > state.anchor[1] + RATE_STEP:
        return state.rate, (mono, battery)
    fallen, hours = state.anchor[1] - battery, (mono - state.anchor[0]) / US / 3600
    if fallen < RATE_STEP or hours <= 0:
        return state.rate, state.anchor
    new = fallen / hours
    rate = new if state.rate is None else state.rate + RATE_SHARE * (new - state.rate)
    return rate, (mono, battery)
