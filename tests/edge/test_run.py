"""The device as a program: words to it while it runs, one at a time, and kill -9 at any moment."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest

from edge.clock import US
from edge.recorder import check_trace, read_trace
from edge.server.control import ControlClient, ControlError
from storage import Store
from storage.errors import StoreUnreadable
from storage.keyframes import KeyframeFolder, folder_of

ROOT = Path(__file__).resolve().parents[2]
SECONDS, LONG_S = 48, 1800
START = "2026-03-02T09:00:00+01:00"
KILLS = 10


def film(path: Path, seconds: int) -> Path:
    """A still room that becomes another one, with its number on the wall, every six seconds."""
    size, fps = (160, 120), 2
    rng = np.random.default_rng(1)
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libx264", rate=fps)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        stream.options = {"preset": "ultrafast"}
        for second in range(0, seconds, 6):
            room = cv2.resize(rng.integers(0, 255, (12, 16, 3), dtype=np.uint8), size, interpolation=cv2.INTER_NEAREST)
            cv2.putText(room, f"ROOM {second}", (10, 100), cv2.FONT_HERSHEY_SIMPLEX, 0.9, (0, 0, 0), 3)
            for n in range(second * fps, (second + 6) * fps):
                frame = av.VideoFrame.from_ndarray(room, format="bgr24")
                frame.pts, frame.time_base = n, Fraction(1, fps)
                out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return path


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return film(tmp_path_factory.mktemp("video") / "rooms.mp4", SECONDS)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that goes on whatever is done meanwhile, on however busy a machine."""
    return film(tmp_path_factory.mktemp("video") / "long.mp4", LONG_S)


@pytest.fixture(scope="module")
def short() -> Iterator[Path]:
    """A folder whose path is short enough for a socket."""
    folder = Path(tempfile.mkdtemp(prefix="ge-"))
    yield folder
    shutil.rmtree(folder)


class Device:
    """`grove-edge run` with a home of its own; each start is a process."""

    def __init__(self, home: Path, video: Path, speed: str) -> None:
        self.home, self.video, self.speed = home, video, speed
        self.db, self.record = home / "m.db", home / "copy.jsonl"
        (home / "run").mkdir(parents=True, mode=0o700)
        self.environment = {
            **os.environ,
            **{f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "DATA", "STATE")},
            "XDG_RUNTIME_DIR": str(home / "run"),
            "GROVE_EDGE_MEMORY__CLIP__WINDOW_S": "4",
            "GROVE_EDGE_PERCEPTION__TEXT_SIDE_PX": "160",
        }

    def start(self, **more: Path | str) -> subprocess.Popen[str]:
        options = {"--source": self.video, "--db": self.db, "--record": self.record, "--profile": "clip", **more}
        return subprocess.Popen(
            [sys.executable, "-m", "edge.cli", "run", "--mic", "none", "--speaker", "none", "--start", START, "--json",
             "--speed", self.speed, *(str(x) for pair in options.items() for x in pair)],
            cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "edge.cli", *words], cwd=ROOT, env=self.environment, capture_output=True, text=True,
            timeout=600, check=False,
        )  # fmt: skip

    def call(self, name: str) -> dict[str, Any]:
        return ControlClient(self.home / "run" / "grove-edge" / "control.sock", 60.0).call(name)

    def health_when(self, holds: Callable[[dict[str, Any]], bool], process: subprocess.Popen[str]) -> dict[str, Any]:
        """The first health of which that holds."""
        for _ in range(6000):
            assert process.poll() is None, process.communicate()
            try:
                health = self.call("health")
            except ControlError:
                health = {}
            if health and holds(health):
                return health
            threading.Event().wait(0.05)
        raise AssertionError(health)

    def dump(self) -> list[str]:
        with Store.open(self.db, read_only=True) as store:
            assert store.integrity() == []
            return list(store.dump())


@contextmanager
def running(device: Device) -> Iterator[subprocess.Popen[str]]:
    process = device.start()
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def check_keyframes(device: Device) -> None:
    """Each keyframe a window names is there and is what it was; nothing else is.

    A stop on a busy machine may leave the pictures of a window that was in hand: it is seen again when the run goes on.
    """
    folder = KeyframeFolder(folder_of(device.db))
    with Store.open(device.db, read_only=True) as store, store.snapshot() as snapshot:
        frames = snapshot.trace.keyframes()
        assert frames
        assert all(len(folder.read(f)) == f.size for f in frames)
        last = snapshot.trace.last()
        assert last is not None
        there, named = set(folder.files()), {f.file for f in frames}
        assert named <= there
        assert all(int(Path(file).name.split("-")[0]) >= last.t_end for file in there - named)
        assert [p for p in folder.root.glob("*/*") if p.suffix != ".jpg"] == []


