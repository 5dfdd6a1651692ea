"""The end of an erasure: frame files, what is left in the database file, the proof, and the note that all is done."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from storage import erase_jobs
from storage.connect import Connection
from storage.erase_bytes import Proof, Scrubbed, files_of, prove, scrub
from storage.erase_jobs import Job
from storage.erase_search import Needles
from storage.errors import StoreUnwritable
from storage.keyframes import KeyframeFolder
from storage.store import Store

LARGE = 1 << 30  # bytes; a file beyond it is written anew later, in a quiet hour, unless something is found in it
NO_ROOM = "there is no room on the disk to write the file anew"
BUSY = 64 << 20  # the same while a device runs, whose memory has to wait for it


@dataclass(slots=True)
class Finished:
    """How an erasure ended."""

    scrubbed: Scrubbed = field(default_factory=Scrubbed)
    proof: Proof = field(default_factory=Proof)
    keyframes: int = 0
    done: bool = False


def finish(
    store: Store,
    job: Job,
    frames: KeyframeFolder | None,
    others: list[Path] | None = None,
    *,
    busy: bool = False,
) -> Finished:
    """Finish an erasure whose rows are gone; may be repeated.  `others` are further files to look through.

    What little is left is written anew at once, and so is any file in which something is found; a large one is left to
    `tidy` (`busy`: with a lower bound, since a device waits).  It stays unfinished while another process reads an older
    state, or while something is still found in the database.
    """
    end = Finished()
    if frames is not None:
        kept = _kept(store, job.files)
        for file in job.files:
            end.keyframes += file not in kept and frames.remove(file)
    with store.exclusive() as db:
        needles = Needles.unpacked(erase_jobs.sought(db, job.id))
        small = store.path is None or _live_bytes(db) <= (BUSY if busy else LARGE)
    end.scrubbed = _scrub(store, whole=small)
    left = _look(store, end, needles, others or [])
    if left and not end.scrubbed.vacuumed:
        end.scrubbed = _scrub(store, whole=True)
        left = _look(store, end, needles, others or [])
    if left and not end.scrubbed.vacuumed and not end.scrubbed.waiting:
        end.scrubbed.waiting = NO_ROOM
    if not end.scrubbed.waiting and not left:
        with store.exclusive() as db:
            erase_jobs.done(db, job.id, "done" if end.scrubbed.vacuumed else "proved")
        end.done = True
    return end


def _look(store: Store, end: Finished, needles: Needles, others: list[Path]) -> bool:
    """Look for what was erased; whether the database itself still holds any of it."""
    with store.exclusive() as db:
        end.proof = prove(db, needles, store.path, others, store.page_key())
    own = [] if store.path is None else files_of(store.path)
    return any(Path(f.path) in own for f in end.proof.found)


def _live_bytes(db: Connection) -> int:
    """How much of the file holds anything: what writing it anew has to write."""
    pages, free, size = (
        int(db.execute(f"PRAGMA {p}").fetchone()[0]) for p in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def _scrub(store: Store, *, whole: bool) -> Scrubbed:
    """Scrub as thoroughly as the disk has room for."""
    if whole:
        try:
            with store.exclusive() as db:
                return scrub(db, store.path, whole=True)
        except StoreUnwritable:  # writing a file anew takes as much again
            return _scrub(store, whole=False)
    with store.exclusive() as db:
        return scrub(db, store.path, whole=False)


def tidy(store: Store) -> int:
    """Write the file anew where that was put off; returns after how many erasures.  Writers wait meanwhile."""
    with store.exclusive() as db:
        waiting = erase_jobs.proved(db)
        if waiting and not scrub(db, store.path, whole=True).waiting:
            for job in waiting:
                erase_jobs.done(db, job.id)
            return len(waiting)
    return 0


def _kept(store: Store, files: tuple[str, ...]) -> set[str]:
    """Which of those files a keyframe that stays still names."""
    wanted = set(files)
    with store.snapshot() as snapshot:
        return {k.file for k in snapshot.trace.keyframes() if k.file in wanted} if wanted else set()
