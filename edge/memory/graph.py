"""The graph of a closed episode, by rules: who acted on what, where things are, what was talked about, what came after what.

After EM2Mem's episodic graph: every edge is anchored to the window and second that first showed it, so that it leads back
to what was perceived.  Names are made canonical (articles off, the last word in the singular); what else a thing was
called stays as another name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from edge.clock import US, local_day
from edge.memory.bounds import all_bounded
from edge.memory.text import STOP, content
from storage import Snapshot, Transaction
from storage.context_records import Node, NodeKind, Relation, RelationType
from storage.records import Episode, Window

MOST_EDGES = 120  # of one episode: its cost is bounded however much was perceived
MOST_WORDS = 6  # a longer name is a sentence, not a name
NEXT_US = 30 * 60 * US  # what comes later than this does not follow
_ARTICLE = re.compile(r"^(?:(?:the|a|an|my|your|his|her|our|their|some|this|that|these|those|another)\s+)+", re.I)
_BESIDE = re.compile(r"^(?:next to|beside|near|close to|left of|right of|behind|in front of)\s+(?P<what>.+)$", re.I)
_WITHIN = re.compile(r"^(?:on top of|on|in|inside|at|under|below|above|from|into|onto|to)\s+", re.I)
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
_SELF = frozenset({"wearer", "i", "me", "camera wearer", "person wearing the camera", ""})


@dataclass(frozen=True, slots=True)
class Named:
    """A node on its way into the store: its kind, its canonical name and the name it went by."""

    kind: NodeKind
    name: str
    alias: str = ""


@dataclass(slots=True)
class _Edge:
    source: Named
    type: RelationType
    label: str
    target: Named
    window: Window
    t: int
    count: int = 1


@lru_cache(maxsize=16384)
def canonical(name: str) -> str:
    """A name as the graph knows it: without articles, small, the last word in the singular; "" for none."""
    words = _ARTICLE.sub("", " ".join(name.split()).strip(" .,;:!?\"'")).casefold().split()
    if not words or len(words) > MOST_WORDS:
        return ""
    last = words[-1]
    if len(last) > 3 and last.endswith("ies"):
        last = last[:-3] + "y"
    elif len(last) > 4 and last.endswith(("ches", "shes", "sses", "xes", "zes", "oes")):
        last = last[:-2]
    elif len(last) > 3 and last.endswith("s") and not last.endswith(("ss", "us", "is", "os")):
        last = last[:-1]
    return " ".join((*words[:-1], last))


def person(name: str) -> Named:
    """A person by name; everything the wearer is called is the wearer."""
    return Named("person", "wearer") if name.strip().casefold() in _SELF else Named("person", " ".join(name.split()))


def grow(
    tx: Transaction, snapshot: Snapshot, episode: Episode, windows: Sequence[Window], before: Episode | None
) -> None:
    """Add an episode's edges; `before` is the recording's episode before it, `snapshot` the memory as known at its end."""
    edges = edges_of(windows)
    ids: dict[Named, int] = {}

    def node(named: Named, window: Window) -> int:
        if named not in ids:
            ids[named] = tx.graph.node(named.kind, named.name, window.id, episode.known, named.alias)
        return ids[named]

    found = [
        Relation(
            node(e.source, e.window), e.type, e.label, node(e.target, e.window), episode.id, e.window.id, e.t, e.count,
            episode.known,
        )
        for e in edges
    ]  # fmt: skip
    tx.graph.relate([*found, *transitions(tx, snapshot, episode, windows[0], edges, before)])


def edges_of(windows: Sequence[Window]) -> list[_Edge]:
    """The distinct edges of some windows in the order they were first shown; of too many those shown most often."""
    windows = all_bounded(windows)
    found: dict[tuple[object, ...], _Edge] = {}

    def add(source: Named, kind: RelationType, label: str, target: Named, window: Window, t: int) -> None:
        if not source.name or not target.name or source == target:
            return
        key = (source.kind, source.name, kind, label, target.kind, target.name)
        if key in found:
            found[key].count += 1
        else:
            found[key] = _Edge(source, kind, label, target, window, t)

    for window in windows:
        light = window.made_by == "light"
        place = Named("place", canonical(window.scene), window.scene)
        for e in window.events:
            if light and e.subject.casefold() not in _SELF:
                continue  # a detector's "appears" is no doing
            thing = Named("entity", canonical(e.object), e.object)
            add(person(e.subject), "acts_on", e.action[:40], thing, window, e.t)
            add(thing, "at", "", place, window, e.t)
        for entity in window.entities:
            thing = Named("entity", canonical(entity.name), entity.name)
            add(thing, "at", "", place, window, window.t_start)
            if entity.location:
                beside = _BESIDE.match(entity.location)
                where = beside["what"] if beside else _WITHIN.sub("", entity.location)
                kind: RelationType = "near" if beside else "at"
                other = Named("entity" if beside else "place", canonical(where), where)
                add(thing, kind, "", other, window, window.t_start)
        for said in window.speech:
            for word in _said(said.text):
                add(person(said.speaker), "speaks", "", Named("topic", word), window, said.t)
        if not light:
            own = {c.text.strip().lower() for c in window.captions}
            for part in window.description.split(";"):
                label = canonical(part)
                if label and part.strip().lower() not in own:
                    add(person("wearer"), "about", "", Named("topic", label), window, window.t_start)
    ranked = sorted(found.values(), key=lambda e: -e.count)[:MOST_EDGES]
    return sorted(ranked, key=lambda e: e.t)


def main_topic(edges: Sequence[_Edge]) -> Named | None:
    """What an episode is about most of its time."""
    topics = Counter({e.target: e.count for e in edges if e.type == "about"})
    return max(topics, key=lambda t: (topics[t], t.name)) if topics else None


def transitions(
    tx: Transaction,
    snapshot: Snapshot,
    episode: Episode,
    window: Window,
    edges: Sequence[_Edge],
    before: Episode | None,
) -> list[Relation]:
    """From the episode before to this one: topic to topic, place to place."""
    if before is None or episode.t_start - before.t_end > NEXT_US:
        return []
    if local_day(episode.t_start, episode.offset_s) != local_day(before.t_start, before.offset_s):
        return []
    earlier = snapshot.graph.of_episode(before.id)
    nodes = snapshot.graph.nodes({r.target for r in earlier if r.type in ("about", "at")})
    found = []
    place = Named("place", canonical(episode.place), episode.place) if episode.place else None
    for now, old in ((main_topic(edges), _main(earlier, nodes, "about")), (place, _place(before, nodes))):
        if now is None or old is None or old.name.casefold() == now.name.casefold():
            continue
        target = tx.graph.node(now.kind, now.name, window.id, episode.known, now.alias)
        at = (episode.id, window.id, episode.t_start, 1, episode.known)
        found.append(Relation(old.id, "then", "", target, *at))
    return found


def _main(relations: Sequence[Relation], nodes: dict[int, Node], kind: RelationType) -> Node | None:
    told = [r for r in relations if r.type == kind and r.target in nodes]
    if not told:
        return None
    return nodes[max(told, key=lambda r: (r.count, nodes[r.target].name)).target]


def _place(before: Episode, nodes: dict[int, Node]) -> Node | None:
    name = canonical(before.place)
    return next((n for n in nodes.values() if n.kind == "place" and n.name.casefold() == name), None) if name else None


def _said(text: str) -> list[str]:
    """What something said is about: its three longest content words."""
    return sorted(sorted(terms(text), key=lambda w: (-len(w), w))[:3])


def terms(text: str) -> list[str]:
    """The content words of a text as people write them, small and in the singular, each once."""
    words = (w.casefold() for w in _WORD.findall(text))
    return list(
        dict.fromkeys(canonical(w) for w in words if len(w) > 4 and w not in STOP and w.isalpha() and content(w))
    )
