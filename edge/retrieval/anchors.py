"""Anchored time: "before the visitor came", "the third time I opened the fridge" (VAM, anchors).

An anchor is an occurrence of something, found by exact events, else by captions and speech, else by meaning; it gives a
stretch of time before or after it, at most seven days to each side.  Occurrences that belong together count once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from edge.retrieval import words
from edge.retrieval.evidence import Evidence, of_item, of_moment
from storage.lookup import all_words
from storage.records import Item, ItemKind, Us
from storage.search import Stratum
from storage.snapshot import Snapshot
from storage.vectors import Vector

Side: TypeAlias = Literal["before", "after", "around"]

DAY_US: Us = 86_400_000_000
REACH_US: Us = 7 * DAY_US  # to each side, at most
TOGETHER_US: Us = 60_000_000  # occurrences nearer than this are one
MOST = 100  # occurrences that are counted, and the highest ordinal

_KINDS: tuple[ItemKind, ...] = ("event", "caption", "speech", "text")
_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "last": -1, "latest": -1, "most recent": -1, "penultimate": -2,
}  # fmt: skip
_ORDINAL = re.compile(
    r"\b(?:the )?(?P<o>second[- ]to[- ]last|last but one|most recent|penultimate|" + "|".join(k for k in _ORDINALS if " " not in k)
    + r"|(?P<n>\d{1,3})(?:st|nd|rd|th))(?: time| occasion)?(?: that| when)?\b(?: (?:i|we)\b)?",
    re.IGNORECASE,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Anchor:
    """The occurrence chosen, which one it is of how many, and the stretch it opens."""

    evidence: Evidence
    number: int
    total: int
    start: Us
    end: Us
    rule: str = "occurrences within a minute of each other count once"


def ordinal(text: str) -> tuple[int, str]:
    """Which occurrence a phrase names (1 the first, -1 the last, 0 none named), and the phrase without it."""
    m = _ORDINAL.search(text)
    if m is None:
        return 0, " ".join(text.split())
    rest = " ".join((text[: m.start()] + " " + text[m.end() :]).split())
    if m.group("n"):
        return min(MOST, max(1, int(m.group("n")))), rest
    word = m.group("o").lower().replace("-", " ")
    return (-2 if word in ("second to last", "last but one") else _ORDINALS[word]), rest


def occurrences(
    snapshot: Snapshot, query: str, start: Us | None = None, end: Us | None = None, vector: Vector | None = None
) -> list[Evidence]:
    """When something happened, oldest first, each once; exact words before meaning."""
    acts = query.split(" ", 1)
    found: list[Item] = []
    if len(acts) == 2:
        act, thing = words.act(acts[0]), words.thing(acts[1])
        terms = [
            (a, o)
            for a in snapshot.lookup.actions()
            if words.act_grade(act, words.act(a)) >= 2
            for o in snapshot.lookup.objects(a)
            if words.thing_grade(thing, words.thing(o)) >= 2
        ]
        found = snapshot.lookup.events_of(terms, start, end) if terms else []
    if not found:
        asked = [w for w in words.tokens(words.same_phrases(query)) if w not in words.STOPWORDS]
        expression = all_words(asked)
        found = snapshot.lookup.matching(expression, _KINDS, start, end, 4 * MOST) if expression else []
    if found:
        return [of_item(i) for i in apart(sorted(found, key=lambda i: (i.t, i.id)))]
    stratum: Stratum = "moment"
    hits = snapshot.search(stratum, query, vector, k=10, start=start, end=end)
    moments = snapshot.moments.many([h.id for h in hits[:3]])
    return sorted((of_moment(m) for m in moments.values()), key=lambda e: e.t_start)


def apart(items: Sequence[Item], gap: Us = TOGETHER_US) -> list[Item]:
    """Items in time order without those that follow another within `gap`; what goes on and on is one occurrence."""
    kept: list[Item] = []
    last: Us | None = None
    for item in items:
        if last is None or item.t - last > gap:
            kept.append(item)
        last = item.t
    return kept


def anchored(
    snapshot: Snapshot, query: str, side: Side = "around", number: int = 0, *, reach: Us = 3_600_000_000,
    start: Us | None = None, end: Us | None = None, vector: Vector | None = None,
) -> Anchor | None:  # fmt: skip
    """The stretch before, after or around an occurrence: the number-th (negative: from the end; 0: the newest).

    `reach` is its length in microseconds, cut at seven days.  None when it did not occur so often.
    """
    every = occurrences(snapshot, query, start, end, vector)[-MOST:]
    if not every or abs(number) > len(every):
        return None
    place = number - 1 if number > 0 else len(every) + (number or -1)
    chosen = every[place]
    reach = max(1, min(reach, REACH_US))
    low = chosen.t_start - reach if side in ("before", "around") else chosen.t_end
    high = chosen.t_end + reach if side in ("after", "around") else chosen.t_start
    return Anchor(chosen, place + 1, len(every), low, high)
