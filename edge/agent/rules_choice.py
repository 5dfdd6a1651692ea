"""Choices scored by evidence, and questions about the steps and ingredients of a procedure."""

from __future__ import annotations

import re

from edge.agent import activities
from edge.agent.draft import Draft, proof
from edge.agent.phrases import sentence, spoken_time
from edge.agent.question import Query
from edge.agent.rules_life import day
from edge.agent.scope import Scope
from edge.agent.view import View, label_of
from edge.retrieval import timephrase, words
from storage.lookup import all_words
from storage.records import Item

SECOND = 1_000_000
LONG = 900 * SECOND  # a longer stretch is told by its episodes
LOOK_BACK = 6 * 3_600 * SECOND  # an activity that began longer ago is not the one in force
_AMOUNT = re.compile(
    r"\b(\d+(?:[.,]\d+)?) ?(g|kg|mg|ml|l|cl|oz|lb|grams?|cups?|tbsp|tsp|tablespoons?|teaspoons?)\b", re.IGNORECASE
)


def during(view: View, q: Query) -> Draft | None:
    """What the wearer did in a stretch of time, or while doing something else."""
    step = _step_of(q.clause.text)
    if step:
        return _while(view, q, step)
    scope = view.scope(q)
    if not scope.named:
        return None
    low, high = _widened(q, scope)
    point = next((s for s in q.spans if s.kind == "point"), None) if q.recording is None else None
    items = view.snap.trace.items(("event", "caption"), low, high, 400)
    view.calls += 1
    if q.choices:
        return _best_choice(q, items, view)
    if not items or (point is not None and not q.choices and all(i.kind == "event" for i in items)):
        under_way = activities.at(view, point.start) if point is not None else []
        if under_way:
            names = list(dict.fromkeys(w.begin.object for w in under_way))
            said = f"{sentence(' and '.join(names[:3]))}, since {spoken_time(view, under_way[0].begin.t)}."
            return Draft("text", names[0], said, proof([w.begin for w in under_way]), 0.8)
    if not items:
        return Draft("text", None, "I don't know: nothing was recorded then.", confidence=0.4)
    if (low is None or high is None or high - low > LONG) and (told := day(view, q)) is not None:
        return told
    texts = list(dict.fromkeys(_clean(i) for i in items if i.kind == "caption")) or list(
        dict.fromkeys(i.text for i in items)
    )
    said = "; ".join(texts[:6]) + ("; and more." if len(texts) > 6 else ".")
    return Draft("text", "; ".join(texts[:12]), said, proof(items[:5]), 0.8)


def _widened(q: Query, scope: Scope) -> tuple[int | None, int | None]:
    if q.recording is None and len(q.spans) == 1 and q.spans[0].kind == "point":
        return q.spans[0].start - 10 * SECOND, q.spans[0].end + 10 * SECOND
    low = None if scope.start is None else scope.start - SECOND
    return low, None if scope.end is None else scope.end + SECOND


_STEP = re.compile(
    r"\b(?:while|when|as) (?:i was )?(?:completing|doing|performing|carrying out|i did|working on)? ?(?:the )?(?:recipe )?(?:step )?(?P<s>.+)",
    re.I,
)


def _step_of(text: str) -> str:
    m = _STEP.search(text)
    return m.group("s").strip() if m else ""


def _while(view: View, q: Query, step: str) -> Draft | None:
    """The activity in force at the times of a step."""
    scope = view.scope(q)
    times = [i for i in _steps(view, step, scope) if not _prepares(i)] or _steps(view, step, scope)
    if not times:
        return None
    grades: dict[str, tuple[float, Item]] = {}
    starting = [a for a in view.actions() if words.key(a.split(" ")[0]) == "start"]
    for at in times:
        low = max(scope.start or 0, at.t - LOOK_BACK)
        begun = [i for a in starting for i in view.snap.trace.events(a, low, at.t + 15 * SECOND)]
        activities = sorted(begun, key=lambda i: (i.t, i.id))[-3:]
        for age, activity in enumerate(activities[::-1]):
            if not q.choices:
                return Draft(
                    "text", activity.object, f"You were at this: {activity.object}.", proof([at, activity]), 0.8
                )
            for choice in q.choices:
                grade = words.overlap(words.content(choice), words.content(activity.object)) * (1 - 0.1 * age)
                if activity.t > at.t:
                    grade *= 0.95
                if grade > grades.get(choice, (0.0, at))[0]:
                    grades[choice] = (grade, at)
    if not grades:
        return None
    value = max(grades, key=lambda c: grades[c][0])
    at = grades[value][1]
    return Draft(
        "choice", value, f"{value}, {spoken_time(view, at.t)}.", proof([at, *times[:4]]), min(0.95, grades[value][0])
    )


