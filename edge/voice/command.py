"""Playing through a program of the system (pacat, aplay): the way out where PyAudio is not installed.

It needs no compiler, and a program that hangs or loses its device is simply ended.
"""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

from edge.errors import AudioError
from edge.voice.pcm import resample
from edge.voice.player import Played
from models.roles import AudioChunk

HANG_S = 4.0  # a program that takes no sound for so long is ended
_PIPE_BYTES = 4_096  # little waits in the pipe, so that what was heard is known to a tenth of a second
_LOOK_S = 0.02

# program: its arguments for a rate and a device ("": the default)
PROGRAMS: dict[str, Callable[[int, str], list[str]]] = {
    "pacat": lambda rate, device: [
        "--playback", "--raw", "--format=s16le", "--channels=1", f"--rate={rate}", "--latency-msec=60",
        "--client-name=grove-edge", *([f"--device={device}"] if device else []),
    ],
    "aplay": lambda rate, device: [
        "-q", "-t", "raw", "-f", "S16_LE", "-c", "1", "-r", str(rate), "--buffer-time=100000",
        *(["-D", device] if device else []), "-",
    ],
}  # fmt: skip


class CommandPlayer:
    """One run of the program for each utterance."""

    silent = False

    def __init__(self, program: str, device: str = "") -> None:
        self.problem = ""
        self._program = program
        self._device = device

    @property
    def name(self) -> str:
        return f"{self._device or 'default'} ({os.path.basename(self._program)})"  # noqa: PTH119

    def play(self, chunks: Iterable[AudioChunk], stop: threading.Event) -> Played:
        """Feed the program until the chunks end; end it at once on `stop`."""
        child: subprocess.Popen[bytes] | None = None
        rate, seconds = 0, 0.0
        try:
            for chunk in chunks:
                if stop.is_set():
                    break
                if child is None:
                    rate = chunk.rate
                    child = self._start(rate)
                data = resample(chunk.pcm, chunk.rate, rate).astype("<i2").tobytes()
                seconds += self._feed(child, data, stop) / (2 * rate)
            if child is not None and not stop.is_set():
                self._drain(child, stop)
                self.problem = ""
        except AudioError as error:
            self.problem = str(error)
            raise
        finally:
            if child is not None:
                _end(child)
        return Played(seconds, complete=not stop.is_set())

    def close(self) -> None:
        """Nothing is held between utterances."""

    def _start(self, rate: int) -> subprocess.Popen[bytes]:
        arguments = PROGRAMS[os.path.basename(self._program)](rate, self._device)  # noqa: PTH119
        try:
            child = subprocess.Popen(
                [self._program, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                bufsize=0,
            )
        except OSError as error:
            raise AudioError(f"{self._program} cannot be started ({error.strerror}): install it anew.") from error
        assert child.stdin is not None
        os.set_blocking(child.stdin.fileno(), False)
        with suppress(OSError):  # a kernel that refuses only makes `seconds` less exact
            fcntl.fcntl(child.stdin.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        return child

    def _feed(self, child: subprocess.Popen[bytes], data: bytes, stop: threading.Event) -> int:
        """Write the sound as fast as it is taken; the bytes written before `stop`."""
        assert child.stdin is not None
        written, patience = 0, HANG_S
        while written < len(data) and not stop.is_set():
            _, ready, _ = select.select([], [child.stdin], [], _LOOK_S)
            if not ready:
                patience -= _LOOK_S
                if patience <= 0:
                    raise AudioError(f"The speaker {self.name} has taken no sound for {HANG_S:.0f} seconds.")
                continue
            try:
                written += os.write(child.stdin.fileno(), data[written : written + _PIPE_BYTES])
            except BlockingIOError:
                continue
            except BrokenPipeError as error:
                raise self._lost(child) from error
            patience = HANG_S
        return written

    def _drain(self, child: subprocess.Popen[bytes], stop: threading.Event) -> None:
        assert child.stdin is not None
        child.stdin.close()
        for _ in range(int(HANG_S / _LOOK_S)):
            try:
                if child.wait(_LOOK_S) != 0:
                    raise self._lost(child)
            except subprocess.TimeoutExpired:
                if stop.is_set():
                    return
                continue
            return
        raise AudioError(f"The speaker {self.name} does not come to an end: check that it is connected.")

    def _lost(self, child: subprocess.Popen[bytes]) -> AudioError:
        """Why it ended, in its own last words."""
        with suppress(subprocess.TimeoutExpired):
            child.wait(1.0)
        child.kill()
        assert child.stderr is not None
        words = child.stderr.read().decode("utf-8", "replace").split("\n")
        reason = next((line.strip() for line in reversed(words) if line.strip()), f"exit status {child.returncode}")
        return AudioError(f"The speaker {self.name} cannot be used ({reason}): check that it is connected.")


def find_program() -> str | None:
    """The first program there is."""
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


def _end(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait()
    for pipe in (child.stdin, child.stderr):
        if pipe is not None:
            pipe.close()
