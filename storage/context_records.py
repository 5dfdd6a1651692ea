"""The rows of views, graph, facts, corrections and procedures as frozen records; conventions as in storage.records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from storage.records import MadeBy, Us

NodeKind: TypeAlias = Literal["person", "entity", "place", "topic"]
RelationType: TypeAlias = Literal["acts_on", "at", "near", "about", "speaks", "then"]
FactKind: TypeAlias = Literal["habit", "preference", "relation", "ownership", "plan"]
FactState: TypeAlias = Literal["candidate", "active", "retired"]
CorrectionKind: TypeAlias = Literal["replace", "add", "deny", "note"]
EffectKind: TypeAlias = Literal["replace", "deny", "note"]
CorrectionState: TypeAlias = Literal["active", "undone"]
ProcedureState: TypeAlias = Literal["active", "removed"]


@dataclass(frozen=True, slots=True)
class View:
    """A stretch of one scale, one version: what happened (`text`) and what was seen (`visual`), anchored to its windows.

    `t_block` is where the stretch begins on the wearer's clock, `scale_s` its length in seconds; [t_start, t_end] is
    what of it was recorded.  `names` are proper names and labels that must survive every retelling.
    """

    recording: str
    scale_s: int
    t_block: Us
    t_start: Us
    t_end: Us
    offset_s: int
    first_window: int
    last_window: int
    text: str
    visual: str
    objects: tuple[str, ...]
    actions: tuple[str, ...]
    topics: tuple[str, ...]
    speakers: tuple[str, ...]
    names: tuple[str, ...]
    known: Us
    made_by: MadeBy = "rules"
    version: int = 0
    id: int = 0


@dataclass(frozen=True, slots=True)
class Node:
    """Something the graph knows: its canonical name and the other names it went by."""

    kind: NodeKind
    name: str
    known: Us
    aliases: tuple[str, ...] = ()
    id: int = 0


@dataclass(frozen=True, slots=True)
class Relation:
    """A typed edge of the graph inside one episode, anchored to the window and second that first showed it.

    acts_on: person to thing, `label` the act; at: thing or person to place; near: two things beside each other;
    about, speaks: person to topic; then: a place or topic to the next one.  `count` is how often in that episode.
    """

    source: int
    type: RelationType
    label: str
    target: int
    episode_id: int
    window_id: int
    t: Us
    count: int
    known: Us
    id: int = 0


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that holds beyond one moment, in its newest known version.

    `key` is what it is recognised by; `support` counts the rows it rests on, `days` the local days they lie on.
    A candidate has too little support to be told; a retired one has lost it, `reason` says why.
    """

    kind: FactKind
    subject: str
    relation: str
    object: str
    text: str
    key: str
    state: FactState
    support: int
    days: int
    t_first: Us
    t_last: Us
    known: Us
    made_by: MadeBy = "rules"
    reason: str = ""
    version: int = 0
    id: int = 0


@dataclass(frozen=True, slots=True)
class Support:
    """One row a fact rests on: what it was (`ref`, as in o12 or e3), the words, and the rows that hold it."""

    ref: str
    t: Us
    offset_s: int
    quote: str
    known: Us
    window_id: int | None = None
    episode_id: int | None = None
    correction_id: int | None = None


@dataclass(frozen=True, slots=True)
class Effect:
    """What a correction does to one row: replace words, deny it, or note something beside it."""

    ref: str
    kind: EffectKind
    old: str = ""
    new: str = ""


@dataclass(frozen=True, slots=True)
class Correction:
    """What the owner says against or beyond perception.

    `ref` is the row it is about ("" for a time); `t` is the moment it is about, `known` when it was given.  Of an added
    doing, subject, action and object say what was done.
    """

    ref: str
    text: str
    kind: CorrectionKind
    t: Us
    offset_s: int
    known: Us
    subject: str = ""
    action: str = ""
    object: str = ""
    window_id: int | None = None
    effects: tuple[Effect, ...] = ()
    state: CorrectionState = "active"
    version: int = 0
    id: int = 0


@dataclass(frozen=True, slots=True)
class StoredProcedure:
    """A procedure in its newest version; `body` is the JSON it was given as, `t` when it was given."""

    name: str
    body: str
    t: Us
    state: ProcedureState = "active"
    version: int = 0
    id: int = 0


@dataclass(frozen=True, slots=True)
class Alike:
    """A keyframe and how alike it looks, cosine -1 to 1."""

    keyframe_id: int
    window_id: int
    t: Us
    score: float
