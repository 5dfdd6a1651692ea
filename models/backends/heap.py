"""Giving freed memory back to the system, which glibc by itself keeps for later.

Engines allocate 100-200 MB for the length of one call. Returned at once (8 ms), the process stays small between calls.
"""

from __future__ import annotations

import ctypes

_TRIM = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc; musl returns memory by itself


def give_back() -> None:
    """Return what the allocator holds but nobody uses."""
    if _TRIM is not None:
        _TRIM(0)
