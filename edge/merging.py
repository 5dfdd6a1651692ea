"""Two memories into one: the recordings of another device, with what it made of them, and patterns over both.

Rows come over as they are, under new ids (storage.merge).  Patterns, the graph and facts are not copied but grown again:
an errand done with either device is one errand, and how often it recurs must count both.  Each recording is taken in
one transaction; a merge that was killed goes on with the recordings that are not here yet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from edge.clock import ReplayClock
from edge.config import Config, Memory
from edge.errors import InputError
from edge.memory import facts, patterns
from edge.memory.context import Context
from edge.memory.growth import Growth
from edge.memory.patterns import Embed
from edge.messages import IntentionChanged, Message, PatternChanged
from edge.pipeline import Pipeline
from edge.proactive.screening import STAGE, TAKEN
from storage import Store, Transaction
from storage.keyframes import KeyframeFolder, folder_of
from storage.merge import Taken
from storage.records import Episode, Window


@dataclass(slots=True)
class Merged:
    """What a merge did; `here` names recordings that were here already, `missing` frames that were not there to copy."""

    recordings: int = 0
    windows: int = 0
    episodes: int = 0
    services: int = 0
    keyframes: int = 0
    here: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def merge(
    store: Store, other: Store, embed: Embed, config: Config, progress: Callable[[int, int], None] = lambda *_: None
) -> Merged:
    """Take every recording of `other` that `store` does not have, in the order they came.

    Raises InputError when their vectors cannot be compared, BadRecord when a recording differs from the one of the same
    name here, StorageError subclasses.
    """
    if store.space != other.space:
        raise InputError(
            f"The other memory was made with the embedding {other.space.id}, this one with {store.space.id}: "
            "export its trace and import that."
        )
    settled = Pipeline(store, embed, config, ReplayClock())  # what is under way here ends before something else comes
    settled.catch_up()
    settled.end()
    report = Merged()
    with other.merger() as merger:
        names = merger.recordings()
        with store.transaction() as tx:  # before anything is taken: all or nothing is refused
            fresh = [name for name in names if not tx.has(merger, name)]
        report.here = tuple(name for name in names if name not in fresh)
        for number, name in enumerate(fresh, 1):
            _frames(store, other, merger.frames(name), report)
            with store.transaction() as tx:
                taken = tx.take(merger, name)
                profile = _grow(tx, name, taken, embed, config)
                newest = tx.snapshot().trace.newest_stored()
                for stage in (STAGE, TAKEN):  # nothing is said about what another device has seen
                    tx.services.advance(stage, 0 if newest is None else newest.id)
            memory = config.memory.model_copy(update={"profile": profile})
            Growth(store, embed, memory, config.owner.name).end()  # what was open there is closed here
            report.recordings += 1
            report.windows += taken.rows["window"]
            report.episodes += taken.rows["episode"]
            report.services += taken.rows["service"]
            progress(number, len(fresh))
    return report


def _frames(store: Store, other: Store, files: list[str], report: Merged) -> None:
    if store.path is None or other.path is None:
        return
    here, there = KeyframeFolder(folder_of(store.path)), KeyframeFolder(folder_of(other.path))
    for file in files:
        if here.take(there, file):
            report.keyframes += 1
        else:
            report.missing += (file,)


def _grow(tx: Transaction, name: str, taken: Taken, embed: Embed, config: Config) -> str:
    """Patterns, graph and facts of what came over, in the order it was known; gives the recording's profile."""
    snapshot = tx.snapshot()
    windows = snapshot.trace.after(name, 0)
    context = Context(config.memory, embed)
    for window in windows:
        facts.settle(tx, lambda w=window: tx.snapshot(w.known), facts.heard(window), embed, window.known)  # type: ignore[misc]
    first, last = windows[0].id, windows[-1].id
    for intention in snapshot.intentions.all():
        if first <= intention.window_id <= last:
            opened = tx.snapshot(snapshot.trace.window(intention.window_id).known).intentions.get(intention.id)
            context.intended(tx, [IntentionChanged(opened)], opened.known)
            if intention.state != "open":
                context.intended(tx, [IntentionChanged(intention)], intention.known)
    before: Episode | None = None
    for episode_id in taken.episodes:
        episode = snapshot.episodes.get(episode_id)
        own = [w for w in windows if episode.first_window <= w.id <= episode.last_window]
        _episode(tx, episode, own, before, context, embed, config.memory)
        before = episode
    return windows[0].profile


def _episode(
    tx: Transaction,
    episode: Episode,
    windows: list[Window],
    before: Episode | None,
    context: Context,
    embed: Embed,
    memory: Memory,
) -> None:
    snapshot = tx.snapshot(episode.known)
    vector = snapshot.episodes.vectors([episode.id]).get(episode.id)
    if vector is None:  # nothing was perceived in it
        return
    pattern, new = patterns.absorb(tx, snapshot, episode, vector, embed, memory)
    changes: list[Message] = [PatternChanged(pattern, new)]
    context.episode(tx, episode, windows, before, changes)
