"""Speech services that speak the Wyoming protocol: recogniser, voice and wake word of the owner's own, by address.

One event is a line of JSON, then `data_length` bytes of more JSON, then `payload_length` bytes of sound. A model is
named wyoming://HOST:PORT; sound goes there and nowhere else, so naming one is the owner's word that it may.
Protocol: github.com/OHF-Voice/wyoming (MIT), version 1.
"""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from models.backends.frames import check_speech
from models.backends.speech_text import sentences
from models.errors import InputError, LoadError, ModelDownError, OutputError
from models.roles import SPEECH_RATE, AudioChunk, SpeechSegment

SCHEME = "wyoming://"
CONNECT_S, ANSWER_S = 3.0, 20.0
WAKE_S = 2.0  # longest wait for a wake-word service that takes no sound
AGAIN = 2  # seconds of sound between two looks for one that is away
CHUNK = 1024  # samples of one event
LONGEST = 1 << 24  # bytes of one part of an event
FORMAT = {"rate": SPEECH_RATE, "width": 2, "channels": 1}

Event = tuple[str, dict[str, Any], bytes]


class Line:
    """A connection. Raises ModelDownError when the other side is away or does not answer, OutputError for nonsense."""

    def __init__(self, address: str, answer_s: float = ANSWER_S) -> None:
        """`answer_s`: how long the other side may take, seconds. Raises LoadError for what is no address."""
        parts = urlsplit(address)
        try:
            if not parts.hostname or not parts.port:
                raise ValueError
            self._where = (parts.hostname, parts.port)
        except ValueError as error:
            raise LoadError(f"{address} is no address: write it as {SCHEME}HOST:PORT.") from error
        self.address, self._answer_s = address, answer_s
        self._socket: socket.socket | None = None
        self._left = b""

    def open(self) -> None:
        """Connect anew."""
        self.close()
        try:
            self._socket = socket.create_connection(self._where, CONNECT_S)
        except OSError as error:
            raise ModelDownError(f"Nothing answers at {self.address} ({error}): start the service.") from error
        self._socket.settimeout(self._answer_s)

    @property
    def is_open(self) -> bool:
        """Whether there is a connection."""
        return self._socket is not None

    def send(self, kind: str, data: dict[str, Any] | None = None, payload: bytes = b"") -> None:
        """Write one event."""
        head = {"type": kind, "data": data or {}, "payload_length": len(payload)}
        try:
            self._connected().sendall(json.dumps(head).encode() + b"\n" + payload)
        except OSError as error:
            raise self._lost(error) from error

    def read(self) -> Event:
        """The next event."""
        try:
            while b"\n" not in self._left:
                self._more()
            line, self._left = self._left.split(b"\n", 1)
            head = json.loads(line)
            data = dict(head.get("data") or {})
            data.update(json.loads(self._take(int(head.get("data_length") or 0)) or b"{}"))
            return str(head["type"]), data, self._take(int(head.get("payload_length") or 0))
        except OSError as error:
            raise self._lost(error) from error
        except (ValueError, KeyError, TypeError) as error:
            self.close()
            raise OutputError(f"{self.address} does not speak the Wyoming protocol: {error!r}") from error

    def waiting(self) -> bool:
        """Whether something can be read without waiting."""
        return b"\n" in self._left or bool(select.select([self._connected()], [], [], 0)[0])

    def close(self) -> None:
        """Hang up; may be called twice."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._left = None, b""

    def _take(self, count: int) -> bytes:
        if not 0 <= count <= LONGEST:
            raise ValueError(f"a part of {count} bytes")
        while len(self._left) < count:
            self._more()
        part, self._left = self._left[:count], self._left[count:]
        return part

    def _more(self) -> None:
        data = self._connected().recv(1 << 16)
        if not data:
            raise ConnectionResetError("the other side hung up")
        if len(self._left) > LONGEST:
            raise ValueError("an event without an end")
        self._left += data

    def _connected(self) -> socket.socket:
        if self._socket is None:
            raise ConnectionResetError("there is no connection")
        return self._socket

    def _lost(self, error: OSError) -> ModelDownError:
        self.close()
        return ModelDownError(f"{self.address} does not answer ({error}): see the service's own log.")


class WyomingAsr:
    """An ASR behind an address; each sentence is a connection of its own. Not for several threads at once."""

    def __init__(self, address: str, *, language: str = "en") -> None:
        self.id = address
        self._line, self._language = Line(address), language

    def transcribe(self, pcm: NDArray[np.float32]) -> tuple[SpeechSegment, ...]:
        """One segment for all of it. Raises InputError, ModelDownError, OutputError."""
        check_speech(pcm)
        line = self._line
        line.open()
        try:
            line.send("transcribe", {"language": self._language})
            line.send("audio-start", FORMAT)
            data = np.asarray(np.clip(pcm, -1, 1) * 32_767, "<i2")
            for start in range(0, len(data), CHUNK):
                line.send("audio-chunk", FORMAT, data[start : start + CHUNK].tobytes())
            line.send("audio-stop")
            kind, said, _ = line.read()
            while kind != "transcript":
                kind, said, _ = line.read()
        finally:
            line.close()
        text = str(said.get("text", "")).strip()
        return (SpeechSegment(0.0, len(pcm) / SPEECH_RATE, text, 1.0),) if any(c.isalnum() for c in text) else ()

    def close(self) -> None:
        self._line.close()


class WyomingTts:
    """A TTS behind an address. May be called from several threads."""

    def __init__(self, address: str) -> None:
        self.id = self.name = address
        Line(address)

    def synthesize(self, text: str) -> Iterator[AudioChunk]:
        """Sound as it comes, sentence by sentence. Raises ModelDownError, OutputError."""
        for sentence in sentences(text):
            line = Line(self.id)
            line.open()
            try:
                line.send("synthesize", {"text": sentence})
                kind, data, payload = line.read()
                while kind != "audio-stop":
                    if kind == "audio-chunk":
                        yield self._chunk(data, payload)
                    kind, data, payload = line.read()
            finally:
                line.close()

    def close(self) -> None:
        """Nothing stays open between sentences."""

    def _chunk(self, data: dict[str, Any], payload: bytes) -> AudioChunk:
        try:
            rate, channels = int(data["rate"]), int(data["channels"])
            if int(data["width"]) != 2 or channels < 1 or not 1000 <= rate <= 384_000:
                raise ValueError
        except (KeyError, TypeError, ValueError) as error:
            raise OutputError(f"{self.id} gives sound that is not 16-bit: {data}") from error
        whole = payload[: len(payload) // (2 * channels) * 2 * channels]
        pcm = np.frombuffer(whole, "<i2").reshape(-1, channels).mean(axis=1)
        return AudioChunk(pcm.astype(np.int16), rate)


class WyomingWake:
    """A WakeWord behind an address: the sound goes there as it comes. Not for several threads at once.

    A service that is away is sought again beside the sound, which passes unheard until then; `problem` says so.
    """

    sure = True  # the service decides

    def __init__(self, address: str) -> None:
        """Raises LoadError for what is no address."""
        self.id = address
        self.problem = ""  # why nothing is heard at present, one sentence
        self._line = Line(address, WAKE_S)
        self._missed = 0  # samples since it was sought last
        self._seeking: threading.Thread | None = None
        self._closed = False
        self._seek()

    def feed(self, pcm: NDArray[np.int16]) -> str | None:
        """Raises InputError for what is no sound."""
        if not isinstance(pcm, np.ndarray) or pcm.dtype != np.int16 or pcm.ndim != 1:
            raise InputError("The wake word takes int16 samples of shape (n,) at 16 kHz.")
        if not self._line.is_open:
            self._missed += len(pcm)
            if self._missed >= AGAIN * SPEECH_RATE:
                self._look()
            return None
        heard: str | None = None
        try:
            self._line.send("audio-chunk", FORMAT, pcm.astype("<i2").tobytes())
            while self._line.waiting():
                kind, data, _ = self._line.read()
                if kind == "detection":
                    heard = str(data.get("name") or "wake word").replace("_", " ")
        except (ModelDownError, OutputError, OSError) as error:
            self._lost(error)
        return heard

    def reset(self) -> None:
        """Begin a new stream."""
        if self._line.is_open:
            try:
                self._line.send("audio-stop")
                self._line.send("audio-start", FORMAT)
            except ModelDownError as error:
                self._lost(error)

    def close(self) -> None:
        self._closed = True
        self._line.close()

    def _lost(self, error: Exception) -> None:
        self._line.close()
        self._missed, self.problem = 0, str(error)

    def _look(self) -> None:
        if self._closed or (self._seeking is not None and self._seeking.is_alive()):
            return
        self._missed = 0
        self._seeking = threading.Thread(target=self._seek, name="wyoming-wake", daemon=True)
        self._seeking.start()

    def _seek(self) -> None:
        """Connect anew, and hand the line over once it is whole."""
        line = Line(self.id, WAKE_S)
        try:
            line.open()
            line.send("detect", {})
            line.send("audio-start", FORMAT)
        except ModelDownError as error:
            line.close()
            self.problem = str(error)
            return
        if self._closed:
            line.close()
            return
        self._line, self.problem = line, ""
