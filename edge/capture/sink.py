"""Where captured items go: through the window maker onto the bus, counted for the health report."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

from edge.bus import Bus, Subscription
from edge.capture.windows import Item, WindowMaker
from edge.messages import Frame, RawWindow, Sampled, Sound
from storage.records import Gap

_LOOK_S = 0.5  # how often one who waits for the reader looks whether to stop


@dataclass(frozen=True, slots=True)
class CaptureHealth:
    """How capture fares.  Times in microseconds UTC, None: nothing yet."""

    state: str  # "starting", "waiting for a camera: why", "running", "reopening in N s: why", "paused", "ended"
    source: str
    sound: str  # what is heard, or why nothing is
    last_frame_t: int | None
    last_sound_t: int | None
    frames: int
    windows: int
    gaps: tuple[Gap, ...]


class Sink:
    """Takes items in time order.  With `raw_windows`, the reader's queue, it waits while that is full."""

    def __init__(self, maker: WindowMaker, bus: Bus, raw_windows: Subscription | None = None) -> None:
        self.maker = maker
        self.state = "starting"
        self._bus = bus
        self._queue = raw_windows
        self._last_frame: int | None = None
        self._last_sound: int | None = None
        self._frames = 0
        self._windows = 0

    def take(self, item: Item, stop: threading.Event) -> None:
        """One item: frames and sound are published as they are too."""
        if isinstance(item, Frame):
            self._last_frame = item.t
            self._frames += 1
            self._bus.publish(item)
        elif isinstance(item, Sound):
            self._last_sound = item.t
            self._bus.publish(item)
        windows = self.maker.step(item)
        if isinstance(item, Frame) and self.maker.sampled is item:
            self._bus.publish(Sampled(item))
        self._publish(windows, stop)

    def flush(self, t: int, stop: threading.Event) -> None:
        """The capture ends or pauses at t: publish what is left."""
        self._publish(self.maker.flush(t), stop)

    def health(self, source: str, sound: str) -> CaptureHealth:
        """The report, with the descriptions of both senses."""
        gaps = tuple(self.maker.gaps)
        return CaptureHealth(
            self.state, source, sound, self._last_frame, self._last_sound, self._frames, self._windows, gaps
        )

    def _publish(self, windows: Iterable[RawWindow], stop: threading.Event) -> None:
        for window in windows:
            if self._queue is not None:
                while not stop.is_set() and not self._queue.wait_below(self._queue.topic.capacity, _LOOK_S):
                    pass
            self._windows += 1
            self._bus.publish(window)
