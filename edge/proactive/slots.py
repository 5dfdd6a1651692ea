"""The evidence slots of a unit in words (GROVE section 3.3): what a model expert is shown, each line with its reference.

Asked of memory with the things and acts just perceived, not with a sentence a model made up: `written` takes the other
way, for comparison (GROVE tables 16 and 17).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edge.clock import US, local
from edge.proactive.experts import Screening, items_of, past
from edge.retrieval.words import content
from storage.records import Item, Window
from storage.snapshot import Snapshot

UNIT_US = 180 * US  # the present of a unit
NOW_LINES, BEFORE_LINES, MET_LINES, OPEN_LINES, PATTERN_LINES = 20, 8, 3, 5, 4
CHARS = 110  # of one line
LINK_US, RECALL_US = 2 * 3600 * US, 600 * US
SINCE = (("drank", "drink sip"), ("ate", "eat meal"), ("sat down", "sit down"), ("walked", "walk"), ("slept", "sleep"))
STATE_US = 6 * 3600 * US
SLOTS = ("moments", "patterns", "intentions", "links", "recalls", "state", "activity")


@dataclass(frozen=True, slots=True)
class Evidence:
    """now: the perceived items that a service may be anchored to, in time order; lines: the other slots as
    (reference, words); text: all of it as the model reads it; procedure: whether one is followed.
    """

    now: tuple[Item, ...]
    lines: tuple[tuple[str, str], ...]
    text: str
    procedure: bool = False

    @property
    def words(self) -> frozenset[str]:
        """Every content word that stands in the evidence."""
        return frozenset(content(self.text))


def gather(
    unit: Screening,
    snapshot: Snapshot,
    without: frozenset[str] = frozenset(),
    written: str = "",
    course: Sequence[str] = (),
) -> Evidence:
    """The slots of a unit as known at its time.

    `without` leaves slots out (see SLOTS).  `written` replaces the query made of what is perceived.  `course` tells where
    the wearer is in the procedure that is followed, a line each.
    """
    window = unit.window
    if window is None:
        return Evidence((), (), "")
    recent = [
        w
        for w in snapshot.trace.windows(window.t_end - UNIT_US, window.t_end + 1)
        if w.recording == unit.recording and w.known <= unit.known
    ]
    now = _told([i for w in (recent or [window]) for i in _items(w)])[-NOW_LINES:]
    query = written or _query(recent or [window])
    start = now[0].t if now else window.t_start
    parts: list[tuple[str, list[tuple[str, str]]]] = []
    if "activity" not in without:
        parts.append(("This activity", _activity(unit, snapshot)))
    found = past(unit, snapshot)
    if "moments" not in without:
        parts.append(("Shortly before", [(f"m{m.id}", m.text) for m in found.moments[-BEFORE_LINES:]]))
    if "patterns" not in without:
        told = [(f"p{p.id}", f"{p.title} ({p.kind}, seen {p.recurrence or 1} times)") for p in found.patterns]
        parts.append(("What recurs", told[:PATTERN_LINES]))
    if "recalls" not in without:
        parts.append(("Earlier today", _met(query, start - 18 * RECALL_US, start - RECALL_US, snapshot, window)))
    if "links" not in without:
        parts.append(("Met before", _met(query, start - 36 * LINK_US, start - LINK_US, snapshot, window)))
    if "intentions" not in without:
        open_ = [(f"i{i.id}", f"{_clock(i.t, i.offset_s)} {i.quote}") for i in unit.intentions[-OPEN_LINES:]]
        parts.append(("Meant to", open_))
    if "state" not in without:
        parts.append(("Since", _state(window, snapshot)))
    numbered = [f"{n}. {_clock(i.t, i.offset_s)} {_line(i)}" for n, i in enumerate(now, 1)]
    text = [f"Now, {local(window.t_end, window.offset_s):%A %H:%M}:", *numbered, *map(_cut, course)]
    lines = []
    for title, rows in parts:
        if rows:
            text.append(f"{title}:")
            text += [f"[{ref}] {_cut(words)}" if ref else _cut(words) for ref, words in rows]
            lines += [(ref, _cut(words)) for ref, words in rows if ref]
    return Evidence(tuple(now), tuple(lines), "\n".join(text), procedure=bool(course))


def _items(window: Window) -> list[Item]:
    read = [Item(x.id, window.id, "text", x.t, window.offset_s, x.text) for x in window.texts]
    return sorted([*items_of(window), *read], key=lambda i: (i.t, i.id))


def _told(items: Sequence[Item]) -> list[Item]:
    """The items of a unit, each doing once."""
    seen: set[str] = set()
    kept = []
    for item in items:
        words = _line(item)
        if words not in seen:
            seen.add(words)
            kept.append(item)
    return kept


def _query(windows: Sequence[Window]) -> str:
    words = [e.name for w in windows for e in w.entities]
    words += [f"{e.action} {e.object}" for w in windows for e in w.events]
    return " ".join(dict.fromkeys(words))[:400]


def _activity(unit: Screening, snapshot: Snapshot) -> list[tuple[str, str]]:
    episode = unit.closed[-1] if unit.closed else snapshot.episodes.last(unit.recording)
    return [] if episode is None else [(f"e{episode.id}", f"{episode.subject}. {episode.summary}")]


def _met(query: str, start: int, end: int, snapshot: Snapshot, window: Window) -> list[tuple[str, str]]:
    """What is most like the present in an earlier span."""
    if not query:
        return []
    hits = snapshot.search("item", query, k=MET_LINES, start=start, end=end)
    items = snapshot.trace.items_by_id([h.id for h in hits])
    rows = [items[h.id] for h in hits if h.id in items and items[h.id].window_id != window.id]
    return [(f"o{i.id}", f"{_clock(i.t, i.offset_s, window)} {_line(i)}") for i in sorted(rows, key=lambda i: i.t)]


def _state(window: Window, snapshot: Snapshot) -> list[tuple[str, str]]:
    """Minutes since the wearer was last seen doing what habits are about."""
    told = []
    for name, words in SINCE:
        hits = snapshot.search("item", words, k=5, start=window.t_end - STATE_US, end=window.t_end)
        items = snapshot.trace.items_by_id([h.id for h in hits])
        asked = set(content(words))
        seen = [i.t for i in items.values() if i.kind in ("event", "caption") and asked & set(content(_line(i)))]
        if seen:
            told.append(("", f"{name} {(window.t_end - max(seen)) // (60 * US)} min ago"))
    return told


def _line(item: Item) -> str:
    if item.kind == "speech":
        return f'{item.speaker or "somebody"} said "{item.text}"'
    if item.kind == "event":
        return f"{item.action} {item.object}".strip()
    return f'text in view "{item.text}"' if item.kind == "text" else item.text


def _cut(words: str) -> str:
    return " ".join(words.split())[:CHARS]


def _clock(t: int, offset_s: int, now: Window | None = None) -> str:
    moment = local(t, offset_s)
    if now is not None and moment.date() != local(now.t_end, now.offset_s).date():
        return f"{moment:%a %H:%M}"
    return f"{moment:%H:%M:%S}" if now is None else f"{moment:%H:%M}"
