"""Asking for a role and getting a model: the one table of what can fill which role, and what stands in when it cannot.

    loader = Loader(Registry(store, cache))
    loaded = loader.load(TTS)          # the default voice, or the next one with the reason in loaded.fell_back
    loader.load(ASR, "whisper-base")   # exactly this one, or an error

A model is loaded once and shared by all who ask (one NanoDet serves as Detector and as ImageEmbedding). What cannot be
had is an error, not a fake: fakes are given only to those who name them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from models import roles
from models.backends import fake, wyoming
from models.backends.espeak import Espeak
from models.backends.heap import give_back
from models.backends.llama_model import LlamaModel
from models.backends.llama_settings import LlamaSettings
from models.backends.microwake import MicroWake
from models.backends.minilm import MiniLM
from models.backends.nanodet import NanoDet
from models.backends.piper import Piper
from models.backends.rapid_ocr import RapidOcr
from models.backends.silero import Silero
from models.backends.voice_ge2e import VoiceGe2e
from models.backends.whisper import Whisper
from models.backends.wordllama_embed import WordLlama
from models.breaker import Mono
from models.errors import LoadError, ModelError, ModelMissingError, UnknownModelError
from models.manifest import RoleName
from models.registry import Registry

log = logging.getLogger(__name__)

M = TypeVar("M", bound=roles.Model)
Files = Mapping[str, Path]


@dataclass(frozen=True)  # no slots: Python 3.10 and 3.11 cannot have them in a frozen generic
class RoleKey(Generic[M]):
    """A role as a value, so that `load` knows the type it gives. `order`: ids to try when none is named."""

    name: RoleName
    order: tuple[str, ...]


DETECTOR = RoleKey[roles.Detector]("detector", ("nanodet-g-416",))
OCR = RoleKey[roles.OCR]("ocr", ("pp-ocrv6-small",))
IMAGE_EMBEDDING = RoleKey[roles.ImageEmbedding]("image_embedding", ("nanodet-g-416",))
ASR = RoleKey[roles.ASR]("asr", ("whisper-tiny.en",))
VAD = RoleKey[roles.VAD]("vad", ("silero-vad-v6",))
WAKE_WORD = RoleKey[roles.WakeWord]("wake_word", ("micro-hey-jarvis",))
SPEAKER_EMBEDDING = RoleKey[roles.SpeakerEmbedding]("speaker_embedding", ("voice-ge2e",))
TTS = RoleKey[roles.TTS]("tts", ("piper-en-us-joe", "espeak-ng"))
# No stand-in here: vectors of another model do not compare with those already stored.
TEXT_EMBEDDING = RoleKey[roles.TextEmbedding]("text_embedding", ("wordllama-256",))
# Never chosen for anybody: a language model is named in the settings.
LANGUAGE = RoleKey[roles.Language]("language", ())
VISION_LANGUAGE = RoleKey[roles.VisionLanguage]("vision_language", ())

ROLES: tuple[RoleKey[Any], ...] = (
    DETECTOR, OCR, IMAGE_EMBEDDING, ASR, VAD, WAKE_WORD, SPEAKER_EMBEDDING, TTS, TEXT_EMBEDDING, LANGUAGE,
    VISION_LANGUAGE,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """Settings of the backends; a role ignores what is not its own.

    `mono` gives monotonic microseconds: language models, which have deadlines, cannot be loaded without it.  `mmproj`
    is the vision part that goes with a model named by its path.
    """

    threads: int = 2
    gpu: bool = True
    detector_min_score: float = 0.4
    ocr_side_px: int = 480
    ocr_min_score: float = 0.9
    language: str = "en"
    speech_words_per_minute: int = 165
    llama: LlamaSettings = field(default_factory=LlamaSettings)
    mmproj: Path | None = None
    mono: Mono | None = None


@dataclass(frozen=True)
class Loaded(Generic[M]):
    """A model in use. `fell_back` holds a sentence for each better choice that could not be loaded."""

    model: M
    id: str
    fell_back: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RoleStatus:
    """For /health and doctor: what fills a role now (None: nothing is loaded) and why nothing better does."""

    role: RoleName
    model_id: str | None
    problems: tuple[str, ...]


Build = Callable[[Files, LoadOptions], roles.Model]


def _nanodet(files: Files, options: LoadOptions) -> roles.Model:
    return NanoDet(
        files["nanodet_g_416.onnx"], threads=options.threads, min_score=options.detector_min_score, gpu=options.gpu
    )


def _rapid_ocr(files: Files, options: LoadOptions) -> roles.Model:
    return RapidOcr(files, side_len=options.ocr_side_px, min_score=options.ocr_min_score, threads=options.threads)


def _whisper(model_id: str) -> Build:
    def build(files: Files, options: LoadOptions) -> roles.Model:
        return Whisper(files, model_id=model_id, language=options.language, threads=options.threads)

    return build


def _silero(files: Files, _options: LoadOptions) -> roles.Model:
    return Silero(files["silero_vad_v6.onnx"])


def _voice(files: Files, options: LoadOptions) -> roles.Model:
    return VoiceGe2e(files["voice_ge2e.onnx"], threads=options.threads)


def _microwake(model_id: str, stem: str) -> Build:
    def build(files: Files, _options: LoadOptions) -> roles.Model:
        return MicroWake(files[f"{stem}.tflite"], files[f"{stem}.json"], model_id=model_id)

    return build


def _own_wake_word(path: str) -> Build:
    """A wake word of the user's own, named by the path of its .tflite file; its JSON lies beside it."""

    def build(_files: Files, _options: LoadOptions) -> roles.Model:
        file = Path(path).expanduser()
        config = file.with_suffix(".json")
        for needed in (file, config):
            if not needed.is_file():
                raise ModelMissingError(f"There is no wake-word file {needed}; correct voice.wake_words.")
        return MicroWake(file, config, model_id=file.stem)

    return build


