from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from voice_support import share_heard

from edge.bus import Bus
from edge.clock import US, SystemClock
from edge.errors import AudioError
from edge.messages import Say
from edge.voice import portaudio
from edge.voice.pcm import level_db
from edge.voice.player import Player, open_player
from edge.voice.queue import ALERT, ANSWER
from edge.voice.service import VoiceService
from models import ASR, TTS, Loader, Registry
from models.backends.fake import FakeTTS
from models.errors import ModelError
from models.roles import AudioChunk

pytestmark = pytest.mark.realtime

NEVER = threading.Event()


def tone(hertz: float, seconds: float, rate: int = 22_050) -> AudioChunk:
    return AudioChunk(
        (9_000 * np.sin(2 * np.pi * hertz * np.arange(int(seconds * rate)) / rate)).astype(np.int16), rate
    )


def heard(pcm: np.ndarray, hertz: float, rate: int = 16_000) -> float:
    """Seconds in which a tone of this pitch is the loudest sound."""
    step = rate // 20
    count = 0
    for begin in range(0, len(pcm) - step, step):
        block = pcm[begin : begin + step]
        if level_db(block) > -40:
            spectrum = np.abs(np.fft.rfft(block * np.hanning(step)))
            count += abs(int(spectrum.argmax()) * 20 - hertz) <= 25
    return count / 20


@pytest.fixture
def player(virtual_audio: object) -> Iterator[Player]:
    opened = open_player("default")
    assert opened.problem == ""
    yield opened
    opened.close()


def settled(recorded: Callable[[], np.ndarray]) -> np.ndarray:
    """What was recorded, once it is silent behind the last sound: the server hands it on late on a busy machine."""
    for _ in range(3000):
        pcm = recorded()
        loud = np.flatnonzero(np.abs(pcm.astype(int)) > 1_000)
        if len(loud) and len(pcm) - loud[-1] > 16_000 // 2:
            return pcm
        NEVER.wait(0.02)
    raise AssertionError("nothing was heard")


@pytest.mark.audio
def test_sound_reaches_the_speaker_whole_and_at_its_pitch(virtual_audio: object, player: Player) -> None:
    with virtual_audio.recording() as recorded:  # type: ignore[attr-defined]
        played = player.play([tone(440, 0.5), tone(880, 0.5, 16_000)], NEVER)
        pcm = settled(recorded)
    assert played.complete
    assert played.seconds == pytest.approx(1.0, abs=0.01)
    assert heard(pcm, 440) >= 0.4
    assert heard(pcm, 880) >= 0.4
    loud = np.flatnonzero(np.abs(pcm.astype(int)) > 1_000)
    assert (loud[-1] - loud[0]) / 16_000 >= 0.95  # the last word is not cut off


@pytest.mark.audio
def test_a_stop_falls_silent_at_once_and_the_next_is_heard(virtual_audio: object, player: Player) -> None:
    stop = threading.Event()

    def endless() -> Iterator[AudioChunk]:
        yield tone(440, 0.3)
        threading.Timer(0.3, stop.set).start()
        while True:
            yield tone(440, 5.0)

    with virtual_audio.recording() as recorded:  # type: ignore[attr-defined]
        played = player.play(endless(), stop)
        first = settled(recorded)
        again = player.play([tone(880, 0.3)], NEVER)
        second = settled(lambda: recorded()[len(first) :])
    assert not played.complete
    assert played.seconds < 60, "it had no end"
    assert 0.2 <= heard(first, 440) < 60
    assert again.complete
    assert heard(second, 880) >= 0.2
    assert heard(second, 440) == 0.0


@pytest.mark.audio
def test_a_server_that_dies_is_an_error_and_its_return_is_noticed(virtual_audio: object, player: Player) -> None:
    def chunks() -> Iterator[AudioChunk]:
        yield tone(440, 0.2)
        virtual_audio("stop")  # type: ignore[operator]
        for _ in range(60):
            yield tone(440, 0.2)

    try:
        with pytest.raises(AudioError, match="lost"):
            player.play(chunks(), NEVER)
        assert "lost" in player.problem
        with pytest.raises(AudioError, match="no speaker"):
            player.play([tone(440, 0.1)], NEVER)
        missing = open_player("default")
        assert "no speaker" in missing.problem
        with pytest.raises(AudioError):
            missing.play([tone(440, 0.1)], NEVER)
    finally:
        virtual_audio("start")  # type: ignore[operator]
    for returned in (player, missing):
        with virtual_audio.recording() as recorded:  # type: ignore[attr-defined]
            assert returned.play([tone(440, 0.3)], NEVER).complete
            assert heard(settled(recorded), 440) >= 0.2
        assert returned.problem == ""
        returned.close()


