"""Checks of what callers hand to the engines, which would otherwise fail deep inside native code."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.errors import InputError


def check_frame(frame: NDArray[Any]) -> None:
    """Raise InputError unless `frame` is BGR uint8 of shape (H, W, 3) with something in it."""
    shape = getattr(frame, "shape", None)
    if not isinstance(frame, np.ndarray) or frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3:
        kind = getattr(frame, "dtype", type(frame).__name__)
        raise InputError(f"A frame must be a BGR uint8 array of shape (height, width, 3), not {kind} {shape}.")
    if 0 in frame.shape:
        raise InputError(f"The frame is empty: shape {shape}.")


def check_speech(pcm: NDArray[Any]) -> None:
    """Raise InputError unless `pcm` is mono float32 of shape (n,) and finite."""
    if not isinstance(pcm, np.ndarray) or pcm.ndim != 1 or pcm.dtype != np.float32:
        kind = f"{getattr(pcm, 'dtype', type(pcm).__name__)} {getattr(pcm, 'shape', '')}"
        raise InputError(f"Speech must be a float32 array of shape (n,) at 16 kHz, not {kind}.")
    if not np.isfinite(pcm).all():
        raise InputError("The sound holds NaN or infinite samples.")
