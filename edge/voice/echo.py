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
from edge.voice.direct import Direct

RATE = 16_000
BLOCK = 256  # samples of one step: 16 ms
PARTS = 12  # partitions of the filter: 192 ms of echo
LEAD = 640  # samples by which the reference is given early: the delay may shrink by 40 ms before it is sought anew
KEEP_S = 40  # seconds of own voice that are kept, said and to be said
SEARCH = (-0.1, 0.9)  # where the echo may lie behind the hand-over to the player, seconds
LOOK_S = 0.4  # of microphone sound that is compared
EVERY = 8  # steps between two looks
LIKE = 0.5  # correlation from which the microphone is said to hear the device: two voices alike reach 0.4 by chance
AGAIN = 0.35  # the same where two looks in a row find the same delay
TAIL_S = 0.35  # how long a room answers after the last word
MATCH = 1024  # samples (64 ms) that are compared with what was said in them
ALONE = 0.93  # correlation of the last 64 ms from which nobody else can be in them
ECHO = 0.85  # correlation from which sound is the device's voice and nothing else
SAME = 2  # samples by which two delays may differ and be one
JUMP = 3.0  # times what is left over at the most: somebody else speaks
LEAST = 0.04  # share of the power that a filter is taken to leave over even when it does better
ABOVE = 12.0  # times the power of the quietest moments: it is somebody, not the room
HOLD = 8  # steps (130 ms) that a voice is taken to go on in the gaps between its sounds
CHANGED = 60  # steps (1 s) of that after which the way of the echo may have changed instead
WELL = 0.16  # share of the power that a filter which does well leaves over: 8 dB
SETTLED = 12  # steps (0.2 s) of that after which it counts as settled
LOST_S = 0.25  # of a jump in time beyond which sound is missing
UNLIKE = 0.6  # correlation under which sound is not the device's voice alone
_STEP = 0.5
_QUIET = 1e-4  # root mean square under which there is nothing to hear

Spectrum = NDArray[np.complex64]


