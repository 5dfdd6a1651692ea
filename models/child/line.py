"""A waiting line: callers are served one at a time in the order they came, with a bound and with patience."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from models.errors import ModelBusyError

_POLL_S = 0.05


class Line:
    """Thread-safe.  `bound` may wait beside the one who is served."""

    def __init__(self, name: str, bound: int) -> None:
        self._name, self._bound = name, bound
        self._changed = threading.Condition()
        self._places: deque[object] = deque()

    @property
    def waiting(self) -> int:
        """How many stand behind the one who is served."""
        return max(0, len(self._places) - 1)

    @property
    def empty(self) -> bool:
        """Whether nobody is served."""
        return not self._places

    @contextmanager
    def turn(self, check: Callable[[], None]) -> Iterator[None]:
        """Wait for one's turn and hold it.  `check` is called while waiting; what it raises ends the wait.

        Raises ModelBusyError when too many wait already.
        """
        place = object()
        with self._changed:
            if len(self._places) > self._bound:
                raise ModelBusyError(
                    f"{len(self._places)} requests wait for the model {self._name}: it is too slow for them."
                )
            self._places.append(place)
        try:
            with self._changed:
                while self._places[0] is not place:
                    self._changed.wait(_POLL_S)
                    check()
                check()
            yield
        finally:
            with self._changed:
                self._places.remove(place)
                self._changed.notify_all()
