"""When something said is due, read from the words after the act: "before lunch", "at 5", "tomorrow", "in ten minutes"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from edge.clock import US, local
from edge.retrieval.words import content
from storage.records import Intention

_NUMBER = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "half": 0.5,
    "couple": 2, "few": 3,
}  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_PART_OF_DAY = {"morning": 6, "afternoon": 12, "evening": 17, "tonight": 17, "night": 20}
_IN = re.compile(
    r"\bin (?:about |like )?(?:a )?(?P<n>\w+)(?: of| an?)?[ -](?P<unit>minute|min|hour|hr|day|week|month)s?\b"
)
_CLOCK = re.compile(
    r"\b(?P<how>at|by|before|until|around) (?P<h>\d{1,2})(?:[:.](?P<m>\d\d))?\s*(?P<half>a\.?m|p\.?m|o'clock)?\b"
)
_HOURS = r"(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_SAID_CLOCK = re.compile(
    rf"\b(?P<how>at|by|before|until|around) (?:(?P<part>half past|quarter past|quarter to) (?P<n>\d{{1,2}}|one|{_HOURS})|(?P<h>one(?= o'clock)|{_HOURS}))\b"
    r"(?! (?:of|more|minutes?|hours?|days?|weeks?|months?|people|times|percent|years?|degrees|other))"
)
_FAR = re.compile(
    r"\bnext (?:week|month|year|time|summer|winter|spring|autumn)\b|\bsome ?day\b|\bone day\b|\beventually\b"
    r"|\bin (?:january|february|march|april|june|july|august|september|october|november|december|the future)\b"
)
_CONTEXT = re.compile(r"\b(?P<how>before|after|when|once|until|as soon as|on the way|with|during)\b\s*(?P<words>.*)$")

NEVER = 2**61


@dataclass(frozen=True, slots=True)
class Due:
    """From when on it may be told, the very time it is due (if a time was named), and the context that was named.

    how: "before", "after" or "when" the words hold; "" when none was named.
    """

    start: int
    at: int | None
    how: str
    words: frozenset[str]


def due_of(intention: Intention) -> Due:
    """Read an intention's due phrase (and the rest of what was said) in the wearer's local time."""
    text = f"{intention.what} {intention.due}".lower().replace("\u2019", "'")
    text = _SAID_CLOCK.sub(_as_digits, text)
    said = local(intention.t, intention.offset_s)
    start, at = intention.t, None
    if _FAR.search(text):
        return Due(NEVER, None, "", frozenset())
    span = _IN.search(text)
    if span:
        amount = _number(span["n"])
        seconds = {"min": 60, "hou": 3600, "hr": 3600, "day": 86_400, "wee": 7 * 86_400, "mon": 30 * 86_400}[
            span["unit"][:3]
        ]
        if amount is not None:
            at = intention.t + int(amount * seconds * US)
            return Due(at, at if seconds <= 3600 else None, "", frozenset())
    day = _day(text, said)
    part = next((hour for word, hour in _PART_OF_DAY.items() if re.search(rf"\b{word}\b", text)), None)
    if day is not None:
        start = _us(day + timedelta(hours=part or 0), intention)
    elif part is not None:
        start = max(start, _us(_midnight(said) + timedelta(hours=part), intention))
    clock = _CLOCK.search(text)
    if clock and int(clock["h"]) < 24 and int(clock["m"] or 0) < 60:
        at = _us(_at_clock(clock, day or _midnight(said), said), intention)
        start = max(start, at - 15 * 60 * US)
    elif re.search(r"\b(?:at|by|before) noon\b", text):
        at = _us((day or _midnight(said)) + timedelta(hours=12), intention)
        start = max(start, at - 15 * 60 * US)
    context = _CONTEXT.search(text)
    if context and at is None:
        words = frozenset(content(context["words"]))
        how = "before" if context["how"] in ("before", "until") else "after" if context["how"] == "after" else "when"
        return Due(start, None, how, words)
    return Due(start, at, "", frozenset())


def _as_digits(said: re.Match[str]) -> str:
    """A clock time in words as digits: "at half past four" becomes "at 4:30"."""
    hour = int(_number(said["n"] or said["h"]) or 0)
    if said["part"] == "quarter to":
        return f"{said['how']} {(hour - 2) % 12 + 1}:45"
    minutes = {"half past": ":30", "quarter past": ":15"}.get(said["part"] or "", "")
    return f"{said['how']} {hour}{minutes}"


def _day(text: str, said: datetime) -> datetime | None:
    """The midnight that begins the day that is named, if a later one is."""
    midnight = _midnight(said)
    if re.search(r"\bday after tomorrow\b", text):
        return midnight + timedelta(days=2)
    if re.search(r"\btomorrow\b", text):
        return midnight + timedelta(days=1)
    if re.search(r"\b(?:on|at|this|over) the weekend\b|\bthis weekend\b", text):
        return midnight + timedelta(days=(5 - said.weekday()) % 7)
    for number, name in enumerate(_WEEKDAYS):
        if re.search(rf"\b(?:on|next|this|by|before) {name}\b", text):
            return midnight + timedelta(days=(number - said.weekday()) % 7 or 7)
    return None


def _at_clock(clock: re.Match[str], day: datetime, said: datetime) -> datetime:
    hour = int(clock["h"])
    half = (clock["half"] or "").replace(".", "")
    if half == "pm" and hour < 12:
        hour += 12
    elif half == "am" and hour == 12:
        hour = 0
    when = day + timedelta(hours=hour, minutes=int(clock["m"] or 0))
    if half not in ("am", "pm") and hour <= 12 and when <= said and when + timedelta(hours=12) > said:
        when += timedelta(hours=12)  # "at 5", said at noon, is this afternoon
    return when


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _us(moment: datetime, intention: Intention) -> int:
    base = local(intention.t, intention.offset_s)
    return intention.t + (moment - base) // timedelta(microseconds=1)


def _number(word: str) -> float | None:
    return float(word) if word.isdigit() else _NUMBER.get(word)
