"""Letting a conversation run before what can wait: somebody is waiting for every millisecond of it.

Perception, memory and other programs share the cores.  A thread that moves sound or listens asks for the lowest
real-time priority, as sound servers do (above them are none of ours): it works for a moment and waits.  One that thinks
for longer, as a recogniser or a voice in the making, asks for a better nice value only, or it would starve the sound
server, and the microphone with it.  A system that grants neither runs them like any other.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

REAL_TIME = 1  # the lowest: a sound server must come before us
NICE = -10  # behind a sound server, which takes -11


@contextmanager
def ahead() -> Iterator[bool]:
    """The calling thread, and what threads and programs it begins meanwhile, come first; gives whether that was granted.

    For those that work for milliseconds at a time.
    """
    with _put_back():
        yield os.sched_getscheduler(0) != os.SCHED_OTHER or _real_time() or _nicer()  # or whoever started us has chosen


@contextmanager
def soon() -> Iterator[bool]:
    """The same for those that compute for longer: before what can wait, and behind those who move sound."""
    with _put_back():
        if os.sched_getscheduler(0) == os.SCHED_RR:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        yield _nicer()


@contextmanager
def _put_back() -> Iterator[None]:
    policy, before = os.sched_getscheduler(0), os.sched_getparam(0)
    thread = threading.get_native_id()
    nice = os.getpriority(os.PRIO_PROCESS, thread)
    try:
        yield
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


def _nicer() -> bool:
    try:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
    except OSError:
        return False
    return True
