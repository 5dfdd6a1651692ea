"""English speech to text by Whisper through faster-whisper (CTranslate2, int8, greedy).

Whisper makes up words in silence and noise, so a segment is dropped when the model itself doubts that anybody speaks,
when it is very unsure, or when the text repeats itself (a compression ratio above 2.4, the paper's own sign of a loop:
Radford et al. 2022, section 4.5).
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.backends.frames import check_speech
from models.backends.heap import give_back
from models.errors import EngineMissingError, LoadError, OutputError
from models.roles import SPEECH_RATE, SpeechSegment

NO_SPEECH = 0.6
LOOPING = 2.4
SHORTEST_S = 0.1
WINDOW_S = 30.0  # what the network was trained on
UTTERANCE_S = 10.0  # least sound the encoder is given for one utterance: with less the decoder falls into loops
MARGIN_S = 1.0  # of silence after the utterance, where the decoder finds its end
TOKENS_A_SECOND = 8  # more than anybody speaks


class Whisper:
    """An ASR over one CTranslate2 model. Not for several threads at once."""

    def __init__(
        self,
        files: Mapping[str, Path],
        *,
        model_id: str = "whisper-tiny.en",
        language: str = "en",
        threads: int = 2,
        device: str = "cpu",
        min_confidence: float = 0.25,
    ) -> None:
        """`files` holds model.bin, config.json, tokenizer.json and vocabulary.txt, all in one folder."""
        try:
            from faster_whisper import WhisperModel
        except ImportError as error:
            raise EngineMissingError("faster-whisper is not installed; run `pip install faster-whisper`.") from error
        folders = {path.parent for path in files.values()}
        if len(folders) != 1:
            raise LoadError(f"The files of {model_id} lie in different folders; pull the model again.")
        try:
            self._model: Any = WhisperModel(
                str(folders.pop()), device=device, compute_type="int8", cpu_threads=threads, local_files_only=True
            )
        except Exception as error:  # CTranslate2 raises RuntimeError and ValueError, the tokenizer its own
            raise LoadError(f"faster-whisper cannot load {model_id}: {error}") from error
        self.id = model_id
        self._language = language
        self._min_confidence = min_confidence

    def transcribe(self, pcm: NDArray[np.float32]) -> tuple[SpeechSegment, ...]:
        """Segments with words in them; none for a sound under 0.1 s. Raises InputError, OutputError."""
        check_speech(pcm)
        if self._model is None:
            raise LoadError("The speech recogniser was closed.")
        if pcm.size < SHORTEST_S * SPEECH_RATE:
            return ()
        try:
            found, _ = self._model.transcribe(
                pcm, language=self._language, beam_size=1, temperature=0.0, condition_on_previous_text=False,
                vad_filter=False, no_speech_threshold=NO_SPEECH,
            )  # fmt: skip
            segments = list(found)
        except Exception as error:
            raise OutputError(f"faster-whisper failed on {pcm.size / SPEECH_RATE:.1f} s of sound: {error}") from error
        finally:
            give_back()
        return tuple(s for s in map(self._segment, segments) if s is not None)

    def utterance(self, pcm: NDArray[np.float32]) -> tuple[SpeechSegment, ...]:
        """One spoken sentence, fast: the encoder sees UTTERANCE_S instead of its usual 30 s, a third of the time.

        What loops or runs on in that short view is heard again in full. Raises InputError, OutputError.
        """
        check_speech(pcm)
        if self._model is None:
            raise LoadError("The speech recogniser was closed.")
        length = pcm.size / SPEECH_RATE
        if length < SHORTEST_S:
            return ()
        if length > WINDOW_S - MARGIN_S:
            return self.transcribe(pcm)
        try:
            found = self._short(pcm, length)
        except Exception as error:
            raise OutputError(f"faster-whisper failed on {length:.1f} s of sound: {error}") from error
        return self.transcribe(pcm) if found is None else found

    def close(self) -> None:
        self._model = None

    def _short(self, pcm: NDArray[np.float32], length: float) -> tuple[SpeechSegment, ...] | None:
        """The utterance in a shortened view; None when the decoder lost itself there."""
        from faster_whisper.tokenizer import Tokenizer

        view: Any = import_module("ctranslate2").StorageView

        wanted = round(max(UTTERANCE_S, length + MARGIN_S) * SPEECH_RATE)
        sound = np.zeros(wanted, np.float32)
        sound[: pcm.size] = pcm
        features = self._model.feature_extractor(sound)
        features = np.ascontiguousarray(features[None, :, : features.shape[1] // 2 * 2], np.float32)
        tokenizer = Tokenizer(
            self._model.hf_tokenizer, self._model.model.is_multilingual, task="transcribe", language=self._language
        )
        most = TOKENS_A_SECOND * math.ceil(length) + 16
        made = self._model.model.generate(
            self._model.model.encode(view.from_array(features), to_cpu=False),
            [self._model.get_prompt(tokenizer, [], without_timestamps=False)],
            beam_size=1, max_length=most, return_scores=True, return_no_speech_prob=True, suppress_blank=True,
            max_initial_timestamp_index=50,
        )[0]  # fmt: skip
        words = [token for token in made.sequences_ids[0] if token < tokenizer.eot]
        text = tokenizer.decode(words).strip()
        confidence = math.exp(min(0.0, made.scores[0]))
        if len(words) + 4 >= most or _loops(text):
            return None
        doubtful = made.no_speech_prob > NO_SPEECH and confidence < 0.6
        if not any(c.isalnum() for c in text) or doubtful or confidence < self._min_confidence:
            return ()
        return (SpeechSegment(0.0, length, text, confidence),)

    def _segment(self, raw: Any) -> SpeechSegment | None:
        text = raw.text.strip()
        confidence = math.exp(min(0.0, raw.avg_logprob))
        doubtful = raw.no_speech_prob > NO_SPEECH and confidence < 0.6
        if not any(c.isalnum() for c in text) or doubtful or confidence < self._min_confidence:
            return None
        if raw.compression_ratio > LOOPING:
            return None
        return SpeechSegment(float(raw.start), float(raw.end), text, confidence)


def _loops(text: str) -> bool:
    """Whether a text says the same again and again: compressible, or its last words three times in a row."""
    data = text.encode()
    if data and len(data) / len(zlib.compress(data)) > LOOPING:
        return True
    words = "".join(c if c.isalnum() else " " for c in text.lower()).split()
    return any(
        words[-size:] == words[-2 * size : -size] == words[-3 * size : -2 * size]
        for size in range(1, len(words) // 3 + 1)
    )
