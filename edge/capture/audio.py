"""Sound from storage: the track of a video or a sound file, as 16 kHz mono, taken by time.

The microphone is in `edge.capture.microphone`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np

from edge.capture.base import RATE
from edge.capture.decode import has_sound, open_container, packets_of
from edge.capture.files import check_file
from edge.clock import US
from edge.errors import MediaError
from edge.messages import Pcm, Sound

CHUNK_US = US // 10  # longest chunk handed out


class FileSound:
    """The sound of a file, beginning at `t_start` (microseconds UTC)."""

    def __init__(self, path: Path, t_start: int, offset_s: int) -> None:
        """Raises MissingFile, MediaError."""
        check_file(path)
        self.path = path
        self.t_start = t_start
        self.offset_s = offset_s
        self._container = open_container(path)
        if not has_sound(self._container):
            self._container.close()
            raise MediaError(f"{path} holds no sound that can be decoded: give a sound file such as WAV, or none.")
        self._origin = self._container.start_time or 0
        self._pieces = self._decode()
        self._position = 0  # sample the buffer begins at, counted from t_start
        self._buffer: Pcm = np.zeros(0, dtype=np.float32)
        self._ended = False
        self._length = self._container.duration or 0

    def describe(self) -> str:
        return f"sound of {self.path.name}"

    @property
    def t_end(self) -> int:
        """The end of the sound: as the header says, and what was really there once it has been read."""
        if self._ended:
            return self.t_start + (self._position + len(self._buffer)) * US // RATE
        return self.t_start + self._length

    def until(self, t: int) -> list[Sound]:
        """Sound from where it was left to t, in chunks of at most 0.1 s."""
        wanted = ((t - self.t_start) * RATE + US // 2) // US
        self._fill(wanted)
        out: list[Sound] = []
        step = CHUNK_US * RATE // US
        while self._position < wanted and len(self._buffer):
            count = min(step, wanted - self._position, len(self._buffer))
            at = self.t_start + self._position * US // RATE
            out.append(Sound(at, self.offset_s, self._buffer[:count].copy()))
            self._buffer = self._buffer[count:]
            self._position += count
        return out

    def skip_to(self, t: int) -> None:
        """Leave out what lies before t; decoded and dropped, since sound is cheap and must fit to the sample."""
        wanted = ((t - self.t_start) * RATE + US // 2) // US
        while self._position < wanted and not (self._ended and not len(self._buffer)):
            self._fill(min(wanted, self._position + RATE))
            count = min(wanted - self._position, len(self._buffer))
            self._buffer = self._buffer[count:]
            self._position += count

    def close(self) -> None:
        self._pieces = iter(())
        self._container.close()

    def _fill(self, wanted: int) -> None:
        """Decode until the buffer reaches sample `wanted` or the sound ends."""
        parts = [self._buffer]
        have = self._position + len(self._buffer)
        while have < wanted and not self._ended:
            piece = next(self._pieces, None)
            if piece is None:
                self._ended = True
                break
            at, pcm = piece
            if at is not None and at > have:  # the track begins late or pauses: keep to its own times
                parts.append(np.zeros(at - have, dtype=np.float32))
                have = at
            elif at is not None and at < have:
                pcm = pcm[have - at :]
            parts.append(pcm)
            have += len(pcm)
        self._buffer = np.concatenate(parts)

    def _decode(self) -> Iterator[tuple[int | None, Pcm]]:
        """(sample it begins at, sound) piece by piece; the first of each stretch carries its place, others follow on."""
        resampler, kind = _resampler(), None
        expected: int | None = None
        stream = self._container.streams.audio[0]
        for frame in _frames(self._container, stream):
            at = None
            if frame.pts is not None and frame.time_base is not None:
                at = round((frame.pts * frame.time_base - self._origin / US) * RATE)
            frame.pts = None
            place = at if at is not None and (expected is None or abs(at - expected) > RATE // 10) else None
            length = frame.samples * RATE / frame.sample_rate
            expected = round((at if at is not None else expected or 0) + length)
            if kind not in {None, _kind(frame)}:  # the track changes its format in the middle
                yield from ((None, pcm) for pcm in _mono(resampler, None))
                resampler = _resampler()
            kind = _kind(frame)
            for pcm in _mono(resampler, frame):
                yield place, pcm
                place = None
        yield from ((None, pcm) for pcm in _mono(resampler, None))


def _resampler() -> av.AudioResampler:
    return av.AudioResampler(format="flt", rate=RATE)


def _kind(frame: Any) -> tuple[str, str, int]:
    return frame.format.name, frame.layout.name, frame.sample_rate


def _mono(resampler: av.AudioResampler, frame: Any) -> Iterator[Pcm]:
    """Resampled sound; channels are averaged, since the resampler's own mix raises equal ones by 3 dB."""
    for out in resampler.resample(frame):
        yield out.to_ndarray().reshape(out.samples, -1).mean(axis=1, dtype=np.float32)


def _frames(container: Any, stream: Any) -> Iterator[Any]:
    """Decoded sound frames; damaged packets are left out, and a file cut off ends where it was cut."""
    packets = packets_of(container, stream)
    while True:
        try:
            packet = next(packets, None)
        except av.FFmpegError:
            return
        if packet is None:
            return
        try:
            yield from packet.decode()
        except av.FFmpegError:
            continue  # its place stays silent
