"""The microphone as a driver: a child process records (see mic_child.py), this side times and resamples."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt

from edge.ahead import ahead
from edge.capture.base import RATE
from edge.capture.steady import SteadyTime
from edge.clock import US
from edge.errors import AudioError
from edge.messages import Pcm, Sound

BLOCK_S = 0.032  # one step of the voice detector: what waits here is late there
_LOOK_S = 0.25  # how often a silent child is looked at
_LOST_US = 3 * US // 10  # when the clock is further ahead of the counted samples, some were lost
_DRAW_US = 20  # correction for one block: a fraction of a sample, and ten times what crystals differ by
_CHILD = Path(__file__).with_name("mic_child.py")


class MicrophoneDriver:
    """One child process.  `device`: a part of the device's name, "" for the default one."""

    def __init__(self, device: str = "", command: Callable[[str], list[str]] | None = None) -> None:
        self._device = device
        self._command = command or _command
        self._child: subprocess.Popen[bytes] | None = None
        self._left = b""
        self._rate, self._channels = RATE, 1
        self._resampler: av.AudioResampler | None = None
        self._ahead = contextlib.ExitStack()

    def describe(self) -> str:
        return f"microphone {self._device or 'default'}"

    def open(self, closed: threading.Event) -> None:
        """Start the child and wait for its first line."""
        self._ahead.enter_context(ahead())  # this thread and the child: what is not fetched in time is lost
        self._child = subprocess.Popen(
            self._command(self._device), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        while b"\n" not in self._left:
            if closed.is_set():
                return
            self._receive()
        line, self._left = self._left.split(b"\n", 1)
        self._rate, self._channels = (int(part) for part in line.split())
        if self._rate != RATE:
            self._resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE)

    def take(self, closed: threading.Event) -> Pcm | None:
        """BLOCK_S of sound, or None when none came in a while."""
        del closed
        size = int(self._rate * BLOCK_S) * self._channels * 2
        if len(self._left) < size and not self._receive():
            return None
        if len(self._left) < size:
            return None
        data, self._left = self._left[:size], self._left[size:]
        return self._sound(np.frombuffer(data, dtype=np.int16))

    def release(self) -> None:
        """Kill the child: it holds nothing worth a farewell, and its driver may hang."""
        self._ahead.close()
        if self._child is None:
            return
        self._child.kill()
        for pipe in (self._child.stdout, self._child.stderr):
            if pipe is not None:
                pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):  # one stuck in the kernel is left to init
            self._child.wait(1.0)

    def _receive(self) -> bool:
        """Read what the child wrote, waiting a moment; false when it wrote nothing.  Raises AudioError at its end."""
        assert self._child is not None
        assert self._child.stdout is not None
        ready, _, _ = select.select([self._child.stdout], [], [], _LOOK_S)
        if not ready:
            return False
        data = os.read(self._child.stdout.fileno(), 1 << 16)
        if not data:
            raise AudioError(self._why())
        self._left += data
        return True

    def _why(self) -> str:
        assert self._child is not None
        assert self._child.stderr is not None
        ready, _, _ = select.select([self._child.stderr], [], [], _LOOK_S)
        text = os.read(self._child.stderr.fileno(), 1 << 12).decode(errors="replace").strip() if ready else ""
        last = text.splitlines()[-1] if text else ""
        return last if last.endswith(".") else "The microphone stopped: check that it is connected."

    def _sound(self, samples: npt.NDArray[np.int16]) -> Pcm:
        mono: Pcm = samples.reshape(-1, self._channels).mean(axis=1, dtype=np.float32) / np.float32(32_768)
        if self._resampler is None:
            return mono
        frame = av.AudioFrame.from_ndarray(mono[np.newaxis], format="fltp", layout="mono")
        frame.sample_rate = self._rate
        out = [f.to_ndarray()[0] for f in self._resampler.resample(frame)]
        return np.concatenate(out) if out else np.zeros(0, dtype=np.float32)


class SoundClock:
    """Puts capture times on blocks of sound.  They are counted in samples, so that blocks join without a seam, and drawn
    towards the clock, which is read when a block has arrived: the crystals of two devices differ.
    """

    def __init__(self, time: SteadyTime) -> None:
        self._time = time
        self._next: int | None = None

    def stamp(self, pcm: Pcm) -> Sound:
        """The block with the time it began at, never before the end of the block before."""
        length = len(pcm) * US // RATE
        heard = self._time.now() - length
        if self._next is None or heard > self._next + _LOST_US:
            self._next = heard  # sound was lost
        else:
            self._next += max(-_DRAW_US, min(_DRAW_US, heard - self._next))
        sound = Sound(self._next, self._time.offset(), pcm)
        self._next += length
        return sound


def _command(device: str) -> list[str]:
    return [sys.executable, str(_CHILD), device, str(RATE)]
