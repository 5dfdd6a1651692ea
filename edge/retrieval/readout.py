"""The aligned readout (EM²Mem, section 3.3): windows as anchors, scored by what all the views of a moment say together.

A window's own text counts 1.00, the 3 min, 10 min and 1 h views it lies in 0.65, 0.45 and 0.30 (of short recordings 10 s,
30 s, 3 min and 10 min likewise, the finest 1.00); what is one edge away in the graph carries 0.60 of the score it is
reached from.  Five windows and eight facts are candidates; five anchors are selected by what kind of question it is, those
that say the very thing before those that are only near it, none that repeats another; each with up to three keyframes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from edge.retrieval import words
from edge.retrieval.evidence import Evidence, of_fact, of_keyframe, of_window
from storage.records import Us, Window
from storage.snapshot import Snapshot
from storage.vectors import Vector

Family: TypeAlias = Literal["owner", "source", "participants", "plan", "temporal", "habit", "attribute"]

WEIGHTS = (0.65, 0.45, 0.30)  # of the views above a window, finest first
EXPANSION = 0.60
EPISODIC, SEMANTIC, SELECTED, KEYFRAMES = 5, 8, 5, 3
DEPTH = 20  # hits read of each stratum
VIEWS = 8  # views read: each is opened to its windows
INSIDE = 3  # windows of one view that become candidates
ALIKE = 0.85  # F1 of content words from which two windows say the same

_FAMILIES: tuple[tuple[Family, str], ...] = (
    ("habit", r"\b(?:usually|normally|always|often|every (?:day|morning|evening|week)|habits?|routines?|prefer|favou?rite|like to|tend to|dislike)\b"),
    ("plan", r"\b(?:plan|planned|planning|going to|want(?:ed)? to|have to|need to|intend|decide[ds]?|promise[ds]?|should i|next step|will i|remind)\b"),
    ("source", r"\b(?:where .*\b(?:from|come|came|before)|from where|take[n]? (?:it |them )?from|originally)\b"),
    ("participants", r"\bwho (?:else )?(?:was|were|joined|helped|came|is) (?:with|there|in|at|part|along)|\bwith whom\b|\btogether with\b|\bwho (?:joined|helped)\b"),
    ("temporal", r"\b(?:when|what time|how long ago|last time|first time|before|after|since|until|latest|earliest)\b|\b(?:last|first)\b"),
    ("owner", r"\bwho(?:se)?\b"),
)  # fmt: skip
_COMMITS = re.compile(
    r"\b(?:will|going to|want to|have to|need to|must|let's|plan|decide|promise|remind|tomorrow|later)\b|'ll\b", re.I
)
_TAKES = frozenset(words.key(w) for w in "take get fetch pick grab bring remove buy receive".split())


@dataclass(frozen=True, slots=True)
class Anchor:
    """A window with what made it one: its score, the shares it is made of, the frames that show it."""

    evidence: Evidence
    score: float
    shares: tuple[tuple[str, float], ...]
    keyframes: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Readout:
    """The kind of question it was taken for, the anchors best first, and facts that bear on it."""

    family: Family
    anchors: tuple[Anchor, ...]
    facts: tuple[Evidence, ...]


def family_of(question: str) -> Family:
    """The kind of a question, by its own words."""
    low = question.lower()
    return next((family for family, pattern in _FAMILIES if re.search(pattern, low)), "attribute")


def readout(
    snapshot: Snapshot, query: str, vector: Vector | None = None, start: Us | None = None, end: Us | None = None
) -> Readout:
    """The evidence for a question, aligned over views, graph and facts."""
    family = family_of(query)
    shares: dict[int, dict[str, float]] = {}
    for rank, hit in enumerate(snapshot.search("window", query, vector, k=DEPTH, start=start, end=end)):
        shares.setdefault(hit.id, {})["window"] = _of_rank(rank)
    _views(snapshot, query, vector, start, end, shares)
    facts = _facts(snapshot, query, vector)
    best = sorted(shares, key=lambda w: (-sum(shares[w].values()), -w))[:EPISODIC]
    for seed in best:
        reached = snapshot.graph.around([seed], limit=DEPTH)
        total = max(reached.values(), default=1)
        for window, edges in reached.items():
            carried = EXPANSION * sum(v for k, v in shares[seed].items() if k != "graph") * edges / total
            mine = shares.setdefault(window, {})
            mine["graph"] = max(mine.get("graph", 0.0), carried)
    pool = sorted(shares, key=lambda w: (-sum(shares[w].values()), -w))[: 2 * EPISODIC + SEMANTIC]
    windows = {w.id: w for i in pool for w in snapshot.trace.span(i, i)}
    inside = [w for w in windows.values() if (start is None or w.t_end > start) and (end is None or w.t_start < end)]
    graded = [(_graded(family, query, w, sum(shares[w.id].values())), w) for w in inside]
    chosen = _apart(sorted(graded, key=lambda g: (-g[0], *_by_time(family, query, g[1]))))
    frames = {w.id: snapshot.trace.keyframes(w.t_start, w.t_end)[:KEYFRAMES] for _, w in chosen}
    anchors = tuple(
        Anchor(
            of_window(w, score), score, tuple(sorted(shares[w.id].items())), tuple(of_keyframe(k) for k in frames[w.id])
        )
        for score, w in chosen
    )
    return Readout(family, anchors, facts)


def _of_rank(rank: int) -> float:
    """1 for the first, falling as reciprocal ranks do."""
    return 61.0 / (61.0 + rank)


def _views(
    snapshot: Snapshot, query: str, vector: Vector | None, start: Us | None, end: Us | None, shares: dict[int, dict[str, float]]
) -> None:  # fmt: skip
    """What the views say goes down to their windows: to those that are candidates, and to those that share most words."""
    hits = snapshot.search("view", query, vector, k=VIEWS, start=start, end=end)
    found = snapshot.views.newest_of([h.id for h in hits])
    scales = sorted({v.scale_s for v in found.values()})
    asked = words.content(query)
    for rank, hit in enumerate(hits):
        view = found.get(hit.id)
        if view is None:
            continue
        weight = WEIGHTS[min(scales.index(view.scale_s), len(WEIGHTS) - 1)] * _of_rank(rank)
        windows = snapshot.trace.span(view.first_window, view.last_window)
        alike = sorted(windows, key=lambda w: (-words.overlap(asked, words.content(_text(w))), w.id))[:INSIDE]
        near = {w.id for w in alike if words.overlap(asked, words.content(_text(w))) > 0}
        for window in windows:
            if window.id in near or window.id in shares:
                mine = shares.setdefault(window.id, {})
                name = f"view {view.scale_s} s"
                mine[name] = max(mine.get(name, 0.0), weight)


def _facts(snapshot: Snapshot, query: str, vector: Vector | None) -> tuple[Evidence, ...]:
    hits = snapshot.search("fact", query, vector, k=4 * SEMANTIC)
    found = snapshot.facts.many([h.id for h in hits])
    active = [(found[h.id], h.score) for h in hits if h.id in found and found[h.id].state == "active"]
    return tuple(of_fact(fact, score) for fact, score in active[:SEMANTIC])


def _text(window: Window) -> str:
    acts = "; ".join(f"{e.action} {e.object}" for e in window.events)
    said = "; ".join(s.text for s in window.speech)
    return f"{window.description}; {acts}; {said}; {'; '.join(x.text for x in window.texts)}"


def _graded(family: Family, query: str, window: Window, score: float) -> float:
    """The score, raised where a window says the very thing that is asked for and not only something near it."""
    asked = words.content(query)
    grade = score + words.overlap(asked, words.content(_text(window)))
    doing = [e for e in window.events if words.overlap(asked, words.content(f"{e.action} {e.object}")) >= 0.4]
    if family in ("owner", "temporal") and doing:
        return grade + 1.0
    if family == "source" and any(words.key(e.action.split(" ")[0]) in _TAKES for e in doing):
        return grade + 1.0
    if family == "participants":
        return grade + 0.5 * min(
            2, len({s.speaker for s in window.speech} | {e.name for e in window.entities if e.name == "person"})
        )
    if family == "plan" and any(_COMMITS.search(s.text) for s in window.speech):
        return grade + 1.0
    if family == "attribute":
        told = [x.text for x in window.texts] + [s.text for s in window.speech]
        return grade + (0.5 if any(words.overlap(asked, words.content(t)) > 0 for t in told) else 0.0)
    return grade


def _by_time(family: Family, query: str, window: Window) -> tuple[Us, int]:
    """Of equals the newest; the oldest when the first is asked for."""
    first = family == "temporal" and re.search(r"\bfirst\b|\bearliest\b", query, re.I)
    return (window.t_start if first else -window.t_start), window.id


def _apart(graded: Iterable[tuple[float, Window]]) -> list[tuple[float, Window]]:
    kept: list[tuple[float, Window, tuple[str, ...]]] = []
    for score, window in graded:
        told = words.content(_text(window))
        if len(kept) < SELECTED and all(words.overlap(told, other) < ALIKE for _, _, other in kept):
            kept.append((score, window, told))
    return [(score, window) for score, window, _ in kept]
