"""The models of the runtime: roles, where their files come from, and the backends that run them.

Importing this package loads no engine. `Loader.load(ROLE)` gives a model; see models/loader.py for the table.
"""

from __future__ import annotations

from models.loader import (
    ASR,
    DETECTOR,
    IMAGE_EMBEDDING,
    LANGUAGE,
    OCR,
    ROLES,
    SPEAKER_EMBEDDING,
    TEXT_EMBEDDING,
    TTS,
    VAD,
    VISION_LANGUAGE,
    WAKE_WORD,
    Loaded,
    Loader,
    LoadOptions,
    RoleKey,
    RoleStatus,
)
from models.registry import Registry, Status

__all__ = [
    "ASR",
    "DETECTOR",
    "IMAGE_EMBEDDING",
    "LANGUAGE",
    "OCR",
    "ROLES",
    "SPEAKER_EMBEDDING",
    "TEXT_EMBEDDING",
    "TTS",
    "VAD",
    "VISION_LANGUAGE",
    "WAKE_WORD",
    "LoadOptions",
    "Loaded",
    "Loader",
    "Registry",
    "RoleKey",
    "RoleStatus",
    "Status",
]