class OwnVoice:
    """What the device says, by when it says it.  The voice adds, the listener reads: safe for both threads."""

    def __init__(self) -> None:
        self._ring = np.zeros(KEEP_S * RATE, np.float32)
        self._lock = threading.Lock()
        self.runs = 0  # how often it began to talk
        self._end = -(10**12)  # place after the last sample that was handed to the player

    def add(self, pcm: Pcm, mono: int) -> None:
        """A piece was handed to the player at `mono`; pieces that follow each other in time are joined to the sample."""
        with self._lock:
            if place(mono) > self._end:
                self.runs += 1
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

    def active(self, start: int, end: int, delay: int | None = None) -> bool:
        """Whether any of it may be heard between two places, with the room's answer; `delay`: how late, if known."""
        with self._lock:
            slack = (round(SEARCH[1] * RATE) if delay is None else delay) + round(TAIL_S * RATE)
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
        self.seemed = 0.0  # likeness, held for about a second: in the gaps between words there is nothing to compare
        self._found = -(10**9)  # delay the last look found
        self.removed_db = 0.0  # how much quieter the rest is, over the last quarter of a second
        self.match = 0.0  # of the last 64 ms and what the device said in them, 0-1
        self.talked = 0  # steps since it began to talk
        self._run = 0
        self.learnt = False  # whether the filter has ever settled
        self.placed = False  # whether the delay was found since the device began to talk
        self.talking = False  # whether the device can be heard now
        self._power_in = self._power_out = 0.0
        self._floor = 1e-6
        self._due = 0  # place at which the next sound is due
        self._direct = Direct(own.read, round(SEARCH[0] * RATE), round(SEARCH[1] * RATE))
        self._forget()

    def step(self, mic: Pcm, start: int) -> Pcm:
        """Take BLOCK samples that begin at the place `start`; gives as many without the device's voice."""
        self._mic = np.concatenate([self._mic[len(mic) :], mic])
        self._date(start - self._due)
        self._due = start + len(mic)
        self.talking = self._own.active(start, start + len(mic), self.delay if self.learnt else None)
        self.talked = self.talked + 1 if self.talking and self._own.runs == self._run else 0
        if not self.talked:
            self.placed, self._good, self._held, self._run = False, 0, 0, self._own.runs
            self._direct.forget()
        if not self.talking:
            self._hush(_power(mic))
            self.likeness = self.seemed = self.removed_db = 0.0
            self._power_in = self._power_out = 0.0
            return mic
        self._steps += 1
        if self._steps % EVERY == 0:
            self._look(start + len(mic))
            self.seemed = max(self.likeness, 0.9 * self.seemed)
        direct = self._direct.step(self._mic, start + len(mic), len(mic), ABOVE * self._floor)
        better = mic if direct is None else min(mic, direct, key=_power)
        if self._direct.trusted:
            rest = better  # the slow filter has nothing to add
            self._hush(_power(mic))
        elif self.delay is not None:
            said = self._own.read(start - self.delay + BLOCK - MATCH, MATCH)
            self.match = _alike(self._mic[-MATCH:], said)
            rest = self._subtract(mic, self._own.read(start - self.delay + LEAD, BLOCK))
            better = min(better, rest, key=_power)
        else:
            return mic
        self._power_in = 0.94 * self._power_in + 0.06 * _power(mic)
        self._power_out = 0.94 * self._power_out + 0.06 * _power(rest)
        self.removed_db = 10 * float(np.log10((self._power_in + 1e-9) / (self._power_out + 1e-9)))
        return better

    @property
    def foreign(self) -> bool:
        """While the device talks: whether the microphone holds more than the device's voice."""
        return (self._direct.held if self._direct.trusted else self._held) > 0

    @property
    def sure(self) -> bool:
        """Whether that can be told by now."""
        return self._direct.trusted or self.settled

    @property
    def plain(self) -> bool:
        """Whether it can be told at once, since the device's voice comes by one short way."""
        return self._direct.trusted

    def _date(self, later: int) -> None:
        """The next sound is later by so many samples than what was taken last: dated anew, or else some is missing."""
        if abs(later) > LOST_S * RATE:
            self._mic[:-BLOCK] = 0.0
            self._direct.forget()
            return
        self._direct.dated(later)
        if self.delay is not None:
            self.delay += later

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
        again = self.likeness >= AGAIN and abs(delay - self._found) <= BLOCK // 8
        self._found = delay
        if self.likeness >= LIKE or again:
            self.placed = True
            if self.delay is not None and (abs(delay - self.delay) <= SAME or self.removed_db > 6.0):
                return  # it is known; where the filter does well the look erred, as on a held vowel
            self.delay = delay
            self._held = self._good = 0
            if self.learnt:
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
        self._good = 0  # steps in which the filter did well since it began to talk
        self._left = 1.0  # share of the power that is left over in the filter's worse moments
        self._fast_in = self._fast_left = 0.0
        self._held = 0  # steps for which somebody counts as speaking still
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
        """Whether somebody else speaks, so that learning would harm.

        A filter that has settled since the device began to talk leaves little over: much more than usual is somebody.
        One that has not tells nothing; then somebody speaks where the sound is little like what the device says.
        """
        self._fast_in += 0.3 * (power - self._fast_in)
        self._fast_left += 0.3 * (left - self._fast_left)
        self._held = max(0, self._held - 1)
        if power < _QUIET**2:
            return False
        share = self._fast_left / self._fast_in
        self._hush(left)
        loud, heard = self._fast_left > ABOVE * self._floor, self._fast_in > ABOVE * self._floor
        if self.settled:
            odd = loud and share > JUMP * self._left and self.match < ALONE
        else:
            odd = loud and share > 0.5 and self.match < UNLIKE
            self._good += heard and share < WELL
            if self._good >= SETTLED:
                self.learnt, self._left = True, WELL
        if self._direct.whole:
            odd, self._held = False, 0
        if odd:
            self._foreign += 1
            if self._foreign >= 2:
                self._held = HOLD
            if self._foreign >= CHANGED and self.likeness >= ECHO:
                self._good = self._foreign = 0  # the device alone, by another way than was learnt
            return True
        self._foreign = 0
        if self.settled and heard:
            pace = 0.2 if share > self._left else 0.01
            self._left = min(WELL, max(LEAST, self._left + pace * (share - self._left)))
        return False

    @property
    def settled(self) -> bool:
        """Whether the filter has done well since the device began to talk."""
        return self._good >= SETTLED

    def _hush(self, power: float) -> None:
        """Follow the power of the quietest moments: down at once, up slowly (twofold in five seconds)."""
        self._floor = min(power, self._floor * 1.0022) + 1e-12

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


def _alike(a: Pcm, b: Pcm) -> float:
    """Correlation of two stretches of sound, 0-1."""
    scale = float(np.dot(a, a)) * float(np.dot(b, b))
    return abs(float(np.dot(a, b))) / float(np.sqrt(scale)) if scale > 1e-12 else 0.0


def _power(pcm: Pcm) -> float:
    return float(np.dot(pcm, pcm)) / max(1, len(pcm))
