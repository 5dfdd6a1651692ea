"""Raspberry Pi cameras through picamera2 (the `pi` extra).

The library needs the Pi's libcamera and so cannot be imported elsewhere: it comes in through the constructor, and the
tests hold this file to the part of its interface that is used here.
"""

from __future__ import annotations

import importlib
import threading
from concurrent.futures import TimeoutError as FutureTimeout  # not the built-in one before Python 3.11
from typing import Any

import numpy as np

from edge.clock import US, Clock
from edge.errors import CameraError
from edge.messages import Image

TAKE_S = 2.0  # longest wait for one picture; a healthy sensor needs a thirtieth of it


def library() -> Any | None:
    """The picamera2 module, or None where it is not installed or finds no libcamera."""
    try:
        return importlib.import_module("picamera2")
    except (ImportError, OSError):
        return None


def present(module: Any) -> bool:
    """Whether the library sees a camera."""
    return bool(module.Picamera2.global_camera_info())


class PiCameraDriver:
    """One opening of the first camera.  Pictures are taken when wanted: the sensor's own rate costs nothing here."""

    def __init__(self, module: Any, clock: Clock, *, limit: tuple[int, int], every_s: float) -> None:
        self._module, self._clock, self._limit = module, clock, limit
        self._every_us = round(every_s * US)
        self._camera: Any = None
        self._due = 0

    def describe(self) -> str:
        return "Raspberry Pi camera"

    def open(self, closed: threading.Event) -> None:
        del closed
        if not present(self._module):
            raise CameraError("The Raspberry Pi sees no camera: check its ribbon cable, then try rpicam-hello.")
        try:
            self._camera = self._module.Picamera2()
            # "RGB888" is BGR in memory, which is the order wanted here.
            config = self._camera.create_video_configuration(main={"size": self._limit, "format": "RGB888"})
            self._camera.configure(config)
            self._camera.start()
        except (RuntimeError, IndexError, OSError) as error:
            raise CameraError("The Raspberry Pi camera is used by another program: close that one.") from error

    def take(self, closed: threading.Event) -> Image | None:
        early = self._due - self._clock.mono()
        if early > 0 and self._clock.wait(closed, early / US):
            return None
        try:
            image = self._camera.capture_array("main", wait=TAKE_S)
        except (FutureTimeout, TimeoutError) as error:
            raise CameraError(
                f"The Raspberry Pi camera gave no picture for {TAKE_S:.0f} s: check its cable."
            ) from error
        self._due = self._clock.mono() + self._every_us
        return np.ascontiguousarray(image[:, :, :3], dtype=np.uint8)

    def release(self) -> None:
        if self._camera is not None:
            self._camera.stop()
            self._camera.close()
