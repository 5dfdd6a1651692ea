"""What a language model is asked to grow the memory: is this still the same activity, what was this episode, does it belong.

GROVE's three judgements (Adaptive Episode Segmentation, Episode Consolidation, Pattern Matching), in our own words and short
enough for a model of one or two billion weights: the fixed part comes first, so that its cache is used again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edge.clock import US, local
from models.roles import Message
from storage.records import Episode, Pattern, Window

LINES = 12  # of one window
CHARS = 90  # of one line
EPISODE_CHARS = 4000
SUMMARY_MAX, SUBJECT_MAX, KEYWORD_MAX, WHY_MAX, ACTIVITY_MAX = 700, 80, 24, 120, 60

_BOUNDARY = """You divide the day of a person who wears a camera into activities. You read what was seen a moment ago and what is \
seen now, name both activities, and say whether it is still the same one.
The same activity may use other things, other rooms or other steps, as long as they serve one purpose: taking a pan, cutting \
onions and turning on the stove are all cooking a meal. Another purpose is another activity: after cooking, washing the dishes; \
after working at a desk, leaving the house.

Before: fill kettle; turn on kettle; take cup
Now: put tea bag in cup; pour water
{"before": "making tea", "now": "making tea", "same_activity": true}

Before: cut carrots; stir pot; taste soup
Now: take coat; lock front door; walk down the stairs
{"before": "cooking soup", "now": "leaving home", "same_activity": false}

Before: open laptop; type; read mail
Now: type; drink coffee; look at notebook
{"before": "working on the laptop", "now": "working on the laptop", "same_activity": true}

Before: pour milk in bowl; eat cereal
Now: rinse bowl; put bowl in dishwasher; wipe table
{"before": "eating breakfast", "now": "cleaning up", "same_activity": false}

Before: sand board; drill hole; put screw in hole
Now: chop tomatoes; salt water; stir pasta
{"before": "building a shelf", "now": "cooking pasta", "same_activity": false}"""

_SUMMARY = """You write the memory of a person who wears a camera. You read what was perceived in one activity, in order of time, and \
write down what it was: only what is there, with the names of things and persons as they stand there, with counts, and with text \
that was read word for word. Nothing is added, nothing is supposed.
subject: five to ten words that name the activity and its main things.
summary: three or four whole sentences, without clock times, in order: who, where, what was done with which things, how it ended.
keywords: five to twelve single words for finding it again.

Monday 08:02, 4 min.
08:02 fill kettle; turn on kettle; take blue cup
08:03 wearer said: where is the honey
08:04 put tea bag in blue cup; pour water; stir honey
{"subject": "Making tea with honey in the blue cup", "summary": "The wearer filled the kettle, turned it on and took the \
blue cup. The wearer asked where the honey was. Then the wearer put a tea bag in the cup, poured water and stirred in honey.", \
"keywords": ["tea", "kettle", "cup", "honey", "water"]}"""

_MATCH = """You look for what recurs in a person's life. A thread is one undertaking that was left and is taken up again: the same \
repair, the same trip, the same report. A routine is the same kind of activity on other days, for the same reason and in much the \
same way: breakfast, the walk to work. Two activities that only share a place or a tool do not belong together. You read a new \
activity and a list of numbered candidates, and name the one it belongs to, or 0 for none."""


def boundary_messages(recent: Sequence[Window], arriving: Window) -> list[Message]:
    """Ask whether `arriving` goes on with what `recent` did."""
    before = "; ".join(line for w in recent for line in lines_of(w))
    now = "; ".join(lines_of(arriving))
    return [Message("system", _BOUNDARY), Message("user", f"Before: {before[-900:]}\nNow: {now[:600]}")]


BOUNDARY: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "before": {"type": "string", "maxLength": ACTIVITY_MAX},
        "now": {"type": "string", "maxLength": ACTIVITY_MAX},
        "same_activity": {"type": "boolean"},
    },
    "required": ["before", "now", "same_activity"],
}


def summary_messages(windows: Sequence[Window]) -> list[Message]:
    """Ask what an episode was."""
    told: list[str] = []
    for window in windows:
        start = local(window.t_start, window.offset_s).strftime("%H:%M")
        told.append(f"{start} {'; '.join(lines_of(window))}")
        told += [f"{start} {u.speaker} said: {u.text[:CHARS]}" for u in window.speech[:4]]
        told += [f"{start} text read: {x.text[:CHARS]}" for x in window.texts[:4]]
    first, last = windows[0], windows[-1]
    minutes = max(1, round((last.t_end - first.t_start) / 60 / US))
    head = f"{local(first.t_start, first.offset_s).strftime('%A %H:%M')}, {minutes} min."
    return [Message("system", _SUMMARY), Message("user", f"{head}\n{_fitted(told)}")]


SUMMARY: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "subject": {"type": "string", "minLength": 3, "maxLength": SUBJECT_MAX},
        "summary": {"type": "string", "minLength": 10, "maxLength": SUMMARY_MAX},
        "keywords": {
            "type": "array", "items": {"type": "string", "minLength": 2, "maxLength": KEYWORD_MAX}, "minItems": 1, "maxItems": 12,
        },
    },
    "required": ["subject", "summary", "keywords"],
}  # fmt: skip


def match_messages(episode: Episode, candidates: Sequence[Pattern]) -> list[Message]:
    """Ask which candidate a new episode belongs to; they are numbered from 1."""
    listed = "\n".join(f"{i + 1}. {c.kind}: {c.title}. {c.summary[:240]}" for i, c in enumerate(candidates))
    when = local(episode.t_start, episode.offset_s).strftime("%A %H:%M")
    return [
        Message("system", _MATCH),
        Message("user", f"New, {when}: {episode.subject}. {episode.summary[:500]}\n\nCandidates:\n{listed}"),
    ]


def match_schema(count: int) -> dict[str, Any]:
    """The answer to `match_messages` for so many candidates."""
    return {
        "type": "object",
        "properties": {
            "why": {"type": "string", "maxLength": WHY_MAX},
            "belongs_to": {"type": "integer", "minimum": 0, "maximum": count},
        },
        "required": ["why", "belongs_to"],
    }


def lines_of(window: Window) -> list[str]:
    """What happened in a window, in few words each: acts before captions before the description, no line twice."""
    acts = [f"{e.action} {e.object}".strip() if e.subject == "wearer" else f"{e.subject} {e.action} {e.object}".strip()
            for e in window.events]  # fmt: skip
    told = acts or [c.text for c in window.captions] or [window.description]
    seen = [] if acts else [e.name for e in window.entities]
    lines = [" ".join(x.split())[:CHARS] for x in (*told, *seen) if x.strip()]
    return list(dict.fromkeys(lines))[:LINES] or ["nothing noticed"]


def _fitted(lines: Sequence[str]) -> str:
    """Lines to the length that is read, thinned out evenly: the end of an activity tells as much as its beginning."""
    total, kept = sum(map(len, lines)), list(lines)
    while total > EPISODE_CHARS and len(kept) > 2:
        kept = [line for i, line in enumerate(kept) if i % 3 != 1]
        total = sum(map(len, kept))
    return "\n".join(kept)[:EPISODE_CHARS]
