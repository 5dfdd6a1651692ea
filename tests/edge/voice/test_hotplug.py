"""A conversation through a real sound server whose devices change, go, hang and come back meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from voice_support import RATE, Mind, Mouth, calm, share_heard, write_wav

from edge.bus import Bus
from edge.capture.camera import SOUND_KEEP
from edge.capture.live import GRACE_S, LiveCapture
from edge.capture.microphone import MicrophoneDriver, SoundClock
from edge.capture.pump import Pump
from edge.capture.steady import SteadyTime
from edge.capture.windows import WindowMaker
from edge.clock import SystemClock
from edge.config import Capture, Memory
from edge.errors import AudioError
from edge.losing import Losses
from edge.messages import Frame, Say
from edge.voice.echo import OwnVoice
from edge.voice.hearing import Hearing
from edge.voice.listener import Listener, Settings
from edge.voice.player import open_player
from edge.voice.queue import ALERT
from edge.voice.service import VoiceService
from models import ASR, VAD, Loader

pytestmark = [pytest.mark.audio, pytest.mark.realtime, pytest.mark.slow]
NEVER = threading.Event()
LONG = "Where are my keys, and where did I leave them?"
SHORT = "Where are my keys?"
ANSWER = "On the kitchen table."


class Dark:
    """A camera that shows nothing."""

    live = True

    def describe(self) -> str:
        return "dark"

    def open(self, stop: threading.Event) -> None: ...
    def read(self, timeout_s: float) -> Frame | None:
        NEVER.wait(timeout_s)
        return None

    def close(self) -> None: ...


class Stand:
    """A device on the sound server: capture, ears and voice."""

    def __init__(self, audio: Any, loader: Loader, folder: Path) -> None:
        self.audio, self.folder, self.mouth = audio, folder, Mouth(loader)
        self.drivers: list[MicrophoneDriver] = []
        clock, self.bus, own = SystemClock(), Bus(), OwnVoice()
        self.clock, self.mind, self.losses = clock, Mind(), Losses()
        self.mind.answers = {
            "Where are my keys?": [ANSWER],
            "Tell me a story.": ["Once there was a miller.", "He had three sons."],
        }
        self.player = open_player("default")
        self.voice = VoiceService(self.bus, calm(loader), self.player, clock, own=own)
        self.asr = loader.load(ASR, "whisper-tiny.en").model
        hearing = Hearing(list, list, lambda: loader.load(VAD).model, lambda: self.asr)
        self.listener = Listener(self.bus, self.voice, self.mind, hearing, clock, Settings(adapt_volume=False), own)
        time = SteadyTime(clock)
        source = Pump(self._driver, SoundClock(time).stamp, keep=SOUND_KEEP, error=AudioError)
        maker = WindowMaker("r", Memory().growth("wear"), grace_s=GRACE_S)
        soon = Capture(backoff_s=0.3, backoff_max_s=0.3, stale_s=8)  # a busy machine takes its time
        self.capture = LiveCapture(Dark(), source, maker, self.bus, clock, soon, time=time)
        self.stop, self.told = threading.Event(), list[str]()
        self.threads = [
            threading.Thread(target=run, args=(self.stop,), daemon=True)
            for run in (self.voice.run, self.listener.run, self.capture.run, self._watch)
        ]
        for thread in self.threads:
            thread.start()
        self.until(lambda: self.capture.flows()["microphone"] is True)

    def close(self) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join(60)
        self.player.close()
        assert not any(thread.is_alive() for thread in self.threads)

    def _driver(self) -> MicrophoneDriver:
        self.drivers.append(MicrophoneDriver())
        return self.drivers[-1]

    def _watch(self, stop: threading.Event) -> None:
        while not stop.wait(0.05):
            self.told += [kind for kind, _, _ in self.losses.step(self.capture.flows(), self.clock.mono())]

    def until(self, true: Callable[[], bool], seconds: float = 60.0) -> None:
        for _ in range(int(seconds / 0.02)):
            if true():
                return
            NEVER.wait(0.02)
        raise AssertionError("it did not come true")

    def speak(self, text: str, *feeds: str) -> list[subprocess.Popen[bytes]]:
        """Say it to the microphones behind these sinks, all at once; goes on by itself."""
        path = self.folder / f"{abs(hash(text))}.wav"
        if not path.exists():
            pcm = np.concatenate([np.zeros(RATE // 5, np.float32), self.mouth(text), np.zeros(RATE // 5, np.float32)])
            write_wav(path, pcm)
        return [subprocess.Popen(["paplay", f"--device={feed}", str(path)]) for feed in feeds or ("micfeed",)]

    def ask(self, text: str, *feeds: str) -> None:
        """Tap and say something to its end."""
        self.listener.tap()
        self.until(lambda: self.listener.health()["turn"] is not None)
        for speaking in self.speak(text, *feeds):
            assert speaking.wait(60) == 0

    def quiet(self) -> bool:
        return self.listener.idle() and self.voice.idle and not self.bus.backlog().get("voice")

    def words(self, pcm: np.ndarray) -> str:
        return " ".join(s.text for s in self.asr.transcribe(pcm.astype(np.float32) / 32_768)).lower()

    def answers(self) -> None:
        """It is as well as ever: a question is answered, and heard from the speaker."""
        with self.audio.recording() as recorded:
            asked = len(self.mind.answered_)
            for _ in range(4):  # a starved machine may miss one
                self.ask(SHORT)
                self.until(self.quiet)
                if len(self.mind.answered_) > asked:
                    break
            NEVER.wait(0.4)
            words = self.words(recorded())
        assert share_heard(ANSWER, words) >= 0.75, words
        assert self.listener.health()["state"] == "ok"


@pytest.fixture(scope="module")
def stand(virtual_audio: Any, loader: Loader, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    made = Stand(virtual_audio, loader, tmp_path_factory.mktemp("said"))
    yield made
    made.close()


def pactl(*what: str) -> str:
    return subprocess.run(["pactl", *what], capture_output=True, text=True, check=True, timeout=120).stdout.strip()


def test_other_default_devices_in_the_middle_of_a_turn(stand: Stand) -> None:
    """As when a headset is put on while one speaks: it hears the rest of the sentence, and the answer is heard there."""
    loaded = [
        pactl("load-module", "module-null-sink", "sink_name=feed2", "rate=16000", "channels=1"),
        pactl("load-module", "module-remap-source", "source_name=mic2", "master=feed2.monitor"),
        pactl("load-module", "module-null-sink", "sink_name=headset", "rate=48000", "channels=1"),
    ]
    try:
        asked = len(stand.mind.answered_)
        for _ in range(4):  # a starved machine may miss one
            pactl("set-default-source", "mic")
            pactl("set-default-sink", "speaker")
            stand.until(lambda: stand.capture.flows()["microphone"] is True)
            stand.listener.tap()
            stand.until(lambda: stand.listener.health()["turn"] is not None)
            speaking = stand.speak(LONG, "micfeed", "feed2")
            NEVER.wait(1.0)
            pactl("set-default-source", "mic2")
            pactl("set-default-sink", "headset")
            with stand.audio.recording("headset") as recorded:
                assert [s.wait(60) for s in speaking] == [0, 0]
                stand.until(stand.quiet)
                NEVER.wait(0.4)
                heard = stand.words(recorded())
            if len(stand.mind.answered_) > asked:
                break
        assert share_heard(ANSWER, heard) >= 0.75, heard
        assert "where" in stand.mind.answered_[-1].lower()
    finally:
        pactl("set-default-source", "mic")
        pactl("set-default-sink", "speaker")
        for module in reversed(loaded):
            pactl("unload-module", module)
    assert stand.told == []


def test_a_microphone_that_goes_in_mid_sentence_and_comes_back_is_told_once_each(stand: Stand) -> None:
    stand.told.clear()
    stand.listener.tap()
    stand.until(lambda: stand.listener.health()["turn"] is not None)
    speaking = stand.speak(LONG)
    NEVER.wait(1.0)
    stand.audio("unplug-mic")
    try:
        assert [s.wait(60) for s in speaking] == [0]
        stand.until(lambda: stand.listener.health()["turn"] is None)
        stand.until(lambda: stand.told == ["microphone_lost"])
        says = stand.capture.health().sound
        assert "no microphone" in says or "lost" in says
        NEVER.wait(1.0)
    finally:
        stand.audio("replug-mic")
    stand.until(lambda: stand.told == ["microphone_lost", "microphone_back"])
    stand.until(stand.quiet)
    stand.answers()
    assert stand.told == ["microphone_lost", "microphone_back"]


def test_a_speaker_that_goes_in_mid_answer_and_comes_back(stand: Stand) -> None:
    stand.told.clear()
    stand.ask("Tell me a story about a miller.")
    stand.until(lambda: stand.voice.speaking is not None)
    stand.audio("unplug")
    try:
        stand.until(stand.quiet)
    finally:
        stand.audio("replug")
    stand.answers()
    assert stand.voice.health()["state"] == "ok"
    assert stand.told == []


def test_a_microphone_that_hangs_in_mid_sentence_ends_the_turn(stand: Stand) -> None:
    stand.told.clear()
    asked = len(stand.mind.answered_)
    stand.listener.tap()
    stand.until(lambda: stand.listener.health()["turn"] is not None)
    speaking = stand.speak(LONG)
    NEVER.wait(0.8)
    child = stand.drivers[-1]._child
    assert child is not None
    os.kill(child.pid, signal.SIGSTOP)  # it is there, and gives nothing
    assert [s.wait(60) for s in speaking] == [0]
    stand.until(lambda: stand.listener.health()["turn"] is None and stand.quiet())
    stand.until(lambda: stand.drivers[-1]._child is not child)  # given up, and opened anew
    stand.until(lambda: stand.capture.flows()["microphone"] is True)
    assert len(stand.mind.answered_) <= asked + 1
    stand.answers()
    assert stand.told.count("microphone_lost") <= 1


def test_alerts_and_questions_at_once_are_all_said_once(stand: Stand) -> None:
    stand.told.clear()
    with stand.audio.recording() as recorded:
        stand.listener.tap()
        stand.until(lambda: stand.listener.health()["turn"] is not None)
        stand.bus.publish(Say("The stove is still on.", ALERT, "a1"))  # while it listens
        asked = len(stand.mind.answered_)
        for speaking in stand.speak(SHORT):
            assert speaking.wait(60) == 0
        stand.until(lambda: len(stand.mind.answered_) > asked and stand.voice.speaking is not None)
        long = "Drink some water. The bottle is half full."
        stand.bus.publish([Say("The window is open.", ALERT, "a2"), Say(long, ALERT, "a3")])  # while it answers
        stand.until(lambda: stand.voice.speaking is not None and stand.voice.speaking.source == "a3")
        asked = len(stand.mind.answered_)
        stand.ask(SHORT)  # while it alerts
        stand.until(lambda: len(stand.mind.answered_) > asked and stand.quiet())
        NEVER.wait(0.4)
        said = stand.words(recorded())
    places = [said.find(word) for word in ("kitchen", "stove", "window", "water")]
    assert places == sorted(places), said
    assert min(places) >= 0, said
    assert [said.count(word) for word in ("stove", "window", "half full", "kitchen")] == [1, 1, 1, 2], said
    assert said.rfind("kitchen") < said.find("half full"), said
    assert stand.voice.health()["dropped"] == {}
