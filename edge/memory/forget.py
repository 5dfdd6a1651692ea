"""Forgetting: what of the memory a wish concerns, and what has to be written anew from what is left.

A stretch of time takes every window inside it; a window across its edge keeps what lies outside, but nothing that told
of it as a whole (description, things in view, scene).  A name takes what names it, in whatever form; of a window that
named it what is left stays, without its pictures when it may be in them.  Episodes are written anew from the windows
they still have, patterns are grown again without what is gone, from the first version on that knew of it: no earlier
state of the memory, read as it was then, tells of it either.  The rows are taken away in one transaction; storage does
that, and the bytes (storage.erase).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from edge.clock import US
from edge.config import Memory
from edge.errors import InputError, UsageError
from edge.memory import episodes, forget_context, matching, moments, patterns
from edge.memory.growth import window_text
from edge.memory.patterns import Embed
from edge.memory.text import lemma, words
from storage import Store, Transaction
from storage.erase import Deleted, Marks
from storage.erase_jobs import Job
from storage.records import Caption, Entity, Episode, Intention, Moment, Window
from storage.vectors import Vector

Kind: TypeAlias = Literal["range", "entity", "person", "all"]
Cut: TypeAlias = Callable[[Window], Window | None]  # the same object: untouched; None: nothing is left

MATCH_AGAIN = matching.MATCH  # likeness with which an episode that was rewritten stays in its pattern


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be forgotten: times in microseconds, half open; `name` for an entity or a person."""

    kind: Kind
    start: int = 0
    end: int = 0
    name: str = ""

    def __post_init__(self) -> None:
        if self.kind == "range" and self.end <= self.start:
            raise UsageError("What is to be forgotten ends before it begins: check the times.")
        if self.kind in ("entity", "person") and not self._forms(self.name):
            raise InputError(f"{self.name!r} is no name: give a word, as in --entity wallet.")

    def to_json(self) -> dict[str, Any]:
        """For the row of the erasure, and for the control socket."""
        return {"kind": self.kind, "start": self.start, "end": self.end, "name": self.name}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Wish:
        """What to_json gave.  Raises UsageError on anything else."""
        try:
            kind, name = value["kind"], str(value.get("name", ""))
            if kind not in ("range", "entity", "person", "all"):
                raise ValueError
            return cls(kind, int(value.get("start", 0)), int(value.get("end", 0)), name)
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError("What is to be forgotten is not said: a range, a name or all.") from error

    def names(self, text: str) -> bool:
        """Whether a text speaks of the name: a thing in whatever number, a person by that very name, in any case."""
        wanted, said = self._forms(self.name), self._forms(text)
        return any(said[i : i + len(wanted)] == wanted for i in range(len(said) - len(wanted) + 1))

    def part(self) -> str:
        """A part that every form of the name has, where that is plain ASCII; else nothing."""
        longest = max((f for f in self._forms(self.name) if f.isascii()), key=len, default="")
        return longest[:-1] if self.kind == "entity" and longest.endswith("y") else longest

    def _forms(self, text: str) -> list[str]:
        if self.kind == "entity":
            return [lemma(w) for w in words(text)]
        return [w.casefold().split("'")[0].split("\u2019")[0] for w in words(text)]

    def cut(self, window: Window) -> Window | None:
        """What of a window stays; the very window when nothing goes, None when nothing stays."""
        if self.kind == "all":
            return None
        if self.kind == "range":
            return _outside(window, self.start, self.end)
        return _without(window, self)


@dataclass(slots=True)
class Plan:
    """What a wish concerns: windows with what stays of them (None: nothing), episodes, patterns, single rows."""

    wish: Wish
    windows: dict[int, Window | None] = field(default_factory=dict)
    before: dict[int, Window] = field(default_factory=dict)
    episodes: dict[int, list[Window]] = field(default_factory=dict)
    patterns: dict[int, int] = field(default_factory=dict)
    rows: dict[str, list[object]] = field(default_factory=dict)
    seconds: float = 0.0

    def counts(self) -> dict[str, float]:
        """For people: what goes and what is written anew."""
        gone = sum(w is None for w in self.windows.values())
        whole = sum(not left for left in self.episodes.values())
        return {
            "windows": gone,
            "windows_cut": len(self.windows) - gone,
            "episodes": whole,
            "episodes_rewritten": len(self.episodes) - whole,
            "patterns": len(self.patterns),
            "seconds": round(self.seconds, 1),
        }


