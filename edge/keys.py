"""Where the owner's key comes from: the environment, a file, or the system's keyring; asked only when one is needed."""

from __future__ import annotations

import importlib
import os
import stat
from pathlib import Path
from typing import Any

from edge.config import ENV_PREFIX, Config, load, private_dir
from edge.errors import ConfigError
from storage import cipher
from storage.cipher import Secret

VARIABLE, NEW_VARIABLE = ENV_PREFIX + "STORAGE_KEY", ENV_PREFIX + "STORAGE_NEW_KEY"
SERVICE, ACCOUNT = "grove-edge", "storage"  # the name of the entry in a keyring
SHORTEST = 12  # characters of a passphrase that something is encrypted with


def use_configured_keys() -> None:
    """From now on this process opens encrypted memories with the key that the settings name."""
    cipher.provide(lambda _: configured(load()))


def configured(config: Config) -> Secret | None:
    """The owner's key; None when none is configured.

    Raises ConfigError when the file or the keyring that is named cannot be read, WrongKey when it holds nothing.
    """
    given = os.environ.get(VARIABLE)
    if given is not None:
        return Secret.of(given)
    if config.storage.key_file:
        return from_file(Path(config.storage.key_file).expanduser())
    if config.storage.keyring:
        return _from_keyring()
    return None


def from_file(path: Path) -> Secret:
    """The key in a file.  Raises ConfigError when it cannot be read or others can, WrongKey when it is empty."""
    try:
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO) and path.is_file():
            raise ConfigError(f"The key file {path} can be read by others: chmod 600 {path}.")
        return Secret.of(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise ConfigError(f"The key file {path} cannot be read ({reason}): check storage.key_file.") from error


def made_at(path: Path) -> tuple[Secret, bool]:
    """The key in a file, which is made with a fresh random key (0600) when it is not there; true when it was made."""
    if path.exists():
        return from_file(path), False
    secret = Secret.new()
    try:
        private_dir(path.parent)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(secret.text() + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise ConfigError(f"The key file {path} cannot be made ({error.strerror}): choose another path.") from error
    return secret, True


def strong(secret: Secret) -> Secret:
    """The same secret.  Raises ConfigError when it is a passphrase too short to encrypt anything with."""
    if not secret.is_key and len(secret.text()) < SHORTEST:
        raise ConfigError(f"A passphrase needs at least {SHORTEST} characters: take a longer one, or a key file.")
    return secret


def _from_keyring() -> Secret:
    try:
        keyring: Any = importlib.import_module("keyring")
    except ImportError as error:
        raise ConfigError(
            "storage.keyring needs the package keyring: pip install -e '.[keyring]', or use storage.key_file."
        ) from error
    try:
        found = keyring.get_password(SERVICE, ACCOUNT)
    except Exception as error:  # each backend has errors of its own
        raise ConfigError(f"The keyring does not answer ({error}): unlock it, or use storage.key_file.") from error
    if not found:
        raise ConfigError(
            f"The keyring holds no key for {SERVICE}: keyring set {SERVICE} {ACCOUNT}, or use storage.key_file."
        )
    return Secret.of(str(found))
