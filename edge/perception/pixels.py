"""OpenCV's picture functions in our types: resize, gray, JPEG there and back."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from edge.errors import MediaError
from edge.messages import Image

Gray = npt.NDArray[np.uint8]  # (height, width)


def scaled(image: npt.NDArray[np.uint8], width: int, height: int) -> npt.NDArray[np.uint8]:
    """Resize to exactly that size, at least one pixel; smooth both ways."""
    shrinks = width < image.shape[1]
    method = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, (max(1, width), max(1, height)), interpolation=method), np.uint8)


def fitted(image: npt.NDArray[np.uint8], side: int) -> npt.NDArray[np.uint8]:
    """The picture with its longer side no more than `side` pixels."""
    scale = side / max(image.shape[:2])
    if scale >= 1:
        return image
    return scaled(image, round(image.shape[1] * scale), round(image.shape[0] * scale))


def gray_of(frame: Image) -> Gray:
    """Gray levels, shape (height, width)."""
    return np.asarray(cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY), np.uint8)


def encode(frame: Image, quality: int) -> bytes:
    """JPEG of a frame: equal frames give equal bytes.  Raises MediaError."""
    done, data = cv2.imencode(".jpg", frame, [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not done:
        raise MediaError(f"A frame of shape {frame.shape} cannot be stored as a JPEG.")
    return bytes(data)


def decode(jpeg: bytes) -> Image:
    """The picture in a JPEG.  Raises MediaError."""
    image = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR) if jpeg else None
    if image is None:
        raise MediaError("The bytes are no picture.")
    return np.asarray(image, np.uint8)
