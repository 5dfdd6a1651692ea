"""What was said or shown that bears on a question: ranked utterances, whom they are about, how much they cover.

A conversation answers across turns: a question asked by one is answered by the other's next words.  So an utterance
also earns a share of the score of the one just before it.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from edge.agent.scope import Scope
from edge.agent.view import SHORT_US, View
from edge.retrieval import words
from storage.records import Item, ItemKind

KINDS: tuple[ItemKind, ...] = ("speech", "caption")
TURN_US = 60_000_000  # turns further apart than this do not answer each other
CONTEXT = 0.3
SPEAKER_BONUS = 0.2
WIDEST = 600  # of a very common word only the newest occurrences are weighed


@dataclass(frozen=True, slots=True)
class Heard:
    """An utterance or caption with its score (1.0 = the best by words alone) and how much of the question it covers.

    `coverage` is the share of the question's words, weighed by rarity, found in it, in the turn before and the one after.
    """

    item: Item
    score: float
    coverage: float
    before: Item | None
    after: Item | None
    missing: tuple[str, ...]


def person_key(view: View, speaker: str) -> str:
    """One name for a person: the wearer's own utterances carry the owner's name."""
    low = speaker.lower()
    return (view.owner or "wearer").lower() if low in ("wearer", "i", "me", view.owner.lower()) else low


def people_in(view: View, text: str) -> list[str]:
    """The known people a question names, in order; "I" and "my" mean the wearer."""
    known = {person_key(view, s) for s in view.snap.lookup.speakers()} | ({view.owner.lower()} if view.owner else set())
    found: list[str] = []
    for token in re.findall(r"[^\W\d_]+", text):
        low = token.lower()
        name = (
            low
            if low in known and token[0].isupper()
            else person_key(view, "wearer")
            if low in ("i", "my", "me")
            else ""
        )
        if name and name not in found:
            found.append(name)
    return found


def about(view: View, item: Item) -> str:
    """Who an item comes from: its speaker, or the person a caption begins with."""
    if item.kind == "speech":
        return person_key(view, item.speaker)
    return person_key(view, (words.tokens(item.text) or [""])[0])


def rank(view: View, text: str, scope: Scope, people: Sequence[str], count: int = 10) -> list[Heard]:
    """The utterances and captions that bear most on a text, best first."""
    names = {words.key(p) for p in people} | {words.key(view.owner)} if view.owner else {words.key(p) for p in people}
    asked = [w for w in dict.fromkeys(words.tokens(words.same_phrases(text))) if w not in words.STOPWORDS]
    by_key = {words.key(w.removesuffix("'s")): w for w in asked if words.key(w.removesuffix("'s")) not in names}
    total = max(2, view.snap.lookup.size())
    weight: dict[str, float] = {}
    score: dict[int, float] = {}
    time: dict[int, int] = {}
    holds: dict[int, set[str]] = {}
    within = _within(view, scope)
    for key, word in by_key.items():
        if within is None:
            view.calls += 1
            found = view.snap.lookup.times_of(word.removesuffix("'s"), scope.start, scope.end, WIDEST)
            hits = [(t, item_id) for t, item_id, kind in found if kind in KINDS]
        else:
            hits = [(i.t, i.id) for i, held in within if key in held]
        weight[key] = math.log(1 + (total - len(hits) + 0.5) / (len(hits) + 0.5))
        for t, item_id in hits:
            score[item_id] = score.get(item_id, 0.0) + weight[key]
            time[item_id] = t
            holds.setdefault(item_id, set()).add(key)
    if not score:
        return []
    first = sorted(score, key=lambda i: (-score[i], i))[: 4 * count]
    return _with_context(view, first, score, holds, weight, people)[:count]


def _within(view: View, scope: Scope) -> list[tuple[Item, frozenset[str]]] | None:
    """All of a short stretch with the keys of its words: cheaper than to walk every word through a long memory."""
    if scope.start is None or scope.end is None or scope.end - scope.start > SHORT_US:
        return None
    view.calls += 1
    return [(i, frozenset(words.keys(i.text))) for i in view.snap.trace.items(KINDS, scope.start, scope.end)]


def _with_context(
    view: View, first: list[int], score: dict[int, float], holds: dict[int, set[str]], weight: dict[str, float], people: Sequence[str]
) -> list[Heard]:  # fmt: skip
    top = max(score.values())
    full = sum(weight.values()) or 1.0
    items = view.snap.trace.items_by_id(first)
    around: dict[int, Item] = {}
    for item in items.values():
        for other in view.snap.trace.items(KINDS, item.t - TURN_US // 2, item.t + TURN_US // 2):
            around[other.id] = other
    row = sorted(around.values(), key=lambda i: (i.t, i.id))
    times = [(i.t, i.id) for i in row]
    found: list[Heard] = []
    for item in row:
        at = bisect_left(times, (item.t, item.id))
        before = _turn(row, at, -1)
        after = _turn(row, at, +1)
        length = 0.6 + 0.4 * min(2.0, len(words.content(item.text)) / 18)
        own = score.get(item.id, 0.0) / top / length
        own += CONTEXT * (score.get(before.id, 0.0) / top if before else 0.0)
        own += CONTEXT / 2 * (score.get(after.id, 0.0) / top if after else 0.0)
        if len(people) == 1 and about(view, item) == people[0]:
            own += SPEAKER_BONUS
        keys = set().union(*(holds.get(i.id, set()) for i in (item, before, after) if i is not None))
        covered = sum(weight[k] for k in keys) / full
        found.append(Heard(item, own, covered, before, after, tuple(k for k in weight if k not in keys)))
    return sorted(found, key=lambda h: (-h.score, -h.item.t, h.item.id))


def _turn(row: list[Item], at: int, step: int) -> Item | None:
    """The neighbouring utterance within a turn's time."""
    i = at + step
    if 0 <= i < len(row) and abs(row[i].t - row[at].t) <= TURN_US:
        return row[i]
    return None
