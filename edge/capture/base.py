"""What a source of frames or sound is, and the few numbers all of them share.

Two families:
- recorded sources (a video, a folder of images, a sound file) are read in their own time, wait for their reader and
  end with EndOfStream;
- live sources (a camera, a stream, a microphone) run in a thread of their own, keep only the newest, and die with an
  error that `edge.capture.reopen` answers by opening them again.
"""

from __future__ import annotations

import threading
from typing import Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

import cv2
import numpy as np

from edge.messages import Frame, Image, Sound

Speed: TypeAlias = Literal["realtime", "max"]

RATE = 16_000  # samples a second of all sound inside the runtime
CLOSE_S = 1.0  # longest time `close` waits for a driver before it leaves its thread behind

_T_co = TypeVar("_T_co", covariant=True)


class EndOfStream(Exception):
    """A recorded source has nothing more: not an error, the end."""


class Source(Protocol[_T_co]):
    """A source of frames (or of sound): open, read until it ends or dies, close."""

    @property
    def live(self) -> bool:
        """Whether it happens now (a camera) or is read from storage (a file)."""

    def describe(self) -> str:
        """What it is, for people, without passwords."""

    def open(self, stop: threading.Event) -> None:
        """Begin.  Recorded: raises MissingFile or MediaError.  Live: returns at once; trouble comes from `read`."""

    def read(self, timeout_s: float) -> _T_co | None:
        """The next item, or None when none came within `timeout_s` seconds.

        Raises EndOfStream at the end of a recorded source, CameraError or AudioError when a live one died (close it
        then, and open it again).
        """

    def close(self) -> None:
        """Let go; returns within CLOSE_S seconds whatever the driver does, and may be called twice."""


class RecordedSource(Source[Frame], Protocol):
    """Frames from storage.  The attributes are known once it is open."""

    recording: str  # short hash of the content
    t_start: int  # microseconds UTC
    offset_s: int  # the wearer's UTC offset at t_start, seconds
    duration_s: float

    def sample_every(self, interval_s: float) -> None:
        """Give one frame each `interval_s` seconds from the start on."""

    def skip_to(self, t: int) -> None:
        """Go on with the first frame at or after t (microseconds UTC)."""

    def rebase(self, t_start: int, offset_s: int) -> None:
        """Use another start time, as of an earlier run of the same recording."""


@runtime_checkable
class RecordedSound(Protocol):
    """Sound from storage, taken by time."""

    offset_s: int  # the wearer's UTC offset that its chunks carry, seconds; whoever plays it keeps it true

    def describe(self) -> str:
        """What it is, for people."""

    @property
    def t_end(self) -> int:
        """Where the sound ends, microseconds UTC."""

    def until(self, t: int) -> list[Sound]:
        """The sound from where it was left to t, in chunks; empty once it is over."""

    def skip_to(self, t: int) -> None:
        """Leave out what lies before t."""

    def close(self) -> None:
        """Let go."""


def bound(width: int, height: int, limit: tuple[int, int]) -> tuple[int, int]:
    """The size a picture is scaled down to: aspect kept, the limit turned along with portrait pictures."""
    long, short = max(limit), min(limit)
    if height > width:
        long, short = short, long
    scale = min(1.0, long / width, short / height)
    return max(1, round(width * scale)), max(1, round(height * scale))


def fit(image: Image, limit: tuple[int, int]) -> Image:
    """A picture scaled down to `limit` (width, height in pixels) when it is larger, else itself."""
    height, width = image.shape[:2]
    size = bound(width, height, limit)
    if size == (width, height):
        return image
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
