"""What of a window the memory's words are made from: all of it, but of a text without end only its beginning.

The trace keeps every text whole.  A megabyte of caption or speech is no statement anybody made, and what is derived from
it (moments, facts, graph, embeddings) must not grow with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from storage.records import Item, Window

MOST = 4000  # characters of one text; the longest real ones have a few hundred


def bounded(window: Window) -> Window:
    """The window itself, unless a text in it is too long."""
    w = window
    longest = max(
        len(w.description),
        len(w.scene),
        *(len(x.text) for items in (w.captions, w.texts, w.speech) for x in items),
        *(len(s.speaker) for s in w.speech),
        *(len(e.subject) + len(e.action) + len(e.object) for e in w.events),
        *(len(e.name) + len(e.location or "") + sum(map(len, e.attributes)) for e in w.entities),
    )
    if longest <= MOST:
        return window
    return replace(
        w,
        description=w.description[:MOST],
        scene=w.scene[:MOST],
        captions=tuple(replace(c, text=c.text[:MOST]) for c in w.captions),
        texts=tuple(replace(x, text=x.text[:MOST]) for x in w.texts),
        speech=tuple(replace(s, text=s.text[:MOST], speaker=s.speaker[:MOST]) for s in w.speech),
        events=tuple(
            replace(e, subject=e.subject[:MOST], action=e.action[:MOST], object=e.object[:MOST]) for e in w.events
        ),
        entities=tuple(
            replace(
                e,
                name=e.name[:MOST],
                attributes=tuple(a[:MOST] for a in e.attributes[:MOST]),
                location=e.location[:MOST] if e.location else e.location,
            )
            for e in w.entities
        ),
    )


def short(item: Item) -> Item:
    """The item itself, unless a text in it is too long."""
    if max(len(item.text), len(item.subject), len(item.action), len(item.object), len(item.speaker)) <= MOST:
        return item
    return replace(
        item,
        text=item.text[:MOST],
        subject=item.subject[:MOST],
        action=item.action[:MOST],
        object=item.object[:MOST],
        speaker=item.speaker[:MOST],
    )


def all_bounded(windows: Iterable[Window]) -> list[Window]:
    """Each window bounded."""
    return [bounded(w) for w in windows]
