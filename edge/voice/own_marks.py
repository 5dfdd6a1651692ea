"""Which stretches of the microphone's sound are the device's own voice: what is remembered of them must leave it out.

The ears note what they find in each step; without ears the times at which the device spoke must do.  A person who speaks
over the device is kept, by what the canceller leaves of that sound.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass

from edge.clock import US, Clock
from edge.messages import Pcm, Sound
from edge.voice.echo import RATE, SEARCH, TAIL_S, Canceller, OwnVoice

KEEP = 8192  # stretches noted: each second of own voice is a few, what is spoken over some thirty
SPANS = 256  # stretches of talk of which is known when they were
AFTER_US = round((SEARCH[1] + TAIL_S) * US)  # how long the last word may still be heard


class TimedVoice(OwnVoice):
    """The device's voice, of which is known for longer when it spoke."""

    def __init__(self) -> None:
        super().__init__()
        self._spans: deque[tuple[int, int]] = deque(maxlen=SPANS)  # places

    def add(self, pcm: Pcm, mono: int) -> None:
        super().add(pcm, mono)
        start = self._end - len(pcm)
        if self._spans and self._spans[-1][1] == start:
            start = self._spans.pop()[0]
        self._spans.append((start, self._end))

    def cut(self, mono: int) -> None:
        super().cut(mono)
        if self._spans:
            start, end = self._spans.pop()
            self._spans.append((min(start, self._end), min(end, self._end)))

    def spans(self) -> list[tuple[int, int]]:
        """When it spoke lately: from place to place."""
        return list(self._spans)


@dataclass(slots=True)
class _Mark:
    """Of the sound from `start` to `end` (microseconds UTC, by capture) nothing is left, or `rest`."""

    start: int
    end: int
    rest: Pcm | None


class OwnMarks:
    """Noted by the ears' thread, read by perception's."""

    def __init__(self, own: TimedVoice, clock: Clock) -> None:
        self._own, self._clock = own, clock
        self._marks: deque[_Mark] = deque(maxlen=KEEP)
        self._lock = threading.Lock()
        self._began: int | None = None  # when the device began to talk, until it is sure that the microphone hears it
        self.ears = False  # whether somebody notes

    def note(self, t: int, rest: Pcm, echo: Canceller) -> None:
        """One step of sound that began at `t` and of which the canceller left `rest`."""
        self.ears = True
        if not echo.talking:
            self._began = None
            return
        if not echo.placed:
            self._began = t if self._began is None else self._began
            return
        end = t + len(rest) * US // RATE
        with self._lock:
            last = self._marks[-1] if self._marks else None
            start = t if self._began is None else self._began
            self._began = None
            if echo.foreign and echo.sure:  # before it has settled nobody can tell
                self._marks.append(_Mark(t, end, rest))
            elif last is not None and last.rest is None and last.end >= start - 2 * US // 1000:
                last.end = end
            else:
                self._marks.append(_Mark(start, end, None))

    def clean(self, sound: Sound) -> Sound:
        """The sound without the device's own voice."""
        marks = self._noted() if self.ears else self._spoken()
        end = sound.t + len(sound.pcm) * US // RATE
        over = [m for m in marks if m.start < end and m.end > sound.t]
        if not over:
            return sound
        pcm = sound.pcm.copy()
        for mark in over:
            low, high = ((x - sound.t) * RATE // US for x in (mark.start, mark.end))
            if mark.rest is not None:
                first = max(0, -low)
                part = mark.rest[first : first + max(0, len(pcm) - max(0, low))]
                pcm[max(0, low) : max(0, low) + len(part)] = part
            else:
                pcm[max(0, low) : max(0, high)] = 0.0
        return Sound(sound.t, sound.offset_s, pcm)

    def _noted(self) -> list[_Mark]:
        with self._lock:
            return list(self._marks)

    def _spoken(self) -> list[_Mark]:
        wall = self._clock.now() - self._clock.mono()
        return [
            _Mark(wall + start * US // RATE, wall + end * US // RATE + AFTER_US, None)
            for start, end in self._own.spans()
        ]
