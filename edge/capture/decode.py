"""Which picture a video shows at a given time, decoding as little as that needs.

Packets are read ahead without decoding them until the one on display at the wanted time is known.  Then everything
before the last key frame at or before it is thrown away, pictures no other depends on are left out by the decoder,
and the rest is decoded: the picture is exactly the one a player would show.

PyAV's logging stays off: its callback wants Python's lock in FFmpeg's threads, and closing a damaged file then waits
for ever.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from edge.capture.base import EndOfStream, bound
from edge.clock import US
from edge.errors import MediaError
from edge.messages import Image

STILL_US = 600 * US  # a picture shown for longer was not being recorded: the camera was off, or a time is damaged
_MAX_BAD = 2_000  # packets in a row without a picture before a file counts as broken
_TEXT_FORMATS = ("tty", "bin", "xbin", "adf", "idf", "txd")  # FFmpeg would paint a text file's letters


def open_container(path: Path) -> Any:
    """Open a media file.  Raises MediaError with a sentence for the user."""
    try:
        if path.stat().st_size == 0:
            raise MediaError(f"{path} is empty (0 bytes): copy or record it again.")
        container = av.open(str(path), metadata_errors="replace")
        if container.format.name in _TEXT_FORMATS:
            container.close()
            raise MediaError(f"{path} cannot be read as video or sound: it is a text file.")
        return container
    except av.FFmpegError as error:
        raise MediaError(f"{path} cannot be read as video or sound: give a media file such as MP4 or WAV.") from error
    except OSError as error:
        raise MediaError(f"{path} cannot be opened ({error.strerror}): check its permissions.") from error


class Decoder:
    """Pictures of one video file by presentation time, asked for in rising order.  Times in microseconds from 0."""

    def __init__(self, path: Path, limit: tuple[int, int]) -> None:
        self.path = path
        self._limit = limit
        self._container = open_container(path)
        self.metadata: dict[str, str] = dict(self._container.metadata)
        videos = [s for s in self._container.streams.video if not _is_cover(s)]
        if not videos:
            self._container.close()
            raise MediaError(f"{path} holds no pictures: give a video or a folder of images as the source.")
        self._stream = videos[0]
        if self._stream.codec_context is None:
            self._container.close()
            raise MediaError(f"{path} has no picture that can be decoded: it is damaged or of an unknown codec.")
        for key, value in self._stream.metadata.items():
            self.metadata.setdefault(key, value)
        self._stream.thread_type = "AUTO"
        self._origin = self._container.start_time or 0
        rate = self._stream.average_rate or self._stream.guessed_rate or Fraction(25)
        self._frame_us = max(1, round(US / rate))
        self.damaged = 0  # packets that did not decode
        self.end_us = 0  # end of the last picture read so far
        self._count = 0  # pictures decoded, for streams without times
        self._demuxed = packets_of(self._container, self._stream)
        self._packets: deque[Any] = deque()
        self._eof = False
        self._drained = False
        self._bad = 0
        self._ready: deque[tuple[int, Any]] = deque()  # decoded, not yet on display
        self._shown: tuple[int, Any] | None = None
        self._image: tuple[int, Image] | None = None

    @property
    def has_sound(self) -> bool:
        return has_sound(self._container)

    def duration_us(self) -> int:
        """Length of the recording; counted packet by packet when the container does not say."""
        if self._container.duration:
            return int(self._container.duration)
        if self._stream.duration and self._stream.time_base:
            length: int = round(self._stream.duration * self._stream.time_base * US)
            return length
        return self._count_duration()

    def at(self, t: int) -> Image | None:
        """The picture on display at t; before the first picture the first one, as players do.

        None when it has been on display for longer than STILL_US: then nothing was recorded, and `resumes` says when
        the next picture comes.  Raises EndOfStream when t is past the end of what the file really holds, MediaError
        when nothing decodes.
        """
        while not self._ready or self._ready[0][0] <= t:
            if self._ready:
                self._shown = self._ready.popleft()
            elif not self._decode(t):
                break
        if self._shown is None and self._ready:
            self._shown = self._ready.popleft()
        if self._shown is None:
            if self._count:
                raise EndOfStream
            raise MediaError(f"{self.path} has no picture that can be decoded: it is damaged or of an unknown codec.")
        late = t > self._shown[0] + STILL_US
        if not self._ready and (late or (t >= self.end_us and t > self._shown[0])):
            raise EndOfStream
        return None if late else self._picture()

    @property
    def resumes(self) -> int:
        """When the picture after the one on display comes."""
        return self._ready[0][0] if self._ready else self.end_us

    def seek(self, t: int) -> None:
        """Jump to a key frame at or before t.  Containers without an index land anywhere: then from further back."""
        for back in (0, 10 * US, t):
            try:
                self._container.seek(max(0, t - back) + self._origin, backward=True, any_frame=False)
            except (av.FFmpegError, OSError):
                return  # it cannot seek: read on from where it stands
            self._stream.codec_context.flush_buffers()
            self._demuxed = packets_of(self._container, self._stream)
            self._packets.clear()
            self._ready.clear()
            self._shown = None
            self._eof = self._drained = False
            if self._first_key() <= t:
                return

    def _first_key(self) -> int:
        """The time of the next key frame, which becomes the next packet."""
        while (packet := self._next_packet()) is not None:
            if packet.is_keyframe:
                self._packets.append(packet)
                return self._time(packet.pts) if packet.pts is not None else 0
        return self.end_us

    def close(self) -> None:
        self._container.close()

    def _picture(self) -> Image:
        assert self._shown is not None
        t, frame = self._shown
        if self._image is None or self._image[0] != t:
            width, height = bound(frame.width, frame.height, self._limit)
            small = frame.reformat(width=width, height=height, format="bgr24", interpolation="AREA")
            image = np.ascontiguousarray(np.rot90(small.to_ndarray(), (frame.rotation // 90) % 4), dtype=np.uint8)
            self._image = t, image
        return self._image[1]

    def _decode(self, t: int) -> bool:
        """Decode the next packet on the way to t; false at the end."""
        self._read_to(t)
        if not self._packets:
            return self._drain()
        packet = self._packets.popleft()
        needed = self._needed(packet, t)
        self._stream.codec_context.skip_frame = "DEFAULT" if needed else "NONREF"
        try:
            frames = packet.decode()
        except av.FFmpegError:
            frames = []  # a damaged stretch: the next key frame mends it
            self.damaged += 1
        self._bad = 0 if frames else self._bad + 1
        if self._bad > _MAX_BAD and self._shown is None:
            return False
        self._keep(frames)
        return True

    def _read_to(self, t: int) -> None:
        """Read ahead until a packet beyond t is known, and drop what a later key frame makes needless."""
        order = _order(self._packets[-1]) if self._packets else None
        while not self._eof and (order is None or self._time(order) <= t):
            packet = self._next_packet()
            if packet is None:
                break
            order = _order(packet)
            if packet.is_keyframe and packet.pts is not None and self._packets and self._time(packet.pts) <= t:
                self._packets.clear()
                self._ready.clear()
                self._stream.codec_context.flush_buffers()
            self._packets.append(packet)
            if packet.pts is None:
                break

    def _next_packet(self) -> Any | None:
        try:
            for packet in self._demuxed:
                if packet.size:
                    if packet.pts is not None:
                        length = round((packet.duration or 0) * self._stream.time_base * US) or self._frame_us
                        self.end_us = max(self.end_us, self._time(packet.pts) + length)
                    return packet
        except av.FFmpegError:
            self.damaged += 1  # a file cut off in the middle ends here: what came before counts
        self._eof = True
        return None

    def _needed(self, packet: Any, t: int) -> bool:
        """Whether this packet's picture may be the one on display at t, or comes after it."""
        if packet.pts is None:
            return True
        mine = self._time(packet.pts)
        return not any(p.pts is not None and mine < self._time(p.pts) <= t for p in self._packets)

    def _keep(self, frames: list[Any]) -> None:
        for frame in frames:
            stamp = frame.pts if frame.pts is not None else frame.dts
            time = self._time(stamp) if stamp is not None else self._count * self._frame_us
            self._count += 1
            self.end_us = max(self.end_us, time + self._frame_us)
            self._ready.append((time, frame))

    def _drain(self) -> bool:
        if self._drained:
            return False
        self._drained = True
        try:
            self._keep(self._stream.codec_context.decode(None))
        except (av.FFmpegError, EOFError):
            return False
        return bool(self._ready)

    def _time(self, stamp: int) -> int:
        return int(round(stamp * self._stream.time_base * US) - self._origin)

    def _count_duration(self) -> int:
        end = 0
        with open_container(self.path) as scan:
            stream = scan.streams[self._stream.index]
            seen = 0
            try:
                for packet in packets_of(scan, stream):
                    seen += bool(packet.size)
                    if packet.pts is not None:
                        end = max(end, self._time(packet.pts + (packet.duration or 0)))
            except av.FFmpegError:
                self.damaged += 1  # cut off: the length is what is there
        return end or int(seen * self._frame_us)


def has_sound(container: Any) -> bool:
    """Whether there is a sound track that FFmpeg has a decoder for; it must not be asked to decode another."""
    return any(stream.codec_context is not None for stream in container.streams.audio[:1])


def packets_of(container: Any, stream: Any) -> Iterator[Any]:
    """The packets of a stream.  PyAV stumbles over packets of streams that appear in the middle: those are left out."""
    while True:
        try:
            yield from container.demux(stream)
        except IndexError:
            continue
        return


def _order(packet: Any) -> int | None:
    """Decoding time: no packet after this one is shown before it."""
    value = packet.dts if packet.dts is not None else packet.pts
    return None if value is None else int(value)


def _is_cover(stream: Any) -> bool:
    return "attached_pic" in str(stream.disposition).lower()
