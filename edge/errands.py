"""What only the owner of a growing memory may do, done between two windows for whoever asks: looking, forgetting.

Any thread may ask and waits for the answer; the memory's own loop does it.  After something was forgotten, what was on
its way into the memory at that moment is cut in the same way, and perception goes on from what the memory still holds.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from edge import forgetting
from edge.clock import US
from edge.errors import ControlError
from edge.memory.forget import Wish
from edge.perception.light import PRIME_WINDOWS
from storage.keyframes import KeyframeFolder, folder_of
from storage.records import Window

if TYPE_CHECKING:
    from edge.runtime import Runtime

WAIT_S = 540.0  # how long whoever asks waits for the memory
_IN_FLIGHT_US = 3600 * US  # a window cannot be longer on its way than that


@dataclass(slots=True)
class Errand:
    """One thing to do, and what came of it once `done` is set."""

    do: Callable[[], dict[str, Any]]
    done: threading.Event = field(default_factory=threading.Event)
    result: dict[str, Any] | None = None
    error: Exception | None = None


class Errands:
    """The line of what is asked of one runtime's memory."""

    def __init__(self) -> None:
        self._waiting: deque[Errand] = deque()
        self._forgotten: list[tuple[Wish, int]] = []
        self._renewed = threading.Event()

    def run(self) -> None:
        """Do what waits; for the memory's loop alone."""
        while self._waiting:
            errand = self._waiting.popleft()
            try:
                errand.result = errand.do()
            except Exception as error:  # noqa: BLE001  # whoever asked is told; the memory goes on
                errand.error = error
            errand.done.set()

    def look(self, runtime: Runtime, wish: Wish) -> dict[str, Any]:
        """What a wish to forget would concern.  Raises StorageError, ControlError."""
        return self._ask(lambda: dict(forgetting.look(runtime.store, wish)))

    def forget(self, runtime: Runtime, wish: Wish) -> dict[str, Any]:
        """Forget, what is still on its way into the memory too; returns the report.

        Raises StorageError, or ControlError when the memory is too busy.
        """
        return self._ask(lambda: self._forget(runtime, wish))

    def finish(self, runtime: Runtime) -> dict[str, Any]:
        """Finish erasures that had to wait, for a reader of an older state or for room on the disk."""
        return self._ask(
            lambda: {
                "finished": len(
                    forgetting.resume(runtime.store, runtime.engines.text_embedding().embed, runtime.config)
                )
            }
        )

    def left_of(self, runtime: Runtime, window: Window) -> Window | None:
        """What may be stored of a window that was on its way when something was forgotten."""
        left: Window | None = window
        for wish, asked in self._forgotten:
            if left is not None and left.t_start < asked:
                left = wish.cut(left)
        if left is window:
            return window
        kept = set() if left is None else {k.file for k in left.keyframes}
        folder = KeyframeFolder(folder_of(runtime.options.db))
        for keyframe in window.keyframes:
            if keyframe.file not in kept:
                folder.remove(keyframe.file)
        return left

    def prime(self, runtime: Runtime) -> None:
        """Once after something was forgotten: perception goes on from what is left; for its own thread alone."""
        if not self._renewed.is_set():
            return
        self._renewed.clear()
        with runtime.store.snapshot() as snapshot:
            last = snapshot.trace.last(runtime.recording)
            earlier = [] if last is None else snapshot.trace.before(runtime.recording, last.id, PRIME_WINDOWS)
        runtime.light.prime(earlier)

    def _forget(self, runtime: Runtime, wish: Wish) -> dict[str, Any]:
        runtime.happened(runtime.pipeline.settled())
        now = runtime.clock.now()
        self._forgotten = [(w, t) for w, t in self._forgotten if t > now - _IN_FLIGHT_US] + [(wish, now)]
        embed = runtime.engines.text_embedding().embed
        report = runtime.pipeline.renewed(
            lambda: forgetting.forget_now(runtime.store, wish, embed, runtime.config, runtime.recorder, busy=True)
        )
        self._renewed.set()
        if runtime.asker is not None:
            runtime.asker.forget()
        return report

    def _ask(self, do: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        errand = Errand(do)
        self._waiting.append(errand)
        if not errand.done.wait(WAIT_S):
            raise ControlError("The memory is busy and has not come to it yet: it will; look at the log.")
        if errand.error is not None:
            raise errand.error
        assert errand.result is not None
        return errand.result
