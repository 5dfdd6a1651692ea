"""Find the session that a description means: the stretch whose items hold its words best."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence

from edge.agent.draft import Draft
from edge.agent.phrases import spoken_time
from edge.agent.question import Query
from edge.agent.view import View
from edge.retrieval import words
from edge.retrieval.evidence import Evidence
from storage.lookup import Stretch

K1, B = 4.0, 0.7  # a session is long: how often a word comes in it tells more than in a sentence
MEAL_BONUS = 1.5
MEALS = {  # the hours of a meal
    words.key(m): hours
    for m, hours in {"breakfast": (5, 11), "lunch": (11, 16), "dinner": (17, 23), "supper": (17, 23)}.items()
}
OCCURRENCES = 2500  # of each word
FEW_WINDOWS = 30_000  # up to here all stretches are weighed; beyond, those around the densest places
PLACES = 40
PLACE_US = 600_000_000


def session(view: View, q: Query) -> Draft | None:
    """BM25 of the description over stretches of recording; the best one's start."""
    text = q.clause.quote or q.clause.text
    asked = {words.key(w): w for w in words.tokens(words.same_phrases(text)) if w not in words.STOPWORDS}
    times = {key: _times(view, word, q) for key, word in asked.items()}
    runs = _runs(view, q, times)
    if not runs or not asked:
        return None
    scores = _scores(view, runs, times)
    if not any(scores):
        return None
    ranked = sorted(range(len(runs)), key=lambda i: (-scores[i], -runs[i].t_start))
    best = runs[ranked[0]]
    evidence = tuple(
        Evidence(
            "window",
            f"w{runs[i].first_window}",
            runs[i].t_start,
            min(runs[i].t_end, runs[i].t_start + 60_000_000),
            text[:80],
            round(scores[i], 3),
        )
        for i in ranked[:5]
        if scores[i] > 0
    )
    second = scores[ranked[1]] if len(ranked) > 1 else 0.0
    margin = scores[ranked[0]] / (scores[ranked[0]] + second)
    said = f"That session began {spoken_time(view, best.t_start)}."
    return Draft("time", view.zone.iso(best.t_start), said, evidence, round(min(0.95, margin), 3))


def _times(view: View, word: str, q: Query) -> list[int]:
    view.calls += 1
    return sorted(t for t, _, _ in view.snap.lookup.times_of(word, q.start, q.end, OCCURRENCES))


def _runs(view: View, q: Query, times: dict[str, list[int]]) -> list[Stretch]:
    """The stretches to weigh, in order."""
    if q.start is not None or view.snap.trace.count() <= FEW_WINDOWS:
        return view.snap.lookup.stretches(q.start, q.end)
    places: Counter[int] = Counter()
    for found in times.values():
        places.update({t // PLACE_US for t in found})
    runs: dict[int, Stretch] = {}
    for place, _ in sorted(places.items(), key=lambda p: (-p[1], -p[0]))[:PLACES]:
        at = place * PLACE_US
        if any(r.t_start <= at + PLACE_US and at < r.t_end for r in runs.values()):
            continue
        run = next((r for r in view.around(at) if r.t_start < at + PLACE_US and at < r.t_end), None)
        if run is not None:
            runs[run.t_start] = run
    return [runs[t] for t in sorted(runs)]


def _scores(view: View, runs: Sequence[Stretch], times: dict[str, list[int]]) -> list[float]:
    starts = [r.t_start for r in runs]
    sizes = [max(1.0, (r.t_end - r.t_start) / 30e6) for r in runs]
    mean = sum(sizes) / len(sizes)
    scores = [0.0] * len(runs)
    for key, found in times.items():
        counts: Counter[int] = Counter()
        for t in found:
            i = bisect_right(starts, t) - 1
            if i >= 0 and t <= runs[i].t_end:
                counts[i] += 1
        if key in MEALS:
            low, high = MEALS[key]
            for i, start in enumerate(starts):
                scores[i] += MEAL_BONUS * (low <= view.zone.local(start).hour < high)
        if not counts:
            continue
        rarity = math.log(1 + (len(runs) - len(counts) + 0.5) / (len(counts) + 0.5))
        for i, n in counts.items():
            scores[i] += rarity * n * (K1 + 1) / (n + K1 * (1 - B + B * sizes[i] / mean))
    return scores