@dataclass(slots=True)
class Forgotten:
    """What an erasure has taken from the rows."""

    job: Job
    plan: dict[str, float]


def last(seconds: float, now: int) -> Wish:
    """The wish to forget the newest stretch of time."""
    return Wish("range", now - round(seconds * US), now + 1)


def plan(tx: Transaction, wish: Wish) -> Plan:
    """What a wish concerns, from the rows as they are stored."""
    made = Plan(wish)
    if wish.kind == "all":
        return made
    stored = tx.rewrite
    if wish.kind == "range":
        made.windows = dict.fromkeys(stored.within(wish.start, wish.end))
        candidates = stored.across(wish.start, wish.end)
        named: dict[str, list[object]] = {}
    else:
        named = tx.erase.naming(wish.names, wish.part())
        owners = {int(str(k)) for k in named.pop("window", [])}
        for table in ("item", "entity"):
            owners |= tx.erase.owners(table, "window_id", named.pop(table, []))
        candidates = sorted(owners)
    for window in stored.windows(candidates):
        left = wish.cut(window)
        if left is not window:
            made.windows[window.id], made.before[window.id] = left, window
            _of_cut(made, window, left)
    for intention in _stated(tx, made, wish):
        made.rows.setdefault("intention", []).append(intention.id)
    made.seconds = _seconds(tx, made)
    touched = set(stored.holding(sorted(made.windows)))
    touched |= {int(str(k)) for k in named.pop("episode", [])}
    touched |= tx.erase.owners("moment", "episode_id", named.pop("moment", []))
    for episode_id in sorted(touched):
        made.episodes[episode_id] = _left_of(tx, stored.episodes.get(episode_id), made, wish)
    made.patterns = tx.erase.patterns_of(made.episodes)
    for pattern, known in tx.erase.first_known(named.pop("pattern_version", [])).items():
        made.patterns[pattern] = min(known, made.patterns.get(pattern, known))
    for table, keys in named.items():
        made.rows.setdefault(table, []).extend(keys)
    return made


def ask(store: Store, wish: Wish, now: int) -> Job:
    """Note the wish, so that it is granted whatever happens; gives its row."""
    with store.transaction() as tx:
        number = tx.erase.ask(now, wish.kind, wish.to_json())
    return next(job for job in store.erasures() if job.id == number)


def take_rows(store: Store, job: Job, embed: Embed | None, memory: Memory) -> Forgotten:
    """Take away the rows of an erasure and write anew what stays, in one transaction.

    Without `embed` what is written anew is found by its words alone.
    """
    wish = Wish.from_json(job.request)
    with store.emptying() if wish.kind == "all" else store.transaction() as tx:
        made = plan(tx, wish)
        if wish.kind == "all":
            deleted = tx.erase.delete_all()
        else:
            deleted = _Taking(tx, made, embed or _speechless(store.space.dim), memory).run()
        tx.erase.rows_gone(job.id, deleted)
        counts = made.counts()
    job = replace(job, state="rows", request={}, files=tuple(sorted(set(deleted.files))), removed=deleted.rows)
    return Forgotten(job, counts)