def _wyoming(address: str, role: RoleName) -> Build:
    """A speech service of the owner's own, named by its address."""

    def build(_files: Files, options: LoadOptions) -> roles.Model:
        if role == "asr":
            return wyoming.WyomingAsr(address, language=options.language)
        return wyoming.WyomingTts(address) if role == "tts" else wyoming.WyomingWake(address)

    return build


def _piper(files: Files, options: LoadOptions) -> roles.Model:
    return Piper(files["en_US-joe-medium.onnx"], files["en_US-joe-medium.onnx.json"], threads=options.threads)


def _espeak(_files: Files, options: LoadOptions) -> roles.Model:
    return Espeak(words_per_minute=options.speech_words_per_minute)


def _wordllama(files: Files, _options: LoadOptions) -> roles.Model:
    return WordLlama(
        files["weights/l2_supercat_256.safetensors"], files["tokenizers/l2_supercat_tokenizer_config.json"]
    )


def _minilm(files: Files, options: LoadOptions) -> roles.Model:
    return MiniLM(files["model.onnx"], files["tokenizer.json"], threads=options.threads)


def _llama(model_id: str, model: str, mmproj: str | None = None) -> Build:
    def build(files: Files, options: LoadOptions) -> roles.Model:
        return _started(files[model], files[mmproj] if mmproj else None, options, model_id)

    return build


def _gguf(path: str) -> Build:
    """A model file of the user's own, named by its path."""

    def build(_files: Files, options: LoadOptions) -> roles.Model:
        file = Path(path).expanduser()
        if not file.is_file():
            raise ModelMissingError(f"There is no model file {file}; correct the path in the settings.")
        return _started(file, options.mmproj, options, file.stem)

    return build


def _started(model: Path, mmproj: Path | None, options: LoadOptions, model_id: str) -> roles.Model:
    if options.mono is None:
        raise LoadError("A language model needs a clock for its deadlines: LoadOptions.mono.")
    return LlamaModel(model, mmproj, mono=options.mono, settings=options.llama, model_id=model_id)


def _no_files(make: Callable[[], roles.Model]) -> Build:
    return lambda _files, _options: make()


@dataclass(frozen=True, slots=True)
class Backend:
    """One row: the roles a model fills, how it is built, and whether it has files in the manifest."""

    roles: tuple[RoleName, ...]
    build: Build
    has_files: bool = True


BACKENDS: dict[str, Backend] = {
    "nanodet-g-416": Backend(("detector", "image_embedding"), _nanodet),
    "pp-ocrv6-small": Backend(("ocr",), _rapid_ocr),
    "whisper-tiny.en": Backend(("asr",), _whisper("whisper-tiny.en")),
    "whisper-base": Backend(("asr",), _whisper("whisper-base")),
    "silero-vad-v6": Backend(("vad",), _silero),
    "voice-ge2e": Backend(("speaker_embedding",), _voice),
    "micro-hey-jarvis": Backend(("wake_word",), _microwake("micro-hey-jarvis", "hey_jarvis")),
    "micro-okay-nabu": Backend(("wake_word",), _microwake("micro-okay-nabu", "okay_nabu")),
    "micro-alexa": Backend(("wake_word",), _microwake("micro-alexa", "alexa")),
    "micro-hey-mycroft": Backend(("wake_word",), _microwake("micro-hey-mycroft", "hey_mycroft")),
    "piper-en-us-joe": Backend(("tts",), _piper),
    "espeak-ng": Backend(("tts",), _espeak, has_files=False),
    "wordllama-256": Backend(("text_embedding",), _wordllama),
    "minilm-l6-int8": Backend(("text_embedding",), _minilm),
    "smollm2-135m": Backend(("language",), _llama("smollm2-135m", "SmolLM2-135M-Instruct.Q4_1.gguf")),
    "qwen3-1.7b": Backend(("language",), _llama("qwen3-1.7b", "Qwen3-1.7B-Q4_K_M.gguf")),
    "qwen3-4b": Backend(("language",), _llama("qwen3-4b", "Qwen3-4B-Q4_K_M.gguf")),
    "qwen3-vl-2b": Backend(
        ("vision_language", "language"),
        _llama("qwen3-vl-2b", "Qwen3VL-2B-Instruct-Q4_K_M.gguf", "mmproj-Qwen3VL-2B-Instruct-Q8_0.gguf"),
    ),
    "smolvlm2-500m": Backend(
        ("vision_language", "language"),
        _llama(
            "smolvlm2-500m", "SmolVLM2-500M-Video-Instruct-Q8_0.gguf", "mmproj-SmolVLM2-500M-Video-Instruct-Q8_0.gguf"
        ),
    ),
    "hash-256": Backend(("text_embedding",), _no_files(fake.HashEmbedding), has_files=False),
    "fake-detector": Backend(("detector",), _no_files(fake.FakeDetector), has_files=False),
    "fake-thumbnail-108": Backend(("image_embedding",), _no_files(fake.FakeImageEmbedding), has_files=False),
    "fake-ocr": Backend(("ocr",), _no_files(fake.FakeOCR), has_files=False),
    "fake-asr": Backend(("asr",), _no_files(fake.FakeASR), has_files=False),
    "fake-vad": Backend(("vad",), _no_files(fake.FakeVAD), has_files=False),
    "fake-wake-word": Backend(("wake_word",), _no_files(fake.FakeWakeWord), has_files=False),
    "fake-speaker-32": Backend(("speaker_embedding",), _no_files(fake.FakeSpeaker), has_files=False),
    "fake-tts": Backend(("tts",), _no_files(fake.FakeTTS), has_files=False),
    "fake-language": Backend(("language", "vision_language"), _no_files(fake.FakeLanguage), has_files=False),
}


