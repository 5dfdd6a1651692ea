"""Playing through PortAudio (the `audio` extra), and nothing else: no other file of the voice knows the library.

All calls that a driver may hang in are made by a thread of their own, so that a dead device costs an error after a
few seconds and never the voice.  A device that was lost is looked for again at the next utterance: PortAudio sees new
devices only when it is initialised anew, which `_Library` does while no stream is open.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from edge.errors import AudioError
from edge.logs import Log
from edge.voice.pcm import Pcm16, blocks, resample
from edge.voice.player import Played
from models.roles import AudioChunk

BLOCK_S = 0.02  # how finely speech can be cut off
BUFFER_S = 0.05  # what the driver holds: short enough to interrupt, long enough for a busy processor
TAIL_S = 0.15  # silence after the last word, so that it leaves the driver whole
HANG_S = 4.0  # a driver that takes nothing for so long is given up

_log = Log("voice")


class PyAudioPlayer:
    """Play on an output device: the default one, or the first whose name contains `device`."""

    silent = False

    def __init__(self, device: str, library: _Library) -> None:
        self.problem = ""
        self._device = device
        self._library = library
        self._writer: _Writer | None = None

    @classmethod
    def open(cls, device: str) -> PyAudioPlayer | None:
        """A player for the device, present or not; None without PyAudio."""
        try:
            import pyaudio  # noqa: PLC0415
        except ImportError:
            return None
        player = cls(device, _Library.shared(pyaudio))
        try:
            player._library.find(device)
        except AudioError as error:
            player.problem = str(error)
        return player

    @property
    def name(self) -> str:
        return self._device or "default"

    def play(self, chunks: Iterable[AudioChunk], stop: threading.Event) -> Played:
        """Open the device, play, close it: a default device that changed is the one used next."""
        if self._writer is not None and self._writer.is_alive():
            raise AudioError(f"The speaker {self.name} still takes no sound: unplug it and connect it again.")
        writer: _Writer | None = None
        seconds = 0.0
        try:
            for chunk in chunks:
                if stop.is_set():
                    break
                if writer is None:
                    writer = self._writer = _Writer(self._library, self._device, chunk.rate)
                rate = writer.rate()
                for block in blocks(resample(chunk.pcm, chunk.rate, rate), int(rate * BLOCK_S)):
                    if stop.is_set():
                        break
                    writer.feed(block)
                    seconds += len(block) / rate
            if writer is not None:
                writer.drain(stop)
                self.problem = ""
        except AudioError as error:
            self.problem = str(error)
            raise
        finally:
            if writer is not None:
                writer.cut()
        return Played(seconds, complete=not stop.is_set())

    def close(self) -> None:
        self._library.close()


class _Library:
    """PortAudio itself, initialised on demand and anew after a loss.  One for the process: it counts who uses it, and
    looks for devices only when the first comes.
    """

    _one: _Library | None = None

    @classmethod
    def shared(cls, module: Any) -> _Library:
        """The process's own."""
        cls._one = cls._one or cls(module)
        return cls._one

    def __init__(self, module: Any) -> None:
        self._module = module
        self._lock = threading.Lock()
        self._audio: Any = None
        self._streams = 0

    def find(self, device: str) -> tuple[int, int]:
        """Index and own rate of an output device.  Raises AudioError naming what there is."""
        with self._lock:
            try:
                return self._find(device)
            except AudioError:
                self._look_again()
                raise

    def output(self, device: str, rate: int) -> tuple[Any, int]:
        """An open stream and its rate: the wanted one where the device can do it, else its own.  Raises AudioError."""
        with self._lock:
            fresh = self._audio is None
            try:
                return self._output(device, rate)
            except AudioError:
                self._look_again()
                if fresh or self._streams:
                    raise
            try:
                return self._output(device, rate)  # the list of devices was as old as the library
            except AudioError:
                self._look_again()
                raise

    def closed(self, *, lost: bool) -> None:
        """A stream has ended; after a loss the library begins anew."""
        with self._lock:
            self._streams -= 1
            if lost:
                self._look_again()

    def close(self) -> None:
        """Let go of PortAudio, unless a driver still hangs in it."""
        if self._lock.acquire(timeout=HANG_S):
            try:
                self._look_again()
            finally:
                self._lock.release()

    def _look_again(self) -> None:
        """End the library, unless a stream is open: the next use starts it and finds what devices there are then."""
        if self._audio is not None and not self._streams:
            self._audio.terminate()
            self._audio = None

    def _output(self, device: str, rate: int) -> tuple[Any, int]:
        index, own_rate = self._find(device)
        used = rate if self._can(index, rate) else own_rate
        try:
            stream = self._audio.open(
                format=self._module.paInt16,
                channels=1,
                rate=used,
                output=True,
                output_device_index=index,
                frames_per_buffer=int(used * BUFFER_S / 2),
            )
        except (OSError, ValueError) as error:
            raise AudioError(
                f"The speaker {device or 'default'} cannot be opened ({_reason(error)}): check that it is free."
            ) from error
        self._streams += 1
        return stream, used

    def _find(self, device: str) -> tuple[int, int]:
        if self._audio is None:
            with _quiet():
                self._audio = self._module.PyAudio()
        outputs = [
            info
            for info in map(self._audio.get_device_info_by_index, range(self._audio.get_device_count()))
            if info["maxOutputChannels"] > 0
        ]
        if device:
            found = next((info for info in outputs if device.lower() in str(info["name"]).lower()), None)
            if found is None:
                there = ", ".join(str(info["name"]) for info in outputs) or "none"
                raise AudioError(f"No sound device is called {device!r}: connect it, or choose one of: {there}.")
        else:
            try:
                found = self._audio.get_default_output_device_info()
            except OSError as error:
                raise AudioError("There is no speaker: connect one, or set voice.speaker to none.") from error
        return int(found["index"]), int(found["defaultSampleRate"])

    def _can(self, index: int, rate: int) -> bool:
        try:
            return bool(
                self._audio.is_format_supported(
                    rate, output_device=index, output_channels=1, output_format=self._module.paInt16
                )
            )
        except ValueError:
            return False