class _Taking:
    """One erasure under way inside its transaction."""

    def __init__(self, tx: Transaction, made: Plan, embed: Embed, memory: Memory) -> None:
        self._tx, self._plan, self._embed, self._memory = tx, made, embed, memory
        self._vectors: dict[int, Vector] = {}

    def run(self) -> Deleted:
        """Take away, then write anew; the order is what lets every row rest on rows that are there."""
        tx, made = self._tx, self._plan
        cut = {i: w for i, w in made.windows.items() if w is not None}
        kept = {i: tx.rewrite.episodes.get(i) for i, left in made.episodes.items() if left}
        spare = {i: [m.id for m in tx.rewrite.moments.of_episode(i)] for i in kept}
        joined = {p: tx.rewrite.members(p) for p in made.patterns}
        after = forget_context.successors(tx, list(made.episodes))
        made.rows.setdefault("relation", []).extend(tx.rewrite.transitions(after))
        for window_id in cut:
            tx.erase.note_window(window_id)
        for episode_id in kept:
            tx.erase.note_episode(episode_id)
        tx.erase.mark(
            Marks(
                windows={i: w is None for i, w in made.windows.items()},
                episodes={i: not left for i, left in made.episodes.items()},
                patterns=made.patterns,
                spans=[(made.wish.start, made.wish.end)] if made.wish.kind == "range" else [],
                rows=made.rows,
            )
        )
        grounds = forget_context.note(tx, after)
        tx.erase.mark_rows("fact", [*grounds.founded, *grounds.routines])
        for episode_id, left in made.episodes.items():  # before the windows it stood on go
            if left:
                self._episode(kept[episode_id], left)
        deleted = tx.erase.delete()
        if cut:
            vectors = self._embed([window_text(w) for w in cut.values()])
            for window, vector in zip(cut.values(), vectors, strict=True):
                tx.rewrite.window(window, vector)
        for episode_id, left in made.episodes.items():
            if left:
                self._moments(tx.rewrite.episodes.get(episode_id), left, spare[episode_id])
        tx.rewrite.reserve(made.patterns)
        for pattern_id, known in made.patterns.items():
            self._regrow(pattern_id, known, joined[pattern_id])
        tx.rewrite.release()
        forget_context.make_again(tx, grounds, made.episodes, list(made.patterns), self._embed)
        tx.erase.clean()
        return deleted

    def _episode(self, old: Episode, left: list[Window]) -> None:
        """An episode's texts from the windows it still has."""
        texts = episodes.write(left)
        first, last_one = left[0], left[-1]
        episode = replace(
            old,
            t_start=first.t_start,
            t_end=last_one.t_end,
            offset_s=first.offset_s,
            subject=texts.subject,
            summary=texts.summary,
            keywords=texts.keywords,
            description=texts.description,
            place=texts.place,
            first_window=first.id,
            last_window=last_one.id,
            made_by="rules",
        )
        own = "" if episodes.is_empty(left) else patterns.text_of(episode)
        vector = self._embed([own])[0]
        self._tx.rewrite.episode(episode, vector)
        self._vectors[episode.id] = vector

    def _moments(self, episode: Episode, left: list[Window], spare: list[int]) -> None:
        """Its moments, on the ids of those that went: the order of ids stays the order of arrival."""
        if episodes.is_empty(left):
            return
        found = moments.extract(left, episode.place, episode.known, self._memory.moment_ceiling)
        best = sorted(found, key=lambda m: -m.weight)[: len(spare)]
        kept: list[Moment] = [m for m in found if m in best][: len(spare)]
        if not kept:
            return
        vectors = self._embed([m.text for m in kept])
        for moment, vector, number in zip(kept, vectors, spare, strict=False):
            self._tx.moments.add(replace(moment, id=number, episode_id=episode.id), vector)

    def _regrow(self, pattern_id: int, since: int, joined: Sequence[tuple[int, int]]) -> None:
        """The versions of a pattern from `since` on, without the episodes that are gone or have become empty.

        An episode that was rewritten and is no longer like the rest gets a pattern of its own.
        """
        tx = self._tx
        there = any(known < since for _, known in joined)
        for episode_id, known in joined:
            if known < since:
                continue
            left = self._plan.episodes.get(episode_id)
            if left is not None and (not left or episodes.is_empty(left)):
                continue
            episode = tx.rewrite.episodes.get(episode_id)
            snapshot = tx.snapshot(known)
            vector = self._vectors.get(episode_id)
            if vector is None:
                stored = tx.rewrite.episodes.vectors([episode_id])
                vector = stored.get(episode_id, np.zeros(tx.rewrite.dim, dtype=np.float32))
            if not there:
                tx.rewrite.pattern(pattern_id, known)
                patterns.open_with(tx, snapshot, episode, vector, pattern_id)
                there = True
                continue
            found = snapshot.patterns.get(pattern_id)
            own = snapshot.patterns.vectors_of([pattern_id]).get(pattern_id)
            if left is not None and matching.likeness(episode, vector, found, own) < MATCH_AGAIN:
                patterns.open_with(tx, snapshot, episode, vector)
            else:
                patterns.join(tx, snapshot, found, episode, self._embed, self._memory)


def _outside(window: Window, start: int, end: int) -> Window | None:
    """What of a window lies outside [start, end)."""
    if window.t_end <= start or window.t_start >= end:
        return window
    if start <= window.t_start and window.t_end <= end:
        return None

    def out(t: int) -> bool:
        return t < start or t >= end

    left = replace(
        window,
        t_start=end if window.t_start >= start else window.t_start,
        t_end=start if window.t_end <= end else window.t_end,
        captions=tuple(c for c in window.captions if out(c.t)),
        events=tuple(e for e in window.events if out(e.t)),
        texts=tuple(x for x in window.texts if out(x.t)),
        speech=tuple(s for s in window.speech if out(s.t)),
        keyframes=tuple(k for k in window.keyframes if out(k.t)),
        gaps=tuple(g for g in window.gaps if g.t_end <= start or g.t_start >= end),
        description="",
        entities=(),
        scene="",
        device=None,
    )
    share = 1 - (min(end, window.t_end) - max(start, window.t_start)) / (window.t_end - window.t_start)
    left = replace(left, frames=max(1, round(window.frames * share)))
    return left if left.keyframes or not episodes.is_empty([left]) else None


