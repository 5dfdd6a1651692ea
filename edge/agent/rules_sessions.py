"""Find the session that a description means: the stretch whose items hold its words best."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter

from edge.agent.draft import Draft
from edge.agent.phrases import spoken_time
from edge.agent.question import Query
from edge.agent.view import View
from edge.retrieval import words
from edge.retrieval.evidence import Evidence

K1, B = 4.0, 0.7  # a session is long: how often a word comes in it tells more than in a sentence
MEAL_BONUS = 1.5
_MEALS = {
    words.key(m): hours
    for m, hours in {"breakfast": (5, 11), "lunch": (11, 16), "dinner": (17, 23), "supper": (17, 23)}.items()
}


def session(view: View, q: Query) -> Draft | None:
    """BM25 of the description over stretches (cut also where a new task begins); the best one's start."""
    text = q.clause.quote or q.clause.text
    asked = [w for w in dict.fromkeys(words.tokens(words.same_phrases(text))) if w not in words.STOPWORDS]
    low, high = q.start, q.end
    runs = view.snap.lookup.stretches(low, high)
    if not runs or not asked:
        return None
    starts = [r.t_start for r in runs]
    sizes = [max(1.0, (r.t_end - r.t_start) / 30e6) for r in runs]
    mean = sum(sizes) / len(sizes)
    scores = [0.0] * len(runs)
    first: dict[int, list[int]] = {}
    seen_keys: set[str] = set()
    for word in asked:
        if words.key(word) in seen_keys:
            continue
        seen_keys.add(words.key(word))
        view.calls += 1
        counts: Counter[int] = Counter()
        for t, _, _ in view.snap.lookup.times_of(word, low, high):
            i = bisect_right(starts, t) - 1
            if i >= 0:
                counts[i] += 1
                first.setdefault(i, []).append(t)
        if not counts:
            continue
        idf = math.log(1 + (len(runs) - len(counts) + 0.5) / (len(counts) + 0.5))
        for i, n in counts.items():
            scores[i] += idf * n * (K1 + 1) / (n + K1 * (1 - B + B * sizes[i] / mean))
    for meal in {words.key(w) for w in asked} & set(_MEALS):
        low_h, high_h = _MEALS[meal]
        for i, t in enumerate(starts):
            if low_h <= view.zone.local(t).hour < high_h:
                scores[i] += MEAL_BONUS
    if not any(scores):
        return None
    ranked = sorted(range(len(runs)), key=lambda i: (-scores[i], -starts[i]))
    best = ranked[0]
    evidence = tuple(
        Evidence("window", f"w{runs[i].first_window}", runs[i].t_start, min(runs[i].t_end, runs[i].t_start + 60_000_000), text[:80])
        for i in ranked[:5] if scores[i] > 0
    )  # fmt: skip
    margin = scores[best] / (scores[best] + (scores[ranked[1]] if len(ranked) > 1 else 0.0))
    said = f"That session began {spoken_time(view, starts[best])}."
    return Draft("time", view.zone.iso(starts[best]), said, evidence, round(min(0.95, margin), 3))