class _Writer(threading.Thread):
    """Opens, feeds and closes one stream; nobody else touches it."""

    def __init__(self, library: _Library, device: str, rate: int) -> None:
        super().__init__(name="speaker", daemon=True)
        self._library = library
        self._device = device
        self._rate = rate
        self._blocks: queue.Queue[Pcm16 | None] = queue.Queue(maxsize=1)
        self._opened = threading.Event()
        self._abort = threading.Event()
        self._ended = threading.Event()
        self._error: AudioError | None = None
        self.start()

    def rate(self) -> int:
        """The rate the stream takes, Hz, once it is open.  Raises AudioError when it cannot be opened."""
        if not self._opened.wait(HANG_S):
            raise self._hangs()
        if self._error is not None:
            raise self._error
        return self._rate

    def feed(self, block: Pcm16 | None) -> None:
        """Hand on a block, waiting as long as the device is busy with the ones before."""
        for _ in range(int(HANG_S / 0.1)):
            if self._ended.is_set():
                raise self._error or AudioError("The speaker was closed: try again.")
            try:
                self._blocks.put(block, timeout=0.1)
            except queue.Full:
                continue
            return
        raise self._hangs()

    def drain(self, stop: threading.Event) -> None:
        """Wait until the last word is out, or `stop`."""
        if not stop.is_set():
            self.feed(None)
        for _ in range(int((HANG_S + TAIL_S) / 0.02)):
            if stop.is_set():
                return
            if self._ended.wait(0.02):
                if self._error is not None:
                    raise self._error
                return
        raise self._hangs()

    def cut(self) -> None:
        """Fall silent: what the driver holds is thrown away."""
        self._abort.set()
        with suppress(queue.Full):  # then a block waits, and the thread looks at `_abort` before it plays that
            self._blocks.put_nowait(None)
        self._ended.wait(HANG_S)

    def run(self) -> None:
        try:
            stream, self._rate = self._library.output(self._device, self._rate)
        except AudioError as error:
            self._error = error
            self._ended.set()
            self._opened.set()
            return
        self._opened.set()
        lost = False
        try:
            while (block := self._blocks.get()) is not None and not self._abort.is_set():
                stream.write(block.astype("<i2").tobytes())
            if not self._abort.is_set():
                stream.write(bytes(2 * int(self._rate * TAIL_S)))
                stream.stop_stream()
        except OSError as error:
            lost = True
            self._error = AudioError(
                f"The speaker {self._device or 'default'} was lost ({_reason(error)}): connect it again."
            )
        finally:
            try:
                stream.close()
            except OSError as error:
                lost = True
                _log.debug("speaker_close_failed", reason=_reason(error))
            self._library.closed(lost=lost)
            self._ended.set()

    def _hangs(self) -> AudioError:
        return AudioError(
            f"The speaker {self._device or 'default'} has taken no sound for {HANG_S:.0f} seconds: "
            "unplug it and connect it again."
        )


def _reason(error: BaseException) -> str:
    """PortAudio's own words: its errors carry a number first or last."""
    words = [str(part) for part in error.args if not isinstance(part, int)]
    return " ".join(words) or type(error).__name__


@contextmanager
def _quiet() -> Iterator[None]:
    """ALSA and JACK print pages about devices that are not there: keep them for the debug log."""
    with os.fdopen(os.memfd_create("audio-library"), "w+b") as kept:
        before = os.dup(2)
        os.dup2(kept.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(before, 2)
            os.close(before)
        kept.seek(0)
        for line in sorted(set(kept.read().decode("utf-8", "replace").splitlines())):
            _log.debug("audio_library", line=line)
