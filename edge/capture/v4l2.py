"""Video4Linux cameras (/dev/videoN) through OpenCV."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from edge.capture.base import fit
from edge.clock import US, Clock
from edge.errors import CameraError
from edge.messages import Image

DEVICES = Path("/dev")


class V4l2Driver:
    """One opening of a device node.  `capture` makes the OpenCV object, for tests without a camera."""

    def __init__(
        self,
        path: Path,
        clock: Clock,
        *,
        limit: tuple[int, int],
        every_s: float,
        capture: Callable[[str], Any] | None = None,
    ) -> None:
        self._path, self._clock, self._limit = path, clock, limit
        self._every_us = round(every_s * US)
        self._make = capture or _capture
        self._capture: Any = None
        self._due = 0

    def describe(self) -> str:
        return f"camera {self._path}"

    def open(self, closed: threading.Event) -> None:
        del closed
        check_device(self._path)
        self._capture = self._make(str(self._path))
        if not self._capture.isOpened():
            raise CameraError(f"{self._path} gives no pictures: it is used by another program, or is no camera.")
        # Motion JPEG: over USB, raw pictures of this size come only a few times a second.
        self._capture.set(cv2.CAP_PROP_FOURCC, cv2.VideoWriter.fourcc(*"MJPG"))
        self._capture.set(cv2.CAP_PROP_FRAME_WIDTH, self._limit[0])
        self._capture.set(cv2.CAP_PROP_FRAME_HEIGHT, self._limit[1])
        self._capture.set(cv2.CAP_PROP_BUFFERSIZE, 1)

    def take(self, closed: threading.Event) -> Image | None:
        del closed
        if not self._capture.grab():
            raise CameraError(f"{self._path} stopped giving pictures: plug the camera in again.")
        now = self._clock.mono()
        if now < self._due:
            return None  # grabbing empties the driver's queue; unpacking the picture is what costs
        good, image = self._capture.retrieve()
        if not good or image is None:
            return None
        self._due = max(self._due, now - self._every_us) + self._every_us
        return fit(np.asarray(image, dtype=np.uint8), self._limit)

    def release(self) -> None:
        if self._capture is not None:
            self._capture.release()


def check_device(path: Path) -> None:
    """Raises CameraError with one sentence when a node is missing, forbidden or no camera."""
    try:
        node = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    except OSError as error:
        raise CameraError(_sentence(path, error)) from error
    try:
        if not stat.S_ISCHR(os.fstat(node).st_mode):
            raise CameraError(f"{path} is not a camera: give a device such as /dev/video0.")
    finally:
        os.close(node)


def devices(folder: Path = DEVICES) -> list[Path]:
    """The video nodes there are, in the order of their numbers."""
    return sorted((p for p in folder.glob("video*") if p.name[5:].isdigit()), key=lambda p: int(p.name[5:]))


def _sentence(path: Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"There is no camera at {path}: plug it in."
    if isinstance(error, PermissionError):
        return f"No permission to use {path}: run sudo usermod -aG video $USER and log in again."
    if error.errno in {errno.ENODEV, errno.ENXIO}:
        return f"The camera at {path} is gone: plug it in again."
    if error.errno == errno.EBUSY:
        return f"{path} is used by another program: close that one."
    if isinstance(error, IsADirectoryError):
        return f"{path} is not a camera: give a device such as /dev/video0."
    return f"{path} cannot be opened ({error.strerror}): check the camera."


def _capture(path: str) -> Any:
    return cv2.VideoCapture(path, cv2.CAP_V4L2)
