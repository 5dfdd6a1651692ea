"""The device's own voice, taken out of what its microphone hears."""

from __future__ import annotations

import numpy as np
import pytest

from edge.clock import US
from edge.voice.barge import OverVoice
from edge.voice.echo import BLOCK, RATE, Canceller, OwnVoice, place


def voice(seconds: float, seed: int) -> np.ndarray:
    """Something like speech: coloured noise in syllables."""
    rng = np.random.default_rng(seed)
    n = int(seconds * RATE)
    noise = np.convolve(rng.normal(size=n + 64), np.hanning(9), "valid")[:n]
    syllables = np.repeat(rng.random(n // 2400 + 1) > 0.25, 2400)[:n] * (0.4 + 0.6 * np.sin(np.arange(n) / 380) ** 2)
    return (0.12 * noise / np.abs(noise).std() * syllables).astype(np.float32)


def level(pcm: np.ndarray) -> float:
    return 10 * float(np.log10(np.mean(np.square(pcm)) + 1e-12))


class Room:
    """A speaker, a way through the room, a microphone."""

    def __init__(self, delay_s: float = 0.14, gain: float = 0.5) -> None:
        self.own = OwnVoice()
        self.ears = Canceller(self.own)
        self.delay, self.gain = int(delay_s * RATE), gain
        self.now = 100 * US
        self.foreign: list[bool] = []
        self.over = OverVoice()

    def play(self, said: np.ndarray, person: np.ndarray | None = None, at: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """(what the microphone heard, what was left of it)."""
        self.own.add(said, self.now)
        way = np.zeros(700)
        way[[0, 180, 600]] = self.gain, 0.3 * self.gain, -0.15 * self.gain
        heard = np.zeros((self.delay + len(said) + RATE) // BLOCK * BLOCK, np.float32)
        echo = np.convolve(said, way).astype(np.float32)
        heard[self.delay : self.delay + len(echo)] += echo[: len(heard) - self.delay]
        heard += np.random.default_rng(5).normal(size=len(heard)).astype(np.float32) * 0.0008
        if person is not None:
            heard[at : at + len(person)] += person
        begin = place(self.now)
        left = []
        for i in range(0, len(heard), BLOCK):
            left.append(self.ears.step(heard[i : i + BLOCK], begin + i))
            self.foreign.append(self.ears.talking and self.ears.foreign)
        self.now += (len(heard) + 3 * RATE) * US // RATE
        return heard, np.concatenate(left)


def test_it_learns_to_take_itself_out() -> None:
    room = Room()
    heard, left = room.play(voice(6, 1))
    assert room.ears.delay == pytest.approx(room.delay, abs=40)
    tail = slice(4 * RATE, 6 * RATE)
    assert level(heard[tail]) - level(left[tail]) > 15
    heard, left = room.play(voice(4, 2))  # and remembers it
    assert level(heard[: 3 * RATE]) - level(left[: 3 * RATE]) > 12
    assert not any(room.foreign[-(3 * RATE // BLOCK) :])


def test_a_person_is_heard_over_it_and_does_not_spoil_it() -> None:
    room = Room()
    room.play(voice(6, 1))
    person = voice(1.5, 9) * 1.5
    room.foreign.clear()
    _, left = room.play(voice(8, 3), person, 3 * RATE)
    said = slice(3 * RATE, 3 * RATE + len(person))
    assert level(left[said]) == pytest.approx(level(person), abs=3)
    during = room.foreign[3 * RATE // BLOCK : (3 * RATE + len(person)) // BLOCK]
    assert np.mean(during[12:]) > 0.6
    assert not any(room.foreign[: 3 * RATE // BLOCK])
    after = slice(6 * RATE, 8 * RATE)
    assert level(left[after]) < level(person) - 20


def test_another_delay_at_the_next_opening_of_the_device_is_found() -> None:
    room = Room()
    room.play(voice(6, 1))
    room.delay += int(0.15 * RATE)
    heard, left = room.play(voice(5, 4))
    assert room.ears.delay == pytest.approx(room.delay, abs=60)
    tail = slice(3 * RATE, 5 * RATE)
    assert level(heard[tail]) - level(left[tail]) > 12


def test_without_an_echo_the_person_is_left_alone() -> None:
    room = Room(gain=0.0)
    person = voice(2, 7)
    heard, left = room.play(voice(4, 1), person, RATE)
    np.testing.assert_array_equal(heard, left)
    assert room.ears.delay is None
    assert room.over.chance(0.9, room.ears) in (0.0, 0.9)  # decided after a while: see below
    room.own.add(voice(3, 2), room.now)
    begin, chances = place(room.now), []
    for i in range(0, 2 * RATE, BLOCK):
        room.ears.step(person[i : i + BLOCK], begin + i)
        chances.append(room.over.chance(0.9, room.ears))
    assert chances[5] == 0.0
    assert chances[-1] == 0.9


def test_what_is_cut_off_is_expected_no_longer() -> None:
    own = OwnVoice()
    own.add(np.ones(4 * RATE, np.float32), 10 * US)
    own.cut(11 * US)
    begin = place(10 * US)
    assert own.read(begin, RATE).all()
    assert not own.read(begin + RATE, 3 * RATE).any()
    assert own.active(begin, begin + BLOCK)
    assert not own.active(begin + 4 * RATE, begin + 5 * RATE)


def test_pieces_that_follow_each_other_are_joined_to_the_sample() -> None:
    own = OwnVoice()
    own.add(np.full(RATE, 0.5, np.float32), 20 * US)
    own.add(np.full(RATE, 0.25, np.float32), 20 * US + 900_000)  # handed over before the first had ended
    begin = place(20 * US)
    np.testing.assert_array_equal(own.read(begin + RATE - 1, 2), np.array([0.5, 0.25], np.float32))
    assert not own.read(begin - 10, 10).any()
