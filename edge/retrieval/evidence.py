"""What a retrieval call returns: pieces of the memory that can be opened again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from storage.context_records import Fact, View
from storage.records import Episode, Item, Keyframe, Moment, Pattern, SeenEntity, Us, Window

Kind: TypeAlias = Literal["window", "moment", "episode", "pattern", "keyframe", "view", "fact", "frame"]

INSTANT_US: Us = 1_000_000  # an event or utterance is a point in time: its evidence lasts a second from there


@dataclass(frozen=True, slots=True)
class Evidence:
    """A piece of the memory: kind and id ("w12", "m3", "e4", "p2", "k9", "v5", "f6"; "now" is a frame that is not stored), its time in microseconds UTC, its text.

    `score` orders the results of one call (higher is better, scales differ between calls); 0 where order is time alone.
    """

    kind: Kind
    id: str
    t_start: Us
    t_end: Us
    text: str
    score: float = 0.0


def of_item(item: Item, score: float = 0.0) -> Evidence:
    """A dated item as the window that holds it, from the item's own time on."""
    text = f"{item.speaker}: {item.text}" if item.kind == "speech" and item.speaker else item.text
    return Evidence("window", f"w{item.window_id}", item.t, item.t + INSTANT_US, text, score)


def of_items(items: Iterable[Item]) -> tuple[Evidence, ...]:
    """Items as evidence, in their order."""
    return tuple(of_item(i) for i in items)


def of_window(window: Window, score: float = 0.0) -> Evidence:
    """A window with its description, or its captions where it has none."""
    text = window.description or "; ".join(c.text for c in window.captions)
    return Evidence("window", f"w{window.id}", window.t_start, window.t_end, text, score)


def of_entity(seen: SeenEntity) -> Evidence:
    """A thing as the window that showed it."""
    looks = ", ".join((*seen.attributes, *([seen.location] if seen.location else [])))
    text = f"{seen.count} x {seen.name}" if seen.count > 1 else seen.name
    return Evidence("window", f"w{seen.window_id}", seen.t_start, seen.t_end, f"{text} ({looks})" if looks else text)


def of_moment(moment: Moment, score: float = 0.0) -> Evidence:
    """A moment at its perceived second."""
    return Evidence("moment", f"m{moment.id}", moment.t, moment.t + INSTANT_US, moment.text, score)


def of_episode(episode: Episode, score: float = 0.0) -> Evidence:
    """An episode with its summary."""
    return Evidence(
        "episode", f"e{episode.id}", episode.t_start, episode.t_end, episode.summary or episode.subject, score
    )


def of_pattern(pattern: Pattern, score: float = 0.0) -> Evidence:
    """A pattern; it has no time of its own, so it stands at the newest observation it rests on."""
    return Evidence(
        "pattern", f"p{pattern.id}", pattern.known, pattern.known, f"{pattern.title}. {pattern.summary}", score
    )


def of_view(view: View, score: float = 0.0) -> Evidence:
    """A view over minutes with its text."""
    return Evidence("view", f"v{view.id}", view.t_start, view.t_end, view.text or view.visual, score)


def of_fact(fact: Fact, score: float = 0.0) -> Evidence:
    """A fact from the first to the last that it rests on."""
    return Evidence("fact", f"f{fact.id}", fact.t_first, max(fact.t_last, fact.t_first), fact.text, score)


def of_keyframe(frame: Keyframe, text: str = "", score: float = 0.0) -> Evidence:
    """A stored frame, with what was seen in it."""
    return Evidence(
        "keyframe", f"k{frame.id}", frame.t, frame.t + INSTANT_US, text or f"frame {frame.width}x{frame.height}", score
    )
