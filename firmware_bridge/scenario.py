"""Scenario files: what happens to a simulated pair of glasses, and when. TOML; every key has its unit in its name.

    name = "short day"        seed = 1          speed = 60       # seconds of the world for each second of the clock
    [battery]   percent = 80  capacity_mah = 180  noise_percent = 1 ...
    [thermal]   ambient_c = 22 ...
    [line]      corrupt = 0.05  drop = 0.01 ...
    [[event]]   at_s = 10     do = "wear"
    [[event]]   at_s = 60     do = "ambient"   value = 41
    [[expect]]  at_s = 70     mode = "cool-down"                  # for the runtime's tests; free keys

``at_s`` is seconds of the world since the simulation began.
"""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from firmware_bridge.errors import ScenarioError
from firmware_bridge.faults import CLEAN, LineRates

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCENARIOS = Path(__file__).parent / "scenarios"

ACTIONS: dict[str, str] = {
    "wear": "put on",
    "unwear": "taken off",
    "tap": "touch the temple once",
    "double_tap": "touch it twice",
    "long_press": "hold it for 1.2 s",
    "swipe_forward": "swipe along the temple",
    "swipe_back": "swipe back",
    "mute": "slide the mute switch on",
    "unmute": "slide it off",
    "charge": "plug the charger in",
    "uncharge": "unplug it",
    "battery": "the cell jumps to `value` percent",
    "ambient": "air of `value` degrees Celsius around",
    "lux": "light of `value` lux",
    "still": "sit still",
    "walk": "walk",
    "run": "run",
    "fall": "fall, then lie still",
    "led_fault": "the recording light stops shining",
    "led_ok": "it shines again",
    "camera_fault": "the camera no longer starts",
    "camera_ok": "it starts again",
    "gauge_fault": "the battery gauge stops answering",
    "gauge_ok": "it answers again",
    "link_down": "out of range: bytes vanish both ways",
    "link_up": "in range again",
    "unplug": "the line closes",
    "plug": "it can be opened again",
    "line": "the line's faults become `value` (a table like [line])",
    "crash": "the firmware crashes and its watchdog reboots it",
    "reboot": "an ordinary restart",
    "log": "write `value` to the device's log",
    "raw": "send a message of an unknown number",
    "bad_image": "the next updated image crashes when it starts",
}
_WITH_VALUE = {"battery", "ambient", "lux", "line", "log"}


@dataclass(frozen=True, slots=True)
class BatterySpec:
    """The cell and what draws from it. Currents at the cell in mA."""

    percent: float = 80.0
    capacity_mah: float = 180.0
    base_ma: float = 18.0
    camera_ma: float = 95.0
    led_ma: float = 4.0
    haptic_ma: float = 60.0
    link_ma: float = 6.0
    charge_ma: float = 150.0
    resistance_ohm: float = 0.25
    noise_percent: float = 0.0
    """Standard deviation of the raw gauge; the device filters it."""


@dataclass(frozen=True, slots=True)
class ThermalSpec:
    """One heat store: settles at ambient + power times resistance, with a time constant."""

    ambient_c: float = 22.0
    c_per_w: float = 25.0
    tau_s: float = 240.0


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens to the glasses."""

    at_s: float
    do: str
    value: Any = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """A whole scenario; all defaults make a quiet, healthy pair of glasses."""

    name: str = "quiet"
    seed: int = 1
    speed: float = 1.0
    worn: bool = False
    muted: bool = False
    charging: bool = False
    battery: BatterySpec = BatterySpec()
    thermal: ThermalSpec = ThermalSpec()
    line: LineRates = CLEAN
    events: tuple[Event, ...] = ()
    expect: tuple[dict[str, Any], ...] = field(default=())


def load(path: Path | str) -> Scenario:
    """Read a scenario file, or one of the shipped ones by its bare name; raises ScenarioError naming the key."""
    given = Path(path)
    shipped = SCENARIOS / f"{path}.toml"
    found = given if given.exists() or not shipped.exists() else shipped
    try:
        data = tomllib.loads(found.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path}: {error}") from error
    return parse(data, str(path))


def parse(data: dict[str, Any], name: str = "scenario") -> Scenario:
    """A scenario from the tables of its file; raises ScenarioError naming the key."""
    rest = dict(data)
    events = tuple(_event(item, name) for item in rest.pop("event", []))
    expect = tuple(rest.pop("expect", []))
    for item in expect:
        if not isinstance(item.get("at_s"), int | float):
            raise ScenarioError(f"{name}: every [[expect]] needs at_s")
    kinds: dict[str, type[Any]] = {"battery": BatterySpec, "thermal": ThermalSpec, "line": LineRates}
    parts: dict[str, Any] = {key: _table(kind, rest.pop(key, {}), f"{name}: [{key}]") for key, kind in kinds.items()}
    rest.setdefault("name", name)
    order = tuple(sorted(events, key=lambda event: event.at_s))
    scenario = _table(Scenario, {**rest, **parts, "events": order, "expect": expect}, name)
    if not scenario.speed > 0:
        raise ScenarioError(f"{name}: speed must be above 0")
    return scenario


def line_rates(value: Any, where: str) -> LineRates:
    """The faults of a ``line`` event."""
    return _table(LineRates, value, where)


T = TypeVar("T")


def _table(kind: type[T], data: Any, where: str) -> T:
    if not isinstance(data, dict):
        raise ScenarioError(f"{where}: a table is needed")
    known = {f.name: f for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for key, value in data.items():
        if key not in known:
            raise ScenarioError(f"{where}: unknown key {key}; known are {', '.join(sorted(known))}")
        wanted = str(known[key].type)
        fits = {"float": (int, float), "int": (int,), "bool": (bool,), "str": (str,)}.get(wanted)
        if fits is not None and (not isinstance(value, fits) or (isinstance(value, bool) and wanted != "bool")):
            raise ScenarioError(f"{where}: {key} = {value!r} is not a {wanted}")
    return kind(**data)


def _event(item: Any, name: str) -> Event:
    event = _table(Event, item, f"{name}: [[event]]") if {"at_s", "do"} <= set(item) else None
    if event is None or event.do not in ACTIONS:
        raise ScenarioError(f"{name}: an [[event]] needs at_s and do, one of {', '.join(ACTIONS)}")
    if (event.do in _WITH_VALUE) != (event.value is not None):
        raise ScenarioError(
            f"{name}: {event.do} at {event.at_s} s: value {'missing' if event.value is None else 'unused'}"
        )
    if event.do == "line":
        line_rates(event.value, f"{name}: line at {event.at_s} s")
    elif event.do in _WITH_VALUE - {"log"} and not isinstance(event.value, int | float):
        raise ScenarioError(f"{name}: {event.do} at {event.at_s} s: value must be a number")
    return event
