"""Listening for the words that call the device: several wake words at once, and words that silence it.

Pure: sound and times come as arguments.  A word is heard once: after a hit nothing counts for REFRACTORY_S, since the
echo of a room and the tail of the word itself would call again.  A hit that is not `sure` is for the recogniser to look
at; until it has, the ears stay open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from edge.clock import US
from edge.messages import Pcm
from edge.voice.pcm import to_int16
from models.roles import WakeWord

REFRACTORY_S = 2.0


@dataclass(frozen=True, slots=True)
class Called:
    """A word was completed: `wake` begins a turn, `stop` silences."""

    kind: Literal["wake", "stop"]
    phrase: str
    sure: bool = True  # else it may have been something alike


class Ears:
    """All wake words and stop words of a device; not for several threads at once."""

    def __init__(self, wake: Sequence[WakeWord], stop: Sequence[WakeWord] = ()) -> None:
        self._models: list[tuple[Literal["wake", "stop"], WakeWord]] = [
            *(("wake", model) for model in wake),
            *(("stop", model) for model in stop),
        ]
        self._deaf_until = 0

    def feed(self, pcm: Pcm, mono: int) -> Called | None:
        """Take the next samples, which ended at `mono` (microseconds); what was called in them, once."""
        sound = to_int16(pcm)
        found: Called | None = None
        for kind, model in self._models:
            phrase = model.feed(sound)  # every model takes every sample, or its stream would have holes
            if phrase is not None and (
                found is None or (kind == "stop") + model.sure > (found.kind == "stop") + found.sure
            ):
                found = Called(kind, phrase, model.sure)
        if found is None or mono < self._deaf_until:
            return None
        if found.sure:
            self.rest(mono)
        return found

    def rest(self, mono: int) -> None:
        """A word that ended at `mono` was acted on."""
        self._deaf_until = mono + round(REFRACTORY_S * US)

    def reset(self) -> None:
        """The sound was interrupted: begin a new stream."""
        for _, model in self._models:
            model.reset()
        self._deaf_until = 0

    @property
    def problem(self) -> str:
        """Why a word is not listened for at present, one sentence; empty when all are."""
        return next((p for _, model in self._models if (p := str(getattr(model, "problem", "")))), "")

    @property
    def phrases(self) -> int:
        """How many words are listened for."""
        return len(self._models)
