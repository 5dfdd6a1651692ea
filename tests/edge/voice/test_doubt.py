"""A wake word that was not clear is looked at by the recogniser before anything is done about it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest
from voice_support import Mind

from edge.bus import Bus
from edge.clock import ReplayClock
from edge.messages import Sound
from edge.voice.hearing import Hearing
from edge.voice.intent import says
from edge.voice.listener import FRAME, FRAME_US, Listener, Settings
from edge.voice.player import NullPlayer
from edge.voice.service import VoiceService
from edge.voice.wake import REFRACTORY_S, Called, Ears
from models.errors import ModelDownError
from models.roles import SpeechSegment

BEGIN = 10**12


class Doubtful:
    """A wake word that hears its phrase in loud sound; one sound in it is clear."""

    def __init__(self) -> None:
        self.sure = False

    def feed(self, pcm: np.ndarray) -> str | None:
        self.sure = bool(pcm[0] > 20_000)
        return "Hey Jarvis" if pcm[0] > 10_000 else None

    def reset(self) -> None: ...


class Desk:
    """A listener without threads but the recogniser's, which says what it is told to."""

    def __init__(self) -> None:
        self.text: str | None = ""
        self.asked: list[np.ndarray] = []
        bus, clock = Bus(), ReplayClock(BEGIN)
        vad = SimpleNamespace(probability=lambda pcm: float(pcm[0] > 0), reset=lambda: None)
        hearing = Hearing(lambda: [Doubtful()], list, lambda: vad, lambda: self)  # type: ignore[list-item,return-value]
        hearing.load()
        self.asked.clear()
        self.mind = Mind()
        self.listener = Listener(
            bus, VoiceService(bus, None, NullPlayer(), clock), self.mind, hearing, clock, Settings()
        )
        self.listener._decoder.start()
        self._at = BEGIN

    def transcribe(self, pcm: np.ndarray) -> tuple[SpeechSegment, ...]:
        self.asked.append(pcm)
        if self.text is None:
            raise ModelDownError("Nobody answers there: start the service.")
        return (SpeechSegment(0.0, 1.0, self.text, 0.9),)

    def hear(self, level: float, frames: int = 1) -> None:
        for _ in range(frames):
            self.listener.hear(Sound(self._at, 0, np.full(FRAME, level, np.float32)))
            self._at += FRAME_US

    def answer(self) -> None:
        """Let the recogniser finish, and take what it says."""
        never = threading.Event()
        for _ in range(3000):
            if not self.listener._decoder.busy:
                break
            never.wait(0.01)
        self.listener._bring()

    @property
    def turn(self) -> object:
        return self.listener.health()["turn"]


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    yield made
    made.listener._decoder.stop()


def test_it_begins_a_turn_when_the_recogniser_hears_it_with_all_that_was_said_since(desk: Desk) -> None:
    desk.hear(0.01, 60)
    desk.text = "Hey, Jarvis."
    desk.hear(0.4)
    desk.hear(0.2, 20)  # goes on while the recogniser is at it
    assert desk.turn is None
    desk.answer()
    assert desk.turn == "wake"
    listener = desk.listener
    assert len(listener._sound) == listener._pre + 20
    assert listener._turns._ear.steps == 20
    assert listener._turns._ear.began
    assert len(listener._ring) == 81
    desk.hear(0.4)  # the same word, once more
    desk.answer()
    assert listener.timing.turns == 1


def test_it_does_not_when_something_alike_was_said(desk: Desk) -> None:
    desk.text = "Hey Charles, come here."
    desk.hear(0.01, 60)
    desk.hear(0.4)
    desk.answer()
    assert (desk.turn, len(desk.asked)) == (None, 1)
    assert len(desk.asked[0]) < 2 * 16_000
    desk.hear(0.8)  # clear: nobody is asked
    assert (desk.turn, len(desk.asked)) == ("wake", 1)
    desk.hear(0.4)  # nor in a turn
    assert len(desk.asked) == 1


def test_without_a_recogniser_it_counts(desk: Desk) -> None:
    desk.text = None
    desk.hear(0.4)
    desk.answer()
    assert desk.turn == "wake"


def test_of_two_words_at_once_the_clear_one_is_taken_and_a_doubt_does_not_deafen() -> None:
    def word(phrase: str, sure: bool) -> SimpleNamespace:
        return SimpleNamespace(feed=lambda _: phrase, sure=sure, reset=lambda: None)

    nothing = np.zeros(FRAME, np.float32)
    ears = Ears([word("a", sure=False), word("b", sure=True)], [word("c", sure=False)])  # type: ignore[list-item]
    assert ears.feed(nothing, BEGIN) == Called("wake", "b")
    assert ears.feed(nothing, BEGIN + 1) is None
    ears = Ears([word("a", sure=False)])  # type: ignore[list-item]
    assert [ears.feed(nothing, BEGIN + n) for n in range(2)] == [Called("wake", "a", sure=False)] * 2
    ears.rest(BEGIN)
    assert ears.feed(nothing, BEGIN + round(REFRACTORY_S * 1e6) - 1) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [("Hey Jarvis", True), ("and then, hey Jervis, what?", True), ("Hey Charles, come here.", False), ("", False),
     ("Hey Janice.", False), ("Hey Travis, how are you?", False), ("Jarvis", True)],
)  # fmt: skip
def test_what_the_recogniser_heard_is_the_phrase_or_something_alike(text: str, said: bool) -> None:
    assert says(text, "Hey Jarvis") is said
