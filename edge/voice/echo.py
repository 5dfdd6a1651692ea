"""Taking the device's own voice out of what its microphone hears.

A partitioned frequency-domain adaptive filter (overlap-save, normalised steps per bin) learns the way from speaker to
microphone and subtracts what it predicts.  It keeps two sets of weights: one always learns, the other does the work
and takes over what was learned only where that was better, so that a person who speaks over the device does not spoil
it.  How far playback lags behind what was handed to the speaker is found by cross-correlation, again and again, since
each opening of a sound device has its own delay.

Sound is mono float32 at 16 kHz; places are samples counted on the monotonic clock.
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from edge.clock import US
from edge.messages import Pcm

RATE = 16_000
BLOCK = 256  # samples of one step: 16 ms
PARTS = 12  # partitions of the filter: 192 ms of echo
LEAD = 640  # samples by which the reference is given early: the delay may shrink by 40 ms before it is sought anew
KEEP_S = 40  # seconds of own voice that are kept, said and to be said
SEARCH = (-0.1, 0.9)  # where the echo may lie behind the hand-over to the player, seconds
LOOK_S = 0.4  # of microphone sound that is compared
EVERY = 8  # steps between two looks
LIKE = 0.3  # correlation from which the microphone is said to hear the device
TAIL_S = 0.35  # how long a room answers after the last word
JUMP = 5.0  # times the usual share of what is left over: somebody else speaks
CHANGED = 60  # steps (1 s) of that after which the way of the echo may have changed instead
LEARNT = 0.3  # usual share of what is left over from which the filter counts as learnt
_STEP = 0.5
_QUIET = 1e-4  # root mean square under which there is nothing to hear

Spectrum = NDArray[np.complex64]


class OwnVoice:
    """What the device says, by when it says it.  The voice adds, the listener reads: safe for both threads."""

    def __init__(self) -> None:
        self._ring = np.zeros(KEEP_S * RATE, np.float32)
        self._lock = threading.Lock()
        self._end = -(10**12)  # place after the last sample that was handed to the player

    def add(self, pcm: Pcm, mono: int) -> None:
        """A piece was handed to the player at `mono`; pieces that follow each other in time are joined to the sample."""
        with self._lock:
            start = max(place(mono), self._end)
            if start > place(mono) + KEEP_S * RATE // 4:  # the player runs ahead of real time, as into a file
                start = place(mono)
            pcm = pcm[: len(self._ring) // 2]
            self._blank(self._end, start)
            self._put(start, pcm)
            self._end = start + len(pcm)

    def cut(self, mono: int) -> None:
        """The rest is not played."""
        with self._lock:
            at = max(place(mono), self._end - len(self._ring) // 2)
            if at < self._end:
                self._put(at, np.zeros(self._end - at, np.float32))
                self._end = at

    def active(self, start: int, end: int) -> bool:
        """Whether any of it may be heard between two places, with the room's answer."""
        with self._lock:
            slack = round((SEARCH[1] + TAIL_S) * RATE)
            return start < self._end + slack and end > self._end - len(self._ring)

    def read(self, start: int, count: int) -> Pcm:
        """The samples from a place on; zeros where nothing was said."""
        with self._lock:
            out = np.zeros(count, np.float32)
            low, high = max(start, self._end - len(self._ring) + 1), min(start + count, self._end)
            if low < high:
                out[low - start : high - start] = self._ring[np.arange(low, high) % len(self._ring)]
            return out

    def _put(self, start: int, pcm: Pcm) -> None:
        self._ring[np.arange(start, start + len(pcm)) % len(self._ring)] = pcm

    def _blank(self, start: int, end: int) -> None:
        count = min(end - start, len(self._ring))
        if count > 0:
            self._put(end - count, np.zeros(count, np.float32))


