"""Ending the process while a thread is still inside an engine.

A thread that does not come back in time is left behind: a decoding on a busy machine, a driver that hangs.  When the
interpreter shuts down under such a thread, its engine's C++ frames are torn down at the thread's next step and the
whole process aborts, after everything was saved and closed.  So a process with threads left ends without that.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from typing import NoReturn

GRACE_S = 1.0  # for all that is left together: most of it is in its last step


def leave(status: int) -> NoReturn:
    """End the process with an exit status: what was registered for the end runs, and output is flushed."""
    left = [thread for thread in threading.enumerate() if thread.daemon and thread is not threading.current_thread()]
    for thread in left:
        thread.join(GRACE_S / len(left))
    if not any(thread.is_alive() for thread in left):
        sys.exit(status)
    atexit._run_exitfuncs()  # noqa: SLF001  # what is registered there has no other way to be run
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # whoever read it has gone
            status = status or 1
    os._exit(status)
