"""Compare two detectors box by box over a folder of pictures and films; print JSON, exit 1 below --required.

    python tools/check_detector.py --reference FP32.onnx --media FOLDER [--model FILE] [--every 15]

A box of the reference with score >= --score counts as matched when the other detector has, in the same frame, an unused
box of the same class with IoU >= 0.5 (of any score down to 0.05 below: a box at the threshold may fall on either side).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np

from models.backends.nanodet import NanoDet
from models.roles import Box, Detection, Frame

PICTURES = {".jpg", ".jpeg", ".png"}
FILMS = {".mp4", ".mkv", ".avi", ".mov"}
DEFAULT_MODEL = Path(__file__).resolve().parent.parent / "models" / "weights" / "nanodet_g_416.onnx"


def frames(folder: Path, every: int) -> Iterator[Frame]:
    """Each picture, and one frame in `every` of each film."""
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() in PICTURES:
            picture = cv2.imread(str(path))
            if picture is not None:
                yield picture.astype(np.uint8)
        elif path.suffix.lower() in FILMS:
            film = cv2.VideoCapture(str(path))
            number, (ok, frame) = 0, film.read()
            while ok:
                if number % every == 0:
                    yield frame.astype(np.uint8)
                number, (ok, frame) = number + 1, film.read()
            film.release()


def iou(a: Box, b: Box) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    shared = max(0.0, width) * max(0.0, height)
    both = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared
    return shared / both if both > 0 else 0.0


def matched(wanted: tuple[Detection, ...], given: tuple[Detection, ...]) -> int:
    left = list(given)
    count = 0
    for box in wanted:
        best = max((d for d in left if d.label == box.label), key=lambda d: iou(d.box, box.box), default=None)
        if best is not None and iou(best.box, box.box) >= 0.5:
            left.remove(best)
            count += 1
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("--reference", type=Path, required=True, help="the 32-bit model")
    parser.add_argument("--media", type=Path, required=True, help="folder of pictures and films")
    parser.add_argument("--model", type=Path, default=DEFAULT_MODEL)
    parser.add_argument("--every", type=int, default=15, help="take one film frame in this many")
    parser.add_argument("--score", type=float, default=0.4)
    parser.add_argument("--required", type=float, default=0.95)
    args = parser.parse_args()
    reference = NanoDet(args.reference, min_score=args.score)
    model = NanoDet(args.model, min_score=args.score - 0.05)
    seen = boxes = hits = 0
    for frame in frames(args.media, args.every):
        wanted = reference.find(frame)
        seen, boxes, hits = seen + 1, boxes + len(wanted), hits + matched(wanted, model.find(frame))
    share = hits / boxes if boxes else 0.0
    result = {"frames": seen, "boxes": boxes, "matched": hits, "share": round(share, 4), "required": args.required}
    print(json.dumps({**result, "bytes": args.model.stat().st_size}))
    return 0 if share >= args.required else 1


if __name__ == "__main__":
    sys.exit(main())
