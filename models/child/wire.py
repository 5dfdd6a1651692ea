"""The frames between the runtime and a child process: one JSON header and any number of blobs, with their lengths first.

    "GEf1"  u32 header bytes  u16 blobs  u32 bytes of each blob ...  header (UTF-8 JSON object)  blobs

Big-endian.  Pictures travel as they are, not as base64.  A frame beyond the limits or with another beginning is a
ProtocolError: the stream has lost its place and the child must go.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from models.errors import ModelDownError

MAGIC = b"GEf1"
HEADER_MAX = 8 << 20  # bytes
BLOBS_MAX = 64
FRAME_MAX = 64 << 20  # bytes of all blobs together
_FIXED = struct.Struct(">4sIH")


class ProtocolError(ModelDownError):
    code = "model.protocol"


@dataclass(frozen=True, slots=True)
class Packet:
    """One message: `header` holds "op" and what belongs to it."""

    header: dict[str, Any]
    blobs: tuple[bytes, ...] = ()

    @property
    def op(self) -> str:
        """What it is about; "" when it does not say."""
        return str(self.header.get("op", ""))


def pack(header: dict[str, Any], blobs: Sequence[bytes] = ()) -> bytes:
    """The bytes of a frame.  Raises ProtocolError when it is too large to send."""
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    if len(text) > HEADER_MAX or len(blobs) > BLOBS_MAX or sum(map(len, blobs)) > FRAME_MAX:
        raise ProtocolError("The request is too large for the model's process; send fewer or smaller frames.")
    sizes = struct.pack(f">{len(blobs)}I", *map(len, blobs))
    return b"".join((_FIXED.pack(MAGIC, len(text), len(blobs)), sizes, text, *blobs))


class Decoder:
    """Bytes as they come, frames as they are complete."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Packet]:
        """Take the next bytes.  Raises ProtocolError."""
        self._buffer += data
        while (found := self._next()) is not None:
            yield found

    def _next(self) -> Packet | None:
        buffer = self._buffer
        if len(buffer) < _FIXED.size:
            return None
        magic, length, count = _FIXED.unpack_from(buffer)
        if magic != MAGIC or length > HEADER_MAX or count > BLOBS_MAX:
            raise ProtocolError("The model's process sent something that is no frame.")
        start = _FIXED.size + 4 * count
        if len(buffer) < start:
            return None
        sizes = struct.unpack_from(f">{count}I", buffer, _FIXED.size)
        if sum(sizes) > FRAME_MAX:
            raise ProtocolError("The model's process announced a frame beyond all limits.")
        end = start + length + sum(sizes)
        if len(buffer) < end:
            return None
        try:
            header = json.loads(bytes(buffer[start : start + length]))
        except ValueError as error:
            raise ProtocolError("The model's process sent a frame without a readable header.") from error
        if not isinstance(header, dict):
            raise ProtocolError("The model's process sent a frame whose header is no object.")
        blobs, at = [], start + length
        for size in sizes:
            blobs.append(bytes(buffer[at : at + size]))
            at += size
        del buffer[:end]
        return Packet(header, tuple(blobs))
