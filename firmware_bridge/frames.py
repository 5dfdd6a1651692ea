"""Frames: how a message looks on the wire.

    0x00 | COBS( type u8 | flags u8 | session u16 | seq u32 | payload 0..242 | crc32 u32 ) | 0x00

COBS (Cheshire and Baker, "Consistent Overhead Byte Stuffing", 1997) removes every zero byte, so a zero always ends a
frame: after any noise the next frame is found again. The leading zero closes whatever noise stood before the frame.
CRC-32 is the one of zlib and Ethernet, over header and payload. All numbers are little endian.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import NamedTuple

from cobs import cobs

from firmware_bridge.errors import ProtocolError
from firmware_bridge.fields import MAX_PAYLOAD

HEADER = struct.Struct("<BBHI")
CRC = struct.Struct("<I")
OVERHEAD = HEADER.size + CRC.size
MAX_DECODED = OVERHEAD + MAX_PAYLOAD
MAX_ENCODED = MAX_DECODED + 1

ASSURED = 0x01
"""Flag: the frame carries a sequence number of the sender's queue and wants an acknowledgement."""
RESENT = 0x02
"""Flag: the frame was sent before; for statistics only."""


class Frame(NamedTuple):
    """One frame without its checksum. ``session`` are the low 16 bits of the sender's nonce."""

    number: int
    flags: int
    session: int
    seq: int
    payload: bytes


@dataclass(slots=True)
class LineStats:
    """What the decoder met. ``corrupt`` counts bad stuffing, bad checksum, and too short or too long pieces."""

    good: int = 0
    corrupt: int = 0
    bytes_in: int = 0


def encode_frame(frame: Frame) -> bytes:
    """Bytes for the wire, zero to zero; raises ProtocolError when the payload is longer than 242 bytes."""
    if len(frame.payload) > MAX_PAYLOAD:
        raise ProtocolError(f"payload of {len(frame.payload)} bytes, a frame holds {MAX_PAYLOAD}")
    body = HEADER.pack(frame.number, frame.flags, frame.session, frame.seq) + frame.payload
    return b"\0" + bytes(cobs.encode(body + CRC.pack(zlib.crc32(body)))) + b"\0"


def decode_piece(piece: bytes) -> Frame | None:
    """The frame in the bytes between two zeros, or None when it is corrupt."""
    if not OVERHEAD < len(piece) <= MAX_ENCODED:
        return None
    try:
        body = bytes(cobs.decode(piece))
    except cobs.DecodeError:
        return None
    if len(body) < OVERHEAD or zlib.crc32(body[:-4]) != CRC.unpack_from(body, len(body) - 4)[0]:
        return None
    number, flags, session, seq = HEADER.unpack_from(body)
    return Frame(number, flags, session, seq, body[HEADER.size : -4])


class FrameDecoder:
    """Finds frames in a stream of bytes, in whatever pieces they come; holds at most one frame's bytes."""

    def __init__(self) -> None:
        self.stats = LineStats()
        self._rest = b""
        self._skipping = False

    def feed(self, data: bytes) -> list[Frame]:
        """Frames completed by ``data``; corrupt ones are counted and dropped."""
        self.stats.bytes_in += len(data)
        pieces = data.split(b"\0")
        pieces[0] = self._rest + pieces[0]
        self._rest = pieces.pop()
        frames: list[Frame] = []
        for piece in pieces:
            if self._skipping:  # the tail of a piece that was already counted as too long
                self._skipping = False
            elif piece:
                frame = decode_piece(piece)
                if frame is None:
                    self.stats.corrupt += 1
                else:
                    frames.append(frame)
        if len(self._rest) > MAX_ENCODED:
            self.stats.corrupt += not self._skipping
            self._skipping, self._rest = True, b""
        self.stats.good += len(frames)
        return frames
