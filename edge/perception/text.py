"""Lines of text as a reader takes them in: rows from top to bottom, each from left to right, repeats recognised."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from models.roles import Box, TextLine

SAME_ROW = 0.5  # vertical overlap, of the lower of two boxes
WORD_GAP = 0.5  # of the lower height: what stands closer is one line
SAME_SIZE = 1.5  # and is of about the same height
SAME_LETTERS = 0.85  # likeness of two readings of one line without figures


def reading(lines: Iterable[TextLine], text_score: float) -> tuple[str, ...]:
    """The sure lines, verbatim, in reading order; words of one size that stand close in a row are joined by a space."""
    rows: list[list[TextLine]] = []
    sure = [x for x in lines if x.score >= text_score and any(c.isalnum() for c in x.text)]
    for line in sorted(sure, key=lambda x: (x.box[0], x.box[1])):
        row = next((r for r in rows if _beside(r[-1].box, line.box)), None)
        if row is None:
            rows.append([line])
        else:
            row.append(line)
    rows.sort(key=lambda row: (row[0].box[1] + row[0].box[3], row[0].box[0]))
    found: list[str] = []
    for row in rows:
        for i, line in enumerate(row):
            text = " ".join(line.text.split())
            if i and _one_line(row[i - 1].box, line.box):
                found[-1] += f" {text}"
            else:
                found.append(text)
    return tuple(found)


def new_lines(lines: Sequence[str], known: Sequence[str]) -> list[str]:
    """The lines that are not among the known ones, nor repeated among themselves."""
    new: list[str] = []
    for line in lines:
        if not any(same_line(line, other) for other in (*known, *new)):
            new.append(line)
    return new


def same_line(a: str, b: str) -> bool:
    """Two readings of one line: equal letters and figures, or nearly equal letters where there are no figures.

    A figure is never taken for a slip of the reader: clocks, prices and doses are what it matters for.
    """
    x, y = ["".join(c for c in s.casefold() if c.isalnum()) for s in (a, b)]
    if x == y:
        return bool(x) or a == b
    if any(c.isdigit() for c in x + y):
        return False
    return SequenceMatcher(None, x, y, autojunk=False).ratio() >= SAME_LETTERS


def _one_line(left: Box, right: Box) -> bool:
    heights = sorted((left[3] - left[1], right[3] - right[1]))
    return heights[1] <= SAME_SIZE * heights[0] and right[0] - left[2] <= WORD_GAP * heights[0]


def _beside(a: Box, b: Box) -> bool:
    lower = min(a[3] - a[1], b[3] - b[1])
    return min(a[3], b[3]) - max(a[1], b[1]) >= SAME_ROW * lower > 0
