"""Recorded pictures as a source: a video file, or a folder of images shown one per frame interval.

A frame's time is the recording's start plus the presentation time it was asked for, so that the same file gives the
same frames whatever the machine; the picture is the one on display at that instant.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from pathlib import Path

import cv2
import numpy as np
from PIL import Image as Photo

from edge.capture.base import EndOfStream, fit
from edge.capture.decode import Decoder
from edge.capture.filetime import container_time, content_id, offset_at, start_of
from edge.clock import US
from edge.errors import MediaError, MissingFile
from edge.messages import Frame, Image

IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff")
_EXIF_IFD, _EXIF_TIME, _EXIF_OFFSET = 0x8769, 0x9003, 0x9011  # sub-directory, DateTimeOriginal, OffsetTimeOriginal


class _Recorded(ABC):
    """What video files and image folders share: the sampling grid over the recording's time."""

    live = False

    def __init__(self, path: Path, *, limit: tuple[int, int], start: tuple[int, int] | None, zone: str) -> None:
        self.path = path
        self.recording = ""
        self.t_start = 0
        self.offset_s = 0
        self.duration_s = 0.0
        self._limit = limit
        self._asked = start
        self._zone = zone
        self._interval_us = 5 * US
        self._next = 0  # number of the next sample
        self._seq = 0

    def sample_every(self, interval_s: float) -> None:
        self._interval_us = max(1, round(interval_s * US))

    def skip_to(self, t: int) -> None:
        self._next = max(0, -(-(t - self.t_start) // self._interval_us))

    def rebase(self, t_start: int, offset_s: int) -> None:
        self.t_start, self.offset_s, self._asked = t_start, offset_s, (t_start, offset_s)

    def read(self, timeout_s: float) -> Frame:
        """The next sample; storage answers at once, so `timeout_s` is not needed."""
        del timeout_s
        image: Image | None = None
        while image is None:
            at = self._next * self._interval_us
            if at >= round(self.duration_s * US):
                raise EndOfStream
            image = self._image(at)
            self._next += 1
        self._seq += 1
        t = self.t_start + at
        offset = self.offset_s if self._asked is not None else offset_at(t, self._zone)
        return Frame(t, offset, image, self._seq)

    @abstractmethod
    def _image(self, at: int) -> Image | None:
        """The picture at a time from the start; None when just this one cannot be had."""


class VideoFile(_Recorded):
    """Frames of a video file, sampled at the frame interval."""

    def __init__(
        self, path: Path, *, limit: tuple[int, int], start: tuple[int, int] | None = None, zone: str = ""
    ) -> None:
        super().__init__(path, limit=limit, start=start, zone=zone)
        self.has_sound = False
        self._decoder: Decoder | None = None

    def describe(self) -> str:
        return f"video {self.path.name}"

    def open(self, stop: threading.Event) -> None:
        """Read the header, the first picture and the content's hash.  Raises MissingFile, MediaError."""
        check_file(self.path)
        self.close()
        self._decoder = decoder = Decoder(self.path, self._limit)
        try:
            decoder.at(0)  # a file without a picture is refused here, not in the middle of a run
        except EndOfStream as error:
            self.close()
            raise MediaError(f"{self.path} holds no picture within its length: it is damaged.") from error
        except MediaError:
            self.close()
            raise
        self.has_sound = decoder.has_sound
        self.duration_s = decoder.duration_us() / US
        created = container_time(decoder.metadata)
        self.t_start, self.offset_s = start_of(self._asked, created, self.path.stat().st_mtime, self._zone)
        self.recording = content_id([self.path], stop)

    def skip_to(self, t: int) -> None:
        super().skip_to(t)
        if self._decoder is not None and self._next > 0:
            self._decoder.seek(self._next * self._interval_us)

    def close(self) -> None:
        if self._decoder is not None:
            self._decoder.close()
            self._decoder = None

    def _image(self, at: int) -> Image | None:
        if self._decoder is None:
            raise EndOfStream
        try:
            image = self._decoder.at(at)
            if image is None:  # pass over the pause at once, however long a damaged time says it is
                self._next = max(self._next, -(-self._decoder.resumes // self._interval_us) - 1)
            return image
        except EndOfStream:
            self.duration_s = min(self.duration_s, self._decoder.end_us / US)  # shorter than its header says
            raise


class ImageFolder(_Recorded):
    """The images of a folder in the order of their names (or a single image), one per frame interval."""

    has_sound = False

    def __init__(
        self, path: Path, *, limit: tuple[int, int], start: tuple[int, int] | None = None, zone: str = ""
    ) -> None:
        super().__init__(path, limit=limit, start=start, zone=zone)
        self._paths: list[Path] = []
        self.unreadable: list[str] = []  # names of files met that could not be decoded

    def describe(self) -> str:
        return f"images of {self.path.name}"

    def open(self, stop: threading.Event) -> None:
        """Find the images and make sure that one can be decoded.  Raises MissingFile, MediaError."""
        if not self.path.exists():
            raise MissingFile(f"There is no folder {self.path}: check the path.")
        try:
            found = [self.path] if self.path.is_file() else sorted(p for p in self.path.iterdir() if is_image(p))
        except OSError as error:
            raise MediaError(f"{self.path} cannot be read ({error.strerror}): check its permissions.") from error
        if not found:
            raise MediaError(f"{self.path} holds no images: put JPEG or PNG files into it.")
        first = next((p for p in found if _load(p) is not None), None)
        if first is None:
            raise MediaError(f"{self.path} holds no image that can be decoded: its files are damaged.")
        self._paths = found
        self.t_start, self.offset_s = start_of(
            self._asked, _exif_time(first, self._zone), first.stat().st_mtime, self._zone
        )
        self.recording = content_id(self._paths, stop)
        self.duration_s = len(self._paths) * self._interval_us / US

    def sample_every(self, interval_s: float) -> None:
        super().sample_every(interval_s)
        self.duration_s = len(self._paths) * self._interval_us / US

    def close(self) -> None:
        """Nothing is held open."""

    def _image(self, at: int) -> Image | None:
        path = self._paths[at // self._interval_us]
        image = _load(path)
        if image is None:
            self.unreadable.append(path.name)
            return None
        return fit(image, self._limit)


def check_file(path: Path) -> None:
    """Raises MissingFile or MediaError unless the path is a file."""
    if not path.exists():
        raise MissingFile(f"There is no file {path}: check the path.")
    if not path.is_file():
        raise MediaError(f"{path} is not a file: give a video, a folder of images or a URL.")


def is_image(path: Path) -> bool:
    """Whether a file's name says that it is a picture."""
    return path.suffix.lower() in IMAGE_SUFFIXES and path.is_file()


def _load(path: Path) -> Image | None:
    """A picture upright in BGR, or None when it cannot be decoded."""
    try:
        data = np.fromfile(path, dtype=np.uint8)
    except OSError:
        return None
    image = cv2.imdecode(data, cv2.IMREAD_COLOR) if len(data) else None
    return None if image is None else np.asarray(image, dtype=np.uint8)


def _exif_time(path: Path, zone: str) -> tuple[int, int | None] | None:
    """When a photograph was taken, as `container_time` says it; cameras write local time, newer ones their offset."""
    try:
        with Photo.open(path) as photo:
            tags = photo.getexif().get_ifd(_EXIF_IFD)
    except (OSError, ValueError, SyntaxError):
        return None  # no EXIF, or a damaged one: the file's mtime will do
    text, offset = str(tags.get(_EXIF_TIME, "")), str(tags.get(_EXIF_OFFSET, ""))
    iso = text[:10].replace(":", "-") + "T" + text[11:19]
    if offset:
        return container_time({"date": iso + offset})
    as_utc = container_time({"date": iso + "Z"})
    if as_utc is None:
        return None
    guess = as_utc[0] - offset_at(as_utc[0], zone) * US
    shift = offset_at(guess, zone)
    return as_utc[0] - shift * US, shift
