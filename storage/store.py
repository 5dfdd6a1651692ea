"""The database file: one writer, many readers, everything in transactions."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from storage import backup, owner, rewind
from storage import dump as dumping
from storage.backup import Copied
from storage.cipher import Secret, page_key, salt_of, secret_for
from storage.connect import Connection, DriverError, check_engine, connect, prepare, translate
from storage.corrections import CorrectionWriter
from storage.episodes import EpisodeWriter
from storage.erase import Eraser
from storage.erase_jobs import Job, pending
from storage.erase_rewrite import Rewriter
from storage.errors import StorageError, StoreUnreadable
from storage.facts import FactWriter
from storage.graph import GraphWriter
from storage.health import HealthWriter
from storage.index import SearchIndex
from storage.index_segments import settle
from storage.intentions import IntentionWriter
from storage.looks import LookWriter
from storage.merge import Merger, Taken
from storage.migrations import migrate, missing
from storage.moments import MomentWriter
from storage.patience import PatienceWriter
from storage.patterns import PatternWriter
from storage.procedures import ProcedureWriter
from storage.records import Us
from storage.retention import Holdings, RetentionWriter
from storage.rewind import Rewound
from storage.services import ServiceWriter
from storage.snapshot import FOREVER, Snapshot
from storage.standing import StandingWriter
from storage.trace import TraceWriter
from storage.views import ViewWriter


@dataclass(frozen=True, slots=True)
class EmbeddingSpace:
    """The text-embedding model a database speaks: its id and the length of its vectors."""

    id: str
    dim: int


DEFAULT_SPACE = EmbeddingSpace("hash-256", 256)


class Transaction:
    """The writers of every stratum inside one transaction; `snapshot` sees what it has written so far."""

    def __init__(self, db: Connection, dim: int, index: SearchIndex) -> None:
        self._db, self._index, self._dim = db, index, dim
        self.trace = TraceWriter(db, dim)
        self.episodes = EpisodeWriter(db, dim)
        self.moments = MomentWriter(db, dim)
        self.patterns = PatternWriter(db, dim)
        self.intentions = IntentionWriter(db)
        self.services = ServiceWriter(db)
        self.health = HealthWriter(db)
        self.erase = Eraser(db)
        self.rewrite = Rewriter(db, dim)
        self.retention = RetentionWriter(db)
        self.views = ViewWriter(db, dim)
        self.looks = LookWriter(db)
        self.graph = GraphWriter(db)
        self.facts = FactWriter(db, dim)
        self.corrections = CorrectionWriter(db, dim)
        self.procedures = ProcedureWriter(db)
        self.patience = PatienceWriter(db)
        self.standing = StandingWriter(db)

    def snapshot(self, until: Us = FOREVER) -> Snapshot:
        """The memory as known at `until`, with this transaction's own rows."""
        return Snapshot(self._db, until, self._index)

    def rewind(self, until: Us, recording: str) -> Rewound:
        """Take back what an early end of a recording derived after `until`; see storage.rewind."""
        return rewind.rewind(self._db, until, recording, self._dim)

    def has(self, merger: Merger, recording: str) -> bool:
        """Whether a recording of another memory is here already.  Raises BadRecord when another one has its name."""
        return merger.held(self._db, recording)

    def take(self, merger: Merger, recording: str) -> Taken:
        """Copy a recording of another memory with what is known of it, under new ids."""
        return merger.take(self._db, recording, self._dim)


