"""Work that cannot be done now, kept on disk in order: done later, given up after some tries, never waited for.

    FOLDER/000000000017.json         waiting; the name is its place in the line
    FOLDER/dead/000000000012.json    given up, with the reason; kept to be seen and put back

One process owns a folder.  A job is whole or not there (written beside and renamed, both synced).
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.errors import InputError, NoSpaceError

log = logging.getLogger(__name__)

TRIES = 5
JOBS_MAX = 10_000
JOB_MAX = 1 << 20  # bytes


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work.  `work` is what was put in; `tries` how often it failed; `error` how it failed last."""

    id: str
    work: dict[str, Any]
    tries: int = 0
    error: str = ""


class DiskQueue:
    """Thread-safe.  Only names are held in memory."""

    def __init__(self, folder: Path, *, tries: int = TRIES, jobs_max: int = JOBS_MAX) -> None:
        """Raises NoSpaceError when the folder cannot be made."""
        self._folder, self._dead = folder, folder / "dead"
        self._tries, self._most = tries, jobs_max
        self._lock = threading.Lock()
        try:
            self._dead.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise NoSpaceError(f"The folder {folder} for waiting work cannot be made ({error.strerror}).") from error
        for part in folder.glob("*.part"):  # of a put that a power cut ended
            part.unlink()
        names = [p.stem for p in (*folder.glob("*.json"), *self._dead.glob("*.json"))]
        self._last = max((int(n) for n in names if n.isdecimal()), default=0)

    def put(self, work: dict[str, Any]) -> str:
        """Add work at the end and give its id.  Raises InputError when it is too large, NoSpaceError when all is full."""
        with self._lock:
            if len(self._waiting()) >= self._most:
                raise NoSpaceError(f"{self._most} jobs wait already in {self._folder}; see why none is done.")
            self._last += 1
            job = Job(f"{self._last:012d}", work)
            self._write(self._folder, job)
            return job.id

    def next(self) -> Job | None:
        """The job whose turn it is, without taking it out; None when nothing waits.  An unreadable one is put aside."""
        with self._lock:
            for path in self._waiting():
                try:
                    stored = json.loads(path.read_text(encoding="utf-8"))
                    return Job(path.stem, dict(stored["work"]), int(stored["tries"]), str(stored["error"]))
                except (OSError, ValueError, KeyError, TypeError) as error:
                    log.warning("The waiting job %s is unreadable and put aside: %s", path, error)
                    path.replace(self._dead / path.name)
            return None

    def done(self, job: Job) -> None:
        """Take a finished job out."""
        with self._lock:
            (self._folder / f"{job.id}.json").unlink(missing_ok=True)

    def failed(self, job: Job, error: str) -> bool:
        """Note a failure of the job itself.  Returns whether it was given up and lies in dead/ now."""
        with self._lock:
            again = Job(job.id, job.work, job.tries + 1, error)
            dead = again.tries >= self._tries
            self._write(self._dead if dead else self._folder, again)
            if dead:
                (self._folder / f"{job.id}.json").unlink(missing_ok=True)
                log.error("The job %s was given up after %d tries: %s", job.id, again.tries, error)
            return dead

    def drain(self, do: Callable[[Job], None], retry_later: type[Exception], stop: Callable[[], bool]) -> int:
        """Do what waits, in order, until nothing does, `stop` says so, or `do` raises `retry_later`.

        `retry_later` means that the doer is not there (the job counts no try and keeps its place); any other error
        of `do` counts a try, and the job is tried again before the next one, until it is given up.
        Returns how many were done.
        """
        count = 0
        while not stop() and (job := self.next()) is not None:
            try:
                do(job)
            except retry_later:
                break
            except Exception as error:  # noqa: BLE001  # the job's fault: told, counted, and in the end put aside
                self.failed(job, f"{type(error).__name__}: {error}")
            else:
                self.done(job)
                count += 1
        return count

    def revive(self) -> int:
        """Put what was given up back in its place with its tries forgotten.  Returns how many."""
        with self._lock:
            paths = sorted(self._dead.glob("*.json"))
            count = 0
            for path in paths:
                try:
                    stored = json.loads(path.read_text(encoding="utf-8"))
                    self._write(self._folder, Job(path.stem, dict(stored["work"])))
                except (OSError, ValueError, KeyError, TypeError) as error:
                    log.warning("The job %s stays aside: %s", path, error)
                    continue
                path.unlink()
                count += 1
            return count

    def counts(self) -> dict[str, int]:
        """For /health: how many wait and how many were given up."""
        return {"waiting": len(self._waiting()), "dead": sum(1 for _ in self._dead.glob("*.json"))}

    def dead(self) -> list[Job]:
        """What was given up, with the reasons."""
        jobs = []
        for path in sorted(self._dead.glob("*.json")):
            try:
                stored = json.loads(path.read_text(encoding="utf-8"))
                jobs.append(Job(path.stem, dict(stored["work"]), int(stored["tries"]), str(stored["error"])))
            except (OSError, ValueError, KeyError, TypeError) as error:
                jobs.append(Job(path.stem, {}, 0, f"unreadable: {error}"))
        return jobs

    def _waiting(self) -> list[Path]:
        return sorted(self._folder.glob("*.json"))

    def _write(self, folder: Path, job: Job) -> None:
        data = json.dumps({"work": job.work, "tries": job.tries, "error": job.error}).encode()
        if len(data) > JOB_MAX:
            raise InputError(f"A job of {len(data)} bytes is too large to wait; {JOB_MAX} are the most.")
        part = self._folder / f"{job.id}.part"
        try:
            with part.open("wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            part.chmod(0o600)
            part.replace(folder / f"{job.id}.json")
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise NoSpaceError(f"Work cannot be kept in {self._folder} ({error.strerror}); make room.") from error
