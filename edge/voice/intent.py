"""What a spoken sentence wants: a command to the device, a question to the memory, or nothing of either.

One table of forms; what fits none of them and is no question is left alone.  Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "stop", "repeat", "louder", "quieter", "help", "pause", "resume", "forget", "why", "mute_this", "snooze", "remind",
    "yes", "no", "question", "none",
]  # fmt: skip

NUMBERS = {
    word: value
    for value, words in enumerate(
        "zero,one a an,two,three,four,five,six,seven,eight,nine,ten,eleven,twelve,thirteen,fourteen,fifteen,sixteen,"
        "seventeen,eighteen,nineteen,twenty".split(",")
    )
    for word in words.split()
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90, "half": 0.5, "couple": 2, "few": 3}
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
LONGEST_S = 366 * 86_400.0


@dataclass(frozen=True, slots=True)
class Intent:
    """`text` is the sentence as heard; `seconds` the span a command names (None: it names none)."""

    kind: Kind
    text: str
    seconds: float | None = None


_SPAN = r"(?P<n>[a-z0-9. -]*?)\s*\b(?P<u>second|minute|hour|day)s?\b"
_POLITE = r"(?:(?:please|ok|okay|hey|now|just|oh|well|um|uh|and) )*(?:(?:can|could|would|will) you (?:please )?)?"


def _spread(form: str) -> list[str]:
    """The alternatives of a form, each with at most one length of time, whose groups would clash otherwise."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(form):
        depth += (c == "(") - (c == ")")
        if c == "|" and depth == 0:
            parts.append(form[start:i])
            start = i + 1
    return [part.replace("{span}", _SPAN) for part in [*parts, form[start:]]]


# The whole sentence has to fit, so that "stop by the shop" is no command.  {span}: a length of time.
_FORMS: tuple[tuple[Kind, str], ...] = (
    ("stop", r"(?:stop(?: stop)*|be quiet|quiet|silence|shut up|hush|cancel|never ?mind|(?:that's )?enough|stop (?:it|that|talking|speaking))"),
    ("repeat", r"(?:repeat(?: that| it)?|say (?:that|it) again|(?:sorry )?what (?:did you (?:just )?say|was that)|come again|(?:i beg your )?pardon(?: me)?|once more|sorry|what)"),
    ("louder", r"(?:(?:a (?:bit|little) )?louder|speak (?:up|louder)|(?:turn )?(?:the )?volume up|turn (?:it|the volume) up|i can't hear you)"),
    ("quieter", r"(?:(?:a (?:bit|little) )?(?:quieter|softer)|speak (?:softer|more quietly|quieter|softly)|(?:turn )?(?:the )?volume down|turn (?:it|the volume) down|not so loud|(?:(?:that|you|it)(?:'s|'re| is| are) )?too loud)"),
    ("help", r"(?:help|help me|what can you do(?: for me)?|what can i (?:say|ask)(?: you)?|what do you do)"),
    ("pause", r"(?:pause|stop|hold)(?: (?:the )?(?:recording|listening|watching|camera))(?:(?: for)? {span})?|pause(?:(?: for)? {span})?|don't record(?: (?:me|this|anything))?(?: for {span})?|(?:i (?:need|want) )?(?:some )?privacy(?: for {span})?"),
    ("resume", r"(?:resume|continue|start|restart)(?: (?:the )?(?:recording|watching|camera))(?: again)?"),
    ("forget", r"(?:forget|delete|erase)(?: (?:everything|all|what happened))?(?: (?:of|from|in|about))?(?: the)? (?:last|past|previous) {span}|(?:forget|delete|erase) (?:that|this|everything)"),
    ("why", r"why (?:did|do) you (?:say|tell me|think) (?:that|this|so)|why(?: was)? that|why|how do you know(?: that)?|what makes you (?:say|think) (?:that|so)"),
    ("mute_this", r"(?:don't|do not|never|stop) (?:tell|telling|remind|reminding) me (?:about )?(?:that|this|of that|of this)?(?: again)?|don't (?:say|mention) (?:that|this) again|i don't want to (?:hear|know) that(?: again)?"),
    ("snooze", r"(?:snooze|leave me alone|do not disturb|don't disturb me|no (?:more )?alerts|not now|later)(?:(?: me)?(?: for)?(?: the next)? {span})?|(?:be|stay|keep) quiet for {span}|give me {span}"),
    ("remind", r"(?:remind me|don't let me forget|remember|make a note|note)(?: to| that| about| of)? .+"),
    ("remind", r"(?:tell|warn|alert) me (?:when|if|as soon as|once|whenever|every time|the next time) (?!.*\b(?:last|first|did|was|were|had|yesterday|ago)\b).+|let me know (?:when|if|as soon as|once|whenever|every time|the next time) .+"),
    ("yes", r"(?:yes|yeah|yep|sure|yes please|do it|go ahead|confirm|correct|right|of course|that's right|okay|ok)(?: do it| do that| please)?"),
    ("no", r"(?:no|nope|don't|do not|no thanks|no thank you|keep it|leave it|rather not|better not)"),
)  # fmt: skip
_TABLE: tuple[tuple[Kind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(rf"{_POLITE}(?:{part})(?: (?:please|now|for now|thank you|thanks))*"))
    for kind, form in _FORMS
    for part in _spread(form)
)

