"""Views, graph and facts after something was forgotten: what lost its ground is made again from what is left.

A stretch that had a view gets one again, an episode that was written anew gets its edges again (and so does the one
after it, whose transition leads from there), a fact whose first words went is stated again by what still supports it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from edge.memory import facts, graph, views
from edge.memory.patterns import Embed
from storage import Transaction
from storage.erase_rewrite import FactRow, Support
from storage.records import Episode, Window


@dataclass(slots=True)
class Grounds:
    """What is to be made again, noted after the marks were set and before anything goes."""

    views: list[tuple[str, int, int, int]] = field(default_factory=list)
    aliases: list[tuple[int, str]] = field(default_factory=list)
    chains: dict[int, list[FactRow]] = field(default_factory=dict)
    founded: dict[int, list[Support]] = field(default_factory=dict)
    routines: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)


def successors(tx: Transaction, touched: Sequence[int]) -> list[int]:
    """The untouched episodes that follow a touched one in its recording."""
    found: set[int] = set()
    for number in touched:
        episode = tx.rewrite.episodes.get(number)
        following = tx.rewrite.episode_after(episode.recording, episode.last_window)
        if following is not None and following not in touched:
            found.add(following)
    return sorted(found)


def note(tx: Transaction, after: Sequence[int]) -> Grounds:
    """Look at what the marks will take."""
    stored = tx.rewrite
    return Grounds(
        stored.lost_views(), stored.lost_aliases(), stored.losing_support(), stored.founded(), stored.routine_facts(),
        list(after),
    )  # fmt: skip


def make_again(
    tx: Transaction, grounds: Grounds, episodes: Mapping[int, list[Window]], patterns: Sequence[int], embed: Embed
) -> None:
    """Write anew; `episodes` are those that were written anew with their windows, `patterns` those grown again."""
    _views(tx, grounds, embed)
    anew = {number: left for number, left in episodes.items() if left}
    for number in sorted({*anew, *grounds.after}):
        episode = tx.rewrite.episodes.get(number)
        snapshot, before = tx.snapshot(episode.known), _before(tx, episode)
        if number in anew:
            graph.grow(tx, snapshot, episode, anew[number], before)
        else:
            windows = _windows(tx, episode)
            tx.graph.relate(graph.transitions(tx, snapshot, episode, windows[0], graph.edges_of(windows), before))
    for node, name in grounds.aliases:
        tx.rewrite.alias_again(node, name)
    tx.rewrite.nodes_known()
    tx.rewrite.requote()
    tx.rewrite.recount_facts({f: chain for f, chain in grounds.chains.items() if f not in grounds.founded})
    for supports in grounds.founded.values():
        _restate(tx, supports, embed, anew)
    _routines(tx, patterns, embed)


def _views(tx: Transaction, grounds: Grounds, embed: Embed) -> None:
    made = []
    for recording, scale, block, known in grounds.views:
        found = tx.rewrite.trace.windows(block, block + scale * 1_000_000)
        windows = [w for w in found if w.recording == recording and views.block_of(w, scale) == block]
        if windows:
            made.append(views.compose(windows, scale, max(known, windows[-1].known)))
    if made:
        vectors = embed([views.text_of(v) for v in made])
        for view, vector in zip(made, vectors, strict=True):
            tx.views.put(view, vector)


def _restate(tx: Transaction, supports: Sequence[Support], embed: Embed, anew: Mapping[int, list[Window]]) -> None:
    """Say a fact again in the words of what still supports it, in the order in which that became known."""
    for ref, window_id, episode_id, known in supports:
        drafts: list[facts.Draft] = []
        if episode_id is not None and window_id is not None:
            episode = tx.rewrite.episodes.get(episode_id)
            drafts = facts.recurring(episode, anew.get(episode_id) or _windows(tx, episode))
        elif ref.startswith("i"):
            intention = tx.rewrite.intentions.get(int(ref[1:]))
            plan = facts.planned(intention)
            drafts = [] if plan is None else [plan]
        elif window_id is not None:
            drafts = facts.heard(tx.rewrite.trace.window(window_id))
        same = [d for d in drafts if d.support.ref == ref]
        if same:
            facts.settle(tx, lambda at=known: tx.snapshot(at), same, embed, known)  # type: ignore[misc]


def _routines(tx: Transaction, patterns: Sequence[int], embed: Embed) -> None:
    """The habits that patterns grown again still are."""
    for number in patterns:
        chain = tx.rewrite.patterns.versions(number)
        if not chain:
            continue
        pattern = chain[-1]
        ids = [e.episode_id for e in tx.rewrite.patterns.edges(number)]
        members = sorted(tx.rewrite.episodes.many(ids).values(), key=lambda e: (e.t_start, e.id))
        drafts = facts.routine(pattern, members)
        if drafts:
            facts.settle(tx, lambda at=pattern.known: tx.snapshot(at), drafts, embed, pattern.known)  # type: ignore[misc]


def _windows(tx: Transaction, episode: Episode) -> list[Window]:
    found = tx.rewrite.trace.span(episode.first_window, episode.last_window)
    return [w for w in found if w.recording == episode.recording]


def _before(tx: Transaction, episode: Episode) -> Episode | None:
    number = tx.rewrite.episode_before(episode.recording, episode.first_window)
    return None if number is None else tx.rewrite.episodes.get(number)
