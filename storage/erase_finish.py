"""The end of an erasure: frame files, what is left in the database file, the proof, and the note that all is done."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from storage import erase_jobs
from storage.erase_bytes import Proof, Scrubbed, files_of, prove, scrub, survivors
from storage.erase_jobs import Job
from storage.erase_search import Needles
from storage.keyframes import KeyframeFolder
from storage.store import Store

LARGE = 1 << 30  # bytes; a file beyond it is written anew only when something is found in it


@dataclass(slots=True)
class Finished:
    """How an erasure ended; `proof` is None when what to look for is not known any more (it was resumed)."""

    scrubbed: Scrubbed = field(default_factory=Scrubbed)
    proof: Proof | None = None
    keyframes: int = 0
    done: bool = False


def finish(
    store: Store, job: Job, needles: Needles | None, frames: KeyframeFolder | None, others: list[Path] | None = None
) -> Finished:
    """Finish an erasure whose rows are gone; may be repeated.  `others` are further files to look through.

    It stays unfinished while another process reads an older state, or while something is still found in the database.
    """
    end = Finished()
    if frames is not None:
        kept = _kept(store, job.files)
        for file in job.files:
            end.keyframes += file not in kept and frames.remove(file)
    path = store.path
    own = [] if path is None else files_of(path)
    small = path is None or path.stat().st_size <= LARGE
    left = False
    with store.exclusive() as db:
        end.scrubbed = scrub(db, path, whole=small)
        if needles is not None:
            needles.drop(survivors(db))
            end.proof = prove(needles, [*own, *(others or [])])
            left = any(Path(f.path) in own for f in end.proof.found)
            if left and not small:
                end.scrubbed = scrub(db, path, whole=True)
                end.proof = prove(needles, [*own, *(others or [])])
                left = any(Path(f.path) in own for f in end.proof.found)
    if not end.scrubbed.waiting and not left:
        with store.exclusive() as db:
            erase_jobs.done(db, job.id)
        end.done = True
    return end


def _kept(store: Store, files: tuple[str, ...]) -> set[str]:
    """Which of those files a keyframe that stays still names."""
    wanted = set(files)
    with store.snapshot() as snapshot:
        return {k.file for k in snapshot.trace.keyframes() if k.file in wanted} if wanted else set()
