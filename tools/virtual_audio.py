"""A sound server of its own for tests and measurements: a speaker that can be recorded, a microphone that can be fed."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

SINKS = Path(__file__).with_name("audio_sinks.sh")
MONITOR_HZ = 16_000


class VirtualAudio:
    """A PulseAudio of the test's own: a speaker whose sound can be recorded, a microphone that can be fed."""

    def __init__(self, folder: str) -> None:
        self._environment = {**os.environ, "XDG_RUNTIME_DIR": folder}
        self.variables = self("start")

    def __call__(self, command: str) -> dict[str, str]:
        """Run the script; the variables it prints."""
        said = subprocess.run(
            [str(SINKS), command], env=self._environment, capture_output=True, text=True, check=True, timeout=300
        )
        words = said.stdout.removeprefix("export ").split()
        return {name: value.strip("'") for name, value in (word.split("=", 1) for word in words)}

    @contextmanager
    def recording(self, sink: str = "speaker") -> Iterator[Callable[[], np.ndarray]]:
        """Record what the speaker (or another sink) plays; the call gives all of it so far, mono, MONITOR_HZ."""
        with tempfile.TemporaryFile() as kept:
            parec = subprocess.Popen(
                ["parec", f"--device={sink}.monitor", f"--rate={MONITOR_HZ}", "--channels=1", "--format=s16le",
                 "--latency-msec=20"],
                stdout=kept,
            )  # fmt: skip
            try:
                while not os.fstat(kept.fileno()).st_size:
                    assert parec.poll() is None
                yield lambda: np.frombuffer(os.pread(kept.fileno(), 1 << 26, 0)[: 1 << 26], "<i2")
            finally:
                parec.terminate()
                parec.wait()


@contextmanager
def sound_server() -> Iterator[VirtualAudio]:
    """One that runs and is the process's own meanwhile."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        audio = VirtualAudio(folder)
        os.environ.update(audio.variables)
        try:
            yield audio
        finally:
            audio("stop")
            os.environ.clear()
            os.environ.update(before)
