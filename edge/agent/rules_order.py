"""Order: what came before or after, which came first, what usually follows."""

from __future__ import annotations

import re
from collections import Counter

from edge.agent import activities
from edge.agent.draft import Draft, proof
from edge.agent.phrases import act_done, spoken_time
from edge.agent.question import Clause, Query, verbs_of
from edge.agent.scope import Scope
from edge.agent.view import View, label_of
from edge.retrieval import words
from storage.records import Item, ItemKind

_SKIPPED = frozenset(words.key(w) for w in "finished finish ends end begins begin starts".split())
NEAR = 40  # how many neighbours are looked at
LATELY = 200  # times of late that tell what usually follows
REACHES = (86_400_000_000, 8 * 86_400_000_000, None)  # how far for them, in microseconds


def after(view: View, q: Query) -> Draft | None:
    """What the wearer did right after."""
    return _beside(view, q, forward=True)


def before(view: View, q: Query) -> Draft | None:
    """What the wearer did just before."""
    return _beside(view, q, forward=False)


def _beside(view: View, q: Query, *, forward: bool) -> Draft | None:
    scope = view.scope(q)
    named = _activities(view, q, scope)
    anchors = named or _anchors(view, q.clause, scope)
    same = {i.object for i in named}
    if not anchors:
        return None
    best: tuple[float, Item, Item, str] | None = None
    for anchor in anchors[-6:][::-1]:
        beside = [i for i in _neighbours(view, anchor, scope, forward) if not named or i.object not in same]
        for rank, item in enumerate(beside):
            if not q.choices:
                best = best or (1.0, anchor, item, _shown(item))
                break
            grade, choice = max(((_same(c, item), c) for c in q.choices), key=lambda g: g[0])
            score = grade - 0.02 * rank
            if grade >= 0.5 and (best is None or score > best[0]):
                best = (score, anchor, item, choice)
    if best is None:
        return None
    _, anchor, item, value = best
    word = "after" if forward else "before"
    said = f"Right {word} that, {spoken_time(view, item.t)}: {value}."
    return Draft("text", value, said, proof([item, anchor]), 0.9 if len(anchors) == 1 else 0.7)


def _anchors(view: View, clause: Clause, scope: Scope) -> list[Item]:
    """The items a before/after question hangs on; a beginning wins over an end of the same name."""
    if clause.quote:
        exact = view.named(clause.quote, scope.start, scope.end)
        exact = [
            i for i in exact if words.key(words.tokens(i.action or i.text)[0]) not in _SKIPPED - {"start", "begin"}
        ] or exact
        starts = [i for i in exact if i.kind == "event" and words.plain(i.object) == words.plain(clause.quote)]
        captions = [i for i in exact if i.kind == "caption" and i.text.lower() == clause.quote.lower()]
        captions = captions or [
            i for i in exact if i.kind == "caption" and words.plain(i.text) == words.plain(clause.quote)
        ]
        return captions or starts or exact or [i for _, i in view.alike(clause.quote, scope, least=0.75)[:1]]
    return view.occurrences(clause, scope)


_OF_KIND = re.compile(r"^(?:what|which)(?: was the| is the)?(?: last| next| previous)? (?:task|recipe|activity|meal|dish|job|session)s?\b|\bi (?:make|cook|prepare)\b", re.I)  # fmt: skip


def _activities(view: View, q: Query, scope: Scope) -> list[Item]:
    """The activities of that name, where it is an activity that is asked for: its neighbours are others."""
    text = re.sub(r"^(?:the|my|our|a|an|i|we) ", "", q.clause.text, flags=re.IGNORECASE)
    if q.clause.quote or not text or not _OF_KIND.search(q.text):
        return []
    acts, thing = verbs_of(text)
    for clause in (Clause(acts, thing, "", text), Clause(((words.key("do"), ""),), text, "", text)):
        if (which := activities.meant(view, clause)) is not None:
            return activities.occurrences(view, which, scope)
    return []


def _neighbours(view: View, anchor: Item, scope: Scope, forward: bool) -> list[Item]:
    """What lies next to an item: other activities for an activity, captions for a caption, events for an event."""
    if anchor.kind == "event" and words.key(anchor.action.split(" ")[0]) == "start":
        found: list[Item] = []
        for reach in REACHES:  # most often the next one is near: a long memory is not read to its end for it
            low, high = (anchor.t, scope.end) if forward else (scope.start, anchor.t + 1)
            if reach is not None and forward:
                high = anchor.t + reach if high is None else min(high, anchor.t + reach)
            elif reach is not None:
                low = anchor.t - reach if low is None else max(low, anchor.t - reach)
            found = [i for i in view.snap.trace.events(anchor.action, low, high) if i.id != anchor.id]
            found = [i for i in found if (i.t, i.id) > (anchor.t, anchor.id)] if forward else found[::-1]
            if len(found) >= NEAR:
                break
        return found[:NEAR]
    kinds: tuple[ItemKind, ...] = (anchor.kind,)
    earlier, later = view.snap.trace.neighbours(anchor, kinds, NEAR)
    row = later if forward else earlier[::-1]
    inside = [i for i in row if (scope.start is None or i.t >= scope.start) and (scope.end is None or i.t < scope.end)]
    return [i for i in inside if not _is_mark(i)]


