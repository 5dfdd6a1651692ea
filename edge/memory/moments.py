"""Moments of a closed episode, by rules: adaptive density, perceived times, roles and weights (GROVE eq. 4).

Target ceil(duration / delta), delta 5 s up to 5 min, 10 s to 15 min, 20 s beyond; up to 1.5 times the target; at least
min(5, distinct things perceived), for none is made up; at most 200.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from edge.clock import US
from edge.memory.bounds import all_bounded
from edge.memory.text import content, counted, sentence, telling
from storage.records import Moment, Role, Window

FLOOR = 5
CORE_WEIGHT = 0.7
CONTEXT_WEIGHT = 0.45

# What makes a moment more than a detail, by kind of thing perceived
_KIND_WEIGHT = {
    "speech": 0.62,
    "text": 0.55,
    "event": 0.45,
    "caption": 0.45,
    "label": 0.6,
    "entity": 0.3,
    "view": 0.25,
    "figure": 0.2,
}
_CHANGE = frozenset(
    content(
        "put place leave take turn open close switch start stop lock unlock plug unplug pour cut buy pay break drop spill "
        "drink eat enter exit arrive give receive hide finish assemble disassemble attach detach mistake error"
    )
)
_CATEGORY = (
    ("safety", frozenset(content("knife blade hot flame fire boil spill slip smoke sharp"))),
    ("resource", frozenset(content("open turn on off close switch plug unplug stove oven tap fridge light door save"))),
    ("intention", frozenset(content("remind remember forget must need promise later tomorrow"))),
    ("habit", frozenset(content("drink eat water coffee meal breakfast lunch dinner sit walk phone sleep"))),
    ("procedure", frozenset(content("step attach detach assemble insert screw mix add measure stir press"))),
)


@dataclass(frozen=True, slots=True)
class _Thing:
    """One distinct perceived thing: where it was seen first, how often."""

    t: int
    window: Window
    kind: str
    text: str


def target(duration_us: int) -> int:
    """How many moments are asked of an episode of that length."""
    minutes = duration_us / US / 60
    delta = 5 if minutes <= 5 else 10 if minutes <= 15 else 20
    return math.ceil(duration_us / US / delta)


def extract(windows: Sequence[Window], place: str, known: int, ceiling: int) -> list[Moment]:
    """The moments of an episode that covers these windows, in time order; ids and episode ids are still 0."""
    windows = all_bounded(windows)
    things = distinct(windows)
    if len(things) < FLOOR:  # so few that what was merged is told apart again
        known_texts = {thing.text for thing in things}
        rest = [thing for thing in distinct(windows, merge=False) if thing.text not in known_texts]
        things = sorted(things + rest[: FLOOR - len(things)], key=lambda x: (x.t, x.text))
    wanted = target(windows[-1].t_end - windows[0].t_start)
    most = min(ceiling, max(min(FLOOR, len(things)), math.floor(1.5 * wanted)))
    rarity = Counter(w for thing in things for w in set(content(thing.text)))
    weighed = [(_weight(thing, rarity, len(things)), thing) for thing in things]
    kept = sorted(weighed, key=lambda x: (-x[0], x[1].t))[:most]
    moments = []
    for weight, thing in sorted(kept, key=lambda x: (x[1].t, x[1].text)):
        moments.append(
            Moment(
                episode_id=0,
                window_id=thing.window.id,
                t=thing.t,
                offset_s=thing.window.offset_s,
                text=sentence(thing.text),
                keywords=tuple(dict.fromkeys(content(thing.text)))[:8],
                role=_role(weight),
                weight=round(weight, 3),
                category=_category(thing),
                place=thing.window.scene or place,
                known=known,
            )
        )
    return moments


def distinct(windows: Sequence[Window], *, merge: bool = True) -> list[_Thing]:
    """The distinct things perceived in these windows in time order.

    With `merge` a repeat within a minute is the same thing, and so are an event and the caption that tells it;
    without, whatever differs in its words is a thing of its own.
    """
    things: list[_Thing] = []
    latest: dict[str, int] = {}

    def add(t: int, window: Window, kind: str, text: str) -> None:
        key = (" ".join(content(text)) if merge else "") or text.strip().lower()
        if not key:
            return
        before = latest.get(key)
        latest[key] = t
        if before is None or t - before > 60 * US:
            things.append(_Thing(t, window, kind, text.strip()))

    seen: set[str] = set()
    for window in windows:
        light = window.made_by == "light"  # its captions list what is in view, its description sums them up
        told_as = "view" if light else "caption"
        dated: list[tuple[int, int, str, str]] = [(c.t, 1, told_as, c.text) for c in window.captions]
        told = [(c.t, c.text.lower()) for c in window.captions]
        for e in window.events:
            near = [text for t, text in told if abs(t - e.t) <= US]
            if not merge or not (e.object and any(e.object.lower() in text for text in near)):
                who = "" if e.subject == "wearer" else e.subject
                dated.append((e.t, 2, "event", " ".join(p for p in (who, e.action, e.object) if p)))
        dated += [(x.t, 3, "text" if telling(x.text) else "figure", f'Text reads "{x.text}"') for x in window.texts]
        dated += [(s.t, 4, "speech", f'{s.speaker} said: "{s.text}"') for s in window.speech]
        for t, _, kind, text in sorted(dated):
            add(t, window, kind, text)
        for part in [] if light else window.description.split(";"):
            label = part.strip()
            if label and label not in seen and len(label.split()) <= 24:
                seen.add(label)
                add(window.t_start, window, "label", label)
        for entity in window.entities:
            if entity.name not in seen:
                seen.add(entity.name)
                look = f"{', '.join(entity.attributes)} " if entity.attributes else ""
                at = f" {entity.location}" if entity.location else ""
                thing = counted(look + entity.name, entity.count)
                if not merge or not any(entity.name.lower() in text for _, text in told):
                    add(window.t_start, window, "entity", f"{thing}{at} in view")
    return sorted(things, key=lambda x: (x.t, x.text))


def _weight(thing: _Thing, rarity: Counter[str], total: int) -> float:
    own = set(content(thing.text))
    rare = max((1.0 - rarity[w] / max(1, total) for w in own), default=0.0)
    change = 0.15 if own & _CHANGE else 0.0
    number = 0.05 if any(c.isdigit() for c in thing.text) else 0.0
    return min(1.0, _KIND_WEIGHT[thing.kind] + 0.2 * rare + change + number)


def _role(weight: float) -> Role:
    if weight >= CORE_WEIGHT:
        return "core"
    return "context" if weight < CONTEXT_WEIGHT else "detail"


def _category(thing: _Thing) -> str:
    own = set(content(thing.text))
    for name, words in _CATEGORY:
        if own & words:
            return name
    return thing.kind if thing.kind in ("speech", "text") else "event"
