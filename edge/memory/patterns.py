"""Patterns by rules: match a closed episode, absorb it or open a new one (GROVE eq. 5-6, bounded consolidation).

Candidates come pre-ranked by hybrid search and are judged in batches of ten; the first yes absorbs.  Re-synthesis reads
the five newest episodes in full and older ones as one subject line each; roles, weights and coherence are re-estimated
every three updates.  A thread is the same job taken up again on a day; a routine recurs on other days.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median
from typing import TypeAlias

import numpy as np

from edge.clock import US, local, local_day
from edge.config import Memory
from edge.memory.text import content, listed, sentence
from storage import Snapshot, Transaction
from storage.errors import NotFound
from storage.records import Edge, Episode, Hit, Pattern, PatternKind
from storage.vectors import Vector

Embed: TypeAlias = Callable[[list[str]], Vector]  # n texts -> (n, dim)

MATCH = 0.35  # likeness from which an episode belongs to a pattern
BATCHES = 3  # how many batches of candidates are judged at most: cost is bounded however many patterns exist
CORE_SHARE = 0.8  # members at least this close to the best one are core


def text_of(episode: Episode) -> str:
    """What an episode is matched and embedded by."""
    return f"{episode.subject}. {', '.join(episode.keywords[:12])}"


def absorb(
    tx: Transaction, snapshot: Snapshot, episode: Episode, vector: Vector, embed: Embed, memory: Memory
) -> tuple[Pattern, bool]:
    """Put a closed, stored episode into the pattern that accepts it, or into a new one.

    Returns the pattern as stored and whether it is new.
    """
    found = _match(snapshot, episode, vector, memory)
    if found is None:
        return open_with(tx, snapshot, episode, vector), True
    if not tx.patterns.later(found.id, episode.known):
        return join(tx, snapshot, found, episode, embed, memory), False
    _, after = tx.patterns.unwind(found.id, episode.known)  # of a recording older than others in the memory
    joined = join(tx, snapshot, found, episode, embed, memory)
    rejoin(tx, found.id, after, embed, memory)
    return joined, False


def rejoin(tx: Transaction, pattern_id: int, members: Sequence[tuple[int, int]], embed: Embed, memory: Memory) -> None:
    """Let episodes join their pattern again, each at the time it had: as if they came after what is there now."""
    for episode_id, known in members:
        snapshot = tx.snapshot(known)
        episode = snapshot.episodes.get(episode_id)
        try:
            found = snapshot.patterns.get(pattern_id)
        except NotFound:  # nothing was left of it
            own = snapshot.episodes.vectors([episode_id])
            tx.patterns.reopen(pattern_id, known)
            open_with(tx, snapshot, episode, own.get(episode_id, embed([text_of(episode)])[0]), pattern_id)
            continue
        join(tx, snapshot, found, episode, embed, memory)


def open_with(tx: Transaction, snapshot: Snapshot, episode: Episode, vector: Vector, pattern_id: int = 0) -> Pattern:
    """Open a pattern with one episode: a new one, or the one of that id, which has no version any more."""
    opened = replace(_synthesise([episode], 1.0, episode.known, "thread"), id=pattern_id)
    pattern_id = tx.patterns.put(opened, vector)
    tx.patterns.link(Edge(pattern_id, episode.id, "initiating", 1.0, episode.known))
    return snapshot.patterns.get(pattern_id)


def join(
    tx: Transaction, snapshot: Snapshot, found: Pattern, episode: Episode, embed: Embed, memory: Memory
) -> Pattern:
    """Put an episode into a pattern: one version more."""
    members = [*snapshot.episodes.many([e.episode_id for e in snapshot.patterns.edges(found.id)]).values(), episode]
    members.sort(key=lambda e: (e.t_start, e.id))
    coherence = found.coherence
    tx.patterns.link(Edge(found.id, episode.id, "developing", 0.5, episode.known))
    if (found.version + 1) % memory.reestimate == 0:
        coherence = _reestimate(tx, snapshot, found.id, members, episode.known)
    renewed = _synthesise(members, coherence, episode.known, _kind(members), memory.resynthesis)
    new_vector = embed([f"{renewed.title}. {', '.join(renewed.keywords[:12])}"])[0]
    tx.patterns.put(replace(renewed, id=found.id), new_vector)
    return snapshot.patterns.get(found.id)


def candidates(snapshot: Snapshot, episode: Episode, vector: Vector, most: int) -> list[Pattern]:
    """The patterns an episode may belong to, the likely ones first."""
    hits = snapshot.search("pattern", text_of(episode), vector, k=most)
    return [snapshot.patterns.get(h.id) for h in hits]


def likeness(episode: Episode, vector: Vector, pattern: Pattern, pattern_vector: Vector | None) -> float:
    """How alike an episode and a pattern are, 0 to 1: shared title words, shared keywords, and cosine, in equal parts."""
    title = _share(set(content(episode.subject)), set(content(pattern.title)))
    keys = _share(set(episode.keywords[:12]), set(pattern.keywords[:16]))
    cosine = max(0.0, float(vector @ pattern_vector)) if pattern_vector is not None else 0.0
    return (title + keys + cosine) / 3


def _match(snapshot: Snapshot, episode: Episode, vector: Vector, memory: Memory) -> Pattern | None:
    most = memory.pattern_batch * BATCHES
    hits: list[Hit] = snapshot.search("pattern", text_of(episode), vector, k=most)
    vectors = snapshot.patterns.vectors_of([h.id for h in hits])
    for start in range(0, len(hits), memory.pattern_batch):
        judged = []
        for hit in hits[start : start + memory.pattern_batch]:
            pattern = snapshot.patterns.get(hit.id)
            judged.append((likeness(episode, vector, pattern, vectors.get(hit.id)), -hit.id, pattern))
        score, _, best = max(judged, key=lambda x: (x[0], x[1]))
        if score >= MATCH:
            return best
    return None


def _synthesise(members: Sequence[Episode], coherence: float, known: int, kind: PatternKind, full: int = 5) -> Pattern:
    newest, older = list(members[-full:]), list(members[:-full])
    days = sorted({local_day(e.t_start, e.offset_s) for e in members})
    minutes = sorted(_first_minutes(members).values())
    typical = int(median(minutes)) if len(minutes) >= 2 else None
    spread = int(median(abs(m - typical) for m in minutes)) if typical is not None else None
    subjects = Counter(e.subject for e in members)
    title = max(subjects, key=lambda s: (subjects[s], -min(e.t_start for e in members if e.subject == s)))
    score: Counter[str] = Counter()
    for episode in newest:
        for rank, word in enumerate(episode.keywords[:16]):
            score[word] += 16 - rank
    for episode in older:
        score.update(content(episode.subject))
    return Pattern(
        kind=kind,
        title=title,
        summary=_summary(members, newest, older, days, typical, spread),
        keywords=tuple(w for w, _ in sorted(score.items(), key=lambda x: (-x[1], x[0]))[:24]),
        coherence=round(coherence, 4),
        recurrence=len(members),
        days=len(days),
        frequency=round(len(members) / max(1, days[-1] - days[0] + 1), 4),
        typical_minute=typical,
        spread_min=spread,
        known=known,
    )


def _summary(
    members: Sequence[Episode],
    newest: Sequence[Episode],
    older: Sequence[Episode],
    days: Sequence[int],
    typical: int | None,
    spread: int | None,
) -> str:
    first, last = members[0], members[-1]
    often = "once" if len(members) == 1 else f"{len(members)} times on {len(days)} day{'s' if len(days) > 1 else ''}"
    parts = [
        f"Seen {often}, first on {local(first.t_start, first.offset_s):%Y-%m-%d at %H:%M}"
        + (f", last on {local(last.t_start, last.offset_s):%Y-%m-%d at %H:%M}" if len(members) > 1 else "")
    ]
    if typical is not None:
        around = f", give or take {spread} minutes" if spread else ""
        parts.append(f"It usually starts at about {typical // 60:02d}:{typical % 60:02d}{around}")
    lengths = sorted((e.t_end - e.t_start) / US / 60 for e in members)
    parts.append(f"It takes about {max(1, round(median(lengths)))} minutes")
    parts.append(f"Of late: {listed(dict.fromkeys(e.subject for e in reversed(newest)), 5)}")
    words = Counter(w for e in newest for w in e.keywords[:10])
    shared = [w for w, n in words.most_common(6) if n > 1] or [w for w, _ in words.most_common(4)]
    parts.append(f"What recurs: {listed(shared, 6)}" if shared else "Nothing recurs yet")
    if older:
        parts.append(f"Earlier: {listed(dict.fromkeys(e.subject for e in older[-8:]), 5)}")
    return " ".join(sentence(p) for p in parts[:6])


def _first_minutes(members: Sequence[Episode]) -> dict[int, int]:
    """Local minute of day at which each local day's first member began."""
    first: dict[int, int] = {}
    for episode in members:
        moment = local(episode.t_start, episode.offset_s)
        first.setdefault(local_day(episode.t_start, episode.offset_s), moment.hour * 60 + moment.minute)
    return first


def _kind(members: Sequence[Episode]) -> PatternKind:
    """A routine recurs on other days; everything within a day is one thread."""
    return "routine" if len({local_day(e.t_start, e.offset_s) for e in members}) > 1 else "thread"


def _reestimate(tx: Transaction, snapshot: Snapshot, pattern_id: int, members: Sequence[Episode], known: int) -> float:
    """New edges by closeness to the centre of the group; returns the coherence, the mean closeness."""
    vectors = snapshot.episodes.vectors([e.id for e in members])
    if not vectors:
        return 1.0
    centre = np.mean(list(vectors.values()), axis=0)
    length = float(np.linalg.norm(centre)) or 1.0
    close = {i: max(0.0, float(v @ centre) / length) for i, v in vectors.items()}
    best = max(close.values()) or 1.0
    for place, episode in enumerate(members):
        weight = close.get(episode.id, 0.0)
        role = "initiating" if place == 0 else "core" if weight >= CORE_SHARE * best else "supporting"
        tx.patterns.link(Edge(pattern_id, episode.id, role, round(weight, 4), known))
    return sum(close.values()) / len(close)


def _share(a: set[str], b: set[str]) -> float:
    return len(a & b) / len(a | b) if a and b else 0.0
