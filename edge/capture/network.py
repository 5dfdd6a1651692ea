"""Streams from the network through FFmpeg: RTSP, Motion JPEG over HTTP, MPEG-TS over TCP, and what else it reads.

Every call has a time limit that FFmpeg itself watches, so that the driver's thread comes back from a dead server.
Pictures are all decoded (later ones need earlier ones) but only turned into images as often as they are wanted.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import av
import numpy as np

from edge.capture.base import bound
from edge.capture.decode import packets_of
from edge.clock import US, Clock
from edge.errors import CameraError
from edge.messages import Image

SCHEMES = ("rtsp", "rtsps", "http", "https", "tcp", "udp", "rtp", "rtmp", "srt")
_BAD_MAX = 100  # packets without one picture after which the stream counts as undecodable
_PROTOCOLS = "http,https,httpproxy,tcp,tls,udp,rtp,rtsp,rtmp,srt,crypto"  # never file: a playlist must not read ours


class StreamDriver:
    """One connection to a stream.  `limit`: largest picture in pixels; `every_s`: time between two images."""

    def __init__(self, url: str, clock: Clock, *, limit: tuple[int, int], every_s: float, timeout_s: float) -> None:
        self._url, self._clock, self._limit = url, clock, limit
        self._every_us = round(every_s * US)
        self._timeout_s = timeout_s
        self._container: Any = None
        self._frames: Iterator[Any] = iter(())
        self._due = 0

    def describe(self) -> str:
        return f"stream {without_password(self._url)}"

    def open(self, closed: threading.Event) -> None:
        del closed  # FFmpeg keeps to the time limit by itself
        options = {"analyzeduration": "1000000", "fpsprobesize": "0", "protocol_whitelist": _PROTOCOLS}
        if self._url.startswith("rtsp"):
            options["rtsp_transport"] = "tcp"
        begin = self._clock.mono()
        try:
            self._container = av.open(self._url, options=options, timeout=(self._timeout_s, self._timeout_s))
        except av.InvalidDataError as error:  # which RTSP says of silence, too
            late = self._clock.mono() - begin >= 0.9 * self._timeout_s * US
            raise CameraError(self._sentence(av.TimeoutError(0, "") if late else error)) from error
        except (av.FFmpegError, OSError, ValueError) as error:
            raise CameraError(self._sentence(error)) from error
        if not self._container.streams.video:
            raise CameraError(f"{self._sender()} sends no pictures: choose its video stream.")
        if self._container.duration and urlsplit(self._url).scheme.startswith("http"):
            raise CameraError(f"{self._sender()} sends a recording: download it and give the file as the source.")
        stream = self._container.streams.video[0]
        if stream.codec_context is None:
            raise CameraError(f"{self._sender()} {_UNDECODABLE}.")
        stream.thread_type = "SLICE"  # frame threads would add a delay of several pictures
        self._frames = self._decode(stream)

    def take(self, closed: threading.Event) -> Image | None:
        del closed
        try:
            frame = next(self._frames, None)
        except (av.FFmpegError, OSError) as error:
            raise CameraError(self._sentence(error)) from error
        if frame is None:
            raise CameraError(f"{self._sender()} ended the stream.")
        now = self._clock.mono()
        if now < self._due:
            return None
        self._due = max(self._due, now - self._every_us) + self._every_us
        width, height = bound(frame.width, frame.height, self._limit)
        image = frame.reformat(width=width, height=height, format="bgr24", interpolation="AREA").to_ndarray()
        return np.ascontiguousarray(np.rot90(image, (frame.rotation // 90) % 4), dtype=np.uint8)

    def release(self) -> None:
        if self._container is not None:
            self._container.close()

    def _decode(self, stream: Any) -> Iterator[Any]:
        bad = 0
        for packet in packets_of(self._container, stream):
            try:
                frames = packet.decode()
            except av.InvalidDataError:
                frames = []  # lost packets: the next key frame mends the picture
            bad = 0 if frames else bad + 1
            if bad > _BAD_MAX:
                raise CameraError(f"{self._sender()} {_UNDECODABLE}.")
            yield from frames

    def _sender(self) -> str:
        return f"The camera at {without_password(self._url)}"

    def _sentence(self, error: Exception) -> str:
        """What went wrong in words of ours: FFmpeg's quote the URL with its password."""
        for kinds, words in _WORDS:
            if isinstance(error, kinds):
                return f"{self._sender()} {words}."
        if getattr(error, "errno", None) == errno.EIO:
            return f"{self._sender()} {_BROKEN}."
        reason = getattr(error, "strerror", None) or type(error).__name__
        return f"{self._sender()} cannot be read ({reason}): check the address and the network."


_UNDECODABLE = "sends no picture that can be decoded: set it to H.264 or MJPEG"
_BROKEN = "broke off: check that it runs and is in reach"
_WORDS: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
    ((av.ConnectionRefusedError,), "refuses the connection: switch it on, or correct host and port"),
    ((av.ExitError, av.TimeoutError), "does not answer: check that it runs and is in reach"),
    (
        (av.HTTPUnauthorizedError, av.HTTPForbiddenError, av.PermissionError),
        "wants a user and a password: write them as scheme://user:password@host/path",
    ),
    ((av.HTTPNotFoundError, av.FileNotFoundError), "has no such stream: correct the path"),
    ((av.InvalidDataError, av.DecoderNotFoundError, av.DemuxerNotFoundError), "sends nothing that is video"),
    ((av.EOFError,), "ended the stream"),
    ((av.ConnectionResetError, av.BrokenPipeError), _BROKEN),
)


def is_url(spec: str) -> bool:
    """Whether a source is named by a URL of a kind that can be streamed."""
    return urlsplit(spec).scheme in SCHEMES and "://" in spec


def without_password(url: str) -> str:
    """A URL for people: no user, password or query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
