"""Patterns by rules: match a closed episode, absorb it or open a new one (GROVE eq. 5-6, bounded consolidation).

Matching is in matching.py.  Re-synthesis reads the five newest episodes in full and older ones as one subject line
each; roles, weights and coherence are re-estimated every three updates.  A thread is a job that is taken up again, on
the same day or, at another hour, on the next occasion; a routine recurs on other days.  What a version costs does not
grow with the pattern: it is made from the version before it and the newest episodes.
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
from edge.memory import matching
from edge.memory.hours import ANY_HOUR_MIN, DAY, Hours, apart, hours
from edge.memory.text import listed, sentence, worded
from storage import Snapshot, Transaction
from storage.errors import NotFound
from storage.patterns import Member
from storage.records import Edge, Episode, Pattern, PatternKind, Window
from storage.vectors import Vector

Embed: TypeAlias = Callable[[list[str]], Vector]  # n texts -> (n, dim)

MEMBERS = 200  # newest episodes that tell a pattern's title and hours
CENTRE = 20  # newest episodes whose mean is what a pattern is embedded by
WEIGHED = 60  # newest episodes whose roles and weights are re-estimated
SAME_HOUR_MIN = 120  # what recurs on a second day within that much of the hour is a routine already
MOVED = 0.02  # a weight that changed by less is left as it was
CORE_SHARE = 0.8  # members at least this close to the best one are core


def text_of(episode: Episode) -> str:
    """What an episode is matched and embedded by."""
    return f"{episode.subject}. {', '.join(episode.keywords[:12])}"


def absorb(
    tx: Transaction,
    snapshot: Snapshot,
    episode: Episode,
    vector: Vector,
    embed: Embed,
    memory: Memory,
    windows: Sequence[Window] | None = None,
) -> tuple[Pattern, bool]:
    """Put a closed, stored episode into the pattern that accepts it, or into a new one.

    `windows` are the episode's own, when they are at hand.  Returns the pattern as stored and whether it is new.
    """
    if windows is None:
        windows = snapshot.trace.span(episode.first_window, episode.last_window)
    found = matching.match(snapshot, episode, vector, text_of(episode), memory, windows)
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
    alone = Member(
        episode.id, episode.recording, episode.subject, episode.keywords, episode.t_start, episode.t_end,
        episode.offset_s, pattern_id,
    )  # fmt: skip
    opened = replace(_synthesise(alone, [alone], 1, 1, 1.0, episode.known, episode.description), id=pattern_id)
    pattern_id = tx.patterns.put(opened, vector)
    tx.patterns.link(Edge(pattern_id, episode.id, "initiating", 1.0, episode.known))
    return snapshot.patterns.get(pattern_id)


def join(
    tx: Transaction, snapshot: Snapshot, found: Pattern, episode: Episode, embed: Embed, memory: Memory
) -> Pattern:
    """Put an episode into a pattern: one version more."""
    tx.patterns.link(Edge(found.id, episode.id, "developing", 0.5, episode.known))
    members = snapshot.patterns.newest(found.id, MEMBERS)
    first = snapshot.patterns.first(found.id) or members[0]
    today = local_day(episode.t_start, episode.offset_s)
    again = any(local_day(m.t_start, m.offset_s) == today for m in members if m.episode_id != episode.id)
    coherence = found.coherence
    if (found.version + 1) % memory.reestimate == 0:
        coherence = _reestimate(tx, snapshot, found.id, first, members[-WEIGHED:], episode.known)
    size, days = snapshot.patterns.size(found.id), found.days + (not again)
    full = snapshot.episodes.many([m.episode_id for m in members[-memory.resynthesis :]])
    told = "\n".join(e.description for e in sorted(full.values(), key=lambda e: e.known))
    renewed = _synthesise(first, members, size, days, coherence, episode.known, told, memory.resynthesis)
    own = snapshot.episodes.vectors([m.episode_id for m in members[-CENTRE:]])
    centre = np.sum(list(own.values()), axis=0) if own else np.zeros(1)
    length = float(np.linalg.norm(centre))
    vector = np.asarray(centre / length, dtype=np.float32) if length else embed([text_of(episode)])[0]
    tx.patterns.put(replace(renewed, id=found.id), vector)
    return snapshot.patterns.get(found.id)


def candidates(snapshot: Snapshot, episode: Episode, vector: Vector, most: int) -> list[Pattern]:
    """The patterns an episode may belong to, the likely ones first."""
    hits = snapshot.search("pattern", text_of(episode), vector, k=most)
    return [snapshot.patterns.get(h.id) for h in hits]


def _synthesise(
    first: Member,
    members: Sequence[Member],
    size: int,
    days: int,
    coherence: float,
    known: int,
    told: str,
    full: int = 5,
) -> Pattern:
    """A version from its episodes; `told` is what happened in the newest of them, in full."""
    newest, older = list(members[-full:]), list(members[:-full])
    usual = hours(members)
    subjects = Counter(m.subject for m in members)
    begun = {m.subject: -m.t_start for m in reversed(members)}
    title = max(subjects, key=lambda s: (subjects[s], begun[s]))
    score: Counter[str] = Counter()
    for member in newest:
        for rank, word in enumerate(member.keywords[:24]):
            score[word] += 24 - rank
    for member in older:
        for word in matching.words(member.subject):
            score[word] += 12
    last = members[-1]
    since = local_day(last.t_start, last.offset_s) - local_day(first.t_start, first.offset_s) + 1
    return Pattern(
        kind=_kind(days, members),
        title=title,
        summary=_summary(first, members, newest, older, size, days, usual, told),
        keywords=tuple(w for w, _ in sorted(score.items(), key=lambda x: (-x[1], x[0]))[: matching.PATTERN_KEYWORDS]),
        coherence=round(coherence, 4),
        recurrence=size,
        days=days,
        frequency=round(size / max(1, since), 4),
        typical_minute=usual.times[0] if usual is not None else None,
        spread_min=usual.spread if usual is not None else None,
        known=known,
    )


def _summary(
    first: Member,
    members: Sequence[Member],
    newest: Sequence[Member],
    older: Sequence[Member],
    size: int,
    days: int,
    usual: Hours | None,
    told: str,
) -> str:
    last = members[-1]
    often = "once" if size == 1 else f"{size} times on {days} day{'s' if days > 1 else ''}"
    since, of_late = (f"{local(m.t_start, m.offset_s):%Y-%m-%d at %H:%M}" for m in (first, last))
    parts = [f"Seen {often}, first on {since}, last on {of_late}" if size > 1 else f"Seen once, on {since}"]
    if usual is not None and usual.spread < ANY_HOUR_MIN:
        parts.append(f"It usually starts at about {usual}")
    elif usual is not None:
        parts.append("It starts at any time of day")
    lengths = sorted((e.t_end - e.t_start) / US / 60 for e in members)
    minutes = max(1, round(median(lengths)))
    parts.append(f"It {'takes' if size > 1 else 'took'} about {minutes} minute{'s' if minutes > 1 else ''}")
    parts.append(
        f"{'Of late' if size > 1 else 'It was'}: {listed(dict.fromkeys(e.subject for e in reversed(newest)), 5)}"
    )
    words = Counter(w for e in newest for w in e.keywords[:10])
    shared = [w for w, n in words.most_common(6) if n > 1 or size == 1]
    if size == 1:
        parts.append(f"What it was about: {listed(worded(shared, told), 6)}" if shared else "Little was noticed")
    else:
        parts.append(f"What recurs: {listed(worded(shared, told), 6)}" if shared else "Its words differ each time")
    if older:
        parts.append(f"Earlier: {_subjects(older[-8:])}")
    return " ".join(sentence(p) for p in parts[:6])


def _subjects(members: Sequence[Member]) -> str:
    """What some episodes were about, each once: five at most."""
    return "; ".join(list(dict.fromkeys(m.subject for m in members))[:5])


def _kind(days: int, members: Sequence[Member]) -> PatternKind:
    """A routine recurs, on three days or on two at the same hour; a job that is taken up again is a thread."""
    if days != 2:
        return "routine" if days > 2 else "thread"
    first: dict[int, int] = {}
    for m in members:
        first.setdefault(local_day(m.t_start, m.offset_s), (m.t_start // US + m.offset_s) // 60 % DAY)
    same_hour = apart(*first.values()) <= SAME_HOUR_MIN if len(first) == 2 else False
    return "routine" if same_hour else "thread"


def _reestimate(
    tx: Transaction, snapshot: Snapshot, pattern_id: int, first: Member, members: Sequence[Member], known: int
) -> float:
    """New edges, where they moved, by closeness to the centre of the newest; returns the coherence, the mean closeness."""
    vectors = snapshot.episodes.vectors([m.episode_id for m in members])
    if not vectors:
        return 1.0
    centre = np.mean(list(vectors.values()), axis=0)
    length = float(np.linalg.norm(centre)) or 1.0
    close = {i: max(0.0, float(v @ centre) / length) for i, v in vectors.items()}
    best = max(close.values()) or 1.0
    old = snapshot.patterns.edges_to(pattern_id, [m.episode_id for m in members])
    for member in members:
        weight = round(close.get(member.episode_id, 0.0), 4)
        role = "core" if weight >= CORE_SHARE * best else "supporting"
        role = "initiating" if member.episode_id == first.episode_id else role
        edge = old[member.episode_id]
        if edge.role != role or abs(edge.weight - weight) >= MOVED:
            tx.patterns.link(Edge(pattern_id, member.episode_id, role, weight, known))
    return sum(close.values()) / len(close)
