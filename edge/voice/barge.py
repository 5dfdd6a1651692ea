"""Whether somebody speaks over the device's own voice: by the voice detector, the canceller, and the words in the end."""

from __future__ import annotations

from collections import deque

from edge.voice.echo import LIKE, Canceller
from edge.voice.intent import normal

ON = 0.6  # chance of speech
STEPS, OF = 4, 5  # so many of the last: 130 to 160 ms
SHARE = 0.25  # of the second in which a word was called
WORDS = 3  # of the device's own in a row: nobody says them over it by chance
SETTLE = 44  # steps of the canceller (0.7 s) in which its own voice is looked for when it begins to talk


class OverVoice:
    """Not for several threads at once."""

    def __init__(self) -> None:
        self._recent: deque[bool] = deque(maxlen=OF)
        self._foreign: deque[bool] = deque(maxlen=31)  # the last second
        self._now = self._before = 0.0  # chance that anybody speaks, in this step and the one before

    def chance(self, heard: float, echo: Canceller) -> float:
        """The chance that it is somebody else who speaks, of the chance that anybody does."""
        self._now = heard
        if not echo.talking:
            return heard
        if echo.plain:
            return heard if echo.foreign else 0.0
        if not echo.placed:  # nothing of the device has reached the microphone since it began to talk
            return heard if echo.talked > SETTLE and echo.seemed < LIKE else 0.0
        if echo.talked <= SETTLE and not echo.settled:
            return 0.0
        return heard if echo.foreign else 0.0

    def itself(self, echo: Canceller) -> bool:
        """Whether a word that ends now may have been its own.  Ask at every step.

        While it talks and is heard, somebody else must have been heard too in the second of the word.
        """
        self._foreign.append(echo.talking and echo.foreign)
        return echo.talking and echo.seemed >= LIKE and sum(self._foreign) < len(self._foreign) * SHARE

    def begun(self, chance: float, echo: Canceller) -> bool:
        """Whether somebody has begun to speak, given the chance of one more step."""
        self._recent.append(chance >= ON)
        quick = echo.plain and chance >= ON and self._before >= ON
        self._before = self._now
        if sum(self._recent) < STEPS and not quick:
            return False
        self._recent.clear()
        return True

    def quiet(self) -> None:
        """The device is silent."""
        self._recent.clear()


def repeats(heard: str, said: str) -> bool:
    """Whether what was heard is nothing but a stretch of what the device was saying."""
    words = normal(heard).split()
    return len(words) >= WORDS and f" {' '.join(words)} " in f" {normal(said)} "
