"""From the views of one window to its registry: entities with exact counts, and dated events.

What was there before the window is read from the windows before it (`carry_of`), never from memory of our own: a run
that stops after any window and begins again goes on with the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import cv2
import numpy as np
import numpy.typing as npt

from edge.clock import US
from edge.perception.hands import HAND, NEAR_HAND, SURE_HAND
from edge.perception.looks import Light
from edge.perception.pixels import Gray
from edge.perception.text import new_lines
from edge.perception.things import Thing
from storage.records import Entity, Event, SeenText, Window

APPEARS, LEAVES, MOVED, SEEN, HAND_NEAR = "appears", "leaves", "moved", "seen", "hand near"
TEXT, WEARER = "text", "wearer"
CARRY_WINDOWS = 3  # windows that tell what was there before
CARRY_GAP_US = 60 * US  # after a longer pause nothing is known to be there still
ABSENT_VIEWS = 2  # perceived frames in a row without a thing, before it is said to have left
CONFIRMING_VIEWS = 2  # frames that must show a thing that is not seen strongly
STRONG_MARGIN = 0.05  # above object_score: one frame is enough
MOVED_SHARE = 0.12  # of the frame's longer side, beyond what the camera moved
SAME_SIZE = 1.5  # how much a box may grow between two frames and still be the same thing in the same view
STEADY_GRAY = 9.0  # median gray difference between two pictures laid over each other: more is not the same view


@dataclass(frozen=True, slots=True)
class View:
    """One perceived frame.  `weak` are names seen too weakly to state; `looked` is false when the detector failed."""

    t: int
    width: int
    height: int
    things: tuple[Thing, ...]
    weak: frozenset[str]
    lines: tuple[str, ...]
    light: Light
    thumb: Gray
    looked: bool = True

    @property
    def names(self) -> frozenset[str]:
        """Names of the things stated."""
        return frozenset(t.name for t in self.things)


@dataclass(frozen=True, slots=True)
class Carry:
    """What the windows before say: whether there were any, what was in view at their end, what could be read."""

    known: bool = False
    present: frozenset[str] = frozenset()
    lines: tuple[str, ...] = ()


def carry_of(windows: Sequence[Window], recording: str, t_start: int) -> Carry:
    """Read the state at `t_start` from the newest windows, oldest first."""
    chain: list[Window] = []
    begin = t_start
    for window in reversed(windows[-CARRY_WINDOWS:]):
        if window.recording != recording or begin - window.t_end > CARRY_GAP_US:
            break
        chain.insert(0, window)
        begin = window.t_start
    present: set[str] = set()
    for window in chain:
        present |= {e.name for e in window.entities}
        last = {e.subject: e.action for e in sorted(window.events, key=lambda e: e.t) if e.action in (APPEARS, LEAVES)}
        present -= {name for name, action in last.items() if action == LEAVES}
    return Carry(bool(chain), frozenset(present), tuple(x.text for w in chain for x in w.texts))


def confirm(views: Sequence[View], carry: Carry, object_score: float) -> list[View]:
    """Take out things seen once and not strongly: a texture looks like a bird for one frame."""
    frames: dict[str, int] = {}
    best: dict[str, float] = {}
    for view in views:
        for name in view.names:
            frames[name] = frames.get(name, 0) + 1
        for thing in view.things:
            best[thing.name] = max(best.get(thing.name, 0.0), thing.score)
    sure = {
        name
        for name, n in frames.items()
        if n >= CONFIRMING_VIEWS
        or best[name] >= object_score + STRONG_MARGIN
        or name in carry.present
        or (name == HAND and best[name] >= SURE_HAND)
    }
    return [
        replace(v, things=tuple(t for t in v.things if t.name in sure), weak=v.weak | (v.names - sure)) for v in views
    ]


def entities_of(views: Sequence[View]) -> tuple[Entity, ...]:
    """Every thing of the window: most at once, looks of its clearest sight, place of its last one."""
    found: list[tuple[float, Entity]] = []
    for name in sorted({n for v in views for n in v.names}):
        groups = [g for v in views if (g := [t for t in v.things if t.name == name])]
        best = max((t for g in groups for t in g), key=lambda t: t.score)
        near = any(NEAR_HAND in t.attributes for g in groups for t in g)
        attributes = [a for a in best.attributes if a != NEAR_HAND] + ([NEAR_HAND] if near else [])
        count = max(len(g) for g in groups)
        found.append((-best.score, Entity(name, count, tuple(attributes), groups[-1][0].place or None)))
    return tuple(e for _, e in sorted(found, key=lambda x: (x[0], x[1].name)))


def events_of(views: Sequence[View], carry: Carry) -> tuple[Event, ...]:
    """Dated events of the window in time order."""
    seen = [v for v in views if v.looked]
    names = sorted(({n for v in seen for n in v.names} | carry.present) - {HAND})
    events = [event for name in names for event in _presence(name, seen, carry)]
    for before, after in pairwise(seen):
        events += _moves(before, after)
    events += _near_hand(seen)
    events += _read(views, carry)
    return tuple(sorted(events, key=lambda e: (e.t, e.subject, e.action, e.object)))


def texts_of(views: Sequence[View]) -> tuple[SeenText, ...]:
    """Lines verbatim, each when it is new against the frame before."""
    rows: list[SeenText] = []
    before: tuple[str, ...] = ()
    for view in views:
        rows += [SeenText(view.t, line) for line in new_lines(view.lines, before)]
        before = view.lines
    return tuple(rows)


def camera_shift(before: Gray, after: Gray) -> tuple[float, float] | None:
    """How far the picture as a whole moved, in thumbnail pixels (x, y); None when the two are not one view.

    A shift found by phase correlation is believed only when the two pictures, laid over each other with it, agree.
    """
    if before.shape != after.shape:
        return None
    a, b = before.astype(np.float32), after.astype(np.float32)
    if float(np.median(cv2.absdiff(a, b))) <= STEADY_GRAY:
        return 0.0, 0.0
    # OpenCV multiplies what it is given by the window, in place: it gets copies.
    (dx, dy), _ = cv2.phaseCorrelate(a.copy(), b.copy(), cv2.createHanningWindow(a.shape[::-1], cv2.CV_32F))
    height, width = a.shape
    x, y = round(dx), round(dy)
    if abs(x) > width // 2 or abs(y) > height // 2:
        return None
    over_a = a[max(0, -y) : height - max(0, y), max(0, -x) : width - max(0, x)]
    over_b = b[max(0, y) : height - max(0, -y), max(0, x) : width - max(0, -x)]
    agrees = float(np.median(cv2.absdiff(np.ascontiguousarray(over_a), np.ascontiguousarray(over_b)))) <= STEADY_GRAY
    return (float(dx), float(dy)) if agrees else None


def _presence(name: str, views: Sequence[View], carry: Carry) -> list[Event]:
    events: list[Event] = []
    present, missing, first_missing = name in carry.present, 0, 0
    for i, view in enumerate(views):
        if name in view.names:
            if not present and (i > 0 or carry.known):
                events.append(Event(view.t, name, APPEARS, ""))
            present, missing = True, 0
        elif name in view.weak:
            missing = 0
        elif present:
            missing += 1
            first_missing = view.t if missing == 1 else first_missing
            if missing == ABSENT_VIEWS:
                events.append(Event(first_missing, name, LEAVES, ""))
                present, missing = False, 0
    return events


def _moves(before: View, after: View) -> list[Event]:
    shift = camera_shift(before.thumb, after.thumb)
    if shift is None:
        return []
    scale = max(after.width, after.height) / max(after.thumb.shape)
    events = []
    for name in sorted((before.names & after.names) - {HAND}):
        old, new = ([t for t in v.things if t.name == name] for v in (before, after))
        if len(old) != 1 or len(new) != 1:
            continue  # which of several it was cannot be told
        (ox, oy, ow, oh), (nx, ny, nw, nh) = _middle(old[0]), _middle(new[0])
        if max(ow / nw, nw / ow, oh / nh, nh / oh) > SAME_SIZE:
            continue
        way = np.hypot(nx - ox - shift[0] * scale, ny - oy - shift[1] * scale)
        if way > MOVED_SHARE * max(after.width, after.height):
            events.append(Event(after.t, name, MOVED, new[0].place))
    return events


def _near_hand(views: Sequence[View]) -> list[Event]:
    events = []
    touching: frozenset[str] = frozenset()
    for view in views:
        now = frozenset(t.name for t in view.things if NEAR_HAND in t.attributes)
        events += [Event(view.t, WEARER, HAND_NEAR, name) for name in sorted(now - touching)]
        touching = now
    return events


def _read(views: Sequence[View], carry: Carry) -> list[Event]:
    events: list[Event] = []
    known = list(carry.lines)
    for view in views:
        new = new_lines(view.lines, known)
        known += new
        events += [Event(view.t, TEXT, SEEN, line) for line in new]
    return events


def _middle(thing: Thing) -> npt.NDArray[np.float64]:
    x0, y0, x1, y1 = thing.box
    return np.array([(x0 + x1) / 2, (y0 + y1) / 2, max(1.0, x1 - x0), max(1.0, y1 - y0)])
