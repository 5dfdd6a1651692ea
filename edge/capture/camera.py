"""From what the user named to a source: camera, file, folder, URL or device."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from edge.capture import picam
from edge.capture.audio import FileSound
from edge.capture.base import RecordedSound, RecordedSource, Source
from edge.capture.files import ImageFolder, VideoFile, is_image
from edge.capture.microphone import MicrophoneDriver, SoundClock
from edge.capture.network import StreamDriver, is_url
from edge.capture.pump import Driver, Pump
from edge.capture.sound_only import SoundOnly
from edge.capture.steady import SteadyTime
from edge.capture.v4l2 import DEVICES, V4l2Driver, devices
from edge.clock import Clock, local
from edge.config import Config, ProfileName
from edge.errors import AudioError, CameraError, MissingFile, UsageError, sentence_of
from edge.messages import Frame, Image, Pcm, Sound

CLIP_S = 600.0  # recordings shorter than this use the clip profile unless another was asked for
EVERY_S = 0.5  # time between two live frames: enough for what endangers now, and cheap
SOUND_KEEP = 160  # blocks of 0.03 s that wait for a busy reader

Start: TypeAlias = tuple[int, int]  # (microseconds UTC, UTC offset in seconds), as parse_time gives it


def is_live(spec: str) -> bool:
    """Whether a source spec names something that happens now: camera, a URL, or a device node, there or not."""
    if spec == "camera" or is_url(spec):
        return True
    return spec.startswith("/dev/") and "shm" not in Path(spec).parts[2:3]  # files in memory are no devices


def open_recorded(spec: str, config: Config, *, start: Start | None = None) -> VideoFile | ImageFolder:
    """A file or folder as a source, not yet opened.  Raises MissingFile when there is none."""
    limit = (config.capture.width, config.capture.height)
    path = Path(spec).expanduser()
    if path.is_dir() or is_image(path):
        return ImageFolder(path, limit=limit, start=start, zone=config.owner.zone)
    if path.exists():
        return VideoFile(path, limit=limit, start=start, zone=config.owner.zone)
    raise MissingFile(f"There is no file or folder {path}: check the path, or give camera, /dev/videoN or a URL.")


def open_live(spec: str, config: Config, clock: Clock, time: SteadyTime) -> Source[Frame]:
    """A camera or stream as a source; `open` and `read` tell what is wrong with it."""
    settings = config.capture
    limit = (settings.width, settings.height)
    make: Callable[[], Driver[Image]]
    if spec == "camera":
        make = partial(AnyCamera, clock, limit=limit, every_s=EVERY_S)
    elif is_url(spec):
        make = partial(StreamDriver, spec, clock, limit=limit, every_s=EVERY_S, timeout_s=settings.stale_s)
    else:
        make = partial(V4l2Driver, Path(spec), clock, limit=limit, every_s=EVERY_S)
    return Pump(make, FrameStamp(time).stamp)


def sound_only(mic: str, config: Config, *, start: Start | None = None) -> SoundOnly:
    """A sound file as a recording of its own, for source "none".  Raises UsageError when none is given."""
    if mic in {"none", "default"} or mic.startswith(DEVICE_PREFIX):
        raise UsageError("Source none needs a sound file: give it with --mic, or choose a source.")
    return SoundOnly(Path(mic).expanduser(), start=start, zone=config.owner.zone)


def file_sound(mic: str, source: RecordedSource) -> FileSound | None:
    """The sound that goes with an open recorded source: its own track (default), a file, or none.

    Raises MissingFile, MediaError.
    """
    if mic == "none":
        return None
    if mic != "default":
        return FileSound(Path(mic).expanduser(), source.t_start, source.offset_s)
    if isinstance(source, VideoFile) and source.has_sound:
        return FileSound(source.path, source.t_start, source.offset_s)
    return None


def live_sound(mic: str, time: SteadyTime) -> Source[Sound] | RecordedSound | None:
    """The sound that goes with a live source: the microphone (default), a device by a part of its name ("device:USB"),
    a file that plays from now on, or none.  Raises MissingFile, MediaError.
    """
    if mic == "none":
        return None
    if mic != "default" and not mic.startswith(DEVICE_PREFIX):
        return FileSound(Path(mic).expanduser(), time.now(), time.offset())
    make: Callable[[], Driver[Pcm]] = partial(MicrophoneDriver, mic.removeprefix(DEVICE_PREFIX).removeprefix("default"))
    return Pump(make, SoundClock(time).stamp, keep=SOUND_KEEP, error=AudioError)


DEVICE_PREFIX = "device:"


def live_recording(t: int, offset_s: int) -> str:
    """The recording id of a live capture that begins at t."""
    return f"live-{local(t, offset_s):%Y%m%dT%H%M%S}"


def profile_for(source: RecordedSource | Source[Frame], asked: ProfileName | None, config: Config) -> ProfileName:
    """The asked profile, else clip for recordings under ten minutes, else the configured one."""
    if asked is not None:
        return asked
    return "clip" if not source.live and getattr(source, "duration_s", CLIP_S) < CLIP_S else config.memory.profile


class FrameStamp:
    """Puts the capture time on pictures: the moment they arrived."""

    def __init__(self, time: SteadyTime) -> None:
        self._time = time
        self._seq = 0

    def stamp(self, image: Image) -> Frame:
        """The picture as a frame; later ones have larger numbers."""
        self._seq += 1
        return Frame(self._time.now(), self._time.offset(), image, self._seq)


class AnyCamera:
    """The camera there is: the Raspberry Pi's own, else the first video device that gives pictures.

    Looked for at each opening, so that one plugged in later is found.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        limit: tuple[int, int],
        every_s: float,
        library: Callable[[], Any | None] = picam.library,
        folder: Path = DEVICES,
    ) -> None:
        self._clock, self._limit, self._every_s = clock, limit, every_s
        self._library, self._folder = library, folder
        self._driver: Driver[Image] | None = None

    def describe(self) -> str:
        return self._driver.describe() if self._driver is not None else "camera"

    def open(self, closed: threading.Event) -> None:
        module = self._library()
        if module is not None and picam.present(module):
            self._driver = picam.PiCameraDriver(module, self._clock, limit=self._limit, every_s=self._every_s)
            self._driver.open(closed)
            return
        reason = ""
        for path in devices(self._folder):
            driver = V4l2Driver(path, self._clock, limit=self._limit, every_s=self._every_s)
            try:
                driver.open(closed)
            except CameraError as error:  # cameras have further nodes that give no pictures
                driver.release()
                reason = reason or sentence_of(error)
                continue
            self._driver = driver
            return
        raise CameraError(reason or "There is no camera: plug one in, or give a file or a URL as the source.")

    def take(self, closed: threading.Event) -> Image | None:
        assert self._driver is not None
        return self._driver.take(closed)

    def release(self) -> None:
        if self._driver is not None:
            self._driver.release()
