"""From what the user named to an open capture: file, folder, camera or URL, with its sound and its profile."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from edge.bus import Bus, Subscription
from edge.capture.audio import FileSound
from edge.capture.base import RecordedSource, Speed
from edge.capture.camera import (
    Start,
    file_sound,
    is_live,
    live_recording,
    live_sound,
    open_live,
    open_recorded,
    profile_for,
    sound_only,
)
from edge.capture.live import GRACE_S, LiveCapture
from edge.capture.recorded import RecordedCapture
from edge.capture.steady import SteadyTime
from edge.capture.windows import WindowMaker
from edge.clock import US, Clock, iso
from edge.config import Config, ProfileName
from edge.errors import InputError, UsageError
from storage.records import Window


@dataclass(slots=True)
class OpenedRecording:
    """A file or folder that could be opened, before anything is read from it."""

    source: RecordedSource
    sound: FileSound | None
    mic: str
    config: Config
    profile: ProfileName
    clock: Clock
    asked: Start | None
    live: bool = False

    @property
    def recording(self) -> str:
        """The recording's id, from its content."""
        return self.source.recording

    @property
    def has_sound(self) -> bool:
        """Whether there is anything to hear."""
        return self.sound is not None

    def capture(
        self,
        bus: Bus,
        raw: Subscription,
        *,
        speed: Speed,
        first: Window | None,
        last: Window | None,
        duration_s: float | None,
    ) -> RecordedCapture:
        """The capture of it, going on after `last` where an earlier run had begun with `first`.

        Raises InputError when it was stored with another start than the one asked for.
        """
        source = self.source
        if first is not None:
            if self.asked is not None and self.asked[0] != first.t_start:
                told = iso(first.t_start, first.offset_s)
                raise InputError(
                    f"This recording is in the memory already, begun at {told}: leave out --start, or use another --db."
                )
            source.rebase(first.t_start, first.offset_s)
            if self.sound is not None:  # its times count from the source's start
                self.sound.close()
                self.sound = file_sound(self.mic, source)
        begin = source.t_start if last is None else last.t_end
        maker = WindowMaker(
            source.recording, self.config.memory.growth(self.profile), start=begin, offset_s=source.offset_s
        )
        until = None if duration_s is None else begin + round(duration_s * US)
        return RecordedCapture(source, self.sound, maker, bus, self.clock, speed=speed, raw_windows=raw, until_t=until)

    def close(self) -> None:
        """Let go of the files."""
        self.source.close()
        if self.sound is not None:
            self.sound.close()


@dataclass(slots=True)
class OpenedLive:
    """A camera or stream and a microphone: they open, and open again, by themselves once the capture runs."""

    spec: str
    mic: str
    config: Config
    profile: ProfileName
    clock: Clock
    time: SteadyTime
    recording: str
    live: bool = True

    @property
    def has_sound(self) -> bool:
        """Whether anything is to be heard; a microphone that is away may come."""
        return self.mic != "none"

    def capture(
        self,
        bus: Bus,
        raw: Subscription,
        *,
        speed: Speed,
        first: Window | None,
        last: Window | None,
        duration_s: float | None,
    ) -> LiveCapture:
        """The capture of it; a new recording, so there is nothing to go on with."""
        del raw, speed, first, last
        constants = self.config.memory.growth(self.profile)
        maker = WindowMaker(
            self.recording, constants, start=self.time.now(), offset_s=self.time.offset(), grace_s=GRACE_S
        )
        return LiveCapture(
            open_live(self.spec, self.config, self.clock, self.time),
            live_sound(self.mic, self.time),
            maker,
            bus,
            self.clock,
            self.config.capture,
            time=self.time,
            duration_s=duration_s,
        )

    def go_on_after(self, newest: Window | None) -> None:
        """Begin after what the memory holds, whatever the clock says after a reboot."""
        if newest is not None and self.time.go_on_after(newest.t_end):
            self.recording = live_recording(self.time.now(), self.time.offset())

    def close(self) -> None:
        """Nothing is open before the capture runs."""


def open_capture(
    config: Config, spec: str, mic: str, *, profile: ProfileName | None, start: Start | None, clock: Clock
) -> OpenedRecording | OpenedLive:
    """Open what was named.  Raises UsageError, MissingFile, MediaError, CameraError or AudioError."""
    if is_live(spec):
        if start is not None:
            raise UsageError("--start is for files: a camera's time is now.")
        time = SteadyTime(clock, config.owner.zone)
        name = live_recording(time.now(), time.offset())
        return OpenedLive(spec, mic, config, profile or config.memory.profile, clock, time, name)
    source: RecordedSource = (
        sound_only(mic, config, start=start) if spec == "none" else open_recorded(spec, config, start=start)
    )
    source.open(threading.Event())
    try:
        sound = file_sound(mic, source)
    except BaseException:
        source.close()
        raise
    return OpenedRecording(source, sound, mic, config, profile_for(source, profile, config), clock, start)
