"""Spoken forms: times, days and counts as a person would say them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from edge.agent.question import Clause
from edge.agent.view import View
from edge.retrieval.zone import Us


def spoken_time(view: View, t: Us) -> str:
    """Say "today at 14:03", "yesterday at 08:10", "on Friday 2 June at 09:00"."""
    local = view.zone.local(t)
    return f"{spoken_day(view, local.date())} at {local:%H:%M}"


def spoken_day(view: View, day: date) -> str:
    back = (view.zone.today - day).days
    if back in (0, 1):
        return ("today", "yesterday")[back]
    year = f" {day.year}" if day.year != view.zone.today.year else ""
    return f"on {day:%A} {day.day} {day:%B}{year}"


def spoken_days(days: Sequence[str]) -> str:
    """Say "2, 4 and 5 June": the newest eight days at most, the rest as a number."""
    shown = [date.fromisoformat(d) for d in days][-8:]
    texts = [f"{d.day} {d:%B}" for d in shown]
    listed = ", ".join(texts[:-1]) + " and " + texts[-1] if len(texts) > 1 else "".join(texts)
    return listed + (f", and {len(days) - len(shown)} days before" if len(days) > len(shown) else "")


def count_word(n: int) -> str:
    return {0: "not once", 1: "once", 2: "twice"}.get(n, f"{n} times")


def day_words(n: int) -> str:
    return {0: "less than a day ago", 1: "one day ago"}.get(n, f"{n} days ago")


def clock_of(minute: int) -> str:
    """Minutes after midnight as HH:MM."""
    return f"{minute // 60 % 24:02d}:{minute % 60:02d}"


_PAST = {
    "take": "took", "put": "put", "cut": "cut", "eat": "ate", "drink": "drank", "make": "made", "do": "did", "go": "went",
    "have": "had", "get": "got", "leave": "left", "see": "saw", "throw": "threw", "begin": "began", "say": "said",
    "shut": "shut", "set": "set", "read": "read", "sleep": "slept", "feed": "fed", "tell": "told", "hear": "heard", "find": "found", "keep": "kept", "bring": "brought", "lose": "lost",
    "feel": "felt", "think": "thought", "run": "ran", "write": "wrote", "drive": "drove", "speak": "spoke", "meet": "met",
    "wear": "wore", "sit": "sat", "stand": "stood", "pay": "paid", "send": "sent", "sing": "sang", "ride": "rode", "hang": "hung",
    "hold": "held", "come": "came", "break": "broke", "build": "built", "catch": "caught", "choose": "chose", "shake": "shook",
    "buy": "bought", "be": "were", "give": "gave",
}  # fmt: skip


_YOU = {"me": "you", "my": "your", "mine": "yours", "myself": "yourself", "i": "you", "i'm": "you're", "i've": "you've"}


def to_you(text: str) -> str:
    """The wearer's words said back: "take my coat with me" -> "take your coat with you"."""
    return re.sub(r"[A-Za-z']+", lambda m: _YOU.get(m.group(0).lower(), m.group(0)), text)


def sentence(text: str) -> str:
    """The same text with a capital first letter, the rest untouched."""
    return text[:1].upper() + text[1:]


def act_done(clause: Clause) -> str:
    """What a clause says as done: "wash, rinse or wipe the cup" -> "washed, rinsed or wiped the cup"."""
    if clause.quote:
        verb = re.sub(re.escape(clause.quote) + ".*|\\bthis\\b.*|:.*", "", clause.text).strip()
        return f'{done(verb) or "did"} "{clause.quote}"'
    parts = re.split(r"(, | or )", clause.text)
    return to_you(
        "".join(done(p) if p not in (", ", " or ") and i < 2 * len(clause.acts) - 1 else p for i, p in enumerate(parts))
    )


def done(text: str) -> str:
    """The first verb of a phrase in the past: "open the fridge" -> "opened the fridge"."""
    head, space, rest = text.partition(" ")
    bare = head.rstrip(",")
    low = bare.lower()
    if low in _PAST:
        past = _PAST[low]
    elif low in _PAST.values() or re.search(r"(ed|ing)$", low) or not low.isalpha():
        past = bare
    elif low.endswith("e"):
        past = bare + "d"
    elif re.search(r"[^aeiou]y$", low):
        past = bare[:-1] + "ied"
    elif re.fullmatch(r"[^aeiou]*[aeiou][bdgmnprt]", low):
        past = bare + low[-1] + "ed"
    else:
        past = bare + "ed"
    return past + head[len(bare) :] + space + rest
