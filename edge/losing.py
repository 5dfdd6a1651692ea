"""Telling the wearer that the camera or the microphone is gone, and that it is back: each once.

Pure.  A short outage is nobody's concern, and what was never there was never lost; `/health` and `doctor` tell of both.
"""

from __future__ import annotations

from collections.abc import Mapping

from edge.clock import US
from edge.proactive.alerts import speak

AFTER_US = 3 * US


class Losses:
    """What has been told so far."""

    def __init__(self) -> None:
        self._since: dict[str, int] = {}  # device: when it went, monotonic microseconds
        self._told: set[str] = set()

    def step(self, flows: Mapping[str, bool | None], mono: int) -> list[tuple[str, str, str]]:
        """One look at the devices, None: unknown; (type of alert, key, sentence) of what is to be told now."""
        told: list[tuple[str, str, str]] = []
        for device, flow in flows.items():
            if flow is False:
                if device not in self._told and mono - self._since.setdefault(device, mono) >= AFTER_US:
                    self._told.add(device)
                    told.append((f"{device}_lost", device, speak(f"{device}_lost")))
            else:
                self._since.pop(device, None)
                if flow and device in self._told:
                    self._told.discard(device)
                    told.append((f"{device}_back", device, speak(f"{device}_back")))
        return told
