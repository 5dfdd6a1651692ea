# ruff: noqa: SLF001  # a benchmark looks inside the running device to say where the time goes
"""From the capture of a frame that shows danger to the first sound of the warning, and where the time goes.

    python tools/bench_alert.py [--rounds 4] [--json] [--most-s 1.0]

A whole device runs in this process: a camera (Motion JPEG on loopback), light perception with the real detector and
text reader, the arbiter, the store, the voice, PyAudio and a virtual speaker (tools/audio_sinks.sh), whose sound is
recorded.  A car that comes closer is found by a quick look at each frame; warning signs are read in the frames that go
into a window, and count from the capture of that frame.  The exit status is 1 when the 95th percentile of any of the
two is above --most-s, or a warning did not come.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools import road_paint as paint
from tools.picture_server import PictureServer
from tools.virtual_audio import sound_server

US = 1_000_000
SPACING_S = 9.5  # seven dangers: each comes again after more than a minute, when it counts as a new one
CALM_S = 3.0
LOUD = 300  # of 32767: the voice is heard
SIGNS = {
    "slippery floor": ("CAUTION", "WET FLOOR"),
    "electricity": ("DANGER", "HIGH VOLTAGE"),
    "burn": ("CAUTION", "HOT SURFACE"),
    "overhead": ("MIND YOUR HEAD",),
    "step": ("WATCH YOUR STEP",),
    "forbidden": ("DANGER", "KEEP OUT"),
}


@dataclass(slots=True)
class Round:
    """The marks of one warning, microseconds of the wall clock."""

    name: str
    marks: dict[str, int] = field(default_factory=dict)

    @property
    def total_s(self) -> float | None:
        """Capture to first sound, seconds; None when no sound came."""
        return (self.marks["sound"] - self.marks["captured"]) / US if "sound" in self.marks else None


class Monitor:
    """Hears what the virtual speaker plays, and notes when it was last silent and when a sound began."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self.began: list[int] = []
        self._parec = subprocess.Popen(
            ["parec", "--device=speaker.monitor", "--rate=16000", "--channels=1", "--format=s16le", "--latency-msec=10"],
            stdout=subprocess.PIPE,
        )  # fmt: skip
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        assert self._parec.stdout is not None
        quiet_samples, loud = 16_000, False
        descriptor = self._parec.stdout.fileno()
        while data := os.read(descriptor, 640):
            pcm = np.frombuffer(data[: len(data) // 2 * 2], "<i2")
            if len(pcm) and int(np.abs(pcm.astype(int)).max()) >= LOUD:
                if not loud and quiet_samples >= 8_000:
                    self.began.append(self._now())
                loud, quiet_samples = True, 0
            else:
                quiet_samples += len(pcm)
                loud = loud and quiet_samples < 8_000

    def close(self) -> None:
        """Stop listening."""
        self._parec.terminate()
        self._parec.wait()
        self._thread.join()


def measure(rounds: int, home: Path) -> list[Round]:
    """Run the device and show it one danger after the other."""
    for name in ("CONFIG", "STATE", "RUNTIME"):
        where = home / name.lower()
        where.mkdir(mode=0o700)
        os.environ[f"XDG_{name}_HOME" if name != "RUNTIME" else "XDG_RUNTIME_DIR"] = str(where)
    from edge.app import Supervisor, build
    from edge.config import Config
    from edge.runtime import Options

    config = Config(voice={"listen": False})  # type: ignore[arg-type]
    done: list[Round] = []
    with PictureServer(paint.tagged(paint.wall(), 1)) as camera:
        runtime = build(config, Options(home / "m.db", source=camera.url, mic="none", speaker="default"), None)
        monitor = Monitor(runtime.wall.now)
        marks = _instrumented(runtime)
        supervisor = Supervisor(runtime, runtime.wall)
        over = threading.Event()

        def supervise() -> None:
            while not over.wait(0.1):
                supervisor.step()

        thread = threading.Thread(target=supervise, daemon=True)
        thread.start()
        try:
            _wait(over, 12.0)  # models are loaded, the first window begins
            number = 1
            for _ in range(rounds):
                for name in ("traffic", *SIGNS):
                    number += 2
                    done.append(_one(name, number, camera, runtime, monitor, marks, over))
        finally:
            over.set()
            thread.join()
            supervisor.stop(5.0)
            runtime.close()
            monitor.close()
    return done


def _one(
    name: str, number: int, camera: PictureServer, runtime: Any, monitor: Monitor, marks: dict[str, int],
    over: threading.Event,
) -> Round:  # fmt: skip
    if name == "traffic":
        calm, danger = paint.road_with_car(110), paint.road_with_car(200)
    else:
        calm, danger = paint.wall(), paint.sign(*SIGNS[name])
    frames = runtime.bus.subscribe("frames" if name == "traffic" else "sampled")
    camera.show(paint.tagged(calm, number))
    _wait(over, CALM_S)
    marks.clear()
    heard = len(monitor.began)
    camera.show(paint.tagged(danger, number + 1))
    found = Round(name)
    until = runtime.wall.mono() + round((SPACING_S - CALM_S) * US)
    while runtime.wall.mono() < until:
        message = frames.get(0.02)
        frame = getattr(message, "frame", message)
        if frame is not None and "captured" not in found.marks and paint.tag_of(frame.image) == number + 1:
            found.marks["captured"] = frame.t
    runtime.bus._subscribers["frames" if name == "traffic" else "sampled"].remove(frames)
    found.marks |= marks
    if len(monitor.began) > heard and "captured" in found.marks:
        found.marks["sound"] = monitor.began[heard]
    return found


def _instrumented(runtime: Any) -> dict[str, int]:
    """Note, for the newest warning, when each stage began and ended."""
    marks: dict[str, int] = {}
    now = runtime.wall.now
    warn, happened, play = runtime.pipeline.proactive.warn, runtime.happened, runtime.voice._player.play
    looks = {kind: getattr(runtime.watch, kind) for kind in ("quick", "read")}
    begun = {"at": 0}

    def look(kind: str) -> Callable[[Any], Any]:
        def call(frame: Any) -> Any:
            begun["at"] = now()
            return looks[kind](frame)

        return call

    def noted_warn(*args: Any) -> Any:
        start, looked = now(), begun["at"]
        out = warn(*args)
        if out:
            marks.update(looked_at=looked, seen=start, decided=now())
        return out

    def noted_happened(messages: list[Any]) -> None:
        happened(messages)
        if "decided" in marks and "told" not in marks:
            marks["told"] = now()

    def noted_play(chunks: Any, cut: Any) -> Any:
        def first() -> Iterator[Any]:
            for chunk in chunks:
                if "decided" in marks:
                    marks.setdefault("spoken", now())
                yield chunk

        return play(first(), cut)

    runtime.watch.quick, runtime.watch.read = look("quick"), look("read")
    runtime.pipeline.proactive.warn = noted_warn
    runtime.voice._player.play = noted_play
    type(runtime).happened = lambda _, messages: noted_happened(messages)
    return marks


STAGES = (
    ("captured", "looked_at", "until it is looked at"),
    ("looked_at", "seen", "detector, and reader where there are signs"),
    ("seen", "decided", "arbiter and store"),
    ("decided", "spoken", "voice: first words made"),
    ("spoken", "sound", "PyAudio to the speaker"),
)


def report(rounds: list[Round]) -> dict[str, Any]:
    """Percentiles in seconds, by way of finding and by stage."""
    out: dict[str, Any] = {}
    for way, names in (("quick look", {"traffic"}), ("sampled frame", set(SIGNS))):
        mine = [r for r in rounds if r.name in names]
        totals = sorted(t for r in mine if (t := r.total_s) is not None)
        stages = {
            told: _spread([(r.marks[b] - r.marks[a]) / US for r in mine if a in r.marks and b in r.marks])
            for a, b, told in STAGES
        }
        missing = [r.name for r in mine if r.total_s is None]
        out[way] = {"warnings": len(totals), "missing": missing, "total": _spread(totals), "stages": stages}
    return out


def _spread(values: list[float]) -> dict[str, float]:
    if not values:
        return {}
    return {f"p{p}": round(float(np.percentile(values, p)), 3) for p in (50, 95)} | {"max": round(max(values), 3)}


def _wait(over: threading.Event, seconds: float) -> None:
    over.wait(seconds)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4, help="times each of the seven dangers is shown")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--most-s", type=float, default=1.0, help="95th percentile that is allowed, seconds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ge-") as home, sound_server():
        found = report(measure(options.rounds, Path(home)))
    if options.json:
        print(json.dumps(found))
    else:
        for way, told in found.items():
            print(
                f"{way}: {told['warnings']} warnings, seconds {told['total']}, not heard: {told['missing'] or 'none'}"
            )
            for stage, spread in told["stages"].items():
                print(f"    {stage:45} {spread}")
    good = all(t["total"] and t["total"]["p95"] <= options.most_s and not t["missing"] for t in found.values())
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
