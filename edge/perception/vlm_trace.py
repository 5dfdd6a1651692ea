"""From what a vision-language model said of a window to its rows: checked piece by piece, strays rejected and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from edge.perception import registry
from edge.perception.text import new_lines
from edge.perception.vlm_prompts import (
    ACT_MAX,
    CAPTION_MAX,
    COUNT_MAX,
    DESCRIPTION_MAX,
    LINE_MAX,
    LOOK_MAX,
    NAME_MAX,
    SCENE_MAX,
)
from models.errors import OutputError
from storage.records import Caption, Entity, Event, MadeBy, SeenText, Window

MADE_BY: MadeBy = "vlm"
WEARER_WORDS = frozenset(
    ("i", "me", "wearer", "the wearer", "camera wearer", "the camera wearer", "user", "the user", "myself")
)


def _line(longest: int, shortest: int = 1) -> Any:
    return Annotated[str, StringConstraints(strip_whitespace=True, min_length=shortest, max_length=longest)]


class _Said(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class SaidEntity(_Said):
    """One thing, as the model named it."""

    name: _line(NAME_MAX)  # type: ignore[valid-type]
    count: Annotated[int, Field(ge=1, le=COUNT_MAX)]
    attributes: list[_line(LOOK_MAX)] = []  # type: ignore[valid-type]
    location: _line(NAME_MAX, 0) = ""  # type: ignore[valid-type]


class SaidEvent(_Said):
    """One act, dated by a local time HH:MM:SS."""

    t: str
    subject: _line(NAME_MAX)  # type: ignore[valid-type]
    action: _line(ACT_MAX)  # type: ignore[valid-type]
    object: _line(NAME_MAX, 0) = ""  # type: ignore[valid-type]


class SaidText(_Said):
    """One line that was read."""

    t: str
    text: _line(LINE_MAX)  # type: ignore[valid-type]


class SaidTrace(_Said):
    """The frame of the answer; its items are checked one by one, so that one stray costs itself alone."""

    captions: dict[str, str]
    description: _line(DESCRIPTION_MAX)  # type: ignore[valid-type]
    scene: _line(SCENE_MAX, 0) = ""  # type: ignore[valid-type]
    entities: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    text: list[dict[str, Any]] = []


@dataclass(frozen=True, slots=True)
class Rejected:
    """Items that were not taken: dated outside the window or at no frame, or out of form."""

    times: int = 0
    form: int = 0


def window_of(
    said: Mapping[str, Any], light: Window, frames: Mapping[str, int], moments: Mapping[str, int]
) -> tuple[Window, Rejected]:
    """The window as the model saw it, merged with what text reader, detector and ears found.

    `light` is the same window by light perception; `frames` and `moments` give microseconds for the local times of the
    frames and of all that an event may be dated at.  Raises OutputError when captions or description are missing.
    """
    try:
        trace = SaidTrace.model_validate(dict(said))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(p) for p in first["loc"])
        raise OutputError(f"The model's trace is wrong at {where}: {first['msg']}.") from error
    captions, strays = _captions(trace, frames)
    if not captions:
        raise OutputError("The model gave no caption for any of the frames.")
    entities, bad_entities = _entities(trace.entities)
    events, late_events, bad_events = _events(trace.events, moments)
    texts, late_texts, bad_texts = _texts(trace.text, frames)
    read = [e for e in light.events if (e.subject, e.action) == (registry.TEXT, registry.SEEN)]
    merged = replace(
        light,
        captions=_with_repeats(captions, light.captions),
        description=trace.description,
        scene=trace.scene or light.scene,
        entities=_with_detected(entities, light.entities),
        events=tuple(sorted([*events, *read], key=lambda e: (e.t, e.subject, e.action, e.object))),
        texts=_with_read(texts, light.texts),
        made_by=MADE_BY,
    )
    return merged, Rejected(strays + late_events + late_texts, bad_entities + bad_events + bad_texts)


def _captions(trace: SaidTrace, frames: Mapping[str, int]) -> tuple[list[Caption], int]:
    good = {t: " ".join(text.split())[:CAPTION_MAX] for t, text in trace.captions.items() if t in frames}
    made = [Caption(frames[t], text) for t, text in good.items() if text]
    return sorted(made, key=lambda c: c.t), len(trace.captions) - len(good)


def _entities(said: Sequence[dict[str, Any]]) -> tuple[list[Entity], int]:
    found: dict[str, Entity] = {}
    bad = 0
    for item in said:
        try:
            e = SaidEntity.model_validate(item)
        except ValidationError:
            bad += 1
            continue
        name = e.name.casefold()
        if name in WEARER_WORDS:
            continue  # who wears the camera is not in view
        looks = tuple(dict.fromkeys(a.casefold() for a in e.attributes))
        known = found.get(name)
        if known is None:
            found[name] = Entity(name, e.count, looks, e.location or None)
        else:
            both = tuple(dict.fromkeys((*known.attributes, *looks)))
            found[name] = Entity(name, max(known.count, e.count), both, known.location or e.location or None)
    return list(found.values()), bad


def _events(said: Sequence[dict[str, Any]], moments: Mapping[str, int]) -> tuple[list[Event], int, int]:
    made: dict[Event, None] = {}
    late = bad = 0
    for item in said:
        try:
            e = SaidEvent.model_validate(item)
        except ValidationError:
            bad += 1
            continue
        if e.t not in moments:
            late += 1
            continue
        subject = "wearer" if e.subject.casefold() in WEARER_WORDS else e.subject.casefold()
        made[Event(moments[e.t], subject, e.action.casefold(), e.object.casefold())] = None
    return list(made), late, bad


def _texts(said: Sequence[dict[str, Any]], frames: Mapping[str, int]) -> tuple[list[SeenText], int, int]:
    made: list[SeenText] = []
    late = bad = 0
    for item in said:
        try:
            x = SaidText.model_validate(item)
        except ValidationError:
            bad += 1
            continue
        if x.t not in frames:
            late += 1
        elif any(c.isalnum() for c in x.text):
            made.append(SeenText(frames[x.t], " ".join(x.text.split())))
    return made, late, bad


def _with_repeats(captions: Sequence[Caption], light: Sequence[Caption]) -> tuple[Caption, ...]:
    """A frame that the gate took for a repeat, or that was one too many, says what the one before it said."""
    made = {c.t: c for c in captions}
    for other in light:
        if other.t not in made:
            before = [c for c in captions if c.t <= other.t]
            made[other.t] = Caption(other.t, (before[-1] if before else captions[0]).text)
    return tuple(made[t] for t in sorted(made))


def _with_detected(entities: Sequence[Entity], light: Sequence[Entity]) -> tuple[Entity, ...]:
    """What the detector confirmed and the model did not name stays in; the model's words win where both did."""
    named = [e.name for e in entities]
    missed = [e for e in light if not any(_same_thing(e.name, n) for n in named)]
    return (*entities, *missed)


def _same_thing(detected: str, named: str) -> bool:
    words = {w.rstrip("s") for w in named.split()}
    return all(w.rstrip("s") in words for w in detected.split())


def _with_read(texts: Sequence[SeenText], light: Sequence[SeenText]) -> tuple[SeenText, ...]:
    """The text reader is verbatim; of the model's lines those are added that it did not have."""
    new = new_lines([x.text for x in texts], [x.text for x in light])
    added = {x.text: x for x in reversed(texts) if x.text in new}
    return tuple(sorted([*light, *added.values()], key=lambda x: (x.t, x.text)))
