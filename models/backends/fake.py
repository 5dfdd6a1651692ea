"""A stand-in for every role, so that the product runs without a board, weights or engines. Named fake wherever it shows.

They are honest: what they give is derived from what they are given (a hash, the loudness, the colours), is the same for
the same input on every machine, and claims nothing about the world.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.backends.frames import check_frame, check_speech
from models.backends.speech_text import sentences
from models.errors import InputError, ModelCancelledError
from models.roles import (
    DEFAULT_CALL,
    SPEECH_RATE,
    AudioChunk,
    CallOptions,
    Detection,
    DetectorResult,
    Frame,
    JsonSchema,
    Message,
    SpeechSegment,
    TextLine,
    Usage,
    Vector,
)

LOUD = 0.01  # root mean square over 32 ms that counts as speech
STEP = 512
LABELS = ("cup", "book", "chair", "bottle", "person", "laptop", "cell phone", "bowl")
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "harbor", "indigo", "juniper", "kelp", "lotus")


def digest(data: bytes | str) -> bytes:
    """32 stable bytes of anything."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).digest()


def words_of(data: bytes | str, count: int) -> str:
    """A few words that depend on the data alone."""
    return " ".join(WORDS[b % len(WORDS)] for b in digest(data)[:count])


class HashEmbedding:
    """A TextEmbedding without weights: hashed words and word halves, so texts that share words lie close."""

    id = "hash-256"
    dim = 256

    def embed(self, texts: Sequence[str]) -> Vector:
        """Shape (n, 256)."""
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                for piece, weight in ((word, 1.0), (word[:4], 0.5)):
                    value = int.from_bytes(digest(piece)[:4], "little")
                    row[value % self.dim] += weight if value & 0x8000_0000 else -weight
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: Vector = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
        return unit

    def close(self) -> None:
        """Nothing is held."""


class FakeImageEmbedding:
    """Colours of a 6x6 thumbnail: frames that look alike lie close."""

    id = "fake-thumbnail-108"
    dim = 108

    def embed_images(self, frames: Sequence[Frame]) -> Vector:
        """Shape (n, 108)."""
        return np.stack([_thumbnail(f) for f in frames]) if frames else np.zeros((0, self.dim), np.float32)

    def close(self) -> None:
        """Nothing is held."""


class FakeDetector:
    """One to three boxes whose class and place follow from a hash of the frame; the thumbnail as scene vector."""

    id = "fake-detector"
    embedding_dim = FakeImageEmbedding.dim

    def detect(self, frame: Frame) -> DetectorResult:
        """Raises InputError."""
        scene = _thumbnail(frame)
        height, width = frame.shape[:2]
        seed = digest(frame.tobytes())
        found = []
        for k in range(1 + seed[0] % 3):
            label, x, y, score = seed[1 + 4 * k : 5 + 4 * k]
            left, top = x / 512 * width, y / 512 * height
            box = (left, top, left + width / 4, top + height / 4)
            found.append(Detection(LABELS[label % len(LABELS)], 0.5 + score / 512, box))
        return DetectorResult(tuple(sorted(found, key=lambda d: -d.score)), scene)

    def close(self) -> None:
        """Nothing is held."""


class FakeOCR:
    """One line of two words that follow from a hash of the frame; none in a frame of one colour."""

    id = "fake-ocr"

    def read(self, frame: Frame) -> tuple[TextLine, ...]:
        """Raises InputError."""
        check_frame(frame)
        if int(frame.max()) == int(frame.min()):
            return ()
        height, width = frame.shape[:2]
        return (TextLine(words_of(frame.tobytes(), 2), 0.95, (0.0, 0.0, width / 2, height / 8)),)

    def close(self) -> None:
        """Nothing is held."""


