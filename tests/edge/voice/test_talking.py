"""The whole device as a program: somebody speaks, it answers; through PulseAudio, and from WAV file to WAV file.

What it said is read word by word in its log; the sound must be that text to an ear, as far as a small one hears it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import wave
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from voice_support import RATE, Mouth, share_heard, silence, write_wav

from edge.server.control import ControlClient, ControlError
from models import ASR, Loader

ROOT = Path(__file__).parents[3]
START = datetime(2026, 3, 2, 9, tzinfo=timezone.utc)
ASKED = "when did I last water the tomatoes?"
QUESTION = f"Hey Jarvis, {ASKED}"


class Device:
    """`grove-edge` with a home of its own, whose memory knows when the tomatoes were watered."""

    def __init__(self, home: Path, **settings: str) -> None:
        self.home, self.db = home, home / "m.db"
        (home / "run").mkdir(parents=True, mode=0o700)
        self.environment = {
            **os.environ,
            **{f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "DATA", "STATE")},
            "XDG_RUNTIME_DIR": str(home / "run"),
            "GROVE_EDGE_DEVICE__LOG_LEVEL": "debug",  # the level that holds the words
            **{f"GROVE_EDGE_{key.upper()}": value for key, value in settings.items()},
        }
        trace = home / "day.trace.jsonl"
        rows = []
        for n in range(4):
            t = START + timedelta(seconds=30 * n)
            event = {"t": t.isoformat(), "subject": "wearer", "action": "water", "object": "tomatoes"}
            rows.append({
                "recording": "garden", "t_start": t.isoformat(), "t_end": (t + timedelta(seconds=30)).isoformat(),
                "events": [event],
            })  # fmt: skip
        trace.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        self.call("replay", str(trace), "--db", str(self.db))

    def call(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "edge.cli", *arguments]
        done = subprocess.run(
            command, env=self.environment, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "edge.cli", "run", "--db", str(self.db), "--json", *arguments]
        return subprocess.Popen(command, env=self.environment, cwd=ROOT, stdout=subprocess.DEVNULL)

    def health(self) -> dict[str, Any]:
        return ControlClient(self.home / "run" / "grove-edge" / "control.sock").call("health")

    def spoken(self) -> list[str]:
        """What it has said, in its own words."""
        lines = [
            json.loads(line)
            for path in sorted((self.home / "state").rglob("*.log"))
            for line in path.read_text(encoding="utf-8").splitlines(keepends=True)
            if line.endswith("\n")  # the last may be on its way
        ]
        return [line["text"] for line in lines if line["event"] == "spoken_text"]

    def until(self, part: str, key: str, wanted: Any, seconds: float = 180.0) -> None:
        never = threading.Event()
        for _ in range(int(seconds / 0.2)):
            try:
                if (self.health()[part] or {}).get(key) == wanted:
                    return
            except ControlError:
                pass
            never.wait(0.2)
        raise AssertionError(f"{part}.{key} did not become {wanted!r}")


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ge-") as folder:  # short: a socket's path has little room
        yield Path(folder)


def heard(loader: Loader, pcm: np.ndarray) -> str:
    segments = loader.load(ASR, "whisper-tiny.en").model.transcribe(pcm.astype(np.float32))
    return " ".join(s.text for s in segments).lower()


def test_a_conversation_from_file_to_file(home: Path, loader: Loader) -> None:
    device, say = Device(home), Mouth(loader)
    question = write_wav(home / "q.wav", np.concatenate([silence(2.0), say(QUESTION), silence(4.0)]))
    out = home / "out.wav"
    start = (START + timedelta(hours=3)).isoformat()
    device.call("run", "--mic", str(question), "--speaker", str(out), "--db", str(device.db), "--start", start)
    with wave.open(str(out)) as file:
        rate = file.getframerate()
        pcm = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / 32_768
    times = np.arange(int(len(pcm) * RATE / rate)) * rate / RATE
    (answer,) = device.spoken()
    assert "watered the tomatoes today" in answer
    said = heard(loader, np.interp(times, np.arange(len(pcm)), pcm))
    assert share_heard(answer, said) >= 0.75, (answer, said)


@pytest.mark.parametrize(("bystanders", "kept"), [("keep", True), ("off", False)])
def test_what_others_say_goes_no_further_than_the_owner_wants(
    bystanders: str, kept: bool, home: Path, loader: Loader
) -> None:
    """A spoken secret is looked for in every byte that a run leaves behind: memory, log, spool, traces."""
    device, say = Device(home, perception__bystanders=bystanders), Mouth(loader)
    rng = np.random.default_rng(2)
    pcm = np.concatenate([
        silence(0.5), say("I have to buy some milk today.", 0.8), silence(1.5),
        say("The hidden treasure is a pineapple.", 0.06), silence(1.0),
    ])  # fmt: skip
    pcm = pcm + rng.normal(size=len(pcm)).astype(np.float32) * np.float32(0.0004)
    sound = write_wav(home.parent / f"{home.name}.wav", pcm)
    try:
        device.call(
            "run", "--mic", str(sound), "--speaker", "none", "--db", str(device.db), "--record", str(home / "r")
        )
    finally:
        sound.unlink()
    left = b"".join(path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()).lower()
    assert b"milk" in left
    assert (b"pineapple" in left or b"treasure" in left) is kept


@pytest.mark.audio
@pytest.mark.realtime
def test_a_conversation_through_the_sound_server(home: Path, loader: Loader, virtual_audio: Any) -> None:
    """Wake word, question and answer through a virtual microphone and speaker; paused, nothing listens any more."""
    device, say = Device(home), Mouth(loader)
    wanted = json.loads(device.call("ask", ASKED, "--db", str(device.db), "--json"))["answer"]
    assert "watered the tomatoes" in wanted
    process = device.start("--source", "camera", "--mic", "default", "--speaker", "default")
    try:
        device.until("listening", "state", "ok")
        device.until("capture", "sound", "microphone default: running")
        never = threading.Event()
        sound = write_wav(home / "q.wav", np.concatenate([silence(0.5), say(QUESTION), silence(1.0)]))
        with virtual_audio.recording() as recorded:
            for _ in range(5):  # a starved sound server loses a part of what is said, on either way
                before, spoken = len(recorded()), device.health()["voice"]["spoken"]
                subprocess.run(["paplay", "--device=micfeed", str(sound)], check=True, timeout=120)
                for _ in range(100):
                    if device.health()["voice"]["spoken"] > spoken:
                        break
                    never.wait(0.2)
                never.wait(0.5)
                said = heard(loader, recorded()[before:].astype(np.float32) / 32_768)
                answer = device.spoken()[-1:]
                if answer == [wanted] and share_heard(wanted, said) >= 0.75:
                    break
        assert answer == [wanted]
        assert share_heard(wanted, said) >= 0.75, said
        assert sources() == 1
        device.call("pause")
        for _ in range(600):
            if not sources():
                break
            never.wait(0.1)
        assert sources() == 0, "paused means that nobody has the microphone open"
        device.call("resume")
        device.until("capture", "sound", "microphone default: running")
        assert sources() == 1
    finally:
        process.terminate()
        assert process.wait(180) == 0


def sources() -> int:
    """How many have a microphone open, as the sound server knows it; who records the speaker is none."""
    said = subprocess.run(
        ["pactl", "list", "source-outputs"], capture_output=True, text=True, check=True, timeout=120
    ).stdout
    mine = subprocess.run(
        ["pactl", "list", "short", "sources"], capture_output=True, text=True, check=True, timeout=120
    )
    microphone = next(line.split("\t")[0] for line in mine.stdout.splitlines() if line.split("\t")[1] == "mic")
    return sum(line.strip() == f"Source: {microphone}" for line in said.splitlines())
