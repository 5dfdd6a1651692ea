"""Errors of the store.  Each has a stable `code` and a sentence that says what to do.

StorageError             storage.error         anything else that SQLite refuses
├── StoreUnreadable      storage.unreadable    not a database, or corrupt
│   └── WrongKey         storage.key           encrypted, and the key is wrong or missing
├── StoreUnwritable      storage.unwritable    folder or file cannot be written, disk full
├── StoreLocked          storage.locked        another process writes
├── SchemaTooNew         storage.schema        made by a newer version
├── EngineTooOld         storage.engine        SQLite, FTS5 or sqlite-vec missing or too old
├── BadVector            storage.vector        wrong length, NaN or infinite
├── BadRecord            storage.record        a row that breaks a rule of its stratum
└── NotFound             storage.not_found     no such id
"""

from __future__ import annotations


class StorageError(Exception):
    """Base of all errors of the store; `str()` is a sentence for the user."""

    code = "storage.error"


class StoreUnreadable(StorageError):
    code = "storage.unreadable"


class WrongKey(StoreUnreadable):
    code = "storage.key"


class StoreUnwritable(StorageError):
    code = "storage.unwritable"


class StoreLocked(StorageError):
    code = "storage.locked"


class SchemaTooNew(StorageError):
    code = "storage.schema"


class EngineTooOld(StorageError):
    code = "storage.engine"


class BadVector(StorageError):
    code = "storage.vector"


class BadRecord(StorageError):
    code = "storage.record"


class NotFound(StorageError):
    code = "storage.not_found"
