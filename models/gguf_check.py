"""Reading the head of a GGUF file, so that a wrong or cut file is refused with the reason and not by an abort.

Format: github.com/ggml-org/ggml, docs/gguf.md.  Only what a refusal needs is read: the keys, and where the last
tensor begins.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from models.errors import LoadError, NotAModelError
from models.fetch import looks_like_a_page

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
# Of ggml.h: tensor type -> (numbers in a block, bytes of a block).  Of others only the beginning is known.
_BLOCKS = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 10: (256, 84), 11: (256, 110),
    12: (256, 144), 13: (256, 176), 14: (256, 210), 20: (32, 18), 23: (256, 136), 30: (1, 2),
}  # fmt: skip
_MOST = 1 << 20  # keys, tensors: more is no model
_LONGEST = 64 << 20  # bytes of one string
_KEPT = 64  # items of an array that are kept


@dataclass(frozen=True, slots=True)
class Head:
    """The keys of a GGUF file (long arrays cut) and how many tensors it has."""

    keys: dict[str, Any]
    tensors: int

    @property
    def architecture(self) -> str:
        """llama, qwen3vl, clip, ..."""
        return str(self.keys.get("general.architecture", ""))

    def own(self, name: str) -> Any:
        """A key of this architecture, such as embedding_length; None when the file has none."""
        return self.keys.get(f"{self.architecture}.{name}")


def read_head(path: Path) -> Head:
    """Read and check a GGUF file.  Raises NotAModelError."""
    try:
        with path.open("rb") as stream:
            return _Reader(stream, path).head()
    except OSError as error:
        raise NotAModelError(f"{path} cannot be read ({error.strerror}).") from error


def check_pair(model: Path, mmproj: Path | None) -> Head:
    """Check a model file and, with one, its vision part: whether they are what they should be and fit each other.

    Raises NotAModelError, LoadError.
    """
    text = read_head(model)
    if text.architecture == "clip":
        raise LoadError(f"{model} is the vision part of a model (mmproj), not the model; name both.")
    if not text.tensors:
        raise LoadError(f"{model} has no weights.")
    if mmproj is None:
        return text
    vision = read_head(mmproj)
    if vision.architecture != "clip":
        raise LoadError(f"{mmproj} is no vision part (mmproj) but a model of kind {vision.architecture}.")
    wide, gives = text.own("embedding_length"), vision.keys.get("clip.vision.projection_dim")
    if isinstance(wide, int) and isinstance(gives, int) and wide != gives:
        raise LoadError(
            f"{mmproj.name} belongs to another model: it gives {gives} numbers a token, {model.name} takes {wide}."
        )
    return text


class _Reader:
    def __init__(self, stream: BinaryIO, path: Path) -> None:
        self._stream, self._path = stream, path
        self._size = path.stat().st_size

    def head(self) -> Head:
        start = self._stream.read(512)
        self._stream.seek(0)
        if looks_like_a_page(start):
            raise NotAModelError(f"{self._path} is a web page or a pointer, not a model; delete it and pull again.")
        if self._take(4) != b"GGUF":
            raise NotAModelError(f"{self._path} is no GGUF file.")
        version = self._number("I")
        if version not in (2, 3):
            raise NotAModelError(f"{self._path} is of GGUF version {version}; 2 and 3 are understood.")
        tensors, count = self._number("Q"), self._number("Q")
        if tensors > _MOST or count > _MOST:
            raise NotAModelError(f"{self._path} is damaged: its head names {tensors} tensors and {count} keys.")
        keys: dict[str, Any] = {}
        for _ in range(count):
            key = self._string()
            keys[key] = self._value(self._number("I"))
        last = max((self._tensor() for _ in range(tensors)), default=0)
        alignment = keys.get("general.alignment", 32)
        begin = -(-self._stream.tell() // alignment) * alignment
        if begin + last > self._size:
            raise NotAModelError(f"{self._path} is cut short: {self._size} bytes, at least {begin + last} were due.")
        return Head(keys, tensors)

    def _tensor(self) -> int:
        """Where a tensor ends, in bytes from where the first begins."""
        self._string()
        dimensions = self._number("I")
        if dimensions > 8:
            raise NotAModelError(f"{self._path} is damaged: a tensor of {dimensions} dimensions.")
        numbers = math.prod(self._number("Q") for _ in range(dimensions))
        block, size = _BLOCKS.get(self._number("I"), (0, 1))
        return int(self._number("Q")) + (numbers // block * size if block else 1)

    def _value(self, kind: int) -> Any:
        if kind in _NUMBERS:
            return self._number(_NUMBERS[kind])
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            raise NotAModelError(f"{self._path} is damaged: a value of kind {kind}.")
        inner, count = self._number("I"), self._number("Q")
        if inner in _NUMBERS:  # skipped at once: a vocabulary has hundreds of thousands
            kept = [self._number(_NUMBERS[inner]) for _ in range(min(count, _KEPT))]
            self._skip((count - len(kept)) * struct.calcsize("<" + _NUMBERS[inner]))
            return kept
        kept = [self._value(inner) for _ in range(min(count, _KEPT))]
        for _ in range(count - len(kept)):
            if inner == _STRING:
                self._skip(self._number("Q"))
            else:
                self._value(inner)
        return kept

    def _string(self) -> str:
        length = self._number("Q")
        if length > _LONGEST:
            raise NotAModelError(f"{self._path} is damaged: a text of {length} bytes.")
        return self._take(length).decode("utf-8", "replace")

    def _number(self, code: str) -> Any:
        return struct.unpack("<" + code, self._take(struct.calcsize("<" + code)))[0]

    def _skip(self, count: int) -> None:
        if self._stream.tell() + count > self._size:
            raise NotAModelError(f"{self._path} is cut short at {self._size} bytes; delete it and pull again.")
        self._stream.seek(count, 1)

    def _take(self, count: int) -> bytes:
        data = self._stream.read(count)
        if len(data) < count:
            raise NotAModelError(f"{self._path} is cut short at {self._size} bytes; delete it and pull again.")
        return data
