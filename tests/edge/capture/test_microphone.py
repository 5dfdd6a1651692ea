from __future__ import annotations

import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from edge.capture.camera import live_sound
from edge.capture.microphone import MicrophoneDriver, SoundClock
from edge.capture.pump import Pump
from edge.capture.reopen import LiveFeed
from edge.capture.steady import SteadyTime
from edge.clock import US, ReplayClock, SystemClock
from edge.config import Capture
from edge.errors import AudioError, MissingFile
from edge.messages import Pcm, Sound
from storage.records import Gap

pytestmark = pytest.mark.realtime

OPEN = threading.Event()


def child(tmp_path: Path, body: str) -> MicrophoneDriver:
    """A driver whose child is a stand-in for the recording process; `tone(n)` is n samples at `rate`."""
    script = tmp_path / "child.py"
    script.write_text(
        "import sys, time, math, struct\n"
        "out = sys.stdout.buffer\n"
        "def head(rate, channels=1): out.write(f'{rate} {channels}\\n'.encode()); out.flush()\n"
        "def tone(rate, n, channels=1):\n"
        "    data = b''.join(struct.pack('<h', round(8192 * math.sin(2 * math.pi * 440 * i / rate))) * channels\n"
        "        for i in range(n))\n"
        "    out.write(data); out.flush()\n" + body
    )
    return MicrophoneDriver("usb", command=lambda device: [sys.executable, str(script), device])


def take(driver: MicrophoneDriver, samples: int) -> Pcm:
    parts: list[Pcm] = []
    while sum(map(len, parts)) < samples:
        part = driver.take(OPEN)
        if part is not None:
            parts.append(part)
    return np.concatenate(parts)


@pytest.mark.parametrize(("rate", "channels"), [(16_000, 1), (48_000, 2), (44_100, 1)])
def test_whatever_the_device_gives_becomes_16_khz_mono(tmp_path: Path, rate: int, channels: int) -> None:
    driver = child(tmp_path, f"head({rate}, {channels})\ntone({rate}, {rate} * 2, {channels})\ntime.sleep(60)\n")
    driver.open(OPEN)
    pcm = take(driver, 16_000)
    driver.release()
    assert pcm.dtype == np.float32
    spectrum = np.abs(np.fft.rfft(pcm[:16_000]))
    assert int(spectrum.argmax()) == 440
    assert float(np.sqrt(np.mean(pcm[1000:15_000] ** 2))) == pytest.approx(0.25 / np.sqrt(2), rel=0.03)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("sys.exit('There is no microphone: connect one, or set capture.mic to none.')", "There is no microphone"),
        ("head(16000); tone(16000, 100); sys.exit('noise\\nThe microphone was lost: plug it in again.')", "was lost"),
        ("head(16000); sys.exit(139)", "The microphone stopped: check that it is connected"),
    ],
)
def test_the_childs_sentence_is_the_error(tmp_path: Path, body: str, words: str) -> None:
    driver = child(tmp_path, body + "\n")
    with pytest.raises(AudioError, match=words) as caught:
        driver.open(OPEN)
        while True:
            driver.take(OPEN)
    driver.release()
    assert "\n" not in str(caught.value)


def test_a_hanging_child_is_killed(tmp_path: Path) -> None:
    driver = child(
        tmp_path, "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); head(16000); time.sleep(600)\n"
    )
    pump = Pump(lambda: driver, SoundClock(SteadyTime(SystemClock())).stamp, error=AudioError)
    pump.open(OPEN)
    assert pump.read(0.3) is None
    process = None
    while process is None:
        process = driver._child
    pump.close()
    assert pump.hanging == 0
    assert process.wait(60) != 0


def blocks(times: list[float]) -> list[Sound]:
    clock = ReplayClock(0)
    made = SoundClock(SteadyTime(clock))
    out = []
    for t in times:
        clock.set(round(t * US))
        out.append(made.stamp(np.zeros(1600, dtype=np.float32)))
    return out


def test_blocks_join_without_a_seam_though_they_arrive_unevenly() -> None:
    out = blocks([0.1, 0.25, 0.3, 0.48, 0.5, 0.61])
    steps = [b.t - a.t for a, b in pairwise(out)]
    assert all(abs(step - 100_000) <= 20 for step in steps)
    assert out[0].t == 0


