"""Blurring faces in frames before they are stored, with OpenCV's own detectors.

OpenCV 4 ships the Haar cascades; OpenCV 5 ships none, and its FaceDetectorYN needs the file of YuNet, which is looked
for where the settings of the models put it.  Without either the setting is refused at the start: a promise to blur that
is not kept would be worse than none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np

from edge.errors import ConfigError
from edge.messages import Image
from edge.perception.looks import Box
from edge.perception.pixels import fitted, gray_of, scaled

CASCADES = ("haarcascade_frontalface_default.xml", "haarcascade_profileface.xml")
YUNET_SCORE = 0.6
MARGIN = 0.25  # of a face's size, blurred around it
SIDE_PX = 640  # longer side at which faces are looked for
BLOCKS = 6  # a blurred face is left with so many patches a side


class FaceBlur:
    """Finds faces and makes them unrecognisable.  Raises ConfigError when this OpenCV has no way to find one."""

    def __init__(self, yunet: Path | None = None) -> None:
        self._yunet: Any = None
        self._cascades: list[Any] = []
        if yunet is not None and yunet.is_file():
            self._yunet = cv2.FaceDetectorYN.create(str(yunet), "", (SIDE_PX, SIDE_PX), YUNET_SCORE)
            return
        folder = Path(str(getattr(getattr(cv2, "data", None), "haarcascades", "")))
        for name in CASCADES:
            if hasattr(cv2, "CascadeClassifier") and (folder / name).is_file():
                self._cascades.append(cv2.CascadeClassifier(str(folder / name)))
        if not self._cascades:
            raise ConfigError(
                f"perception.blur_faces is on, but OpenCV {cv2.__version__} ships no face detector: install "
                '"opencv-python-headless<5", or set blur_faces = false.'
            )

    def blur(self, frame: Image) -> Image:
        """A copy of the frame with every face found in patches."""
        result: Image = frame.copy()
        for x0, y0, x1, y1 in self.find(frame):
            part = result[round(y0) : round(y1), round(x0) : round(x1)]
            if part.size:
                part[:] = scaled(scaled(part, BLOCKS, BLOCKS), part.shape[1], part.shape[0])
        return result

    def find(self, frame: Image) -> list[Box]:
        """Boxes of faces in pixels, grown by the margin and cut at the frame's edge."""
        height, width = frame.shape[:2]
        small = fitted(frame, SIDE_PX)
        scale = small.shape[1] / width
        found = self._by_yunet(small) if self._yunet is not None else self._by_cascade(small)
        boxes = []
        for x, y, w, h in found:
            dx, dy = w * MARGIN, h * MARGIN
            box = np.array([x - dx, y - dy, x + w + dx, y + h + dy]) / scale
            x0, y0, x1, y1 = (float(v) for v in np.clip(box, 0, [width, height, width, height]))
            boxes.append((x0, y0, x1, y1))
        return boxes

    def _by_yunet(self, frame: Image) -> list[tuple[float, float, float, float]]:
        self._yunet.setInputSize((frame.shape[1], frame.shape[0]))
        _, faces = self._yunet.detect(frame)
        return [] if faces is None else [(float(f[0]), float(f[1]), float(f[2]), float(f[3])) for f in faces]

    def _by_cascade(self, frame: Image) -> list[tuple[float, float, float, float]]:
        gray = np.asarray(cv2.equalizeHist(gray_of(frame)), np.uint8)
        looks = [(c, gray, False) for c in self._cascades]
        looks += [(c, np.ascontiguousarray(gray[:, ::-1]), True) for c in self._cascades[1:]]  # profiles face left only
        found = []
        for cascade, picture, mirrored in looks:
            for x, y, w, h in cascade.detectMultiScale(picture, scaleFactor=1.1, minNeighbors=4, minSize=(24, 24)):
                left = picture.shape[1] - x - w if mirrored else x
                found.append((float(left), float(y), float(w), float(h)))
        return found
