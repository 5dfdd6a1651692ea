"""The program espeak-ng: a voice that is always there, and phonemes for the better one.

espeak-ng is GPL-3, so it stays a separate process and is never linked. Text goes in by stdin, never as an argument.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence

import numpy as np

from models.backends.speech_text import sentences
from models.errors import EngineMissingError, ModelTimeoutError, OutputError
from models.roles import AudioChunk

TIMEOUT_S = 20.0
RATE = 22_050  # what espeak-ng --stdout writes
_LANGUAGE_SWITCH = re.compile(r"\([a-z]{2,3}(?:-[a-z0-9]+)*\)")


class Espeak:
    """A TTS of formant speech: plain, but a few milliseconds and no model file."""

    id = "espeak-ng"

    def __init__(self, *, voice: str = "en-us", words_per_minute: int = 165) -> None:
        self._program = find_program()
        self._arguments = ["-v", voice, "-s", str(words_per_minute), "--stdout", "--stdin"]
        self.name = f"espeak-ng {voice}"

    def synthesize(self, text: str) -> Iterator[AudioChunk]:
        """Sound by sentence. Raises OutputError, ModelTimeoutError."""
        for sentence in sentences(text):
            yield AudioChunk(_samples(_run(self._program, self._arguments, sentence)), RATE)

    def close(self) -> None:
        """Nothing stays open between sentences."""


def find_program() -> str:
    """Path of espeak-ng. Raises EngineMissingError."""
    program = shutil.which("espeak-ng")
    if program is None:
        raise EngineMissingError("The program espeak-ng is not installed; run `sudo apt install espeak-ng`.")
    return program


def phonemes(program: str, clauses: Sequence[str], voice: str) -> list[str]:
    """IPA of each clause, in order. Raises OutputError, ModelTimeoutError.

    espeak-ng writes one line for a line of input unless it finds a pause inside; then each clause goes by itself.
    """
    arguments = ["-q", "--ipa", "-v", voice, "--stdin"]
    together = _lines(_run(program, arguments, "\n\n".join(clauses)))
    if len(together) == len(clauses):
        return together
    return [" ".join(_lines(_run(program, arguments, clause))) for clause in clauses]


def _lines(output: bytes) -> list[str]:
    text = _LANGUAGE_SWITCH.sub("", output.decode("utf-8", "replace"))
    return [line.strip() for line in text.splitlines() if line.strip()]


def _run(program: str, arguments: Sequence[str], text: str) -> bytes:
    try:
        done = subprocess.run(
            [program, *arguments], input=text.encode(), capture_output=True, timeout=TIMEOUT_S, check=True
        )
    except subprocess.TimeoutExpired as error:
        raise ModelTimeoutError(f"espeak-ng did not answer within {TIMEOUT_S:.0f} s.") from error
    except subprocess.CalledProcessError as error:
        reason = error.stderr.decode("utf-8", "replace").strip()
        raise OutputError(f"espeak-ng failed with code {error.returncode}: {reason}") from error
    return done.stdout


def _samples(wav: bytes) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    """Samples of a WAV stream whose header claims an unknown length."""
    start = wav.find(b"data")
    if wav[:4] != b"RIFF" or start < 0:
        raise OutputError("espeak-ng wrote no sound; its voice data may be missing: `sudo apt install espeak-ng-data`.")
    body = wav[start + 8 :]
    return np.frombuffer(body[: len(body) // 2 * 2], "<i2").astype(np.int16)
