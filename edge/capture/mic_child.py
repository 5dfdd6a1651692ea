"""The child process that holds the microphone: PortAudio in, raw 16-bit samples out on standard output.

It lives in a process of its own because PortAudio keeps its first list of devices for as long as anybody in the
process uses it, and because a hanging driver can be killed here without anything else being lost.
A sound server may move the recording of a microphone that went away to what the speaker plays; that counts as lost.
Arguments: a part of the device's name ("" for the default one), and a rate to try first.  Writes one line
"RATE CHANNELS" and then samples.  On failure: one sentence on standard error, exit status 1.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from typing import Any

BLOCK_S = 0.032
_PR_SET_PDEATHSIG = 1
_NONE = "There is no microphone: connect one, or set capture.mic to none."


def main(device: str, rate: int) -> int:
    """Record until the reader is gone."""
    _die_with_parent()  # a hung driver must not outlive the runtime
    try:
        import pyaudio  # noqa: PLC0415
    except ImportError:
        return _fail(
            "PyAudio is not installed: pip install -e '.[audio]' (needs portaudio19-dev), or use no microphone."
        )
    quiet, own = os.open(os.devnull, os.O_WRONLY), os.dup(2)
    os.dup2(quiet, 2)  # ALSA and JACK talk to standard error about devices nobody asked for
    server = _Server()
    audio = pyaudio.PyAudio()
    try:
        info = _find(audio, device)
        stream, used, channels = _open(pyaudio, audio, info, rate)
    except (OSError, ValueError) as error:
        os.dup2(own, 2)
        return _fail(_sentence(error, device))
    server.look()
    if server.moved:
        os.dup2(own, 2)
        return _fail(_NONE)
    server.start()
    out = sys.stdout.buffer
    out.write(f"{used} {channels}\n".encode())
    out.flush()
    try:
        while not server.moved:
            out.write(stream.read(int(used * BLOCK_S), exception_on_overflow=False))
            out.flush()
    except BrokenPipeError:
        return 0
    except OSError:
        pass
    os.dup2(own, 2)
    return _fail("The microphone was lost: plug it in again.")


class _Server(threading.Thread):
    """Looks where a PulseAudio (or PipeWire) server lets us record from, now and whenever it changes something.

    Without such a server, or without its `pactl`, nothing is looked at; PULSE_SOURCE is the owner's own choice.
    """

    def __init__(self) -> None:
        super().__init__(name="server", daemon=True)
        self.moved = False  # onto the monitor of a speaker
        self._changes: subprocess.Popen[bytes] | None = None
        if shutil.which("pactl") is None or os.environ.get("PULSE_SOURCE"):
            return
        self._changes = subprocess.Popen(
            ["pactl", "subscribe"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=_ENGLISH,
            preexec_fn=_die_with_parent,  # noqa: PLW1509  # no other thread runs yet
        )  # fmt: skip

    def look(self) -> None:
        """Look now, once the stream is open."""
        self.moved = self._changes is not None and _monitors()

    def run(self) -> None:
        if self._changes is not None and self._changes.stdout is not None:
            for line in self._changes.stdout:
                if b"source" in line and not self.moved:
                    self.look()


def _monitors() -> bool:
    """Whether this process records what a speaker plays."""
    for block in _pactl("source-outputs").split("Source Output #")[1:]:
        if f'application.process.id = "{os.getpid()}"' in block and (found := re.search(r"Source: (\d+)", block)):
            names = dict(line.split("\t")[:2] for line in _pactl("short", "sources").splitlines() if "\t" in line)
            return names.get(found[1], "").endswith(".monitor")
    return False


def _pactl(*what: str) -> str:
    """What the server lists; "" when it does not answer."""
    try:
        done = subprocess.run(
            ["pactl", "list", *what], capture_output=True, text=True, env=_ENGLISH, timeout=5, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


_ENGLISH = {**os.environ, "LC_ALL": "C"}


_LIBC = ctypes.CDLL(None)


def _die_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _find(audio: Any, device: str) -> Any:
    if not device:
        return audio.get_default_input_device_info()
    infos = [audio.get_device_info_by_index(i) for i in range(audio.get_device_count())]
    inputs = [info for info in infos if info["maxInputChannels"] > 0]
    for info in inputs:
        if device.lower() in str(info["name"]).lower():
            return info
    names = ", ".join(str(info["name"]) for info in inputs) or "none"
    raise ValueError(f"No microphone is called {device!r}: connect it, or choose one of: {names}.")


def _open(pyaudio: Any, audio: Any, info: Any, rate: int) -> tuple[Any, int, int]:
    """A stream at the wanted rate in mono where the device can do it, else at its own."""
    own = (int(info["defaultSampleRate"]), min(2, int(info["maxInputChannels"])))
    failure: Exception = OSError("no format")
    for used, channels in ((rate, 1), (own[0], 1), own):
        try:
            stream = audio.open(
                format=pyaudio.paInt16,
                channels=channels,
                rate=used,
                input=True,
                input_device_index=int(info["index"]),
                frames_per_buffer=int(used * BLOCK_S / 2),
            )
        except (OSError, ValueError) as error:
            failure = error
        else:
            return stream, used, channels
    raise failure


def _sentence(error: Exception, device: str) -> str:
    if isinstance(error, ValueError) and str(error).startswith("No microphone"):
        return str(error)
    if "No Default Input" in str(error) or "Invalid device" in str(error):
        return _NONE
    return f"The microphone {device or 'default'} cannot be opened: check that it is connected and free."


def _fail(sentence: str) -> int:
    sys.stderr.write(sentence + "\n")
    sys.stderr.flush()
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
