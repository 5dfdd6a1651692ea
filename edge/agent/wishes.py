"""Understanding "tell me when ...", "remind me to ... when I ..." : what is wanted, and what must happen first.

The happening is looked for in what is perceived from then on, never in the past, so only what can be seen, heard or read
is understood: an act of the wearer, a thing in view, words that are said, words that stand somewhere, a plain statement
("the water boils"), or a clock time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from edge.agent.question import verbs_of
from edge.errors import QuestionError
from edge.retrieval import words
from edge.retrieval.timegrammar import AT, NUMBERS
from edge.retrieval.timephrase import next_clock
from edge.retrieval.zone import Us, Zone
from storage.standing import Standing

Looks: TypeAlias = Literal["act", "see", "said", "text", "state", "step"]

GAP_US: Us = 8_000_000  # least time between two answers to one standing question (GROVE, A.2)
STEP_GAP_US: Us = 4_000_000  # when every step is to be told
LONGEST = 300  # characters

_EVERY = r"(?:every time|each time|whenever|any time|always when|again and again when)"
_ONCE = r"(?:as soon as|the moment|the next time|next time|the first time|when|once|if|in case|after|before|while)"
_TRIGGER = rf"(?:{_EVERY}|{_ONCE})"
_TELL = (
    r"(?:(?:tell|alert|warn|notify|inform|ping|call|remind) me|let me know|say(?: something| so)?|speak up|"
    r"give me a (?:shout|sign|heads[- ]up|warning))"
)
_PLEASE = r"^(?:(?:please|hey|ok|okay|could you|can you|would you|will you|i want you to|i'd like you to)[, ]+)*"
_TO = r"(?:to|that i (?:have|need|want|should|must)(?: to)?|about|of|that)"

_REMIND = re.compile(rf"{_PLEASE}remind me {_TO} (?P<what>.+?),? (?P<on>{_TRIGGER}) (?P<when>.+)$", re.I)
_REMIND_FIRST = re.compile(
    rf"{_PLEASE}(?P<on>{_TRIGGER}) (?P<when>.+?),? (?:please )?remind me {_TO} (?P<what>.+)$", re.I
)
_TELL_WHEN = re.compile(rf"{_PLEASE}{_TELL}(?: please)?,? (?P<on>{_TRIGGER}) (?P<when>.+)$", re.I)
_WHEN_TELL = re.compile(
    rf"{_PLEASE}(?P<on>{_TRIGGER}) (?P<when>.+?),? (?:please )?{_TELL}(?: (?:so|that|about it|it))?$", re.I
)
_WATCH = re.compile(
    rf"{_PLEASE}(?:watch|look|listen|keep (?:an eye|a lookout|an ear))(?: out| open)? (?:out )?for (?P<x>.+)$", re.I
)
_STEPS = re.compile(
    rf"{_PLEASE}(?:(?:{_TELL}|comment|report|narrate|describe|guide me)\b.*?(?:(?:at|after|for|on|with|through|about|of) )?(?:each|every)(?: single)? (?:sub-?)?step|(?:narrate|describe) what i (?:do|am doing))\b.*$",
    re.I,
)  # fmt: skip
_NUM = "|".join(NUMBERS)
_IN = re.compile(rf"\bin (?P<n>\d+|half an|{_NUM}) (?P<u>second|minute|min|hour)s?\b", re.I)
_REMIND_AT = re.compile(rf"{_PLEASE}remind me\b(?P<rest>.*)$", re.I)
# "tell me when I last opened it" asks about the past.
_PAST = re.compile(
    r"\b(?:did|was|were|had|have (?:i|you|we)|has|last|first|yesterday|ago|usually|ever|earlier|before that|took|went|ate|"
    r"drank|saw|lost|made|bought|met|told|said|got|gave)\b|\b(?:i|we|he|she|they) (?:\w+ed|left)\b",
    re.IGNORECASE,
)
_SCREEN = r"(?:screen|sign|display|board|panel|clock|monitor|label|ticket|timer|watch|notice|phone|scale|thermometer|poster|page)"
_SEEN = (
    re.compile(r"^(?:i|we|you)(?: can)? (?:see|spot|notice|detect|recogni[sz]e|find|come across|pass|meet|look at) (?P<x>.+)$", re.I),
    re.compile(r"^there(?: is|'s| are) (?P<x>.+?)(?: (?:around|nearby|in (?:view|sight)|here|there))?$", re.I),
    re.compile(r"^(?P<x>.+?) (?:appears?|shows? up|turns? up|comes? (?:into|in) (?:view|sight)|(?:is|are) (?:visible|in (?:view|sight)|there|here|nearby|around)|(?:comes?|arrives?|passes|drives) ?(?:by|along|past|near|close|in)?)$", re.I),
)  # fmt: skip
_SAID = (
    re.compile(r"^(?:i|we|you) hear (?P<who>.+?) (?:say|saying|mention|mentioning|ask|asking|call|calling|talk|talking|speak|speaking)(?: about| for)? ?(?P<x>.*)$", re.I),
    re.compile(r"^(?:i|we|you) hear (?:the words? )?(?P<who>)(?P<x>.+)$", re.I),
    re.compile(r"^(?P<who>(?!the \w*" + _SCREEN + r")[\w' ]{1,30}?) (?:says|say|mentions?|asks?(?: me)?|calls?(?: for)?|talks?|speaks?|shouts?|announces?)(?: about| to me)? ?(?P<x>.*)$", re.I),
)  # fmt: skip
_READ = (
    re.compile(rf"^(?:the |my |a )?[\w -]*?{_SCREEN}s? (?:says?|shows?|reads?|displays?|tells?) (?P<x>.+)$", re.I),
    re.compile(r"^(?:i|we|you) (?:can )?read (?P<x>.+)$", re.I),
    re.compile(
        r"^(?P<x>.+?) (?:is|are) (?:shown|displayed|written|printed|announced|called|up)(?: (?:on|at) .+)?$", re.I
    ),
)
_I = re.compile(r"^(?:i|we)(?:'m|'re| am| are| have to| want to| begin to| start to| try to)? (?P<vp>.+)$", re.I)
_NOT = re.compile(r"\b(?:not|never|don't|doesn't|didn't|isn't|aren't|no longer|stop|without)\b|n't\b", re.I)
_ANYBODY = frozenset("anybody anyone somebody someone people person he she they the a".split())


@dataclass(frozen=True, slots=True)
class Condition:
    """What must be perceived: where it is looked for, the act and thing, who speaks, the words that must be there."""

    looks: Looks
    acts: tuple[tuple[str, str], ...] = ()
    thing: str = ""
    who: str = ""
    keys: frozenset[str] = frozenset()


def is_wish(text: str) -> bool:
    """Does a sentence ask to be told or reminded later, and not about what was?"""
    body = " ".join(text.split()).strip(" .!?")
    if _STEPS.match(body):
        return True
    m = next((m for p in (_REMIND, _REMIND_FIRST, _TELL_WHEN, _WHEN_TELL) if (m := p.match(body)) is not None), None)
    if m is not None:
        remind = "what" in m.groupdict()
        return remind or not _PAST.search(m.group("when"))
    return bool(_WATCH.match(body) or (_REMIND_AT.match(body) and (_IN.search(body) or AT.search(body))))


def wish(text: str, zone: Zone) -> Standing:
    """The standing question in a sentence, asked at the zone's now.  Raises QuestionError when there is none in it."""
    body = " ".join(text.replace("\x00", " ").split()).strip(" .!?")
    if len(body) > LONGEST:
        raise QuestionError(f"That is {len(body)} characters long: say it in one sentence.")
    offset = zone.offset(zone.now)

    def made(
        kind: Literal["tell", "remind"], what: str, on: str, when: str, due: Us | None = None, gap: Us = GAP_US
    ) -> Standing:
        repeats = bool(re.fullmatch(_EVERY, on, re.I)) or gap == STEP_GAP_US
        return Standing(body, kind, what.strip(" ,"), when.strip(" ,"), repeats, gap, due, offset, zone.now)

    if _STEPS.match(body):
        return made("tell", "", "every time", "", gap=STEP_GAP_US)
    if (m := _REMIND_AT.match(body)) is not None and not re.search(rf"\b{_TRIGGER}\b", body, re.I):
        due, rest = _clock(m.group("rest"), zone)
        if due is not None:
            return made("remind", re.sub(rf"^ *{_TO} ", "", rest, flags=re.I), "when", "", due)
    for pattern in (_REMIND, _REMIND_FIRST):
        if (m := pattern.match(body)) is not None:
            condition(m.group("when"))
            return made("remind", m.group("what"), m.group("on"), m.group("when"))
    for pattern in (_TELL_WHEN, _WHEN_TELL):
        if (m := pattern.match(body)) is not None:
            condition(m.group("when"))
            return made("tell", m.group("when"), m.group("on"), m.group("when"))
    if (m := _WATCH.match(body)) is not None:
        return made("tell", m.group("x"), "when", f"you see {m.group('x')}")
    raise QuestionError(
        'Say what is to be told and when, as in "tell me when you see a bus" or "remind me to take the keys when I leave".'
    )


