"""The four scale-native skills (GROVE, section 3.4): read-only calls over one snapshot, each at its own grain.

| skill | stratum | calls |
|---|---|---|
| Perception Lookup | R | recent_captions, global_captions, search_text, text_in_range, search_events, count_events, search_entities, look, look_alike |
| Moment Recall | F | search_moments, moments_in_range |
| Episode Replay | E | search_episodes, recent_episodes, episode_moments |
| Pattern Traversal | P -> E -> F | search_patterns, traverse |
| across | views, graph, facts | summarize, anchor, readout, search_facts |

Every call takes keywords or a whole sentence; with an embedder the search is hybrid (BM25 and dense ranks fused), without
one it is BM25 alone.  Times are microseconds UTC, [start, end).  Nothing after the snapshot's cutoff can come out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from edge.retrieval import anchors, digest, looking, readout, words
from edge.retrieval.anchors import Anchor, Side
from edge.retrieval.digest import Digest
from edge.retrieval.evidence import (
    Evidence,
    of_entity,
    of_episode,
    of_fact,
    of_item,
    of_keyframe,
    of_moment,
    of_pattern,
    of_window,
)
from edge.retrieval.looking import Eyes
from edge.retrieval.readout import Readout
from models.roles import Frame
from storage.lookup import all_words
from storage.records import Item, Us
from storage.search import RRF_K, Stratum
from storage.snapshot import Snapshot

Embed: TypeAlias = Callable[[list[str]], NDArray[np.float32]]

TOP = 20
COUNTED = "one for each recorded event; the same act on the same thing at the same instant counts once"
FAN_OUT = (3, 8, 15)  # patterns, episodes of each, moments of each (GROVE, table 10)


@dataclass(frozen=True, slots=True)
class Count:
    """How often something happened, and when; `rule` says what was taken for one time."""

    n: int
    items: tuple[Item, ...]
    rule: str = COUNTED


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
    """The calls of all four skills over one snapshot.  `calls` counts them; `eyes` open stored frames again."""

    def __init__(self, snapshot: Snapshot, embed: Embed | None = None, eyes: Eyes | None = None) -> None:
        self.snapshot, self._embed, self._eyes, self.calls = snapshot, embed, eyes, 0

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

    def count_events(
        self, action: str, thing: str, start: Us | None = None, end: Us | None = None, apart_s: int = 0
    ) -> Count:
        """How often an act met a thing, its inflections and kinds included ("open", "fridge" counts "opened the fridge door").

        With `apart_s`, events that follow each other within so many seconds count as one occasion.
        """
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
        if apart_s <= 0:
            return Count(len(items), tuple(items))
        items = anchors.apart(items, apart_s * 1_000_000)
        return Count(
            len(items), tuple(items), f"{COUNTED}; those within {apart_s} s of the one before are one occasion"
        )

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

    def look(self, question: str, start: Us, end: Us, k: int = looking.MOST) -> list[Evidence]:
        """Open the stored frames of a stretch again, 16 at most, and ask what they show; [] where there are none."""
        self.calls += 1
        frames = self.snapshot.trace.keyframes(start, end)
        if self._eyes is None:
            return [of_keyframe(f) for f in looking.spread(frames, min(max(1, k), looking.MOST))]
        return looking.look(self._eyes, question, looking.spread(frames, min(max(1, k), looking.MOST)))

    def look_alike(self, picture: Frame, start: Us | None = None, end: Us | None = None, k: int = 10) -> list[Evidence]:
        """The stored frames that look most like a picture (BGR, shape (H, W, 3)), best first.  Raises ModelError."""
        self.calls += 1
        return (
            [] if self._eyes is None else looking.alike(self._eyes, self.snapshot, picture, k=k, start=start, end=end)
        )

    # -- Moment Recall (F) -----------------------------------------------------------------------------------------

    def search_moments(
        self,
        query: str,
        start: Us | None = None,
        end: Us | None = None,
        k: int = TOP,
        place: str = "",
        category: str = "",
        entity: str = "",
        person: str = "",
    ) -> list[Evidence]:
        """Moments that bear on a query, best first; `place`, `category`, `entity` and `person` (words they name) filter."""
        narrow = bool(place or category or entity or person)
        hits = self._search("moment", query, start, end, 4 * k if narrow else k)
        found = self.snapshot.moments.many([i for i, _ in hits])
        wanted, named = set(words.content(place)), set(words.content(f"{entity} {person}"))
        rows = [
            (found[i], score)
            for i, score in hits
            if i in found
            and wanted <= set(words.content(found[i].place))
            and named <= set(words.content(f"{found[i].text} {' '.join(found[i].keywords)}"))
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

        At each stage word and meaning ranks are fused (reciprocal ranks, k 60); edges and moments of more weight go first
        among equals.
        """
        patterns, per_pattern, per_episode = fan_out
        asked, vector = words.content(query), self._vector(query)
        branches = []
        for found in self.search_patterns(query, patterns):
            edges = self.snapshot.patterns.edges(int(found.id[1:]))
            episodes = self.snapshot.episodes.many([e.episode_id for e in edges])
            graded = [
                (words.overlap(asked, words.content(f"{episode.subject} {episode.summary}")), edge.weight, episode)
                for edge in edges
                if (episode := episodes.get(edge.episode_id)) is not None
            ]
            graded.sort(key=lambda g: (-g[0], -g[1], -g[2].t_start))
            fused = self._fused([g[2].id for g in graded if g[0] > 0], vector, [g[2].id for g in graded])
            best = sorted(graded, key=lambda g: (-fused.get(g[2].id, 0.0), -g[1], -g[2].t_start))[:per_pattern]
            rows = []
            for _, _, episode in best:
                moments = self.snapshot.moments.of_episode(episode.id)
                kept = sorted(moments, key=lambda m: (-words.overlap(asked, words.content(m.text)), -m.weight, m.t))[
                    :per_episode
                ]
                ordered = sorted(kept, key=lambda m: (m.t, m.id))
                rows.append(
                    (of_episode(episode, fused.get(episode.id, 0.0)), tuple(of_moment(m, m.weight) for m in ordered))
                )
            branches.append(Branch(found, tuple(rows)))
        self.calls += 1
        return branches

    # -- across views, graph and facts ---------------------------------------------------------------------------------

    def summarize(self, start: Us, end: Us, k: int = 12) -> Digest:
        """What a stretch of time held, in at most k lines, each with its time and id."""
        self.calls += 1
        return digest.summarize(self.snapshot, start, end, k)

    def anchor(
        self, query: str, side: Side = "around", number: int = 0, reach_s: int = 3600, start: Us | None = None, end: Us | None = None
    ) -> Anchor | None:  # fmt: skip
        """An occurrence of something (number 3: the third, -1: the last) and the stretch before, after or around it.

        The stretch is `reach_s` seconds long, seven days at most; `search` it with the other calls.
        """
        self.calls += 1
        return anchors.anchored(
            self.snapshot,
            query,
            side,
            number,
            reach=reach_s * 1_000_000,
            start=start,
            end=end,
            vector=self._vector(query),
        )

    def readout(self, query: str, start: Us | None = None, end: Us | None = None) -> Readout:
        """The evidence for a question aligned over windows, views, graph and facts, selected by the kind of question."""
        self.calls += 1
        return readout.readout(self.snapshot, query, self._vector(query), start, end)

    def search_facts(self, query: str, k: int = TOP) -> list[Evidence]:
        """Habits, preferences, relations, belongings and plans that bear on a query, best first, with their support."""
        hits = self._search("fact", query, None, None, 2 * k)
        found = self.snapshot.facts.many([i for i, _ in hits])
        kept = [(found[i], s) for i, s in hits if i in found and found[i].state == "active"]
        return [of_fact(f, s) for f, s in kept[:k]]

    # -- shared ------------------------------------------------------------------------------------------------------

    def _fused(self, by_words: list[int], vector: NDArray[np.float32] | None, every: list[int]) -> dict[int, float]:
        """Reciprocal rank fusion of episodes ranked by words with the same ranked by meaning."""
        scores = {e: 1.0 / (RRF_K + rank) for rank, e in enumerate(by_words, 1)}
        if vector is not None:
            near = {e: float(np.dot(v, vector)) for e, v in self.snapshot.episodes.vectors(every).items()}
            for rank, e in enumerate(sorted(near, key=lambda e: (-near[e], e)), 1):
                scores[e] = scores.get(e, 0.0) + 1.0 / (RRF_K + rank)
        return scores

    def _vector(self, query: str) -> NDArray[np.float32] | None:
        return None if self._embed is None or not query.strip() else self._embed([query])[0]

    def _search(
        self, stratum: Stratum, query: str, start: Us | None, end: Us | None, k: int
    ) -> list[tuple[int, float]]:
        self.calls += 1
        hits = self.snapshot.search(stratum, query, self._vector(query), k=max(1, k), start=start, end=end)
        return [(h.id, h.score) for h in hits]
