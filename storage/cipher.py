"""Encryption at rest: from the owner's secret to the keys of a database and of its frames.

A database is encrypted page by page by SQLCipher (AES-256, each page authenticated), with its log and its journal; a
frame is sealed by ChaCha20-Poly1305, which is quick on boards without AES instructions, bound to its name so that one
cannot be put in another's place.  Both say so in their first bytes and carry the salt their keys were made with, so
nothing beside them can get lost.  A secret of 64 hexadecimal digits is taken as the key it is; any other is a
passphrase and made slow to guess by scrypt, once for each process.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

import sqlcipher3
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from storage.errors import BadRecord, WrongKey

MAGIC = b"GROVE\x01"  # an encrypted database begins with this and the rest of its salt
SALT = 16  # bytes
FRAME_MAGIC = b"GEF\x01"
_NONCE, _TAG = 12, 16
OVERHEAD = len(FRAME_MAGIC) + SALT + _NONCE + _TAG  # bytes a sealed frame is longer than the frame
_ASK = (
    "set storage.key_file to the file that holds the key, GROVE_EDGE_STORAGE_KEY to the key itself, or storage.keyring"
)


@dataclass(frozen=True, slots=True)
class Secret:
    """What the owner keeps: a key of 32 bytes, or a passphrase.  It is never shown."""

    value: bytes = field(repr=False)
    is_key: bool = False

    @classmethod
    def of(cls, text: str) -> Secret:
        """From text; 64 hexadecimal digits are a key.  Raises WrongKey when it is empty."""
        bare = text.strip()
        if not bare:
            raise WrongKey(f"The key is empty: {_ASK}.")
        try:
            found = bytes.fromhex(bare)
        except ValueError:
            found = b""
        return cls(found, is_key=True) if len(found) == 32 else cls(bare.encode("utf-8"))

    @classmethod
    def new(cls) -> Secret:
        """A fresh random key."""
        return cls(os.urandom(32), is_key=True)

    def text(self) -> str:
        """As it is written into a key file."""
        return self.value.hex() if self.is_key else self.value.decode("utf-8")


KeySource: TypeAlias = Callable[[Path], "Secret | None"]
_SOURCE: list[KeySource] = []


def provide(source: KeySource | None) -> None:
    """Say once for this process where secrets come from when a database or a frame asks for one (None: nowhere)."""
    _SOURCE[:] = [] if source is None else [source]


def secret_for(database: Path, given: Secret | None = None) -> Secret | None:
    """The secret for a database: the one given, else what the source of this process says."""
    return given if given is not None or not _SOURCE else _SOURCE[0](database)


def new_salt() -> bytes:
    """The salt of a database to be made, by which it will be known as encrypted."""
    return MAGIC + os.urandom(SALT - len(MAGIC))


def salt_of(path: Path) -> bytes | None:
    """The salt of an encrypted database of ours; None for a plain one, for what is not ours and for what is not there.

    SQLite itself reads it: opening the file beside SQLite and closing it would release the locks of this process.
    """
    try:
        db = sqlcipher3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, isolation_level=None)
    except sqlcipher3.Error:
        return None
    try:
        db.execute("PRAGMA cipher_log_level = NONE")
        db.execute(f"PRAGMA key = \"x'{'00' * 32}'\"")  # any: nothing is decrypted by asking for the salt
        row = db.execute("PRAGMA cipher_salt").fetchone()
    except (sqlcipher3.Error, ValueError):
        return None
    finally:
        db.close()
    found = bytes.fromhex(row[0]) if row else b""
    return found if found.startswith(MAGIC) else None


def is_encrypted(database: Path) -> bool:
    """Whether a database file is one of ours and encrypted."""
    return database.is_file() and salt_of(database) is not None


def clause(secret: Secret, salt: bytes) -> str:
    """The key of a database as SQLCipher reads it: raw, so that opening costs no derivation."""
    return f"\"x'{page_key(secret, salt).hex()}{salt.hex()}'\""


def page_key(secret: Secret, salt: bytes) -> bytes:
    """The key that the pages of a database are encrypted with, 32 bytes."""
    return _keys(secret, salt)[0]


def missing_key(path: Path) -> WrongKey:
    """The error of an encrypted database that is opened without a key."""
    return WrongKey(f"{path} is encrypted and there is no key: {_ASK}.")


def wrong_key(path: Path) -> WrongKey:
    """The error of a database that a key does not open."""
    return WrongKey(
        f"The key does not open {path}: give the one it was encrypted with; if it is the right one, the file is "
        "damaged, restore it from a backup."
    )


@dataclass(frozen=True, slots=True)
class Sealer:
    """Seals and opens the frames of one database."""

    secret: Secret = field(repr=False)
    salt: bytes

    def seal(self, name: str, data: bytes) -> bytes:
        """A frame as it is kept, OVERHEAD bytes longer."""
        nonce = os.urandom(_NONCE)
        head = FRAME_MAGIC + self.salt
        sealed = ChaCha20Poly1305(_keys(self.secret, self.salt)[1]).encrypt(nonce, data, head + name.encode())
        return head + nonce + sealed


def is_sealed(data: bytes) -> bool:
    """Whether a file's bytes are a sealed frame (a JPEG never begins so)."""
    return data.startswith(FRAME_MAGIC)


def unseal(secret: Secret | None, name: str, data: bytes) -> bytes:
    """The frame in sealed bytes.  Raises WrongKey without a secret, BadRecord when they are not what was sealed."""
    if secret is None:
        raise WrongKey(f"The keyframe {name} is encrypted and there is no key: {_ASK}.")
    head, body = data[: len(FRAME_MAGIC) + SALT], data[len(FRAME_MAGIC) + SALT :]
    try:
        key = _keys(secret, head[len(FRAME_MAGIC) :])[1]
        return ChaCha20Poly1305(key).decrypt(body[:_NONCE], body[_NONCE:], head + name.encode())
    except (InvalidTag, ValueError) as error:
        raise BadRecord(
            f"The keyframe {name} does not open with this key: it is another's, or the frame was changed; "
            "restore it from a backup."
        ) from error


class Spool:
    """Seals what waits on the disk for this very process: its key is in memory alone and goes with it."""

    def __init__(self) -> None:
        self._box = ChaCha20Poly1305(ChaCha20Poly1305.generate_key())

    def seal(self, data: bytes) -> bytes:
        """Bytes that only this process can read again."""
        nonce = os.urandom(_NONCE)
        return nonce + self._box.encrypt(nonce, data, None)

    def open(self, data: bytes) -> bytes:
        """What was sealed.  Raises BadRecord when it was changed."""
        try:
            return self._box.decrypt(data[:_NONCE], data[_NONCE:], None)
        except InvalidTag as error:
            raise BadRecord("What waited on the disk was changed: it is left out.") from error


@lru_cache(maxsize=64)
def _keys(secret: Secret, salt: bytes) -> tuple[bytes, bytes]:
    """The keys of a database and of its frames (HKDF with SHA-256, RFC 5869, one block each)."""
    master = secret.value if secret.is_key else _stretched(secret.value, salt)
    inner = hmac.new(salt, master, hashlib.sha256).digest()
    pages, frames = (hmac.new(inner, label + b"\x01", hashlib.sha256).digest() for label in (b"pages", b"frames"))
    return pages, frames


def _stretched(passphrase: bytes, salt: bytes) -> bytes:
    return hashlib.scrypt(passphrase, salt=salt, n=1 << 15, r=8, p=1, maxmem=64 << 20, dklen=32)
