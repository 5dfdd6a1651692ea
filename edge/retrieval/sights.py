"""When and how things were in view: sightings made of the entities of windows, their exact frames from the captions.

An entity says that a thing was seen in a window, how many at once, how it looked and where; the captions of the window
say in which frames.  Windows that follow each other make one sighting.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from edge.retrieval import kinds, words
from storage.lookup import all_words
from storage.records import Item, SeenEntity, Us
from storage.snapshot import Snapshot

GAP_US = 60_000_000  # out of view no longer than this is still the same sighting
_DAY = 86_400_000_000
MANY = 40  # names beyond which one pass over the windows is cheaper than one for each name
COLOURS = frozenset(
    "red orange yellow green blue purple violet pink brown black white gray grey gold silver beige turquoise".split()
)
HAND = "hand"  # the wearer's own; never listed among the things seen
_PRINTED = "; text reads "  # what follows in a caption was read, not seen


@dataclass(frozen=True, slots=True)
class Sighting:
    """A thing in view from the start of its first window to the end of its last."""

    seen: tuple[SeenEntity, ...]

    @property
    def start(self) -> Us:
        return self.seen[0].t_start

    @property
    def end(self) -> Us:
        return max(e.t_end for e in self.seen)

    @property
    def count(self) -> int:
        """Most at once."""
        return max(e.count for e in self.seen)


def names_of(snapshot: Snapshot, thing: str) -> list[str]:
    """The names in the memory that are the thing asked for, its colour aside when no name holds it."""
    every = [n for n in snapshot.lookup.entity_names() if n != HAND]
    if kinds.anything(thing):
        return every
    return kinds.named(thing, every) or (kinds.named(bare, every) if (bare := _coloured(thing)[1]) else [])


def seen(snapshot: Snapshot, thing: str, start: Us | None, end: Us | None) -> list[SeenEntity]:
    """A thing in the windows that overlap [start, end), in time order; "the blue cup" only where a cup was blue."""
    return _seen(snapshot, thing, names_of(snapshot, thing), start, end)


def _seen(snapshot: Snapshot, thing: str, names: Sequence[str], start: Us | None, end: Us | None) -> list[SeenEntity]:
    if len(names) > MANY:
        wanted = frozenset(names)
        found = [e for e in snapshot.trace.entities(None, start, end) if e.name in wanted]
    else:
        found = [e for n in names for e in snapshot.trace.entities(n, start, end)]
    colours = _coloured(thing)[0]
    if colours:
        found = [e for e in found if colours <= {*words.tokens(e.name), *(a.lower() for a in e.attributes)}]
    return sorted(found, key=lambda e: (e.t_start, e.name))


def newest(snapshot: Snapshot, thing: str, start: Us | None = None, end: Us | None = None) -> list[SeenEntity]:
    """Like `seen`, but only as far back as needed to hold the newest sighting: hours, a day, a month, everything."""
    names = names_of(snapshot, thing)
    last = snapshot.trace.last() if names else None
    if last is None:
        return []
    top = last.t_end if end is None else min(end, last.t_end)
    for back in (_DAY // 8, _DAY, 30 * _DAY):
        low = top - back
        if start is not None and low <= start:
            break
        if found := _seen(snapshot, thing, names, low, end):
            return found
    return _seen(snapshot, thing, names, start, end)


def _coloured(thing: str) -> tuple[frozenset[str], str]:
    """The colours a thing is named with, and its name without them: "my blue cup" -> ({blue}, "cup")."""
    told = words.tokens(thing)
    colours = frozenset(w for w in told if w in COLOURS)
    return colours, " ".join(w for w in told if w not in colours) if colours else ""


def sightings(entities: Iterable[SeenEntity], gap: Us = GAP_US) -> list[Sighting]:
    """Runs of windows that show a thing, in time order; names are not told apart."""
    runs: list[list[SeenEntity]] = []
    end = -(2**62)
    for entity in sorted(entities, key=lambda e: (e.t_start, e.name)):
        if not runs or entity.t_start - end > gap:
            runs.append([])
        runs[-1].append(entity)
        end = max(end, entity.t_end)
    return [Sighting(tuple(run)) for run in runs]


def frames(snapshot: Snapshot, entity: SeenEntity) -> list[Item]:
    """The captions of its window that name the thing, in time order; [] where no caption does."""
    items = snapshot.trace.items(("caption",), entity.t_start, entity.t_end + 1)
    return [i for i in items if i.window_id == entity.window_id and shows(i.text, entity.name)]


def shows(caption: str, name: str) -> bool:
    """Does a caption name a thing (and not only a text in view with that word)?"""
    return set(words.keys(name)) <= set(words.keys(caption.partition(_PRINTED)[0]))


def dated(snapshot: Snapshot, entity: SeenEntity, *, first: bool) -> Item:
    """A thing in a window as a dated item at the first (last) frame that names it, else at the window's start."""
    exact = frames(snapshot, entity)
    item = as_item(entity)
    return replace(item, t=exact[0 if first else -1].t) if exact else item


def as_item(entity: SeenEntity) -> Item:
    """A thing in a window as one dated item at the window's start."""
    looks = ", ".join((*entity.attributes, *([entity.location] if entity.location else [])))
    text = f"{entity.count} x {entity.name}" if entity.count > 1 else entity.name
    text = f"{text} ({looks})" if looks else text
    return Item(0, entity.window_id, "caption", entity.t_start, entity.offset_s, text, "", "see", entity.name)


def captioned(snapshot: Snapshot, thing: str, start: Us | None, end: Us | None, limit: int | None = None) -> list[Item]:
    """Captions that name a thing no window lists, in time order."""
    asked = [w for w in words.tokens(words.same_phrases(thing)) if w not in words.STOPWORDS]
    if not asked:
        return []
    found = snapshot.lookup.matching(all_words(asked), ("caption",), start, end, limit)
    return sorted((i for i in found if shows(i.text, " ".join(asked))), key=lambda i: (i.t, i.id))
