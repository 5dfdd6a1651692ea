"""Written text as a reader remembers it: boards of lines that come and go together, and clocks that run.

A frame is the lines read in one picture.  Lines that share most of their frames stand on one board ("BUY MILK", "AND EGGS");
what stands there only in passing belongs to another.  A line that says a time or a date, or whose figures change from
frame to frame, is a clock (a counter, a timer), never a sign.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from edge.agent.view import View
from edge.perception.text import same_line
from edge.retrieval import words
from storage.records import Item, Us

CHUNK = 500  # texts read at once, newest first
CHUNKS = 6
ENOUGH = 12  # frames with words, beyond which no older ones are read
TOGETHER = 0.6  # share of their frames two lines must have in common to be one board
RUNS = 4  # readings of one shape that differ ...
STEADY = 1.5  # ... in nearly as many frames as there are readings: a running clock
FRAME_US = 1_000_000

_READS = re.compile(r"\btext reads \"(?P<lines>.*)\"(?P<more> and more)?\.?$", re.DOTALL)
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    rf"\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{2,4}}|{_MONTH}\.? ?\d{{1,2}},? ?\d{{4}}|\d{{1,2}}\.? ?{_MONTH},? ?\d{{4}}",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"\d{1,3}(?:[:;.]\d{2}){1,3}(?:[:;.,]\d{1,3})?|\d{1,2} ?[ap]\.?m\b", re.IGNORECASE)
_BESIDE = re.compile(
    r"\b(?:[ap]\.?m|utc|gmt|cet|z|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?)\b", re.I
)


@dataclass(frozen=True, slots=True)
class Frame:
    """The lines read in one picture, in reading order; the item that dates them, and what else the picture showed."""

    t: Us
    lines: tuple[str, ...]
    item: Item
    shows: str = ""


@dataclass(frozen=True, slots=True)
class Board:
    """Lines that stand together, in reading order, and the frames that show any of them, oldest first."""

    lines: tuple[str, ...]
    frames: tuple[Frame, ...]

    @property
    def text(self) -> str:
        return " ".join(self.lines)


def dated(line: str) -> bool:
    """Does a line say a date and nothing else?"""
    return _DATE.search(line) is not None and not _rest(_DATE.sub(" ", line))


def clock_like(line: str) -> bool:
    """Does a line say a time or a date and nothing else ("13;20;00;12", "Tue 09:30", "April 16,2024")?"""
    bare = _CLOCK.sub(" ", _DATE.sub(" ", line))
    return bare != line and not _rest(bare)


def _rest(text: str) -> str:
    return re.sub(r"[^0-9a-z]", "", _BESIDE.sub(" ", text).lower())


def wordy(line: str) -> bool:
    """Does a line hold a word?"""
    return re.search(r"[^\W\d_]{2,}", line) is not None


def read(view: View, low: Us | None, high: Us | None, topic: Sequence[str] = ()) -> list[Frame]:
    """The newest frames with text in [low, high), and those whose text shares a word with a topic; oldest first."""
    items: dict[int, Item] = {}
    top = high
    for _ in range(CHUNKS):
        view.calls += 1
        found = view.snap.lookup.newest(("text",), low, top, CHUNK)
        items.update((i.id, i) for i in found)
        if len(found) < CHUNK or len({i.t for i in items.values() if _said(i.text)}) >= ENOUGH:
            break
        top = found[-1].t
    for word in topic:
        view.calls += 1
        for t, item_id, kind in view.snap.lookup.times_of(word, low, high, 100):
            if kind == "text" and item_id not in items:
                items.update((i.id, i) for i in view.snap.trace.items(("text",), t, t + 1))
    return _frames(view, items.values())


def _said(line: str) -> bool:
    return wordy(line) and not clock_like(line)


def _frames(view: View, items: Iterable[Item]) -> list[Frame]:
    """Texts by their instant; where a caption tells all the lines of its picture, those."""
    at: dict[tuple[int, Us], list[Item]] = {}
    for item in sorted(items, key=lambda i: (i.t, i.id)):
        at.setdefault((item.window_id, item.t), []).append(item)
    if not at:
        return []
    captions: dict[tuple[int, Us], Item] = {}
    for low, high in _stretches(sorted({t for _, t in at})):
        captions.update(((c.window_id, c.t), c) for c in view.snap.trace.items(("caption",), low, high + 1))
    found = [_frame(group, captions.get(place)) for place, group in at.items()]
    windows = {place[0] for place in at}
    for place, caption in captions.items():  # a picture with nothing new to read still shows its lines
        if place not in at and place[0] in windows and (lines := _lines(caption.text)):
            found.append(Frame(caption.t, lines, caption, caption.text.partition("; text reads")[0]))
    return sorted(found, key=lambda f: (f.t, f.item.id))


def _stretches(times: Sequence[Us], gap: Us = 120_000_000) -> list[tuple[Us, Us]]:
    found: list[tuple[Us, Us]] = []
    for t in times:
        if found and t - found[-1][1] <= gap:
            found[-1] = (found[-1][0], t)
        else:
            found.append((t, t))
    return [(low, high + 30_000_000) for low, high in found]


def _frame(group: list[Item], caption: Item | None) -> Frame:
    told = tuple(i.text for i in group)
    lines = _lines(caption.text) if caption is not None else ()
    lines = (*lines, *(x for x in told if x not in lines))
    shows = caption.text.partition("; text reads")[0] if caption is not None else ""
    best = max(group, key=lambda i: (_said(i.text), -i.id))
    return Frame(group[0].t, lines, best, shows)


def _lines(caption: str) -> tuple[str, ...]:
    m = _READS.search(caption)
    return tuple(m.group("lines").split('", "')) if m is not None else ()


def running(frames: Sequence[Frame]) -> frozenset[str]:
    """The shapes (figures as zeros) of lines that change in nearly every frame."""
    readings: dict[str, Counter[str]] = {}
    for frame in frames:
        for line in frame.lines:
            if any(c.isdigit() for c in line):
                readings.setdefault(shape(line), Counter())[line] += 1
    return frozenset(s for s, n in readings.items() if len(n) >= RUNS and n.total() <= STEADY * len(n))


def shape(line: str) -> str:
    """A line with its figures made equal: "Lap 12" and "Lap 7" have one shape."""
    return re.sub(r"\d+", "0", line)


def clocks_of(frame: Frame, shapes: frozenset[str]) -> list[str]:
    """The clock-like lines of a frame, the date before the time."""
    found = [x for x in frame.lines if clock_like(x) or shape(x) in shapes]
    return sorted(found, key=lambda x: not dated(x))


def boards(frames: Sequence[Frame]) -> list[Board]:
    """The boards in some frames, clocks left out, by their last frame, newest first."""
    shapes = running(frames)
    lines: list[str] = []  # the fullest reading of each line
    where: list[set[int]] = []
    order: dict[str, int] = {}
    for n, frame in enumerate(frames):
        for text in frame.lines:
            if clock_like(text) or shape(text) in shapes:
                continue
            if text not in order:
                order[text] = next((k for k, known in enumerate(lines) if _same(known, text)), len(lines))
                if order[text] == len(lines):
                    lines.append(text)
                    where.append(set())
                elif len(text) > len(lines[order[text]]):
                    lines[order[text]] = text
            where[order[text]].add(n)
    group = list(range(len(lines)))
    for a, b in _pairs(frames, order):
        if len(where[a] & where[b]) >= TOGETHER * len(where[a] | where[b]):
            old, new = group[b], group[a]
            group = [new if g == old else g for g in group]
    found = []
    for g in dict.fromkeys(group):
        members = [k for k in range(len(lines)) if group[k] == g]
        shown = sorted(set().union(*(where[k] for k in members)))
        best = max(shown, key=lambda n: (len({order.get(x) for x in frames[n].lines} & set(members)), -n))
        rank = {order[x]: i for i, x in reversed(list(enumerate(frames[best].lines))) if x in order}
        members.sort(key=lambda k: (rank.get(k, len(rank) + k), k))
        found.append(Board(tuple(lines[k] for k in members), tuple(frames[n] for n in shown)))
    return sorted(found, key=lambda b: -b.frames[-1].t)


def _pairs(frames: Sequence[Frame], order: dict[str, int]) -> list[tuple[int, int]]:
    """Lines that share a frame."""
    met: dict[tuple[int, int], None] = {}
    for frame in frames:
        met.update(dict.fromkeys(combinations(sorted({order[x] for x in frame.lines if x in order}), 2)))
    return list(met)


def _same(a: str, b: str) -> bool:
    """Two readings of one line, one perhaps cut short."""
    if same_line(a, b):
        return True
    x, y = sorted((words.plain(a), words.plain(b)), key=len)
    return len(x) >= 4 and y.startswith(f"{x} ")
