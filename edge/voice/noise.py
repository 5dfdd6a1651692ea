"""How loud the surroundings are, and how loud to speak in them.  Pure."""

from __future__ import annotations

import numpy as np

from edge.messages import Pcm

QUIET_DB, LOUD_DB = -55.0, -30.0  # of full scale: a bedroom at night, a street
SOFTER_DB = -9.0  # in the quietest surroundings, below the wearer's volume; in the loudest it is full scale
_FALL, _RISE = 0.02, 0.002  # a floor follows silence at once and noise slowly: speech is no noise


class Ambient:
    """The level between the words, from frames of 32 ms."""

    def __init__(self) -> None:
        self.level_db = -50.0

    def take(self, pcm: Pcm) -> None:
        """One frame in which the device itself is silent."""
        level = 10 * float(np.log10(float(np.dot(pcm, pcm)) / max(1, len(pcm)) + 1e-10))
        step = _FALL if level < self.level_db else _RISE
        self.level_db += step * (level - self.level_db)

    def gain(self, volume: float) -> float:
        """Gain of the voice, 0-1, for the volume (0-1) that the wearer chose for ordinary surroundings."""
        share = min(1.0, max(0.0, (self.level_db - QUIET_DB) / (LOUD_DB - QUIET_DB)))
        softest = volume * 10 ** (SOFTER_DB / 20)
        middle = 0.4  # where the chosen volume is meant
        if share <= middle:
            return softest + (volume - softest) * share / middle
        return volume + (1.0 - volume) * (share - middle) / (1 - middle)
