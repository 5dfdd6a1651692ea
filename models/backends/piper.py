"""A natural voice: Piper's VITS network in onnxruntime, fed with phonemes from an espeak-ng process.

Our own: the piper-tts package is GPL and is never imported. The network wants phoneme ids framed by a start and an end
mark with a pad between any two (the layout of the voice's training data, described by the voice's JSON). Punctuation,
which espeak-ng swallows, is put back between clauses because the voice learned to pause and to rise at it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.backends import espeak
from models.backends.onnx_session import Session
from models.backends.speech_text import sentences
from models.errors import LoadError
from models.roles import AudioChunk

START, END, PAD = "^", "$", "_"
PAUSE_S = 0.2  # of silence after a sentence
# A clause ends at a mark that is followed by white space or the end: not in 3:45 or 2,000.
_CLAUSE = re.compile(r"([,;:.!?]+)(?=\s|$)|\s+[-\u2013\u2014]+\s+")


class Piper:
    """A TTS. May be called from several threads."""

    def __init__(self, model: Path, config: Path, *, model_id: str = "piper-en-us-joe", threads: int = 2) -> None:
        """`model` is a Piper voice, `config` its JSON. Raises EngineMissingError without espeak-ng, LoadError."""
        self._program = espeak.find_program()
        try:
            settings: dict[str, Any] = json.loads(config.read_text(encoding="utf-8"))
            self._rate = int(settings["audio"]["sample_rate"])
            self._language = str(settings["espeak"]["voice"])
            self._ids: dict[str, list[int]] = settings["phoneme_id_map"]
            tuning = settings["inference"]
            scales = [tuning["noise_scale"], tuning["length_scale"], tuning["noise_w"]]
        except (OSError, ValueError, KeyError) as error:
            raise LoadError(f"{config.name} is not the description of a Piper voice: {error!r}") from error
        self._scales = np.array(scales, np.float32)
        self._session = Session(model, threads=threads, gpu=False)
        self.id = model_id
        self.name = f"Piper {model.stem}"

    def synthesize(self, text: str) -> Iterator[AudioChunk]:
        """Sound by sentence; the first comes after one sentence's work. Raises OutputError, ModelTimeoutError."""
        pieces = sentences(text)
        for number, ids in enumerate(self._phoneme_ids(pieces)):
            pcm = self._speak(ids)
            if number < len(pieces) - 1:
                pcm = np.concatenate([pcm, np.zeros(int(PAUSE_S * self._rate), np.int16)])
            yield AudioChunk(pcm, self._rate)

    def close(self) -> None:
        self._session.close()

    def _phoneme_ids(self, pieces: list[str]) -> list[list[int]]:
        """Ids of each sentence, all from one espeak-ng process."""
        split = [_clauses(piece) for piece in pieces]
        flat = [words for clauses in split for words, _ in clauses]
        sounds = iter(espeak.phonemes(self._program, flat, self._language) if flat else [])
        return [self._frame(" ".join(next(sounds) + mark for _, mark in clauses)) for clauses in split]

    def _frame(self, phonemes: str) -> list[int]:
        pad = self._ids[PAD]
        ids = [*self._ids[START], *pad]
        for phoneme in unicodedata.normalize("NFD", phonemes):
            known = self._ids.get(phoneme)
            if known:  # a sound the voice never learned is left out, as in its training
                ids += [*known, *pad]
        return ids + self._ids[END]

    def _speak(self, ids: list[int]) -> NDArray[np.int16]:
        feeds: Mapping[str, NDArray[Any]] = {
            "input": np.array([ids], np.int64),
            "input_lengths": np.array([len(ids)], np.int64),
            "scales": self._scales,
        }
        wave = next(iter(self._session.run(feeds).values())).reshape(-1)
        # Voices differ in level; each sentence is brought to the same peak, with a limit for near-silence.
        peak = max(0.01, float(np.abs(wave).max(initial=0.0)))
        return np.asarray(wave * (0.9 * 32767 / peak), np.int16)


def _clauses(sentence: str) -> list[tuple[str, str]]:
    """Words and the mark behind them, clause by clause; marks inside a clause that espeak-ng would pause at are dropped."""
    found: list[tuple[str, str]] = []
    start = 0
    for match in _CLAUSE.finditer(sentence):
        found.append((sentence[start : match.start()], (match.group(1) or ",")[0]))
        start = match.end()
    found.append((sentence[start:], "."))
    tidy = [(" ".join(re.sub(r"[\"“”()\[\]…]", " ", words).split()), mark) for words, mark in found]
    return [(words, mark) for words, mark in tidy if any(c.isalnum() for c in words)]
