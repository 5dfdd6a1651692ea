"""Whether the microphone holds the device's own voice and nothing else, by the shortest way from speaker to microphone.

A sound server drops and repeats samples, and two clocks drift: a filter that learns for a second is wrong after each
such jump.  Where nothing but a short way lies between, a few taps explain the last 64 ms whole, found anew by least
squares at every step; then nobody else is in them, whatever the slow filter has left over.  In a room with echoes they
explain too little, and nothing is said here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from edge.messages import Pcm

WINDOW = 1024  # samples (64 ms) that are explained together
REACH = 8  # taps on each side of the delay
WHOLE = 0.03  # share of the power left unexplained under which a stretch is explained
_EVERY = 2  # steps between two searches for another delay
_RIDGE = 1e-6  # of the power: keeps silence at the edges from being divided by

Read = Callable[[int, int], Pcm]  # (place, count): what the device said there


class Direct:
    """Not for several threads at once."""

    def __init__(self, read: Read, first: int, last: int) -> None:
        """Delays between `first` and `last` samples are looked for."""
        self._read, self._first, self._last = read, first, last
        self._delay: int | None = None
        self._taps: NDArray[np.float64] | None = None  # that explained the last stretch which was explained
        self._steps = 0
        self.whole = False  # whether the last moments are explained

    def forget(self) -> None:
        """The device begins to talk anew: the next delay is its own."""
        self._delay, self._taps, self.whole = None, None, False

    def step(self, mic: Pcm, end: int, block: int) -> Pcm | None:
        """Take the microphone's newest samples, which end at the place `end`; the last `block` without what the device
        said in them, None where its way is not known.
        """
        heard = mic[-WINDOW:]
        self._steps += 1
        self.whole = self._delay is not None and self._explain(heard, end, self._delay)
        if not self.whole and self._steps % _EVERY == 0:
            delay = self._seek(heard, end)
            self.whole = delay is not None and self._explain(heard, end, delay)
        if self._delay is None or self._taps is None:
            return None
        said = self._windows(end - block, block, self._delay)
        return np.asarray(mic[-block:] - np.einsum("ij,j->i", said, self._taps), np.float32)

    def _explain(self, heard: Pcm, end: int, delay: int) -> bool:
        said = self._windows(end - len(heard), len(heard), delay).astype(np.float64)
        power = float(np.dot(heard, heard))
        # Not by BLAS, which would wake its threads for so little, sixty times a second, and let them spin.
        square = np.einsum("ij,ik->jk", said, said)
        least = _RIDGE * float(np.trace(square)) + 1e-9
        taps = np.linalg.solve(square + least * np.eye(len(square)), np.einsum("ij,i->j", said, heard))
        rest = heard - np.einsum("ij,j->i", said, taps)
        if float(np.dot(rest, rest)) > WHOLE * power:
            return False
        self._delay, self._taps = delay, taps
        return True

    def _seek(self, heard: Pcm, end: int) -> int | None:
        """The delay at which the sound is most like what the device said."""
        span = self._last - self._first
        said = self._read(end - len(heard) - self._last, span + len(heard))
        summed = np.concatenate([[0.0], np.cumsum(np.square(said, dtype=np.float64))])
        energy = summed[len(heard) :][: span + 1] - summed[: span + 1]
        if energy.max() < 1e-4:
            return None
        size = 1 << (len(said) - 1).bit_length()  # what wraps around is not looked at
        found = np.fft.irfft(np.fft.rfft(said, size) * np.conj(np.fft.rfft(heard, size)), size)[: span + 1]
        return self._last - int(np.argmax(np.abs(found) / np.sqrt(np.maximum(energy, 1e-4))))

    def _windows(self, start: int, count: int, delay: int) -> NDArray[np.float32]:
        """What the device said around each of `count` samples, shape (count, 2 * REACH + 1)."""
        said = self._read(start - delay - REACH, count + 2 * REACH)
        return np.lib.stride_tricks.sliding_window_view(said, 2 * REACH + 1)
