"""Whether somebody speaks, by Silero VAD v6 (MIT) in onnxruntime: 32 ms steps with a recurrent state.

Each step sees 64 samples of the step before it. The graph takes a run of steps as one batch and hands the state on.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.backends.frames import check_speech
from models.backends.onnx_session import Session
from models.errors import InputError
from models.roles import SPEECH_RATE

STEP = 512
CONTEXT = 64
STATE = (1, 1, 128)
LONGEST_RUN = 2048  # steps in one call, about a minute: bounds memory


class Silero:
    """A VAD. `speech_spans` keeps apart from the stream of `probability`; not for several threads at once."""

    id = "silero-vad-v6"

    def __init__(
        self,
        path: Path,
        *,
        on: float = 0.5,
        off: float = 0.35,
        min_speech_s: float = 0.2,
        min_silence_s: float = 0.4,
        pad_s: float = 0.1,
    ) -> None:
        """Speech begins at probability `on` and ends when it stays below `off` for min_silence_s; spans grow by pad_s."""
        self._session = Session(path, threads=1, gpu=False)
        self._on, self._off = on, off
        self._min_speech, self._min_silence, self._pad = min_speech_s, min_silence_s, pad_s
        self.reset()

    def reset(self) -> None:
        """Begin a new stream."""
        self._h = self._c = np.zeros(STATE, np.float32)
        self._tail = np.zeros(CONTEXT, np.float32)

    def probability(self, samples: NDArray[np.float32]) -> float:
        """Chance of speech in the next 512 samples of the stream. Raises InputError."""
        check_speech(samples)
        if samples.size != STEP:
            raise InputError(f"The voice detector takes {STEP} samples at a time, not {samples.size}.")
        step = np.concatenate([self._tail, samples])[None]
        chances, self._h, self._c = self._steps(step, self._h, self._c)
        self._tail = samples[-CONTEXT:].copy()
        return float(chances[0])

    def speech_spans(self, pcm: NDArray[np.float32]) -> tuple[tuple[float, float], ...]:
        """Spans of speech in seconds. Raises InputError."""
        check_speech(pcm)
        if not pcm.size:
            return ()
        chances = self._whole(pcm)
        spans = self._spans(chances, pcm.size / SPEECH_RATE)
        return tuple(spans)

    def close(self) -> None:
        self._session.close()

    def _whole(self, pcm: NDArray[np.float32]) -> NDArray[np.float32]:
        """Probability per step, shape (ceil(n / 512),)."""
        count = -(-pcm.size // STEP)
        sound = np.zeros(CONTEXT + count * STEP, np.float32)
        sound[CONTEXT : CONTEXT + pcm.size] = pcm
        steps = np.lib.stride_tricks.sliding_window_view(sound, CONTEXT + STEP)[::STEP]
        h = c = np.zeros(STATE, np.float32)
        parts = []
        for start in range(0, count, LONGEST_RUN):
            chances, h, c = self._steps(np.ascontiguousarray(steps[start : start + LONGEST_RUN]), h, c)
            parts.append(chances)
        return np.concatenate(parts)

    def _steps(
        self, steps: NDArray[np.float32], h: NDArray[np.float32], c: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        chance, next_h, next_c = self._session.run({"input": steps, "h": h, "c": c}).values()
        return chance.reshape(-1), next_h, next_c

    def _spans(self, chances: NDArray[np.float32], length_s: float) -> list[tuple[float, float]]:
        step_s = STEP / SPEECH_RATE
        raw: list[list[float]] = []
        speaking = False
        for index, chance in enumerate(chances):
            start = index * step_s
            if chance >= self._on or (speaking and chance >= self._off):
                if not speaking and raw and start - raw[-1][1] < self._min_silence:
                    raw[-1][1] = start + step_s  # the pause was too short to end the span
                elif speaking:
                    raw[-1][1] = start + step_s
                else:
                    raw.append([start, start + step_s])
                speaking = True
            else:
                speaking = False
        long_enough = [s for s in raw if s[1] - s[0] >= self._min_speech]
        spans: list[tuple[float, float]] = []
        for first, last in long_enough:
            start, end = max(0.0, first - self._pad), min(length_s, last + self._pad)
            if spans and start <= spans[-1][1]:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
        return spans
