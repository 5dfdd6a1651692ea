"""Plain true sentences from what was seen: captions, a window's description, its scene.  No word beyond a measurement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from edge.perception.hands import HAND, NEAR_HAND
from edge.perception.looks import Light, at_place
from edge.perception.registry import APPEARS, LEAVES, MOVED, View
from edge.perception.things import Thing
from storage.records import Entity, Event

_IRREGULAR = {"knife": "knives", "wine glass": "wine glasses", "sandwich": "sandwiches", "bench": "benches",
              "couch": "couches", "toothbrush": "toothbrushes", "mouse": "mice", "sheep": "sheep", "bus": "buses",
              "skis": "skis", "scissors": "scissors"}  # fmt: skip
_CHANGES = {APPEARS: "comes into view", LEAVES: "leaves the view", MOVED: "moves; it is "}
_LONGEST_LINES = 6  # lines of text in one caption
_SCENE_THINGS = 3


def plural(name: str) -> str:
    """The plural of a COCO name."""
    return _IRREGULAR.get(name, name + "s")


def counted(name: str, count: int, attributes: Sequence[str] = ()) -> str:
    """As it stands in a sentence: a white cup, 2 chairs, an oven."""
    colours = [a for a in attributes if " " not in a]
    if count > 1:
        return f"{count} {plural(name)}"
    phrase = " and ".join(colours) + (" " if colours else "") + name
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"


def caption(view: View, *, text: bool = True) -> str:
    """One sentence for one frame; without its `text` for a frame that repeats the view: a clock runs on in a still scene."""
    parts = []
    for name, group in _by_name(view.things).items():
        best = group[0]
        phrase = counted(name, len(group), best.attributes)
        if len(group) == 1 and best.place:
            phrase += f" {at_place(best.place)}"
        if any(NEAR_HAND in t.attributes for t in group):
            phrase += f" {NEAR_HAND}" if len(group) == 1 else f" (one {NEAR_HAND})"
        parts.append(phrase)
    seen = ", ".join(parts) if parts else nothing(view)
    return _sentence(seen + (f"; text reads {_quoted(view.lines)}" if text and view.lines else ""))


def nothing(view: View) -> str:
    """What can be said of a frame in which nothing was recognised."""
    light = view.light
    words = [w for w in (light.word, f"mostly {light.colour}" if light.colour else "") if w]
    start = "nothing recognised" if view.looked else "no detector looked"
    return f"{start}; the picture is {' and '.join(words)}" if words else start


def description(
    entities: Sequence[Entity], events: Sequence[Event], lines: Sequence[str], views: Sequence[View]
) -> str:
    """A few sentences for a window: what was in view, what changed, what could be read."""
    sentences = []
    if entities:
        sentences.append(_sentence("in view: " + listed(_entity(e) for e in entities)))
    elif views:
        sentences.append(_sentence(nothing(views[-1])))
    for event in events:
        change = _CHANGES.get(event.action)
        if change is not None:
            sentences.append(
                _sentence(f"the {event.subject} {change}" + (at_place(event.object) if event.object else ""))
            )
    if lines:
        sentences.append(_sentence(f"text reads {_quoted(lines)}"))
    return " ".join(sentences)


def scene(lights: Sequence[Light], names_by_frame: Sequence[Iterable[str]]) -> str:
    """A few words for the surroundings: light, main colour, the things seen in most frames."""
    if not lights:
        return ""
    words = Counter(light.word for light in lights).most_common(1)[0][0]
    colour = Counter(light.colour for light in lights).most_common(1)[0][0]
    counts = Counter(name for names in names_by_frame for name in set(names) if name not in (HAND, "person"))
    common = [n for n, c in sorted(counts.items(), key=lambda x: (-x[1], x[0])) if 2 * c >= len(lights)]
    parts = [w for w in (words, f"mostly {colour}" if colour else "") if w]
    if common:
        parts.append("with " + listed(counted(n, 1) for n in common[:_SCENE_THINGS]))
    return ", ".join(parts)


def listed(parts: Iterable[str]) -> str:
    """Joined as in a sentence: a, b and c."""
    words = list(parts)
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1] if words else ""


def _entity(entity: Entity) -> str:
    phrase = counted(entity.name, entity.count, entity.attributes)
    if entity.count == 1 and entity.location:
        phrase += f" {at_place(entity.location)}"
    return phrase + (f" {NEAR_HAND}" if NEAR_HAND in entity.attributes else "")


def _by_name(things: Sequence[Thing]) -> dict[str, list[Thing]]:
    groups: dict[str, list[Thing]] = {}
    for thing in things:
        groups.setdefault(thing.name, []).append(thing)
    return groups


def _quoted(lines: Sequence[str]) -> str:
    shown = ", ".join(f'"{line}"' for line in lines[:_LONGEST_LINES])
    return shown + (" and more" if len(lines) > _LONGEST_LINES else "")


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."
