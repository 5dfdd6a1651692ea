"""Whether somebody speaks over the device's own voice: the voice detector's chance, and what the canceller knows."""

from __future__ import annotations

from collections import deque

from edge.voice.echo import LIKE, Canceller

ON = 0.6  # chance of speech
STEPS, OF = 4, 5  # so many of the last: 130 to 160 ms
SETTLE = 19  # steps (0.6 s) in which an echo whose delay is not known yet is looked for


class OverVoice:
    """Not for several threads at once."""

    def __init__(self) -> None:
        self._talked = 0  # steps the device has been heard without a break
        self._recent: deque[bool] = deque(maxlen=OF)

    def chance(self, heard: float, echo: Canceller) -> float:
        """The chance that it is somebody else who speaks, of the chance that anybody does."""
        if not echo.talking:
            self._talked = 0
            return heard
        self._talked += 1
        if echo.delay is None:  # nothing of the device has reached the microphone so far
            return heard if self._talked > SETTLE and echo.likeness < LIKE else 0.0
        return heard if echo.foreign else 0.0

    def begun(self, chance: float) -> bool:
        """Whether somebody has begun to speak, given the chance of one more step."""
        self._recent.append(chance >= ON)
        if sum(self._recent) < STEPS:
            return False
        self._recent.clear()
        return True

    def quiet(self) -> None:
        """The device is silent."""
        self._talked = 0
        self._recent.clear()