_ASKS = re.compile(
    r"(?:(?:and|so|but|or|okay|ok|please|hey|then|well|tell me|do you (?:know|remember|recall)|can you tell me|i wonder|i want to know)[ ,]+)*"
    r"(?:what(?:'s|'re)?|where(?:'s)?|when(?:'s)?|who(?:'s|se|m)?|which|why|how(?:'s)?|did|do|does|is|are|was|were|have|has|had|"
    r"am|can|could|will|would|should|shall|may|might|show|list|summari[sz]e|tell me|describe|read|find|count|remind me what|any)\b"
)


def understand(heard: str) -> Intent:
    """What is wanted.  A question is anything that is asked; what else is said is "none"."""
    text = " ".join(heard.split())
    plain = normal(text)
    for kind, form in _TABLE:
        found = form.fullmatch(plain)
        if found is not None:
            return Intent(kind, text, _seconds(found.groupdict()))
    if plain and (text.rstrip().endswith("?") or _ASKS.match(plain)):
        return Intent("question", text)
    return Intent("none", text)


def normal(text: str) -> str:
    """Lower case, one blank between words, no punctuation but apostrophes: two ways to write one sentence are one."""
    plain = text.lower().replace("\u2019", "'")
    plain = re.sub(r"\b(do|did|does|is|are|was|can|could|would|should)n not\b", r"\1n't", plain)
    plain = re.sub(r"(?<=\d)[,](?=\d)", "", plain)
    return " ".join(re.sub(r"[^a-z0-9'. ]|\.(?!\d)", " ", plain).split())


def without_wake(text: str, phrase: str) -> str:
    """The sentence after the wake phrase that was recorded with it, which the recogniser may have misheard a little."""
    words = text.split()
    alike, end = _likest(words, phrase, 2)
    rest = " ".join(words[end if alike >= _ALIKE else 0 :]).lstrip(" ,.!?-")
    return rest[:1].upper() + rest[1:]


def says(text: str, phrase: str) -> bool:
    """Whether the wake phrase is in what the recogniser heard; stricter, for it is to tell it from what sounds alike."""
    words = text.split()
    return _likest(words, phrase, len(words))[0] >= _SAID


def _likest(words: list[str], phrase: str, starts: int) -> tuple[float, int]:
    """How alike (0-1) the phrase and the likest of the stretches are that begin with one of the first words; its end."""
    wanted, size = normal(phrase).replace(" ", ""), len(phrase.split())
    found = (0.0, 0)
    for start in range(min(starts, len(words))):
        for count in range(max(1, size - 1), size + 2):
            said = normal(" ".join(words[start : start + count])).replace(" ", "")
            alike = SequenceMatcher(None, said, wanted).ratio()
            if alike > found[0]:
                found = (alike, start + count)
    return found


_ALIKE = 0.7
_SAID = 0.8


def _seconds(groups: dict[str, str | None]) -> float | None:
    unit = groups.get("u")
    if unit is None:
        return None
    number, seen = 0.0, False
    for word in re.split(r"[ -]+", groups.get("n") or ""):
        value = float(word) if re.fullmatch(r"\d+(?:\.\d+)?", word) else NUMBERS.get(word)
        if value is None or (seen and word in {"a", "an"}):  # "half an hour"
            continue
        number = number + value if number >= 20 and value < 10 else value  # "twenty five", "a couple of"
        seen = True
    return min(LONGEST_S, (number if seen else 1.0) * SECONDS[unit])
