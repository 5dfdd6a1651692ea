"""What was used last, up to a budget of bytes; and arrays side by side in large blocks of memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

BLOCK_BYTES = 16 * 2**20  # numpy asks for huge pages for blocks of 4 MB and more: a scan over them takes half the time


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


class Blocks:
    """Copies of arrays, one after the other in blocks that are freed with the last of their arrays.  Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._block: npt.NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
        self._used = 0

    def copy(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The same array in a block."""
        with self._lock:
            if array.nbytes > self._block.size - self._used:
                self._block, self._used = np.empty(max(BLOCK_BYTES, array.nbytes), dtype=np.uint8), 0
            place = self._block[self._used : self._used + array.nbytes]
            self._used += -(-array.nbytes // 64) * 64
        made: npt.NDArray[Any] = place.view(array.dtype).reshape(array.shape)
        made[...] = array
        return made
