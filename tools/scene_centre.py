"""Write models/weights/scene_centre.json: the mean scene feature of ordinary photographs, which the converter subtracts.

    python tools/scene_centre.py --model UNCENTRED.onnx

Raw pooled features of any two photographs point much the same way (cosine 0.5-0.8), which leaves a gate little room;
around their common centre, frames of one place stay close and frames of different places part. The photographs are the
public-domain and CC0 ones of scikit-image, in random crops and brightness (fixed seed). Needs scikit-image and OpenCV.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import cv2
import numpy as np
import skimage.data

from models.backends.nanodet import NanoDet

PHOTOGRAPHS = ("astronaut", "coffee", "chelsea", "rocket", "camera", "coins", "clock_motion", "page", "motorcycle_left")
CROPS = 12
OUTPUT = Path(__file__).resolve().parent.parent / "models" / "weights" / "scene_centre.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("--model", type=Path, required=True, help="detector written by convert_detector.py --raw-scene")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    args = parser.parse_args()
    detector = NanoDet(args.model)
    rng = np.random.default_rng(0)
    folder = Path(skimage.data.__file__).parent
    features = []
    for name in PHOTOGRAPHS:
        photo = cv2.imread(str(next(folder.glob(f"{name}.*"))))
        if photo is None:
            raise SystemExit(f"scikit-image has no readable {name}")
        height, width = photo.shape[:2]
        for _ in range(CROPS):
            h = int(height * rng.uniform(0.4, 1))
            w = min(width, int(h * rng.uniform(1, 1.8)))
            y, x = rng.integers(0, height - h + 1), rng.integers(0, width - w + 1)
            crop = np.clip(photo[y : y + h, x : x + w] * rng.uniform(0.5, 1.2), 0, 255).astype(np.uint8)
            features.append(detector.scene_features(crop))
    centre = np.mean(features, axis=0)
    args.output.write_text(json.dumps([round(float(v), 4) for v in centre]) + "\n")
    print(json.dumps({"output": str(args.output), "photographs": len(PHOTOGRAPHS), "crops": len(features)}))


if __name__ == "__main__":
    main()
