"""The texts of a closed episode, by rules: nothing but what its windows hold, every sentence traceable to them.

Subject of five to ten words, summary of three or four sentences, keywords, a chronological description with times,
names, counts and text (GROVE, Adaptive Episode Segmentation).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from edge.clock import US
from edge.memory.bounds import all_bounded
from edge.memory.text import clock, content, counted, day, headline, listed, sentence, shortened, span, telling, worded
from storage.records import Event, Window

SUBJECT = (5, 10)  # words
MAX_KEYWORDS = 24
MAX_DESCRIPTION = 12_000  # characters
MAX_SUMMARY = 4000
_NAMING = frozenset({"activity", "task", "recipe"})  # last word of an action whose object names what goes on
_ENDED = re.compile(r"^(?:finished|ended|stopped):\s*", re.IGNORECASE)
_STARTS, _ENDS = frozenset({"start", "begin"}), frozenset({"finish", "end", "stop"})


@dataclass(frozen=True, slots=True)
class Texts:
    """What is written about an episode."""

    subject: str
    summary: str
    keywords: tuple[str, ...]
    description: str
    place: str


def write(windows: Sequence[Window]) -> Texts:
    """The texts of an episode that covers these windows (at least one, in order)."""
    windows = all_bounded(windows)
    labels = _labels(windows)
    deeds = _deeds(windows)
    things = _things(windows)
    place = _place(windows)
    return Texts(
        subject=_subject(windows, labels, deeds, things),
        summary=_summary(windows, labels, deeds, things, place),
        keywords=_keywords(labels, deeds, things, windows),
        description=_description(windows),
        place=place,
    )


def is_empty(windows: Sequence[Window]) -> bool:
    """Whether nothing at all was perceived in them."""
    return not any(
        w.captions or w.events or w.texts or w.speech or w.entities or w.description.strip() for w in windows
    )


def names(windows: Sequence[Window]) -> dict[str, float]:
    """Activities that perception names as such ("start activity", "finish task", ...), by seconds in force here."""
    windows = all_bounded(windows)
    held: Counter[str] = Counter()
    running: dict[str, int] = {}
    for window in windows:
        for event in window.events:
            if _names(event):
                name, verb = event.object.strip(), event.action.split()[0]
                if verb in _STARTS:
                    running.setdefault(name, event.t)
                elif verb in _ENDS:
                    held[name] += max(1, round((event.t - running.pop(name, windows[0].t_start)) / US))
    for name, since in running.items():
        held[name] += max(1, round((windows[-1].t_end - since) / US))
    return dict(held)


def _names(event: Event) -> bool:
    """Whether an event's object names an activity."""
    words = event.action.split()
    return len(words) > 1 and words[-1] in _NAMING and bool(event.object.strip())


def _labels(windows: Sequence[Window]) -> Counter[str]:
    """Activities in force, by how long: those named, and the parts of descriptions that are not a window's own captions.

    A part "label: caption" says under which label the caption falls.  Light perception describes what is in view,
    which is no activity.
    """
    found: Counter[str] = Counter()
    for window in windows:
        if window.made_by == "light":
            continue
        own = {c.text.strip().lower() for c in window.captions}
        seconds = max(1, round((window.t_end - window.t_start) / US))
        for part in dict.fromkeys(p.strip() for p in window.description.split(";")):  # in order: the first wins ties
            head, _, rest = part.partition(": ")
            label = head.strip() if rest and rest.strip().lower() in own else part
            if label and (label.lower() not in own or len(windows) == 1) and len(label.split()) <= 24:
                found[label] += seconds
    for name, held in names(windows).items():
        found[name] = max(found[name], round(held))
    return found


def _deeds(windows: Sequence[Window]) -> Counter[str]:
    """What was done: action and object, or whole captions where there are no events; what ended there was done."""
    found: Counter[str] = Counter()
    as_told: dict[str, str] = {}
    for window in windows:
        light = window.made_by == "light"
        if window.events or light:
            events = [e for e in window.events if (not light or e.subject == "wearer") and not _names(e)]
            done = [f"{e.action} {e.object}".strip() for e in events]
        else:
            done = [_ENDED.sub("", c.text).strip().rstrip(".") for c in window.captions]
        found.update(as_told.setdefault(deed.casefold(), deed) for deed in done)
    return found


def _things(windows: Sequence[Window]) -> dict[str, int]:
    """Things seen and the most of each at once, most often seen first."""
    seen: Counter[str] = Counter()
    most: dict[str, int] = {}
    for window in windows:
        for entity in window.entities:
            seen[entity.name] += 1
            most[entity.name] = max(most.get(entity.name, 0), entity.count)
    return {name: most[name] for name, _ in sorted(seen.items(), key=lambda x: (-x[1], x[0]))}


def _place(windows: Sequence[Window]) -> str:
    scenes = Counter(w.scene for w in windows if w.scene)
    return scenes.most_common(1)[0][0] if scenes else ""


