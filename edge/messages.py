"""Everything that travels on the bus, as frozen records.  No behaviour, no engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from storage.context_records import Fact
from storage.records import Decision, Episode, Gap, Intention, Pattern, Service, Window

Image: TypeAlias = npt.NDArray[np.uint8]  # (height, width, 3), BGR
Pcm: TypeAlias = npt.NDArray[np.float32]  # 16 kHz mono, -1..1


@dataclass(frozen=True, slots=True)
class Frame:
    """One camera frame with the time it was captured."""

    t: int
    offset_s: int
    image: Image
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Sound:
    """A stretch of microphone sound that begins at t."""

    t: int
    offset_s: int
    pcm: Pcm


@dataclass(frozen=True, slots=True)
class RawWindow:
    """What the senses took in during one window, before perception: sampled frames in time order, sound, gaps.

    `goes_on`: something is heard beyond its end, in a window that follows without a gap.  `lead`: the sound just before
    the window, where nobody can know any more what was being said then (a recording that is taken up again).
    """

    recording: str
    t_start: int
    t_end: int
    offset_s: int
    frames: tuple[Frame, ...]
    sound: Sound | None
    gaps: tuple[Gap, ...] = ()
    goes_on: bool = False
    lead: Sound | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """A perceived window on its way into the memory (its id is still 0)."""

    window: Window


@dataclass(frozen=True, slots=True)
class WindowCommitted:
    """A window is in the store and can be asked about."""

    window: Window


@dataclass(frozen=True, slots=True)
class EpisodeClosed:
    """An episode is in the store with its moments; `window_id` is the window that caused the cut."""

    episode: Episode
    moments: int
    window_id: int


@dataclass(frozen=True, slots=True)
class PatternChanged:
    """A pattern was opened or got a new version."""

    pattern: Pattern
    new: bool


@dataclass(frozen=True, slots=True)
class IntentionChanged:
    """An intention was heard, done or dropped."""

    intention: Intention


@dataclass(frozen=True, slots=True)
class FactChanged:
    """A fact can be told now, or no longer."""

    fact: Fact


@dataclass(frozen=True, slots=True)
class ServiceAsked:
    """An expert asks for a service; it is stored, not yet decided on."""

    service: Service


@dataclass(frozen=True, slots=True)
class ServiceDecided:
    """The arbiter decided."""

    service: Service
    decision: Decision


@dataclass(frozen=True, slots=True)
class Say:
    """Something for the voice queue; a higher priority speaks first, `deadline` in monotonic microseconds."""

    text: str
    priority: int
    source: str
    deadline: int | None = None


@dataclass(frozen=True, slots=True)
class Spoken:
    """What became of a Say: said to its end, or given up unheard."""

    source: str
    priority: int
    heard: bool


@dataclass(frozen=True, slots=True)
class Sampled:
    """A frame that was taken into the present window: perception will look at it, and danger is looked for at once."""

    frame: Frame


@dataclass(frozen=True, slots=True)
class Health:
    """A part of the system changed its state."""

    t: int
    part: str
    state: str
    detail: str = ""


Message: TypeAlias = (
    Frame
    | Sound
    | RawWindow
    | Observation
    | WindowCommitted
    | EpisodeClosed
    | PatternChanged
    | IntentionChanged
    | FactChanged
    | ServiceAsked
    | ServiceDecided
    | Say
    | Spoken
    | Sampled
    | Health
)
