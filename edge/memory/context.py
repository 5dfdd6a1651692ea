"""What grows beside the strata: views at the end of a stretch, the graph and facts at the end of an episode.

Driven by the growth engine inside its transactions.  All it holds is the windows of the longest stretch under way, and
those are read back from the store after a restart; the cost of a window does not depend on how long the memory is.
"""

from __future__ import annotations

from collections.abc import Sequence

from edge.config import Memory
from edge.memory import facts, graph, views
from edge.memory.patterns import Embed
from edge.messages import FactChanged, IntentionChanged, Message, PatternChanged
from storage import Snapshot, Transaction
from storage.records import Episode, Window

MEMBERS = 40  # newest episodes of a routine that its habit is made to rest on at first


class Context:
    """Views, graph and facts of one memory.  Not thread-safe: it belongs to the growth engine."""

    def __init__(self, memory: Memory, embed: Embed) -> None:
        self._embed = embed
        self._scales = views.SCALES[memory.profile]
        self._windows: list[Window] = []
        self._told = False  # whether all that is under way is told already

    @property
    def last(self) -> Window | None:
        """The newest window, if not all of it is told yet."""
        return None if self._told or not self._windows else self._windows[-1]

    def load(self, snapshot: Snapshot, last: Window) -> None:
        """Take up the stream after its newest window."""
        longest = self._scales[-1]
        block = views.block_of(last, longest)
        found = snapshot.trace.before(last.recording, last.id, 1 + longest)
        while len(found) > 1 and views.block_of(found[0], longest) == block and len(found) >= 1 + longest:
            found = snapshot.trace.before(last.recording, last.id, 4 * len(found))
        self._windows, self._told = _tail(found, longest, block), False

    def window(self, tx: Transaction, window: Window) -> list[Message]:
        """A window was stored: the stretches it ends get their view, what is said in it becomes facts."""
        if self._windows and self._windows[-1].recording != window.recording:
            self._write(tx, self._scales, window.known)
            self.load(tx.snapshot(), window)
        else:
            if self._windows:
                over = [s for s in self._scales if views.block_of(self._windows[-1], s) != views.block_of(window, s)]
                self._write(tx, over, window.known)
            longest = self._scales[-1]
            self._windows = _tail([*self._windows, window], longest, views.block_of(window, longest))
        self._told = False
        if not window.speech or not facts.heard(window):
            return []
        stored = tx.snapshot(window.known).trace.window(window.id)  # with the ids of what was said
        return self._settle(tx, facts.heard(stored), window.known)

    def intended(self, tx: Transaction, changes: Sequence[Message], known: int) -> list[Message]:
        """Intentions that were heard, done or dropped: plans begin and end."""
        drafts, ended = [], []
        for change in changes:
            if not isinstance(change, IntentionChanged):
                continue
            if change.intention.state == "open":
                plan = facts.planned(change.intention)
                drafts += [plan] if plan is not None else []
            else:
                ended += facts.end_plan(tx, tx.snapshot(known), change.intention, known)
        return [*(FactChanged(f) for f in ended), *(self._settle(tx, drafts, known) if drafts else [])]

    def pause(self, tx: Transaction, known: int) -> None:
        """The recording stands still: what is under way is told as far as it went."""
        if self.last is not None:
            self._write(tx, self._scales, known)
            self._told = True

    def all_told(self, snapshot: Snapshot) -> bool:
        """Whether all that is under way stands in its views already."""
        self._told = not self._windows or not any(self._untold(snapshot, s) for s in self._scales)
        return self._told

    def episode(
        self,
        tx: Transaction,
        episode: Episode,
        windows: Sequence[Window],
        before: Episode | None,
        changes: Sequence[Message],
    ) -> list[Message]:
        """An episode was closed and matched: its edges of the graph and the facts that recur with it."""
        graph.grow(tx, tx.snapshot(episode.known), episode, windows, before)
        drafts = facts.recurring(episode, windows)
        found = self._settle(tx, drafts, episode.known) if drafts else []
        return [*found, *Context.matched(tx, episode, changes, self._embed)]

    @staticmethod
    def matched(tx: Transaction, episode: Episode, changes: Sequence[Message], embed: Embed) -> list[Message]:
        """An episode found its pattern: a routine is a habit that rests on one episode more."""
        drafts = []
        for change in changes:
            if isinstance(change, PatternChanged) and change.pattern.kind == "routine":
                members = _members(tx.snapshot(episode.known), change.pattern.id, episode)
                drafts += facts.routine(change.pattern, members)
        if not drafts:
            return []
        changed = facts.settle(tx, lambda: tx.snapshot(episode.known), drafts, embed, episode.known)
        return [FactChanged(f) for f in changed]

    def _settle(self, tx: Transaction, drafts: Sequence[facts.Draft], known: int) -> list[Message]:
        return [FactChanged(f) for f in facts.settle(tx, lambda: tx.snapshot(known), drafts, self._embed, known)]

    def _write(self, tx: Transaction, scales: Sequence[int], known: int) -> None:
        """The views of the stretches under way, of those scales, that are not told as far as this already."""
        found = []
        for scale in scales:
            if self._untold(tx.snapshot(), scale):
                windows = _tail(self._windows, scale, views.block_of(self._windows[-1], scale))
                found.append(views.compose(windows, scale, known))
        if found:
            vectors = self._embed([views.text_of(v) for v in found])
            for view, vector in zip(found, vectors, strict=True):
                tx.views.put(view, vector)

    def _untold(self, snapshot: Snapshot, scale: int) -> bool:
        """Whether the stretch under way of a scale has no view that reaches to its newest window."""
        last = self._windows[-1]
        told = snapshot.views.of_block(last.recording, scale, views.block_of(last, scale))
        return told is None or told.last_window != last.id


def _members(snapshot: Snapshot, pattern_id: int, episode: Episode) -> list[Episode]:
    """The episodes a routine brings to its habit: all of the newest at first, later the one that is new."""
    if snapshot.facts.with_key(f"habit|p{pattern_id}") is not None:
        return [episode]
    ids = [e.episode_id for e in snapshot.patterns.edges(pattern_id)][-MEMBERS:]
    return sorted(snapshot.episodes.many(ids).values(), key=lambda e: (e.t_start, e.id))


def _tail(windows: Sequence[Window], scale_s: int, block: int) -> list[Window]:
    """The windows at the end that belong to a stretch."""
    start = len(windows)
    while start and views.block_of(windows[start - 1], scale_s) == block:
        start -= 1
    return list(windows[start:])
