"""What was seen: when, whether, which, how many, how it looked, what stood where; and what was in view with it.

Built on entities (names, counts, looks, places) and captions, so that a memory made by detectors alone answers too.
Each rule gives None where no window lists things, and the question is looked up by its words.
"""

from __future__ import annotations

import re

from edge.agent.draft import Draft, proof
from edge.agent.phrases import sentence, spoken_time, to_you
from edge.agent.question import Query
from edge.agent.scope import Scope
from edge.agent.view import View
from edge.retrieval import kinds, sights, words
from edge.retrieval.evidence import of_entity
from storage.records import Item, SeenEntity

# Places within a frame, as detectors give them; any other location is a place in the world.
_IN_FRAME = re.compile(r"(?:centre|center|top|bottom|left|right|(?:upper|lower) (?:left|right))$")
_VIEW = re.compile(
    r"\b(?:in |within )?(?:my )?(?:view|sight)\b|\bin front of (?:me|us)\b|\baround(?: me| us)?$|\bthere$|\bto (?:be )?see",
    re.I,
)
_PREPOSITION = re.compile(
    r"^(?:on top of|in front of|next to|on|in|at|under|behind|beside|near|by|around|inside|above|below|with) ", re.I
)
MINUTE = 60_000_000
NEAR = 8  # things named at once


def when(view: View, q: Query) -> Draft | None:
    """When a thing was in view last (first, or within the time named)."""
    scope, thing = view.scope(q), q.clause.thing
    first = q.ordinal == "first"
    entity = _ends(view, thing, scope, first=first)
    if entity is not None:
        item = sights.dated(view.snap, entity, first=first)
    else:
        found = view.glimpses(thing, scope)
        if not found:
            said = f"I have not seen {to_you(_indefinite(thing))}{_within(q)}."
            return Draft("time", "never", said, confidence=0.6 if _known(view, thing) else 0.4)
        item = found[0 if first else -1]
    ordinal = f"{q.ordinal} " if q.ordinal else ""
    seen_as = f" ({item.object})" if item.object and _differs(thing, item.object) else ""
    said = f"You {ordinal}saw {to_you(thing)}{seen_as} {spoken_time(view, item.t)}."
    return Draft("time", view.zone.iso(item.t), said, proof([item]), 0.9)


def did(view: View, q: Query) -> Draft | None:
    """Was a thing in view: yes with its last time, or no."""
    scope, thing = view.scope(q), q.clause.thing
    entity = _ends(view, thing, scope, first=False)
    found = [sights.dated(view.snap, entity, first=False)] if entity else view.glimpses(thing, scope)[::-1]
    if not found:
        said = f"No, I have not seen {to_you(_indefinite(thing))}{_within(q)}."
        return Draft("yes_no", "no", said, confidence=0.7 if _known(view, thing) else 0.5)
    item = found[0]
    what = f"{_counted(entity)}, " if entity else ""
    return Draft("yes_no", "yes", f"Yes: {what}{spoken_time(view, item.t)}.", proof(found[:5]), 0.9)


def there(view: View, q: Query) -> Draft | None:
    """Was there such a thing: as `did`, for what this memory would list; None for what only words could tell."""
    return did(view, q) if _known(view, q.clause.thing) else None


def which(view: View, q: Query) -> Draft | None:
    """Which things (of a kind) were in view; the newest first in the evidence, in order of appearance in the value."""
    scope, asked = view.scope(q), q.clause.thing
    low, high = _edges(q, scope)
    view.calls += 1
    last = view.snap.trace.last()
    if low is None and last is not None and kinds.anything(asked):
        low = view.zone.day(view.zone.local(last.t_start).date())[
            0
        ]  # all that was ever seen is no answer: the last day
    entities = sights.seen(view.snap, asked, low, high)
    if q.spans and q.recording is None:
        entities = _on_frames(view, entities, low, high)
    if not entities:
        if not kinds.is_kind(asked):
            return None
        return Draft("text_list", [], f"I have seen no {_plain(asked)}{_within(q)}.", confidence=0.5)
    shown = _last_of_each(entities)
    listed = list(dict.fromkeys(e.name for e in entities))
    told = _told(view, shown, when=len(shown) <= 4 and not q.spans)
    one = len(listed) == 1 and bool(re.match(r"(?:what|which) (?:kind of )?\w+\b", q.text, re.I)) and _singular(asked)
    value: str | list[str] = listed[0] if one else listed[:40]
    evidence = tuple(of_entity(e) for e in sorted(shown, key=lambda e: -e.t_end)[:NEAR])
    return Draft("text" if one else "text_list", value, f"{sentence(told)}.", evidence, 0.85)


