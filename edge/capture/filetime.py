"""When a recording was made, and what makes it the same recording again."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from zoneinfo import ZoneInfo

from edge.clock import US, local, parse_time
from edge.errors import ConfigError, InputError

_CREATION_KEYS = ("com.apple.quicktime.creationdate", "creation_time", "date", "creationdate")
_FIRST_YEAR = 1990  # cameras without a set clock write the epoch of their container (1904, 1970)
_BLOCK = 1 << 20
_ID_CHARS = 16


@lru_cache(maxsize=8)
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ConfigError(f"{name!r} is no time zone: set owner.zone to a name such as Europe/Zurich.") from error


def offset_at(t: int, zone: str) -> int:
    """UTC offset in seconds at t in an IANA zone; an empty name means the machine's zone.  Raises ConfigError."""
    moment = datetime.fromtimestamp(t / US, tz=timezone.utc)
    shift = (moment.astimezone(_zone(zone)) if zone else moment.astimezone()).utcoffset()
    return int(shift.total_seconds()) if shift is not None else 0


def container_time(metadata: Mapping[str, str]) -> tuple[int, int | None] | None:
    """The creation time a container carries: (microseconds UTC, offset in seconds when it names one), or None.

    UTC stamps ("...Z") say nothing about the wearer's zone, so their offset is None.
    """
    for key in _CREATION_KEYS:
        text = metadata.get(key, "").strip()
        if len(text) > 5 and text[-5] in "+-" and text[-4:].isdigit():  # +0200, which Python 3.10 does not read
            text = text[:-2] + ":" + text[-2:]
        if not text:
            continue
        try:
            t, offset = parse_time(text)
        except InputError:
            continue
        if local(t, 0).year >= _FIRST_YEAR:
            return t, None if text[-1] in "zZ" else offset
    return None


def start_of(
    start: tuple[int, int] | None, created: tuple[int, int | None] | None, mtime: float, zone: str
) -> tuple[int, int]:
    """(t_start, offset_s) of a recording: what was asked for, else the container's time, else the file's mtime."""
    if start is not None:
        return start
    t, offset = created if created is not None else (round(mtime * US), None)
    return t, offset_at(t, zone) if offset is None else offset


def content_id(paths: Sequence[Path], stop: threading.Event) -> str:
    """Short sha256 of one file's bytes, or of the digests of several in their order; empty when `stop` was set."""
    digests = []
    for path in paths:
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
                if stop.is_set():
                    return ""
        digests.append(digest)
    whole = digests[0] if len(digests) == 1 else hashlib.sha256(b"".join(d.digest() for d in digests))
    return whole.hexdigest()[:_ID_CHARS]
