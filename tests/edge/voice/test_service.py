from __future__ import annotations

import threading
import wave
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from edge.bus import Bus
from edge.clock import US, SystemClock
from edge.errors import AudioError
from edge.messages import Health, Say
from edge.voice import maker
from edge.voice.player import NullPlayer, Played, Player, WavPlayer
from edge.voice.queue import ALERT, ANSWER, CRITICAL, NOTICE
from edge.voice.service import VoiceService
from models.backends.fake import FakeTTS
from models.errors import OutputError
from models.roles import AudioChunk


class Spelling:
    """A voice whose sound spells its words, so that a test can read back what was heard, and when it was made."""

    id = name = "spelling"

    def __init__(self) -> None:
        self.made: list[str] = []

    def synthesize(self, text: str) -> Iterator[AudioChunk]:
        self.made.append(text)
        if "unspeakable" in text:
            raise OutputError("The voice made nothing of that.")
        yield AudioChunk(np.frombuffer(text.encode("utf-16-le"), np.int16), 16_000)

    def close(self) -> None:
        pass


class Ear:
    """A player that holds each chunk until it is let go, and reads it."""

    name = "ear"
    silent = False

    def __init__(self, *, held: bool = False) -> None:
        self.problem = ""
        self.heard: list[str] = []
        self.broken = False
        self.gate = threading.Semaphore(0)
        self.held = held
        self.playing = threading.Event()

    def play(self, chunks: Iterable[AudioChunk], stop: threading.Event) -> Played:
        seconds = 0.0
        for chunk in chunks:
            if self.broken:
                raise AudioError("The speaker was lost: connect it again.")
            self.playing.set()
            while self.held and not stop.is_set():
                if self.gate.acquire(timeout=0.01):
                    break
            if stop.is_set():
                break
            self.heard.append(chunk.pcm.tobytes().decode("utf-16-le"))
            seconds += len(chunk.pcm) / chunk.rate
        self.playing.clear()
        return Played(seconds, complete=not stop.is_set())

    def close(self) -> None:
        pass


@contextmanager
def voice(player: Player, tts: object | None = None) -> Iterator[tuple[Bus, VoiceService]]:
    bus, stop = Bus(), threading.Event()
    service = VoiceService(bus, tts or Spelling(), player, SystemClock())  # type: ignore[arg-type]
    thread = threading.Thread(target=service.run, args=(stop,))
    thread.start()
    try:
        yield bus, service
    finally:
        stop.set()
        thread.join(60)
        assert not thread.is_alive()


def until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    for _ in range(int(seconds / 0.005)):
        if true():
            return
        threading.Event().wait(0.005)
    raise AssertionError("it did not come true")


def test_a_say_on_the_bus_is_heard_sentence_by_sentence() -> None:
    ear = Ear()
    with voice(ear) as (bus, service):
        bus.publish(Say("It is 14:05. The keys lie on the table [window 3].", ANSWER, "answer"))
        assert service.drain(60)
        health = service.health()
    assert ear.heard == ["It is two oh five p m.", "The keys lie on the table."]
    assert (health["state"], health["spoken"], health["unspoken"], health["last_source"]) == ("ok", 1, 0, "answer")
    assert isinstance(health["first_sound_ms"], int)


def test_the_first_sentence_plays_before_the_last_is_made() -> None:
    ear, tts = Ear(held=True), Spelling()
    with voice(ear, tts) as (bus, service):
        bus.publish(Say(" ".join(f"Sentence {number}." for number in range(20)), ANSWER, "answer"))
        assert ear.playing.wait(60)
        made = len(tts.made)
        ear.held = False
        assert service.drain(60)
    assert made < 20
    assert len(ear.heard) == 20


def test_priorities_hold_while_something_is_said() -> None:
    ear = Ear(held=True)
    with voice(ear) as (bus, service):
        bus.publish(Say("First.", ALERT, "alert"))
        assert ear.playing.wait(60)
        now = service._clock.mono()
        bus.publish(
            [
                Say("Low.", NOTICE, "device"),
                Say("Stale.", ALERT, "alert", now - 1),
                Say("Alert.", ALERT, "alert"),
                Say("Answer.", ANSWER, "answer"),
            ]
        )
        until(lambda: service.health()["waiting"] == 3)
        assert service.speaking == Say("First.", ALERT, "alert")
        ear.held = False
        assert service.drain(60)
        assert service.health()["dropped"] == {"stale": 1}
        assert service.speaking is None
    assert ear.heard == ["First.", "Answer.", "Alert.", "Low."]


def test_the_critical_cuts_in_and_the_answer_goes_on_with_its_sentence() -> None:
    ear = Ear(held=True)
    with voice(ear) as (bus, service):
        bus.publish(Say("One. Two. Three.", ANSWER, "answer"))
        ear.gate.release()
        until(lambda: ear.heard == ["One."])
        bus.publish(Say("Careful, a car!", CRITICAL, "alert"))
        until(lambda: service.speaking is not None and service.speaking.priority == CRITICAL)
        ear.held = False
        assert service.drain(60)
        assert service.health()["spoken"] == 2
    assert ear.heard == ["One.", "Careful, a car!", "Two.", "Three."]


def test_hush_ends_what_is_said_and_what_waits_but_no_critical_warning() -> None:
    ear = Ear(held=True)
    with voice(ear) as (bus, service):
        assert not service.hush()
        bus.publish([Say("One. Two.", ANSWER, "answer"), Say("Waits.", ALERT, "alert")])
        assert ear.playing.wait(60)
        until(lambda: service.health()["waiting"] == 1)
        assert not service.hush("alert")
        assert service.hush()
        assert service.drain(60)
        assert ear.heard == []
        bus.publish(Say("A car!", CRITICAL, "alert"))
        assert ear.playing.wait(60)
        assert not service.hush()
        assert service.hush(critical=True)
        ear.held = False
        bus.publish(Say("After.", ANSWER, "answer"))
        assert service.drain(60)
    assert ear.heard == ["After."]


