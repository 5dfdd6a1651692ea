"""The gate before anything costly: which frames are looked at anew, and which are worth keeping.

VAM (arXiv 2605.16481, sections 3.2.1 and 3.2.3, appendix B): a frame is dropped when it is blurred or repeats the last
kept one, and what is left is compared in the space of scene vectors with a threshold that adapts to recent history.
Two things differ, for a reason.  VAM averages the gray difference over the whole picture, so that a cup put on a table
is lost; here a frame repeats another only when every block of it does, with the same constants.  And the first sharp
frame of a window is always taken, so that a still scene is still seen and every window has evidence to re-open.

Everything is a function of the frames of one window in their order and of the keyframes before it; nothing looks ahead
but one rule: when a window holds no sharp frame, its sharpest is taken.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from edge.messages import Image
from edge.perception.pixels import Gray, fitted, gray_of

Vector = npt.NDArray[np.float32]

THUMB_PX = 160  # longer side of the thumbnails that are compared
SHARP_PX = 640  # longer side at which sharpness is measured, so that it does not depend on the camera
BLOCKS = 16  # along the longer side: a block is about as wide as a cup across the table

DEDUP_DISTANCE = 1 - 0.88  # VAM's fallback similarity: nearer to the last keyframe is a repeat
EVENT_DISTANCE = 1 - 0.80  # VAM's fallback event similarity: farther is always new
HISTORY = 12  # keyframes whose mutual distances set the threshold
ENOUGH = 6  # keyframes from which on they do


@dataclass(frozen=True, slots=True)
class Measure:
    """One frame against the last perceived one: variance of the Laplacian; the gray difference (0-255) and SSIM (-1..1)
    of the block that changed most, and the same two over the whole picture.
    """

    sharpness: float
    block_change: float
    block_likeness: float
    change: float
    likeness: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be done with one frame.  `source` is the index of the frame whose observation holds for it.

    `source` equals its own index when it is perceived anew, and is None when it is too blurred to say anything of.
    """

    source: int | None
    sharpness: float


class FrameGate:
    """Blur and change over the frames of one window."""

    def __init__(self, blur_min: float, change_min: float, ssim_max: float) -> None:
        self._blur_min, self._change_min, self._ssim_max = blur_min, change_min, ssim_max

    def judge(self, frames: Sequence[Image]) -> list[Verdict]:
        """One verdict a frame, in order; at least one of any frames is perceived."""
        verdicts: list[Verdict] = []
        last: tuple[int, Gray] | None = None
        for i, frame in enumerate(frames):
            sharp = sharpness(frame)
            if sharp < self._blur_min:
                verdicts.append(Verdict(None, sharp))
                continue
            thumb = thumbnail(frame)
            if last is None or self._changed(thumb, last[1]):
                last = (i, thumb)
            verdicts.append(Verdict(last[0], sharp))
        if frames and last is None:
            best = max(range(len(frames)), key=lambda i: (verdicts[i].sharpness, -i))
            verdicts[best] = Verdict(best, verdicts[best].sharpness)
        return verdicts

    def _changed(self, thumb: Gray, last: Gray) -> bool:
        if thumb.shape != last.shape:
            return True
        m = compare(thumb, last)
        return m.block_change >= self._change_min and m.block_likeness < self._ssim_max


def thumbnail(frame: Image) -> Gray:
    """Gray, THUMB_PX along the longer side."""
    return fitted(gray_of(frame), THUMB_PX)


def sharpness(frame: Image) -> float:
    """Variance of the Laplacian of the gray picture at no more than SHARP_PX."""
    return float(cv2.Laplacian(fitted(gray_of(frame), SHARP_PX), cv2.CV_64F).var())


def compare(thumb: Gray, last: Gray, sharp: float = 0.0) -> Measure:
    """Measure two thumbnails of one shape against each other."""
    difference = cv2.absdiff(thumb, last)
    alike = ssim_map(thumb, last)
    rows, columns = _grid(thumb.shape[0], thumb.shape[1])
    block_change = cv2.resize(difference.astype(np.float32), (columns, rows), interpolation=cv2.INTER_AREA)
    block_alike = cv2.resize(alike, (columns, rows), interpolation=cv2.INTER_AREA)
    most = np.unravel_index(int(block_change.argmax()), block_change.shape)
    return Measure(
        sharp, float(block_change[most]), float(block_alike[most]), float(difference.mean()), float(alike.mean())
    )


def ssim_map(a: Gray, b: Gray) -> Vector:
    """Structural similarity of every pixel's surroundings (Wang et al. 2004: Gaussian of 1.5, 11 x 11)."""
    x, y = a.astype(np.float32), b.astype(np.float32)
    mx, my = _smooth(x), _smooth(y)
    vx, vy, vxy = _smooth(x * x) - mx * mx, _smooth(y * y) - my * my, _smooth(x * y) - mx * my
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    found: Vector = ((2 * mx * my + c1) * (2 * vxy + c2) / ((mx * mx + my * my + c1) * (vx + vy + c2))).astype(
        np.float32
    )
    return found


class KeyframeGate:
    """Scene vectors of the newest keyframes; says whether another view is new enough to be stored.

    The threshold is Otsu's split of the mutual distances of those keyframes (views of one place against views of
    different places), kept between VAM's two fallback distances, and the first of them while there are too few.
    """

    def __init__(self) -> None:
        self._vectors: deque[Vector] = deque(maxlen=HISTORY)

    def add(self, vector: Vector) -> None:
        """A keyframe was stored; `vector` is of what was stored, so that a restart finds the same."""
        self._vectors.append(vector)

    def reset(self, vectors: Iterable[Vector]) -> None:
        """Begin with these keyframes, oldest first."""
        self._vectors.clear()
        self._vectors.extend(vectors)

    def is_new(self, vector: Vector) -> bool:
        """Farther from the newest keyframe than the threshold."""
        return not self._vectors or distance(vector, self._vectors[-1]) >= self.threshold()

    def threshold(self) -> float:
        """The distance in force."""
        n = len(self._vectors)
        if n < ENOUGH:
            return DEDUP_DISTANCE
        all_pairs = [distance(self._vectors[i], self._vectors[j]) for i in range(n) for j in range(i)]
        return min(EVENT_DISTANCE, max(DEDUP_DISTANCE, otsu(all_pairs)))


def distance(a: Vector, b: Vector) -> float:
    """1 - cosine; 1 when either says nothing."""
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    return 1.0 if norm == 0 else 1.0 - float(a @ b) / norm


def otsu(values: Sequence[float]) -> float:
    """The split that leaves most of the variance between its sides (Otsu 1979), halfway between two neighbours."""
    ordered = np.sort(np.asarray(values, np.float64))
    n = len(ordered)
    if n < 2:
        return float(ordered[0]) if n else 0.0
    left = np.cumsum(ordered)[:-1]
    size = np.arange(1, n)
    between = size * (n - size) * (left / size - (ordered.sum() - left) / (n - size)) ** 2
    k = int(between.argmax())
    return float((ordered[k] + ordered[k + 1]) / 2)


def _grid(height: int, width: int) -> tuple[int, int]:
    block = max(height, width) / BLOCKS
    return max(1, round(height / block)), max(1, round(width / block))


def _smooth(x: Vector) -> Vector:
    return np.asarray(cv2.GaussianBlur(x, (11, 11), 1.5), np.float32)
