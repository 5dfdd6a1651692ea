"""Run light perception over a film, pictures or a sound, and print as JSON what it found, how fast and in how much memory.

    python tools/bench_perception.py FILE_OR_FOLDER [--interval 5] [--window 30] [--size 1280x720] [--seconds 60] [--sound WAV] [--rows]

The figures: wall seconds and milliseconds per stage for a minute of film, peak resident memory, the share of frames
perceived anew and kept.  `--rows` prints every caption, event, text and utterance too.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
import wave
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import av
import cv2
import numpy as np

from edge.config import Perception
from edge.messages import Frame, Image, RawWindow, Sound
from edge.perception.light import LightPerception
from edge.perception.things import DETECTOR_SCORE
from models.loader import ASR, DETECTOR, OCR, VAD, Loader, LoadOptions
from models.registry import Registry
from models.roles import SPEECH_RATE
from storage.keyframes import KeyframeFolder
from storage.records import Window

US = 1_000_000
START = 1_700_000_000 * US
PICTURES = {".jpg", ".jpeg", ".png"}
SOUNDS = {".wav"}


def film_frames(path: Path, interval_s: float, seconds: float | None) -> Iterator[tuple[float, Image]]:
    """Frames at least `interval_s` apart with their time in the film, seconds."""
    due = 0.0
    with av.open(str(path)) as film:
        for frame in film.decode(video=0):
            t = float(frame.time or 0.0)
            if seconds is not None and t >= seconds:
                return
            if t >= due:
                due += interval_s
                yield t, np.asarray(frame.to_ndarray(format="bgr24"), np.uint8)


def read_sound(path: Path) -> np.ndarray:
    """A 16-bit WAV as mono float32 at 16 kHz."""
    with wave.open(str(path)) as file:
        rate, channels = file.getframerate(), file.getnchannels()
        pcm = np.frombuffer(file.readframes(file.getnframes()), np.int16).astype(np.float32) / 32768
    pcm = pcm.reshape(-1, channels).mean(axis=1)
    if rate != SPEECH_RATE:
        there = np.arange(0, len(pcm), rate / SPEECH_RATE)
        pcm = np.interp(there, np.arange(len(pcm)), pcm)
    return pcm.astype(np.float32)


def windows(
    path: Path, interval_s: float, window_s: float, size: tuple[int, int] | None, seconds: float | None
) -> Iterator[RawWindow]:
    """Raw windows of a film, a folder of pictures (one a window), a picture or a sound."""
    if path.is_dir():
        for i, file in enumerate(sorted(p for p in path.iterdir() if p.suffix.lower() in PICTURES)):
            yield _one_picture(file, START + round(i * window_s * US))
    elif path.suffix.lower() in PICTURES:
        yield _one_picture(path, START)
    elif path.suffix.lower() in SOUNDS:
        pcm = read_sound(path)
        end = START + round(len(pcm) / SPEECH_RATE * US)
        yield RawWindow(path.name, START, end, 0, (), Sound(START, 0, pcm))
    else:
        held: list[Frame] = []
        number = 0
        for t, image in film_frames(path, interval_s, seconds):
            while t >= (number + 1) * window_s:
                yield _window(path.name, number, window_s, held)
                held, number = [], number + 1
            held.append(Frame(START + round(t * US), 0, cv2.resize(image, size) if size else image))
        yield _window(path.name, number, window_s, held)


def build(folder: Path | None = None, **settings: object) -> LightPerception:
    """Light perception on the real models."""
    perception = Perception(**settings)  # type: ignore[arg-type]
    home = Path(tempfile.gettempdir()) / "grove-edge-bench"
    options = LoadOptions(detector_min_score=DETECTOR_SCORE, ocr_side_px=perception.text_side_px)
    loader = Loader(Registry(home / "models", home), options)
    return LightPerception(
        loader.load(DETECTOR).model,
        perception,
        ocr=loader.load(OCR).model,
        asr=loader.load(ASR).model,
        vad=loader.load(VAD).model,
        keyframes=KeyframeFolder(folder) if folder else None,
        mono=lambda: time.monotonic_ns() // 1000,  # a benchmark measures the machine
    )


def rows(window: Window) -> dict[str, object]:
    """The window as plain values, times in seconds from the start."""

    def at(t: int) -> float:
        return round((t - START) / US, 2)

    return {
        "start": at(window.t_start),
        "scene": window.scene,
        "description": window.description,
        "captions": [[at(c.t), c.text] for c in window.captions],
        "entities": [asdict(e) for e in window.entities],
        "events": [[at(e.t), e.subject, e.action, e.object] for e in window.events],
        "texts": [[at(x.t), x.text] for x in window.texts],
        "speech": [[at(s.t), s.speaker, s.text] for s in window.speech],
        "keyframes": [at(k.t) for k in window.keyframes],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--interval", type=float, default=5.0, help="seconds between sampled frames")
    parser.add_argument("--window", type=float, default=30.0, help="seconds of a window")
    parser.add_argument("--size", default="", help="scale frames to WIDTHxHEIGHT first")
    parser.add_argument("--seconds", type=float, help="stop after so much film")
    parser.add_argument("--sound", type=Path, help="a WAV heard from the start of the film")
    parser.add_argument("--rows", action="store_true", help="print the windows too")
    args = parser.parse_args()
    if not args.source.exists():
        print(f"There is no {args.source}.", file=sys.stderr)
        return 1
    size = tuple(int(v) for v in args.size.split("x")) if args.size else None
    stages: dict[str, float] = {}
    found: list[Window] = []
    with tempfile.TemporaryDirectory() as folder:
        perception = build(Path(folder))
        wall = 0.0
        pcm = read_sound(args.sound) if args.sound else np.zeros(0, np.float32)
        for raw in windows(args.source, args.interval, args.window, size, args.seconds):  # type: ignore[arg-type]
            first, last = ((t - START) * SPEECH_RATE // US for t in (raw.t_start, raw.t_end))
            if args.sound and first < len(pcm):
                raw = replace(raw, sound=Sound(raw.t_start, 0, pcm[first:last]))  # noqa: PLW2901
            start = time.perf_counter()
            found += [o.window for o in perception.step(raw)]
            wall += time.perf_counter() - start
            for stage, ms in perception.health.ms.items():
                stages[stage] = stages.get(stage, 0.0) + ms
    health = perception.health
    report: dict[str, object] = {
        "source": args.source.name,
        "windows": health.windows,
        "frames": health.frames,
        "blurred": health.blurred,
        "share_perceived": round(health.share_perceived, 3),
        "share_kept": round(health.share_kept, 3),
        "wall_s": round(wall, 2),
        "stage_s": {stage: round(ms / 1000, 2) for stage, ms in sorted(stages.items())},
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "fell_back": health.fell_back,
    }
    if args.rows:
        report["rows"] = [rows(w) for w in found]
    print(json.dumps(report, indent=1, ensure_ascii=False))
    return 0


def _one_picture(path: Path, t: int) -> RawWindow:
    image = cv2.imread(str(path))
    if image is None:
        raise SystemExit(f"{path} is no picture.")
    return RawWindow(path.name, t, t + US, 0, (Frame(t, 0, np.asarray(image, np.uint8)),), None)


def _window(name: str, number: int, window_s: float, frames: list[Frame]) -> RawWindow:
    start = START + round(number * window_s * US)
    return RawWindow(name, start, start + round(window_s * US), 0, tuple(frames), None)


if __name__ == "__main__":
    sys.exit(main())
