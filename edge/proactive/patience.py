"""What the wearer's patience allows at a moment: the settings, what was wished since, and what is going on around.

`Wishes` is a value the arbiter reads: the settings file overridden by the newest wishes in the memory, with what was
learned from how alerts were taken.  `Around` is the moment: where, with whom, in which power mode, who is talking.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, cast, get_args

from edge.clock import US
from edge.config import Alerts, Frequency, Quiet
from edge.proactive.patience_learning import Leaning, leanings, waved_away
from edge.retrieval.words import content
from storage.patience import Wish
from storage.records import Service
from storage.snapshot import Snapshot

FOREVER_US = 2**61
SnoozeKind: TypeAlias = Literal["type", "person", "place", "all"]


@dataclass(frozen=True, slots=True)
class Snooze:
    """Silence for one type, person or place until a monotonic time, microseconds.

    It was wished until a wall time; inside a session it runs on the monotonic clock, so that a clock that is set can
    neither end it early nor make it last longer than was asked for.
    """

    kind: SnoozeKind
    what: str
    until_mono: int


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is in force.  `hush_mono`: do-not-disturb lasts until then, monotonic microseconds; None: it is off.

    leaning: what was learned about each type; waved: (type, key) -> monotonic time until which that thing was waved away.
    """

    frequency: Frequency = "normal"
    quiet: Quiet = field(default_factory=Quiet)
    hush_mono: int | None = None
    snoozes: tuple[Snooze, ...] = ()
    leaning: Mapping[str, Leaning] = field(default_factory=dict)
    waved: Mapping[tuple[str, str], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Around:
    """The moment of a decision.

    place: the scene the wearer is in; people: who is heard or seen there, lower case.  mode: the power mode, and least:
    the least priority it lets through.  busy: why nobody should be spoken to right now, "" when one may.
    pause: a natural break, at which what was held back may be told.
    """

    place: str = ""
    people: frozenset[str] = frozenset()
    mode: str = ""
    least: int = 0
    busy: str = ""
    pause: bool = False


NOWHERE = Around()


def plain(settings: Alerts | Wishes) -> Wishes:
    """Settings alone as wishes."""
    return settings if isinstance(settings, Wishes) else Wishes(settings.frequency, settings.quiet)


def wishes_of(snapshot: Snapshot, settings: Alerts, now: int, mono: int) -> Wishes:
    """The wishes in force at a moment: those of the memory where there are any, else the settings'."""
    found = plain(settings)
    snoozes: list[Snooze] = []
    for wish in snapshot.patience.wishes():
        if not wish.value:
            continue
        if wish.kind == "frequency" and wish.value in get_args(Frequency):
            found = replace(found, frequency=cast("Frequency", wish.value))
        elif wish.kind == "quiet":
            found = replace(found, quiet=quiet_in(wish.value))
        elif wish.kind == "do-not-disturb" and (until := _until(wish, now, mono)) > mono:
            found = replace(found, hush_mono=until)
        elif wish.kind == "snooze" and (until := _until(wish, now, mono)) > mono:
            kind, _, what = wish.target.partition(":")
            snoozes.append(Snooze(cast("SnoozeKind", kind), what.lower(), until))
    feedback = snapshot.patience.feedback(now - 400 * 86_400 * US)
    waved = {thing: mono + end - now for thing, end in waved_away(feedback).items() if end > now}
    return replace(found, snoozes=tuple(snoozes), leaning=leanings(feedback, now), waved=waved)


def snoozed(service: Service, wishes: Wishes, around: Around, mono: int) -> Snooze | None:
    """The snooze that holds a service back: of its type, of somebody or a place it is about or that is around."""
    for snooze in wishes.snoozes:
        if mono >= snooze.until_mono:
            continue
        if snooze.kind == "type":
            hit = service.type == snooze.what
        elif snooze.kind == "person":
            hit = snooze.what in around.people or _named(snooze.what, service)
        else:
            hit = _within(snooze.what, around.place) or _named(snooze.what, service)
        if hit:
            return snooze
    return None


def quiet_in(text: str) -> Quiet:
    """Quiet hours as a wish keeps them."""
    return Quiet.model_validate(json.loads(text))


def quiet_out(quiet: Quiet) -> str:
    """The other way round."""
    return json.dumps(quiet.model_dump(), sort_keys=True)


def _until(wish: Wish, now: int, mono: int) -> int:
    """The monotonic end of a wish; never later than it was asked for, whatever became of the clock."""
    if wish.until is None:
        return FOREVER_US
    return mono + min(wish.until - now, wish.until - wish.t)


def _named(what: str, service: Service) -> bool:
    wanted = set(content(what))
    return bool(wanted) and wanted <= set(content(f"{service.text} {service.key}"))


def _within(what: str, place: str) -> bool:
    wanted = set(content(what))
    return bool(wanted) and wanted <= set(content(place))
