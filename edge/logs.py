"""The log: one JSON object a line, one event name with its fields, rotated, readable by the owner alone.

`setup` arms it once for the process.  Code writes `log = Log("voice")`, then `log.info("spoken", seconds=1.2)`.
What people said, read or were seen doing goes in as `Private(text)`: it is written in debug lines only, every other
line keeps its length.  The message of a foreign exception can hold such text too (a validation error quotes its
input), so without debug only its type and its place in the code are kept.
"""

from __future__ import annotations

import json
import logging
import logging.handlers
import os
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from edge.clock import Clock, iso, local, parse_time
from edge.config import private_dir
from edge.errors import ConfigError, code_of, sentence_of

NAME = "grove-edge.log"
OURS = ("edge", "models", "storage", "firmware_bridge")
_FIELDS = "grove_fields"


@dataclass(frozen=True, slots=True)
class Private:
    """A value that tells of people's lives: written at debug level only."""

    text: str


_muted = threading.Event()


def mute(on: bool) -> None:
    """While the wearer has paused the device nothing is logged but errors, which never carry what was perceived."""
    (_muted.set if on else _muted.clear)()


class Log:
    """A logger of events with fields; `name` is the part of the runtime."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(f"edge.{name}")

    def debug(self, event: str, **fields: object) -> None:
        """For the developer; the only level that holds Private values."""
        self._write(logging.DEBUG, event, fields)

    def info(self, event: str, **fields: object) -> None:
        """What happened, as it should."""
        self._write(logging.INFO, event, fields)

    def warning(self, event: str, *, cause: BaseException | None = None, **fields: object) -> None:
        """What fell back or was left out."""
        self._write(logging.WARNING, event, fields, cause)

    def error(self, event: str, *, cause: BaseException | None = None, **fields: object) -> None:
        """What failed."""
        self._write(logging.ERROR, event, fields, cause)

    def _write(self, level: int, event: str, fields: dict[str, object], cause: BaseException | None = None) -> None:
        if _muted.is_set() and level < logging.ERROR:
            return
        if self._logger.isEnabledFor(level):
            self._logger.log(level, event, extra={_FIELDS: fields}, exc_info=cause, stacklevel=3)


class Logs:
    """The armed log; `close` takes everything back."""

    def __init__(
        self, file: RotatingFile | None, handlers: list[logging.Handler], undo: list[Callable[[], None]]
    ) -> None:
        self.path = Path(file.baseFilename) if file else None
        self._file = file
        self._handlers = handlers
        self._undo = undo

    @property
    def lost(self) -> int:
        """Lines that could not be written (a full disk)."""
        return self._file.lost if self._file else 0

    def close(self) -> None:
        """Stop logging; may be called twice."""
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()
        for handler in self._handlers:
            logging.getLogger().removeHandler(handler)
            handler.close()
        self._handlers.clear()

    def erase(self, since: int | None = None, until: int | None = None) -> int:
        """Forget private lines while the log is open; see `erase`."""
        if self._file is None:
            return 0
        self._file.acquire()
        try:
            self._file.release_stream()
            return erase(Path(self._file.baseFilename).parent, since, until)
        finally:
            self._file.release()


def setup(
    folder: Path | None, level: str, max_mb: float, files: int, clock: Clock, *, console: IO[str] | None = None
) -> Logs:
    """Arm the log: a rotated file in `folder` (None: no file), readable lines on `console`, warnings and uncaught errors.

    `files` rotated files of at most `max_mb` megabytes are kept beside the current one.  Raises ConfigError when the
    folder or file cannot be made.
    """
    number = getattr(logging, level.upper())
    debug = number <= logging.DEBUG
    handlers: list[logging.Handler] = []
    file: RotatingFile | None = None
    if folder is not None:
        private_dir(folder)
        try:
            file = RotatingFile(folder / NAME, int(max_mb * 1_000_000), files)
        except OSError as error:
            raise ConfigError(
                f"The log {folder / NAME} cannot be written ({error.strerror}): check its permissions."
            ) from error
        file.setFormatter(JsonLine(debug))
        handlers.append(file)
    if console is not None:
        plain = logging.StreamHandler(console)
        plain.setFormatter(PlainLine(clock))
        handlers.append(plain)
    root = logging.getLogger()
    undo: list[Callable[[], None]] = []
    # Other people's libraries are heard when something is wrong; their chatter may quote what they were given.
    levels = {"": logging.INFO if debug else logging.WARNING, **dict.fromkeys(OURS, number)}
    for name, wanted in levels.items():
        logger = logging.getLogger(name)
        undo.append(_restore(logger.setLevel, logger.level))
        logger.setLevel(wanted)
    for handler in handlers:
        handler.addFilter(_Stamp(clock))
        root.addHandler(handler)
    logging.captureWarnings(True)
    undo.append(_restore(logging.captureWarnings, False))
    undo.append(_catch_uncaught(Log("process")))
    return Logs(file, handlers, undo)


def erase(folder: Path, since: int | None = None, until: int | None = None) -> int:
    """Drop the debug lines (only they hold private text) written in a span of microseconds; None: without end.

    Every file is rewritten beside itself and swapped in; the old bytes are overwritten first.  Returns the lines
    dropped.  For a log that is open use `Logs.erase`.
    """
    dropped = 0
    for path in sorted(folder.glob(NAME + "*")):
        lines = path.read_bytes().splitlines(keepends=True)
        kept = [line for line in lines if not _private_between(line, since, until)]
        if len(kept) == len(lines):
            continue
        dropped += len(lines) - len(kept)
        fresh = path.with_name("." + path.name + ".new")
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
            out.writelines(kept)
            out.flush()
            os.fsync(out.fileno())
        with open(path, "r+b") as old:
            old.write(bytes(sum(map(len, lines))))
            old.flush()
            os.fsync(old.fileno())
        fresh.replace(path)
    return dropped


class RotatingFile(logging.handlers.RotatingFileHandler):
    """Rotated by size, every file 0600; a line that cannot be written is counted, never raised into the caller."""

    def __init__(self, path: Path, max_bytes: int, files: int) -> None:
        self.lost = 0
        super().__init__(path, maxBytes=max_bytes, backupCount=files, encoding="utf-8")

    def _open(self) -> Any:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.fchmod(descriptor, 0o600)  # a file that was there may have been wider
        return os.fdopen(descriptor, "a", encoding="utf-8")

    def release_stream(self) -> None:
        """Close the file; the next line opens it anew."""
        if self.stream is not None:
            self.stream.close()
            self.stream = None  # the handler reopens a missing stream by itself

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # the name is logging's
        del record
        self.lost += 1
        if self.lost == 1:
            print(f"grove-edge: the log cannot be written ({sys.exc_info()[1]}): free some space.", file=sys.stderr)


class JsonLine(logging.Formatter):
    """{"t", "level", "log", "event", fields..., "error"}."""

    def __init__(self, debug: bool) -> None:
        super().__init__()
        self._debug = debug

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "t": iso(getattr(record, "t_us", 0), 0).replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "log": record.name.removeprefix("edge."),
        }
        for key, value in _event(record).items():
            line.setdefault(key, _shown(value, private=record.levelno <= logging.DEBUG))
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = _error(record.exc_info[1], self._debug)
        return json.dumps(line, ensure_ascii=False, default=str)


class PlainLine(logging.Formatter):
    """`12:03:04 voice: speaker_lost reason=...` for a person at a terminal."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def format(self, record: logging.LogRecord) -> str:
        t = local(getattr(record, "t_us", 0), self._clock.offset())
        fields = _event(record)
        event = fields.pop("event")
        shown = [f"{key}={_shown(value, private=record.levelno <= logging.DEBUG)}" for key, value in fields.items()]
        if record.exc_info and record.exc_info[1] is not None:
            shown.append(f"({sentence_of(record.exc_info[1])})")
        mark = "" if record.levelno <= logging.INFO else f" {record.levelname}"
        return " ".join([f"{t:%H:%M:%S}{mark} {record.name.removeprefix('edge.')}: {event}", *shown])


