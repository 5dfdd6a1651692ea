"""The error tree of grove-edge.

GroveError                      error             everything a user may see: a code, a sentence, an exit status
├── InputError                  input             what was given cannot be used (exit 1)
│   ├── TraceError              input.trace       a trace line that breaks the format
│   ├── OrderError              input.order       windows out of order, overlapping, doubled
│   ├── MediaError              input.media       a file or stream that cannot be decoded
│   ├── MissingFile             input.missing     no such file
│   └── QuestionError           input.question    an empty or unusable question
├── ConfigError                 config.key        wrong key, value or unreadable file
├── UsageError                  usage             a command used wrongly (exit 2)
├── DeviceError                 device            camera, microphone or speaker
│   ├── CameraError             device.camera     no camera, or it gives no pictures
│   └── AudioError              device.audio      no microphone or speaker, or it gives no sound
├── ControlError                control           the control socket
│   ├── NotRunning              control.none      no device runs (edge/server/control.py)
│   └── Refused                 control.refused   the running device refused the command (edge/server/control.py)
└── ServiceDown                 service.down      a service that gave up after its restart limit

The leaves have trees of their own, whose classes carry `code` too:
storage.errors.StorageError     storage.*
models.errors.ModelError        model.*
firmware_bridge.errors          bridge.*
`code_of` and `sentence_of` read any of them.
"""

from __future__ import annotations


class GroveError(Exception):
    """Base of the runtime's errors.  `str()` is one sentence that says what to do."""

    code = "error"
    exit_status = 1


class InputError(GroveError):
    code = "input"


class TraceError(InputError):
    code = "input.trace"


class OrderError(InputError):
    code = "input.order"


class MediaError(InputError):
    code = "input.media"


class MissingFile(InputError):
    code = "input.missing"


class QuestionError(InputError):
    code = "input.question"


class ConfigError(GroveError):
    code = "config.key"


class UsageError(GroveError):
    code = "usage"
    exit_status = 2


class DeviceError(GroveError):
    code = "device"


class CameraError(DeviceError):
    code = "device.camera"


class AudioError(DeviceError):
    code = "device.audio"


class ControlError(GroveError):
    code = "control"


class ServiceDown(GroveError):
    code = "service.down"


def code_of(error: BaseException) -> str | None:
    """The stable code of an error of ours or of a leaf; None for a foreign one."""
    code = getattr(type(error), "code", None)
    return code if isinstance(code, str) else None


def sentence_of(error: BaseException) -> str:
    """One line for the user: the error's sentence without line breaks."""
    return " ".join(str(error).split()) or type(error).__name__
