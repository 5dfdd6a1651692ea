from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from edge.errors import AudioError
from edge.voice import command
from edge.voice.command import CommandPlayer
from edge.voice.pcm import level_db
from edge.voice.player import NullPlayer, open_player
from models.roles import AudioChunk

pytestmark = pytest.mark.realtime

NEVER = threading.Event()


def tone(seconds: float, rate: int = 22_050) -> AudioChunk:
    return AudioChunk((9_000 * np.sin(2_764 * np.arange(int(seconds * rate)) / rate)).astype(np.int16), rate)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that is the whole PATH, and PyAudio not installed."""
    monkeypatch.setitem(sys.modules, "pyaudio", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def program(folder: Path, text: str) -> str:
    path = folder / "aplay"
    path.write_text("#!/bin/sh\nPATH=/usr/bin:/bin\n" + text)
    path.chmod(0o755)
    return str(path)


def test_without_pyaudio_a_program_speaks_and_without_either_the_reason_is_seen(programs: Path) -> None:
    silent = open_player("default")
    assert isinstance(silent, NullPlayer)
    assert ".[audio]" in silent.problem
    program(programs, f'cat > {programs}/heard; echo "$@" > {programs}/said')
    speaking = open_player("hw:1")
    assert isinstance(speaking, CommandPlayer)
    played = speaking.play([tone(0.5), tone(0.5, 16_000)], NEVER)
    assert (played.complete, round(played.seconds, 2)) == (True, 1.0)
    assert len((programs / "heard").read_bytes()) == 2 * 22_050
    assert "-r 22050" in (programs / "said").read_text()
    assert "-D hw:1" in (programs / "said").read_text()


@pytest.mark.parametrize(
    "text",
    [
        "echo 'aplay: main:831: audio open error: No such device' >&2; exit 1",
        "head -c 5000 > /dev/null; echo 'No such device' >&2; exit 1",
    ],
)
def test_what_the_program_complains_of_is_the_problem(tmp_path: Path, text: str) -> None:
    player = CommandPlayer(program(tmp_path, text))
    for _ in range(2):
        with pytest.raises(AudioError, match="No such device"):
            player.play([tone(1.0)], NEVER)
    assert "No such device" in player.problem
    program(tmp_path, "cat > /dev/null")
    assert player.play([tone(0.1)], NEVER).complete
    assert player.problem == ""


def test_a_program_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "HANG_S", 1.0)
    with pytest.raises(AudioError, match="taken no sound"):
        CommandPlayer(program(tmp_path, "exec sleep 60")).play([tone(1.0)], NEVER)
    with pytest.raises(AudioError, match="come to an end"):
        CommandPlayer(program(tmp_path, "cat > /dev/null; exec sleep 60")).play([tone(0.1)], NEVER)


def test_a_stop_ends_it_at_once(tmp_path: Path) -> None:
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    played = CommandPlayer(program(tmp_path, "exec sleep 60")).play([tone(9.0)], stop)
    assert not played.complete
    assert played.seconds < 9


def test_a_program_that_is_gone_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(AudioError, match="install it anew"):
        CommandPlayer(str(tmp_path / "aplay")).play([tone(0.1)], NEVER)


@pytest.mark.audio
def test_pacat_plays_on_the_virtual_speaker(virtual_audio: object) -> None:
    player = CommandPlayer("pacat")
    with virtual_audio.recording() as recorded:  # type: ignore[attr-defined]
        assert player.play([tone(0.5)], NEVER).complete
        for _ in range(3000):  # the server hands it on late on a busy machine
            pcm = recorded()
            steps = np.abs(pcm[: len(pcm) // 160 * 160].reshape(-1, 160).astype(int)).max(axis=1) > 1_000
            if steps.sum() >= 45 and not steps[-30:].any():
                break
            NEVER.wait(0.02)
    assert steps.sum() / 100 == pytest.approx(0.5, abs=0.05), "where it is starved there are holes between"
    assert level_db(pcm[: len(steps) * 160].reshape(-1, 160)[steps].reshape(-1)) > -20
    with pytest.raises(AudioError, match="cannot be used"):
        CommandPlayer("pacat", "moon_base").play([tone(0.5)], NEVER)
