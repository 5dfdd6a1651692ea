"""The folder of keyframes beside a database: frames kept as evidence, each file named by its time and its content.

A frame is on the disk, whole, before the window that names it is committed; a file that no window names was left by a
crash and `sweep` removes it.  Folders are 0700, files 0600.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from storage import cipher
from storage.cipher import Secret
from storage.connect import private_folder
from storage.errors import BadRecord, NotFound, StoreUnwritable
from storage.files import scrub, sync_folder, whole_file, zero
from storage.records import Keyframe, Us

SUFFIX = ".keyframes"
_DAY_US = 86_400_000_000
_HASH_CHARS = 16


def folder_of(database: Path) -> Path:
    """Where the keyframes of a database lie."""
    return database.with_name(database.name + SUFFIX)


class KeyframeFolder:
    """Write, read and remove frames; `root` is made on the first write.

    Frames beside an encrypted database are sealed with a key made from the same secret: `key`, else the process's own.
    """

    def __init__(self, root: Path, key: Secret | None = None) -> None:
        self.root, self._key = root, key

    def save(self, t: Us, jpeg: bytes, width: int, height: int) -> Keyframe:
        """Store one frame durably and give the row that names it.  Raises StoreUnwritable.

        The same bytes at the same time give the same name, so a window that is perceived twice leaves one file.
        """
        digest = hashlib.sha256(jpeg).hexdigest()
        name = f"{t // _DAY_US:06d}/{t:017d}-{digest[:_HASH_CHARS]}.jpg"
        path = self.root / name
        sealer = self.sealer()
        data = jpeg if sealer is None else sealer.seal(name, jpeg)
        try:
            if not (path.is_file() and path.stat().st_size == len(data)):
                self._write(path, data)
        except OSError as error:
            raise StoreUnwritable(
                f"A keyframe cannot be written to {self.root} ({error.strerror}): free some space or check permissions."
            ) from error
        return Keyframe(t, name, digest, width, height, len(jpeg))

    def read(self, keyframe: Keyframe) -> bytes:
        """The frame as it was stored.

        Raises NotFound when the file is gone, BadRecord when it is not what was stored, WrongKey without its key.
        """
        try:
            data = self.path(keyframe.file).read_bytes()
        except OSError as error:
            raise NotFound(f"The keyframe {keyframe.file} is not there any more.") from error
        if cipher.is_sealed(data):
            data = cipher.unseal(cipher.secret_for(self.database, self._key), keyframe.file, data)
        if hashlib.sha256(data).hexdigest() != keyframe.sha256:
            raise BadRecord(f"The keyframe {keyframe.file} was changed after it was stored: restore it from a backup.")
        return data

    @property
    def database(self) -> Path:
        """The database whose frames these are."""
        return self.root.with_name(self.root.name.removesuffix(SUFFIX))

    def sealer(self) -> cipher.Sealer | None:
        """What seals these frames; None when the database is not encrypted.  Raises WrongKey without its key."""
        salt = cipher.salt_of(self.database)
        if salt is None:
            return None
        secret = cipher.secret_for(self.database, self._key)
        if secret is None:
            raise cipher.missing_key(self.database)
        return cipher.Sealer(secret, salt)

    def take(self, other: KeyframeFolder, file: str) -> bool:
        """Copy a frame of another memory, sealed as frames are here; false when it is not there.

        Raises StoreUnwritable, BadRecord or WrongKey.
        """
        path = self.path(file)
        try:
            data = other.path(file).read_bytes()
        except OSError:
            return False
        if cipher.is_sealed(data):
            data = cipher.unseal(cipher.secret_for(other.database, other._key), file, data)
        sealer = self.sealer()
        data = data if sealer is None else sealer.seal(file, data)
        try:
            if not (path.is_file() and path.stat().st_size == len(data)):
                self._write(path, data)
        except OSError as error:
            raise StoreUnwritable(
                f"The keyframe {file} cannot be written ({error.strerror}): free some space."
            ) from error
        return True

    def exchange(self, file: str, data: bytes) -> None:
        """Put other bytes in the place of a frame, as they are, and overwrite the old ones; at every moment one is there.

        Raises StoreUnwritable, BadRecord.
        """
        path = self.path(file)
        try:
            old = os.open(path, os.O_RDWR)
            try:
                self._write(path, data)
                zero(old)
            finally:
                os.close(old)
        except OSError as error:
            raise StoreUnwritable(
                f"The keyframe {file} cannot be written ({error.strerror}): free some space or check permissions."
            ) from error

    def remove(self, file: str) -> bool:
        """Overwrite and delete one file; false when it was gone.  Raises StoreUnwritable."""
        path = self.path(file)
        try:
            scrub(path)
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
        private_folder(path.parent)
        with whole_file(path) as file:
            file.write(data)
        sync_folder(path.parent)
        sync_folder(self.root)


def _drop_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return  # other frames of that day are in it


def _name(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()
