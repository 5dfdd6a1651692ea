"""Summaries on demand (VAM, summarize): what a stretch of time held, told from the coarsest that covers it.

Built from views where a stretch is covered by them, else from episodes, else from windows, so that a day costs about what
an hour does; every line keeps its time and its id.  The same stretch gives the same summary.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from edge.retrieval.evidence import Evidence, of_episode, of_view, of_window
from edge.retrieval.zone import Us
from storage.snapshot import Snapshot

LINES = 12


@dataclass(frozen=True, slots=True)
class Digest:
    """A summary: one sentence, its lines in order of time with what each rests on, and how much was recorded."""

    text: str
    lines: tuple[Evidence, ...]
    recorded_s: int


def summarize(snapshot: Snapshot, start: Us, end: Us, lines: int = LINES) -> Digest:
    """What [start, end) held, in at most `lines` lines."""
    end = min(end, snapshot.until + 1)
    episodes = snapshot.episodes.between(start, end)
    found: list[Evidence] = [of_episode(e) for e in episodes]
    if not found:
        # Nothing is closed yet: the finest views, else the windows themselves.
        views = snapshot.views.between(start, end)
        finest = min((v.scale_s for v in views), default=0)
        found = [of_view(v) for v in views if v.scale_s == finest]
    if not found:
        found = [of_window(w) for w in snapshot.trace.windows(start, end, 400) if w.description or w.captions]
    seconds = sum(max(0, min(w.t_end, end) - max(w.t_start, start)) for w in snapshot.lookup.stretches(start, end))
    kept = _thinned([e for e in found if e.text.strip()], max(1, lines))
    topics = Counter(e.subject for e in episodes if e.subject)
    mostly = ", ".join(t for t, _ in topics.most_common(3))
    told = f"{len(episodes)} activities" if len(episodes) != 1 else "one activity"
    text = f"{told}: {mostly}." if mostly else ("; ".join(e.text for e in kept[:3]) or "Nothing was recorded.")
    return Digest(text, tuple(kept), seconds // 1_000_000)


def _thinned(found: list[Evidence], most: int) -> list[Evidence]:
    """The longest of each of `most` equal runs, so that the whole stretch is told."""
    if len(found) <= most:
        return found
    kept = []
    for i in range(most):
        run = found[i * len(found) // most : (i + 1) * len(found) // most]
        kept.append(max(run, key=lambda e: (e.t_end - e.t_start, -e.t_start)))
    return kept