def _best_choice(q: Query, items: list[Item], view: View) -> Draft | None:
    """The choice that the items in a stretch speak of most."""
    adding = bool(re.search(r"\badd(?:ed|ing)?\b|\bput in\b|\bused\b", q.text, re.IGNORECASE))
    starts = [s.start for s in q.spans if s.kind == "range"]
    best: tuple[float, str, Item] | None = None
    for choice in q.choices:
        for item in items:
            grade = _speaks_of(choice, item)
            if adding and words.key((item.action or item.text).split(" ")[0]) == "ad":
                grade *= 1.5
            if _prepares(item):
                grade *= 0.7
            if starts and min(abs(item.t - s) for s in starts) <= 1_500_000:
                grade *= 1.3  # what begins where the stretch begins is what the stretch was named for
            if grade and (best is None or grade > best[0]):
                best = (grade, choice, item)
    if best is None:
        return None
    _, value, item = best
    return Draft("choice", value, f"{value}, {spoken_time(view, item.t)}.", proof([item]), min(0.95, best[0]))


def _speaks_of(choice: str, item: Item) -> float:
    """How much an item is what a choice says: F1 of content words, the item's label aside."""
    text = words.content(_clean(item))
    asked = words.content(choice)
    return max(
        words.overlap(asked, text), words.overlap(asked, words.content(item.object)) if item.kind == "event" else 0.0
    )


def _clean(item: Item) -> str:
    return re.sub(r" \([^)]*\)$", "", label_of(item.text)[1]) if item.kind == "caption" else item.text


def _prepares(item: Item) -> bool:
    return words.key((item.action or item.text).split(" ")[0]) in (words.key("prepare"), words.key("preparing"))


# -- steps of a procedure ----------------------------------------------------------------------------------------

_OF = re.compile(
    r"^(?P<recipe>.+?) recipe step (?P<step>.+)$|^(?P<step2>.+?),? (?:from|of|in) (?:the )?recipe (?P<recipe2>.+)$|^(?P<step3>.+?) (?:added|put) (?:to|into) (?:the )?(?:recipe )?(?P<recipe3>.+)$",
    re.IGNORECASE | re.DOTALL,
)


def _split(text: str) -> tuple[str, str]:
    m = _OF.match(text)
    if m is None:
        return text, ""
    g = m.groupdict()
    return (g["step"] or g["step2"] or g["step3"] or "").strip(), (
        g["recipe"] or g["recipe2"] or g["recipe3"] or ""
    ).strip(" ?.")


def _steps(view: View, step: str, scope: Scope) -> list[Item]:
    """Items that carry a step's words, in time order."""
    exact = view.named(step, scope.start, scope.end, kinds=("event", "caption"))
    if exact:
        return exact
    graded = view.alike(step, scope, ("event", "caption"), least=0.6)
    return sorted((i for g, i in graded if g >= graded[0][0] - 0.05), key=lambda i: i.t) if graded else []


def step_when(view: View, q: Query) -> Draft | None:
    """When a step was done, prepared, or an ingredient added; time choices are scored by what begins in them."""
    text = q.clause.quote or q.clause.text
    step, recipe = _split(text)
    scope = view.scope(q)
    adding = " added " in q.text or " put " in q.text
    items = _added(view, step, recipe, scope) if adding else _steps(view, step, scope)
    wants_prep = bool(q.unit)
    if not adding:
        items = [i for i in items if _prepares(i) == wants_prep] or items
    if not items:
        return None
    if not q.choices:
        item = items[-1] if q.ordinal != "first" else items[0]
        return Draft("time", view.zone.iso(item.t), f"{sentence(spoken_time(view, item.t))}.", proof([item]), 0.85)
    return _time_choice(view, q, items)


def _added(view: View, ingredient: str, recipe: str, scope: Scope) -> list[Item]:
    words_of = [w for w in words.tokens(ingredient) if w not in words.STOPWORDS]
    found = view.snap.lookup.matching(all_words(words_of), ("caption", "event"), scope.start, scope.end)
    view.calls += 1
    adding = [i for i in found if words.key((i.action or i.text).split(" ")[0]) == "ad"]
    named = [i for i in adding if recipe and set(words.content(recipe)) <= set(words.content(i.text))]
    exact = [i for i in named if words.plain(ingredient) in words.plain(i.text)]
    return sorted(exact or named or adding or found, key=lambda i: i.t)


