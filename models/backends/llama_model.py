"""A GGUF model as Language and, with its vision part, as VisionLanguage, through llama.cpp in a supervised process."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from models.answers import checked, cut_short, spoken
from models.backends.frames import check_frame
from models.backends.llama_settings import LlamaSettings, resolved, spec_of
from models.backends.streamed import streamed
from models.child.supervisor import US, Limits, Mono, Supervised
from models.errors import InputError, OutputError
from models.gguf_check import check_pair
from models.grammar import grammar_of
from models.roles import DEFAULT_CALL, CallOptions, Frame, JsonSchema, Message, Usage

CHILD = (sys.executable, "-m", "models.backends.llama_child")
_QUALITY = 90  # of the JPEGs that are sent
_GRAMMARS_KEPT = 64


class LlamaModel:
    """One model file in one process; thread-safe.  Nothing is started before the first request (or `warm`)."""

    def __init__(
        self,
        model: Path,
        mmproj: Path | None = None,
        *,
        mono: Mono,
        settings: LlamaSettings | None = None,
        limits: Limits | None = None,
        model_id: str = "",
        command: Sequence[str] = CHILD,
    ) -> None:
        """`mono` gives monotonic microseconds.  Raises NotAModelError, LoadError for files that cannot be right."""
        check_pair(model, mmproj)
        self.id = model_id or model.stem
        self._settings = resolved(settings or LlamaSettings())
        self._mono = mono
        self._vision = mmproj is not None
        self._grammars: dict[str, str] = {}
        bounds = limits or Limits(
            memory_mb=self._settings.memory_mb, idle_s=self._settings.idle_s, load_s=self._settings.load_s
        )
        self.process = Supervised(
            self.id, command, spec_of(self._settings, model, mmproj), mono=mono, limits=bounds, env=_environment()
        )

    @property
    def watts(self) -> float:
        """The board's power while it computes, for the meter's joules."""
        return self._settings.watts

    def health(self) -> dict[str, Any]:
        """For /health."""
        return self.process.health()

    def warm(self, timeout_s: float) -> None:
        """Load now.  Raises ModelError."""
        self.process.warm(timeout_s)

    def unload(self) -> None:
        """Give the memory back; the next request loads again."""
        self.process.unload()

    def close(self) -> None:
        """End the process."""
        self.process.close()

    def complete(
        self, messages: Sequence[Message], schema: JsonSchema | None = None, options: CallOptions = DEFAULT_CALL
    ) -> dict[str, Any] | str:
        """See roles.Language."""
        request = [{"role": m.role, "content": m.content} for m in messages]
        answer = self._call(request, (), schema, options)
        text = str(answer["text"])
        return spoken(text) if schema is None else _object(text, answer, schema)

    def describe(
        self, frames: Sequence[bytes | Frame], prompt: str, schema: JsonSchema, options: CallOptions = DEFAULT_CALL
    ) -> dict[str, Any]:
        """See roles.VisionLanguage.  Each frame is announced by its number, from 1."""
        if not self._vision:
            raise InputError(f"The model {self.id} cannot look at frames: it has no mmproj file.")
        if not frames:
            raise InputError("There is no frame to look at.")
        images = [jpeg_of(f, self._settings.image_side_px) for f in frames]
        parts: list[dict[str, Any]] = []
        for i in range(len(images)):
            parts += [{"text": f"Frame {i + 1}:"}, {"frame": i}]
        request = [{"role": "user", "content": [*parts, {"text": prompt}]}]
        answer = self._call(request, images, schema, options)
        return _object(str(answer["text"]), answer, schema)

    def stream(self, messages: Sequence[Message], options: CallOptions = DEFAULT_CALL) -> Iterator[str]:
        """See roles.Language.  Dropping the iterator takes the request back."""
        request = [{"role": m.role, "content": m.content} for m in messages]

        def call(put: Callable[[str], None], cancelled: Callable[[], bool]) -> None:
            self._call(request, (), None, options, on_piece=put, cancelled=cancelled)

        yield from streamed(call, options, "model-stream")

    def _call(
        self,
        messages: Sequence[dict[str, Any]],
        images: Sequence[bytes],
        schema: JsonSchema | None,
        options: CallOptions,
        *,
        on_piece: Any = None,
        cancelled: Any = None,
    ) -> dict[str, Any]:
        header = {
            "op": "ask", "messages": list(messages), "grammar": None if schema is None else self._grammar(schema),
            "max_tokens": options.max_tokens, "temperature": options.temperature, "seed": options.seed,
            "stream": on_piece is not None,
        }  # fmt: skip
        began = self._mono()
        answer: dict[str, Any] = {}
        try:
            answer = self.process.request(
                header, images, timeout_s=options.timeout_s, cancelled=cancelled or options.cancelled, on_piece=on_piece
            )
        finally:
            if options.meter is not None:
                seconds = (self._mono() - began) / US
                options.meter(
                    Usage(answer.get("prompt_tokens", 0), answer.get("completion_tokens", 0), len(images), seconds)
                )
        return answer

    def _grammar(self, schema: JsonSchema) -> str:
        key = json.dumps(schema, sort_keys=False, default=str)
        if key not in self._grammars:
            while len(self._grammars) >= _GRAMMARS_KEPT:  # schemas with times in them are new in every window
                with contextlib.suppress(KeyError, StopIteration):
                    self._grammars.pop(next(iter(self._grammars)))
            self._grammars[key] = grammar_of(schema)
        return self._grammars[key]


def jpeg_of(frame: bytes | Frame, side: int) -> bytes:
    """A frame as a JPEG whose longer side is at most `side` pixels.  Raises InputError."""
    import cv2

    if isinstance(frame, bytes):
        image = cv2.imdecode(np.frombuffer(frame, np.uint8), cv2.IMREAD_COLOR) if frame else None
        if image is None:
            raise InputError("The bytes of a frame are no picture.")
        if max(image.shape[:2]) <= side and frame.startswith(b"\xff\xd8"):
            return frame
    else:
        check_frame(frame)
        image = frame
    scale = side / max(image.shape[:2])
    if scale < 1:
        size = (max(1, round(image.shape[1] * scale)), max(1, round(image.shape[0] * scale)))
        image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    done, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    if not done:
        raise InputError(f"A frame of shape {image.shape} cannot be sent as a JPEG.")
    return bytes(data)


def _object(text: str, answer: dict[str, Any], schema: JsonSchema) -> dict[str, Any]:
    if answer.get("finish") != "length":
        return checked(text, schema)
    try:
        return cut_short(text, schema)
    except OutputError as error:
        raise OutputError(f"The model ran out of tokens before its answer was whole ({error}).") from error


def _environment() -> dict[str, str]:
    """The child's environment: ours, with this code found wherever it was started."""
    root = str(Path(__file__).resolve().parents[2])
    inherited = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": root if not inherited else f"{root}{os.pathsep}{inherited}"}
