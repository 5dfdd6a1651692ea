"""The models the runtime uses, by role, chosen by the settings; loaded when first asked for."""

from __future__ import annotations

from edge import config as settings
from models import ASR, DETECTOR, OCR, TEXT_EMBEDDING, TTS, VAD, Loader, LoadOptions, Registry, RoleStatus, roles


class Engines:
    """One loader and the settings that choose; shared by every service of a process."""

    def __init__(self, config: settings.Config) -> None:
        self._config = config
        look = config.perception
        options = LoadOptions(
            threads=config.models.threads,
            detector_min_score=look.object_score,
            ocr_side_px=look.text_side_px,
            ocr_min_score=look.text_score,
        )
        store = settings.data_dir() / "models"
        self._loader = Loader(Registry(store, settings.cache_dir()), options)

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

    def status(self) -> tuple[RoleStatus, ...]:
        """What fills each role asked for so far, and why nothing better does."""
        return self._loader.status()

    def close(self) -> None:
        """Close every model."""
        self._loader.close()