def ranges_of(view: View, choice: str) -> list[tuple[int, int]]:
    """The stretches of time a choice names, in order."""
    found = timephrase.extract("from " + re.sub(r"^from ", "", choice, flags=re.IGNORECASE), view.zone).spans
    pieces = re.split(r"(?<=\d{4}),\s*", choice)
    if len(pieces) > 1:
        spans = [
            timephrase.extract("from " + re.sub(r"^from ", "", p.strip(), flags=re.IGNORECASE), view.zone).spans
            for p in pieces
        ]
        return [(s.start, s.end) for group in spans for s in group]
    return [(s.start, s.end) for s in found]


def _time_choice(view: View, q: Query, items: list[Item]) -> Draft | None:
    best: tuple[float, str, Item] | None = None
    for choice in q.choices:
        ranges = ranges_of(view, choice)
        if not ranges:
            continue
        nearest = [min(items, key=lambda i: abs(i.t - start)) for start, _ in ranges]
        gaps = [abs(n.t - start) / SECOND for n, (start, _) in zip(nearest, ranges, strict=True)]
        score = sum(1 / (1 + g) for g in gaps) / max(len(ranges), 1)
        if best is None or score > best[0]:
            best = (score, choice, nearest[0])
    if best is None:
        return None
    score, value, item = best
    return Draft("choice", value, f"{sentence(spoken_time(view, item.t))}.", proof([item]), min(0.95, score))


# -- ingredients ---------------------------------------------------------------------------------------------------


def part_of(view: View, q: Query) -> Draft | None:
    """Which of the choices was (not) used in something made: the one whose use the memory shows (does not show)."""
    recipe = q.clause.quote or q.clause.text
    graded: dict[str, tuple[float, list[Item]]] = {}
    for choice in q.choices:
        graded[choice] = _used(view, choice, recipe, Scope(q.start, q.end))
    if not graded:
        return None
    pick = min if q.negated else max
    value = pick(graded, key=lambda c: graded[c][0])
    items = graded[value][1] or [i for _, found in graded.values() for i in found[:1]]
    said = f"{sentence(value)} was {'not ' if q.negated else ''}used in {recipe}, as far as I saw."
    return Draft("choice", value, said, proof(items[:5]), 0.85)


def _used(view: View, thing: str, recipe: str, scope: Scope) -> tuple[float, list[Item]]:
    view.calls += 1
    of = set(words.content(recipe))
    asked = words.content(thing)
    everything = all_words([*words.tokens(thing), *(w for w in words.tokens(recipe) if w not in words.STOPWORDS)])
    found = view.snap.lookup.matching(everything, ("caption", "event"), scope.start, scope.end, 200)
    best = 0.0
    proofs: list[Item] = []
    for item in found:
        adds = words.key((item.action or item.text).split(" ")[0]) in ("ad", "weigh", "pour", "mix")
        tail = re.search(r"\(([^)]*(?:\([^)]*\))?[^)]*)\)$", item.text)
        there = set(words.content(tail.group(1))) if tail else set(words.content(item.text))
        share = len(of & there) / len(of) if of else 0.0
        exact = words.overlap(asked, words.content(_clean(item)))
        grade = (1.0 if adds and tail else 0.4) * share * (0.5 + 0.5 * exact)
        if grade > best:
            best, proofs = grade, [item, *proofs]
    return best, proofs[:3]


def amount(view: View, q: Query) -> Draft | None:
    """How much of something: the amounts said in captions at that time, or summed over what it went into."""
    thing = next((c.text for c in q.clauses if c.text), "")
    into = q.clauses[1].text if len(q.clauses) > 1 and q.clauses[0].text else ""
    point = next((s for s in q.spans if s.kind == "point"), None)
    scope = Scope(point.start - 30 * SECOND, point.end + 30 * SECOND) if point else view.scope(q)
    tokens = [w for w in words.tokens(thing) if w not in words.STOPWORDS]
    found = view.snap.lookup.matching(all_words(tokens), ("caption",), scope.start, scope.end)
    view.calls += 1
    stated = [(m, i) for i in found if (m := _AMOUNT.search(i.text))]
    if into:
        of = set(words.content(into))
        stated = [s for s in stated if of <= set(words.content(s[1].text))] or stated
    if not stated:
        return None
    if point is not None:
        stated.sort(key=lambda s: abs(s[1].t - point.start))
    asked = words.content(thing)
    exact = [
        s
        for s in stated
        if set(words.content(_clean(s[1]))) - {s[0].group(1), s[0].group(2), "weigh"} <= set(asked) | {"weigh"}
    ]
    stated = exact or stated
    texts = [f"{m.group(1)} {m.group(2)}" for m, _ in stated]
    value, item = texts[0], stated[0][1]
    total = sum(float(m.group(1).replace(",", ".")) for m, _ in stated)
    options = texts if point else [f"{total:g} {stated[0][0].group(2)}", *texts]
    if q.choices:
        near = [(o, c) for o in options for c in q.choices if words.plain(o) == words.plain(c)]
        if near:
            value = near[0][1]
            item = next((i for m, i in stated if f"{m.group(1)} {m.group(2)}" == near[0][0]), item)
        else:
            wanted = float(re.sub(r"[^\d.]", "", options[0]) or 0)
            value = min(q.choices, key=lambda c: abs(float(re.sub(r"[^\d.]", "", c) or 0) - wanted))
    elif not point and len(stated) > 1:
        value = options[0]
    return Draft(
        "choice" if q.choices else "text",
        value,
        f"{value} of {thing}, {spoken_time(view, item.t)}.",
        proof([item, *(i for _, i in stated)][:5]),
        0.9,
    )


