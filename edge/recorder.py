"""The trace format: a recorded session as JSON lines, one window a line; read for replay, written by the recorder.

Reading is strict: a wrong key, a time without a zone, an item outside its window or windows out of order are refused
with the line they stand in, before anything is replayed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from edge.clock import US, local, parse_time
from edge.config import ProfileName
from edge.errors import InputError, MissingFile, OrderError, TraceError
from storage.records import Caption, Device, Entity, Event, Gap, Keyframe, SeenText, Utterance, Window

LONGEST_WINDOW_S = 120  # as long as an episode of a clip may be
MAX_LINE = 8_000_000  # characters; one window with a megabyte of captions still fits
MANY = 1_000_000  # more of a thing in one window is an error of whoever counted


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Text(_Strict):
    t: str
    text: str


class _Speech(_Strict):
    t: str
    speaker: str
    text: str


class _Event(_Strict):
    t: str
    subject: str
    action: str
    object: str


class _Entity(_Strict):
    name: str
    count: int = Field(1, le=MANY)
    attributes: list[str] = []
    location: str | None = None


class _Keyframe(_Strict):
    t: str
    file: str
    sha256: str
    width: int = Field(ge=1, le=100_000)
    height: int = Field(ge=1, le=100_000)
    size: int = Field(ge=1, le=1 << 40)


class _Gap(_Strict):
    t_start: str
    t_end: str
    reason: str


class _Device(_Strict):
    battery: int | None = Field(None, ge=0, le=100)
    charging: bool | None = None
    worn: bool | None = None
    mode: str | None = None


class _Line(_Strict):
    recording: str
    t_start: str
    t_end: str
    captions: list[_Text] = []
    description: str = ""
    entities: list[_Entity] = []
    events: list[_Event] = []
    ocr: list[_Text] = []
    speech: list[_Speech] = []
    scene: str = ""
    made_by: str = "given"
    keyframes: list[_Keyframe] = []
    gaps: list[_Gap] = []
    device: _Device | None = None
    frames: int | None = Field(None, ge=1, le=MANY)
    profile: Literal["wear", "clip"] = "wear"


def read_trace(path: Path, frame_interval_s: float) -> Iterator[Window]:
    """The windows of a trace in order; `frames` is round(duration / frame interval) unless the line says otherwise.

    Raises MissingFile, TraceError (with the line number) and OrderError.
    """
    newest: dict[str, Window] = {}  # of each recording; they stand in the order in which they came
    for number, text in _lines(path):
        window = _parse(text, path, number, frame_interval_s)
        before = newest.get(window.recording)
        if before is not None and window.t_start < before.t_end:
            what = "repeats" if window.t_start == before.t_start else "begins before the end of"
            raise OrderError(
                f"{path.name} line {number}: this window {what} the one before it; sort the windows by time and drop doubles."
            )
        newest[window.recording] = window
        yield window
    if not newest:
        raise TraceError(f"{path.name} holds no window: a trace has one JSON object a line.")


@dataclass(frozen=True, slots=True)
class Checked:
    """What a look through a whole trace found."""

    windows: int
    profile: ProfileName


def check_trace(path: Path) -> Checked:
    """Read a whole trace without keeping it; raises what read_trace raises."""
    count, profile = 0, "wear"
    for window in read_trace(path, 1.0):
        if not count:
            profile = window.profile
        elif window.profile != profile:
            raise TraceError(f"{path.name} line {count + 1}: the profile changes within the trace; split it there.")
        count += 1
        if window.t_end - window.t_start > LONGEST_WINDOW_S * US:
            length = (window.t_end - window.t_start) / US
            raise TraceError(
                f"{path.name} line {count}: a window of {length:.0f} s is too long ({LONGEST_WINDOW_S} s at most): split it."
            )
    return Checked(count, "clip" if profile == "clip" else "wear")


def to_line(window: Window, frame_interval_s: float) -> dict[str, Any]:
    """A window as the JSON object of its line; optional keys only where they say something."""

    def at(t: int) -> str:
        moment = local(t, window.offset_s)
        return moment.isoformat(timespec="microseconds" if t % 1000 else "milliseconds")

    line: dict[str, Any] = {
        "recording": window.recording,
        "t_start": at(window.t_start),
        "t_end": at(window.t_end),
        "captions": [{"t": at(c.t), "text": c.text} for c in window.captions],
        "description": window.description,
        "entities": [
            {"name": e.name, "count": e.count, "attributes": list(e.attributes), "location": e.location}
            for e in window.entities
        ],
        "events": [{"t": at(e.t), "subject": e.subject, "action": e.action, "object": e.object} for e in window.events],
        "ocr": [{"t": at(x.t), "text": x.text} for x in window.texts],
        "speech": [{"t": at(s.t), "speaker": s.speaker, "text": s.text} for s in window.speech],
    }
    if window.scene:
        line["scene"] = window.scene
    if window.made_by != "given":
        line["made_by"] = window.made_by
    if window.keyframes:
        line["keyframes"] = [
            {"t": at(k.t), "file": k.file, "sha256": k.sha256, "width": k.width, "height": k.height, "size": k.size}
            for k in window.keyframes
        ]
    if window.gaps:
        line["gaps"] = [{"t_start": at(g.t_start), "t_end": at(g.t_end), "reason": g.reason} for g in window.gaps]
    if window.device is not None:
        d = window.device
        line["device"] = {"battery": d.battery, "charging": d.charging, "worn": d.worn, "mode": d.mode}
    if window.frames != default_frames(window.t_start, window.t_end, frame_interval_s):
        line["frames"] = window.frames
    if window.profile != "wear":
        line["profile"] = window.profile
    return line


def default_frames(t_start: int, t_end: int, frame_interval_s: float) -> int:
    """How many sampled frames a recorded window stands for: round(duration / frame interval), at least one."""
    return max(1, round((t_end - t_start) / US / frame_interval_s))


class Recorder:
    """Writes windows as they are committed, each line flushed whole, into a file that only its owner reads (0600)."""

    def __init__(self, path: Path, frame_interval_s: float) -> None:
        self._interval, self.path = frame_interval_s, path
        try:
            self._new = not path.exists()
            self._after = _last_start(path)
            self._file: IO[str] = os.fdopen(
                os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8"
            )
        except OSError as error:
            raise InputError(
                f"The recording {path} cannot be written ({error.strerror}): choose another path."
            ) from error

    def write(self, window: Window) -> None:
        """Append one window; a window that the file holds already (a resumed run) is passed over."""
        if self._after is not None and window.t_start <= self._after:
            return
        self._file.write(json.dumps(to_line(window, self._interval), ensure_ascii=False, separators=(",", ":")) + "\n")
        self._file.flush()

    def cut(self, cut: Callable[[Window], Window | None]) -> int:
        """Rewrite what was written so far; see `cut_trace`."""
        self._file.close()
        try:
            return cut_trace(self.path, cut, self._interval)
        finally:
            self._file = os.fdopen(
                os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8"
            )

    def close(self) -> None:
        """Close the file; one that nothing was written into is not left behind."""
        self._file.close()
        if self._new and self.path.exists() and self.path.stat().st_size == 0:
            self.path.unlink()


def cut_trace(path: Path, cut: Callable[[Window], Window | None], frame_interval_s: float) -> int:
    """Rewrite a recording with what `cut` leaves of each window (the same object: untouched; None: gone).

    Returns how many windows changed.  The file is whole at every moment; the old bytes are overwritten once the new
    ones are in their place.  A line that is no window (torn by a power cut) cannot show what it holds and goes.
    Raises MissingFile, InputError.
    """
    kept: list[str] = []
    changed = 0
    for number, text in _lines(path):
        try:
            window = _parse(text, path, number, frame_interval_s)
        except InputError:
            changed += 1
            continue
        left = cut(window)
        changed += left is not window
        if left is window:
            kept.append(text if text.endswith("\n") else text + "\n")
        elif left is not None:
            line = json.dumps(to_line(left, frame_interval_s), ensure_ascii=False, separators=(",", ":"))
            kept.append(line + "\n")
    if not changed:
        return 0
    fresh = path.with_name(f".{path.name}.new")
    try:
        with path.open("r+b") as old:
            with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
                out.writelines(kept)
                out.flush()
                os.fsync(out.fileno())
            size = path.stat().st_size
            fresh.replace(path)
            for start in range(0, size, 1 << 20):
                old.write(bytes(min(1 << 20, size - start)))
            old.flush()
            os.fsync(old.fileno())
    except OSError as error:
        raise InputError(
            f"The recording {path} cannot be rewritten ({error.strerror}): check its permissions."
        ) from error
    return changed


def _last_start(path: Path) -> int | None:
    """Start of the last whole line of a recording that is continued; a torn last line (power cut) is cut off.

    Raises InputError when the file is not a recording: another file is neither cut nor written into.
    """
    if not path.exists() or path.stat().st_size == 0:
        return None
    with path.open("r+b") as file:
        data = file.read()
        whole = data.rfind(b"\n") + 1
        last = data[:whole].rstrip().rpartition(b"\n")[2]
        torn = data[whole:].strip()
        try:
            start = parse_time(_Line.model_validate_json(last).t_start)[0] if last else None
        except (ValidationError, InputError) as error:
            raise InputError(f"{path} is not a recording: give --record another path.") from error
        if torn and not (torn.startswith(_BEGIN) or _BEGIN.startswith(torn)):
            raise InputError(f"{path} is not a recording: give --record another path.")
        if whole < len(data):
            file.truncate(whole)
    return start


_BEGIN = b'{"recording":'


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8-sig", errors="surrogateescape") as file:
            for number, text in enumerate(iter(lambda: file.readline(MAX_LINE + 1), ""), 1):
                if len(text) > MAX_LINE:
                    raise TraceError(f"{path.name} line {number}: longer than {MAX_LINE} characters; split the window.")
                if "\0" in text or (not text.isascii() and _UNREADABLE.search(text)):
                    raise TraceError(f"{path.name} line {number}: {_no_text(text)}")
                if text.strip():
                    yield number, text
    except FileNotFoundError as error:
        raise MissingFile(f"There is no file {path}: check the path.") from error
    except IsADirectoryError as error:
        raise MissingFile(f"{path} is a folder: give the path of a .trace.jsonl file.") from error
    except OSError as error:
        raise MissingFile(f"{path} cannot be read ({error.strerror}): check its permissions.") from error


_UNREADABLE = re.compile("[\udc80-\udcff]")  # bytes that are no UTF-8
_PACKED = ("\x1f\udc8b", "PK\x03\x04", "BZh", "\udcfd7zXZ", "(\udcb5/\udcfd")  # gzip, zip, bzip2, xz, zstd


def _no_text(text: str) -> str:
    """What to do about a line that is not text in UTF-8."""
    if text.startswith(_PACKED):
        return "the file is compressed; unpack it first."
    return "not text in UTF-8; save the file as UTF-8, a trace has one JSON object a line."


def _parse(text: str, path: Path, number: int, frame_interval_s: float) -> Window:
    where = f"{path.name} line {number}"
    try:
        line = _Line.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            raise TraceError(
                f"{where}: not JSON ({first['ctx']['error']}); a trace has one JSON object a line."
            ) from error
        key = ".".join(str(p) for p in first["loc"])
        raise TraceError(f"{where}: {key}: {first['msg']}; see docs/trace.md for the format.") from error
    try:
        window = _window(line, frame_interval_s)
    except InputError as error:
        raise TraceError(f"{where}: {error}") from error
    if window.t_end <= window.t_start:
        raise OrderError(f"{where}: the window ends before it begins; check t_start and t_end.")
    for when in [x.t for x in (*line.captions, *line.ocr)] + [e.t for e in line.events] + [s.t for s in line.speech]:
        if not window.t_start <= parse_time(when)[0] <= window.t_end:
            raise OrderError(f"{where}: {when} lies outside the window; check the zone and the order.")
    return window


def _window(line: _Line, frame_interval_s: float) -> Window:
    if line.made_by not in ("given", "light", "vlm"):
        raise TraceError(f"made_by is {line.made_by!r}; it is one of given, light, vlm.")
    if not line.recording.strip():
        raise TraceError("recording is empty; it names the session.")
    start, offset_s = parse_time(line.t_start)
    end, end_offset = parse_time(line.t_end)
    if end_offset != offset_s and abs(end_offset - offset_s) > 2 * 3600:
        raise TraceError("t_start and t_end lie in zones that are hours apart; check the offsets.")

    def t(text: str) -> int:
        return parse_time(text)[0]

    return Window(
        recording=line.recording,
        t_start=start,
        t_end=end,
        offset_s=offset_s,
        captions=tuple(sorted((Caption(t(c.t), c.text) for c in line.captions), key=lambda x: x.t)),
        description=line.description,
        entities=tuple(Entity(e.name, max(1, e.count), tuple(e.attributes), e.location) for e in line.entities),
        events=tuple(sorted((Event(t(e.t), e.subject, e.action, e.object) for e in line.events), key=lambda x: x.t)),
        texts=tuple(sorted((SeenText(t(x.t), x.text) for x in line.ocr), key=lambda x: x.t)),
        speech=tuple(sorted((Utterance(t(s.t), s.speaker, s.text) for s in line.speech), key=lambda x: x.t)),
        scene=line.scene,
        made_by=line.made_by,  # type: ignore[arg-type]
        profile=line.profile,
        frames=line.frames if line.frames else default_frames(start, end, frame_interval_s),
        keyframes=tuple(Keyframe(t(k.t), k.file, k.sha256, k.width, k.height, k.size) for k in line.keyframes),
        gaps=tuple(Gap(line.recording, t(g.t_start), t(g.t_end), g.reason) for g in line.gaps),
        device=None if line.device is None else Device(**line.device.model_dump()),
    )
