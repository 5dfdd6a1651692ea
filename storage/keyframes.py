"""The folder of keyframes beside a database: frames kept as evidence, each file named by its time and its content.

A frame is on the disk, whole, before the window that names it is committed; a file that no window names was left by a
crash and `sweep` removes it.  Folders are 0700, files 0600.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from storage.errors import BadRecord, NotFound, StoreUnwritable
from storage.records import Keyframe, Us

SUFFIX = ".keyframes"
_DAY_US = 86_400_000_000
_HASH_CHARS = 16
_PARTIAL = ".part"


def folder_of(database: Path) -> Path:
    """Where the keyframes of a database lie."""
    return database.with_name(database.name + SUFFIX)


class KeyframeFolder:
    """Write, read and remove frames; `root` is made on the first write."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def save(self, t: Us, jpeg: bytes, width: int, height: int) -> Keyframe:
        """Store one frame durably and give the row that names it.  Raises StoreUnwritable.

        The same bytes at the same time give the same name, so a window that is perceived twice leaves one file.
        """
        digest = hashlib.sha256(jpeg).hexdigest()
        name = f"{t // _DAY_US:06d}/{t:017d}-{digest[:_HASH_CHARS]}.jpg"
        path = self.root / name
        try:
            if not (path.is_file() and path.stat().st_size == len(jpeg)):
                self._write(path, jpeg)
        except OSError as error:
            raise StoreUnwritable(
                f"A keyframe cannot be written to {self.root} ({error.strerror}): free some space or check permissions."
            ) from error
        return Keyframe(t, name, digest, width, height, len(jpeg))

    def read(self, keyframe: Keyframe) -> bytes:
        """The stored bytes.  Raises NotFound when the file is gone, BadRecord when it is not what was stored."""
        try:
            data = self.path(keyframe.file).read_bytes()
        except OSError as error:
            raise NotFound(f"The keyframe {keyframe.file} is not there any more.") from error
        if hashlib.sha256(data).hexdigest() != keyframe.sha256:
            raise BadRecord(f"The keyframe {keyframe.file} was changed after it was stored: restore it from a backup.")
        return data

    def remove(self, file: str) -> bool:
        """Overwrite and delete one file; false when it was gone.  Raises StoreUnwritable."""
        path = self.path(file)
        try:
            _overwrite(path)
            path.unlink()
            _sync_folder(path.parent)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StoreUnwritable(f"The keyframe {file} cannot be removed ({error.strerror}).") from error
        _drop_empty(path.parent)
        return True

    def files(self) -> list[str]:
        """Names of all whole frames, oldest first."""
        return sorted(_name(p, self.root) for p in self.root.glob("*/*.jpg"))

    def sweep(self, known: Iterable[str]) -> list[str]:
        """Remove what no window names, and half-written files; gives the names removed.

        Only for the one process that writes this database: a frame on its way to a commit is not known yet.
        """
        keep = set(known)
        found = [_name(p, self.root) for p in self.root.glob("*/*") if p.is_file()]
        gone = sorted(name for name in found if name not in keep)
        for name in gone:
            self.remove(name)
        return gone

    def path(self, file: str) -> Path:
        """Where a frame lies.  Raises BadRecord for a name that leads out of the folder."""
        parts = PurePosixPath(file).parts
        if len(parts) != 2 or any(p in ("..", ".", "/") for p in parts) or "\\" in file or "\0" in file:
            raise BadRecord(f"{file!r} is not the name of a keyframe.")
        return self.root.joinpath(*parts)

    def _write(self, path: Path, data: bytes) -> None:
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=path.stem, suffix=_PARTIAL, dir=path.parent)  # made 0600
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
        _sync_folder(self.root)


def _overwrite(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        for start in range(0, size, 1 << 20):
            file.write(bytes(min(1 << 20, size - start)))
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _drop_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return  # other frames of that day are in it


def _name(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()
