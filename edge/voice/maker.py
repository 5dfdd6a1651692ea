"""Making speech ahead of the player: a thread synthesises sentence by sentence into a short queue."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Sequence

from edge.ahead import soon
from edge.logs import Log
from models.errors import ModelDownError, ModelError
from models.roles import TTS, AudioChunk

AHEAD = 2  # chunks that may wait: enough to play without a gap, little enough to throw away when cut off
SLOW_S = 20.0  # a voice that gives nothing for so long is given up
_POLL_S = 0.05

_log = Log("voice")


class SpeechMaker:
    """One TTS and the thread that works for it; `chunks` is used by one thread at a time."""

    def __init__(self, tts: TTS) -> None:
        self.name = tts.name
        self._tts = tts
        self._worker: threading.Thread | None = None
        self._one = threading.Lock()  # the voice makes one thing at a time
        self._ready: tuple[str, list[AudioChunk]] = ("", [])
        self._kept: dict[str, list[AudioChunk]] = {}

    def prepare(self, part: str) -> None:
        """Make one part ahead of its time; the next `chunks` that needs it has it at once.  Raises nothing.

        Waits while another part is being made.
        """
        with self._one:
            if self._ready[0] == part:
                return
            try:
                self._ready = (part, list(self._tts.synthesize(part)))
            except ModelError as error:  # it fails again when it is said, and is told then
                _log.debug("not_prepared", cause=error)

    def keep(self, part: str) -> None:
        """Make one part now and keep it for good: a warning must not wait for its words.  Raises ModelError."""
        if part not in self._kept:
            with self._one:
                self._kept[part] = list(self._tts.synthesize(part))

    def chunks(self, parts: Sequence[str], cut: threading.Event) -> Generator[tuple[int, AudioChunk], None, None]:
        """(index of the part, sound) in order, until the end or until `cut`.  Close the iterator when done with it.

        Raises what the TTS raises, and ModelDownError when it gives nothing for SLOW_S seconds or stays caught in the
        call before for as long.
        """
        if not self._free(cut):
            if cut.is_set():
                return
            raise ModelDownError(f"The voice {self.name} is stuck: restart grove-edge or choose another voice.")
        made: queue.Queue[tuple[int, AudioChunk] | BaseException | None] = queue.Queue(AHEAD)
        done = threading.Event()
        self._worker = threading.Thread(
            target=self._work, args=(tuple(parts), made, done), name="voice-maker", daemon=True
        )
        self._worker.start()
        try:
            waits = 0
            while not cut.is_set():
                try:
                    item = made.get(timeout=_POLL_S)
                except queue.Empty:
                    waits += 1
                    if waits * _POLL_S >= SLOW_S:
                        raise ModelDownError(
                            f"The voice {self.name} makes no sound: choose another with voice.tts."
                        ) from None
                    continue
                waits = 0
                if item is None:
                    return
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            done.set()
            self._worker.join(1.0)  # the sentence it is in; longer than that, and the next call finds it stuck

    def _free(self, cut: threading.Event) -> bool:
        """Whether the call before has ended; a busy machine takes its time for a sentence that was cut off."""
        waits = 0
        while self._worker is not None and self._worker.is_alive() and not cut.is_set() and waits * _POLL_S < SLOW_S:
            self._worker.join(_POLL_S)
            waits += 1
        return self._worker is None or not self._worker.is_alive()

    def _work(
        self,
        parts: Sequence[str],
        made: queue.Queue[tuple[int, AudioChunk] | BaseException | None],
        done: threading.Event,
    ) -> None:
        with soon():
            self._make(parts, made, done)

    def _make(
        self,
        parts: Sequence[str],
        made: queue.Queue[tuple[int, AudioChunk] | BaseException | None],
        done: threading.Event,
    ) -> None:
        try:
            for index, part in enumerate(parts):
                kept = self._kept.get(part)
                if kept is not None:
                    for chunk in kept:
                        if not _put(made, (index, chunk), done):
                            return
                    continue
                with self._one:
                    ready = self._ready[1] if self._ready[0] == part else None
                    for chunk in self._tts.synthesize(part) if ready is None else ready:
                        if not _put(made, (index, chunk), done):
                            return
            _put(made, None, done)
        except Exception as error:  # noqa: BLE001  # raised again where the sound is wanted
            _put(made, error, done)


def _put(
    made: queue.Queue[tuple[int, AudioChunk] | BaseException | None],
    item: tuple[int, AudioChunk] | BaseException | None,
    done: threading.Event,
) -> bool:
    while not done.is_set():
        try:
            made.put(item, timeout=_POLL_S)
        except queue.Full:
            continue
        return True
    return False
