"""Where one episode ends and the next begins, by rules (GROVE, Adaptive Episode Segmentation; constants of table 10).

The deterministic rules are GROVE's: a cut is forced at a recording gap, at a local day change and at the length cap;
no semantic judgement before the open unit holds a minimum of frames; without a judgement the unit goes on.

The semantic judgement is about stable anchors: things, deeds, places, people, labels in force.  While an activity goes
on, the same few come back again and again; where it changes, many come in that had been away for long.  So the two
newest windows are taken together, each of their anchors counts by how long it had been away before them, words that
announce and acts that close add a little, and the sum, the turnover, is held against what this stream's turnover
usually is.  Nothing is learned from other streams and
nothing is read that comes later.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from edge.clock import US, local_day
from edge.config import Growth
from edge.memory.bounds import bounded
from edge.memory.text import content, telling
from storage.records import Window
from storage.vectors import Vector

Cut: TypeAlias = Literal["gap", "day", "cap", "change"]

BLOCK = 2  # newest windows taken together: a change inside the last one shows only once the arriving one is there
HISTORY = 60  # turnovers that tell what is usual in this stream
MIN_HISTORY = 3
USUAL = 0.6  # share of the usual turnovers that a change exceeds
FLOOR = 0.2  # a window of whose anchors less than this share comes in is no change, however calm the stream
CLEAR = (0.5, 4.0)  # share and turnover that make it one before anything is known of the stream
SAME = 0.92  # cosine from which a block tells the same as before in other words
CUE = 0.15  # what each word that announces something new adds, up to three of them, and each act that closes
MAX_LABEL = 24  # words; longer texts tell of much at once and are no label

_CUES = re.compile(
    r"\b(next|now|let['\u2019]?s|go ahead|going to|gonna|want you to|first|last|finally|after that|start)\b",
    re.IGNORECASE,
)
_CLOSING = frozenset(
    content(
        "put return close shut discard throw hang turn switch wash rinse wipe clean dry finish leave flush tidy store pack"
    )
)


@dataclass(frozen=True, slots=True)
class Anchors:
    """What stays while an activity goes on; `vector` has shape (dim,), all zero when nothing was perceived."""

    things: frozenset[str]
    cues: int  # words that announce something new
    closings: int  # acts that close something
    vector: Vector
    t_start: int
    t_end: int

    @property
    def empty(self) -> bool:
        """Nothing perceived: ambiguous, so it never causes a cut."""
        return not self.things


def anchors_of(window: Window, vector: Vector) -> Anchors:
    """The anchors of one window.

    Detectors tell what is there and what changed, not what is done: their sentences are the same whatever goes on, so
    of a light window only the things, the words read, the wearer's deeds and the place are anchors.  Captions count
    where nothing else was perceived.  What is said wanders while an activity goes on; only who is there anchors.
    """
    window = bounded(window)
    light = window.made_by == "light"
    deeds = [e for e in window.events if not light or e.subject == "wearer"]
    found = _words("thing", [e.name for e in window.entities] + [e.object for e in deeds])
    found |= _words("thing", [x.text for x in window.texts if telling(x.text)])
    found |= _words("deed", [e.action for e in deeds])
    found |= _words("place", [window.scene, *(e.location or "" for e in window.entities if not light)])
    found |= {f"who:{s.speaker}" for s in window.speech} - {"who:wearer", "who:other"}
    if not light:
        own = {c.text.strip().lower() for c in window.captions}
        parts = {p.strip() for p in window.description.split(";")}
        found |= _words("label", [p for p in parts if p.lower() not in own and len(p.split()) <= MAX_LABEL])
        if not (window.events or window.entities):
            found |= _words("told", [c.text for c in window.captions] or [window.description])
    cues = sum(len(_CUES.findall(s.text)) for s in window.speech)
    closings = len(_CLOSING.intersection(w for e in deeds for w in content(e.action)))
    return Anchors(frozenset(found), cues, closings, vector, window.t_start, window.t_end)


class Segmenter:
    """Decides on each arriving window; its only state is what earlier windows leave in it, given back by `prime`."""

    def __init__(self, growth: Growth) -> None:
        self._growth = growth
        self._forget = round(growth.cap_s * US)  # away for as long as an episode may last: as good as never seen
        self._decay = growth.anchors * growth.window_s * US
        self._history: deque[float] = deque(maxlen=HISTORY)
        self._latest: deque[Anchors] = deque(maxlen=growth.anchors + BLOCK - 1)
        self._seen: dict[str, int] = {}  # anchor -> end of the last window before the block that had it

    def prime(self, earlier: Iterable[Anchors]) -> bool:
        """Start as if these windows (oldest first) had just passed; false when more are needed to be exact."""
        self._history.clear()
        self._latest.clear()
        self._seen.clear()
        first: int | None = None
        exact = 0
        for anchors in earlier:
            first = anchors.t_start if first is None else first
            whole = self._block(anchors)[0].t_start - first > self._forget
            exact += self.note(anchors) and whole
        return exact >= HISTORY

    def note(self, anchors: Anchors) -> bool:
        """Remember a window, whatever unit it is in; true if it tells what is usual."""
        if self._latest and anchors.t_start - self._latest[-1].t_end > self._growth.gap_s * US:
            for old in self._block(anchors)[:-1]:  # a block does not reach over a gap
                self._leave(old)
            self._latest.clear()
        value = self.turnover(anchors)[0] if len(self._latest) >= BLOCK - 1 else 0.0  # a start tells of no going on
        if value > 0:
            self._history.append(value)
        if len(self._latest) >= BLOCK - 1:
            self._leave(self._latest[-(BLOCK - 1)])
        self._latest.append(anchors)
        if len(self._seen) > 4 * len(anchors.things) + 4096:  # bounded by what an episode can hold
            horizon = anchors.t_start - 2 * self._forget
            self._seen = {thing: t for thing, t in self._seen.items() if t >= horizon}
        return value > 0

    def turnover(self, arriving: Anchors) -> tuple[float, float]:
        """How much comes in with the block that ends in this window, and the share of this window's anchors that does.

        An anchor that had been away for t before the block counts 1 - exp(-t / decay); 0 for an empty window.
        """
        if arriving.empty:
            return 0.0, 0.0
        held = self._block(arriving)
        start = held[0].t_start
        away = {thing: self._away(thing, start) for a in held for thing in a.things}
        total = math.fsum(away.values())  # fsum: the same in any order
        signs = min(3, sum(a.cues for a in held)) + min(3, sum(a.closings for a in held[:-1]))
        share = math.fsum(away[thing] for thing in arriving.things) / len(arriving.things)
        return total * (1 + CUE * signs), share

    @property
    def threshold(self) -> float | None:
        """Turnover from which a window starts a new episode; None while too little is known of the stream."""
        if len(self._history) < MIN_HISTORY:
            return None
        return float(np.quantile(np.asarray(self._history), USUAL))

    def before(
        self, unit: Sequence[tuple[Window, Anchors]], window: Window, anchors: Anchors, limits: Growth | None = None
    ) -> Cut | None:
        """Whether the open unit ends before this window, and why; `limits` hold in place of the profile's own."""
        if not unit:
            return None
        growth, first, last = limits or self._growth, unit[0][0], unit[-1][0]
        if window.recording != last.recording or window.t_start - last.t_end > growth.gap_s * US:
            return "gap"
        if local_day(window.t_start, window.offset_s) != local_day(last.t_start, last.offset_s):
            return "day"
        if window.t_end - first.t_start > growth.cap_s * US:
            return "cap"
        if sum(w.frames for w, _ in unit) < growth.min_frames or len(unit) < BLOCK:
            return None
        value, share = self.turnover(anchors)
        if share < FLOOR or self._same(anchors):
            return None
        usual = self.threshold
        if usual is None:
            return "change" if share >= CLEAR[0] and value >= CLEAR[1] else None
        return "change" if value >= usual else None

    def after(self, unit: Sequence[tuple[Window, Anchors]], limits: Growth | None = None) -> Cut | None:
        """Whether the unit, this window included, has reached the cap."""
        length = unit[-1][0].t_end - unit[0][0].t_start
        return "cap" if length >= math.floor((limits or self._growth).cap_s * US) else None

    def _block(self, arriving: Anchors) -> list[Anchors]:
        return [*list(self._latest)[-(BLOCK - 1) :], arriving]

    def _leave(self, anchors: Anchors) -> None:
        self._seen.update(dict.fromkeys(anchors.things, anchors.t_end))

    def _away(self, thing: str, start: int) -> float:
        last = self._seen.get(thing)
        if last is None or start - last > self._forget:
            return 1.0
        return 1.0 - math.exp(-max(0, start - last) / self._decay)

    def _same(self, arriving: Anchors) -> bool:
        """Whether the arriving window means the same as the recent ones, by their embeddings."""
        before = [a.vector for a in self._latest if a.vector.any()]
        if not before or not arriving.vector.any():
            return False
        old = np.mean(before, axis=0)
        length = float(np.linalg.norm(old)) * float(np.linalg.norm(arriving.vector))
        return length > 0 and float(old @ arriving.vector) / length >= SAME


def _words(kind: str, texts: Iterable[str]) -> set[str]:
    """Content words as anchors of a kind; numbers change all the time and anchor nothing."""
    return {f"{kind}:{w}" for text in texts for w in content(text) if not any(c.isdigit() for c in w)}
