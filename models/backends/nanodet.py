"""COCO-80 objects and a scene vector from one pass of NanoDet-g 416 (github.com/RangiLyu/nanodet, Apache-2.0).

The graph gives, for strides 8, 16 and 32, a probability per class for every cell and, for each side of the box, a
distribution over 0-10 strides whose mean is the distance from the cell's centre (generalised focal loss,
arXiv 2006.04388). The scene vector is the deepest feature map, centred on the typical photograph by the graph itself,
averaged over the part the frame covers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.backends.frames import check_frame
from models.backends.onnx_session import Session
from models.errors import EngineMissingError
from models.roles import Detection, DetectorResult, Frame, Vector

SIZE = 416
DIM = 128  # of the scene vector
STRIDES = (8, 16, 32)
OBJECT_OUTPUTS = tuple(f"{kind}_{stride}" for stride in STRIDES for kind in ("cls", "reg"))
BINS = np.arange(11, dtype=np.float32)
MEAN = np.array([103.53, 116.28, 123.675], np.float32)  # BGR, of ImageNet
STD = np.array([57.375, 57.12, 58.395], np.float32)
OVERLAP = 0.6  # two boxes of one class that overlap more are one object

COCO = (
    "person", "bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat", "traffic light",
    "fire hydrant", "stop sign", "parking meter", "bench", "bird", "cat", "dog", "horse", "sheep", "cow",
    "elephant", "bear", "zebra", "giraffe", "backpack", "umbrella", "handbag", "tie", "suitcase", "frisbee",
    "skis", "snowboard", "sports ball", "kite", "baseball bat", "baseball glove", "skateboard", "surfboard",
    "tennis racket", "bottle", "wine glass", "cup", "fork", "knife", "spoon", "bowl", "banana", "apple",
    "sandwich", "orange", "broccoli", "carrot", "hot dog", "pizza", "donut", "cake", "chair", "couch",
    "potted plant", "bed", "dining table", "toilet", "tv", "laptop", "mouse", "remote", "keyboard", "cell phone",
    "microwave", "oven", "toaster", "sink", "refrigerator", "book", "clock", "vase", "scissors", "teddy bear",
    "hair drier", "toothbrush",
)  # fmt: skip


class NanoDet:
    """A Detector and an ImageEmbedding over one ONNX session; may be called from several threads."""

    id = "nanodet-g-416"

    def __init__(self, path: Path, *, threads: int = 2, min_score: float = 0.4, gpu: bool = True) -> None:
        try:
            import cv2
        except ImportError as error:
            raise EngineMissingError("OpenCV is not installed; run `pip install opencv-python-headless`.") from error
        self._cv2: Any = cv2
        self._session = Session(path, threads=threads, gpu=gpu)
        self._min_score = min_score
        self._centres = {s: _cell_centres(s) for s in STRIDES}
        self.provider = self._session.provider
        self.dim = self.embedding_dim = DIM

    def detect(self, frame: Frame) -> DetectorResult:
        """Find objects of score >= min_score. Raises InputError for anything but a BGR uint8 frame."""
        outputs, view = self._run(frame)
        scene = view.pool(outputs["scene"][0])
        norm = float(np.linalg.norm(scene))
        return DetectorResult(self._decode(outputs, view), (scene / norm if norm > 0 else scene).astype(np.float32))

    def find(self, frame: Frame) -> tuple[Detection, ...]:
        """Objects alone, without the scene vector."""
        outputs, view = self._run(frame, OBJECT_OUTPUTS)
        return self._decode(outputs, view)

    def scene_features(self, frame: Frame) -> Vector:
        """Scene vector before it is scaled to length 1, shape (128,)."""
        outputs, view = self._run(frame)
        return view.pool(outputs["scene"][0])

    def embed_images(self, frames: list[Frame] | tuple[Frame, ...]) -> Vector:
        """Scene vectors, shape (n, dim)."""
        if not frames:
            return np.zeros((0, self.dim), np.float32)
        return np.stack([self.detect(f).embedding for f in frames])

    def close(self) -> None:
        self._session.close()

    def _run(self, frame: Frame, wanted: tuple[str, ...] | None = None) -> tuple[dict[str, NDArray[Any]], _View]:
        check_frame(frame)
        view = _View.of(frame.shape[1], frame.shape[0])
        method = self._cv2.INTER_AREA if view.scale < 1 else self._cv2.INTER_LINEAR
        canvas = np.zeros((SIZE, SIZE, 3), np.float32)
        inside = self._cv2.resize(frame, (view.width, view.height), interpolation=method)
        canvas[view.top : view.top + view.height, view.left : view.left + view.width] = inside
        image = np.ascontiguousarray(((canvas - MEAN) / STD).transpose(2, 0, 1)[None])
        return self._session.run({"image": image}, wanted), view

    def _decode(self, outputs: dict[str, NDArray[Any]], view: _View) -> tuple[Detection, ...]:
        boxes, scores, classes = [], [], []
        for stride in STRIDES:
            probabilities = outputs[f"cls_{stride}"][0]
            best = probabilities.max(axis=1)
            cells = np.flatnonzero(best >= self._min_score)
            if not cells.size:
                continue
            sides = outputs[f"reg_{stride}"][0][cells].reshape(-1, 4, len(BINS))
            weights = np.exp(sides - sides.max(axis=-1, keepdims=True))
            distance = (weights @ BINS) / weights.sum(axis=-1) * stride  # left, top, right, bottom
            centre = self._centres[stride][cells]
            boxes.append(np.concatenate([centre - distance[:, :2], centre + distance[:, 2:]], axis=1))
            scores.append(best[cells])
            classes.append(probabilities[cells].argmax(axis=1))
        if not boxes:
            return ()
        box, score, label = np.concatenate(boxes), np.concatenate(scores), np.concatenate(classes)
        kept = _suppress(box, score, label)
        box = view.to_frame(box)
        return tuple(
            Detection(COCO[int(label[i])], float(score[i]), tuple(float(v) for v in box[i]))  # type: ignore[arg-type]
            for i in kept
        )


@dataclass(frozen=True, slots=True)
class _View:
    """Where the frame lies in the network's square: scaled with its shape kept, black bars beside it.

    Stretched to the square instead, the network takes most hands, plates and cats for persons.
    """

    frame_width: int
    frame_height: int
    scale: float
    left: int
    top: int
    width: int
    height: int

    @classmethod
    def of(cls, width: int, height: int) -> _View:
        scale = SIZE / max(width, height)
        w, h = max(1, round(width * scale)), max(1, round(height * scale))
        return cls(width, height, scale, (SIZE - w) // 2, (SIZE - h) // 2, w, h)

    def to_frame(self, box: NDArray[np.float32]) -> NDArray[np.float32]:
        """Boxes of the square in pixels of the frame, cut at its edge."""
        moved = (box - np.array([self.left, self.top] * 2, np.float32)) / self.scale
        edge = np.array([self.frame_width, self.frame_height] * 2, np.float32)
        clipped: NDArray[np.float32] = np.minimum(np.maximum(moved, 0), edge).astype(np.float32)
        return clipped

    def pool(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Average (D, 13, 13) over the cells that lie more than half inside the frame."""
        cell = STRIDES[-1]
        rows = slice(*_cells(self.top / cell, (self.top + self.height) / cell))
        columns = slice(*_cells(self.left / cell, (self.left + self.width) / cell))
        pooled: NDArray[np.float32] = features[:, rows, columns].mean(axis=(1, 2)).astype(np.float32)
        return pooled


def _cells(start: float, end: float) -> tuple[int, int]:
    first = math.floor(start + 0.5)
    return first, max(first + 1, math.ceil(end - 0.5))


def _cell_centres(stride: int) -> NDArray[np.float32]:
    cells = SIZE // stride
    y, x = np.mgrid[:cells, :cells]
    return np.stack([x.ravel(), y.ravel()], axis=1).astype(np.float32) * stride + stride / 2


def _suppress(box: NDArray[np.float32], score: NDArray[np.float32], label: NDArray[np.int64]) -> list[int]:
    """Greedy non-maximum suppression inside each class; indices by falling score."""
    area = (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])
    order = np.argsort(-score, kind="stable")
    kept: list[int] = []
    while order.size:
        first, rest = int(order[0]), order[1:]
        kept.append(first)
        low, high = np.maximum(box[first, :2], box[rest, :2]), np.minimum(box[first, 2:], box[rest, 2:])
        shared = np.clip(high - low, 0, None).prod(axis=1)
        overlap = shared / np.maximum(area[first] + area[rest] - shared, 1e-6)
        order = rest[(label[rest] != label[first]) | (overlap <= OVERLAP)]
    return kept
