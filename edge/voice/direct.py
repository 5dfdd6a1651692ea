"""Whether the microphone holds the device's own voice and nothing else, by the shortest way from speaker to microphone.

A sound server drops and repeats samples, stretches time by half a hundredth to keep its buffers full, and two clocks
drift: a filter that learns for a second is wrong after each such jump.  Where nothing but a short way lies between, a
few taps on what the device said explain the last 32 ms, found anew by least squares at every step along a delay that
is followed with its slope; then nobody else is in them, whatever the slow filter has left over.  Judged is what lies
below 3 kHz: above it resamplers add sounds of their own, and voices hold little.  In a room with echoes a few taps
explain too little, and nothing is said here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from edge.messages import Pcm

WINDOW = 512  # samples (32 ms) that are explained together
SHORT = 256  # right after a jump: the newest alone, with taps that are known
REACH = 8  # samples that the taps reach to each side of the delay
CLEAN = 0.01  # and under which by a way that has no echoes
WHOLE = 0.03  # share of the power left unexplained under which a stretch is explained
NEAR = 960  # samples (60 ms) within which a jump is looked for first
STEEP = 0.012  # of slope at most: sound servers stretch by less than a hundredth
RUN = 6  # steps (96 ms) in a row that are not explained: no jump lasts so long, somebody speaks
HOLD = 8  # steps (130 ms) that a voice is taken to go on in the gaps between its sounds
TRUST = 0.8  # share of the steps with so little left from which this way is taken to be the whole way
DOUBT = 0.6  # and under which it is so no longer
ECHO = 0.05  # of the device's power, and falling: a room answers for a while, more softly than that
_FAINT = 1e-6  # power under which nothing is judged: -60 dB of full scale
_FALL = 0.7  # of that from step to step: 60 dB in 0.6 s
_EVERY = 8  # steps between two searches everywhere, once somebody speaks
_KEEP = 0.85  # of what the taps for the whole band are found from, at each step
_RIDGE = 1e-6  # of the power: keeps silence at the edges from being divided by
_SOON, _SLOWLY = 1 / 32, 1 / 512  # how fast trust changes, and while somebody seems to speak
_PULL, _TURN = 0.5, 0.06  # how far delay and slope go with what a step finds
_SIDE = 12  # samples on each side of a place between samples that are read for it
_PHASES = 32
_LOW_BAND = 0.375  # of the whole band

Read = Callable[[int, int], Pcm]  # (place, count): what the device said there
Floats = NDArray[np.float64]


def _between(band: float) -> Floats:
    """Filters that read between two samples what lies in the share `band` of all, shape (_PHASES + 1, 2 * _SIDE)."""
    offsets = np.arange(-_SIDE + 1, _SIDE + 1)[None, :] - np.arange(_PHASES + 1)[:, None] / _PHASES
    filters = np.sinc(offsets * band) * np.cos(np.clip(offsets / (2 * _SIDE + 1), -0.5, 0.5) * np.pi) ** 2
    return np.asarray(filters / filters.sum(axis=1, keepdims=True), np.float64)


_LOW, _ALL = _between(_LOW_BAND), _between(1.0)


class Direct:
    """Not for several threads at once."""

    def __init__(self, read: Read, first: int, last: int) -> None:
        """Delays between `first` and `last` samples are looked for."""
        self._read, self._first, self._last = read, first, last
        self.delay: float | None = None  # at the end of the last stretch
        self.slope = 0.0  # samples by which the delay grows with each
        self._low: Floats | None = None  # taps that explained the last stretch which was explained
        self._all: Floats | None = None  # the same for the whole band
        self._square: Floats = np.zeros((2 * REACH + 1, 2 * REACH + 1))
        self._like: Floats = np.zeros(2 * REACH + 1)
        self._steps = 0
        self._clean = 0.0  # share of the loud steps
        self.trusted = False  # the device's voice comes by this way alone: what is not explained is somebody else
        self._answer = 0.0  # power that the room may answer with
        self.run = 0  # loud steps in a row that were not explained
        self.held = 0  # steps for which somebody counts as speaking still
        self.whole = False  # whether the last moments are explained

    def forget(self) -> None:
        """The device begins to talk anew: the next delay is its own."""
        self.delay, self._low, self.whole, self.run, self.held = None, None, False, 0, 0

    def dated(self, later: int) -> None:
        """The sound from here on is said to be so many samples later than it was taken to be."""
        if self.delay is not None:
            self.delay += later

    def step(self, mic: Pcm, end: int, block: int, loud: float) -> Pcm | None:
        """Take the microphone's newest samples, which end at the place `end`; the last `block` without what the device
        said in them, None where its way is not known.  `loud`: the power from which a sound is judged.
        """
        heard = _around(mic[-WINDOW - 2 * _SIDE + 1 :]) @ _LOW[0]
        end -= _SIDE
        power = float(np.dot(heard[-block:], heard[-block:])) / block
        self._steps += 1
        if self.delay is not None:
            self.delay += self.slope * block
        self.whole = power > 0 and (
            (self.delay is not None and self._explain(heard, end, self.delay)) or self._jump(heard, end)
        )
        self._judge(heard[-block:], end, power, loud)
        if self.delay is None:
            return None
        if self.whole:
            self._learn(self._said(end, block, self.delay, _ALL), mic[-block - _SIDE : -_SIDE].astype(np.float64))
        if self._all is None:
            return None
        return np.asarray(mic[-block:] - self._said(end + _SIDE, block, self.delay, _ALL) @ self._all, np.float32)

    def _judge(self, heard: Floats, end: int, power: float, loud: float) -> None:
        """Whether somebody speaks: sound goes on that is neither explained nor the room's answer."""
        left, said = power, 0.0
        if self.delay is not None and self._low is not None:
            expected = self._said(end, len(heard), self.delay, _LOW)[:, ::2] @ self._low
            said, left = (float(np.dot(x, x)) / len(heard) for x in (expected, heard - expected))
        self._answer = max(_FALL * self._answer, ECHO * said)
        self.held = max(0, self.held - 1)
        loud = max(loud, _FAINT, self._answer)
        if self.whole:
            self.run = 0
        elif min(power, left) > loud:
            self.run += 1
            if self.run >= RUN:
                self.held = HOLD
        if power > loud:
            self._clean += (_SLOWLY if self.held else _SOON) * ((left < CLEAN * power) - self._clean)
            self.trusted = self._clean >= (DOUBT if self.trusted else TRUST)

    def _learn(self, said: Floats, heard: Floats) -> None:
        """The taps for the whole band, from the last tenth of a second: one sound holds too little of some pitches."""
        square, like = _products(said, heard)
        self._square, self._like = _KEEP * self._square + square, _KEEP * self._like + like
        self._all = _solve(self._square, self._like)

    def _jump(self, heard: Floats, end: int) -> bool:
        """Another delay explains it."""
        if self._steps % (1 if self.delay is None else 2 if self.run <= RUN else _EVERY) == 0:
            delay = self._seek(heard, end, self._first, self._last)
            if delay is not None and self._explain(heard, end, delay):
                return True
        if self.delay is None or self._low is None:
            return False
        near = max(self._first, round(self.delay) - NEAR), min(self._last, round(self.delay) + NEAR)
        delay = self._seek(heard, end, *near)
        if delay is not None and self._explain(heard, end, delay):
            return True
        tail = heard[-SHORT:]
        for one in (self.delay, self._seek(tail, end, *near)):
            if one is not None:
                rest = tail - self._said(end, SHORT, one, _LOW)[:, ::2] @ self._low
                if float(np.dot(rest, rest)) <= WHOLE * float(np.dot(tail, tail)):
                    self.delay = one
                    return True
        return False

    def _explain(self, heard: Floats, end: int, delay: float) -> bool:
        said = self._said(end, len(heard), delay, _LOW)[1::2, ::2]  # half the band needs half the samples
        taps, like, left = _taps(said, heard[1::2])
        if left > WHOLE:
            return False
        jumped = self.delay is None or abs(delay - self.delay) > 1
        self.delay, self._low = delay, taps
        if not jumped:
            off = 2 * _peak(like)
            self.delay -= _PULL * off
            self.slope = min(STEEP, max(-STEEP, self.slope - _TURN * off / SHORT))
        return True

    def _seek(self, heard: Floats, end: int, first: int, last: int) -> float | None:
        """The delay at which the sound is most like what the device said."""
        span = last - first
        said = self._read(end - len(heard) - last, span + len(heard))
        summed = np.concatenate([[0.0], np.cumsum(np.square(said, dtype=np.float64))])
        energy = summed[len(heard) :][: span + 1] - summed[: span + 1]
        if energy.max() < 1e-4:
            return None
        size = 1 << (len(said) - 1).bit_length()  # what wraps around is not looked at
        found = np.fft.irfft(np.fft.rfft(said, size) * np.conj(np.fft.rfft(heard, size)), size)[: span + 1]
        return float(last - int(np.argmax(np.abs(found) / np.sqrt(np.maximum(energy, 1e-4)))))

    def _said(self, end: int, count: int, delay: float, filters: Floats) -> Floats:
        """What the device said around each of the `count` samples before `end`, shape (count, 2 * REACH + 1)."""
        places = np.arange(-count - REACH, REACH)
        at = places - delay - self.slope * (places + 1)  # from `end` on
        low = np.floor(at).astype(np.int64)
        first = int(low.min()) - _SIDE + 1
        said = self._read(end + first, int(low.max()) - first + _SIDE + 1)
        near = _around(said)[low - _SIDE + 1 - first]
        phase = np.rint((at - low) * _PHASES).astype(np.int64)
        warped = np.einsum("ij,ij->i", near, filters[phase])
        return np.lib.stride_tricks.sliding_window_view(warped, 2 * REACH + 1)


