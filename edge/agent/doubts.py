"""What is wrong with a question before it is answered: times that never meet or are to come, two questions in one.

A wrong answer with confidence is worse than none: such a question is given back with what was not understood of it.
"""

from __future__ import annotations

import re

from edge.agent import rules_facts
from edge.agent.draft import Draft
from edge.agent.question import Query
from edge.agent.view import View
from edge.retrieval import timephrase, words
from edge.retrieval.timegrammar import DAYS, MONTHS
from edge.retrieval.zone import Zone

_COUNTED = frozenset(("when", "did", "count", "count_days", "days_with", "days_without", "days_since", "duration", "average", "most_day"))  # fmt: skip
_TO_COME = re.compile(r"\b(?:will|shall) (?:i|we)\b|\b(?:am|are) (?:i|we) (?:next )?going to\b", re.IGNORECASE)
_TIME_LEFT = re.compile(  # a time that was not understood: nothing is known of it, which is not the same as never
    rf"\b\d+(?:st|nd|rd|th) (?:of )?(?:{'|'.join(MONTHS)})\b|\b(?:on|last|this|between|from|until) (?:{'|'.join(DAYS)})\b|\bbetween and\b|\bfrom to\b",
    re.IGNORECASE,
)
_INNER = frozenset(words.key(w) for w in "enjoy like love hate feel hope believe prefer dream".split())
_UNWEIGHED = re.compile(
    r"\b(?:enough|too (?:much|many|little|often|long|late|early))\b|\bmy (?:second|third|fourth|fifth)\b",
    re.IGNORECASE,
)
_AND = re.compile(r"\band (\w+) (?:the|my|a|an|it|them)\b", re.IGNORECASE)
_SECOND = re.compile(
    r"^(?P<first>(?:when|where|what|which|who|how|did|do|have|has|was|were|is|are)\b.+?),? and (?P<second>(?:when|where|what|which|who|how (?:long|often|many|much)|did|have|was|were)\b.*\b(?:i|we|it)\b.*)$",
    re.IGNORECASE,
)


def first_of_two(text: str, zone: Zone) -> tuple[str, str]:
    """The first of two questions asked in one breath, and the second; the question and "" where it is one."""
    if '"' in text or "\u201c" in text:
        return text, ""
    m = _SECOND.match(text.strip().rstrip("?.! "))
    if m is None:
        return text, ""
    first, second = m.group("first"), m.group("second")
    times = () if timephrase.extract(first, zone).spans else timephrase.extract(second, zone).spans
    return f"{' '.join((first, *(s.text.strip() for s in times)))}?", second  # "did I A and did I B today"


def doubt(view: View, q: Query) -> Draft | None:
    """Why a question has no answer; None where it may have one."""
    if q.form not in _COUNTED:
        return None
    if q.start is not None and q.end is not None and q.start >= q.end:
        named = " and ".join(s.text.strip() for s in q.spans)
        return Draft("text", None, f"I don't know which time you mean: {named} have nothing in common.", confidence=0.2)
    if _TO_COME.search(q.text) or (q.start is not None and q.start > view.now):
        return Draft("text", None, "I don't know: I only know what has happened, not what is to come.", confidence=0.2)
    if not q.clause.quote and _TIME_LEFT.search(q.clause.text):
        return Draft("text", None, "I don't know: I did not understand the time in that question.", confidence=0.2)
    if q.form in ("did", "count") and any(act in _INNER for act, _ in q.clause.acts):
        return rules_facts.lookup(view, q)  # what was felt is not seen: only what was said of it is known
    if not q.clause.quote and _UNWEIGHED.search(q.clause.text):
        return Draft("text", None, "I don't know: how much is enough, or which of several it was, I cannot tell.", confidence=0.2)  # fmt: skip
    if (
        not q.clause.quote
        and (m := _AND.search(q.clause.thing)) is not None
        and words.key(m.group(1)) in {words.act(a)[0] for a in view.actions()}
    ):
        return Draft(
            "text", None, "I don't know: those are two things in one question. Ask for one at a time.", confidence=0.2
        )
    if q.negated and q.form in ("when", "count"):
        return Draft("text", None, "I don't know: I see when things happen, not when they do not. Ask on which days it was not.", confidence=0.2)  # fmt: skip
    return None