class Store:
    """An open database.  Thread-safe: writers queue on a lock, each snapshot has a connection of its own."""

    def __init__(
        self,
        path: Path | None,
        writer: Connection,
        space: EmbeddingSpace,
        *,
        read_only: bool,
        owned: int | None = None,
        key: Secret | None = None,
    ) -> None:
        self.path, self.space, self.read_only = path, space, read_only
        self._key = key
        self._owned = owned
        self._writer = writer
        self._lock = threading.RLock()
        self._free: list[Connection] = []
        self._closed = False
        self._index = SearchIndex()

    @classmethod
    def open(
        cls,
        path: Path | None,
        *,
        space: EmbeddingSpace | None = None,
        create: bool = True,
        read_only: bool = False,
        own: bool = False,
        synchronous: str = "full",
        key: Secret | None = None,
    ) -> Store:
        """Open (or create) a database; `path` None keeps it in memory.

        `space` is the embedding it is made with; a database that was made with another one is refused, because its
        vectors could not be compared.  `own` makes this process the only one that may grow it (see storage.owner).
        `key` opens an encrypted one, or makes a new one encrypted; without it the process's own is asked for
        (storage.cipher.provide).  Before an older file is brought up to date it is copied (storage.backup).
        Raises StorageError subclasses, each with what to do.
        """
        if path is not None and (read_only or not create) and not _exists(path):
            raise StoreUnreadable(f"There is no memory at {path} yet: run or replay something first, or check --db.")
        db = connect(path, read_only=read_only, key=key)
        owned: int | None = None
        try:
            check_engine(db)
            stored = _space(db)
            if stored is None and (read_only or not create):
                raise StoreUnreadable(f"{path} holds no memory: run or replay something into it first.")
            if stored is None and _foreign(db):
                raise StoreUnreadable(f"{path} is another program's database: choose another --db.")
            _fits(path, stored, space)
            behind = missing(db)
            if own and path is not None:
                owned = owner.take(path)
            if not read_only:
                prepare(db, synchronous)
                if behind:
                    stored = _updated(db, path, space, key)
        except DriverError as error:
            db.close()
            _give_up(owned)
            raise translate(error, path) from error
        except BaseException:
            db.close()
            _give_up(owned)
            raise
        assert stored is not None
        if read_only and behind:  # made by an older version: bring it up to date, then read
            db.close()
            cls.open(path, create=False, key=key).close()
            return cls.open(path, space=space, read_only=True, key=key)
        return cls(path, db, stored, read_only=read_only, owned=owned, key=key)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Write: commits at the end, rolls everything back on an error."""
        with self._lock:
            self._check_open()
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                try:
                    yield Transaction(self._writer, self.space.dim, self._index)
                    settle(self._writer)
                except BaseException:
                    if self._writer.in_transaction:  # a full disk has rolled it back already
                        self._writer.execute("ROLLBACK")
                    self._index.clear()  # a search inside it may have seen rows that never came to be
                    raise
                self._writer.execute("COMMIT")
            except DriverError as error:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                self._index.clear()
                raise translate(error, self.path) from error

    @contextmanager
    def emptying(self) -> Iterator[Transaction]:
        """A transaction for taking everything away: freed pages are not zeroed, nor is it asked what refers to a row.

        Whoever uses it writes the file anew afterwards (storage.erase_finish).
        """
        with self._lock:
            self._check_open()
            self._pragma(foreign_keys=False, secure_delete=False)
            try:
                with self.transaction() as tx:
                    yield tx
            finally:
                self._pragma(foreign_keys=True, secure_delete=True)
                self._index.clear()

    def _pragma(self, **switches: bool) -> None:
        for name, on in switches.items():
            self._writer.execute(f"PRAGMA {name} = {'ON' if on else 'OFF'}")

    @contextmanager
    def snapshot(self, until: Us | None = None) -> Iterator[Snapshot]:
        """Read the memory as known at `until` (all of it when None); never blocks the writer."""
        with self._reading() as db:
            yield Snapshot(db, FOREVER if until is None else until, self._index)

    @contextmanager
    def exclusive(self) -> Iterator[Connection]:
        """The writing connection outside of a transaction, for storage itself: what cannot be done inside one."""
        with self._lock:
            self._check_open()
            try:
                yield self._writer
            except DriverError as error:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise translate(error, self.path) from error

    def page_key(self) -> bytes | None:
        """The key of the pages of an encrypted memory, for storage itself; None when it is plain."""
        salt = None if self.path is None else salt_of(self.path)
        secret = None if salt is None or self.path is None else secret_for(self.path, self._key)
        return None if salt is None or secret is None else page_key(secret, salt)

    @contextmanager
    def holdings(self) -> Iterator[Holdings]:
        """What the memory holds in pictures, pages and pins, for retention; it never blocks the writer."""
        with self._reading() as db:
            yield Holdings(db)

    def erasures(self) -> list[Job]:
        """Erasures that were asked for and are not done."""
        with self._reading() as db:
            return pending(db)

    def dump(self, until: Us | None = None) -> Iterator[str]:
        """The canonical dump of the memory as known at `until`: one JSON line a row, equal for equal memories."""
        with self._reading() as db:
            yield from dumping.dump(db, FOREVER if until is None else until)

    def schema(self) -> list[tuple[str, str]]:
        """(name, SQL) of everything the database is made of, in the order it was made."""
        with self._reading() as db:
            rows = db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
            return [(str(name), str(sql)) for name, sql in rows]

    def integrity(self) -> list[str]:
        """What SQLite's own check and the check for orphans find wrong; empty when all is well."""
        with self._reading() as db:
            found = [str(r[0]) for r in db.execute("PRAGMA integrity_check") if r[0] != "ok"]
            found += [f"orphan: {tuple(r)}" for r in db.execute("PRAGMA foreign_key_check")]
            return found + dumping.orphans(db)

    @contextmanager
    def merger(self) -> Iterator[Merger]:
        """To be taken from: what lets another memory copy the recordings of this one; see storage.merge."""
        with self._reading() as db:
            yield Merger(db)

    def backup(self, target: Path, *, plain: bool = False) -> Copied:
        """Copy the memory with its keyframes to `target` while it is in use; see storage.backup.

        `plain` leaves the encryption out: a file that any SQLite reads, frames that any viewer shows.

        Raises StoreUnwritable, StoreLocked or StoreUnreadable; nothing is left half written.
        """
        if self.path is None:
            raise StorageError("A memory that is kept in memory alone has nothing to back up: use --db.")
        db = self._borrow()
        try:
            return (backup.plain_copy if plain else backup.backup)(db, self.path, target, self._key)
        finally:
            self._return(db)

    def close(self) -> None:
        """Close every connection; the WAL is folded into the file."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for db in self._free:
                db.close()
            self._free.clear()
            try:
                if not self.read_only:
                    self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except DriverError as error:
                raise translate(error, self.path) from error
            finally:
                self._writer.close()
                _give_up(self._owned)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """A connection inside one read transaction: what it shows does not move."""
        db = self._borrow()
        try:
            if self.path is not None:
                db.execute("BEGIN")
            yield db
        except DriverError as error:
            raise translate(error, self.path) from error
        finally:
            self._return(db)

    def _borrow(self) -> Connection:
        with self._lock:
            self._check_open()
            if self.path is None:
                self._lock.acquire()
                return self._writer
            if self._free:
                return self._free.pop()
        return connect(self.path, read_only=True, key=self._key)

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError("The memory was closed: open it again.")

    def _return(self, db: Connection) -> None:
        if self.path is None:
            self._lock.release()
            return
        if db.in_transaction:
            db.execute("ROLLBACK")
        with self._lock:
            if self._closed or len(self._free) >= 4:
                db.close()
            else:
                self._free.append(db)


def _updated(db: Connection, path: Path | None, space: EmbeddingSpace | None, key: Secret | None) -> EmbeddingSpace:
    """The embedding of a database that was made or brought up to date now, by us or by another process meanwhile."""
    with owner.updating(path) if path is not None else nullcontext():
        stored, behind = _space(db), missing(db)
        _fits(path, stored, space)  # of whoever was first, when two made the file at once
        if stored is not None and behind and path is not None:
            backup.before_update(db, path, behind[0].__name__, key)
        wanted = stored or space or DEFAULT_SPACE
        migrate(db, (wanted.id, wanted.dim))
    return wanted


def _space(db: Connection) -> EmbeddingSpace | None:
    tables = {r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE name IN ('meta', 'migration')")}
    if tables != {"meta", "migration"}:
        return None
    values = dict(db.execute("SELECT key, value FROM meta WHERE key LIKE 'embedding_%'").fetchall())
    if not values:
        return None
    try:
        return EmbeddingSpace(values["embedding_id"], int(values["embedding_dim"]))
    except (KeyError, ValueError) as error:
        raise StoreUnreadable("The memory does not say which embedding it was made with: restore a backup.") from error


def _fits(path: Path | None, stored: EmbeddingSpace | None, space: EmbeddingSpace | None) -> None:
    if space is not None and stored is not None and space != stored:
        raise StoreUnreadable(
            f"{path} was made with the embedding {stored.id} ({stored.dim}-d), not {space.id} ({space.dim}-d): "
            "set models.text_embedding to the former, or use another --db."
        )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name too long for the file system
        return False


def _give_up(owned: int | None) -> None:
    if owned is not None:
        os.close(owned)


def _foreign(db: Connection) -> bool:
    names = {r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return bool(names) and "migration" not in names