def test_lost_sound_moves_the_count_to_the_clock() -> None:
    out = blocks([0.1, 0.2, 5.3, 5.4])
    assert [round(b.t / US, 1) for b in out] == [0.0, 0.1, 5.2, 5.3]


def test_a_crystal_that_runs_fast_is_drawn_back_to_the_clock() -> None:
    """100 parts per million over an hour: 0.36 s if nobody looked."""
    out = blocks([0.1 * (i + 1) * (1 - 1e-4) for i in range(36_000)])
    wrong = [abs(b.t / US - 0.1 * i * (1 - 1e-4)) for i, b in enumerate(out)]
    assert max(wrong) < 0.01
    assert all(b.t >= a.t for a, b in pairwise(out))


def test_a_file_can_stand_in_for_the_microphone(tmp_path: Path) -> None:
    time = SteadyTime(ReplayClock(7 * US))
    assert live_sound("none", time) is None
    with pytest.raises(MissingFile):
        live_sound(str(tmp_path / "x.wav"), time)
    source = live_sound("default", time)
    assert source is not None
    assert source.describe() == "microphone default"


def _microphone() -> Pump[Pcm, Sound]:
    return Pump(MicrophoneDriver, SoundClock(SteadyTime(SystemClock())).stamp, keep=100, error=AudioError)


@pytest.mark.audio
def test_what_is_played_into_the_virtual_microphone_is_heard(
    virtual_microphone: None, tmp_path: Path, media: ModuleType
) -> None:
    tone = [0.5 * float(np.sin(2 * np.pi * 440 * i / 16_000)) for i in range(4 * 16_000)]
    wav = media.write_wav(tmp_path / "tone.wav", tone, rate=16_000)
    pump = _microphone()
    pump.open(OPEN)
    assert pump.read(60) is not None
    heard: deque[Sound] = deque(maxlen=-(-16_000 // len(pump.read(60).pcm)))  # type: ignore[union-attr]  # a second
    for _ in range(10):  # a starved machine loses sound: one whole second of it is enough
        with subprocess.Popen(["paplay", "--device=micfeed", str(wav)]) as player:
            while player.poll() is None and not _whole(heard):
                if (sound := pump.read(5)) is not None:
                    heard.append(sound)
            player.kill()
        if _whole(heard):
            break
    pump.close()
    assert _whole(heard)


def _whole(heard: Sequence[Sound]) -> bool:
    """Whether this is a second of the tone without a hole."""
    pcm = np.concatenate([np.zeros(0, np.float32), *(s.pcm for s in heard)])
    joined = all(abs(b.t - a.t - len(a.pcm) * US // 16_000) <= 20 for a, b in pairwise(heard))
    return len(pcm) >= 16_000 and joined and int(np.abs(np.fft.rfft(pcm[-16_000:])).argmax()) == 440


@pytest.mark.audio
def test_a_lost_microphone_comes_back_with_its_gap(virtual_microphone: None) -> None:
    drivers: list[MicrophoneDriver] = []

    def make() -> MicrophoneDriver:
        drivers.append(MicrophoneDriver())
        return drivers[-1]

    clock = SystemClock()
    time = SteadyTime(clock)
    settings = Capture(backoff_s=0.2, backoff_max_s=0.4, stale_s=60)  # a busy machine takes its time
    feed = LiveFeed(Pump(make, SoundClock(time).stamp, error=AudioError), settings, clock, time, "r", "microphone")
    items: list[Sound | Gap] = []
    while len(items) < 5:
        items += feed.poll(OPEN, 0.5)
    child = drivers[-1]._child
    assert child is not None
    child.kill()
    while not any(isinstance(item, Gap) for item in items):
        items += feed.poll(OPEN, 0.5)
    feed.close()
    assert [g.reason for g in feed.gaps] == ["The microphone stopped: check that it is connected."]
    assert isinstance(items[-1], Sound)


def test_without_a_sound_device_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The real child, with no server and no card to be found."""
    pytest.importorskip("pyaudio")
    config = tmp_path / "asound.conf"
    config.write_text("pcm.!default { type hw card 31 }\n")
    monkeypatch.setenv("ALSA_CONFIG_PATH", str(config))
    monkeypatch.setenv("PULSE_SERVER", "unix:/nonexistent")
    driver = MicrophoneDriver()
    with pytest.raises(AudioError) as caught:
        driver.open(OPEN)
        driver.take(OPEN)
    driver.release()
    assert str(caught.value) == "There is no microphone: connect one, or set capture.mic to none."
