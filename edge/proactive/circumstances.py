"""What a screening unit tells of the moment: the place, who is there, the power mode, whether it is a natural break."""

from __future__ import annotations

from edge.power import MODES, ModeRow
from edge.proactive.experts import Screening
from edge.proactive.patience import Around
from storage.records import Window

_FULL = MODES["performance"]


def mode_row(window: Window | None) -> tuple[str, ModeRow]:
    """The power mode a window was recorded in; a recording that tells of none was made with full power."""
    mode = "" if window is None or window.device is None else window.device.mode or ""
    row = MODES.get(mode)  # type: ignore[call-overload]  # a trace may name a mode of a later version
    return (mode, row) if row is not None else ("", _FULL)


def experts_in(window: Window | None) -> tuple[str, ...]:
    """Names of the experts that work in a window's power mode."""
    return mode_row(window)[1].experts


def around(unit: Screening) -> Around:
    """The moment after a unit.  A break is the end of an activity, another place, or the return after a gap."""
    window, before = unit.window, unit.previous
    mode, row = mode_row(window)
    place = window.scene if window is not None else ""
    moved = before is not None and place != "" and before.scene not in ("", place)
    people = frozenset(s.speaker.lower() for s in window.speech if s.speaker) if window is not None else frozenset()
    return Around(place, people, mode, row.min_priority, "", bool(unit.closed) or moved or unit.resumed)
