"""What a vision-language model is asked for one window: three prompts for three kinds of video, and the answer's schema.

One call gives both perceptions of GROVE (appendix A.1): a caption for every frame with a description that covers them
all, and the registry of things, dated acts and text.  The wording is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from edge.config import Domain

_EYES: dict[Domain, str] = {
    "daily": (
        "The frames come from glasses that somebody wears through an ordinary day. You see what the wearer sees; hands "
        'and arms that reach in from below are the wearer\'s own. Call the wearer "wearer". Say where the wearer is, what '
        "is within reach, what the hands do and what changes between the frames. Other people are described by what they "
        "look like and do, never named."
    ),
    "procedure": (
        "The frames come from glasses that somebody wears while working on something step by step: cooking, assembling, "
        'repairing. You see what the wearer sees; the hands are the wearer\'s own. Call the wearer "wearer". Name each tool '
        "and part precisely, which hand holds it, how it is held, what it touches, and how far the step has come: loose or "
        "tight, open or closed, raw or done, on or off. A change of state is an event."
    ),
    "third-person": (
        "The frames come from a camera that nobody wears: it looks on from outside. Tell the persons apart by their looks "
        "and keep the same words for the same person in all frames. Say who does what to what, where they stand to each "
        "other, and what changes between the frames."
    ),
}
_TASK = (
    "There are {count} frames of one stretch of time. {times}\n"
    "Tell only what can be seen. What you are not sure of, leave out; do not guess at what happened between the frames or "
    "outside them.\n"
    "captions: one plain sentence for each time.\n"
    "description: three or four sentences that cover all of the frames in order, with nothing that the captions do not bear "
    "out.\n"
    "scene: the place in a few words.\n"
    "entities: every thing and person that matters, each once: the most that were in view together as count, colour or "
    "material or state as attributes, where it lies as location.\n"
    "events: what was done, as subject, action, object, each at one of the times.\n"
    "text: writing that can be read, letter by letter, at the time it was seen; none that you cannot read."
)
_READ = "\nA text reader found in these frames: {lines}. It may have missed some."
_HEARD = "\nMeanwhile was said: {lines}. Do not repeat it; it may tell what a thing is for."

CAPTION_MAX, DESCRIPTION_MAX, SCENE_MAX = 160, 600, 60  # characters
NAME_MAX, LOOK_MAX, ACT_MAX, LINE_MAX = 40, 24, 40, 80
ENTITIES_MAX, EVENTS_MAX, LINES_MAX, LOOKS_MAX = 12, 12, 8, 4
COUNT_MAX = 50
_HINTS, _HINT_CHARS = 8, 80


def prompt_for(domain: Domain, times: Sequence[str], read: Sequence[str], heard: Sequence[str]) -> str:
    """The prompt of one window; `times` are the frames' local times in order, `read` and `heard` what others found."""
    named = " ".join(f"Frame {i + 1} is of {t}." for i, t in enumerate(times))
    text = f"{_EYES[domain]}\n{_TASK.format(count=len(times), times=named)}"
    if read:
        text += _READ.format(lines=_quoted(read))
    if heard:
        text += _HEARD.format(lines=_quoted(heard))
    return text


def schema_for(times: Sequence[str], moments: Sequence[str], *, exact: bool) -> dict[str, Any]:
    """The schema of the answer.

    Captions are keyed by the frames' times, so that none can be missing.  `moments` are the times an event may have;
    with `exact` no other can be written (a grammar enforces it), without it they are checked afterwards one by one.
    """
    free = {"type": "string", "maxLength": 8}
    return {
        "type": "object",
        "properties": {
            "captions": _closed({t: _text(CAPTION_MAX, 1) for t in times}),
            "description": _text(DESCRIPTION_MAX, 1),
            "scene": _text(SCENE_MAX),
            "entities": _list(
                {
                    "name": _text(NAME_MAX, 1),
                    "count": {"type": "integer", "minimum": 1, "maximum": COUNT_MAX},
                    "attributes": {"type": "array", "items": _text(LOOK_MAX, 1), "maxItems": LOOKS_MAX},
                    "location": _text(NAME_MAX),
                },
                ENTITIES_MAX,
            ),
            "events": _list(
                {
                    "t": {"enum": list(moments)} if exact else free,
                    "subject": _text(NAME_MAX, 1),
                    "action": _text(ACT_MAX, 1),
                    "object": _text(NAME_MAX),
                },
                EVENTS_MAX,
            ),
            "text": _list({"t": {"enum": list(times)} if exact else free, "text": _text(LINE_MAX, 1)}, LINES_MAX),
        },
        "required": ["captions", "description", "scene", "entities", "events", "text"],
        "additionalProperties": False,
    }


def _text(longest: int, shortest: int = 0) -> dict[str, Any]:
    return {"type": "string", "minLength": shortest, "maxLength": longest}


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False,
    }  # fmt: skip


def _list(properties: dict[str, Any], most: int) -> dict[str, Any]:
    return {"type": "array", "items": _closed(properties), "maxItems": most}


def _quoted(lines: Sequence[str]) -> str:
    return ", ".join(f'"{line[:_HINT_CHARS]}"' for line in lines[:_HINTS])
