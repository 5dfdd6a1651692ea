"""Letting a conversation run before what can wait: somebody is waiting for every millisecond of it.

Perception, memory and other programs share the cores.  A thread of the voice asks for the lowest real-time priority, as
sound servers do (above them are none of ours), or else for a better nice value; a system that grants neither runs it
like any other.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

REAL_TIME = 1  # the lowest: a sound server must come before us
NICE = -10


@contextmanager
def ahead() -> Iterator[bool]:
    """The calling thread, and what threads and programs it begins meanwhile, come first; gives whether that was granted."""
    policy, before = os.sched_getscheduler(0), os.sched_getparam(0)
    thread = threading.get_native_id()
    nice = os.getpriority(os.PRIO_PROCESS, thread)
    granted = policy != os.SCHED_OTHER  # whoever started us has chosen already
    if not granted:
        granted = _real_time() or _nicer(thread)
    try:
        yield granted
    finally:
        with suppress(OSError):  # it may ask for less again, but not every system lets it
            os.sched_setscheduler(0, policy, before)
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, nice)


def _real_time() -> bool:
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(REAL_TIME))
    except OSError:
        return False
    return True


def _nicer(thread: int) -> bool:
    try:
        os.setpriority(os.PRIO_PROCESS, thread, NICE)
    except OSError:
        return False
    return True
