"""Field layouts: how one dataclass field becomes bytes.

A message is a frozen dataclass whose fields are declared with :func:`wire`; the declaration is the only source for the
Python codec, the C tables and the byte tables in ``docs/firmware.md``. All numbers are little endian. Fields of fixed
size come first, fields of variable size (``text``, ``blob``, ``samples``) last, each led by one length byte.

Reading is lenient towards newer peers: bytes after the last known field are ignored, a value that an enumeration does
not know becomes its ``UNKNOWN`` (0), text that is not UTF-8 keeps its readable part. Too few bytes are malformed.
"""

from __future__ import annotations

import dataclasses
import enum
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from firmware_bridge.errors import MessageError

MAX_PAYLOAD = 242
"""Bytes of payload in one frame: header 8 + payload + CRC 4 = 254, the most that COBS stuffs with a single extra byte."""

Sample = tuple[int, int, int, int, int, int]
"""One inertial sample: acceleration x, y, z in milli-g, then angular rate x, y, z in 0.1 degrees per second."""

SAMPLE = struct.Struct("<6h")


class Kind(NamedTuple):
    """One layout: ``struct`` code (empty for variable size), bytes, the raw value that means None, what C calls it."""

    code: str
    size: int
    none: int | None
    c_type: str


KINDS: dict[str, Kind] = {
    "u8": Kind("B", 1, None, "uint8_t"),
    "u16": Kind("H", 2, None, "uint16_t"),
    "u32": Kind("I", 4, None, "uint32_t"),
    "u64": Kind("Q", 8, None, "uint64_t"),
    "i16": Kind("h", 2, None, "int16_t"),
    "i64": Kind("q", 8, None, "int64_t"),
    "bool": Kind("B", 1, None, "uint8_t"),
    "enum": Kind("B", 1, None, "uint8_t"),
    "percent": Kind("B", 1, 0xFF, "uint8_t"),
    "u16?": Kind("H", 2, 0xFFFF, "uint16_t"),
    "i16?": Kind("h", 2, -0x8000, "int16_t"),
    "bytes32": Kind("32s", 32, None, "uint8_t"),
    "text": Kind("", 1, None, "gb_view"),
    "blob": Kind("", 1, None, "gb_view"),
    "samples": Kind("", 1, None, "gb_view"),
}
VARIABLE = ("text", "blob", "samples")


def wire(kind: str, doc: str, *, enum: type[enum.IntEnum] | None = None) -> Any:
    """Declare a message field: ``kind`` is a key of :data:`KINDS`, ``doc`` its unit and meaning for the byte tables."""
    if kind not in KINDS or (kind == "enum") != (enum is not None):
        raise MessageError(f"no such field layout: {kind}")
    return dataclasses.field(metadata={"kind": kind, "doc": doc, "enum": enum})


