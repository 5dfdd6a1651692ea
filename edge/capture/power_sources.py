"""Where power readings come from: the kernel's files, a Jetson's sensors, UPower, or a file for tests.

Each source answers with what it knows and leaves the rest None; `Merged` asks several and takes the first that knows.
The glasses behind the bridge are a source of their own (edge/capture/device.py).
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Protocol

from edge.errors import ConfigError
from edge.power import MODES, Reading

SUPPLIES = Path("/sys/class/power_supply")
ZONES = Path("/sys/class/thermal")
HWMON = Path("/sys/class/hwmon")
INPUT_RAILS = ("VDD_IN", "5V_IN", "VDD_5V_IN")  # what a Jetson draws in all, by its INA3221's labels
UPOWER_S = 3.0


class PowerSource(Protocol):
    """Tells the power state of a device."""

    def describe(self) -> str:
        """What it is, for /health."""

    def read(self) -> Reading:
        """The present reading; what is not known is None.  Never raises."""


class KernelPower:
    """The first battery below /sys/class/power_supply and the hottest thermal zone."""

    def __init__(self, supplies: Path = SUPPLIES, zones: Path = ZONES) -> None:
        self._supplies, self._zones = supplies, zones

    def describe(self) -> str:
        """What it is."""
        return "kernel"

    def read(self) -> Reading:
        """Percent, charging, cell temperature and voltage, watts and watt-hours, hottest zone."""
        return read_device(self._supplies, self._zones)


class JetsonPower:
    """The INA3221 on a Jetson's module: what the board draws in all.  It knows no battery."""

    def __init__(self, hwmon: Path = HWMON) -> None:
        self._hwmon = hwmon

    def describe(self) -> str:
        """What it is."""
        return "jetson"

    def read(self) -> Reading:
        """Watts of the input rail, from millivolts and milliamperes of the channel that carries its label."""
        for chip in sorted(self._hwmon.glob("hwmon*")) if self._hwmon.is_dir() else []:
            if _text(chip / "name") != "ina3221":
                continue
            for label in sorted(chip.glob("in*_label")):
                number = label.name[2:].removesuffix("_label")
                if _text(label) in INPUT_RAILS:
                    volts = _number(chip / f"in{number}_input")
                    amperes = _number(chip / f"curr{number}_input")
                    if volts is not None and amperes is not None:
                        return Reading(watts=volts * amperes / 1e6)
        return Reading()


class UPower:
    """The display device of UPower, asked through its own command."""

    def __init__(self, command: str = "upower") -> None:
        self._command = command

    def describe(self) -> str:
        """What it is."""
        return "upower"

    def read(self) -> Reading:
        """Percent, charging, watts and watt-hours; nothing where there is no battery or no UPower."""
        if shutil.which(self._command) is None:
            return Reading()
        try:
            told = subprocess.run(
                [self._command, "-i", "/org/freedesktop/UPower/devices/DisplayDevice"],
                capture_output=True, text=True, timeout=UPOWER_S, check=True, env={"LC_ALL": "C"},
            ).stdout  # fmt: skip
        except (OSError, subprocess.SubprocessError):  # no bus, no daemon: nothing is known
            return Reading()
        return upower_reading(told)


