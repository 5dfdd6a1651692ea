"""What the device tells of itself: battery, charging and heat from the kernel's files."""

from __future__ import annotations

from pathlib import Path

from edge.power import Reading

SUPPLIES = Path("/sys/class/power_supply")
ZONES = Path("/sys/class/thermal")


def read_device(supplies: Path = SUPPLIES, zones: Path = ZONES) -> Reading:
    """The present reading; what the kernel does not tell is None (a desk machine has no battery).

    The hottest thermal zone counts, in degrees Celsius.
    """
    battery, charging = None, None
    for supply in sorted(supplies.glob("*")) if supplies.is_dir() else []:
        if _text(supply / "type") != "Battery":
            continue
        level = _text(supply / "capacity")
        battery = float(level) if level is not None and level.isdigit() else None
        status = _text(supply / "status")
        charging = None if status is None else status in ("Charging", "Full")
        break
    heat = [int(t) / 1000 for z in sorted(zones.glob("thermal_zone*")) if (t := _text(z / "temp")) and t.isdigit()]
    return Reading(battery=battery, charging=charging, temperature_c=max(heat, default=None))


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:  # the file comes and goes with the hardware: unknown is the honest answer
        return None