class Loader:
    """Loads each model at most once. May be used from several threads."""

    def __init__(self, registry: Registry, options: LoadOptions | None = None) -> None:
        self._registry = registry
        self._options = options or LoadOptions()
        self._lock = threading.RLock()
        self._open: dict[str, roles.Model] = {}
        self._filled: dict[str, RoleStatus] = {}

    def load(self, role: RoleKey[M], model_id: str | None = None) -> Loaded[M]:
        """Give the named model, or the first of the role's order that loads.

        Raises UnknownModelError when nothing is known by that name or for that role; otherwise, when nothing loads, the
        ModelError of the last one tried.
        """
        order = (model_id,) if model_id else role.order
        if not order:
            raise UnknownModelError(f"No model for the role {role.name} is chosen; name one in the settings.")
        problems: list[str] = []
        with self._lock:
            for position, candidate in enumerate(order):
                try:
                    model = self._get(role, candidate)
                except ModelError as error:
                    problems.append(f"{candidate}: {error}")
                    self._filled[role.name] = RoleStatus(role.name, None, tuple(problems))
                    if position == len(order) - 1:
                        raise
                    log.warning("%s is not available for %s: %s", candidate, role.name, error)
                    continue
                self._filled[role.name] = RoleStatus(role.name, candidate, tuple(problems))
                return Loaded(model, candidate, tuple(problems))
        raise AssertionError("the loop returns or raises")

    def unload(self, model_id: str) -> None:
        """Close one model, for all roles it fills; unknown or closed ones are fine."""
        with self._lock:
            model = self._open.pop(model_id, None)
            if model is not None:
                model.close()
                del model
                give_back()
            for name, status in list(self._filled.items()):
                if status.model_id == model_id:
                    self._filled[name] = RoleStatus(status.role, None, status.problems)

    def close(self) -> None:
        """Close every model."""
        for model_id in list(self._open):
            self.unload(model_id)

    def status(self) -> tuple[RoleStatus, ...]:
        """One row for each role that was asked for."""
        with self._lock:
            return tuple(self._filled.values())

    def _get(self, role: RoleKey[M], model_id: str) -> Any:
        backend = BACKENDS.get(model_id)
        if backend is None and model_id.endswith(".gguf"):
            backend = Backend(("language", "vision_language"), _gguf(model_id), has_files=False)
        if backend is None and model_id.endswith(".tflite"):
            backend = Backend(("wake_word",), _own_wake_word(model_id), has_files=False)
        if backend is None and model_id.startswith(wyoming.SCHEME):
            backend = Backend(("asr", "tts", "wake_word"), _wyoming(model_id, role.name), has_files=False)
        if backend is None or role.name not in backend.roles:
            able = sorted(i for i, b in BACKENDS.items() if role.name in b.roles)
            raise UnknownModelError(
                f"There is no model {model_id} for the role {role.name}; choose of {', '.join(able)}."
            )
        if model_id.startswith(wyoming.SCHEME):  # one address may fill several roles
            key = f"{role.name} {model_id}"
            if key not in self._open:
                self._open[key] = backend.build({}, self._options)
            return self._open[key]
        if model_id not in self._open:
            files = self._registry.locate(model_id) if backend.has_files else {}
            self._open[model_id] = backend.build(files, self._options)
            give_back()  # loading peaks far above what the model keeps
        return self._open[model_id]
