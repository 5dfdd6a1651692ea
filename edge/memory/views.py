"""Views over longer stretches, by rules: what happened and what was seen in 3 minutes, 10 minutes, an hour (EM2Mem, eq. 5).

A stretch begins on the wearer's clock (12:00, 12:03, ...).  Its view is written when the first window after it arrives,
and when the recording stops; if it goes on within the stretch after all, a further version follows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from edge.clock import US
from edge.config import ProfileName
from edge.memory.bounds import all_bounded
from edge.memory.graph import terms
from edge.memory.text import clock, counted, day, listed, sentence, shortened, telling
from storage.context_records import View
from storage.records import Window

SCALES: dict[ProfileName, tuple[int, ...]] = {"wear": (180, 600, 3600), "clip": (10, 30, 180, 600)}  # seconds
MOST = 24  # things, acts, topics and names of one view
TEXT_MAX = 1600  # characters
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)\b[A-Z][\w'\u2019-]+(?:\s+[A-Z][\w'\u2019-]+){0,2}")
_NOT_NAMES = frozenset("I I'm I'll I've I'd OK Ok TV Mr Mrs Ms Dr Wow Hey Yeah Thanks".split())


def block_of(window: Window, scale_s: int) -> int:
    """Where the stretch a window belongs to begins, microseconds UTC."""
    offset, scale = window.offset_s * US, scale_s * US
    return (window.t_start + offset) // scale * scale - offset


def compose(windows: Sequence[Window], scale_s: int, known: int) -> View:
    """The view of a stretch that holds these windows (at least one, in order)."""
    windows = all_bounded(windows)
    first, last = windows[0], windows[-1]
    things = _things(windows)
    return View(
        recording=first.recording,
        scale_s=scale_s,
        t_block=block_of(first, scale_s),
        t_start=first.t_start,
        t_end=last.t_end,
        offset_s=first.offset_s,
        first_window=first.id,
        last_window=last.id,
        text=_text(windows, scale_s),
        visual=_visual(windows, things),
        objects=tuple(things)[:MOST],
        actions=tuple(a for a, _ in _ranked(_acts(windows)))[:MOST],
        topics=tuple(t for t, _ in _ranked(_topics(windows)))[:12],
        speakers=tuple(dict.fromkeys(s.speaker for w in windows for s in w.speech))[:MOST],
        names=names_of(windows),
        known=known,
    )


def text_of(view: View) -> str:
    """What a view is embedded by."""
    return f"{view.text} {', '.join(view.topics)} {', '.join(view.objects[:12])}"[:2000]


def names_of(windows: Iterable[Window]) -> tuple[str, ...]:
    """Proper names and labels to be kept as they stand: who spoke, names that were said, words that were read."""
    found: dict[str, None] = {}
    for window in windows:
        for said in window.speech:
            if said.speaker not in ("wearer", "other", ""):
                found[said.speaker] = None
        for text in (*(s.text for s in window.speech), *(c.text for c in window.captions), window.description):
            for match in _NAME.findall(text):
                if match not in _NOT_NAMES:
                    found[match] = None
        for read in window.texts:
            if telling(read.text) and len(read.text.split()) <= 4:
                found[read.text.strip()] = None
    return tuple(found)[:MOST]


def _text(windows: Sequence[Window], scale_s: int) -> str:
    first, last = windows[0], windows[-1]
    head = f"{day(first.t_start, first.offset_s)}, {clock(first.t_start, first.offset_s)[:5]}"
    places = [p for p, _ in Counter(w.scene for w in windows if w.scene).most_common(3)]
    parts = [f"{head} to {clock(last.t_end, last.offset_s)[:5]}" + (f", {listed(places, 3)}" if places else "")]
    labels = _labels(windows)
    if labels:
        parts.append(f"What went on: {listed([label for label, _ in _ranked(labels)], 4)}")
    deeds = list(dict.fromkeys(d for w in windows for d in _deeds(w)))
    if deeds:
        parts.append(
            f"In order: {', then '.join(_thinned(deeds, 8 if scale_s <= 180 else 14 if scale_s <= 600 else 20))}"
        )
    said = [f'{s.speaker} said "{shortened(s.text, 16)}"' for w in windows for s in w.speech]
    if said:
        parts.append("; ".join(_thinned(said, 3 if scale_s <= 180 else 6)))
    if len(parts) == 1:
        parts.append(
            "Nothing else was noticed" if any(w.entities or w.texts for w in windows) else "Nothing was noticed"
        )
    return " ".join(sentence(p) for p in parts)[:TEXT_MAX]


def _visual(windows: Sequence[Window], things: dict[str, int]) -> str:
    looks: dict[str, str] = {}
    for window in windows:
        for e in window.entities:
            about = " ".join(p for p in (", ".join(e.attributes), e.location or "") if p)
            if about:
                looks.setdefault(e.name, about)
    seen = [counted(n, c) + (f" ({looks[n]})" if n in looks else "") for n, c in list(things.items())[:MOST]]
    read = list(dict.fromkeys(x.text for w in windows for x in w.texts if telling(x.text)))
    parts = [f"Seen: {listed(seen, 14)}"] if seen else []
    if read:
        parts.append("Read: " + listed([f'"{shortened(r, 8)}"' for r in read], 6))
    frames = sum(len(w.keyframes) for w in windows)
    if frames:
        parts.append(f"{frames} frames kept")
    return " ".join(sentence(p) for p in parts)[:TEXT_MAX]


def _labels(windows: Sequence[Window]) -> Counter[str]:
    """Activities in force by seconds: what window descriptions say beyond their captions; light ones tell no activity."""
    found: Counter[str] = Counter()
    for window in windows:
        if window.made_by == "light":
            continue
        own = {c.text.strip().lower() for c in window.captions}
        for part in {p.strip() for p in window.description.split(";")}:
            if part and part.lower() not in own and len(part.split()) <= 24:
                found[part] += max(1, round((window.t_end - window.t_start) / US))
    return found


def _deeds(window: Window) -> list[str]:
    light = window.made_by == "light"
    done = [e for e in window.events if not light or e.subject == "wearer"]
    if done or light:
        return [
            " ".join(p for p in ("" if e.subject == "wearer" else e.subject, e.action, e.object) if p) for e in done
        ]
    return [c.text.strip().rstrip(".") for c in window.captions]


def _things(windows: Sequence[Window]) -> dict[str, int]:
    """Things seen, those in most windows first, with the most of each at once."""
    seen: Counter[str] = Counter()
    most: dict[str, int] = {}
    for window in windows:
        seen.update({e.name for e in window.entities})
        for e in window.entities:
            most[e.name] = max(most.get(e.name, 0), e.count)
    return {name: most[name] for name, _ in _ranked(seen)}


def _acts(windows: Sequence[Window]) -> Counter[str]:
    return Counter(
        e.action for w in windows for e in w.events if e.action and (w.made_by != "light" or e.subject == "wearer")
    )


def _topics(windows: Sequence[Window]) -> Counter[str]:
    """Content words of activities and of what was said, which recur or carry the most."""
    found: Counter[str] = Counter()
    for label, seconds in _labels(windows).items():
        for word in terms(label):
            found[word] += 1 + seconds // 30
    for window in windows:
        for said in window.speech:
            found.update(terms(said.text))
    return found


def _ranked(found: Counter[str]) -> list[tuple[str, int]]:
    return sorted(found.items(), key=lambda x: (-x[1], x[0]))


def _thinned(lines: Sequence[str], most: int) -> list[str]:
    """At most so many lines, evenly spread, the first and the last among them."""
    if len(lines) <= most:
        return list(lines)
    return [lines[round(i * (len(lines) - 1) / (most - 1))] for i in range(most)]
