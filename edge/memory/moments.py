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
from edge.memory.text import content, counted, lemma, sentence, telling
from storage.records import Moment, Role, Window

FLOOR = 5
SAME_S = 60  # seconds within which a repeat is the same thing, unless less happens than is asked for
STILL_S = 30  # seconds after which a label that is still in force may be told again
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
    "still": 0.15,
    "figure": 0.2,
}
_CHANGE = frozenset(
    content(
        "put place leave take turn open close switch start stop lock unlock plug unplug pour cut buy pay break drop spill "
        "drink eat enter exit arrive give receive hide finish assemble disassemble attach detach mistake error"
    )
)
_ENDS = frozenset(map(lemma, "finish finished end ended stop stopped".split()))
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
    return math.ceil(duration_us / US / _delta_s(duration_us))


def _delta_s(duration_us: int) -> int:
    """Seconds between two moments, on average, that are asked of an episode of that length."""
    minutes = duration_us / US / 60
    return 5 if minutes <= 5 else 10 if minutes <= 15 else 20


def extract(windows: Sequence[Window], place: str, known: int, ceiling: int) -> list[Moment]:
    """The moments of an episode that covers these windows, in time order; ids and episode ids are still 0."""
    windows = all_bounded(windows)
    length = windows[-1].t_end - windows[0].t_start
    wanted = target(length)
    things = distinct(windows)
    rarity = Counter(w for thing in things for w in set(content(thing.text)))
    weights = {thing: _weight(thing, rarity, len(things)) for thing in things}

    def more(among: Sequence[_Thing], most: int) -> None:
        """As many more of these as are wanted, the weightiest first; what is told already is not told again."""
        told = {(thing.t, thing.text) for thing in weights}
        new = {t: _weight(t, rarity, len(things)) for t in among if (t.t, t.text) not in told}
        best = sorted(new, key=lambda t: (-new[t], t.t, t.text))[: max(0, most - len(weights))]
        weights.update((t, new[t]) for t in best)

    if len(weights) < wanted:  # less happened than is asked for: what was done again and what went on is told too
        more(distinct(windows, again_s=_delta_s(length)), wanted)
    if len(weights) < FLOOR:  # so few that what was merged is told apart again
        texts = {thing.text for thing in weights}
        more([thing for thing in distinct(windows, merge=False) if thing.text not in texts], FLOOR)
    most = min(ceiling, max(FLOOR, math.floor(1.5 * wanted)))
    kept = sorted(weights, key=lambda t: (-weights[t], t.t))[:most]
    return [
        Moment(
            episode_id=0,
            window_id=thing.window.id,
            t=thing.t,
            offset_s=thing.window.offset_s,
            text=sentence(thing.text),
            keywords=tuple(dict.fromkeys(content(thing.text)))[:8],
            role=_role(weights[thing]),
            weight=round(weights[thing], 3),
            category=_category(thing),
            place=thing.window.scene or place,
            known=known,
        )
        for thing in sorted(kept, key=lambda t: (t.t, t.text))
    ]


def distinct(windows: Sequence[Window], *, merge: bool = True, again_s: int = SAME_S) -> list[_Thing]:
    """The distinct things perceived in these windows in time order.

    With `merge` a repeat within `again_s` is the same thing, and so are an event and the caption that tells it; where
    repeats count sooner than usual, so does a label that is still in force.  Without, whatever differs in its words is a
    thing of its own.  A time is that of the item perceived, or of the window for what is true of it as a whole.
    """
    things: list[_Thing] = []
    latest: dict[str, int] = {}

    def add(t: int, window: Window, kind: str, text: str) -> None:
        key = (_key(text) if merge else "") or text.strip().lower()
        if not key:
            return
        before = latest.get(key)
        latest[key] = t
        if before is None or t - before > again_s * US:
            things.append(_Thing(t, window, kind, text.strip()))

    seen: set[str] = set()
    in_force: dict[str, int] = {}  # label -> when it was told last
    for window in windows:
        light = window.made_by == "light"  # its captions list what is in view, its description sums them up
        told_as = "view" if light else "caption"
        labels = [] if light else [p.strip() for p in window.description.split(";") if p.strip()]
        under = _under(window, labels)
        told = [(c.t, c.text.lower()) for c in window.captions]
        dated: list[tuple[int, int, str, str]] = [
            (c.t, 1, told_as, under.get(c.text.strip().lower(), "") + c.text) for c in window.captions
        ]
        for e in window.events:
            near = [text for t, text in told if abs(t - e.t) <= US]
            if not merge or not (e.object and any(e.object.lower() in text for text in near)):
                who = "" if e.subject == "wearer" else e.subject
                dated.append((e.t, 2, "event", " ".join(p for p in (who, e.action, e.object) if p)))
        dated += [(x.t, 3, "text" if telling(x.text) else "figure", f'Text reads "{x.text}"') for x in window.texts]
        dated += [(s.t, 4, "speech", f'{s.speaker} said: "{s.text}"') for s in window.speech]
        for t, _, kind, text in sorted(dated):
            add(t, window, kind, text)
        for label in labels:
            name = label.lower()
            times = [t for t, text in told if name in text]
            if name.partition(": ")[2] in under or len(label.split()) > 24:
                continue  # its captions are told under it, or it is a text that tells of much at once
            if name not in in_force:
                add(window.t_start, window, "label", label)
            elif again_s < SAME_S and not times and window.t_start - in_force[name] >= STILL_S * US:
                things.append(_Thing(window.t_start, window, "still", f"Still: {label}"))
            elif not times:
                continue
            in_force[name] = max([window.t_start, *times])
        for entity in window.entities:
            if entity.name not in seen:
                seen.add(entity.name)
                look = f"{', '.join(entity.attributes)} " if entity.attributes else ""
                at = f" {entity.location}" if entity.location else ""
                thing = counted(look + entity.name, entity.count)
                if not merge or not any(entity.name.lower() in text for _, text in told):
                    add(window.t_start, window, "entity", f"{thing}{at} in view")
    return sorted(things, key=lambda x: (x.t, x.text))


def _under(window: Window, labels: Sequence[str]) -> dict[str, str]:
    """Captions of a window by the label it puts them under ("breakfast: opens the fridge"), as a beginning."""
    own = {c.text.strip().lower() for c in window.captions}
    found = {}
    for label in labels:
        head, _, rest = label.partition(": ")
        if rest.lower() in own:
            found[rest.lower()] = f"{head}: "
    return found


def _key(text: str) -> str:
    """What makes two texts one: their content words; that something ended is another thing than that it began."""
    words = text.split(maxsplit=1)
    ends = bool(words) and lemma(words[0].strip(":")) in _ENDS
    return " ".join(content(text)) + (" /" if ends else "")


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