def _subject(windows: Sequence[Window], labels: Counter[str], deeds: Counter[str], things: dict[str, int]) -> str:
    if labels:
        main = [label for label, _ in labels.most_common(2)]
        text = headline(main[0], *SUBJECT)
        if len(text.split()) < 5 and len(main) > 1:
            text = headline(f"{text}, {main[1]}", *SUBJECT)
    elif deeds:
        text = headline(", ".join(d for d, _ in deeds.most_common(3)), *SUBJECT)
    elif any(w.speech for w in windows) and not things:
        who = sorted({s.speaker for w in windows for s in w.speech} - {"wearer"})
        said = [s.text for w in windows for s in w.speech]
        words = Counter(x for text in said for x in content(text) if len(x) > 3)
        about = listed(worded((word for word, _ in words.most_common(3)), " ".join(said)), 3)
        text = headline(f"Conversation with {listed(who, 2)}: {about}" if who else f"Speech about {about}", *SUBJECT)
    elif things or any(w.texts for w in windows):
        text = headline(_in_view(windows, things), *SUBJECT)
    else:
        text = "Nothing noticed"
    return sentence(text).rstrip(".")


def _in_view(windows: Sequence[Window], things: dict[str, int]) -> str:
    """The things seen most, and the words that could be read longest."""
    read = Counter(x.text for w in windows for x in w.texts if telling(x.text))
    signs = [text for text, _ in read.most_common(3)]
    return "; ".join(p for p in (listed(things, 4), ", ".join(signs)) if p)


def _summary(
    windows: Sequence[Window], labels: Counter[str], deeds: Counter[str], things: dict[str, int], place: str
) -> str:
    first, last = windows[0], windows[-1]
    where = f" ({place})" if place else ""
    head = f"On {day(first.t_start, first.offset_s)} from {clock(first.t_start, first.offset_s)}"
    parts = [f"{head} for {span(first.t_start, last.t_end)}{where}"]
    if labels:
        parts.append(f"What went on: {listed([label for label, _ in labels.most_common(3)], 3)}")
    if deeds:
        parts.append(f"Mostly: {listed([d for d, _ in deeds.most_common(5)], 5)}")
    seen = [counted(name, n) for name, n in things.items()]
    if seen:
        parts.append(f"In view: {listed(seen, 8)}")
    said = [f"{s.speaker} said: {shortened(s.text, 14)}" for w in windows for s in w.speech]
    if said:
        parts.append(listed(said[:2], 2))
    read = list(dict.fromkeys(x.text for w in windows for x in w.texts if telling(x.text)))
    if read:
        parts.append(f"Text read: {listed(read, 5)}")
    if len(parts) < 3:
        parts.append("Nothing else was noticed" if len(parts) > 1 else "Nothing was noticed")
    return " ".join(sentence(p) for p in parts[:4])[:MAX_SUMMARY]


def _keywords(
    labels: Counter[str], deeds: Counter[str], things: dict[str, int], windows: Sequence[Window]
) -> tuple[str, ...]:
    score: Counter[str] = Counter()
    for label, seconds in labels.items():
        for word in content(label):
            score[word] += 2 + seconds // 30
    for deed, n in deeds.items():
        for word in content(deed):
            score[word] += n
    for name in things:
        for word in content(name):
            score[word] += 1
    for window in windows:
        for said in window.speech:
            score.update(w for w in content(said.text) if len(w) > 3)
        for text in window.texts:
            score.update(content(text.text))
    return tuple(word for word, _ in sorted(score.items(), key=lambda x: (-x[1], x[0]))[:MAX_KEYWORDS])


def _description(windows: Sequence[Window]) -> str:
    lines: list[str] = []
    for window in windows:
        dated: list[tuple[int, int, str]] = [(c.t, 0, c.text.strip()) for c in window.captions]
        told = " ".join(c.text.lower() for c in window.captions)
        for event in window.events:
            if not (event.object and event.object.lower() in told):
                who = "" if event.subject == "wearer" else f"{event.subject} "
                dated.append((event.t, 1, f"{who}{event.action} {event.object}".strip()))
        dated += [(x.t, 2, f"text: {x.text}") for x in window.texts]
        dated += [(s.t, 3, f"{s.speaker}: {s.text}") for s in window.speech]
        lines += [f"{clock(t, window.offset_s)} {text}" for t, _, text in sorted(dated)]
        if not dated and window.description.strip():
            lines.append(f"{clock(window.t_start, window.offset_s)} {window.description.strip()}")
        seen = [
            counted(e.name, e.count)
            + (f" ({', '.join(e.attributes)})" if e.attributes else "")
            + (f" {e.location}" if e.location else "")
            for e in window.entities
        ]
        if seen and not window.captions:
            lines.append(f"{clock(window.t_start, window.offset_s)} in view: {listed(seen, 12)}")
    text = "\n".join(dict.fromkeys(lines))
    if len(text) <= MAX_DESCRIPTION:
        return text
    return text[: max(text.rfind("\n", 0, MAX_DESCRIPTION), 0) or MAX_DESCRIPTION]