def in_view(view: View, q: Query) -> Draft | None:
    """What was on, in or beside something, or in view at all: by the places things were given, else by the same frames."""
    scope, text = view.scope(q), q.clause.text
    low, high = _edges(q, scope)
    view.calls += 1
    place = "" if _VIEW.search(text) else _plain(_PREPOSITION.sub("", text))
    if not place and not scope.named:
        last = view.snap.trace.last()
        if last is None:
            return None
        low, high = last.t_start, last.t_end
    if place:
        located = _located(view, place, low, high)
        if located:
            told = _told(view, located, when=not scope.named)
            names = [e.name for e in located]
            return Draft("text_list", names, f"{sentence(told)}.", tuple(of_entity(e) for e in located[:NEAR]), 0.85)
    if place and not scope.named:
        anchor = _ends(view, place, scope, first=False)
        if anchor is None:
            return None
        low, high = anchor.t_start, anchor.t_end
    entities = [e for e in view.snap.trace.entities(None, low, high) if e.name != sights.HAND]
    entities = _on_frames(view, entities, low, high)
    shown = [e for e in _last_of_each(entities) if not place or kinds.grade(place, e.name) < 3]
    if not shown:
        return None
    told = _told(view, shown, when=False)
    at = "" if scope.named else f", {spoken_time(view, shown[-1].t_start)}"
    said = f"{sentence(told)} {'were' if len(shown) > 1 or shown[0].count > 1 else 'was'} in view{at}"
    said += f"; I cannot tell what of it was {text}." if place else "."
    names = [e.name for e in shown]
    return Draft("text_list", names, said, tuple(of_entity(e) for e in shown[:NEAR]), 0.7 if place else 0.85)


def how_many(view: View, q: Query) -> Draft | None:
    """How many of a thing at once: the most in the time named, else in the last sighting."""
    scope, thing = view.scope(q), q.clause.thing
    view.calls += 1
    low, high = _edges(q, scope)
    entities = sights.seen(view.snap, thing, low, high) if scope.named else sights.newest(view.snap, thing)
    if not entities:
        return None
    run = entities if scope.named else list(sights.sightings(entities)[-1].seen)
    if len({e.name for e in run}) > 1 and kinds.is_kind(thing):
        most = {name: max((e for e in run if e.name == name), key=lambda e: e.count) for name in {e.name for e in run}}
        total = sum(e.count for e in most.values())
        told = ", ".join(_counted(e) for e in most.values())
        return Draft("count", total, f"{total}: {told}.", tuple(of_entity(e) for e in most.values()), 0.7)
    best = max(run, key=lambda e: (e.count, e.t_end))
    said = f"{best.count} at once, {spoken_time(view, best.t_start)}."
    same = [e for e in run if e.count == best.count and e is not best]
    return Draft("count", best.count, said, tuple(of_entity(e) for e in [best, *same[::-1]][:5]), 0.8)


def looks(view: View, q: Query) -> Draft | None:
    """What colour a thing was, or how it looked, by its newest sighting that tells; earlier ones that differ are named."""
    scope, thing = view.scope(q), q.clause.thing
    view.calls += 1
    told = [(e, c) for e in sights.newest(view.snap, thing, scope.start, scope.end) if (c := _looks_of(e, q.unit))]
    if not told:
        return None
    if q.ordinal == "first":
        told = told[::-1]
    entity, value = told[-1]
    said = f"{sentence(value)}, {spoken_time(view, entity.t_start)}"
    other = next(((e, c) for e, c in told[::-1] if c != value), None)
    if other is not None:
        said += f"; {spoken_time(view, other[0].t_start)} I saw one that was {other[1]}"
    evidence = [e for e, c in told[::-1] if c == value][:4] + ([other[0]] if other else [])
    return Draft("text", value, f"{said}.", tuple(of_entity(e) for e in evidence), 0.8)


def last_seen(view: View, q: Query, scope: Scope) -> Draft | None:
    """Where a thing was last in view: its place, what was around it, and when.  For a thing nobody was seen to put down."""
    thing = q.clause.thing
    view.calls += 1
    found = sights.newest(view.snap, thing, scope.start, scope.end)
    if not found:
        return None
    placed = [e for e in found if e.location and not _IN_FRAME.match(e.location)]
    last = max(placed or found, key=lambda e: (e.t_end, e.t_start))
    item = sights.dated(view.snap, last, first=False)
    around = [
        e
        for e in view.snap.trace.entities(None, last.t_start, last.t_end)
        if e.window_id == last.window_id and e.name not in (last.name, sights.HAND)
    ]
    with_it = [e for e in around if sights.shows(item_caption(view, item), e.name)]
    near = with_it or around
    beside = _join([_counted(e) for e in near[:4]])
    at = f"{spoken_time(view, item.t)}"
    if last.location and not _IN_FRAME.match(last.location):
        value: str | None = last.location
        said = f"I last saw {to_you(thing)} {value}, {at}" + (f", with {beside} in view." if beside else ".")
        return Draft("text", value, said, (of_entity(last),), 0.7)
    place = f"{_at(last.location)} of the view" if last.location else ""
    value = ", ".join(p for p in (place, f"with {beside}" if with_it else "") if p)
    said = f"I last saw {to_you(thing)} {at}{', ' if value else ''}{value}"
    said += f"; {beside} came into view soon before or after." if near and not with_it else "."
    if re.search(r"\b(?:put|leave|left|placed?)\b", q.text, re.IGNORECASE):
        said = f"I did not see where it was put. {said}"
    return Draft("text", value or None, said, (of_entity(last), *(of_entity(e) for e in near[:4])), 0.5)


