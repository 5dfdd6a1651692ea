"""What was used last, up to a budget of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any


class Kept:
    """Things by key; when they grow past the budget those go that were not asked for the longest.  Safe for threads."""

    def __init__(self, budget: int) -> None:
        self._budget, self._bytes = budget, 0
        self._lock = threading.Lock()
        self._things: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._things.clear()
            self._bytes = 0

    def get(self, key: Hashable) -> Any | None:
        """A thing that is kept; None when it is not."""
        with self._lock:
            found = self._things.get(key)
            if found is None:
                return None
            self._things.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, thing: Any, size: int) -> Any:
        """Keep a thing of so many bytes instead of what had its key; returns it."""
        with self._lock:
            self._bytes += size - self._things.pop(key, (None, 0))[1]
            self._things[key] = (thing, size)
            while self._bytes > self._budget and len(self._things) > 1:
                self._bytes -= self._things.popitem(last=False)[1][1]
        return thing