class FakeVAD:
    """Speech is what is louder than a threshold."""

    id = "fake-vad"

    def probability(self, samples: NDArray[np.float32]) -> float:
        """1.0 for a loud step, else 0.0. Raises InputError."""
        check_speech(samples)
        if samples.size != STEP:
            raise InputError(f"The voice detector takes {STEP} samples at a time, not {samples.size}.")
        return 1.0 if _loudness(samples) > LOUD else 0.0

    def speech_spans(self, pcm: NDArray[np.float32]) -> tuple[tuple[float, float], ...]:
        """Runs of loud 32 ms steps, in seconds. Raises InputError."""
        check_speech(pcm)
        steps = [i for i in range(0, pcm.size, STEP) if _loudness(pcm[i : i + STEP]) > LOUD]
        spans: list[tuple[int, int]] = []
        for start in steps:
            end = min(start + STEP, pcm.size)
            if spans and spans[-1][1] == start:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
        return tuple((a / SPEECH_RATE, b / SPEECH_RATE) for a, b in spans)

    def reset(self) -> None:
        """There is no state."""

    def close(self) -> None:
        """Nothing is held."""


class FakeASR:
    """For each loud stretch, three words that follow from a hash of its samples."""

    id = "fake-asr"

    def transcribe(self, pcm: NDArray[np.float32]) -> tuple[SpeechSegment, ...]:
        """Raises InputError."""
        spans = FakeVAD().speech_spans(pcm)
        pieces = ((a, b, pcm[round(a * SPEECH_RATE) : round(b * SPEECH_RATE)]) for a, b in spans)
        return tuple(SpeechSegment(a, b, words_of(sound.tobytes(), 3), 0.5) for a, b, sound in pieces)

    def close(self) -> None:
        """Nothing is held."""


