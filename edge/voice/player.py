"""Where speech goes: a sound device, a WAV file, or nowhere.

A player takes sound chunk by chunk, so that the first sentence plays while the next is made, and can be cut off in
mid-word.  What cannot be played is an AudioError; the player stays usable and tries its device anew the next time.
"""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np

from edge.clock import US, Clock
from edge.errors import AudioError, ConfigError
from edge.voice.pcm import Pcm16, blocks, resample
from models.roles import AudioChunk

_HEADER = struct.Struct("<4sI4s4sIHHIIHH4sI")
_BLOCK_S = 0.02  # how finely a paced file can be cut off
_SILENT_RATE = 22_050  # of a file in which nothing was said
_PAUSE_S = 0.3  # silence between utterances in a file
_MOST_BYTES = 2**32 - 1 - _HEADER.size  # what a WAV header can count


@dataclass(frozen=True, slots=True)
class Played:
    """How much was heard, seconds, and whether it was all."""

    seconds: float
    complete: bool


class Player(Protocol):
    """One voice's way out.  `play` is called by one thread at a time; `problem` may be read by any."""

    @property
    def name(self) -> str:
        """The device or file as the user knows it."""
        ...

    @property
    def problem(self) -> str:
        """Why nothing is heard at present, one sentence; empty when all is well."""
        ...

    @property
    def silent(self) -> bool:
        """True when nothing would be heard at all, so that no speech need be made."""
        ...

    def play(self, chunks: Iterable[AudioChunk], stop: threading.Event) -> Played:
        """Play until the chunks end or `stop` is set; then fall silent at once.  Raises AudioError."""
        ...

    def close(self) -> None:
        """Let go of the device or file; may be called twice."""
        ...


class NullPlayer:
    """Nothing is heard: because the user wants none, or because of the `problem`."""

    silent = True

    def __init__(self, problem: str = "") -> None:
        self.name = "none"
        self.problem = problem

    def play(self, chunks: Iterable[AudioChunk], stop: threading.Event) -> Played:
        """Leave the chunks unmade."""
        del chunks, stop
        return Played(0.0, complete=True)

    def close(self) -> None:
        """Nothing is held."""


class WavPlayer:
    """Append to a mono 16-bit WAV file.  The header is right after every chunk, whenever the process ends.

    A file that this player began is continued at its rate; any other file is refused rather than overwritten.
    """

    silent = False

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self.problem = ""
        self._path = path
        self._file: BinaryIO | None = None
        self._rate = 0
        self._bytes = 0
        self._open()  # now: a path that cannot be written is better known at the start

    def play(self, chunks: Iterable[AudioChunk], stop: threading.Event) -> Played:
        """Write the chunks; a file is as patient as its disk, so nothing waits for real time."""
        seconds, first, complete = 0.0, True, True
        for chunk in chunks:
            if stop.is_set():
                complete = False
                break
            self._rate = self._rate or chunk.rate
            pcm = resample(chunk.pcm, chunk.rate, self._rate)
            if first and self._bytes:
                pcm = np.concatenate([np.zeros(int(self._rate * _PAUSE_S), np.int16), pcm])
            first = False
            self._append(pcm)
            seconds += len(chunk.pcm) / chunk.rate
        return Played(seconds, complete)

    def append(self, pcm: Pcm16, rate: int) -> None:
        """Write samples right behind what is there.  Raises AudioError."""
        self._rate = self._rate or rate
        self._append(resample(pcm, rate, self._rate))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> BinaryIO:
        if self._file is not None:
            return self._file
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            file = os.fdopen(descriptor, "r+b", buffering=0)
            head = file.read(_HEADER.size)
            if not head:  # a sound file from the first, should nothing ever be said
                with suppress(OSError):  # on a full disk it gets its header with its first words
                    _write_all(file, _header(_SILENT_RATE, 0))
        except OSError as error:
            raise AudioError(
                f"The sound file {self._path} cannot be written ({error.strerror}): choose another path."
            ) from error
        if head:
            self._rate, self._bytes = _read_header(head, self._path, file)
            self._rate = self._rate if self._bytes else 0  # a file in which nothing was said yet takes any
            file.truncate(_HEADER.size + self._bytes)  # what a killed run left behind the last whole chunk
        self._file = file
        return file

    def _append(self, pcm: Pcm16) -> None:
        data = pcm.astype("<i2").tobytes()
        if self._bytes + len(data) > _MOST_BYTES:
            raise self._failed(f"The sound file {self._path} is full (4 GB): choose another path.")
        try:
            file = self._open()
            file.seek(_HEADER.size + self._bytes)
            _write_all(file, data)
            file.seek(0)
            _write_all(file, _header(self._rate, self._bytes + len(data)))
        except OSError as error:
            sentence = f"The sound file {self._path} cannot be written ({error.strerror}): free some space."
            raise self._failed(sentence) from error
        self._bytes += len(data)
        self.problem = ""

    def _failed(self, sentence: str) -> AudioError:
        self.problem = sentence
        return AudioError(sentence)


