"""From what the user named to a source: camera, file, folder, URL or device."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from edge.capture.audio import FileSound
from edge.capture.base import RecordedSource, Source
from edge.capture.files import ImageFolder, VideoFile, is_image
from edge.config import Config, ProfileName
from edge.errors import MissingFile
from edge.messages import Frame

CLIP_S = 600.0  # recordings shorter than this use the clip profile unless another was asked for

Start: TypeAlias = tuple[int, int]  # (microseconds UTC, UTC offset in seconds), as parse_time gives it


def open_recorded(spec: str, config: Config, *, start: Start | None = None) -> RecordedSource:
    """A file or folder as a source, not yet opened.  Raises MissingFile when there is none."""
    limit = (config.capture.width, config.capture.height)
    path = Path(spec).expanduser()
    if path.is_dir() or is_image(path):
        return ImageFolder(path, limit=limit, start=start, zone=config.owner.zone)
    if path.exists():
        return VideoFile(path, limit=limit, start=start, zone=config.owner.zone)
    raise MissingFile(f"There is no file or folder {path}: check the path, or give camera, /dev/videoN or a URL.")


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


def profile_for(source: RecordedSource | Source[Frame], asked: ProfileName | None, config: Config) -> ProfileName:
    """The asked profile, else clip for recordings under ten minutes, else the configured one."""
    if asked is not None:
        return asked
    return "clip" if not source.live and getattr(source, "duration_s", CLIP_S) < CLIP_S else config.memory.profile
