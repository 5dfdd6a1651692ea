from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import wave
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from edge.errors import AudioError, ConfigError
from edge.voice.player import NullPlayer, WavPlayer, open_player
from models.roles import AudioChunk

NEVER = threading.Event()


def chunk(seconds: float = 0.5, rate: int = 22_050, value: int = 1_000) -> AudioChunk:
    return AudioChunk(np.full(int(seconds * rate), value, np.int16), rate)


def read(path: Path) -> tuple[int, np.ndarray]:
    with wave.open(str(path)) as file:
        assert (file.getnchannels(), file.getsampwidth()) == (1, 2)
        return file.getframerate(), np.frombuffer(file.readframes(file.getnframes()), "<i2")


def test_utterances_follow_each_other_in_one_file(tmp_path: Path) -> None:
    player = open_player(str(tmp_path / "out.wav"))
    assert player.play([chunk(), chunk(value=2_000)], NEVER).seconds == pytest.approx(1.0)
    rate, pcm = read(tmp_path / "out.wav")  # while it is open
    assert (rate, len(pcm)) == (22_050, 22_050)
    assert player.play([chunk(rate=16_000)], NEVER).complete
    player.close()
    rate, pcm = read(tmp_path / "out.wav")
    assert len(pcm) == 22_050 + int(0.3 * 22_050) + 11_025  # a pause, then the other rate brought to the file's
    assert abs(int(pcm[-5_000]) - 1_000) <= 2
    assert (tmp_path / "out.wav").stat().st_mode & 0o777 == 0o600


def test_a_stop_ends_it_between_chunks(tmp_path: Path) -> None:
    stop = threading.Event()

    def chunks() -> Iterator[AudioChunk]:
        yield chunk()
        stop.set()
        yield chunk()

    player = WavPlayer(tmp_path / "out.wav")
    played = player.play(chunks(), stop)
    player.close()
    assert (played.seconds, played.complete) == (0.5, False)


def test_a_file_of_its_own_is_continued_and_another_refused(tmp_path: Path) -> None:
    for _ in range(2):
        player = WavPlayer(tmp_path / "out.wav")
        player.play([chunk()], NEVER)
        player.close()
        player.close()
    assert len(read(tmp_path / "out.wav")[1]) == 2 * 11_025 + int(0.3 * 22_050)
    with wave.open(str(tmp_path / "stereo.wav"), "wb") as file:
        file.setparams((2, 2, 16_000, 0, "NONE", ""))
        file.writeframes(bytes(64))
    (tmp_path / "notes.wav").write_text("shopping list")
    for name in ("stereo.wav", "notes.wav"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(AudioError, match="move it away"):
            WavPlayer(tmp_path / name)
        assert (tmp_path / name).read_bytes() == before


def test_a_killed_process_leaves_a_whole_file(tmp_path: Path) -> None:
    code = """
import sys, threading, numpy as np
from pathlib import Path
from edge.voice.player import WavPlayer
from models.roles import AudioChunk
player, count = WavPlayer(Path(sys.argv[1])), 0
while True:
    player.play([AudioChunk(np.full(7_000, 5, np.int16), 16_000)] * 3, threading.Event())
    print(flush=True)
"""
    path = tmp_path / "out.wav"
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": "."}
    )
    assert child.stdout is not None
    for _ in range(20):
        child.stdout.readline()
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    rate, pcm = read(path)
    assert rate == 16_000
    assert len(pcm) >= 20 * 21_000
    with open(path, "ab") as file:
        file.write(b"half a chunk that no header counts")
    player = WavPlayer(path)
    player.play([AudioChunk(np.full(10, 5, np.int16), 16_000)], NEVER)
    player.close()
    assert len(read(path)[1]) == len(pcm) + 4_800 + 10
    assert path.stat().st_size == 44 + 2 * len(read(path)[1])


def test_what_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(AudioError, match="choose another path"):
        open_player(str(tmp_path / "missing" / "out.wav"))
    with pytest.raises(ConfigError, match=r"ending in \.wav"):
        open_player(str(tmp_path / "out.mp3"))


def test_a_disk_that_fills_is_a_problem_that_passes(tmp_path: Path) -> None:
    player = WavPlayer(tmp_path / "out.wav")
    player.play([chunk()], NEVER)
    whole, player._file = player._file, open("/dev/full", "r+b", buffering=0)  # noqa: SIM115
    with pytest.raises(AudioError, match="free some space"):
        player.play([chunk()], NEVER)
    assert "free some space" in player.problem
    player.close()
    player._file = whole
    player.play([chunk()], NEVER)
    assert player.problem == ""
    player.close()
    assert len(read(tmp_path / "out.wav")[1]) == 2 * 11_025 + int(0.3 * 22_050)


def test_a_file_in_which_nothing_was_said_opens_and_takes_any_rate_later(tmp_path: Path) -> None:
    path = tmp_path / "out.wav"
    silent = WavPlayer(path)
    assert len(read(path)[1]) == 0  # while it is open, and if nobody closes it
    silent.close()
    player = WavPlayer(path)
    player.play([chunk(rate=16_000)], NEVER)
    player.close()
    rate, pcm = read(path)
    assert (rate, len(pcm)) == (16_000, 8_000)


def test_none_leaves_speech_unmade() -> None:
    def never() -> Iterator[AudioChunk]:
        raise AssertionError("nothing should be synthesised")
        yield chunk()

    player = open_player("none")
    assert isinstance(player, NullPlayer)
    assert player.silent
    assert player.problem == ""
    assert player.play(never(), NEVER).complete
