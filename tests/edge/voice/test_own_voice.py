"""The device beside its own loudspeaker: it does not answer itself, and a person over it is heard.

Sound is put together sample by sample, so that nothing depends on how busy the machine is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from voice_support import RATE, Mouth

from edge.clock import US
from edge.voice.barge import OverVoice
from edge.voice.echo import BLOCK, Canceller, OwnVoice, place
from edge.voice.wake import Ears
from models import VAD, WAKE_WORD, Loader

SAYS = (
    "Hey Jarvis is what you say to wake me.",
    "Your keys are on the kitchen table.",
    "Watch out, a car is coming from the left!",
    "Stop the car and turn around.",
    "You have not had any water since nine. The bottle stands on your desk.",
    "I do not know: nothing in the memory speaks of that.",
    "Forget the last ten minutes? Yes or no?",
    "Anna said that she would come at five, or a little later.",
    "You last watered the tomatoes today at one minute past nine.",
    "You opened the fridge four times this morning, the last time at ten past eleven.",
)


@dataclass
class Count:
    wakes: int = 0
    interruptions: int = 0  # of itself
    heard: int = 0  # persons
    missed: int = 0


class Beside:
    """A loudspeaker beside the microphone: each utterance opens the device anew and has a delay of its own."""

    def __init__(self, loader: Loader, seed: int = 0, *, server: bool = False) -> None:
        """`server`: what it says comes by a sound server that loses and repeats sound, and not through a room."""
        self._server = server
        self.mouth = Mouth(loader)
        self.own = OwnVoice()
        self.echo, self.over = Canceller(self.own), OverVoice()
        self.vad = loader.load(VAD).model
        self.ears = Ears([loader.load(WAKE_WORD).model])
        self.count = Count()
        self._rng = np.random.default_rng(seed)
        self._now = 100 * US

    def say(self, text: str, person: str = "", at_s: float = 1.4) -> None:
        said = self.mouth(text, 0.5)
        self.own.add(said, self._now)
        delay = int((0.1 + 0.08 * self._rng.random()) * RATE)
        way = np.zeros(900)
        way[[0, 170, 700]] = 0.5, 0.15, -0.06
        heard = np.zeros((delay + len(said) + RATE) // 512 * 512, np.float32)
        way = way[:1] if self._server else way
        echo = np.convolve(self._slipped(said), way).astype(np.float32)[: len(heard) - delay]
        heard[delay : delay + len(echo)] += echo
        heard += self._rng.normal(size=len(heard)).astype(np.float32) * np.float32(0.0008)
        begun = len(heard)
        if person:
            voice = self.mouth(person, 0.3)
            begun = int(at_s * RATE)
            heard[begun : begun + len(voice)] += voice[: len(heard) - begun]
        self._listen(heard, begun, bool(person))
        self._now += (len(heard) + RATE) * US // RATE

    def _slipped(self, said: np.ndarray) -> np.ndarray:
        if not self._server:
            return said
        cuts = [0, *np.cumsum(self._rng.integers(RATE // 4, RATE, 40)).tolist()]
        slips = self._rng.integers(-400, 400, 40)
        return np.concatenate([
            said[max(0, low + slip) : high] for low, high, slip in zip(cuts, cuts[1:], slips, strict=False)
        ])  # fmt: skip

    def _listen(self, heard: np.ndarray, begun: int, person: bool) -> None:
        found = False
        self.vad.reset()
        for i in range(0, len(heard), 512):
            start = place(self._now) + i
            left = np.concatenate([self.echo.step(heard[i + k : i + k + BLOCK], start + k) for k in (0, BLOCK)])
            called = self.ears.feed(left, self._now + (i + 512) * US // RATE)
            itself = self.over.itself(self.echo)
            self.count.wakes += called is not None and not itself
            if not self.echo.talking:
                self.over.quiet()
            elif self.over.begun(self.over.chance(self.vad.probability(left), self.echo), self.echo):
                found = found or i >= begun
                self.count.interruptions += i < begun
        self.count.heard += person and found
        self.count.missed += person and not found


def test_it_neither_wakes_nor_interrupts_itself(loader: Loader) -> None:
    device = Beside(loader)
    for text in SAYS:
        device.say(text)
    assert device.count == Count()


def test_a_person_over_it_is_heard(loader: Loader) -> None:
    device = Beside(loader)
    device.say(SAYS[4])
    for text in (SAYS[4], SAYS[7], SAYS[9], SAYS[8]):
        device.say(text, "Stop.")
    assert device.count.heard == 4
    assert device.count.interruptions <= 1, "the synthetic voice differs a little from run to run"


def test_beside_a_sound_server_that_slips_it_is_as_good(loader: Loader) -> None:
    device = Beside(loader, server=True)
    for text in SAYS[4:7]:
        device.say(text)
    assert device.count == Count()
    for text in (SAYS[9], SAYS[8]):
        device.say(text, "Stop.")
    assert (device.count.heard, device.count.interruptions) == (2, 0)


@pytest.mark.slow
def test_fifty_utterances_and_twenty_interruptions(loader: Loader) -> None:
    device = Beside(loader, 1)
    for n in range(50):
        device.say(SAYS[n % len(SAYS)])
    assert (device.count.wakes, device.count.interruptions) == (0, 0)
    long = [text for text in SAYS if len(text) > 50]
    for n in range(20):
        device.say(long[n % len(long)], ("Stop.", "Hey Jarvis.", "Wait a moment.", "Where are my keys?")[n % 4])
    assert device.count.heard >= 19