class PacedPlayer:
    """A file that plays in real time: what is not said is silence, so that it lies beside what the microphone heard."""

    silent = False

    def __init__(self, file: WavPlayer, clock: Clock) -> None:
        self._file, self._clock = file, clock
        self._begun = clock.mono()
        self._written = 0.0  # seconds in the file

    @property
    def name(self) -> str:
        return self._file.name

    @property
    def problem(self) -> str:
        return self._file.problem

    def play(self, chunks: Iterable[AudioChunk], stop: threading.Event) -> Played:
        """Write block by block, each when it is due."""
        seconds = 0.0
        for chunk in chunks:
            behind = (self._clock.mono() - self._begun) / US - self._written
            if behind > 0:
                self._write(np.zeros(int(behind * chunk.rate), np.int16), chunk.rate)
            for block in blocks(chunk.pcm, int(chunk.rate * _BLOCK_S)):
                if stop.is_set():
                    return Played(seconds, complete=False)
                self._write(block, chunk.rate)
                seconds += len(block) / chunk.rate
                ahead = self._written - (self._clock.mono() - self._begun) / US
                if ahead > 0:
                    stop.wait(ahead)
        return Played(seconds, complete=not stop.is_set())

    def close(self) -> None:
        self._file.close()

    def _write(self, pcm: Pcm16, rate: int) -> None:
        self._file.append(pcm, rate)
        self._written += len(pcm) / rate


def open_player(spec: str, clock: Clock | None = None) -> Player:
    """`default`, a FILE.wav, `none`, or `device:` and a part of a sound device's name (the prefix
    may be left out).  With a clock a file plays in real time.

    Never fails for want of a device: the player's `problem` then says what is missing, and what would have been
    spoken is still shown and logged.  Raises AudioError for a file that cannot be written, ConfigError for a path
    that is no WAV file.
    """
    if spec == "none":
        return NullPlayer()
    if spec.lower().endswith(".wav"):
        file = WavPlayer(Path(spec).expanduser())
        return file if clock is None else PacedPlayer(file, clock)
    if "/" in spec:
        raise ConfigError(f"{spec} is no place for sound: give default, none, a device name, or a file ending in .wav.")
    return _device("" if spec == "default" else spec.removeprefix("device:"))


def _device(name: str) -> Player:
    """PyAudio where it is installed, else a program of the system."""
    # Each of these loads a library or looks for a program: only when a device is wanted.
    from edge.voice.command import CommandPlayer, find_program  # noqa: PLC0415
    from edge.voice.portaudio import PyAudioPlayer  # noqa: PLC0415

    player = PyAudioPlayer.open(name)
    if player is not None:
        return player
    program = find_program()
    if program is not None:
        return CommandPlayer(program, name)
    return NullPlayer(
        "Nothing can be spoken: install pulseaudio-utils or alsa-utils, or PyAudio (pip install -e '.[audio]')."
    )


def _header(rate: int, size: int) -> bytes:
    return _HEADER.pack(
        b"RIFF", _HEADER.size - 8 + size, b"WAVE", b"fmt ", 16, 1, 1, rate, rate * 2, 2, 16, b"data", size
    )


def _read_header(head: bytes, path: Path, file: BinaryIO) -> tuple[int, int]:
    """(rate, data bytes) of a file that a WavPlayer began."""
    if len(head) == _HEADER.size:
        *_, rate, _, _, _, _, size = _HEADER.unpack(head)
        there = os.fstat(file.fileno()).st_size - _HEADER.size
        if head == _header(rate, size) and size <= there:
            return rate, size
    file.close()
    raise AudioError(f"{path} is there already and was not made by this player: move it away or choose another path.")


def _write_all(file: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