def _without(window: Window, wish: Wish) -> Window:
    """A window without what names a thing or a person; without its pictures where the named may be in them."""
    named = wish.names
    captions = tuple(c for c in window.captions if not named(c.text))
    events = tuple(e for e in window.events if not named(f"{e.subject}. {e.action} {e.object}"))
    texts = tuple(x for x in window.texts if not named(x.text))
    speech = tuple(s for s in window.speech if not (named(s.text) or named(s.speaker)))
    entities = tuple(_bare(e, wish) for e in window.entities if not named(e.name))
    description = "; ".join(p.strip() for p in window.description.split(";") if p.strip() and not named(p))
    scene = "" if named(window.scene) else window.scene
    left = replace(
        window, captions=captions, events=events, texts=texts, speech=speech, entities=entities, scene=scene,
        description=description if named(window.description) else window.description,
    )  # fmt: skip
    if left == window:
        return window
    spoken = replace(left, speech=window.speech) == window  # it was only talked about
    if not spoken or any(named(s.speaker) for s in window.speech):
        left = replace(left, keyframes=())
    return left


def _bare(entity: Entity, wish: Wish) -> Entity:
    where = None if entity.location is not None and wish.names(entity.location) else entity.location
    looks = tuple(a for a in entity.attributes if not wish.names(a))
    return (
        entity
        if (looks, where) == (entity.attributes, entity.location)
        else replace(entity, attributes=looks, location=where)
    )


def _of_cut(made: Plan, window: Window, left: Window | None) -> None:
    """The single rows that a window loses."""
    if left is None:
        return
    for kind in ("captions", "events", "texts", "speech"):
        kept = {x.id for x in getattr(left, kind)}
        made.rows.setdefault("item", []).extend(x.id for x in getattr(window, kind) if x.id not in kept)
    frames = {k.id for k in left.keyframes}
    made.rows.setdefault("keyframe", []).extend(k.id for k in window.keyframes if k.id not in frames)


def _stated(tx: Transaction, made: Plan, wish: Wish) -> list[Intention]:
    """Intentions whose statement goes though their window stays."""
    cut = {i for i, w in made.windows.items() if w is not None}
    if not cut:
        return []
    said = [i for i in tx.rewrite.intentions.all() if i.window_id in cut]
    quotes = {i: {s.text.strip() for s in w.speech} for i, w in made.windows.items() if w is not None}
    return [i for i in said if i.quote not in quotes[i.window_id] or (wish.name and wish.names(i.what))]


def _left_of(tx: Transaction, episode: Episode, made: Plan, wish: Wish) -> list[Window]:
    """The windows an episode still has, as they will be; what was pruned is told by its moments."""
    left = []
    for window in tx.rewrite.trace.span(episode.first_window, episode.last_window):
        if window.recording == episode.recording:
            stays = made.windows.get(window.id, window)
            if stays is not None:
                left.append(stays)
    pruned = tx.rewrite.pruned([w.id for w in left])
    if pruned:
        told: dict[int, list[Caption]] = {}
        for moment in tx.rewrite.moments.of_episode(episode.id):
            gone = wish.start <= moment.t < wish.end if wish.kind == "range" else wish.names(moment.text)
            if moment.window_id in pruned and not gone:
                told.setdefault(moment.window_id, []).append(Caption(moment.t, moment.text.rstrip(".")))
        left = [replace(w, captions=tuple(told.get(w.id, ()))) if w.id in pruned else w for w in left]
    return left


def _seconds(tx: Transaction, made: Plan) -> float:
    """How much time is forgotten."""
    if made.wish.kind != "range":
        return 0.0
    total = tx.rewrite.length([i for i, w in made.windows.items() if w is None])
    for number, left in made.windows.items():
        if left is not None:
            window = made.before[number]
            total += min(window.t_end, made.wish.end) - max(window.t_start, made.wish.start)
    return total / US


def _speechless(dim: int) -> Embed:
    def embed(texts: list[str]) -> Vector:
        return np.zeros((len(texts), dim), dtype=np.float32)

    return embed
