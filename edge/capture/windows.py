"""From frames and sound to windows: a pure step, in which time is only what the items say.

A window holds the first frame of each frame interval and exactly its own span of sound.  Windows are `window_s` long,
counted from the recording's start; one ends early at local midnight, and where the senses fell silent: after the last
frame plus one interval, unless something is still heard.  After such a gap the next window begins with the first
frame.  A stretch with neither frames nor audible sound gives no window; it is told as a gap in the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from edge.capture.base import RATE
from edge.clock import US, local_day
from edge.config import Growth
from edge.messages import Frame, Pcm, RawWindow, Sound
from storage.records import Gap

AUDIBLE = 0.004  # root mean square of a chunk that counts as heard: about -48 dB of full scale
HOLE = 2.5  # frame intervals without a frame that are a gap even when nobody told of one
SEAM_US = 1000  # by which sound that joins on may be off
SHORTEST_US = US // 5  # a stretch of sound without frames shorter than this makes no window
_DAY_US = 86_400 * US


@dataclass(frozen=True, slots=True)
class Tick:
    """It is t now: what ended before may be closed."""

    t: int
    offset_s: int


Item: TypeAlias = Frame | Sound | Gap | Tick


class WindowMaker:
    """Sorts items into windows by their own time.  Frames come in time order, as sound does.

    `start`: where the first window begins (a recording's start, or the end of its last committed window); None: with
    the first item.  `grace_s`: how long a window is kept open after its end, because sound arrives late.
    """

    def __init__(
        self, recording: str, growth: Growth, *, start: int | None = None, offset_s: int = 0, grace_s: float = 0.0
    ) -> None:
        self.recording = recording
        self.interval_s = growth.frame_interval_s
        self.gaps: list[Gap] = []
        self.late = 0
        self.lead: Sound | None = None  # for the first window; see RawWindow
        self._goes_on = False  # the window before is followed by this one
        self._window_us = round(growth.window_s * US)
        self._gap_us = round(growth.gap_s * US)
        self._grace_us = round(grace_s * US)
        self._start = start
        self._offset = self._next_offset = offset_s
        self._frames: list[Frame] = []
        self._slot: tuple[int, int] = (-1, -1)
        self._sound: list[Sound] = []
        self._told: list[Gap] = []
        self._last_frame: int | None = None  # of any frame, sampled or not
        self._heard: int | None = None  # end of the last audible sound

    @property
    def start(self) -> int | None:
        """Where the present window begins, microseconds UTC; None before the first item."""
        return self._start

    @property
    def sampled(self) -> Frame | None:
        """The frame taken last into the present window."""
        return self._frames[-1] if self._frames else None

    def step(self, item: Item) -> list[RawWindow]:
        """Take one item; returns the windows that are complete now."""
        if isinstance(item, Gap):
            self._note(item)
            return []
        self._next_offset = item.offset_s
        if self._start is None:
            self._begin(item.t)
        elif not self._frames and not self._sound:
            self._offset = item.offset_s
        if isinstance(item, Tick):
            return self._advance(item.t)
        return self._frame(item) if isinstance(item, Frame) else self._hear(item)

    def flush(self, t: int) -> list[RawWindow]:
        """The recording ends at t (or pauses): returns what is left, the last window as short as it is."""
        out = self._advance(t + self._grace_us + 1)
        if self._start is not None and t > self._start:
            out += self._close(min(t, self._end()))
        if self._start is not None:
            self._begin(max(t, self._start))
        self._frames.clear()
        self._sound.clear()
        return out

    def _frame(self, frame: Frame) -> list[RawWindow]:
        assert self._start is not None
        if frame.t < self._start:
            self.late += 1
            return []
        out = self._advance(frame.t)
        sensed = max((t for t in (self._last_frame, self._heard) if t is not None), default=None)
        if sensed is not None and frame.t - sensed > self._gap_us:
            out += self._close(min(self._end(), frame.t))
        self._note_hole(frame.t)
        if self._told and self._told[-1].t_end > self._start and self._first_waiting(frame.t) >= frame.t:
            self._begin(frame.t)  # after a gap the windows are counted from here
        self._last_frame = frame.t
        slot = self._slot_of(frame.t)
        if slot != self._slot:
            self._slot = slot
            self._frames.append(frame)
        return out

    def _hear(self, sound: Sound) -> list[RawWindow]:
        self._sound.append(sound)
        if audible(sound.pcm):
            self._heard = sound.t + samples_us(len(sound.pcm))
        return self._advance(sound.t)

    def _advance(self, t: int) -> list[RawWindow]:
        """Close every window whose end lies a grace before t."""
        out: list[RawWindow] = []
        assert self._start is not None
        while (end := self._end()) + self._grace_us <= t:
            if end == t and self._heard is not None and self._heard >= end:
                break  # it may go on: what comes next tells
            if not self._content():
                self._skip(t)
                continue
            out += self._close(self._end())
        return out

    def _skip(self, t: int) -> None:
        """Pass over empty windows, however many there are, keeping their alignment within the day."""
        end = self._end()
        until = min(t - self._grace_us, _midnight(end, self._next_offset), self._first_waiting(t))
        self._begin(end + max(0, (until - end) // self._window_us) * self._window_us)

    def _close(self, end: int) -> list[RawWindow]:
        """Make the window [start, end), ended early where the senses fell silent; begin the next at `end`."""
        assert self._start is not None
        start = self._start
        frames = tuple(f for f in self._frames if f.t < end)
        seen_to = start if self._last_frame is None or not frames else min(self._last_frame, end) + self._interval_us
        heard_to = self._heard if self._heard is not None else start
        stop = min(end, max(seen_to, heard_to))
        made: list[RawWindow] = []
        if frames or stop - start >= SHORTEST_US or (self._goes_on and stop > start):
            gaps = tuple(g for g in self._told if g.t_end <= stop)  # one that reaches beyond belongs to the future
            self._told = [g for g in self._told if g.t_end > stop]
            sound = self._span(start, stop)
            on = stop == end and any(s.t + samples_us(len(s.pcm)) > stop and audible(s.pcm) for s in self._sound)
            lead, self.lead = self.lead, None
            if lead is not None and abs(lead.t + samples_us(len(lead.pcm)) - start) > SEAM_US:
                lead = None
            made.append(RawWindow(self.recording, start, stop, self._offset, frames, sound, gaps, on, lead))
            self._goes_on = on
        self._begin(end)
        return made

    def _begin(self, t: int) -> None:
        self._start = t
        self._offset = self._next_offset
        self._frames = [f for f in self._frames if f.t >= t]
        self._slot = self._slot_of(self._frames[-1].t) if self._frames else (-1, -1)
        self._sound = [s for s in self._sound if s.t + samples_us(len(s.pcm)) > t]

    def _end(self) -> int:
        assert self._start is not None
        return min(self._start + self._window_us, _midnight(self._start, self._offset))

    def _content(self) -> bool:
        """Whether the present window holds a frame or something heard."""
        assert self._start is not None
        end = self._end()
        if any(f.t < end for f in self._frames):
            return True
        return any(s.t < end and audible(s.pcm) for s in self._sound)

    def _first_waiting(self, default: int) -> int:
        """When the first begins of what was seen or heard and waits for a window, be it this one or the next."""
        heard = (s.t for s in self._sound if audible(s.pcm))
        return min([*(f.t for f in self._frames[:1]), *heard], default=default)

    def _slot_of(self, t: int) -> tuple[int, int]:
        """(window start, frame interval within it) a frame falls into; it may lie in the window after this one."""
        assert self._start is not None
        base = self._start if t < self._end() else self._end()
        return base, (t - base) // self._interval_us

    def _note_hole(self, t: int) -> None:
        """Tell of a stretch without frames up to t that nobody told of."""
        last = self._last_frame
        if last is None or t - last <= HOLE * self._interval_us:
            return
        if not any(g.t_start < t and g.t_end > last for g in self.gaps[-8:]):
            self._note(Gap(self.recording, last, t, "no frames"))

    def _note(self, gap: Gap) -> None:
        self.gaps.append(gap)
        self._told.append(gap)

    def _span(self, start: int, end: int) -> Sound | None:
        """Exactly the sound of [start, end), zeros where nothing came; None when nothing came at all."""
        pcm: Pcm = np.zeros(us_samples(end - start), dtype=np.float32)
        found = False
        for sound in self._sound:
            at = us_samples(sound.t - start)
            low, high = max(0, at), min(len(pcm), at + len(sound.pcm))
            if low < high:
                pcm[low:high] = sound.pcm[low - at : high - at]
                found = True
        return Sound(start, self._offset, pcm) if found else None

    @property
    def _interval_us(self) -> int:
        return round(self.interval_s * US)


def audible(pcm: Pcm) -> bool:
    """Whether a chunk is louder than a quiet room's noise."""
    return bool(len(pcm)) and float(np.sqrt(np.mean(np.square(pcm, dtype=np.float64)))) >= AUDIBLE


def samples_us(count: int) -> int:
    """Length of `count` samples in microseconds."""
    return count * US // RATE


def us_samples(us: int) -> int:
    """The nearest whole number of samples of a length in microseconds."""
    return (us * RATE + US // 2) // US


def _midnight(t: int, offset_s: int) -> int:
    """The next local midnight after t."""
    return (local_day(t, offset_s) + 1) * _DAY_US - offset_s * US
