"""The child process that holds the microphone: PortAudio in, raw 16-bit samples out on standard output.

It lives in a process of its own because PortAudio keeps its first list of devices for as long as anybody in the
process uses it, and because a hanging driver can be killed here without anything else being lost.
Arguments: a part of the device's name ("" for the default one), and a rate to try first.  Writes one line
"RATE CHANNELS" and then samples.  On failure: one sentence on standard error, exit status 1.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Any

BLOCK_S = 0.032
_PR_SET_PDEATHSIG = 1


def main(device: str, rate: int) -> int:
    """Record until the reader is gone."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # a hung driver must not outlive the runtime
    try:
        import pyaudio  # noqa: PLC0415
    except ImportError:
        return _fail(
            "PyAudio is not installed: pip install 'grove-edge[audio]' (needs portaudio19-dev), or use no microphone."
        )
    quiet, own = os.open(os.devnull, os.O_WRONLY), os.dup(2)
    os.dup2(quiet, 2)  # ALSA and JACK talk to standard error about devices nobody asked for
    audio = pyaudio.PyAudio()
    try:
        info = _find(audio, device)
        stream, used, channels = _open(pyaudio, audio, info, rate)
    except (OSError, ValueError) as error:
        os.dup2(own, 2)
        return _fail(_sentence(error, device))
    out = sys.stdout.buffer
    out.write(f"{used} {channels}\n".encode())
    out.flush()
    try:
        while True:
            out.write(stream.read(int(used * BLOCK_S), exception_on_overflow=False))
            out.flush()
    except BrokenPipeError:
        return 0
    except OSError:
        os.dup2(own, 2)
        return _fail("The microphone was lost: plug it in again.")


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
        return "There is no microphone: connect one, or set capture.mic to none."
    return f"The microphone {device or 'default'} cannot be opened: check that it is connected and free."


def _fail(sentence: str) -> int:
    sys.stderr.write(sentence + "\n")
    sys.stderr.flush()
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
