"""The shape of manifest.toml: which models exist, what their files must be, where the files may come from.

Parsed strictly: an unknown key, a malformed hash or a path that leaves its folder is a ManifestError, not a surprise at
three in the morning. A model's sources are tried in the order written; each may hold all of its files or only some.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from models.errors import ManifestError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

RoleName = Literal[
    "detector", "ocr", "image_embedding", "asr", "vad", "wake_word", "speaker_embedding", "tts", "text_embedding",
    "vision_language", "language",
]  # fmt: skip
SafePath = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][\w.\-]*(/[A-Za-z0-9_][\w.\-]*)*$")]

MANIFEST = Path(__file__).parent / "manifest.toml"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PackageSource(_Strict):
    """Files inside an installed Python package; `requirement` is what to install when it is absent."""

    kind: Literal["package"]
    package: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]*$")]
    folder: SafePath | None = None
    requirement: str


class OwnSource(_Strict):
    """Files that ship with this very package, below models/."""

    kind: Literal["own"]
    folder: SafePath


class FolderSource(_Strict):
    """Files in a local folder; `~` is the user's home."""

    kind: Literal["folder"]
    path: str


class UrlSource(_Strict):
    """Files below a web address that ends with a slash."""

    kind: Literal["url"]
    base: Annotated[str, Field(pattern=r"^https?://.+/$")]


class HubSource(_Strict):
    """Files of one revision of a repository on a model hub that speaks Hugging Face's URL scheme."""

    kind: Literal["hub"]
    repo: Annotated[str, Field(pattern=r"^[\w.\-]+/[\w.\-]+$")]
    revision: Annotated[str, Field(pattern=r"^[\w.\-]+$")]
    folder: SafePath | None = None


Source = Annotated[PackageSource | OwnSource | FolderSource | UrlSource | HubSource, Field(discriminator="kind")]


class ModelFile(_Strict):
    """One file. `parts`: the names under which a source holds it in pieces, to be joined in this order."""

    name: SafePath
    size: Annotated[int, Field(gt=0)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    parts: tuple[SafePath, ...] = ()


class Expected(_Strict):
    """What a model needs on a board.  `basis`: measured by us, reported by others, or an estimate from sizes."""

    board: Literal["orin-nano", "orin-nx", "agx", "pi5", "x86"]
    memory_mb: Annotated[int, Field(gt=0)]
    tokens_per_s: Annotated[float, Field(gt=0)]
    basis: Literal["measured", "reported", "estimate"]


class ModelEntry(_Strict):
    """One model. `memory_mb` is what it adds to the process between uses, measured on x86-64.

    `together`: its engine wants all files in one folder, so pulling one of them brings the others beside it.
    """

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.\-]*$")]
    role: RoleName
    default: bool = False
    licence: str
    licence_url: Annotated[str, Field(pattern=r"^https://")]
    memory_mb: Annotated[int, Field(gt=0)]
    notes: str = ""
    together: bool = False
    expected: tuple[Expected, ...] = ()
    files: Annotated[tuple[ModelFile, ...], Field(min_length=1)]
    sources: Annotated[tuple[Source, ...], Field(min_length=1)]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(f.size for f in self.files)


class Profile(_Strict):
    """The models a kind of device uses together; those without a language model come with the packages."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9\-]*$")]
    notes: str
    models: Annotated[tuple[str, ...], Field(min_length=1)]


class Manifest(_Strict):
    version: Literal[1]
    model: tuple[ModelEntry, ...]
    profile: tuple[Profile, ...] = ()


def load_manifest(path: Path = MANIFEST) -> tuple[ModelEntry, ...]:
    """Read the models of the manifest. Raises ManifestError with the place and the reason."""
    return _load(path).model


def load_profiles(path: Path = MANIFEST) -> tuple[Profile, ...]:
    """Read the profiles of the manifest. Raises ManifestError."""
    return _load(path).profile


def _load(path: Path) -> Manifest:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        # Through JSON, because strict mode takes an array for a tuple only there.
        manifest = Manifest.model_validate_json(json.dumps(tables))
    except OSError as error:
        raise ManifestError(f"The model manifest {path} cannot be read: {error.strerror}.") from error
    except tomllib.TOMLDecodeError as error:
        raise ManifestError(f"The model manifest {path} is not valid TOML: {error}.") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ManifestError(f"The model manifest {path} is wrong at {where}: {first['msg']}.") from error
    entries = manifest.model
    for what, counts in (
        ("the id", Counter(e.id for e in entries)),
        ("the profile", Counter(p.name for p in manifest.profile)),
        ("a default for the role", Counter(e.role for e in entries if e.default)),
    ):
        for value, times in counts.items():
            if times > 1:
                raise ManifestError(f"The model manifest {path} has {what} {value} {times} times.")
    known = {e.id for e in entries}
    for profile in manifest.profile:
        if unknown := [m for m in profile.models if m not in known]:
            raise ManifestError(f"The profile {profile.name} in {path} names unknown models: {', '.join(unknown)}.")
    return manifest
