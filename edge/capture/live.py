"""The capture of what happens now: camera and microphone, kept alive, into windows on the bus.

The loop never waits long for anything, so that `stop` and `pause` are heard within a moment whatever a driver does.
"""

from __future__ import annotations

import threading

from edge.ahead import ahead
from edge.bus import Bus
from edge.capture.base import RecordedSound, Source
from edge.capture.reopen import LiveFeed
from edge.capture.sink import CaptureHealth, Sink
from edge.capture.steady import SteadyTime
from edge.capture.windows import Tick, WindowMaker
from edge.clock import US, Clock
from edge.config import Capture
from edge.messages import Frame, Sound
from storage.records import Gap

GRACE_S = 1.0  # how long a window waits after its end for sound that is on its way; give it to the WindowMaker
MIC_BACKOFF_S = 8.0  # longest wait before a lost microphone is tried again: somebody may be talking to it
_TURN_S = 0.05  # longest wait of one turn of the loop: what sound may lose on its way to the voice


class LiveCapture:
    """`sound` is a microphone, a recording that plays from the start on, or nothing.  `duration_s`: stop by itself."""

    def __init__(
        self,
        source: Source[Frame],
        sound: Source[Sound] | RecordedSound | None,
        maker: WindowMaker,
        bus: Bus,
        clock: Clock,
        settings: Capture,
        *,
        time: SteadyTime | None = None,
        duration_s: float | None = None,
    ) -> None:
        self._clock, self._maker = clock, maker
        self._time = time or SteadyTime(clock)
        self._camera = LiveFeed(source, settings, clock, self._time, maker.recording, "camera")
        self._mic: LiveFeed[Sound] | None = None
        self._played: RecordedSound | None = None
        if isinstance(sound, RecordedSound):
            self._played = sound
        elif sound is not None:
            soon = settings.model_copy(update={"backoff_max_s": min(settings.backoff_max_s, MIC_BACKOFF_S)})
            self._mic = LiveFeed(sound, soon, clock, self._time, maker.recording, "microphone")
        self._duration_us = None if duration_s is None else round(duration_s * US)
        self._sink = Sink(maker, bus)
        self._paused = threading.Event()

    def pause(self) -> None:
        """Close both devices and keep nothing until `resume`; callable from any thread."""
        self._paused.set()

    def resume(self) -> None:
        """See and hear again."""
        self._paused.clear()

    def sample_every(self, interval_s: float) -> None:
        """Take frames into windows so often from now on; callable from any thread."""
        self._maker.interval_s = interval_s

    def run(self, stop: threading.Event) -> None:
        """Capture until `stop` is set or the duration is over; what was begun then makes a last, shorter window."""
        begin = self._time.now()
        try:
            while not stop.is_set() and (self._duration_us is None or self._time.now() - begin < self._duration_us):
                if self._paused.is_set():
                    self._rest(stop)
                else:
                    self._turn(stop)
        finally:
            self._sink.flush(self._time.now(), stop)
            self._let_go()
            self._sink.state = "ended"

    def close(self) -> None:
        """Let go of the devices."""
        self._let_go()
        if self._played is not None:
            self._played.close()

    def flows(self) -> dict[str, bool | None]:
        """Of each device: whether something comes from it; None: nothing has yet.  From any thread."""
        found = {"camera": self._camera.flows}
        return found if self._mic is None else {**found, "microphone": self._mic.flows}

    def health(self) -> CaptureHealth:
        """How it fares, from any thread."""
        if self._mic is not None:
            sound = f"{self._mic.source.describe()}: {self._mic.says()}"
        else:
            sound = self._played.describe() if self._played is not None else "no sound"
        return self._sink.health(self._camera.source.describe(), sound)

    def _turn(self, stop: threading.Event) -> None:
        for heard in self._heard(stop):
            self._sink.take(heard, stop)
        # Sound is what somebody waits for: with a microphone the turn is spent on it, and ends as soon as some came.
        for item in self._camera.poll(stop, _TURN_S if self._mic is None else 0.0):
            self._sink.take(item, stop)
        self._sink.take(Tick(self._time.now(), self._time.offset()), stop)
        self._sink.state = self._camera.says()

    def _heard(self, stop: threading.Event) -> list[Sound | Gap]:
        if self._mic is not None:
            with ahead():  # somebody may be talking
                return self._mic.poll(stop, _TURN_S)
        return [*self._played.until(self._time.now())] if self._played is not None else []

    def _rest(self, stop: threading.Event) -> None:
        """Paused: blind and deaf until resumed, with the gap told."""
        begin = self._time.now()
        self._sink.flush(begin, stop)
        self._let_go()
        self._sink.state = "paused"
        while self._paused.is_set() and not stop.is_set():
            self._clock.wait(stop, _TURN_S)
        now = self._time.now()
        if self._played is not None:
            self._played.skip_to(now)
        self._sink.take(Gap(self._maker.recording, begin, now, "paused by the wearer"), stop)

    def _let_go(self) -> None:
        self._camera.close()
        if self._mic is not None:
            self._mic.close()
