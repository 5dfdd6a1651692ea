"""A thread that does one job after the other."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from edge.clock import Clock
from edge.logs import Log

_log = Log("voice")


class Worker:
    """Jobs are done in order; one that raises is logged and the next is done."""

    def __init__(self, name: str, clock: Clock) -> None:
        self._name, self._clock = name, clock
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._waiting = 0
        self._lock = threading.Lock()

    @property
    def busy(self) -> bool:
        """Whether a job is waiting or under way."""
        return self._waiting > 0

    def start(self) -> None:
        """Begin."""
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()

    def put(self, job: Callable[[], None]) -> None:
        """Do this after what waits already."""
        with self._lock:
            self._waiting += 1
        self._jobs.put(job)

    def stop(self, timeout_s: float = 2.0) -> None:
        """End after the job under way; one that takes longer than `timeout_s` is left behind."""
        self._jobs.put(None)
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except Exception as error:  # noqa: BLE001  # one sentence that cannot be handled must not end the talk
                _log.error("job_failed", cause=error, worker=self._name)
            finally:
                with self._lock:
                    self._waiting -= 1