# -- what went wrong, and any other choice ---------------------------------------------------------------------------


def wrong(view: View, q: Query) -> Draft | None:
    """What went wrong at a step: how it was done as against how it is usually said, else the choice nearest to it."""
    scope = view.scope(q)
    step = q.clause.quote or q.clause.text
    items = _steps(view, step, scope)
    if not q.choices:
        if not items:
            return None
        slips = [
            i
            for i in items
            if re.search(r"\b(?:instead of|without|not|forgot|drop|spill|wrong|improper\w*|too)\b|\(", i.text, re.I)
        ]
        if not slips:
            return Draft("text", None, "I don't know: I noticed nothing wrong there.", proof(items[:3]), 0.3)
        return Draft("text", slips[0].text, f"As it was done: {slips[0].text}.", proof(slips[:5]), 0.6)
    around = items[:1]
    asked = set(words.content(step))
    value = max(q.choices, key=lambda c: _fits(c, step, asked))
    return Draft("choice", value, f"{value}.", proof(around), 0.7)


_NUMBER = re.compile(r"\d+(?:[./]\d+)?")


def _fits(choice: str, step: str, asked: set[str]) -> float:
    """How well an error belongs to a step: shared things and numbers, weighed by the error's length."""
    done, instead, due = choice.partition("instead of")
    if instead:  # "X instead of Y": the step asks for Y and not for X
        wanted = words.content(re.split(r" (?:to|in|on|into|from|for|of|with|while|at) ", due)[0])
        met = sum(1 for w in wanted if w in asked) / (len(wanted) or 1)
        odd = set(words.content(done)) - set(wanted)
        return (
            0.8 * met
            - 0.5 * len(odd & asked) / (len(odd) or 1) * (met < 1)
            + _shared(words.content(choice), choice, step, asked)
        )
    return _shared(words.content(choice), choice, step, asked)


def _shared(content: tuple[str, ...], choice: str, step: str, asked: set[str]) -> float:
    shared = sum(1 for w in content if w in asked)
    numbers = sum(1 for n in _NUMBER.findall(choice) if n in _NUMBER.findall(step))
    return (shared + 0.5 * numbers) / (len(content) ** 0.5 or 1)


def which(view: View, q: Query) -> Draft | None:
    """Any question with choices: the choice the memory speaks of most within the scope."""
    if not q.choices:
        return None
    scope = view.scope(q)
    if any(ranges_of(view, c) for c in q.choices):
        items = _steps(view, q.clause.quote or q.clause.text, scope)
        if items:
            return _time_choice(view, q, items)
    if scope.named and scope.start is not None and scope.end is not None and scope.end - scope.start < 600 * SECOND:
        low, high = _widened(q, scope)
        found = view.snap.trace.items(("event", "caption"), low, high, 600)
        draft = _best_choice(q, found, view)
        if draft is not None:
            return draft
    best: tuple[float, str, list[Item]] | None = None
    for choice in q.choices:
        grade, items = _present(view, choice, scope)
        if best is None or grade > best[0]:
            best = (grade, choice, items)
    if best is None or best[0] <= 0:
        return None
    return Draft("choice", best[1], f"{best[1]}.", proof(best[2][:5]), min(0.95, best[0]))


def _present(view: View, choice: str, scope: Scope) -> tuple[float, list[Item]]:
    """How present a choice ("A and B") is: the mean over its parts of the best item for each."""
    parts = [choice] if view.named(choice, scope.start, scope.end, limit=1) else re.split(r",? and |, ", choice)
    total, items = 0.0, []
    for part in parts:
        exact = view.named(part, scope.start, scope.end, limit=1)
        if exact:
            total += 1.0
            items.append(exact[0])
            continue
        alike = view.alike(part, scope, least=0.2, limit=200)
        if alike:
            total += 0.9 * alike[0][0]
            items.append(alike[0][1])
    return total / len(parts), items
