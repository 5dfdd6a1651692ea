"""Put what perception says of objects before human eyes, and count how much of it is true.

    python tools/check_objects.py sheet FOLDER --out SHEETS [--every 1] [--settings object_score=0.5]
    python tools/check_objects.py count SHEETS/claims.json "3 17 20-22"     (the numbers that are wrong)

`sheet` runs the real perception over every film and picture of a folder, numbers each claim (a name with its box, as in
a caption) and draws 12 frames a sheet.  `count` prints the precision over all claims and by name as JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

import cv2
import numpy as np
from bench_perception import PICTURES, build, windows

from edge.messages import Image, RawWindow
from edge.perception.registry import View

FILMS = {".mp4", ".mkv", ".avi", ".mov"}
WIDTH, HEIGHT, COLUMNS, ROWS = 640, 400, 3, 4


def draw(raw: RawWindow, view: View, claims: list[dict[str, object]], name: str) -> Image:
    """The frame of a view with its claims numbered; they are added to `claims`."""
    frame = next(f.image for f in raw.frames if f.t == view.t)
    scale = min(WIDTH / frame.shape[1], HEIGHT / frame.shape[0])
    tile = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    picture = cv2.resize(frame, None, fx=scale, fy=scale)
    tile[: picture.shape[0], : picture.shape[1]] = picture
    for thing in view.things:
        x0, y0, x1, y1 = (round(v * scale) for v in thing.box)
        number = len(claims)
        extra = [a for a in thing.attributes if " in view" not in a]
        claims.append({"name": thing.name, "score": round(thing.score, 2), "file": name, "attributes": extra})
        cv2.rectangle(tile, (x0, y0), (x1, y1), (0, 255, 0), 1)
        label = f"{number} {thing.name} {', '.join(extra)}"
        cv2.putText(tile, label, (x0 + 2, min(HEIGHT - 4, y0 + 16)), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (0, 0, 0), 3)
        cv2.putText(tile, label, (x0 + 2, min(HEIGHT - 4, y0 + 16)), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (0, 255, 255), 1)
    return tile


def sheet(args: argparse.Namespace) -> int:
    settings = dict(pair.split("=", 1) for pair in args.settings)
    args.out.mkdir(parents=True, exist_ok=True)
    claims: list[dict[str, object]] = []
    perception = build(**settings)
    tiles: list[Image] = []
    for path in sorted(args.folder.iterdir()):
        if path.suffix.lower() not in FILMS | PICTURES or not path.match(args.match):
            continue
        perception.prime(())  # nothing is carried from file to file
        for raw in windows(path, args.every, args.window, None, None):
            perception.step(raw)
            tiles += [draw(raw, view, claims, path.name) for view in perception.views if view.things]
    per_sheet = COLUMNS * ROWS
    for k in range(0, len(tiles), per_sheet):
        part = tiles[k : k + per_sheet]
        part += [np.zeros_like(tiles[0])] * (per_sheet - len(part))
        rows = [np.hstack(part[i : i + COLUMNS]) for i in range(0, per_sheet, COLUMNS)]
        cv2.imwrite(str(args.out / f"sheet{k // per_sheet:02d}.png"), np.vstack(rows))
    (args.out / "claims.json").write_text(json.dumps(claims, indent=1), encoding="utf-8")
    print(f"{len(claims)} claims on {len(tiles)} frames in {args.out}")
    return 0


def count(args: argparse.Namespace) -> int:
    claims = json.loads(args.claims.read_text(encoding="utf-8"))
    wrong: set[int] = set()
    for word in args.wrong.replace(",", " ").split():
        first, _, last = word.partition("-")
        wrong |= set(range(int(first), int(last or first) + 1))
    if wrong and max(wrong) >= len(claims):
        print(f"There are only {len(claims)} claims.", file=sys.stderr)
        return 1
    said = Counter(c["name"] for c in claims)
    false = Counter(claims[i]["name"] for i in wrong)
    report = {
        "claims": len(claims),
        "true": len(claims) - len(wrong),
        "precision": round(1 - len(wrong) / len(claims), 3) if claims else None,
        "by_name": {name: [n - false[name], n] for name, n in said.most_common()},
    }
    print(json.dumps(report, indent=1))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("sheet")
    one.add_argument("folder", type=Path)
    one.add_argument("--out", type=Path, required=True)
    one.add_argument("--match", default="*", help="only files of this pattern")
    one.add_argument("--every", type=float, default=1.0, help="seconds between frames")
    one.add_argument("--window", type=float, default=10.0, help="seconds of a window")
    one.add_argument("--settings", nargs="*", default=[], help="perception settings as key=value")
    one.set_defaults(run=sheet)
    two = commands.add_parser("count")
    two.add_argument("claims", type=Path)
    two.add_argument("wrong", help="numbers of the claims that are not true")
    two.set_defaults(run=count)
    args = parser.parse_args()
    result: int = args.run(args)
    return result


if __name__ == "__main__":
    sys.exit(main())