def item_caption(view: View, item: Item) -> str:
    """The caption of the frame an item is dated to; "" where there is none."""
    found = view.snap.trace.items(("caption",), item.t, item.t + 1)
    return next((c.text for c in found if c.window_id == item.window_id), "")


# -- shared ----------------------------------------------------------------------------------------------------------


def _ends(view: View, thing: str, scope: Scope, *, first: bool) -> SeenEntity | None:
    """The first (last) window that lists a thing."""
    view.calls += 1
    if first:
        found = sights.seen(view.snap, thing, scope.start, scope.end)
        return found[0] if found else None
    return max(sights.newest(view.snap, thing, scope.start, scope.end), key=lambda e: e.t_end, default=None)


def _edges(q: Query, scope: Scope) -> tuple[int | None, int | None]:
    """The stretch asked about; a point in time is the window around it."""
    if q.recording is None and len(q.spans) == 1 and q.spans[0].kind == "point":
        return q.spans[0].start, q.spans[0].end
    return scope.start, scope.end


def _on_frames(view: View, entities: list[SeenEntity], low: int | None, high: int | None) -> list[SeenEntity]:
    """Of the entities of windows those that a frame inside [low, high) names; all where the captions name none."""
    if low is None or high is None or high - low > 10 * MINUTE:
        return entities
    captions = view.snap.trace.items(("caption",), low, high)
    kept = [e for e in entities if any(sights.shows(c.text, e.name) for c in captions)]
    return kept or entities


def _located(view: View, place: str, low: int | None, high: int | None) -> list[SeenEntity]:
    """Things whose place names the one asked about, newest of each."""
    wanted = set(words.content(place))
    if not wanted:
        return []
    if low is None:
        last = view.snap.trace.last()
        low = last.t_end - 86_400_000_000 if last else None
    found = [
        e
        for e in view.snap.trace.entities(None, low, high)
        if e.location and not _IN_FRAME.match(e.location) and wanted <= set(words.content(e.location))
    ]
    return _last_of_each(found)


def _last_of_each(entities: list[SeenEntity]) -> list[SeenEntity]:
    """The newest entity of each name, names in order of appearance."""
    last = {e.name: e for e in sorted(entities, key=lambda e: e.t_end)}
    return [last[n] for n in dict.fromkeys(e.name for e in entities)]


def _told(view: View, entities: list[SeenEntity], *, when: bool) -> str:
    shown = [_counted(e) + (f" {spoken_time(view, e.t_start)}" if when else "") for e in entities[:NEAR]]
    rest = len(entities) - len(shown)
    return _join([*shown, *([f"{rest} other things"] if rest else [])])


def _join(parts: list[str]) -> str:
    return ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else "".join(parts)


def _counted(entity: SeenEntity) -> str:
    """As it is said: "an orange and brown cat", "2 bottles"."""
    if entity.count > 1:
        name = entity.name
        plural = {"person": "people", "knife": "knives", "mouse": "mice"}.get(name, "")
        return f"{entity.count} {plural or name + ('es' if name.endswith(('s', 'ch', 'sh')) else 's')}"
    phrase = " ".join(p for p in (" and ".join(_colours(entity)), entity.name) if p)
    return f"{'an' if phrase[:1] in 'aeiou' else 'a'} {phrase}"


def _colours(entity: SeenEntity) -> list[str]:
    return [a for a in entity.attributes if a.lower() in sights.COLOURS]


def _looks_of(entity: SeenEntity, unit: str) -> str:
    colours = _colours(entity)
    if unit.startswith("col"):
        return " and ".join(colours)
    return ", ".join(p for p in (" and ".join(colours), *(a for a in entity.attributes if a not in colours)) if p)


def _at(place: str) -> str:
    """A place within the frame as it is said."""
    if place in ("centre", "center"):
        return "in the centre"
    return f"at the {place}" if place in ("top", "bottom") or " " in place else f"on the {place}"


def _within(q: Query) -> str:
    return f" {q.spans[0].text}" if q.spans else " in that recording" if q.recording else ""


def _plain(thing: str) -> str:
    return re.sub(r"^(?:the|a|an|any|my|our|some) ", "", thing.strip(), flags=re.I)


def _indefinite(thing: str) -> str:
    """As it is denied: "any animals" and "my phone" stay, "cat" gets its article."""
    if re.match(r"(?:the|a|an|any|my|our|your|some|this|that)\b", thing, re.I) or thing.endswith("s"):
        return thing
    return f"{'an' if thing[:1].lower() in 'aeiou' else 'a'} {thing}"


def _singular(asked: str) -> bool:
    tokens = words.tokens(asked)
    return bool(tokens) and not (tokens[-1].endswith("s") and not tokens[-1].endswith("ss"))


def _differs(thing: str, name: str) -> bool:
    return words.thing(thing) != words.thing(name)


def _known(view: View, thing: str) -> bool:
    """Is it a thing that this memory would list if it had been there?"""
    if sights.names_of(view.snap, thing) or kinds.is_kind(thing):
        return True
    last = view.snap.trace.last()
    return last is not None and last.made_by == "light" and kinds.detectable(thing)