class FilePower:
    """A JSON object with the fields of a Reading, read anew each time: for tests and demonstrations."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def describe(self) -> str:
        """What it is."""
        return f"file {self._path.name}"

    def read(self) -> Reading:
        """What the file says; a field it does not name, or a file that is not whole, is not known."""
        text = _text(self._path)
        try:
            value = json.loads(text) if text else {}
        except ValueError:  # half written: the next look finds it whole
            return Reading()
        return reading_of(value) if isinstance(value, dict) else Reading()


class Merged:
    """Several sources: of each field the first that knows."""

    def __init__(self, *sources: PowerSource) -> None:
        self._sources = sources

    def describe(self) -> str:
        """All of them."""
        return "+".join(s.describe() for s in self._sources)

    def read(self) -> Reading:
        """One reading of all."""
        found = Reading()
        for source in self._sources:
            told = source.read()
            missing = {f.name for f in fields(found) if getattr(found, f.name) is None}
            found = replace(found, **{name: getattr(told, name) for name in missing})
        return found


def open_power(spec: str) -> PowerSource | None:
    """The source a setting names: auto, kernel, jetson, upower, file:PATH, or none.  Raises ConfigError."""
    if spec == "none":
        return None
    if spec == "auto":
        return Merged(KernelPower(), JetsonPower(), UPower())
    if spec.startswith("file:") and spec != "file:":
        return FilePower(Path(spec.removeprefix("file:")).expanduser())
    known: dict[str, PowerSource] = {"kernel": KernelPower(), "jetson": JetsonPower(), "upower": UPower()}
    if spec not in known:
        raise ConfigError(f"device.power {spec!r} is not known: write auto, kernel, jetson, upower, file:PATH or none.")
    return known[spec]


def read_device(supplies: Path = SUPPLIES, zones: Path = ZONES) -> Reading:
    """The kernel's reading; what it does not tell is None (a desk machine has no battery).

    Its files count in percent, tenths of a degree, and millionths of volts, amperes, watts and watt-hours.
    """
    found = Reading()
    for supply in sorted(supplies.glob("*")) if supplies.is_dir() else []:
        if _text(supply / "type") != "Battery":
            continue
        status = _text(supply / "status")
        volts, amperes = _number(supply / "voltage_now"), _number(supply / "current_now")
        watts = _number(supply / "power_now")
        if watts is None and volts is not None and amperes is not None:
            watts = abs(amperes) * volts / 1e6
        cell_c, energy = _number(supply / "temp"), _number(supply / "energy_now")
        charge = _number(supply / "charge_now")
        if energy is None and charge is not None and volts is not None:
            energy = charge * volts / 1e6
        found = Reading(
            battery=_number(supply / "capacity"),
            charging=None if status is None else status in ("Charging", "Full"),
            cell_c=None if cell_c is None else cell_c / 10,
            cell_v=None if volts is None else _one_cell(volts / 1e6),
            watts=None if watts is None else abs(watts) / 1e6,
            energy_wh=None if energy is None else energy / 1e6,
        )
        break
    heat = [t / 1000 for z in sorted(zones.glob("thermal_zone*")) if (t := _number(z / "temp")) is not None]
    return replace(found, temperature_c=max(heat, default=None))


def upower_reading(text: str) -> Reading:
    """What `upower -i` printed: lines of "name: value unit"."""
    said = {
        name.strip(): value.strip() for name, _, value in (line.partition(":") for line in text.splitlines()) if value
    }
    state = said.get("state", "")
    if state in ("", "unknown") and "percentage" not in said:
        return Reading()
    return Reading(
        battery=_leading(said.get("percentage", "")),
        charging=None if state in ("", "unknown") else state in ("charging", "fully-charged", "pending-charge"),
        watts=_leading(said.get("energy-rate", "")) or None,
        energy_wh=_leading(said.get("energy", "")) or None,
    )


def reading_of(value: dict[str, Any]) -> Reading:
    """A reading from plain values; what has the wrong kind is not known."""
    given: dict[str, Any] = {}
    for field in fields(Reading):
        told = value.get(field.name)
        if field.name in ("charging", "worn", "screen"):
            given[field.name] = told if isinstance(told, bool) else None
        elif field.name == "choice":
            given[field.name] = told if told in MODES else None
        else:
            number = isinstance(told, (int, float)) and not isinstance(told, bool)
            given[field.name] = told if number else None
    return Reading(**given)


def _one_cell(volts: float) -> float:
    """Volts of one lithium-ion cell of a pack of some in a row."""
    return volts / max(1, round(volts / 3.8))


def _leading(text: str) -> float | None:
    try:
        return float(text.split(maxsplit=1)[0].rstrip("%").replace(",", ".")) if text else None
    except ValueError:
        return None


def _number(path: Path) -> float | None:
    text = _text(path)
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):  # the file comes and goes with the hardware: unknown is the honest answer
        return None