class FakeWakeWord:
    """Hears its phrase when 0.3 s of loud sound end in silence."""

    id = "fake-wake-word"
    phrase = "Hey Grove"
    sure = True

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin a new stream."""
        self._loud = 0
        self._rest = np.zeros(0, np.int16)

    def feed(self, pcm: NDArray[np.int16]) -> str | None:
        """Raises InputError."""
        if not isinstance(pcm, np.ndarray) or pcm.dtype != np.int16 or pcm.ndim != 1:
            raise InputError("The wake word takes int16 samples of shape (n,) at 16 kHz.")
        sound = np.concatenate([self._rest, pcm])
        heard = None
        while sound.size >= STEP:
            if _loudness(sound[:STEP] / np.float32(32768)) > LOUD:
                self._loud += STEP
            else:
                heard = self.phrase if self._loud >= 0.3 * SPEECH_RATE else heard
                self._loud = 0
            sound = sound[STEP:]
        self._rest = sound
        return heard

    def close(self) -> None:
        """Nothing is held."""


class FakeSpeaker:
    """Energy in 32 bands of pitch: the same voice lies close to itself."""

    id = "fake-speaker-32"
    dim = 32

    def embed_voice(self, pcm: NDArray[np.float32]) -> Vector:
        """Shape (32,). Raises InputError."""
        check_speech(pcm)
        if pcm.size < SPEECH_RATE // 2 or _loudness(pcm) < LOUD:
            return np.zeros(self.dim, np.float32)
        spectrum = np.abs(np.fft.rfft(pcm.astype(np.float64)))
        edges = np.geomspace(1, len(spectrum), self.dim + 1).astype(int)
        bands = np.array([spectrum[a : max(b, a + 1)].sum() for a, b in pairwise(edges)])
        voice: Vector = (bands / np.linalg.norm(bands)).astype(np.float32)
        return voice

    def close(self) -> None:
        """Nothing is held."""


class FakeTTS:
    """A short tone for each word, its pitch from the word."""

    id = "fake-tts"
    name = "test tones"
    rate = SPEECH_RATE

    def synthesize(self, text: str) -> Iterator[AudioChunk]:
        """0.2 s a word."""
        time = np.arange(self.rate // 5) / self.rate
        fade = np.sin(np.pi * np.arange(len(time)) / len(time))
        for sentence in sentences(text):
            tones = [np.sin(2 * np.pi * (200 + 2 * digest(w)[0]) * time) * fade for w in sentence.split()]
            yield AudioChunk(np.asarray(np.concatenate(tones) * 8000, np.int16), self.rate)

    def close(self) -> None:
        """Nothing is held."""


class FakeLanguage:
    """A Language and a VisionLanguage: fills a schema with values that follow from a hash of the request."""

    id = "fake-language"

    def complete(
        self, messages: Sequence[Message], schema: JsonSchema | None = None, options: CallOptions = DEFAULT_CALL
    ) -> dict[str, Any] | str:
        """Raises ModelCancelledError, InputError when the schema is not of an object."""
        request = json.dumps([[m.role, m.content] for m in messages])
        self._account(request, 0, options)
        return words_of(request, 6) if schema is None else fill(schema, request)

    def stream(self, messages: Sequence[Message], options: CallOptions = DEFAULT_CALL) -> Iterator[str]:
        """Words of the answer, one by one. Raises ModelCancelledError."""
        answer = self.complete(messages, None, options)
        for number, word in enumerate(str(answer).split()):
            yield word if number == 0 else f" {word}"

    def describe(
        self, frames: Sequence[bytes | Frame], prompt: str, schema: JsonSchema, options: CallOptions = DEFAULT_CALL
    ) -> dict[str, Any]:
        """Raises ModelCancelledError, InputError."""
        request = prompt + "".join(digest(bytes(f)).hex() for f in frames)
        self._account(request, len(frames), options)
        return fill(schema, request)

    def close(self) -> None:
        """Nothing is held."""

    def _account(self, request: str, images: int, options: CallOptions) -> None:
        if options.cancelled is not None and options.cancelled():
            raise ModelCancelledError("The request was taken back.")
        if options.meter is not None:
            options.meter(Usage(len(request.split()), 6, images, 0.0))


def fill(schema: JsonSchema, seed: str) -> dict[str, Any]:
    """The smallest object valid under a JSON schema (local $ref, anyOf, enum, const understood). Raises InputError."""
    value = _value(schema, seed, schema.get("$defs", {}))
    if not isinstance(value, dict):
        raise InputError("The schema must describe an object.")
    return value


def _value(schema: Mapping[str, Any], seed: str, named: Mapping[str, Any]) -> Any:
    if "$ref" in schema:
        return _value(named[str(schema["$ref"]).rsplit("/", 1)[-1]], seed, named)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][digest(seed)[0] % len(schema["enum"])]
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return _value(schema[several][0], seed, named)
    kind = schema.get("type")
    if kind == "object":
        required = schema.get("required", ())
        return {k: _value(v, f"{seed}/{k}", named) for k, v in schema.get("properties", {}).items() if k in required}
    if kind == "array":
        return [_value(schema.get("items", {}), f"{seed}/{i}", named) for i in range(schema.get("minItems", 0))]
    if kind == "string":
        text = words_of(seed, 3).ljust(schema.get("minLength", 0), ".")
        return text[: schema.get("maxLength", len(text))]
    if kind in {"integer", "number"}:
        low = schema.get("minimum", 0)
        return low + digest(seed)[0] % (int(schema.get("maximum", low + 9) - low) + 1)
    return digest(seed)[0] % 2 == 0 if kind == "boolean" else None


def _loudness(pcm: NDArray[Any]) -> float:
    return float(np.sqrt(np.mean(np.square(pcm, dtype=np.float64)))) if pcm.size else 0.0


def _thumbnail(frame: Frame) -> Vector:
    check_frame(frame)
    rows = np.linspace(0, frame.shape[0] - 1, 24).astype(int)
    columns = np.linspace(0, frame.shape[1] - 1, 24).astype(int)
    small = frame[np.ix_(rows, columns)].reshape(6, 4, 6, 4, 3).mean(axis=(1, 3), dtype=np.float64).ravel() - 127.5
    norm = float(np.linalg.norm(small))
    thumbnail: Vector = (small / norm if norm > 0 else small).astype(np.float32)
    return thumbnail