class Canceller:
    """Microphone in, microphone without the device out.  Not for several threads at once."""

    def __init__(self, own: OwnVoice) -> None:
        self._own = own
        self._mic = np.zeros(round(LOOK_S * RATE), np.float32)
        self._steps = 0
        self.delay: int | None = None  # samples the echo lies behind the hand-over; None until it was found
        self.likeness = 0.0  # of the microphone and the device's voice in the last look, 0-1
        self.removed_db = 0.0  # how much quieter the rest is, over the last quarter of a second
        self.talking = False  # whether the device can be heard now
        self._power_in = self._power_out = 0.0
        self._forget()

    def step(self, mic: Pcm, start: int) -> Pcm:
        """Take BLOCK samples that begin at the place `start`; gives as many without the device's voice."""
        self._mic = np.concatenate([self._mic[len(mic) :], mic])
        self.talking = self._own.active(start, start + len(mic))
        if not self.talking:
            self.likeness = self.removed_db = 0.0
            self._power_in = self._power_out = 0.0
            return mic
        self._steps += 1
        if self._steps % EVERY == 0:
            self._look(start + len(mic))
        if self.delay is None:
            return mic
        reference = self._own.read(start - self.delay + LEAD, BLOCK)
        rest = self._subtract(mic, reference)
        self._power_in = 0.94 * self._power_in + 0.06 * _power(mic)
        self._power_out = 0.94 * self._power_out + 0.06 * _power(rest)
        self.removed_db = 10 * float(np.log10((self._power_in + 1e-9) / (self._power_out + 1e-9)))
        return rest

    @property
    def foreign(self) -> bool:
        """While the device talks: whether the microphone holds more than the device's voice."""
        if self._left >= LEARNT:  # not learnt yet: what is like the device is the device
            return self.likeness < LIKE
        return self._foreign >= 2

    def _look(self, end: int) -> None:
        """Where in the device's voice the microphone's last moments lie."""
        if _power(self._mic) < _QUIET**2:
            self.likeness = 0.0
            return
        first = round(SEARCH[0] * RATE)
        span = round((SEARCH[1] - SEARCH[0]) * RATE)
        begin = end - len(self._mic) - round(SEARCH[1] * RATE)
        said = self._own.read(begin, span + len(self._mic))
        if _power(said) < _QUIET**2:
            self.likeness = 0.0
            return
        size = 1 << (len(said) + len(self._mic) - 1).bit_length()
        heard = np.fft.rfft(self._mic, size)
        found = np.fft.irfft(np.fft.rfft(said, size) * np.conj(heard), size)[: span + 1]
        summed = np.concatenate([[0.0], np.cumsum(np.square(said, dtype=np.float64))])
        energy = summed[len(self._mic) :][: span + 1] - summed[: span + 1]
        scale = np.sqrt(np.maximum(energy, 1e-6) * float(np.sum(np.square(self._mic, dtype=np.float64))))
        likeness = np.abs(found) / np.maximum(scale, 1e-6)
        best = int(np.argmax(likeness))
        self.likeness = float(likeness[best])
        delay = first + span - best
        if self.likeness >= LIKE and (self.delay is None or abs(delay - self.delay) > LEAD // 2):
            if self.delay is not None and self.removed_db > 6.0:
                return  # the filter does well: the look erred, as on a held vowel
            self.delay = delay
            if self._left < LEARNT:
                return  # the way through the room is as it was, only the device's buffers are not
            self._forget()
            gain = float(found[best]) / max(float(energy[best]), 1e-6)  # most of the echo is one loud copy
            tap = np.zeros(2 * BLOCK, np.float32)
            tap[LEAD % BLOCK] = gain
            self._work[LEAD // BLOCK] = self._learn[LEAD // BLOCK] = np.fft.rfft(tap).astype(np.complex64)

    def _forget(self) -> None:
        shape = (PARTS, BLOCK + 1)
        self._past: Spectrum = np.zeros(shape, np.complex64)
        self._work: Spectrum = np.zeros(shape, np.complex64)
        self._learn: Spectrum = np.zeros(shape, np.complex64)
        self._before = np.zeros(BLOCK, np.float32)
        self._power_x = np.zeros(BLOCK + 1, np.float32)
        self._error_work = self._error_learn = 0.0
        self._left = 1.0  # usual share of the power that is left over
        self._foreign = 0  # steps in a row with much more left over than that

    def _subtract(self, mic: Pcm, reference: Pcm) -> Pcm:
        spectrum = np.fft.rfft(np.concatenate([self._before, reference])).astype(np.complex64)
        self._before = reference
        self._past = np.concatenate([spectrum[None], self._past[:-1]])
        self._power_x = np.maximum(0.9 * self._power_x + 0.1 * np.abs(spectrum) ** 2, 1e-8).astype(np.float32)
        rest_work, rest_learn = (mic - self._predict(w) for w in (self._work, self._learn))
        power = _power(mic)
        if not self._somebody(power, _power(rest_work)):
            self._adapt(rest_learn)
        self._error_work = 0.85 * self._error_work + 0.15 * _power(rest_work)
        self._error_learn = 0.85 * self._error_learn + 0.15 * _power(rest_learn)
        if self._error_learn < 0.9 * self._error_work:
            self._work = self._learn.copy()
            self._error_work = self._error_learn
            rest_work = rest_learn
        elif self._error_learn > 2.0 * self._error_work + 1e-9:
            self._learn = self._work.copy()
            self._error_learn = self._error_work
        return rest_work if _power(rest_work) < power else mic

    def _somebody(self, power: float, left: float) -> bool:
        """Whether much more is left over than usual, so that somebody else speaks: learning would harm then.

        When it stays so and yet all that is heard is like the device's voice, the way of the echo has changed.
        """
        if power < _QUIET**2:
            return False
        share = left / power
        if share > JUMP * self._left and left > 10 * _QUIET**2:
            self._foreign += 1
            return self._foreign < CHANGED or self.likeness < 0.9
        self._foreign = 0
        self._left += 0.03 * (share - self._left)
        return False

    def _predict(self, weights: Spectrum) -> Pcm:
        echo = np.fft.irfft((weights * self._past).sum(axis=0), 2 * BLOCK)[BLOCK:]
        return np.asarray(echo, np.float32)

    def _adapt(self, rest: Pcm) -> None:
        if _power(self._before) < _QUIET**2:
            return
        error = np.fft.rfft(np.concatenate([np.zeros(BLOCK, np.float32), rest])).astype(np.complex64)
        scale = _STEP / (PARTS * self._power_x + np.float32(1e-3))
        gradient = np.fft.irfft(np.conj(self._past) * (error * scale)[None], 2 * BLOCK, axis=1)
        gradient[:, BLOCK:] = 0.0  # the filter is causal and one block long in each partition
        self._learn = self._learn + np.fft.rfft(gradient, axis=1).astype(np.complex64)


def place(mono: int) -> int:
    """The sample a monotonic time in microseconds falls on."""
    return mono * RATE // US


def _power(pcm: Pcm) -> float:
    return float(np.dot(pcm, pcm)) / max(1, len(pcm))
