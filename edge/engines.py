"""The models the runtime uses, by role, chosen by the settings; loaded when first asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from edge import config as settings
from edge.clock import Clock, SystemClock
from edge.perception.things import DETECTOR_SCORE
from edge.thinkers import Thinkers, ThinkingRole, llama_settings
from edge.voice.hearing import Hearing
from models import (
    ASR,
    DETECTOR,
    OCR,
    TEXT_EMBEDDING,
    TTS,
    VAD,
    WAKE_WORD,
    Loader,
    LoadOptions,
    Registry,
    RoleStatus,
    roles,
)

SMALL_TTS, SMALL_ASR = "espeak-ng", "whisper-tiny.en"  # while power is short


class Engines:
    """One loader and the settings that choose; shared by every service of a process."""

    def __init__(self, config: settings.Config, clock: Clock | None = None) -> None:
        self._config = config
        look, llm, wall = config.perception, config.llm, clock or SystemClock()
        options = LoadOptions(
            threads=config.models.threads,
            detector_min_score=DETECTOR_SCORE,  # weak boxes are confirmed or dropped by perception, not by the model
            ocr_side_px=look.text_side_px,
            ocr_min_score=look.text_score,
            llama=llama_settings(llm),
            mmproj=Path(llm.vision_mmproj).expanduser() if llm.vision_mmproj else None,
            mono=wall.mono,
        )
        store = settings.data_dir() / "models"
        self._loader = Loader(Registry(store, settings.cache_dir()), options)
        self._listening = Loader(Registry(store, settings.cache_dir()), options)
        self.thinkers = Thinkers(llm, self._loader, wall)

    def text_embedding(self) -> roles.TextEmbedding:
        """The embedding memories are made with.  Raises ModelError."""
        return self._loader.load(TEXT_EMBEDDING, self._config.models.text_embedding).model

    def detector(self) -> roles.Detector:
        """Objects in a frame.  Raises ModelError."""
        return self._loader.load(DETECTOR).model

    def ocr(self) -> roles.OCR:
        """Text in a frame.  Raises ModelError."""
        return self._loader.load(OCR).model

    def asr(self) -> roles.ASR:
        """Speech to text.  Raises ModelError."""
        return self._loader.load(ASR, self._config.models.asr).model

    def vad(self) -> roles.VAD:
        """Where somebody speaks.  Raises ModelError."""
        return self._loader.load(VAD).model

    def tts(self) -> roles.TTS:
        """The voice; the next one when the chosen one cannot be had (see `status`).  Raises ModelError."""
        return self._loader.load(TTS).model

    def voice_tts(self) -> roles.TTS:
        """The voice the settings name, else the best there is.  Raises ModelError."""
        return self._loader.load(TTS, self._config.voice.tts or None).model

    def hearing(self, saving: Callable[[], bool]) -> Hearing:
        """What a conversation is heard with; `saving` says whether power is short.

        The recogniser is one of its own, since the one that transcribes windows may be busy for seconds.
        """
        voice = self._config.voice

        def words(names: str) -> list[roles.WakeWord]:
            return [self._listening.load(WAKE_WORD, name).model for name in names.split()]

        return Hearing(
            wake=lambda: words(voice.wake_words),
            stop=lambda: words(voice.stop_words),
            vad=lambda: self._listening.load(VAD, voice.vad).model,
            recogniser=lambda: self._listening.load(ASR, voice.asr_saver if saving() else voice.asr).model,
        )

    def small_tts(self) -> roles.TTS:
        """The voice that costs least.  Raises ModelError."""
        return self._loader.load(TTS, SMALL_TTS).model

    def small_asr(self) -> roles.ASR:
        """The speech recognition that costs least.  Raises ModelError."""
        return self._loader.load(ASR, SMALL_ASR).model

    def language(self, role: ThinkingRole) -> roles.Language | None:
        """Who consolidates, matches or answers; None when rules do.  Raises ModelError, ConfigError."""
        return self.thinkers.language(role)

    def vision(self) -> roles.VisionLanguage | None:
        """Who describes frames; None when nobody does.  Raises ModelError, ConfigError."""
        return self.thinkers.vision()

    def status(self) -> tuple[RoleStatus, ...]:
        """What fills each role asked for so far, and why nothing better does."""
        heard = [s for s in self._listening.status() if s.problems]
        return (*self._loader.status(), *heard)

    def language_health(self) -> dict[str, Any]:
        """For /health: the language models' states and today's costs."""
        return self.thinkers.health()

    def close(self) -> None:
        """Close every model."""
        self.thinkers.close()
        self._loader.close()
        self._listening.close()