def _is_mark(item: Item) -> bool:
    label = label_of(item.text)[0]
    return item.kind == "caption" and bool(label) and words.key(label.split(" ")[0]) in _SKIPPED


def _shown(item: Item) -> str:
    if item.kind == "event" and words.key(item.action.split(" ")[0]) == "start":
        return item.object
    mine = item.kind == "event" and item.subject.lower() in ("wearer", "i", "me")
    return f"{item.action} {item.object}".strip() if mine else item.text


def _same(choice: str, item: Item) -> float:
    plain = words.plain(choice)
    if plain in (words.plain(item.text), words.plain(_shown(item))):
        return 1.0
    return 0.95 * words.overlap(words.content(choice), words.content(_shown(item)))


def order(view: View, q: Query) -> Draft | None:
    """Which of two came first."""
    scope = view.scope(q)
    firsts = [_first(view, c, scope) for c in q.clauses]
    labels = _labels(q)
    known = [(item.t, i, item) for i, item in enumerate(firsts) if item is not None]
    if not known:
        return None
    _, index, item = min(known, key=lambda k: k[:2])
    items = [i for _, _, i in sorted(known, key=lambda k: k[:2])]
    said = f"First: {labels[index]}, {spoken_time(view, item.t)}."
    return Draft("text", labels[index], said, proof(items), 0.95 if len(known) == 2 else 0.6)


def _labels(q: Query) -> list[str]:
    labels = [c.quote or c.text for c in q.clauses]
    if len(q.choices) == len(labels):
        return [max(q.choices, key=lambda c: words.overlap(words.content(c), words.content(text))) for text in labels]
    return labels


def _first(view: View, clause: Clause, scope: Scope) -> Item | None:
    found = view.occurrences(clause, scope)
    if not found:
        graded = view.alike(clause.quote or clause.text, scope, ("caption", "event"), least=0.6)
        found = sorted((i for g, i in graded if g >= graded[0][0] - 0.01), key=lambda i: i.t)
    return found[0] if found else None


def before_than(view: View, q: Query) -> Draft | None:
    """Did I do A before (after) B?"""
    scope = view.scope(q)
    a, b = (_first(view, c, scope) for c in q.clauses)
    if a is None and b is None:
        return None
    if a is None or b is None:
        missing = q.clauses[0 if a is None else 1]
        seen = a or b
        value = "no" if a is None else "yes"
        return Draft(
            "yes_no", value, f"I have no record that you {act_done(missing)}.", proof([seen] if seen else []), 0.5
        )
    yes = a.t < b.t if q.ordinal != "after" else a.t > b.t
    said = f"{'Yes' if yes else 'No'}: {q.clauses[0].text} {spoken_time(view, a.t)}, {q.clauses[1].text} {spoken_time(view, b.t)}."
    return Draft("yes_no", "yes" if yes else "no", said, proof([a, b]), 0.9)


def usual_next(view: View, q: Query, within_us: int = 7_200_000_000) -> Draft | None:
    """The activity that most often follows another within two hours, of late where it happened very often."""
    scope = view.scope(q)
    anchors = view.occurrences(q.clause, scope, None if scope.named else 4 * LATELY)
    if not anchors:
        return None
    followers: Counter[str] = Counter()
    where: dict[str, list[Item]] = {}
    for anchor in anchors[-LATELY:]:
        following = view.snap.trace.following(anchor, within_us + 1)
        if following is not None and words.plain(following.object) != words.plain(anchor.object):
            followers[following.object] += 1
            where.setdefault(following.object, []).append(anchor)
    if not followers:
        return Draft("text", None, "I don't know: nothing regular follows it.", proof(anchors[-5:]), 0.3)
    value, n = min(followers.items(), key=lambda f: (-f[1], f[0]))
    of = "the last " if len(anchors) > LATELY else ""
    said = f"Most often {value}: {n} of {of}{sum(followers.values())} times."
    return Draft("text", value, said, proof(where[value][-5:]), 0.9 if n > 2 else 0.6)
