"""Wake words by microWakeWord's streaming TFLite models (Apache-2.0) on ai-edge-litert or tflite-runtime.

Every 10 ms of sound gives 40 features; the network takes a few of them, keeps its own state and gives a probability. A
word is heard when the average of the last few probabilities passes the model's own cutoff (both in its JSON).

What sounds alike ("Hey Charles") comes near the cutoff and sometimes over it, while the word itself climbs within a step
or two to what the network gives at most. So a word is `sure` when the average goes most of the way from the cutoff to 1
in CLIMB steps. One that stays lower, and one that turns back a little under the cutoff, are given as well, not sure:
whoever asks can look at the sound by other means, and lose neither a word in noise nor be called by one alike.
"""

from __future__ import annotations

import json
from collections import deque
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.errors import EngineMissingError, InputError, LoadError

CHUNK_BYTES = 320  # 10 ms of 16-bit sound at 16 kHz
QUIET_STEPS = 100  # of 10 ms after a hit: one spoken word is one event
CLEAR = 2 / 3  # of the way from the cutoff to 1
CLIMB = 2  # steps of the network over the cutoff in which a sure word gets there
NEAR = 0.15  # under the cutoff, where a word may have been meant
BACK = 0.02  # by which the average has turned back
ENGINES = ("ai_edge_litert.interpreter", "tflite_runtime.interpreter")


class MicroWake:
    """A WakeWord for one phrase. Not for several threads at once."""

    def __init__(
        self, model: Path, config: Path, *, model_id: str = "micro-hey-jarvis", cutoff: float | None = None
    ) -> None:
        """`model` is a .tflite, `config` its JSON; `cutoff` overrides the JSON's (lower hears more, also wrongly)."""
        try:
            from pymicro_features import MicroFrontend
        except ImportError as error:
            raise EngineMissingError(
                "pymicro-features is not installed; run `pip install pymicro-features`."
            ) from error
        try:
            described = json.loads(config.read_text(encoding="utf-8"))
            self._phrase = str(described["wake_word"])
            self._cutoff = float(described["micro"]["probability_cutoff"] if cutoff is None else cutoff)
            window = int(described["micro"]["sliding_window_size"])
        except (OSError, ValueError, KeyError) as error:
            raise LoadError(f"{config.name} does not describe a wake word: {error!r}") from error
        self._frontend_class: Any = MicroFrontend
        self._model = model
        self._recent: deque[float] = deque(maxlen=window)
        self.sure = True
        self.engine, self._new_interpreter = _interpreter_class()
        self.id = model_id
        self.reset()

    def reset(self) -> None:
        """Begin a new stream: the network's own memory is cleared by loading it anew (0.5 ms)."""
        try:
            self._interpreter: Any = self._new_interpreter(model_path=str(self._model), num_threads=1)
            self._interpreter.allocate_tensors()
        except Exception as error:  # tflite-runtime built for numpy 1 fails only here
            raise LoadError(f"{self.engine} cannot run {self._model.name}: {error}") from error
        self._input = self._interpreter.get_input_details()[0]
        self._output = self._interpreter.get_output_details()[0]
        self._stride = int(self._input["shape"][1])
        self._frontend = self._frontend_class()
        self._features: list[list[float]] = []
        self._recent.clear()
        self._rest = b""
        self._quiet = 0
        self._top = 0.0  # of the averages since they came near the cutoff
        self._over = 0  # how many of them were over it
        self._given = False  # not sure, since then

    def feed(self, pcm: NDArray[np.int16]) -> str | None:
        """Take the next samples, any number; give the phrase once when it was just completed. Raises InputError."""
        if not isinstance(pcm, np.ndarray) or pcm.dtype != np.int16 or pcm.ndim != 1:
            raise InputError("The wake word takes int16 samples of shape (n,) at 16 kHz.")
        if self._interpreter is None:
            raise LoadError("The wake word was closed.")
        sound = self._rest + pcm.tobytes()
        heard = None
        while len(sound) >= CHUNK_BYTES:
            step = self._frontend.process_samples(sound[:CHUNK_BYTES])
            sound = sound[CHUNK_BYTES:] if step.samples_read <= 0 else sound[step.samples_read * 2 :]
            if step.features and self._hears(step.features):
                heard = self._phrase
        self._rest = sound
        return heard

    def close(self) -> None:
        self._interpreter = None

    def _hears(self, features: list[float]) -> bool:
        self._quiet = max(0, self._quiet - 1)
        self._features.append(features)
        if len(self._features) < self._stride:
            return False
        scale, zero = self._input["quantization"]
        values = np.round(np.array(self._features, np.float32) / scale + zero).clip(-128, 127).astype(np.int8)
        self._features = []
        self._interpreter.set_tensor(self._input["index"], values[None])
        self._interpreter.invoke()
        scale, zero = self._output["quantization"]
        self._recent.append((float(self._interpreter.get_tensor(self._output["index"])[0, 0]) - zero) * scale)
        if self._quiet or len(self._recent) < (self._recent.maxlen or 0):
            return False
        return self._judge(sum(self._recent) / len(self._recent))

    def _judge(self, mean: float) -> bool:
        """Whether a word ends here, by the next average; `sure` is set when one does."""
        if mean <= self._cutoff - NEAR:
            self._top, self._over, self._given = 0.0, 0, False
            return False
        self._top = max(self._top, mean)
        self._over += mean > self._cutoff
        if self._given:
            return False
        self.sure = mean > self._cutoff + CLEAR * (1 - self._cutoff)
        if self.sure:
            self._recent.clear()
            self._quiet, self._top, self._over = QUIET_STEPS, 0.0, 0
            return True
        self._given = self._over >= CLIMB or mean < self._top - BACK
        return self._given


def _interpreter_class() -> tuple[str, Any]:
    for name in ENGINES:
        try:
            return name.partition(".")[0], import_module(name).Interpreter
        except ImportError:
            continue
    raise EngineMissingError("No TFLite engine is installed; run `pip install ai-edge-litert` (or tflite-runtime).")
