"""What an expert is, and what it is shown: the evidence slots of a screening unit.

A unit is one window as it was committed, with the episodes it closed, or an idle closing: the episode a recording's
end or gap closed, when nobody is being seen.  Everything in it was known at `known`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from edge.clock import US
from edge.memory.bounds import bounded, short
from edge.proactive.acts import doings
from edge.retrieval.words import content
from storage.records import Episode, Intention, Item, Moment, Pattern, Service, Window
from storage.snapshot import Snapshot

UNIT_FLOOR_US = 180 * US  # an episode shorter than this is not screened by itself
UNIT_FALLBACK_US = 600 * US  # an activity longer than this is screened while it goes on
ROUTER = "R"  # the expert that looks after a procedure under way; its services have caps of their own
HANDS_ON = "U"  # the one for a job that no procedure is loaded for; asked only by who wants to hear everything
BEFORE_US = 20 * 60 * US
MAX_MOMENTS = 24
MAX_PATTERNS = 6


@dataclass(frozen=True, slots=True)
class Screening:
    """One screening unit.

    window: the window just committed, as stored (None at an idle closing); previous: the one before it in the same
    recording.  closed: the episodes this window (or the idle closing) closed.  whole: the
    experts that look at whole activities should look now (an episode of some length ended, or one goes on for long).
    """

    known: int
    offset_s: int
    recording: str
    window: Window | None
    previous: Window | None
    closed: tuple[Episode, ...]
    intentions: tuple[Intention, ...]
    whole: bool

    @property
    def resumed(self) -> bool:
        """The window begins a recording, or goes on after a gap."""
        return self.window is not None and (
            self.previous is None or self.window.t_start - self.previous.t_end > 60 * US
        )

    @property
    def query(self) -> str:
        """What memory is asked with: the things and acts just perceived, not a sentence made up about them."""
        if self.window is None:
            return " ".join(k for e in self.closed for k in e.keywords)
        words = [e.name for e in self.window.entities] + [f"{e.action} {e.object}" for e in self.window.events]
        return " ".join(dict.fromkeys(words))


@dataclass(frozen=True, slots=True)
class Past:
    """What the memory holds about the present: fetched only for the units and experts that want it."""

    moments: tuple[Moment, ...]
    patterns: tuple[Pattern, ...]


class Expert(Protocol):
    """Looks at a unit and asks for services.  It keeps nothing that it could not read back from the store."""

    name: str
    types: tuple[str, ...]

    def screen(self, unit: Screening, snapshot: Snapshot) -> list[Service]:
        """The services this unit calls for, at most two; each cites what it rests on and triggers on something seen."""

    def holds(self, service: Service, unit: Screening, snapshot: Snapshot) -> bool:
        """Whether a service that had to wait is still worth saying."""


def past(unit: Screening, snapshot: Snapshot) -> Past:
    """Preceding moments that share something with the present, and the patterns of the episodes around."""
    start = unit.window.t_start if unit.window is not None else unit.known
    wanted = set(content(unit.query))
    before = snapshot.moments.between(start - BEFORE_US, start)
    shared = [m for m in before if wanted & set(content(m.text))][-MAX_MOMENTS:]
    episodes = [e.id for e in unit.closed]
    last = snapshot.episodes.last(unit.recording)
    if last is not None and last.id not in episodes:
        episodes.append(last.id)
    ids = dict.fromkeys(p for e in episodes for p in snapshot.patterns.of_episode(e))
    return Past(tuple(shared), tuple(snapshot.patterns.get(p) for p in list(ids)[:MAX_PATTERNS]))


def items_of(window: Window) -> list[Item]:
    """The dated things of a stored window as items, in time order; a text without end is cut."""
    window = bounded(window)
    wid, offset = window.id, window.offset_s
    found = [Item(c.id, wid, "caption", c.t, offset, c.text) for c in window.captions]
    found += [
        Item(e.id, wid, "event", e.t, offset, f"{e.subject} {e.action} {e.object}", e.subject, e.action, e.object)
        for e in window.events
    ]
    found += [Item(s.id, wid, "speech", s.t, offset, s.text, speaker=s.speaker) for s in window.speech]
    return sorted(found, key=lambda i: (i.t, i.id))


def service(kind: str, t: int, text: str, evidence: Sequence[str], key: str, unit: Screening, expert: str) -> Service:
    """A service of a unit; evidence is cited once each, in the order given."""
    if not t <= unit.known:
        raise ValueError(f"a {kind} would be triggered by the future")
    return Service(kind, t, unit.offset_s, text, tuple(dict.fromkeys(evidence)), key, unit.known, expert)


def seen_doings(
    snapshot: Snapshot, query: str, start: int, end: int, wearer: frozenset[str]
) -> Iterator[tuple[int, str, bool]]:
    """(when, what in words from the verb on, whether the wearer did it) of what a query finds between two times."""
    hits = snapshot.search("item", query, k=20, start=start, end=end)
    for item in map(short, snapshot.trace.items_by_id([h.id for h in hits]).values()):
        for words, mine in doings(item, wearer):
            yield item.t, words, mine


@lru_cache(maxsize=8192)
def stem_set(text: str) -> frozenset[str]:
    """The content words of a text as a set of keys."""
    return frozenset(content(text))
