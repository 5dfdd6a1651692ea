"""Danger in single frames, from the watch to the arbiter, while windows are still going on."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from edge.logs import Log
from edge.messages import Frame, Sampled, Spoken
from edge.proactive.alerts import speak
from edge.proactive.hazards import TABLE as HAZARDS
from edge.proactive.hazards import warning
from edge.proactive.signs import TABLE as SIGNS
from edge.proactive.signs import sign
from edge.voice.queue import CRITICAL
from storage.errors import StorageError

if TYPE_CHECKING:
    from edge.runtime import Runtime

_log = Log("watch")
_WAIT_S = 0.2


def run(runtime: Runtime, stop: threading.Event) -> None:
    """Look at frames as they come, and tell the arbiter of warnings that nobody can have heard."""
    frames, sampled, spoken = (runtime.bus.subscribe(t) for t in ("frames", "sampled", "spoken"))
    threading.Thread(target=_make_warnings, args=(runtime, stop), name="warnings", daemon=True).start()
    while not stop.is_set():
        frame = frames.get(_WAIT_S)
        while spoken.backlog():
            said = spoken.get(0.0)
            if isinstance(said, Spoken) and not said.heard and said.priority >= CRITICAL and said.source[1:].isdigit():
                runtime.pipeline.proactive.unheard(int(said.source[1:]))
        taken = sampled.get(0.0) if sampled.backlog() else None
        if runtime.watch is None or runtime.paused.is_set():
            continue
        if isinstance(frame, Frame):
            _warn(runtime, frame.t, runtime.watch.quick(frame), ())
        if isinstance(taken, Sampled):
            _warn(runtime, taken.frame.t, (), runtime.watch.read(taken.frame))
            if not stop.is_set():
                _warn(runtime, taken.frame.t, runtime.watch.whole(taken.frame), ())


def _make_warnings(runtime: Runtime, stop: threading.Event) -> None:
    """The words of every warning there is, made ahead: danger does not wait for the voice."""
    for hazard in (*HAZARDS, *SIGNS):
        if stop.is_set() or not runtime.voice.keep(speak("safety", hazard=hazard.say)):
            return


def _warn(runtime: Runtime, t: int, told: Sequence[str], lines: Sequence[str]) -> None:
    """Ask the arbiter to warn of what the sentences or signs of one frame tell of."""
    found = [h for h in (*map(warning, told), sign(lines)) if h is not None]
    for hazard in {h.name: h for h in found}.values():
        try:
            runtime.happened(runtime.pipeline.proactive.warn(hazard.name, t, speak("safety", hazard=hazard.say)))
        except StorageError as error:  # the memory thread tells of it; the next frame tries again
            _log.error("warning_not_stored", cause=error)
