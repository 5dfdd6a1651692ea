"""Follow-up questions: "and yesterday?", "what about the milk?", "and where did I put it?" made whole.

What is left unsaid is taken from the question before, as text: the new time in the place of the old, the new thing in the
place of the old.  The whole question is then understood like any other, so that follow-ups can follow follow-ups.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from edge.agent.question import Query, understand
from edge.retrieval import timephrase, words
from edge.retrieval.zone import Span, Us, Zone

FOLLOW_US: Us = 300_000_000  # a question asked longer ago is no context any more

_OPENING = re.compile(
    r"^(?:(?:and|but|so|or|ok|okay|then|also)\b[ ,]*)*(?P<about>(?:what|how) about\b)? *", re.IGNORECASE
)
_BESIDE = re.compile(r"^(?:on )?(?:the )?(?P<u>day|week|month) (?P<w>before|after)(?: that)?$", re.IGNORECASE)
_WORD = re.compile(
    r"^(?P<w>how often|how many times|when|where|how long|on (?:which|what) days|which days)(?: (?:was|is) (?:it|that))?$",
    re.IGNORECASE,
)
_ACT = re.compile(r"^(?:did i )?(?P<v>(?!before\b|after\b|since\b|like\b|about\b|with\b|for\b)\w+(?: (?:on|off|up|down|out|in))?) (?:it|them|that|those)(?P<p> (?:on|off|up|down|out|in|away|back))?$", re.I)  # fmt: skip
_ORDINAL = re.compile(r"^(?:when )?(?:for )?(?:the )?(?P<o>first|last)(?: time)?$", re.IGNORECASE)
_QUESTION = re.compile(
    r"^(?:when|where|what|which|who|why|how|did|do|does|have|has|had|is|are|was|were|can|could|will|would|at what|on which|on what)\b",
    re.IGNORECASE,
)
_MEAL = re.compile(r"^for (?:breakfast|lunch|dinner|supper)$", re.IGNORECASE)
_MEAL_SAID = re.compile(r"\bfor (?:breakfast|lunch|dinner|supper)\b", re.IGNORECASE)
_PRONOUN = re.compile(
    r"\b(?:it|them|that|those|this)\b(?=$|,| (?:last|first|down|back|away|again|today|yesterday|now|then)\b)", re.I
)
_REFERS = re.compile(
    r"\b(?:did|have|had) i\b.*\b(?:it|them)\b|\bwhere (?:is|are|was|were) (?:it|they|that)\b", re.IGNORECASE
)
_NAMES = re.compile(r"\b(?:the|my|our|a|an|some|any) \w", re.IGNORECASE)
_ASK = {
    "when": "When did I last {}?",
    "how long": "How long did I {}?",
    "how often": "How often did I {}?",
    "how many times": "How many times did I {}?",
}


def whole(text: str, zone: Zone, previous: Query) -> str:
    """The question with what it leaves unsaid; the text as it was when it leaves nothing unsaid, or follows nothing.

    `previous` is the question before as it was understood; it counts for a few minutes after it was asked.
    """
    if not 0 <= zone.now - previous.asked <= FOLLOW_US:
        return text
    body = text.strip().rstrip("?.! ")
    opening = _OPENING.match(body)
    opened = opening is not None and bool(opening.group(0).strip())
    rest = body[opening.end() :].strip() if opening is not None else body
    if _QUESTION.match(rest) and not _WORD.match(rest) and not _ORDINAL.match(rest):
        return _with_thing(text, rest, previous)
    found = timephrase.extract(rest, zone)
    unsaid = re.sub(
        r"^(?:in|on|at|for|the|during)?$", "", " ".join(found.rest.split()).strip(" ,"), flags=re.IGNORECASE
    )
    if (m := _BESIDE.match(rest)) is not None:
        return _at(previous, _beside(m, previous, zone))
    if found.spans and not unsaid:
        return _at(previous, found.spans[0].text)
    if not opened:
        return text
    if (m := _ORDINAL.match(rest)) is not None and previous.clause.text:
        return f"When did I {m.group('o').lower()} {previous.clause.text}?"
    if (m := _ACT.match(rest)) is not None and previous.clause.thing and previous.clause.text in previous.text:
        act = f"{m.group('v')} {previous.clause.thing}{m.group('p') or ''}"
        return previous.text.replace(previous.clause.text, act, 1)
    if (m := _WORD.match(rest)) is not None:
        return _asked(m.group("w").lower(), previous) or text
    if (m := _MEAL.match(unsaid)) is not None and _MEAL_SAID.search(previous.text):
        return _MEAL_SAID.sub(m.group(0), previous.text, count=1)
    changed = _instead(previous, re.sub(r"^(?:about|with|for) ", "", unsaid)) if unsaid else ""
    if not changed:
        return text
    return _at(understand(changed, zone), found.spans[0].text) if found.spans else changed


def _with_thing(text: str, rest: str, previous: Query) -> str:
    """A whole question in which "it" is the thing of the one before."""
    thing = previous.clause.thing
    if not thing or not _REFERS.search(rest) or _NAMES.search(rest):
        return text
    changed = re.sub(r"\b(?:they|that)$|\bit$", lambda _: thing, _PRONOUN.sub(lambda _: thing, rest, count=1))
    return f"{changed}?"


def _at(previous: Query, when: str) -> str:
    """The question before at another time."""
    text = previous.text.rstrip("?.! ")
    for span in previous.spans:
        text = text.replace(span.text, " ")
    return f"{' '.join(text.split())} {when}?"


def _beside(m: re.Match[str], previous: Query, zone: Zone) -> str:
    """The day (week, month) before or after the time of the question before, as a date or a stretch."""
    base: Span | None = previous.spans[0] if previous.spans else None
    start = zone.local(base.start).date() if base and base.start > -(2**60) else zone.today
    sign = -1 if m.group("w").lower() == "before" else 1
    if m.group("u").lower() == "day":
        return f"on {_said(start + timedelta(days=sign))}"
    days = 7 if m.group("u").lower() == "week" else 30
    low = start + timedelta(days=sign * days)
    return f"between 00:00 on {_said(low)} and 00:00 on {_said(low + timedelta(days=days))}"


def _said(day: date) -> str:
    return f"{day.day} {day:%B} {day.year}"


def _instead(previous: Query, thing: str) -> str:
    """The question before about another thing; "" when it does not show which words to change."""
    old = previous.clause.thing or previous.clause.text
    if not old or not words.content(old) or old not in previous.text:
        return ""
    if re.match(r"(?:the|a|an|my|our) ", old, re.IGNORECASE) and not re.match(
        r"(?:the|a|an|my|our|some|any) ", thing, re.I
    ):
        thing = f"{old.split(' ')[0]} {thing}"
    return previous.text.replace(old, thing, 1)


def _asked(word: str, previous: Query) -> str:
    """Another question about the same act: "and how often?"."""
    clause = previous.clause
    if word == "where":
        return f"Where did I put {clause.thing}?" if clause.thing else ""
    if not clause.text:
        return ""
    form = _ASK.get(word, "On which days did I {}?")
    return form.format(f'do "{clause.quote}"' if clause.quote else clause.text)