class _Stamp(logging.Filter):
    """The time of a line comes from the runtime's clock, so that a replayed day logs its own hours."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def filter(self, record: logging.LogRecord) -> bool:
        record.t_us = self._clock.now()
        return True


def _event(record: logging.LogRecord) -> dict[str, object]:
    fields: dict[str, object] | None = getattr(record, _FIELDS, None)
    if fields is not None:
        return {"event": record.msg, **fields}
    name = "warning" if record.name == "py.warnings" else "message"
    return {"event": name, "text": " ".join(record.getMessage().split())}


def _shown(value: object, *, private: bool) -> object:
    if isinstance(value, Private):
        return value.text if private else f"({len(value.text)} characters)"
    return value


def _error(error: BaseException, debug: bool) -> dict[str, object]:
    said: dict[str, object] = {"type": type(error).__name__}
    code = code_of(error)
    if code is not None:
        said["code"] = code
    if code is not None or debug or isinstance(error, OSError):
        said["sentence"] = sentence_of(error)
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    said["at"] = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
    return said


def _private_between(line: bytes, since: int | None, until: int | None) -> bool:
    try:
        record = json.loads(line)
        t, _ = parse_time(record["t"])
        level = record["level"]
    except (ValueError, KeyError, TypeError):
        return True  # a line cut by a crash cannot show that it is harmless
    return level == "debug" and (since is None or t >= since) and (until is None or t <= until)


def _restore(call: Callable[[Any], object], value: object) -> Callable[[], None]:
    def undo() -> None:
        call(value)

    return undo


def _catch_uncaught(log: Log) -> Callable[[], None]:
    """Log what nobody caught, in any thread, then let the interpreter do what it always does."""
    before, before_thread = sys.excepthook, threading.excepthook

    def main(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not issubclass(kind, (KeyboardInterrupt, SystemExit)):
            log.error("uncaught", cause=error)
        before(kind, error, trace)

    def thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and not issubclass(args.exc_type, SystemExit):
            log.error("uncaught", cause=args.exc_value, thread=args.thread.name if args.thread else "")
        before_thread(args)

    sys.excepthook, threading.excepthook = main, thread

    def undo() -> None:
        sys.excepthook, threading.excepthook = before, before_thread

    return undo