@pytest.mark.audio
def test_a_warning_waits_for_the_speaker_to_return(
    virtual_audio: object, player: Player, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edge.voice.service.RETRY_S", 0.2)
    virtual_audio("stop")  # type: ignore[operator]
    bus, stop, clock = Bus(), threading.Event(), SystemClock()
    service = VoiceService(bus, FakeTTS(), player, clock)
    thread = threading.Thread(target=service.run, args=(stop,))
    thread.start()
    try:
        bus.publish(Say("Mind the stove.", ALERT, "alert", clock.mono() + 600 * US))
        for _ in range(3000):
            if service.health()["state"] == "down":
                break
            NEVER.wait(0.02)
        assert "no speaker" in str(service.health()["detail"])
        virtual_audio("start")  # type: ignore[operator]
        with virtual_audio.recording() as recorded:  # type: ignore[attr-defined]
            assert service.drain(120)
            assert level_db(settled(recorded)) > -50
        assert service.health()["state"] == "ok"
    finally:
        stop.set()
        thread.join(60)
        virtual_audio("start")  # type: ignore[operator]


@pytest.mark.audio
def test_a_device_is_chosen_by_a_part_of_its_name(virtual_audio: object) -> None:
    chosen = open_player("PULS")
    try:
        with virtual_audio.recording() as recorded:  # type: ignore[attr-defined]
            assert chosen.play([tone(660, 0.3)], NEVER).complete
            assert heard(settled(recorded), 660) >= 0.2
    finally:
        chosen.close()
    absent = open_player("Moon Base Headset")
    assert "choose one of: " in absent.problem
    assert "pulse" in absent.problem
    absent.close()


@pytest.mark.audio
@pytest.mark.slow
def test_what_is_spoken_can_be_understood(virtual_audio: object, player: Player, tmp_path: Path) -> None:
    loader = Loader(Registry(tmp_path / "models", tmp_path / "cache"))
    try:
        voice, ear = loader.load(TTS).model, loader.load(ASR).model
    except ModelError as error:
        pytest.skip(str(error))
    bus, stop = Bus(), threading.Event()
    service = VoiceService(bus, voice, player, SystemClock())
    thread = threading.Thread(target=service.run, args=(stop,))
    thread.start()
    try:
        with virtual_audio.recording() as recorded:  # type: ignore[attr-defined]
            text = "You left the keys on the kitchen table at 14:05. The stove is off."
            bus.publish(Say(text, ANSWER, "answer"))
            assert service.drain(120)
            pcm = settled(recorded).astype(np.float32) / 32_768
        words = " ".join(segment.text for segment in ear.transcribe(pcm))
        assert share_heard(text, words) >= 0.75, words
    finally:
        stop.set()
        thread.join(60)
        loader.close()


@pytest.mark.audio
def test_the_library_does_not_write_on_the_terminal(virtual_audio: object, capfd: pytest.CaptureFixture[str]) -> None:
    opened = open_player("default")
    opened.play([tone(440, 0.1)], NEVER)
    opened.close()
    os.write(2, b"own words\n")
    assert capfd.readouterr().err == "own words\n"


def test_a_driver_that_hangs_costs_an_error_and_not_the_voice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portaudio, "HANG_S", 0.3)
    release = threading.Event()

    class Stream:
        def write(self, data: bytes) -> None:
            release.wait(60)

        def stop_stream(self) -> None: ...
        def close(self) -> None: ...

    class Driver:
        """What PortAudio shows of a device whose driver never returns."""

        paInt16 = 8

        def PyAudio(self) -> Driver:
            return self

        def get_device_count(self) -> int:
            return 1

        def get_device_info_by_index(self, index: int) -> dict[str, object]:
            return {"index": 0, "name": "Stuck Speaker", "maxOutputChannels": 2, "defaultSampleRate": 48_000.0}

        def get_default_output_device_info(self) -> dict[str, object]:
            return self.get_device_info_by_index(0)

        def is_format_supported(self, rate: int, **_: object) -> bool:
            return rate == 48_000

        def open(self, **_: object) -> Stream:
            return Stream()

        def terminate(self) -> None: ...

    player = portaudio.PyAudioPlayer("stuck", portaudio._Library(Driver()))
    with pytest.raises(AudioError, match="taken no sound"):
        player.play([tone(440, 1.0)], NEVER)
    with pytest.raises(AudioError, match="still takes no sound"):
        player.play([tone(440, 1.0)], NEVER)
    release.set()
    player._writer.join(60)  # type: ignore[union-attr]
    assert player.play([tone(440, 0.2)], NEVER).complete
    assert player.problem == ""
    player.close()
