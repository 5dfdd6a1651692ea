"""The third stage of growth: a language model over episodes that are closed already (GROVE, algorithm 1).

Closing an episode costs no model: its texts and moments by rules are there at once.  What a model makes better waits in a
line on disk and is done in order, while perceiving and segmenting go on.  When no model is there, the episode is matched
by rules, the row says so (made_by), and where the settings ask for it the line is kept for the model's return.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from edge.config import Memory
from edge.errors import sentence_of
from edge.logs import Log
from edge.memory import episodes, facts, patterns
from edge.memory.consolidator import Consolidator
from edge.memory.context import Context
from edge.memory.patterns import Embed
from edge.messages import EpisodeClosed, FactChanged, Message, PatternChanged
from models.disk_queue import DiskQueue, Job
from models.errors import ModelDownError, ModelError, ModelTimeoutError, NoSpaceError
from storage import Snapshot, Store
from storage.errors import NotFound
from storage.records import Episode, Pattern, Window
from storage.vectors import Vector

STAGE = "consolidation"
CANDIDATES = 30  # patterns a model judges at most for one episode (three batches of GROVE's ten)
CATCH_UP = 200  # episodes closed before a model was turned on that it is given at most
_log = Log("memory")


class Minds(Protocol):
    """Who judges, if anybody does now.  Both raise ModelError when the one the settings name cannot be had."""

    def consolidator(self) -> Consolidator | None:
        """Who writes episodes, moments, patterns and facts; None when rules do."""
        ...

    def matcher(self) -> Consolidator | None:
        """Who matches episodes to patterns; None when rules do."""
        ...


class Unavailable(ModelDownError):
    """The model is not there now; the work keeps its place."""


@dataclass(slots=True)
class StageHealth:
    """Counts since the start: episodes done by a model and by rules in its place, and why the last one had to wait."""

    by_model: int = 0
    by_rules: int = 0
    waiting_for: str = ""


class Consolidation:
    """Works on one memory from one thread; `take` may be called from another."""

    def __init__(
        self, store: Store, embed: Embed, memory: Memory, minds: Minds, queue: DiskQueue, *, upgrade: bool = True
    ) -> None:
        self._store, self._embed, self._memory, self._minds = store, embed, memory, minds
        self._upgrade = upgrade
        self.queue = queue
        self.health = StageHealth()
        self._out: list[Message] = []
        self._generation = self._read_at = 0
        self._unmatched: deque[Episode] = deque()  # closed, and perhaps not in a pattern yet

    def catch_up(self) -> None:
        """Line up what was closed before the line was written: a kill may have come between."""
        with self._store.snapshot() as snapshot:
            done = snapshot.services.cursor(STAGE)
            newest = snapshot.episodes.since(0, CATCH_UP)
            self._unmatched.extend(e for e in newest if not snapshot.patterns.of_episode(e.id))
        for episode in newest:
            if episode.last_window > done:
                self._line_up(episode)

    def take(self, messages: Sequence[Message]) -> None:
        """Episodes that were closed take their place in the line."""
        for message in messages:
            if isinstance(message, EpisodeClosed):
                self._line_up(message.episode)
                self._unmatched.append(message.episode)

    def renew(self) -> None:
        """Something is being forgotten: what was read before this must not be written any more."""
        self._generation += 1

    def work(self, stop: Callable[[], bool], *, ask: bool = True) -> list[Message]:
        """Do what can be done now, in order; returns what changed.  Without `ask` a model that was away is not asked."""
        self._out = []
        lined_up = len(self._unmatched)
        if ask and self.queue.counts()["waiting"]:
            self.queue.drain(self._one, Unavailable, stop)
        if self.health.waiting_for:
            self._match_the_rest(stop)
        elif not self.queue.counts()["waiting"]:
            for _ in range(lined_up):
                self._unmatched.popleft()
        return self._out

    def _match_the_rest(self, stop: Callable[[], bool]) -> None:
        """While the model is away the memory grows on: what waits behind gets its pattern by rules, in order."""
        while self._unmatched and not stop():
            found = self._read(_work(self._unmatched[0]))
            if found is not None and not found[2] and not found[3]:
                self._match(None, found[0])
                self.health.by_rules += 1
            self._unmatched.popleft()

    def _line_up(self, episode: Episode) -> None:
        try:
            self.queue.put(_work(episode))
        except NoSpaceError as error:  # its words by rules stay
            _log.warning("not_lined_up", part="consolidation", cause=error)
            return
        with self._store.transaction() as tx:
            tx.services.advance(STAGE, episode.last_window)

    def _one(self, job: Job) -> None:
        found = self._read(job.work)
        if found is None:
            return  # forgotten, or taken back by a recording that went on
        episode, windows, empty, matched = found
        if empty:
            return
        try:
            self._think(episode, windows, matched)
        except Unavailable:
            raise
        except ModelTimeoutError as error:  # perhaps this very episode: it is tried again some times, then put aside
            self._without(episode, matched, error, again=False)
            if self._upgrade:
                raise
        except ModelError as error:
            self._without(episode, matched, error, again=self._upgrade)

    def _think(self, episode: Episode, windows: Sequence[Window], matched: bool) -> None:
        """All a model can make of an episode: its own words first, then its pattern, then the words of that."""
        writer = self._minds.consolidator()
        matcher = self._minds.matcher()
        if writer is not None and episode.made_by != "llm":
            episode = self._write(writer, episode, windows)
        if not matched:
            pattern = self._match(matcher, episode)
            if writer is not None and pattern is not None:
                self._describe(writer, pattern)
        elif writer is not None:
            with self._store.snapshot(episode.known) as snapshot:
                own = [snapshot.patterns.get(p) for p in snapshot.patterns.of_episode(episode.id)]
            for pattern in own[:1]:
                self._describe(writer, pattern)
        self.health.by_model += 1
        self._back()

    def _without(self, episode: Episode, matched: bool, error: ModelError, *, again: bool) -> None:
        """No model: match by rules now; `again` keeps the episode's place in the line.  Raises Unavailable."""
        if not self.health.waiting_for:
            _log.warning("rules_for_now", part="consolidation", cause=error)
        self.health.waiting_for = sentence_of(error)
        if not matched:
            self._match(None, episode)
            self.health.by_rules += 1
        if again:
            raise Unavailable(str(error)) from error

    def _back(self) -> None:
        if self.health.waiting_for:
            _log.info("model_is_back", part="consolidation")
        self.health.waiting_for = ""

    def _read(self, work: dict[str, Any]) -> tuple[Episode, list[Window], bool, bool] | None:
        """The episode of a job with its windows, whether it is empty, and whether it has its pattern."""
        self._read_at = self._generation
        with self._store.snapshot() as snapshot:
            episode = _same(snapshot, work)
            if episode is None:
                return None
            windows = _windows(snapshot, episode)
            matched = bool(snapshot.patterns.of_episode(episode.id))
        return episode, windows, episodes.is_empty(windows), matched

    def _write(self, writer: Consolidator, episode: Episode, windows: Sequence[Window]) -> Episode:
        """An episode's texts, the weights of its moments and the facts said in it, stored at once.

        The row of the episode says that a model was here: whatever is cut off before that is asked anew as a whole.
        """
        texts = writer.summarise(windows, episodes.write(windows))
        written, vector = episode, None
        if texts is not None:
            written = replace(
                episode, subject=texts.subject, summary=texts.summary, keywords=texts.keywords, made_by="llm"
            )
            vector = self._embed([patterns.text_of(written)])[0]
        with self._store.snapshot(episode.known) as snapshot:
            own = snapshot.moments.of_episode(episode.id)
        judged = (writer.weigh(written.subject, own) if own else None) or [(m.role, m.weight) for m in own]
        drafts = writer.facts(windows)
        with self._store.transaction() as tx:
            if self._still(tx.snapshot(), episode):
                if vector is not None:
                    tx.episodes.rewrite(written, vector)
                for moment, (role, weight) in zip(own, judged, strict=True):
                    if (role, weight) != (moment.role, moment.weight):
                        tx.moments.judge(moment.id, role, weight)
                changed = facts.settle(tx, lambda: tx.snapshot(episode.known), drafts, self._embed, episode.known)
                self._out += [FactChanged(f) for f in changed]
        return written

    def _match(self, matcher: Consolidator | None, episode: Episode) -> Pattern | None:
        """Put an episode into its pattern; by rules without a model.  The model is asked outside the transaction."""
        with self._store.snapshot(episode.known) as snapshot:
            vector = self._vector(snapshot, episode)
            found: Pattern | None = None
            if matcher is not None:
                found = matcher.belongs_to(episode, patterns.candidates(snapshot, episode, vector, CANDIDATES))
        with self._store.transaction() as tx:
            now = tx.snapshot(episode.known)
            if not self._still(tx.snapshot(), episode) or now.patterns.of_episode(episode.id):
                return None
            if matcher is None:
                pattern, new = patterns.absorb(tx, now, episode, vector, self._embed, self._memory)
            elif found is None:
                pattern, new = patterns.open_with(tx, now, episode, vector), True
            else:
                pattern, new = patterns.join(tx, now, found, episode, self._embed, self._memory), False
            changes: list[Message] = [PatternChanged(pattern, new)]
            changes += Context.matched(tx, episode, changes, self._embed)
        self._out += changes
        return pattern

    def _describe(self, writer: Consolidator, pattern: Pattern) -> None:
        """A pattern's words anew, from its newest episodes in full and the subjects of the older ones."""
        if pattern.recurrence < 2 or pattern.made_by == "llm":
            return
        full = self._memory.resynthesis
        with self._store.snapshot(pattern.known) as snapshot:
            ids = [e.episode_id for e in snapshot.patterns.edges(pattern.id)]
            members = sorted(snapshot.episodes.many(ids[-40:]).values(), key=lambda e: (e.t_start, e.id))
        told = writer.synthesise(pattern, members[-full:], members[:-full])
        if told is None:
            return
        vector = self._embed([f"{told.title}. {', '.join(told.keywords[:12])}"])[0]
        with self._store.transaction() as tx:
            try:
                newest = tx.snapshot().patterns.get(pattern.id)
            except NotFound:
                return
            if newest.version == pattern.version and self._read_at == self._generation:
                tx.patterns.put(told, vector)
                self._out.append(PatternChanged(tx.snapshot().patterns.get(pattern.id), False))

    def _still(self, snapshot: Snapshot, episode: Episode) -> bool:
        """Whether an episode is as it was read.  Raises Unavailable when something was forgotten meanwhile: read again."""
        if self._read_at != self._generation:
            raise Unavailable("Something was forgotten meanwhile.")
        return _same(snapshot, _work(episode)) is not None

    def _vector(self, snapshot: Snapshot, episode: Episode) -> Vector:
        found = snapshot.episodes.vectors([episode.id]).get(episode.id)
        return self._embed([patterns.text_of(episode)])[0] if found is None else found


def status(stage: Consolidation) -> dict[str, Any]:
    """For /health: what waits, what was given up, who did how much."""
    health = stage.health
    return {
        **stage.queue.counts(), "by_model": health.by_model, "by_rules": health.by_rules, "waiting_for": health.waiting_for,
    }  # fmt: skip


def _work(episode: Episode) -> dict[str, Any]:
    return {"episode": episode.id, "last_window": episode.last_window, "known": episode.known}


def _same(snapshot: Snapshot, work: dict[str, Any]) -> Episode | None:
    """The episode of that work, if it is still there and still the same one: ids are given again."""
    try:
        episode = snapshot.episodes.get(int(work["episode"]))
    except NotFound:
        return None
    return episode if (episode.last_window, episode.known) == (work["last_window"], work["known"]) else None


def _windows(snapshot: Snapshot, episode: Episode) -> list[Window]:
    return [
        w for w in snapshot.trace.span(episode.first_window, episode.last_window) if w.recording == episode.recording
    ]