def test_words_to_a_running_device(long: Path, short: Path) -> None:
    device = Device(short / "words", long, "realtime")
    with running(device) as process:
        health = device.health_when(lambda h: h["totals"]["windows"] >= 1, process)
        assert health["state"] == "ok"
        assert {"last_frame_age_s", "last_sound_age_s", "last_commit_age_s", "backlog", "fell_back", "dropped"} <= set(
            health
        )
        assert health["last_commit_age_s"] >= 0
        assert health["fell_back"] == []
        assert health["capture"]["state"] == "running"
        assert health["capture"]["frames"] > 0
        assert {s: v["state"] for s, v in health["services"].items() if s in ("capture", "perception", "memory", "control")} == {
            "capture": "running", "perception": "running", "memory": "running", "control": "running",
        }  # fmt: skip
        assert "device" in {
            f["part"] for f in json.loads(device.command("doctor", "--json", "--db", str(device.db)).stdout)
        }

        asked = device.command("ask", "when did I first read ROOM 0?", "--db", str(device.db), "--json")
        assert (asked.returncode, asked.stderr) == (0, ""), "a running memory can be asked"
        second = device.start(**{"--db": device.home / "other.db", "--record": device.home / "other.jsonl"})
        told = second.communicate(timeout=600)
        assert second.returncode == 1
        assert (
            told[1]
            == f"control: grove-edge is running already (process {process.pid}): use it, or end it with `grove-edge stop`.\n"
        )
        assert sorted(p.name for p in device.home.glob("other*")) == []
        grown = device.command("replay", str(device.record), "--db", str(device.db))
        assert (grown.returncode, grown.stderr.split(":")[0]) == (1, "storage.locked")

        assert device.command("pause").returncode == 0
        device.health_when(
            lambda h: h["paused"] and h["services"]["capture"]["state"] != "running" and not h["backlog"], process
        )
        frames = device.call("health")["capture"]["frames"]
        threading.Event().wait(1.5)
        health = device.call("health")
        assert health["capture"]["frames"] == frames, "nothing is looked at while paused"
        assert device.command("resume", "--json").stdout == '{"paused": false}\n'
        windows = health["totals"]["windows"]
        device.health_when(lambda h: not h["paused"] and h["totals"]["windows"] > windows + 1, process)

        assert device.command("stop").returncode == 0
        out, err = process.communicate(timeout=600)
        assert (process.returncode, err) == (0, "")
        report = json.loads(out)
    with Store.open(device.db, read_only=True) as store, store.snapshot() as snapshot:
        kept = snapshot.trace.windows()
        assert store.integrity() == []
    assert report["windows"] == len(kept)
    assert all(b.t_start == a.t_end for a, b in pairwise(kept)), "a pause of a file leaves nothing out"
    assert kept[-1].t_end - kept[0].t_start < LONG_S * US, "it was stopped, it did not end"
    assert [(w.t_start, w.description) for w in read_trace(device.record, 2.0)] == [
        (w.t_start, w.description) for w in kept
    ]
    check_keyframes(device)
    assert not list((device.home / "run" / "grove-edge").glob("*.sock"))
    assert "control.none" in device.command("stop").stderr


