"""Finding, verifying and fetching the files of a model.

`locate` looks through the store (where `fetch` puts things) and then through the manifest's local sources, and hands out
only files whose sha256 was checked. Hashing 150 MB on a Pi takes seconds, so a verdict is remembered by path, size and
modification time in one small JSON file; `verify` ignores what is remembered.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from models import fetch as fetching
from models.errors import (
    FetchError,
    HashMismatchError,
    ModelError,
    ModelMissingError,
    NotAModelError,
    UnknownModelError,
)
from models.manifest import (
    FolderSource,
    HubSource,
    ModelEntry,
    ModelFile,
    OwnSource,
    PackageSource,
    RoleName,
    Source,
    UrlSource,
    load_manifest,
)

log = logging.getLogger(__name__)

HUB = "https://huggingface.co"


@dataclass(frozen=True, slots=True)
class Status:
    """What is known of one model on this machine; `problem` is the sentence to show when it is not usable."""

    entry: ModelEntry
    installed: bool
    verified: bool
    problem: str | None


def free_space(folder: Path) -> int:
    """Bytes free on the disk that holds `folder`."""
    return shutil.disk_usage(folder).free


class Registry:
    """The models of one manifest on one machine. `store` holds pulled files; `cache` the remembered verdicts."""

    def __init__(
        self,
        store: Path,
        cache: Path,
        *,
        entries: tuple[ModelEntry, ...] | None = None,
        hub: str = HUB,
        free_space: fetching.FreeSpace = free_space,
    ) -> None:
        self.entries = load_manifest() if entries is None else entries
        self._by_id = {e.id: e for e in self.entries}
        self._store = store
        self._verdicts = _Verdicts(cache / "verified-models.json")
        self._hub = hub.rstrip("/")
        self._free_space = free_space

    def get(self, model_id: str) -> ModelEntry:
        """Raises UnknownModelError."""
        entry = self._by_id.get(model_id)
        if entry is None:
            raise UnknownModelError(f"There is no model {model_id}; known are {', '.join(sorted(self._by_id))}.")
        return entry

    def for_role(self, role: RoleName) -> tuple[ModelEntry, ...]:
        """Models of a role, the default first."""
        return tuple(sorted((e for e in self.entries if e.role == role), key=lambda e: not e.default))

    def locate(self, model_id: str) -> dict[str, Path]:
        """Give every file of the model by name, each verified.

        Raises UnknownModelError, ModelMissingError, NotAModelError, HashMismatchError.
        """
        entry = self.get(model_id)
        return {f.name: self._locate_file(entry, f) for f in entry.files}

    def verify(self, model_id: str) -> dict[str, Path]:
        """Like `locate`, but reads every byte again."""
        entry = self.get(model_id)
        for file in entry.files:
            path = self._find(entry, file)
            if path is not None:
                self._verdicts.forget(path)
        return self.locate(model_id)

    def status(self, model_id: str) -> Status:
        """Whether the model can be used as it is, without fetching or, if its files were hashed before, reading them."""
        entry = self.get(model_id)
        installed = all(self._find(entry, f) is not None for f in entry.files)
        try:
            self.locate(model_id)
        except ModelError as error:
            return Status(entry, installed, verified=False, problem=str(error))
        return Status(entry, installed, verified=True, problem=None)

    def fetch(
        self,
        model_id: str,
        on_progress: fetching.OnProgress | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> dict[str, Path]:
        """Bring in what `locate` lacks, from the first source that has it; resumable.

        Raises NoSpaceError before the first byte; FetchError, NotAModelError, HashMismatchError of the last source tried.
        """
        entry = self.get(model_id)
        missing = [f for f in entry.files if not self._usable(entry, f)]
        folder = self._store / entry.id
        if missing and entry.together:
            missing = [f for f in entry.files if f in missing or not (folder / f.name).is_file()]
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        needed = sum(f.size - _size(folder / (f.name + ".part")) for f in missing)
        if missing:
            fetching.check_room(folder, needed, self._free_space)
        for file in missing:
            self._fetch_file(entry, file, folder / file.name, on_progress, cancelled)
        return self.locate(model_id)

    # --- one file -----------------------------------------------------------------------------------------------------

    def _locate_file(self, entry: ModelEntry, file: ModelFile) -> Path:
        path = self._find(entry, file)
        if path is None:
            raise ModelMissingError(f"The file {file.name} of {entry.id} is not on this device; {_advice(entry)}.")
        self._check(path, file)
        return path

    def _usable(self, entry: ModelEntry, file: ModelFile) -> bool:
        path = self._find(entry, file)
        if path is None:
            return False
        try:
            self._check(path, file)
        except ModelError as error:
            log.warning("%s", error)
            if (
                self._store in path.parents
            ):  # a bad copy elsewhere is not ours to delete, but a good one in the store wins
                path.unlink()
            return False
        return True

    def _check(self, path: Path, file: ModelFile) -> None:
        if self._verdicts.recall(path) != file.sha256:
            self._verdicts.remember(path, fetching.check_content(path, file))

    def _find(self, entry: ModelEntry, file: ModelFile) -> Path | None:
        stored = self._store / entry.id / file.name
        if stored.is_file():
            return stored
        for source in entry.sources:
            folder = _local_folder(source)
            if folder is not None and (folder / file.name).is_file():
                return folder / file.name
        return None

    def _fetch_file(
        self,
        entry: ModelEntry,
        file: ModelFile,
        target: Path,
        on_progress: fetching.OnProgress | None,
        cancelled: Callable[[], bool] | None,
    ) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        pieces = file.parts or ((file.name,) if entry.together else ())
        if self._join_local(entry, file, pieces, target):
            return
        failure: ModelError | None = None
        for source in entry.sources:
            base = self._address(source)
            if base is None:
                continue
            urls = [base + name for name in (file.parts or (file.name,))]
            try:
                fetching.download(urls, target, file, on_progress=on_progress, cancelled=cancelled)
            except (FetchError, NotAModelError, HashMismatchError) as error:
                log.warning("%s", error)
                failure = error
            else:
                return
        raise failure or ModelMissingError(f"{file.name} of {entry.id} cannot be downloaded; {_advice(entry)}.")

    def _join_local(self, entry: ModelEntry, file: ModelFile, names: tuple[str, ...], target: Path) -> bool:
        """Join a file from the pieces that local sources hold. Returns whether all pieces were there."""
        folders = [f for f in (_local_folder(s) for s in entry.sources) if f is not None]
        pieces = [next((f / name for f in folders if (f / name).is_file()), None) for name in names]
        if not pieces or any(p is None for p in pieces):
            return False
        part = target.with_name(target.name + ".part")
        with part.open("wb") as out:
            for piece in pieces:
                if piece is not None:
                    with piece.open("rb") as stream:
                        shutil.copyfileobj(stream, out, fetching.BLOCK)
        try:
            fetching.check_content(part, file)
        except ModelError:
            part.unlink()
            raise
        part.replace(target)
        return True

    def _address(self, source: Source) -> str | None:
        if isinstance(source, UrlSource):
            return source.base
        if isinstance(source, HubSource):
            folder = f"{source.folder}/" if source.folder else ""
            return f"{self._hub}/{source.repo}/resolve/{source.revision}/{folder}"
        return None


def _local_folder(source: Source) -> Path | None:
    """Folder of a source on this machine, without importing a package to learn where it lies."""
    if isinstance(source, OwnSource):
        return Path(__file__).parent / source.folder
    if isinstance(source, FolderSource):
        return Path(source.path).expanduser()
    if isinstance(source, PackageSource):
        spec = importlib.util.find_spec(source.package)
        if spec is None or not spec.submodule_search_locations:
            return None
        return Path(next(iter(spec.submodule_search_locations))) / (source.folder or "")
    return None


def _advice(entry: ModelEntry) -> str:
    requirements = " ".join(s.requirement for s in entry.sources if isinstance(s, PackageSource))
    online = any(isinstance(s, UrlSource | HubSource) for s in entry.sources) or any(f.parts for f in entry.files)
    ways = [f"run `pip install {requirements}`"] if requirements else []
    ways += [f"run `grove-edge models pull {entry.id}`"] if online else []
    return " or ".join(ways) or "reinstall grove-edge"


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


class _Verdicts:
    """Which sha256 a path had when it had this size and modification time. A lost or broken file only costs hashing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._known: dict[str, list[int | str]] = {}
        if path.is_file():
            try:
                loaded = json.loads(path.read_text(encoding="utf-8"))
                self._known = {k: v for k, v in loaded.items() if isinstance(v, list) and len(v) == 3}
            except (OSError, ValueError, AttributeError) as error:
                log.warning("The list of verified models %s is unreadable and starts anew: %s", path, error)

    def recall(self, path: Path) -> str | None:
        found = self._known.get(str(path))
        stat = path.stat()
        if found is None or found[0] != stat.st_size or found[1] != stat.st_mtime_ns:
            return None
        return str(found[2])

    def remember(self, path: Path, digest: str) -> None:
        stat = path.stat()
        with self._lock:
            self._known[str(path)] = [stat.st_size, stat.st_mtime_ns, digest]
            self._save()

    def forget(self, path: Path) -> None:
        with self._lock:
            self._known.pop(str(path), None)

    def _save(self) -> None:
        temporary = self._path.with_suffix(".tmp")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary.write_text(json.dumps(self._known, indent=1), encoding="utf-8")
            temporary.chmod(0o600)
            temporary.replace(self._path)
        except OSError as error:
            log.warning("The list of verified models cannot be saved, they will be hashed again: %s", error)
