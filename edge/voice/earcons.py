"""The short sounds that say what words would say too slowly: one table of notes, made into sound once."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from edge.voice.pcm import Pcm16
from models.roles import AudioChunk

Name: TypeAlias = Literal["ready", "done", "unknown", "gone", "trouble"]

RATE = 22_050
LEVEL = 0.22  # of full scale: an earcon is heard, not obeyed
_EDGE_S = 0.008  # fade in and out, against clicks

# name: (frequency in Hz, seconds) one after the other; rising is good, falling is over, low is trouble
NOTES: dict[Name, tuple[tuple[float, float], ...]] = {
    "ready": ((660.0, 0.06), (880.0, 0.08)),
    "done": ((880.0, 0.06), (660.0, 0.08)),
    "unknown": ((440.0, 0.09), (440.0, 0.09)),
    "gone": ((660.0, 0.07), (440.0, 0.1)),
    "trouble": ((330.0, 0.12), (262.0, 0.18)),
}


@lru_cache(maxsize=len(NOTES))
def earcon(name: Name) -> AudioChunk:
    """The sound of that name."""
    return AudioChunk(np.concatenate([_note(hz, seconds) for hz, seconds in NOTES[name]]), RATE)


def _note(hz: float, seconds: float) -> Pcm16:
    t = np.arange(int(RATE * seconds)) / RATE
    wave = np.sin(2 * np.pi * hz * t) + 0.25 * np.sin(4 * np.pi * hz * t)
    edge = np.clip(np.minimum(t, t[::-1]) / _EDGE_S, 0, 1)
    return np.asarray(wave * edge * (LEVEL * 32_767 / 1.25), np.int16)
