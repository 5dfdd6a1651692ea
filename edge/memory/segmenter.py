"""Where one episode ends and the next begins, by rules (GROVE, Adaptive Episode Segmentation; constants of table 10).

The deterministic rules are GROVE's: a cut is forced at a recording gap, at a local day change and at the length cap;
no semantic judgement before the open unit holds a minimum of frames; without a judgement the unit goes on.
The semantic judgement compares stable anchors (activity, place, objects, people) of the arriving window with those of
the newest windows of the open unit.  Its threshold adapts to the stream, causally: a window is a boundary when it is
clearly less alike than this stream's windows usually are.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from edge.clock import US, local_day
from edge.config import Growth
from edge.memory.text import content
from storage.records import Window
from storage.vectors import Vector

Cut: TypeAlias = Literal["gap", "day", "cap", "change"]

HISTORY = 60  # windows whose novelty tells what is usual in this stream
MIN_HISTORY = 3
FLOOR = 0.4  # a window more alike than this never starts an episode, however calm the stream
CEILING = 0.88  # a window less alike than this always may
SPREAD = 0.4  # how many deviations above the usual novelty a boundary lies


@dataclass(frozen=True, slots=True)
class Anchors:
    """What stays while an activity goes on; `vector` has shape (dim,), all zero when nothing was perceived."""

    activity: frozenset[str]
    objects: frozenset[str]
    place: frozenset[str]
    people: frozenset[str]
    vector: Vector

    @property
    def empty(self) -> bool:
        """Nothing perceived: ambiguous, so it never causes a cut."""
        return not (self.activity or self.objects or self.place or self.people)


def anchors_of(window: Window, vector: Vector) -> Anchors:
    """The anchors of one window.

    Detectors tell what is there and what changed, not what is done: their sentences are the same whatever goes on, so
    of a light window only the things, the words read and the look of the scene are anchors.
    """
    light = window.made_by == "light"
    deeds = [e for e in window.events if not light or e.subject == "wearer"]
    objects = [e.name for e in window.entities] + [e.object for e in deeds] + [x.text for x in window.texts]
    actions = [e.action for e in deeds]
    if not light:
        actions.append(window.description)
        if not window.events:
            actions += [c.text for c in window.captions]
    places = [window.scene] + ([] if light else [e.location or "" for e in window.entities])
    people = {s.speaker for s in window.speech} - {"wearer", "other"}
    return Anchors(_words(actions), _words(objects), _words(places), frozenset(people), vector)


def novelty(arriving: Anchors, recent: Sequence[Anchors]) -> float | None:
    """How unlike the recent windows the arriving one is, 0 (the same) to 1; None when one side shows nothing.

    Each kind of anchor that both sides have gives the share of the arriving window's anchors that the recent ones
    lack; the embedding gives 1 - cosine.  The mean over what can be compared is the novelty.
    """
    seen = [a for a in recent if not a.empty]
    if arriving.empty or not seen:
        return None
    parts: list[tuple[float, float]] = []
    for name, weight in (("activity", 1.0), ("objects", 1.0), ("place", 0.5), ("people", 0.5)):
        now: frozenset[str] = getattr(arriving, name)
        before: frozenset[str] = frozenset().union(*(getattr(a, name) for a in seen))
        if now and before:
            overlap = len(now & before) / min(len(now), max(1, len(before)))
            parts.append((weight, 1.0 - overlap))
    if arriving.vector.any():
        old = np.mean([a.vector for a in seen if a.vector.any()] or [np.zeros_like(arriving.vector)], axis=0)
        length = float(np.linalg.norm(old)) * float(np.linalg.norm(arriving.vector))
        if length > 0:
            parts.append((1.0, 1.0 - max(0.0, float(old @ arriving.vector) / length)))
    total = sum(w for w, _ in parts)
    return sum(w * n for w, n in parts) / total if total else None


class Segmenter:
    """Decides on each arriving window; its only state is the novelty of earlier windows, given back by `prime`."""

    def __init__(self, growth: Growth) -> None:
        self._growth = growth
        self._history: deque[float] = deque(maxlen=HISTORY)
        self._latest: deque[Anchors] = deque(maxlen=growth.anchors)

    def prime(self, earlier: Iterable[Anchors]) -> bool:
        """Start as if these windows (oldest first) had just passed; false when more are needed to be exact."""
        self._history.clear()
        self._latest.clear()
        exact = 0
        for anchors in earlier:
            full = len(self._latest) == self._latest.maxlen
            exact += self.note(anchors) and full
        return exact >= HISTORY

    def note(self, anchors: Anchors) -> bool:
        """Remember how novel a window was against the ones before it, whatever unit they were in; true if it told."""
        value = novelty(anchors, tuple(self._latest))
        if value is not None:
            self._history.append(value)
        if not anchors.empty:
            self._latest.append(anchors)
        return value is not None

    @property
    def threshold(self) -> float:
        """Novelty from which a window starts a new episode, given what has been usual so far."""
        if len(self._history) < MIN_HISTORY:
            return CEILING
        values = np.asarray(self._history)
        return float(min(CEILING, max(FLOOR, values.mean() + SPREAD * values.std())))

    def before(self, unit: Sequence[tuple[Window, Anchors]], window: Window, anchors: Anchors) -> Cut | None:
        """Whether the open unit ends before this window, and why."""
        if not unit:
            return None
        growth, first, last = self._growth, unit[0][0], unit[-1][0]
        if window.recording != last.recording or window.t_start - last.t_end > growth.gap_s * US:
            return "gap"
        if local_day(window.t_start, window.offset_s) != local_day(last.t_start, last.offset_s):
            return "day"
        if window.t_end - first.t_start > growth.cap_s * US:
            return "cap"
        if sum(w.frames for w, _ in unit) < growth.min_frames:
            return None
        value = novelty(anchors, [a for _, a in unit[-growth.anchors :]])
        return "change" if value is not None and value >= self.threshold else None

    def after(self, unit: Sequence[tuple[Window, Anchors]]) -> Cut | None:
        """Whether the unit, this window included, has reached the cap."""
        length = unit[-1][0].t_end - unit[0][0].t_start
        return "cap" if length >= math.floor(self._growth.cap_s * US) else None


def _words(texts: Iterable[str]) -> frozenset[str]:
    """Content words; numbers change all the time and anchor nothing."""
    return frozenset(w for text in texts for w in content(text) if not any(c.isdigit() for c in w))
