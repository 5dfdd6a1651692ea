"""The rows of the memory as frozen records.

Times are integer microseconds UTC; `offset_s` is the wearer's UTC offset in seconds at that moment.
`known` is the time of the last observation a row was made from: a snapshot at t shows the rows with known <= t.
An `id` of 0 means "not stored yet"; the store gives ids in the order of arrival.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Us: TypeAlias = int
MadeBy: TypeAlias = Literal["given", "light", "vlm", "rules", "llm", "owner"]
Role: TypeAlias = Literal["core", "context", "detail"]
PatternKind: TypeAlias = Literal["thread", "routine"]
ItemKind: TypeAlias = Literal["caption", "event", "text", "speech"]
IntentionState: TypeAlias = Literal["open", "done", "dropped"]
LONGEST_US: Us = 3_600_000_000  # of a window: a longer one is refused, so that reads of a range need not look further
DecisionKind: TypeAlias = Literal["deliver", "defer", "suppress"]


@dataclass(frozen=True, slots=True)
class Caption:
    """What one sampled frame shows, in a sentence."""

    t: Us
    text: str
    id: int = 0


@dataclass(frozen=True, slots=True)
class Event:
    """One subject-action-object triple of the registry."""

    t: Us
    subject: str
    action: str
    object: str
    id: int = 0


@dataclass(frozen=True, slots=True)
class SeenText:
    """On-screen or printed text, verbatim."""

    t: Us
    text: str
    id: int = 0


@dataclass(frozen=True, slots=True)
class Utterance:
    """Something said; the speaker is "wearer", "other", or a name that was given."""

    t: Us
    speaker: str
    text: str
    id: int = 0


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing seen in a window: how many at once, how it looks, where it is."""

    name: str
    count: int = 1
    attributes: tuple[str, ...] = ()
    location: str | None = None


@dataclass(frozen=True, slots=True)
class Keyframe:
    """A frame kept as evidence: `file` is relative to the keyframe folder beside the database.

    `look` is its image embedding on the way into the store: the model's id and little-endian float32 bytes.
    """

    t: Us
    file: str
    sha256: str
    width: int
    height: int
    size: int
    window_id: int = 0
    id: int = 0
    look: tuple[str, bytes] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch without frames or sound, and why."""

    recording: str
    t_start: Us
    t_end: Us
    reason: str
    id: int = 0


@dataclass(frozen=True, slots=True)
class Device:
    """Power and wear at the end of a window, as far as the device tells; None is "not known"."""

    battery: int | None = None
    charging: bool | None = None
    worn: bool | None = None
    mode: str | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """Stratum R: everything perceived in one window (GROVE, dual perception: captions and registry).

    `frames` is how many sampled frames stand behind it; `profile` is the one its recording was captured with.
    """

    recording: str
    t_start: Us
    t_end: Us
    offset_s: int
    captions: tuple[Caption, ...] = ()
    description: str = ""
    entities: tuple[Entity, ...] = ()
    events: tuple[Event, ...] = ()
    texts: tuple[SeenText, ...] = ()
    speech: tuple[Utterance, ...] = ()
    scene: str = ""
    made_by: MadeBy = "given"
    frames: int = 1
    profile: str = "wear"
    keyframes: tuple[Keyframe, ...] = ()
    gaps: tuple[Gap, ...] = ()
    device: Device | None = None
    id: int = 0

    @property
    def known(self) -> Us:
        """A window is known when it has ended."""
        return self.t_end


@dataclass(frozen=True, slots=True)
class Item:
    """One dated thing of the trace, flattened for look-up: caption, event, text or speech."""

    id: int
    window_id: int
    kind: ItemKind
    t: Us
    offset_s: int
    text: str
    subject: str = ""
    action: str = ""
    object: str = ""
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class SeenEntity:
    """An entity together with the window that showed it."""

    window_id: int
    t_start: Us
    t_end: Us
    offset_s: int
    name: str
    count: int
    attributes: tuple[str, ...]
    location: str | None


@dataclass(frozen=True, slots=True)
class Episode:
    """Stratum E: a coherent activity; [t_start, t_end] covers its windows first_window..last_window."""

    recording: str
    t_start: Us
    t_end: Us
    offset_s: int
    subject: str
    summary: str
    keywords: tuple[str, ...]
    description: str
    place: str
    first_window: int
    last_window: int
    cut: str
    known: Us
    made_by: MadeBy = "rules"
    id: int = 0


@dataclass(frozen=True, slots=True)
class Moment:
    """Stratum F: a self-contained statement at a perceived time inside its episode (GROVE eq. 4)."""

    episode_id: int
    window_id: int
    t: Us
    offset_s: int
    text: str
    keywords: tuple[str, ...]
    role: Role
    weight: float
    category: str
    place: str
    known: Us
    made_by: MadeBy = "rules"
    id: int = 0


@dataclass(frozen=True, slots=True)
class Pattern:
    """Stratum P, one version: a group edge over non-contiguous episodes (GROVE eq. 5-6).

    `id` names the pattern, `version` counts its updates; `known` is the end of the newest episode it rests on.
    Frequency is episodes per recorded day; typical_minute is the usual local start in minutes after midnight, on a clock
    without end, and of several usual ones the most frequent.
    """

    kind: PatternKind
    title: str
    summary: str
    keywords: tuple[str, ...]
    coherence: float
    recurrence: int
    days: int
    frequency: float
    typical_minute: int | None
    spread_min: int | None
    known: Us
    made_by: MadeBy = "rules"
    version: int = 0
    id: int = 0


@dataclass(frozen=True, slots=True)
class Edge:
    """Membership of an episode in a pattern, one version."""

    pattern_id: int
    episode_id: int
    role: str
    weight: float
    known: Us


@dataclass(frozen=True, slots=True)
class Intention:
    """Something said that should happen; `quote` is verbatim, `what` is the act, states are versions."""

    who: str
    quote: str
    what: str
    t: Us
    offset_s: int
    window_id: int
    due: str
    state: IntentionState
    known: Us
    evidence: tuple[str, ...] = ()
    version: int = 0
    id: int = 0


@dataclass(frozen=True, slots=True)
class Service:
    """A proactive service an expert asks for; `t` is the perceived second that triggers it."""

    type: str
    t: Us
    offset_s: int
    text: str
    evidence: tuple[str, ...]
    key: str
    known: Us
    expert: str = ""
    made_by: MadeBy = "rules"
    id: int = 0


@dataclass(frozen=True, slots=True)
class Decision:
    """What the arbiter did with a service, and why; a deferred one gets another row later."""

    service_id: int
    t: Us
    decision: DecisionKind
    reason: str
    id: int = 0


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result: which stratum, which row, its fused score, its place in each ranking (0 = absent)."""

    kind: str
    id: int
    score: float
    bm25_rank: int = 0
    dense_rank: int = 0


@dataclass(frozen=True, slots=True)
class OpenUnit:
    """The unit still growing: its windows are not part of any episode yet."""

    recording: str
    windows: tuple[Window, ...] = field(default=())
