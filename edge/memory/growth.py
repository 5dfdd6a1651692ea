"""The growth engine: each perceived window into the memory, episodes closed as activities end (GROVE, algorithm 1).

Nothing is retrospective: a window is judged with what came before it, and each step is one transaction, so that a
kill at any moment leaves a memory that the next step continues exactly.  All state but the segmenter's window on the
stream is in the store, and that is read back from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edge.clock import US
from edge.config import Growth as Constants
from edge.config import Memory
from edge.memory import episodes, intentions, moments, patterns
from edge.memory.boundary import Judge
from edge.memory.context import Context
from edge.memory.patterns import Embed
from edge.memory.segmenter import HISTORY, Anchors, Cut, Segmenter, anchors_of
from edge.messages import EpisodeClosed, IntentionChanged, Message, PatternChanged, WindowCommitted
from storage import FOREVER, Snapshot, Store, Transaction
from storage.errors import BadRecord
from storage.records import Episode, IntentionState, Moment, Window
from storage.vectors import Vector

FARTHEST_S = 14 * 3600  # the zone farthest from UTC


class Growth:
    """Grows one memory.  Not thread-safe: it has one owner, the memory service."""

    def __init__(
        self,
        store: Store,
        embed: Embed,
        memory: Memory,
        owner: str = "",
        judge: Judge | None = None,
        *,
        match: bool = True,
    ) -> None:
        """`judge` says whether an activity goes on in place of the rules; without `match` patterns are found later."""
        self._store, self._embed, self._memory = store, embed, memory
        self._judge, self._match = judge, match
        self._constants: Constants = memory.growth(memory.profile)
        self._wearer = frozenset({"wearer", "me", "i", owner.lower()} - {""})
        self._segmenter = Segmenter(self._constants)
        self._unit: list[tuple[Window, Anchors]] = []
        self._recording = ""
        self._following = ""  # the recording in which a procedure is under way
        self._context = Context(memory, embed)
        with store.snapshot() as snapshot:
            last = snapshot.trace.newest_stored()
            if last is not None:
                self._load(snapshot, last)
                self._context.load(snapshot, last)

    def step(self, window: Window) -> list[Message]:
        """Take in one window (its id is 0): store it, extend or cut, consolidate what was cut.

        Returns what changed, in order.  Raises StorageError when it could not be stored; then nothing was, and BadRecord
        when it never can be: it ends before it begins, or begins before the end of its recording's window before it.
        """
        self._check(window)
        vector = self._embed([window_text(window)])[0]
        anchors = anchors_of(window, vector)
        messages: list[Message] = []
        unit = list(self._unit)
        limits = self._limits(window)
        judged = self._judged(window, anchors, limits)
        with self._store.transaction() as tx:
            cut, going_on = judged, bool(unit)
            unit = self._reopen(tx, window, unit)
            if unit and not going_on:  # taken up again
                cut = self._segmenter.before(unit, window, anchors, limits)
            if cut == "gap":
                known = unit[-1][0].t_end + round(self._constants.gap_s * US)
                messages += self._close(tx, unit, cut, known, 0)
                self._context.pause(tx, known)
                unit = []
            window_id = tx.trace.add(window, vector)
            window = replace(window, id=window_id)
            closed: list[Message] = []
            if cut in ("day", "cap", "change"):
                closed += self._close(tx, unit, cut, window.known, window_id)
                unit = []
            unit.append((window, anchors))
            full = self._segmenter.after(unit, limits)
            if full is not None:
                closed += self._close(tx, unit, full, window.known, window_id)
                unit = []
            messages.append(WindowCommitted(window))
            intended = self._intend(tx, window)
            messages += intended
            messages += self._context.window(tx, window)
            messages += self._context.intended(tx, intended, window.known)
            messages += closed
        self._unit = unit
        if window.recording != self._recording:  # another stream: what was usual there tells nothing here
            self._segmenter.prime(())
            self._recording = window.recording
        self._segmenter.note(anchors)
        return messages

    def _check(self, window: Window) -> None:
        """Raises BadRecord for a window that cannot follow on what its recording holds."""
        if window.t_end <= window.t_start or abs(window.offset_s) > FARTHEST_S:
            raise BadRecord("A window ends before it begins, or its zone is none: it was left out.")
        if self._unit and self._unit[-1][0].recording == window.recording:
            last: Window | None = self._unit[-1][0]
        else:
            with self._store.snapshot() as snapshot:
                last = snapshot.trace.last(window.recording)
        if last is not None and window.t_start < last.t_end:
            raise BadRecord("A window begins before the end of the one before it: it was left out.")

    def _judged(self, window: Window, anchors: Anchors, limits: Constants | None) -> Cut | None:
        """Whether the open unit ends before this window: by the rules, or by whoever judges in their place."""
        cut = self._segmenter.before(self._unit, window, anchors, limits)
        enough = sum(w.frames for w, _ in self._unit) >= (limits or self._constants).min_frames
        if self._judge is None or cut not in (None, "change") or not enough or anchors.empty:
            return cut
        recent = [w for w, _ in self._unit[-self._constants.anchors :]]
        return None if self._judge.goes_on(recent, window, cut is None) else "change"

    def follow(self, recording: str) -> None:
        """A procedure is under way in this recording ("" for none): its units are shorter from the next window on."""
        self._following = recording

    def _limits(self, window: Window) -> Constants | None:
        """The constants that hold in place of the profile's own, if any: those of hands-on work."""
        hands_on = self._memory.domain == "procedure" or (self._following and self._following == window.recording)
        return self._memory.procedure(self._memory.profile) if hands_on else None

    def idle(self, now: int) -> list[Message]:
        """Close the open unit when the recording has stood still for longer than a gap may last.

        Called before each step with the time of the arriving window, now and then while live, and at the end of a
        recording.  If the recording goes on after all, step() takes it back.
        """
        last = self._unit[-1][0] if self._unit else self._context.last
        if last is None:
            return []
        known = last.t_end + round(self._constants.gap_s * US)
        if now < known:
            return []
        if not self._unit:
            with self._store.snapshot() as snapshot:
                if self._context.all_told(snapshot):
                    return []
        with self._store.transaction() as tx:
            messages = self._close(tx, self._unit, "gap", known, 0) if self._unit else []
            self._context.pause(tx, known)
        self._unit = []
        return messages

    def end(self) -> list[Message]:
        """The recording is over: close what is open as of one gap after its last window."""
        return self.idle(FOREVER)

    def _load(self, snapshot: Snapshot, last: Window) -> None:
        """Take up the stream after its newest window: the open unit and the segmenter's history."""
        unit = list(snapshot.open_unit(last.recording).windows)
        count, enough = max(2 * HISTORY, len(unit)), False
        while not enough:
            recent = snapshot.trace.before(last.recording, last.id, count)
            anchors = self._anchors(snapshot, recent)
            enough = self._segmenter.prime(anchors) or len(recent) < count
            count *= 4
        self._recording = last.recording
        self._unit = list(zip(unit, anchors[len(anchors) - len(unit) :], strict=True))

    def _anchors(self, snapshot: Snapshot, windows: Sequence[Window]) -> list[Anchors]:
        vectors = snapshot.trace.vectors([w.id for w in windows])
        zero = np.zeros(self._store.space.dim, dtype=np.float32)
        return [anchors_of(w, vectors.get(w.id, zero)) for w in windows]

    def _reopen(
        self, tx: Transaction, window: Window, unit: list[tuple[Window, Anchors]]
    ) -> list[tuple[Window, Anchors]]:
        """A recording that had ended goes on within the gap: take back what its end closed."""
        if unit:
            return unit
        snapshot = tx.snapshot()
        last = snapshot.trace.last(window.recording)
        if last is None or window.t_start - last.t_end > self._constants.gap_s * US:
            return unit
        closed = snapshot.episodes.last(window.recording)
        rewound = tx.rewind(last.t_end, window.recording)
        for pattern_id, members in rewound.again.items():
            patterns.rejoin(tx, pattern_id, members, self._embed, self._memory)
        if closed is None or closed.cut != "gap" or closed.last_window != last.id:
            return unit
        self._load(tx.snapshot(), last)
        self._context.load(tx.snapshot(), last)
        return list(self._unit)

    def _intend(self, tx: Transaction, window: Window) -> list[Message]:
        snapshot = tx.snapshot(window.known)
        changed: list[Message] = []
        state: IntentionState
        for intention, state in intentions.resolved(window, snapshot.intentions.all("open"), self._wearer):
            evidence = (*intention.evidence, f"w{window.id}")
            tx.intentions.move(intention.id, state, window.known, evidence)
            changed.append(IntentionChanged(snapshot.intentions.get(intention.id)))
        heard = intentions.heard(window, self._wearer)
        return changed + [IntentionChanged(replace(i, id=tx.intentions.add(i))) for i in heard]

    def _close(
        self, tx: Transaction, unit: Sequence[tuple[Window, Anchors]], cut: Cut, known: int, window_id: int
    ) -> list[Message]:
        """Close a unit: the episode, its moments, its pattern, in this order."""
        windows = [w for w, _ in unit]
        first, last = windows[0], windows[-1]
        before = tx.snapshot(known).episodes.last(first.recording)
        texts = episodes.write(windows)
        episode = Episode(
            recording=first.recording,
            t_start=first.t_start,
            t_end=last.t_end,
            offset_s=first.offset_s,
            subject=texts.subject,
            summary=texts.summary,
            keywords=texts.keywords,
            description=texts.description,
            place=texts.place,
            first_window=first.id,
            last_window=last.id,
            cut=cut,
            known=known,
        )
        empty = episodes.is_empty(windows)
        found = [] if empty else moments.extract(windows, texts.place, known, self._memory.moment_ceiling)
        own = "" if empty else patterns.text_of(episode)
        vectors = self._embed([own, *(m.text for m in found)])
        episode = replace(episode, id=tx.episodes.add(episode, vectors[0]))
        _store_moments(tx, episode, found, vectors[1:])
        messages: list[Message] = [EpisodeClosed(episode, len(found), window_id)]
        if not empty:
            if self._match:
                pattern, new = patterns.absorb(
                    tx, tx.snapshot(known), episode, vectors[0], self._embed, self._memory, windows
                )
                messages.append(PatternChanged(pattern, new))
            messages += self._context.episode(tx, episode, windows, before, messages)
        return messages


def _store_moments(tx: Transaction, episode: Episode, found: list[Moment], vectors: Vector) -> None:
    for moment, vector in zip(found, vectors, strict=True):
        tx.moments.add(replace(moment, episode_id=episode.id), vector)


def window_text(window: Window) -> str:
    """What a window is embedded by: what is said about it, then what is in it.

    The sentences of light perception are alike whatever they tell of, so there only the things themselves count.
    """
    light = window.made_by == "light"
    told = [] if light else list(dict.fromkeys([window.description, *(c.text for c in window.captions)]))
    deeds = [] if told else [f"{e.action} {e.object}" for e in window.events if e.subject == "wearer" or not light]
    seen = [e.name for e in window.entities]
    said = [s.text for s in window.speech] + [x.text for x in window.texts]
    return ". ".join(p for p in [*told, *deeds, ", ".join(seen), *said] if p)[:4000]
