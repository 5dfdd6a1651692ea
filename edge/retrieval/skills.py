"""The four scale-native skills (GROVE, section 3.4): read-only calls over one snapshot, each at its own grain.

| skill | stratum | calls |
|---|---|---|
| Perception Lookup | R | recent_captions, global_captions, search_text, text_in_range, search_events, count_events, search_entities |
| Moment Recall | F | search_moments, moments_in_range |
| Episode Replay | E | search_episodes, recent_episodes, episode_moments |
| Pattern Traversal | P -> E -> F | search_patterns, traverse |

Every call takes keywords or a whole sentence; with an embedder the search is hybrid (BM25 and dense ranks fused), without
one it is BM25 alone.  Times are microseconds UTC, [start, end).  Nothing after the snapshot's cutoff can come out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from edge.retrieval import words
from edge.retrieval.evidence import (
    Evidence,
    of_entity,
    of_episode,
    of_item,
    of_moment,
    of_pattern,
    of_window,
)
from storage.lookup import all_words
from storage.records import Item, Us
from storage.search import Stratum
from storage.snapshot import Snapshot

Embed: TypeAlias = Callable[[list[str]], NDArray[np.float32]]

TOP = 20
FAN_OUT = (3, 8, 15)  # patterns, episodes of each, moments of each (GROVE, table 10)


@dataclass(frozen=True, slots=True)
class Count:
    """How often something happened, and when; `rule` says what was taken for one time."""

    n: int
    items: tuple[Item, ...]
    rule: str = "one for each recorded event; the same act on the same thing at the same instant counts once"


@dataclass(frozen=True, slots=True)
class Branch:
    """One pattern with its best episodes and their best moments."""

    pattern: Evidence
    episodes: tuple[tuple[Evidence, tuple[Evidence, ...]], ...]


def once(items: Iterable[Item]) -> list[Item]:
    """The deduplication of counts: one item for the same act, thing and instant."""
    seen: dict[tuple[int, str, str, str], Item] = {}
    for item in items:
        seen.setdefault((item.t, item.action, item.object, "" if item.kind == "event" else item.text), item)
    return list(seen.values())


class Skills:
    """The calls of all four skills over one snapshot.  `calls` counts them."""

    def __init__(self, snapshot: Snapshot, embed: Embed | None = None) -> None:
        self.snapshot, self._embed, self.calls = snapshot, embed, 0

    # -- Perception Lookup (R) ------------------------------------------------------------------------------------

    def recent_captions(self, seconds: int = 60, count: int = 10) -> list[Evidence]:
        """The newest captions: those of the last `seconds` before the newest window's end, newest first."""
        self.calls += 1
        last = self.snapshot.trace.last()
        if last is None:
            return []
        items = self.snapshot.trace.items(("caption",), last.t_end - seconds * 1_000_000, last.t_end + 1)
        return [of_item(i) for i in items[::-1][:count]]

    def global_captions(
        self, query: str, start: Us | None = None, end: Us | None = None, k: int = TOP
    ) -> list[Evidence]:
        """Windows whose description bears on a query."""
        hits = self._search("window", query, start, end, k)
        found = {h[0]: self.snapshot.trace.window(h[0]) for h in hits}
        return [of_window(found[i], score) for i, score in hits]

    def search_text(self, query: str, start: Us | None = None, end: Us | None = None, k: int = TOP) -> list[Evidence]:
        """Printed or shown text that holds all the words of a query, newest first."""
        self.calls += 1
        found = self.snapshot.lookup.matching(all_words(words.tokens(query)), ("text",), start, end, k)
        return [of_item(i) for i in found]

    def text_in_range(self, start: Us | None = None, end: Us | None = None, k: int = TOP) -> list[Evidence]:
        """Every text seen in a stretch of time, in order."""
        self.calls += 1
        return [of_item(i) for i in self.snapshot.trace.items(("text",), start, end, k)]

    def search_events(
        self,
        query: str,
        start: Us | None = None,
        end: Us | None = None,
        k: int = TOP,
        person: str = "",
    ) -> list[Evidence]:
        """Events, captions and speech by their words, best first; `person` keeps what one subject or speaker did."""
        hits = self._search("item", query, start, end, 4 * k if person else k)
        found = self.snapshot.trace.items_by_id([i for i, _ in hits])
        rows = [(found[i], score) for i, score in hits if i in found]
        if person:
            rows = [r for r in rows if person.lower() in (r[0].subject.lower(), r[0].speaker.lower())]
        return [of_item(item, score) for item, score in rows[:k]]

    def count_events(self, action: str, thing: str, start: Us | None = None, end: Us | None = None) -> Count:
        """How often an act met a thing, its inflections and kinds included ("open", "fridge" counts "opened the fridge door")."""
        self.calls += 1
        act, asked = words.act(action), words.thing(thing)
        terms = [
            (a, o)
            for a in self.snapshot.lookup.actions()
            if words.act_grade(act, words.act(a)) >= 2
            for o in self.snapshot.lookup.objects(a)
            if words.thing_grade(asked, words.thing(o)) >= 2
        ]
        items = once(self.snapshot.lookup.events_of(terms, start, end)) if terms else []
        return Count(len(items), tuple(items))

    def search_entities(
        self, name: str, start: Us | None = None, end: Us | None = None, k: int = TOP, place: str = ""
    ) -> list[Evidence]:
        """Where and how a thing was seen, newest first; `place` keeps the windows that showed it there."""
        self.calls += 1
        asked = words.thing(name)
        names = [n for n in self.snapshot.lookup.entity_names() if words.thing_grade(asked, words.thing(n)) >= 2]
        seen = [e for n in names for e in self.snapshot.trace.entities(n, start, end)]
        wanted = set(words.content(place))
        kept = [e for e in seen if wanted <= set(words.content(e.location or ""))]
        return [of_entity(e) for e in sorted(kept, key=lambda e: (-e.t_end, e.name))[:k]]

    # -- Moment Recall (F) -----------------------------------------------------------------------------------------

    def search_moments(
        self,
        query: str,
        start: Us | None = None,
        end: Us | None = None,
        k: int = TOP,
        place: str = "",
        category: str = "",
    ) -> list[Evidence]:
        """Moments that bear on a query, best first; `place` and `category` filter them."""
        hits = self._search("moment", query, start, end, 4 * k if place or category else k)
        found = self.snapshot.moments.many([i for i, _ in hits])
        wanted = set(words.content(place))
        rows = [
            (found[i], score)
            for i, score in hits
            if i in found
            and wanted <= set(words.content(found[i].place))
            and (not category or found[i].category == category)
        ]
        return [of_moment(m, score) for m, score in rows[:k]]

    def moments_in_range(self, start: Us, end: Us, k: int = TOP) -> list[Evidence]:
        """The moments of a stretch of time, in order; when there are more than k, the weightiest."""
        self.calls += 1
        moments = self.snapshot.moments.between(start, end)
        kept = sorted(sorted(moments, key=lambda m: (-m.weight, m.t))[:k], key=lambda m: (m.t, m.id))
        return [of_moment(m, m.weight) for m in kept]

    # -- Episode Replay (E) ----------------------------------------------------------------------------------------

    def search_episodes(
        self, query: str, start: Us | None = None, end: Us | None = None, k: int = TOP, place: str = ""
    ) -> list[Evidence]:
        """Episodes that bear on a query, best first."""
        hits = self._search("episode", query, start, end, 4 * k if place else k)
        found = self.snapshot.episodes.many([i for i, _ in hits])
        wanted = set(words.content(place))
        rows = [(found[i], s) for i, s in hits if i in found and wanted <= set(words.content(found[i].place))]
        return [of_episode(e, score) for e, score in rows[:k]]

    def recent_episodes(self, count: int = 5) -> list[Evidence]:
        """The newest closed episodes, newest first."""
        self.calls += 1
        return [of_episode(e) for e in self.snapshot.episodes.recent(count)[::-1]]

    def episode_moments(self, episode: int) -> list[Evidence]:
        """The moments of one episode, in order.  Raises storage.errors.NotFound for an episode not known then."""
        self.calls += 1
        found = self.snapshot.episodes.get(episode)
        return [of_moment(m, m.weight) for m in self.snapshot.moments.of_episode(found.id)]

    # -- Pattern Traversal (P -> E -> F) -----------------------------------------------------------------------------

    def search_patterns(self, query: str, k: int = TOP) -> list[Evidence]:
        """Threads and routines that bear on a query, best first, in their newest known version."""
        hits = self._search("pattern", query, None, None, k)
        return [of_pattern(self.snapshot.patterns.get(i), score) for i, score in hits]

    def traverse(self, query: str, fan_out: tuple[int, int, int] = FAN_OUT) -> list[Branch]:
        """From the best patterns down to their best episodes and those episodes' best moments.

        Episodes go by their bearing on the query, then by the weight of their edge; moments likewise, then by their own weight.
        """
        patterns, per_pattern, per_episode = fan_out
        asked = words.content(query)
        branches = []
        for found in self.search_patterns(query, patterns):
            edges = self.snapshot.patterns.edges(int(found.id[1:]))
            episodes = self.snapshot.episodes.many([e.episode_id for e in edges])
            graded = [
                (words.overlap(asked, words.content(f"{episode.subject} {episode.summary}")), edge.weight, episode)
                for edge in edges
                if (episode := episodes.get(edge.episode_id)) is not None
            ]
            best = sorted(graded, key=lambda g: (-g[0], -g[1], -g[2].t_start))[:per_pattern]
            rows = []
            for score, _, episode in best:
                moments = self.snapshot.moments.of_episode(episode.id)
                kept = sorted(moments, key=lambda m: (-words.overlap(asked, words.content(m.text)), -m.weight, m.t))[
                    :per_episode
                ]
                ordered = sorted(kept, key=lambda m: (m.t, m.id))
                rows.append((of_episode(episode, score), tuple(of_moment(m, m.weight) for m in ordered)))
            branches.append(Branch(found, tuple(rows)))
        self.calls += 1
        return branches

    # -- shared ------------------------------------------------------------------------------------------------------

    def _search(
        self, stratum: Stratum, query: str, start: Us | None, end: Us | None, k: int
    ) -> list[tuple[int, float]]:
        self.calls += 1
        vector = None
        if self._embed is not None and query.strip():
            vector = self._embed([query])[0]
        hits = self.snapshot.search(stratum, query, vector, k=max(1, k), start=start, end=end)
        return [(h.id, h.score) for h in hits]
