"""A recording without pictures: a sound file alone, as when a conversation is played to the device."""

from __future__ import annotations

import threading
from pathlib import Path

from edge.capture.audio import FileSound
from edge.capture.base import EndOfStream
from edge.capture.files import check_file
from edge.capture.filetime import content_id, start_of
from edge.clock import US
from edge.messages import Frame

TAIL_S = 2.0  # of silence after the end: who speaks to the very end is still let finish


class SoundOnly:
    """A recorded source that shows nothing for as long as its sound lasts."""

    live = False

    def __init__(self, path: Path, *, start: tuple[int, int] | None = None, zone: str = "") -> None:
        self.path = path
        self.recording = ""
        self.t_start = 0
        self.offset_s = 0
        self.duration_s = 0.0
        self._asked, self._zone = start, zone

    def describe(self) -> str:
        return f"sound file {self.path.name}"

    def open(self, stop: threading.Event) -> None:
        """Read the header and the content's hash.  Raises MissingFile, MediaError."""
        check_file(self.path)
        self.t_start, self.offset_s = start_of(self._asked, None, self.path.stat().st_mtime, self._zone)
        sound = FileSound(self.path, self.t_start, self.offset_s)
        self.duration_s = (sound.t_end - self.t_start) / US + TAIL_S
        sound.close()
        self.recording = content_id([self.path], stop)

    def sample_every(self, interval_s: float) -> None:
        """There is nothing to sample."""

    def skip_to(self, t: int) -> None:
        """There is nothing to skip."""

    def rebase(self, t_start: int, offset_s: int) -> None:
        self.t_start, self.offset_s, self._asked = t_start, offset_s, (t_start, offset_s)

    def read(self, timeout_s: float) -> Frame:
        """No picture ever comes."""
        del timeout_s
        raise EndOfStream

    def close(self) -> None:
        """Nothing is held open."""
