"""When something will be, as people say it: "on Friday at 10 o'clock", "at half past nine", "14 March", "until Sunday".

The phrase stays as it was said; its date is read from the day it was said on, forward unless the sentence is in the past.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta

from edge.retrieval.timegrammar import DAYS, MONTHS, NUMBERS
from edge.retrieval.zone import Zone

_NUM = "(?:" + "|".join(k for k in NUMBERS if len(k) > 2) + r"|\d{1,2})"
_MON = "(?:" + "|".join(MONTHS) + "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
_WD = "(?:" + "|".join(DAYS) + ")"
_PART = "(?:morning|afternoon|evening|night|noon|lunchtime)"
_DAY = (
    rf"(?:(?:this |next |coming |the )*{_WD}s?(?: {_PART})?|today|tonight|the day after tomorrow|tomorrow(?: {_PART})?|yesterday(?: {_PART})?"
    rf"|this (?:{_PART}|week|weekend|month)|(?:next|last) (?:week|weekend|month|year)"
    rf"|(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MON}\b(?:,? \d{{4}})?|{_MON} \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}})?|\d{{4}}-\d{{2}}-\d{{2}}"
    rf"|(?:{_NUM}|a|an|half an|a few) (?:minute|hour|day|week|month)s?(?: from now)?|{_MON}\b)"
)
_CLOCK = (
    rf"(?:\d{{1,2}}[:.]\d{{2}}(?: ?[ap]\.?m\b\.?)?|\d{{1,2}} ?[ap]\.?m\b\.?|(?:half|(?:a )?quarter|{_NUM}(?: minutes)?) (?:past|to) {_NUM}"
    rf"|{_NUM} o'?clock|noon|midnight|midday)"
)
_PREP = r"(?:on|at|by|from|in|around|about|before|after|until|till|for|during|every|since)"
_PIECE = rf"(?:(?:{_PREP} )*(?:(?:about|around|exactly) )?(?:{_CLOCK}|{_DAY})|at (?:about |around )?{_NUM}\b(?! (?!this\b)[a-z]+s\b))"
PHRASE = re.compile(rf"\b{_PIECE}(?:,? (?:and )?(?:in the {_PART}|{_PIECE}))*(?![\w:])", re.IGNORECASE)
UNTIL = re.compile(
    rf"\b(?:until|till|through|for)(?: the next| another)? (?:{_PIECE}(?: {_PIECE})*|further notice|the end of [\w ]+?(?=[,.;!?]|$))",
    re.I,
)
_PAST = re.compile(r"\b(?:was|were|had|did|took|went|left|came|met|last|yesterday|\w{3,}ed)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Appointment:
    """The phrase as it was said, the day it means and the minute of that day; None where it does not tell."""

    phrase: str
    day: date | None
    minute: int | None


def read(sentence: str, zone: Zone) -> Appointment | None:
    """The time a sentence tells, seen from when it was said (the zone's now); None when it tells none."""
    m = max(PHRASE.finditer(sentence), key=lambda m: len(m.group(0)), default=None)
    if m is None:
        return None
    phrase = m.group(0).rstrip(".")
    past = _PAST.search(sentence[: m.start()] + sentence[m.end() :]) is not None
    day = day_of(phrase, zone, past=past)
    return Appointment(phrase, day, minute_of(phrase, zone, day))


def day_of(phrase: str, zone: Zone, *, past: bool = False) -> date | None:
    """The local day of a phrase; a weekday is the coming one (the last one in a sentence about the past)."""
    low, today = phrase.lower(), zone.today
    if m := re.search(r"\d{4}-\d{2}-\d{2}", low):
        return _valid(m.group(0))
    if m := re.search(
        rf"(?:(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MON})|({_MON}) (\d{{1,2}})(?:st|nd|rd|th)?)(?:,? (\d{{4}}))?", low
    ):
        month = next(i for i, name in enumerate(MONTHS, 1) if name.startswith((m[2] or m[3])[:3]))
        year = int(m[5]) if m[5] else today.year
        found = _valid(f"{year:04d}-{month:02d}-{int(m[1] or m[4]):02d}")
        if found and not m[5] and not past and found < today:
            return _valid(f"{year + 1:04d}{found.isoformat()[4:]}")
        return (
            _valid(f"{year - 1:04d}{found.isoformat()[4:]}") if found and not m[5] and past and found > today else found
        )
    for word, days in (("day after tomorrow", 2), ("tomorrow", 1), ("yesterday", -1), ("today", 0), ("tonight", 0)):
        if word in low:
            return today + timedelta(days=days)
    if re.search(rf"\bthis {_PART}\b", low):
        return today
    if m := re.search(rf"\b({_NUM}|a) (day|week)s?\b", low):
        n = 1 if m[1] == "a" else int(m[1]) if m[1].isdigit() else NUMBERS[m[1]]
        return today + timedelta(days=n * (7 if m[2] == "week" else 1))
    for i, name in enumerate(DAYS):
        if name in low:
            ahead = (i - today.weekday()) % 7 or 7
            if "next week" in low:
                ahead = 7 - today.weekday() + i
            return today - timedelta(days=7 - ahead or 7) if past else today + timedelta(days=ahead)
    return None


def minute_of(phrase: str, zone: Zone, day: date | None) -> int | None:
    """The minute of the day of a phrase.  Without "am" or "pm" the next such time that day; on another day by daylight."""
    low = phrase.lower()
    if word := re.search(r"\b(noon|midday|midnight)\b", low):
        return 0 if word[1] == "midnight" else 720
    if m := re.search(rf"\b(half|(?:a )?quarter|{_NUM})(?: minutes)? (past|to) ({_NUM})\b", low):
        step = 30 if m[1] == "half" else 15 if "quarter" in m[1] else _number(m[1])
        minute = _number(m[3]) * 60 + (step if m[2] == "past" else -step)
    elif m := re.search(r"\b(\d{1,2})[:.](\d{2})", low):
        minute = int(m[1]) * 60 + int(m[2])
    elif m := re.search(rf"\b(?:at (?:about |around )?)?({_NUM})(?: o'?clock| ?[ap]\.?m\b)", low) or re.search(
        rf"\bat (?:about |around )?({_NUM})\b", low
    ):
        minute = _number(m[1]) * 60
    else:
        return None
    if re.search(r"\d ?a\.?m\b|\bmorning\b", low):
        return minute % 720
    if re.search(r"\d ?p\.?m\b|\b(?:afternoon|evening|tonight|night)\b", low):
        return minute % 720 + 720
    if minute >= 780 or minute < 60:
        return minute
    local = zone.local(zone.now)
    if day in (None, local.date()):
        return minute if minute >= local.hour * 60 + local.minute or minute + 720 >= 1440 else minute + 720
    return minute + 720 if minute < 420 else minute


def _number(word: str) -> int:
    return int(word) if word.isdigit() else NUMBERS[word]


def _valid(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
