"""What the runtime asks of a model: one small protocol per role, and the records that cross it.

A role names no engine. A backend (models/backends) fulfils it by shape alone and is chosen in `models.load`.
Conventions: a frame is BGR uint8 of shape (H, W, 3); a box is pixels (x0, y0, x1, y1) in that frame;
speech is mono at 16 kHz; embeddings are float32 rows of length 1 (a zero row where there was nothing to embed).
Backends raise only `models.errors`. An object is used by one thread at a time unless it says otherwise;
`close` frees engine memory and may be called twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Frame = NDArray[np.uint8]
Vector = NDArray[np.float32]
Box = tuple[float, float, float, float]
JsonSchema = Mapping[str, Any]

SPEECH_RATE = 16_000  # Hz, what ASR, VAD and WakeWord take


@runtime_checkable
class Model(Protocol):
    """Common to every role: a stable name for logs and records, and an end."""

    @property
    def id(self) -> str: ...

    def close(self) -> None: ...


# --- seeing -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Detection:
    """One object: COCO class name, score 0-1, box in pixels."""

    label: str
    score: float
    box: Box


@dataclass(frozen=True, slots=True)
class DetectorResult:
    """Objects by falling score, and the scene vector (D,) of the same pass."""

    detections: tuple[Detection, ...]
    embedding: Vector


@runtime_checkable
class Detector(Model, Protocol):
    @property
    def embedding_dim(self) -> int: ...

    def detect(self, frame: Frame) -> DetectorResult: ...


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line of text as seen, score 0-1, the upright box around it in pixels."""

    text: str
    score: float
    box: Box


@runtime_checkable
class OCR(Model, Protocol):
    def read(self, frame: Frame) -> tuple[TextLine, ...]:
        """Lines from top to bottom, left to right."""
        ...


@runtime_checkable
class ImageEmbedding(Model, Protocol):
    @property
    def dim(self) -> int: ...

    def embed_images(self, frames: Sequence[Frame]) -> Vector:
        """Shape (n, dim)."""
        ...


# --- hearing ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SpeechSegment:
    """Words between two times in seconds from the start of the given sound; confidence 0-1."""

    start_s: float
    end_s: float
    text: str
    confidence: float


@runtime_checkable
class ASR(Model, Protocol):
    def transcribe(self, pcm: NDArray[np.float32]) -> tuple[SpeechSegment, ...]:
        """Take samples in -1..1, shape (n,), 16 kHz; give segments in order, none of them empty."""
        ...


@runtime_checkable
class VAD(Model, Protocol):
    def speech_spans(self, pcm: NDArray[np.float32]) -> tuple[tuple[float, float], ...]:
        """Seconds in which somebody speaks, in order, apart from each other; leaves the stream's state alone."""
        ...

    def probability(self, samples: NDArray[np.float32]) -> float:
        """Chance of speech in the next 512 samples (32 ms) of a stream."""
        ...

    def reset(self) -> None:
        """Begin a new stream."""
        ...


@runtime_checkable
class WakeWord(Model, Protocol):
    @property
    def sure(self) -> bool:
        """Whether the phrase given last was clear; one that was not may have been something alike."""
        ...

    def feed(self, pcm: NDArray[np.int16]) -> str | None:
        """Take the next samples of a stream, any number; give the phrase that was just completed, once."""
        ...

    def reset(self) -> None: ...


@runtime_checkable
class SpeakerEmbedding(Model, Protocol):
    @property
    def dim(self) -> int: ...

    def embed_voice(self, pcm: NDArray[np.float32]) -> Vector:
        """Voice of one utterance, shape (dim,): compare by dot product. Zero when the sound is too short to tell."""
        ...


# --- speaking ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AudioChunk:
    """Mono int16 samples, shape (n,), and their rate in Hz."""

    pcm: NDArray[np.int16]
    rate: int


@runtime_checkable
class TTS(Model, Protocol):
    @property
    def name(self) -> str:
        """The voice as the user knows it."""
        ...

    def synthesize(self, text: str) -> Iterator[AudioChunk]:
        """Sound by sentence, so that the first can play while the next is made; stop iterating to fall silent."""
        ...


# --- meaning ----------------------------------------------------------------------------------------------------------


@runtime_checkable
class TextEmbedding(Model, Protocol):
    """`id` goes into the database beside the vectors: two models with one id must give the same vectors."""

    @property
    def dim(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Vector:
        """Shape (n, dim). Empty text, or text of which nothing is known, gives a zero row, never NaN."""
        ...


# --- language ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation with a language model."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What one call cost: tokens read and written, images sent, wall seconds, bytes that left the device."""

    prompt_tokens: int
    completion_tokens: int
    images: int
    seconds: float
    bytes_sent: int = 0


@dataclass(frozen=True, slots=True)
class CallOptions:
    """How to make one call. `cancelled` is polled while the model works; `meter` gets the cost, also of a failure."""

    max_tokens: int = 512
    temperature: float = 0.0
    seed: int = 0
    timeout_s: float = 60.0  # for the whole call, queueing included
    cancelled: Callable[[], bool] | None = None
    meter: Callable[[Usage], None] | None = None


DEFAULT_CALL = CallOptions()


@runtime_checkable
class Language(Model, Protocol):
    """May be called from several threads; calls then queue."""

    def complete(
        self, messages: Sequence[Message], schema: JsonSchema | None = None, options: CallOptions = DEFAULT_CALL
    ) -> dict[str, Any] | str:
        """Give an object valid under `schema`, or plain text when there is none.

        Raises ModelTimeoutError, ModelCancelledError, ModelDownError, OutputError; never returns a half-valid object.
        """
        ...

    def stream(self, messages: Sequence[Message], options: CallOptions = DEFAULT_CALL) -> Iterator[str]:
        """Plain text in pieces as it is written. Same errors, possibly after some pieces."""
        ...


@runtime_checkable
class VisionLanguage(Model, Protocol):
    """May be called from several threads; calls then queue."""

    def describe(
        self, frames: Sequence[bytes | Frame], prompt: str, schema: JsonSchema, options: CallOptions = DEFAULT_CALL
    ) -> dict[str, Any]:
        """Look at frames (JPEG bytes or BGR arrays, in order of time) and give an object valid under `schema`."""
        ...
