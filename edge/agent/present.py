"""The present first (DESIGN, section 5): "what is this?", "what does it say?", "what am I holding?", "who is talking?".

Answered from a fresh frame where a device runs, else from the newest window and the captions of its last ten seconds;
the memory is hardly searched.  What was seen longer ago is said to be so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from edge.agent.draft import Draft
from edge.agent.phrases import sentence, spoken_time, to_you
from edge.agent.question import Query
from edge.agent.view import View
from edge.perception.hands import HAND, NEAR_HAND
from edge.perception.words import counted, listed
from edge.retrieval import sights
from edge.retrieval.evidence import Evidence, of_items, of_window
from storage.records import Entity, Item, Us, Window

Matter: TypeAlias = Literal["clock", "day", "read", "hold", "talk", "doing", "person", "see"]

RECENT_US: Us = 10_000_000
STALE_US: Us = 60_000_000  # what was seen longer ago is no present any more, and is told with its time
HELD_US: Us = 120_000_000  # how far back an act may have put a thing into the hand
_TAKES = frozenset("take grab pick hold lift get carry fetch".split())
_PUTS = frozenset("put place drop leave set hang throw return insert".split())

_MATTERS: tuple[tuple[Matter, str], ...] = (
    ("clock", r"\bwhat (?:time is it|is the time)\b"),
    ("day", r"\bwhat (?:day|date) is (?:it|today)\b|\bwhich day is (?:it|today)\b"),
    ("read", r"\b(?:says?|reads?|written|printed|text|writing|label)\b"),
    ("hold", r"\b(?:holding|hold|in my hands?|carrying)\b"),
    ("talk", r"\b(?:talking|speaking|saying|voice)\b"),
    ("doing", r"\b(?:doing|happening|going on)\b"),
    ("person", r"^who\b"),
)


def matter_of(text: str) -> Matter:
    """What about the present a question asks for."""
    low = text.lower()
    return next((matter for matter, pattern in _MATTERS if re.search(pattern, low)), "see")


def now(view: View, q: Query) -> Draft | None:
    """Answer from what is there now."""
    matter = matter_of(q.text)
    local = view.zone.local(view.now)
    if matter == "clock":
        return Draft("clock", f"{local:%H:%M}", f"It is {local:%H:%M}.", confidence=0.99)
    if matter == "day":
        return Draft("date", local.date().isoformat(), f"It is {local:%A}, {local.day} {local:%B %Y}.", confidence=0.99)
    fresh = view.look(q.text, read=matter == "read", listen=matter == "talk")
    view.calls += 1
    if fresh is not None:
        if fresh.said:
            return Draft("text", fresh.said, fresh.said, (_seen_now(fresh.window),), 0.75)
        draft = _of_window(view, matter, fresh.window, (_seen_now(fresh.window),), 0.85)
        if draft is not None:
            return draft
    last = view.snap.trace.last()
    if last is None:
        return Draft("text", None, "I don't know: nothing has been recorded yet.", confidence=0.2)
    items = view.snap.trace.items(("caption", "event", "text", "speech"), last.t_end - 3 * RECENT_US, last.t_end + 1)
    recent = [i for i in items if i.t >= last.t_end - RECENT_US] or items
    draft = _of_items(view, matter, last, recent, items)
    if draft is None:
        nothing = "I see nothing that tells." if matter != "talk" else "nobody was heard just now."
        return Draft("text", None, f"I don't know: {nothing}", (of_window(last),) if last.captions else (), 0.2)
    age = view.now - last.t_end
    if age > STALE_US:
        said = f"When I last looked, {spoken_time(view, last.t_end)}: {draft.answer[:1].lower()}{draft.answer[1:]}"
        return Draft(draft.kind, draft.value, said, draft.evidence, 0.45)
    return draft


def _seen_now(window: Window) -> Evidence:
    text = window.description or "; ".join(f"{s.speaker}: {s.text}" for s in window.speech)
    return Evidence("frame", "now", window.t_start, window.t_end, text)


def _of_window(view: View, matter: Matter, window: Window, proof: tuple[Evidence, ...], sure: float) -> Draft | None:
    """What a fresh look tells; None where it tells nothing of the matter."""
    if matter == "read":
        lines = [x.text for x in window.texts]
        return Draft("text", " ".join(lines), f'It says: "{" / ".join(lines)}".', proof, sure) if lines else None
    if matter == "talk":
        if not window.speech:
            return None
        last = window.speech[-1]
        return Draft("text", last.speaker, f'{_who(last.speaker)}: "{last.text}".', proof, sure)
    if matter == "hold":
        return _held(view, window.entities, proof, sure)
    things = [e for e in window.entities if e.name != HAND]
    if matter == "person":
        people = [e for e in things if e.name == "person"]
        if not people:
            return Draft("text", "nobody", "I see nobody.", proof, sure)
        return Draft("text", "person", f"{sentence(_named(people[0]))}; I do not know who.", proof, 0.5)
    if not things and not window.texts:
        return None
    ranked = sorted(
        things, key=lambda e: (NEAR_HAND not in e.attributes, "centre" not in (e.location or ""), e.name == "person")
    )
    told = listed(_named(e) for e in ranked[:4]) if ranked else ""
    read = f' It says "{window.texts[0].text}".' if window.texts and matter == "see" else ""
    value = ranked[0].name if ranked else window.texts[0].text
    return Draft("text", value, (f"I see {told}." if told else "I see writing.") + read, proof, sure if ranked else 0.6)


def _of_items(view: View, matter: Matter, last: Window, recent: Sequence[Item], items: Sequence[Item]) -> Draft | None:
    """What the newest window tells."""
    if matter in ("read", "talk"):
        kind = "text" if matter == "read" else "speech"
        chosen = [i for i in items if i.kind == kind]
        if not chosen:
            return None
        item = chosen[-1]
        said = f'{_who(item.speaker)}: "{item.text}".' if matter == "talk" else f'It says: "{item.text}".'
        return Draft("text", item.speaker if matter == "talk" else item.text, said, of_items(chosen[::-1][:5]), 0.7)
    if matter == "hold":
        held = _held(view, last.entities, (of_window(last),), 0.7)
        if held is not None and held.value is not None:
            return held
        return _taken(view, last) or held
    if matter == "person":
        return _of_window(view, matter, last, (of_window(last),), 0.6) if last.entities else None
    acts = [i for i in recent if i.kind == "event"]
    captions = [i for i in recent if i.kind == "caption"]
    chosen = (acts or captions) if matter == "doing" else (captions or acts)
    if not chosen:
        return None
    item = chosen[-1]
    return Draft("text", item.text, f"{sentence(to_you(item.text)).rstrip('.')}.", of_items(chosen[::-1][:5]), 0.6)


def _held(view: View, entities: Sequence[Entity], proof: tuple[Evidence, ...], sure: float) -> Draft | None:
    """What lies near the hand; that the hands are empty where one is seen and nothing near it."""
    del view
    near = [e for e in entities if NEAR_HAND in e.attributes and e.name not in (HAND, "person")]
    if near:
        return Draft("text", near[0].name, f"{sentence(listed(_named(e) for e in near[:3]))}.", proof, sure)
    if any(e.name == HAND for e in entities):
        return Draft("text", None, "I see your hand, but nothing in it that I know.", proof, 0.5)
    return None


def _taken(view: View, last: Window) -> Draft | None:
    """The thing of the newest act that took one, unless a later act put it away."""
    acts = view.snap.trace.items(("event",), last.t_end - HELD_US, last.t_end + 1)
    for item in reversed(acts):
        verb = item.action.split(" ")[0].lower()
        if verb in _TAKES and item.object:
            gone = [
                i for i in acts if i.t >= item.t and i.action.split(" ")[0].lower() in _PUTS and i.object == item.object
            ]
            if not gone:
                return Draft("text", item.object, f"{sentence(to_you(item.object))}.", of_items([item]), 0.65)
    return None


def _named(entity: Entity) -> str:
    return counted(entity.name, entity.count, [a for a in entity.attributes if a in sights.COLOURS])


def _who(speaker: str) -> str:
    return {"wearer": "You", "other": "Somebody else"}.get(speaker.lower(), sentence(speaker) or "Somebody")
