"""A circuit breaker: after a few failures in a row a remote is left alone for a while, then tried with one call.

closed     calls go through
open       calls are refused at once; the rest doubles with every failed trial
half-open  the rest is over: one call may try, the others are still refused
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Literal

from models.errors import ModelDownError

log = logging.getLogger(__name__)

US = 1_000_000
Mono = Callable[[], int]
State = Literal["closed", "open", "half-open"]


class Breaker:
    """Thread-safe; one log line for each change between reachable and not.  `mono` gives monotonic microseconds."""

    def __init__(
        self, name: str, *, mono: Mono, failures: int = 3, rest_s: float = 30.0, rest_max_s: float = 600.0
    ) -> None:
        self._name, self._mono = name, mono
        self._most, self._rest, self._rest_max = failures, rest_s, rest_max_s
        self._lock = threading.Lock()
        self._failed = self._openings = 0
        self._until: int | None = None
        self._trying = False
        self._why = ""

    @property
    def state(self) -> State:
        """Where it stands now."""
        with self._lock:
            if self._until is None:
                return "closed"
            return "open" if self._mono() < self._until else "half-open"

    @property
    def why(self) -> str:
        """The last failure; "" after a success."""
        return self._why

    def enter(self) -> None:
        """Before a call.  Raises ModelDownError while it is open."""
        with self._lock:
            if self._until is None:
                return
            left = self._until - self._mono()
            if left > 0 or self._trying:
                rest = max(1, round(left / US))
                raise ModelDownError(f"{self._name} failed ({self._why}) and is left alone for another {rest} s.")
            self._trying = True

    def passed(self) -> None:
        """A call succeeded."""
        with self._lock:
            if self._until is not None:
                log.info("%s answers again", self._name)
            self._failed = self._openings = 0
            self._until, self._trying, self._why = None, False, ""

    def failed(self, why: str, *, rest_s: float | None = None) -> None:
        """A call failed.  `rest_s`: the remote asked to be left alone that long."""
        with self._lock:
            self._failed += 1
            self._why = why
            trial, self._trying = self._trying, False
            if rest_s is None and not trial and self._failed < self._most:
                return
            if self._until is None:
                log.warning("%s is left alone for a while: %s", self._name, why)
            rest = min(self._rest_max, self._rest * 2**self._openings) if rest_s is None else min(rest_s, 3600.0)
            self._openings += rest_s is None
            self._until = self._mono() + round(rest * US)

    def left(self) -> None:
        """A call was taken back by its caller: it tells nothing about the remote."""
        with self._lock:
            self._trying = False