class Layout(NamedTuple):
    """The fields of one message in wire order, ready to pack."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    enums: tuple[type[enum.IntEnum] | None, ...]
    docs: tuple[str, ...]
    fixed: struct.Struct
    fixed_count: int

    def rows(self) -> list[tuple[str, str, str, str]]:
        """(offset, type, name, meaning) of each field; the offset after a variable field is written as ``+``."""
        rows, offset, moved = [], 0, False
        for name, kind, choices, doc in zip(self.names, self.kinds, self.enums, self.docs, strict=True):
            meaning = doc
            if choices is not None:
                meaning += ": " + ", ".join(f"{c.value} {c.name.lower()}" for c in choices)
            rows.append(("+" if moved else str(offset), kind, name, meaning))
            offset += KINDS[kind].size
            moved = moved or kind in VARIABLE
        return rows


def layout_of(message: type[Any]) -> Layout:
    """Read the declarations of a message class; raises MessageError when a fixed field follows a variable one."""
    fields = dataclasses.fields(message)
    kinds = tuple(f.metadata["kind"] for f in fields)
    fixed = [k for k in kinds if k not in VARIABLE]
    if list(kinds[: len(fixed)]) != fixed:
        raise MessageError(f"{message.__name__}: fields of fixed size come first")
    return Layout(
        names=tuple(f.name for f in fields),
        kinds=kinds,
        enums=tuple(f.metadata["enum"] for f in fields),
        docs=tuple(f.metadata["doc"] for f in fields),
        fixed=struct.Struct("<" + "".join(KINDS[k].code for k in fixed)),
        fixed_count=len(fixed),
    )


def pack_fields(layout: Layout, message: Any) -> bytes:
    """Bytes of a message's payload; raises MessageError for a value outside its field."""
    raw = []
    for i in range(layout.fixed_count):
        value, kind = getattr(message, layout.names[i]), layout.kinds[i]
        none = KINDS[kind].none
        if none is not None:
            if value == none or (kind == "percent" and value is not None and not 0 <= value <= 100):
                raise MessageError(f"{type(message).__name__}.{layout.names[i]}: {value} is out of range")
            value = none if value is None else value
        elif kind == "bytes32" and len(value) != 32:
            raise MessageError(f"{type(message).__name__}.{layout.names[i]}: needs 32 bytes, got {len(value)}")
        raw.append(value)
    try:
        parts = [layout.fixed.pack(*raw)]
    except (struct.error, TypeError) as error:
        raise MessageError(f"{type(message).__name__}: {error}") from error
    for i in range(layout.fixed_count, len(layout.names)):
        data = _VARIABLE_OUT[layout.kinds[i]](getattr(message, layout.names[i]))
        if len(data) > 255:
            raise MessageError(f"{type(message).__name__}.{layout.names[i]}: {len(data)} bytes, at most 255")
        parts += (bytes((len(data),)), data)
    payload = b"".join(parts)
    if len(payload) > MAX_PAYLOAD:
        raise MessageError(f"{type(message).__name__}: {len(payload)} bytes, a frame holds {MAX_PAYLOAD}")
    return payload


def unpack_fields(layout: Layout, payload: bytes) -> list[Any]:
    """Values of a payload in wire order; raises MessageError when it is too short for the layout."""
    if len(payload) < layout.fixed.size:
        raise MessageError(f"{len(payload)} bytes, needs at least {layout.fixed.size}")
    values: list[Any] = list(layout.fixed.unpack_from(payload))
    for i, kind in enumerate(layout.kinds[: layout.fixed_count]):
        convert = _FIXED_IN.get(kind)
        if convert is not None:
            values[i] = convert(values[i])
        else:
            choices = layout.enums[i]
            if choices is not None:
                values[i] = choices(values[i]) if values[i] in choices._value2member_map_ else choices(0)
    offset = layout.fixed.size
    for kind in layout.kinds[layout.fixed_count :]:
        if offset >= len(payload):
            raise MessageError("length byte missing")
        end = offset + 1 + payload[offset]
        if end > len(payload):
            raise MessageError(f"field ends at {end}, payload at {len(payload)}")
        values.append(_VARIABLE_IN[kind](payload[offset + 1 : end]))
        offset = end
    return values


def clip_text(text: str, limit: int) -> str:
    """The longest start of ``text`` that fits ``limit`` bytes of UTF-8, never half a character."""
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")


def _samples_out(samples: tuple[Sample, ...]) -> bytes:
    try:
        return b"".join(SAMPLE.pack(*sample) for sample in samples)
    except struct.error as error:
        raise MessageError(f"sample: {error}") from error


def _samples_in(data: bytes) -> tuple[Any, ...]:
    whole = len(data) - len(data) % SAMPLE.size
    return tuple(SAMPLE.iter_unpack(data[:whole]))


_VARIABLE_OUT: dict[str, Callable[[Any], bytes]] = {
    "text": lambda text: bytes(text.encode("utf-8", "replace")),
    "blob": bytes,
    "samples": _samples_out,
}
_VARIABLE_IN: dict[str, Callable[[bytes], Any]] = {
    "text": lambda data: data.decode("utf-8", "replace"),
    "blob": bytes,
    "samples": _samples_in,
}
_FIXED_IN: dict[str, Callable[[Any], Any]] = {
    "bool": bool,
    "percent": lambda raw: raw if raw <= 100 else None,
    "u16?": lambda raw: None if raw == 0xFFFF else raw,
    "i16?": lambda raw: None if raw == -0x8000 else raw,
}
