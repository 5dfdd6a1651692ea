"""Everything that can go wrong with a model, one class per cause.

    ModelError                    model
    ├── ManifestError             model.manifest      the manifest breaks a rule
    ├── UnknownModelError         model.unknown       no such id or role
    ├── ModelMissingError         model.missing       no source has the file here
    ├── NotAModelError            model.not_a_model   an HTML page or a cut file in its place
    ├── HashMismatchError         model.hash          the file is not the one we vouch for
    ├── NoSpaceError              model.space         the disk cannot take it
    ├── FetchError                model.fetch         a download broke off
    ├── EngineMissingError        model.engine        the library that runs it is absent
    ├── LoadError                 model.load          the library refused the file
    ├── InputError                model.input         the caller's data has the wrong shape
    ├── GrammarError              model.grammar       the schema cannot be enforced (models/grammar.py)
    ├── NotAllowedError           model.not_allowed   the settings forbid it: the data may not leave the device
    ├── OutputError               model.output        the model wrote what cannot be used
    ├── ModelTimeoutError         model.timeout       no answer before the deadline
    ├── ModelCancelledError       model.cancelled     the caller took the request back
    └── ModelDownError            model.down          the process or the endpoint is not there
        ├── ModelBusyError        model.busy          more requests wait than it can take
        └── ProtocolError         model.protocol      its process spoke nonsense (models/child/wire.py)

`str(error)` is a sentence for the user that says what to do; `error.code` is stable and may be matched on.
"""

from __future__ import annotations


class ModelError(Exception):
    """Base of this package's errors. `code` never changes between releases."""

    code = "model"


class ManifestError(ModelError):
    code = "model.manifest"


class UnknownModelError(ModelError):
    code = "model.unknown"


class ModelMissingError(ModelError):
    code = "model.missing"


class NotAModelError(ModelError):
    code = "model.not_a_model"


class HashMismatchError(ModelError):
    code = "model.hash"


class NoSpaceError(ModelError):
    code = "model.space"


class FetchError(ModelError):
    code = "model.fetch"


class EngineMissingError(ModelError):
    code = "model.engine"


class LoadError(ModelError):
    code = "model.load"


class InputError(ModelError):
    code = "model.input"


class OutputError(ModelError):
    code = "model.output"


class ModelTimeoutError(ModelError):
    code = "model.timeout"


class ModelCancelledError(ModelError):
    code = "model.cancelled"


class ModelDownError(ModelError):
    code = "model.down"


class ModelBusyError(ModelDownError):
    code = "model.busy"


class NotAllowedError(ModelError):
    code = "model.not_allowed"
