"""The models a conversation is heard with, loaded when listening begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from edge.messages import Pcm
from edge.voice.wake import Ears
from models.roles import ASR, SPEECH_RATE, VAD, SpeechSegment, WakeWord


@runtime_checkable
class Quick(Protocol):
    """A recogniser with a faster way for one sentence."""

    def utterance(self, pcm: Pcm) -> tuple[SpeechSegment, ...]:
        """As `transcribe`."""
        ...


class Hearing:
    """Wake words, voice detector and recogniser of one listener.

    Each is given as a maker, which raises ModelError; `recogniser` is asked before each sentence and gives the model
    of the moment.
    """

    def __init__(
        self,
        wake: Callable[[], Sequence[WakeWord]],
        stop: Callable[[], Sequence[WakeWord]],
        vad: Callable[[], VAD],
        recogniser: Callable[[], ASR],
    ) -> None:
        self._wake, self._stop, self._make_vad, self._recogniser = wake, stop, vad, recogniser
        self.ears = Ears(())
        self._vad: VAD | None = None

    @property
    def vad(self) -> VAD:
        """The voice detector, after `load`."""
        assert self._vad is not None
        return self._vad

    def load(self) -> None:
        """Load everything, so that the first question waits for nothing.  Raises ModelError."""
        if self._vad is None:
            self.ears = Ears(self._wake(), self._stop())
            vad = self._make_vad()
            self._vad = vad
            self.words(np.zeros(SPEECH_RATE, np.float32))  # the first time costs twice

    def words(self, pcm: Pcm) -> str:
        """What was said in the sound.  Raises ModelError."""
        model = self._recogniser()
        loud = float(np.abs(pcm).max(initial=0.0))
        sound = pcm * np.float32(min(_MOST_GAIN, 0.5 / loud)) if loud > 0 else pcm  # a recogniser knows close voices
        segments = model.utterance(sound) if isinstance(model, Quick) else model.transcribe(sound)
        return " ".join(segment.text.strip() for segment in segments).strip()


_MOST_GAIN = 20.0