def test_a_lost_speaker_is_told_once_and_a_fresh_warning_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edge.voice.service.RETRY_S", 0.05)
    ear = Ear()
    ear.broken = True
    with voice(ear) as (bus, service):
        told = bus.subscribe("health")
        soon = service._clock.mono() + 60 * US
        bus.publish(Say("An answer.", ANSWER, "answer"))
        bus.publish(Say("Mind the stove.", ALERT, "alert", soon))
        until(lambda: service.health()["state"] == "down")
        assert "connect it again" in str(service.health()["detail"])
        threading.Event().wait(0.2)  # some attempts fail
        ear.broken = False
        assert service.drain(60)
        assert service.health()["state"] == "ok"
        assert service.health()["unspoken"] == 1
        states = [told.get(1), told.get(1)]
        assert told.backlog() == 0
    assert [(m.part, m.state) for m in states if isinstance(m, Health)] == [("voice", "down"), ("voice", "ok")]
    assert ear.heard == ["Mind the stove."]


def test_a_voice_that_fails_on_one_text_speaks_the_next() -> None:
    ear = Ear()
    with voice(ear) as (bus, service):
        bus.publish([Say("Good. Then unspeakable.", ANSWER, "answer"), Say("Better.", ALERT, "alert")])
        assert service.drain(60)
        assert service.health()["unspoken"] == 1
        assert service.health()["state"] == "ok"
    assert ear.heard == ["Good.", "Better."]


def test_a_voice_that_hangs_is_given_up_and_said_to_be_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maker, "SLOW_S", 0.2)
    release = threading.Event()

    class Hanging(Spelling):
        def synthesize(self, text: str) -> Iterator[AudioChunk]:
            release.wait(20)
            yield from super().synthesize(text)

    ear = Ear()
    with voice(ear, Hanging()) as (bus, service):
        bus.publish(Say("One.", ANSWER, "answer"))
        until(lambda: service.health()["unspoken"] == 1)
        assert "makes no sound" in str(service.health()["detail"])
        bus.publish(Say("Two.", ANSWER, "answer"))
        until(lambda: service.health()["unspoken"] == 2)
        assert "stuck" in str(service.health()["detail"])
        release.set()
        until(lambda: not service._maker._worker.is_alive())  # type: ignore[union-attr]
        bus.publish(Say("Three.", ANSWER, "answer"))
        assert service.drain(60)
    assert ear.heard == ["Three."]


def test_without_sound_nothing_is_made_and_the_reason_is_seen() -> None:
    tts = Spelling()
    with voice(NullPlayer("PyAudio is not installed."), tts) as (bus, service):
        told = bus.subscribe("health")
        bus.publish(Say("One.", ANSWER, "answer"))
        assert service.drain(60)
        assert service.health()["state"] == "down"
        assert service.health()["detail"] == "PyAudio is not installed."
        del told
    assert tts.made == []


def test_without_a_voice_the_reason_is_seen() -> None:
    service = VoiceService(Bus(), None, Ear(), SystemClock())
    assert service.health()["state"] == "down"
    assert "doctor" in str(service.health()["detail"])
    assert VoiceService(Bus(), None, NullPlayer(), SystemClock()).health()["state"] == "ok"


def test_stop_ends_it_in_the_middle_of_a_word() -> None:
    ear = Ear(held=True)
    with voice(ear) as (bus, _):
        bus.publish(Say("A long story.", ANSWER, "answer"))
        assert ear.playing.wait(60)
    assert ear.heard == []  # and the thread has ended: `voice` asserts it


def test_drain_does_not_lie(tmp_path: Path) -> None:
    player = WavPlayer(tmp_path / "out.wav")
    with voice(player, FakeTTS()) as (bus, service):
        for number in range(16):
            bus.publish(Say(f"Number {number} is said.", ANSWER, "answer"))
        assert service.drain(60)
        assert service.health()["spoken"] == 16
    player.close()
    with wave.open(str(tmp_path / "out.wav")) as file:
        seconds = file.getnframes() / file.getframerate()
    assert seconds == pytest.approx(16 * 4 * 0.2 + 15 * 0.3, abs=0.01)


def test_drain_gives_up_in_time() -> None:
    ear = Ear(held=True)
    with voice(ear) as (bus, service):
        bus.publish(Say("Held.", ANSWER, "answer"))
        assert ear.playing.wait(60)
        assert not service.drain(0.1)


def test_an_error_nobody_foresaw_ends_the_loop_and_the_next_loop_goes_on() -> None:
    class Faulty(Ear):
        def play(self, chunks: Iterable[AudioChunk], stop: threading.Event) -> Played:
            if not self.broken:
                self.broken = True
                raise ZeroDivisionError
            self.broken = False
            return super().play(chunks, stop)

    ear, bus, stop = Faulty(), Bus(), threading.Event()
    service = VoiceService(bus, Spelling(), ear, SystemClock())
    bus.publish([Say("One.", ANSWER, "answer"), Say("Two.", ANSWER, "answer")])
    with pytest.raises(ZeroDivisionError):
        service.run(stop)
    assert service.speaking is None
    again = threading.Thread(target=service.run, args=(stop,))
    again.start()
    assert service.drain(60)
    stop.set()
    again.join(60)
    assert ear.heard == ["Two."]