def test_forgetting_while_the_device_runs(long: Path, short: Path) -> None:
    """What was just seen goes, what is on its way goes with it, and the device goes on."""
    device = Device(short / "forget", long, "realtime")
    with running(device) as process:
        device.health_when(lambda h: h["totals"]["windows"] >= 3, process)
        span = ("--from", START, "--to", "2026-03-02T09:00:10+01:00")
        looked = device.command("forget", *span, "--dry-run", "--json", "--db", str(device.db))
        assert (looked.returncode, looked.stderr) == (0, "")
        assert json.loads(looked.stdout)["windows"] == 2 and json.loads(looked.stdout)["windows_cut"] == 1
        asked = device.command("forget", *span, "--yes", "--json", "--db", str(device.db))
        assert (asked.returncode, asked.stderr) == (0, "")
        report = json.loads(asked.stdout)
        assert report["done"] and report["removed"]["window"] == 2 and report["keyframes"] >= 2
        assert report["looked_for"]["found"] == []
        assert report["recordings"] == {str(device.record): 3}
        windows = device.call("health")["totals"]["windows"]
        device.health_when(lambda h: h["totals"]["windows"] >= windows + 2, process)
        assert device.command("stop").returncode == 0
        _, err = process.communicate(timeout=600)
        assert (process.returncode, err) == (0, "")
    with Store.open(device.db, read_only=True) as store, store.snapshot() as snapshot:
        assert store.integrity() == []
        kept = snapshot.trace.windows()
        assert kept[0].t_start % (60 * US) == 10 * US, "the first window begins where the forgotten stretch ends"
        assert not snapshot.search("item", "ROOM 0", k=200) or kept[0].texts
    assert [w.t_start for w in read_trace(device.record, 2.0)] == [w.t_start for w in kept]
    check_keyframes(device)


@pytest.fixture(scope="module")
def whole(video: Path, short: Path) -> Device:
    """An uninterrupted run."""
    device = Device(short / "whole", video, "max")
    process = device.start()
    out, err = process.communicate(timeout=600)
    assert (process.returncode, err) == (0, "")
    assert json.loads(out)["windows"] == SECONDS // 4
    check_keyframes(device)
    return device


def begun(db: Path) -> bool:
    """Whether the run came as far as making a memory before it was killed."""
    try:
        with Store.open(db, read_only=True):
            return True
    except StoreUnreadable as error:
        assert "holds no memory" in str(error)
        return False


def test_killed_again_and_again_a_run_ends_the_same(whole: Device, video: Path, short: Path) -> None:
    device, rng = Device(short / "killed", video, "max"), random.Random(4)
    log = device.db.with_name("m.db-wal")
    held = 0
    for n in range(KILLS):
        process = device.start()
        before = log.stat().st_mtime_ns if log.exists() else 0
        waits = 1 + n % 2  # writes to see before the kill: some runs die before they have stored anything
        while waits and process.poll() is None:
            threading.Event().wait(0.002)
            now = log.stat().st_mtime_ns if log.exists() else 0
            if now != before:
                before, waits = now, waits - 1
        threading.Event().wait(rng.uniform(0, 0.25))
        process.send_signal(signal.SIGKILL)
        _, err = process.communicate()
        assert err == ""
        if log.exists() and (held or begun(device.db)):
            with Store.open(device.db, read_only=True) as store, store.snapshot() as snapshot:
                assert store.integrity() == []
                windows = snapshot.trace.windows()
                assert len(windows) >= held
                held = len(windows)
                assert all(b.t_start == a.t_end for a, b in pairwise(windows)), "at most the window in progress is lost"
        if process.returncode == 0:
            break  # it was quicker than the kill
    process = device.start()
    out, err = process.communicate(timeout=600)
    assert (process.returncode, err) == (0, "")
    assert json.loads(out)["windows"] == SECONDS // 4 - held
    assert device.dump() == whole.dump()
    check_keyframes(device)
    assert check_trace(device.record).windows == SECONDS // 4
    assert list(read_trace(device.record, 2.0)) == list(read_trace(whole.record, 2.0))


def test_the_recorders_copy_grows_the_same_memory(whole: Device, short: Path) -> None:
    device = Device(short / "copy", whole.video, "max")
    told = device.command("replay", str(whole.record), "--db", str(device.db), "--json")
    assert (told.returncode, told.stderr) == (0, "")
    looks = '"table": "keyframe_look"'  # how a picture looks is not in a trace: it is worked out from the picture
    assert device.dump() == [row for row in whole.dump() if looks not in row]


def test_running_it_again_adds_nothing(whole: Device) -> None:
    before = whole.dump()
    process = whole.start()
    out, err = process.communicate(timeout=600)
    assert (process.returncode, err) == (0, "")
    assert json.loads(out)["windows"] == 0
    assert whole.dump() == before


def test_another_start_for_a_known_recording_is_refused(whole: Device) -> None:
    process = whole.start(**{"--start": Path("2026-03-03T09:00:00+01:00")})
    _, err = process.communicate(timeout=600)
    assert process.returncode == 1
    assert err.startswith("input: This recording is in the memory already")
    assert err.count("\n") == 1