def _around(pcm: Pcm) -> Floats:
    return np.lib.stride_tricks.sliding_window_view(pcm.astype(np.float64), 2 * _SIDE)


def _taps(said: Floats, heard: Floats) -> tuple[Floats, Floats, float]:
    """The taps that explain `heard` best, its products with `said`, and the share of its power that they leave."""
    square, like = _products(said, heard)
    taps = _solve(square, like)
    rest = heard - np.einsum("ij,j->i", said, taps)
    return taps, like, float(np.dot(rest, rest)) / max(float(np.dot(heard, heard)), 1e-12)


def _products(said: Floats, heard: Floats) -> tuple[Floats, Floats]:
    # Not by BLAS, which would wake its threads for so little, sixty times a second, and let them spin.
    return np.einsum("ij,ik->jk", said, said), np.einsum("ij,i->j", said, heard)


def _solve(square: Floats, like: Floats) -> Floats:
    least = _RIDGE * float(np.trace(square)) + 1e-9
    return np.asarray(np.linalg.solve(square + least * np.eye(len(square)), like))


def _peak(like: Floats) -> float:
    """Where the largest of the values lies, from the middle, between them."""
    size = np.abs(like)
    best = int(np.argmax(size))
    if best in (0, len(size) - 1):
        return 0.0
    a, b, c = size[best - 1 : best + 2]
    return best - len(size) // 2 + (0.5 * float(a - c) / float(a - 2 * b + c) if a - 2 * b + c else 0.0)