def condition(trigger: str) -> Condition:
    """What a trigger looks for.  Raises QuestionError for what does not happen, or says nothing that can be perceived."""
    text = " ".join(trigger.split()).strip(" .,!?")
    if not text:
        return Condition("step")
    if _NOT.search(text):
        raise QuestionError("Only what happens can be watched for, not what does not: say it the other way round.")
    for pattern in _SAID:
        if (m := pattern.match(text)) is not None and "hear" not in m.group("who").split():
            who = (
                ""
                if set(words.tokens(m.group("who"))) <= _ANYBODY
                else re.sub(r"^(?:the|my) ", "", m.group("who").lower())
            )
            return Condition("said", who=who, keys=_keys(m.group("x")))
    for pattern in _READ:
        if (m := pattern.match(text)) is not None and _keys(m.group("x")):
            return Condition("text", keys=_keys(m.group("x")))
    for pattern in _SEEN:
        if (m := pattern.match(text)) is not None and words.thing(m.group("x")):
            return Condition("see", thing=m.group("x"), keys=_keys(m.group("x")))
    if (m := _I.match(text)) is not None:
        acts, thing = verbs_of(m.group("vp"))
        return Condition("act", acts, thing, keys=_keys(m.group("vp")))
    if not (keys := _keys(text)):
        raise QuestionError("That names nothing that can be seen, heard or read: say it in other words.")
    return Condition("state", keys=keys)


def _keys(text: str) -> frozenset[str]:
    return frozenset(words.content(re.sub(r"[\"\u201c\u201d]", " ", text)))


def _clock(text: str, zone: Zone) -> tuple[Us | None, str]:
    """The next time a phrase like "in ten minutes" or "at 17:30" names, and the rest of the sentence."""
    if (m := _IN.search(text)) is not None:
        n = m.group("n").lower()
        amount = 0.5 if n == "half an" else float(n) if n.isdigit() else float(NUMBERS[n])
        unit = {"s": 1, "m": 60, "h": 3600}[m.group("u")[0].lower()]
        return zone.now + round(amount * unit) * 1_000_000, _cut(text, m)
    found = next_clock(text, zone)
    return (None, text) if found is None else (found[0], _cut(text, found[1]))


def _cut(text: str, m: re.Match[str]) -> str:
    return " ".join((text[: m.start()] + " " + text[m.end() :]).split())
