"""The capture of a recording: plays an open file and its sound into the bus, no faster than its reader.

Its live sibling is `edge.capture.live`; both hand items to a window maker and say how they fare.
"""

from __future__ import annotations

import threading

import numpy as np

from edge.bus import Bus, Subscription
from edge.capture.base import EndOfStream, RecordedSound, RecordedSource, Speed
from edge.capture.sink import CaptureHealth, Sink
from edge.capture.windows import Tick, WindowMaker
from edge.clock import US, Clock
from edge.messages import Frame, Sound

LEAD_US = 25 * US  # of sound before the place where a recording is taken up again: a sentence may lie across it
_STEP_US = US // 4  # how finely a recording is handed out


class RecordedCapture:
    """`raw_windows`: the reader's queue, in which at most its topic's capacity waits.  `until_t`: stop at this time
    (microseconds UTC) even when there is more.
    """

    def __init__(
        self,
        source: RecordedSource,
        sound: RecordedSound | None,
        maker: WindowMaker,
        bus: Bus,
        clock: Clock,
        *,
        speed: Speed = "max",
        raw_windows: Subscription | None = None,
        until_t: int | None = None,
    ) -> None:
        self._source, self._sound, self._maker = source, sound, maker
        self._clock, self._speed, self._until = clock, speed, until_t
        self._sink = Sink(maker, bus, raw_windows)
        self._played = 0  # how far the recording was played, microseconds UTC
        self._offset = source.offset_s
        self._lag = 0  # monotonic time minus recording time while playing in real time

    def run(self, stop: threading.Event) -> None:
        """Play to the end, or until `stop` is set: then what was played makes the last, shorter window."""
        self._source.sample_every(self._maker.interval_s)
        begin = self._maker.start
        if begin is not None and begin > self._source.t_start:  # an earlier run came so far
            self._source.skip_to(begin)
            if self._sound is not None:
                self._sound.skip_to(max(self._source.t_start, begin - LEAD_US))
                before = self._sound.until(begin)
                if before:
                    pcm = np.concatenate([s.pcm for s in before])
                    self._maker.lead = Sound(before[0].t, before[0].offset_s, pcm)
        self._sink.state = "running"
        frame = self._next()
        self._played = self._source.t_start if begin is None else begin
        self._lag = self._clock.mono() - self._played
        while frame is not None and self._play_to(frame.t, stop):
            self._offset = frame.offset_s  # clocks may change within a recording
            if self._sound is not None:
                self._sound.offset_s = frame.offset_s
            self._sink.take(frame, stop)
            frame = self._next()
        if frame is None:
            self._play_to(self._end(), stop)
        self._sink.flush(self._played, stop)
        self._sink.state = "ended"

    def close(self) -> None:
        """Let go of the files."""
        self._source.close()
        if self._sound is not None:
            self._sound.close()

    def health(self) -> CaptureHealth:
        """How it fares, from any thread."""
        return self._sink.health(
            self._source.describe(), self._sound.describe() if self._sound is not None else "no sound"
        )

    def progress(self) -> float:
        """The share of the recording that was played, 0-1."""
        whole = self._source.duration_s * US
        return min(1.0, max(0.0, (self._played - self._source.t_start) / whole)) if whole else 0.0

    def _next(self) -> Frame | None:
        try:
            return self._source.read(0.0)
        except EndOfStream:
            return None

    def _end(self) -> int:
        ends = [self._source.t_start + round(self._source.duration_s * US)]
        if self._sound is not None:
            ends.append(self._sound.t_end)
        return max(ends)

    def _play_to(self, t: int, stop: threading.Event) -> bool:
        """Hand out the sound up to t, in real time if so wished; false when it is time to stop."""
        goal = t if self._until is None else min(t, self._until)
        while self._played < goal:
            if stop.is_set():
                return False
            self._played = min(goal, self._played + _STEP_US)
            if self._speed == "realtime":
                ahead = self._played + self._lag - self._clock.mono()
                if ahead > 0 and self._clock.wait(stop, ahead / US):
                    return False
            for sound in self._sound.until(self._played) if self._sound is not None else ():
                self._sink.take(sound, stop)
            self._sink.take(Tick(self._played, self._offset), stop)
        return goal == t and not stop.is_set()
