"""What a language model is asked to grow the memory, for each domain: boundary, summary, moments, match, pattern, facts.

GROVE's judgements (Adaptive Episode Segmentation, Episode Consolidation, Pattern Matching and re-synthesis) and EM2Mem's
facts, in our own words and short enough for a model of one or two billion weights: the fixed part comes first, so that
its cache is used again.  What was perceived stands between marks and is never an instruction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edge.clock import US, local
from edge.config import Domain
from edge.memory.domain_prompts import DOMAINS, FACTS, PATTERN
from models.roles import Message
from storage.records import Episode, Moment, Pattern, Window

LINES = 12  # of one window
CHARS = 90  # of one line
EPISODE_CHARS = 4000
MOMENTS = 40  # judged at once
SUMMARY_MAX, SUBJECT_MAX, KEYWORD_MAX, WHY_MAX, ACTIVITY_MAX = 700, 80, 24, 120, 40
BEFORE_CHARS, NOW_CHARS = 320, 300
FACTS_MAX = 6


def boundary_messages(recent: Sequence[Window], arriving: Window, domain: Domain = "daily") -> list[Message]:
    """Ask whether `arriving` goes on with what `recent` did."""
    before = "; ".join(line for w in recent for line in lines_of(w))
    if len(before) > BEFORE_CHARS:  # what was done last tells most, and whole
        before = before[-BEFORE_CHARS:].split("; ", 1)[-1]
    now = "; ".join(lines_of(arriving))[:NOW_CHARS]
    return [Message("system", DOMAINS[domain].boundary), Message("user", f"Before: {before}\nNow: {now}")]


BOUNDARY: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "before": {"type": "string", "maxLength": ACTIVITY_MAX},
        "finished": {"type": "boolean"},
        "now": {"type": "string", "maxLength": ACTIVITY_MAX},
        "same_activity": {"type": "boolean"},
    },
    "required": ["before", "finished", "now", "same_activity"],
}


def summary_messages(windows: Sequence[Window], main: Sequence[str] = (), domain: Domain = "daily") -> list[Message]:
    """Ask what an episode was; `main` are the things that must be named."""
    told: list[str] = []
    for window in windows:
        start = local(window.t_start, window.offset_s).strftime("%H:%M")
        told.append(f"{start} {'; '.join(lines_of(window))}")
        told += [f"{start} {u.speaker} said: {u.text[:CHARS]}" for u in window.speech[:4]]
        told += [f"{start} text read: {x.text[:CHARS]}" for x in window.texts[:4]]
    first, last = windows[0], windows[-1]
    minutes = max(1, round((last.t_end - first.t_start) / 60 / US))
    head = f"{local(first.t_start, first.offset_s).strftime('%A %H:%M')}, {minutes} min."
    must = f"\nName in the summary: {', '.join(main)}." if main else ""
    return [Message("system", DOMAINS[domain].summary), Message("user", f"{head}\n{_fitted(told)}{must}")]


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


def moments_messages(subject: str, moments: Sequence[Moment], domain: Domain = "daily") -> list[Message]:
    """Ask which of the numbered moments of an episode carry it."""
    listed = "\n".join(f"{n}. {m.text[:CHARS]}" for n, m in enumerate(moments, 1))
    return [Message("system", DOMAINS[domain].moments), Message("user", f"Activity: {subject[:CHARS]}\n{listed}")]


def moments_schema(count: int) -> dict[str, Any]:
    """The answer to `moments_messages` for so many moments."""
    number = {"type": "integer", "minimum": 1, "maximum": count}
    most = {"type": "array", "items": number, "maxItems": max(1, min(count, 12))}  # a small model counts on and on
    return {
        "type": "object", "properties": {"core": most, "context": most}, "required": ["core", "context"],
    }  # fmt: skip


def match_messages(episode: Episode, candidates: Sequence[Pattern], domain: Domain = "daily") -> list[Message]:
    """Ask which candidate a new episode belongs to; they are numbered from 1."""
    listed = "\n".join(
        f"{i + 1}. {c.kind}, last {_ago(episode.t_start - c.known)} before: {c.title}. {c.summary[:240]}"
        for i, c in enumerate(candidates)
    )
    when = local(episode.t_start, episode.offset_s).strftime("%A %H:%M")
    return [
        Message("system", DOMAINS[domain].match),
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


def pattern_messages(pattern: Pattern, newest: Sequence[Episode], older: Sequence[Episode]) -> list[Message]:
    """Ask what a pattern is: the newest episodes in full, the older ones by their subject."""
    told = [f"{_when(e)}: {e.subject}. {e.summary[:400]}" for e in newest]
    before = [f"{_when(e)}: {e.subject}" for e in older[-12:]]
    earlier = f"Earlier:\n{chr(10).join(before)}\n" if before else ""
    return [
        Message("system", PATTERN),
        Message("user", f"Kind: {pattern.kind}, {pattern.recurrence} times.\n{earlier}Newest:\n{chr(10).join(told)}"),
    ]


PATTERN_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "minLength": 3, "maxLength": SUBJECT_MAX},
        "summary": {"type": "string", "minLength": 10, "maxLength": SUMMARY_MAX},
    },
    "required": ["title", "summary"],
}


def facts_messages(windows: Sequence[Window]) -> list[Message]:
    """Ask what lasting facts were said in an episode."""
    said = [f"{u.speaker}: {u.text[:300]}" for w in windows for u in w.speech]
    return [Message("system", FACTS), Message("user", _fitted(said))]


FACTS_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "facts": {
            "type": "array", "maxItems": FACTS_MAX,
            "items": {
                "type": "object",
                "properties": {
                    "kind": {"enum": ["habit", "preference", "relation", "ownership", "plan"]},
                    "subject": {"type": "string", "minLength": 2, "maxLength": 30},
                    "relation": {"type": "string", "minLength": 2, "maxLength": 24},
                    "object": {"type": "string", "minLength": 2, "maxLength": 60},
                    "quote": {"type": "string", "minLength": 4, "maxLength": 120},
                },
                "required": ["kind", "subject", "relation", "object", "quote"],
            },
        },
    },
    "required": ["facts"],
}  # fmt: skip


def lines_of(window: Window) -> list[str]:
    """What happened in a window, in few words each: acts before captions before the description, no line twice."""
    acts = [f"{e.action} {e.object}".strip() if e.subject == "wearer" else f"{e.subject} {e.action} {e.object}".strip()
            for e in window.events]  # fmt: skip
    told = acts or [c.text for c in window.captions] or [window.description]
    seen = [] if acts else [e.name for e in window.entities]
    lines = [" ".join(x.split())[:CHARS] for x in (*told, *seen) if x.strip()]
    return list(dict.fromkeys(lines))[:LINES] or ["nothing noticed"]


def _when(episode: Episode) -> str:
    return local(episode.t_start, episode.offset_s).strftime("%a %Y-%m-%d %H:%M")


def _ago(us: int) -> str:
    """A time that has passed, in the largest unit that tells it."""
    minutes = max(0, round(us / 60 / US))
    if minutes < 90:
        return f"{minutes} min"
    return f"{round(minutes / 60)} h" if minutes < 36 * 60 else f"{round(minutes / 1440)} days"


def _fitted(lines: Sequence[str]) -> str:
    """Lines to the length that is read, thinned out evenly: the end of an activity tells as much as its beginning."""
    total, kept = sum(map(len, lines)), list(lines)
    while total > EPISODE_CHARS and len(kept) > 2:
        kept = [line for i, line in enumerate(kept) if i % 3 != 1]
        total = sum(map(len, kept))
    return "\n".join(kept)[:EPISODE_CHARS]
