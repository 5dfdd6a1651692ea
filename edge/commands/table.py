"""Rows for people: a table where its columns fit the width, else a paragraph for each row."""

from __future__ import annotations

import shutil
import textwrap
import unicodedata
from collections.abc import Sequence

_GAP = "  "
_LEAST = 24  # characters that the widest column of a table must be left
_SHORT = 30  # what is never wider stays in a row's first line


def width() -> int:
    """Columns of the terminal; 80 where there is none, as in a pipe, unless COLUMNS says otherwise."""
    return max(shutil.get_terminal_size((80, 24)).columns, 40)


def lines(rows: Sequence[Sequence[str]], columns: Sequence[str], total: int) -> list[str]:
    """Rows of cells under the names of their columns, at most `total` characters wide."""
    widths = [
        max([_cells(name), *(_cells(part) for row in rows for part in row[n].split("\n"))])
        for n, name in enumerate(columns)
    ]
    widest = max(range(len(columns)), key=lambda n: widths[n])
    left = total - sum(widths) + widths[widest] - len(_GAP) * (len(columns) - 1)
    if left < min(_LEAST if widths[widest] > _SHORT else _LEAST // 2, widths[widest]):
        return _paragraphs(rows, widths, total)
    widths[widest] = min(widths[widest], left)
    told = _across([[name] for name in columns], widths)
    told.append("─" * min(total, sum(widths) + len(_GAP) * (len(columns) - 1)))
    for row in rows:
        told += _across([_wrapped(cell, widths[n]) for n, cell in enumerate(row)], widths)
    return told


def _across(cells: Sequence[list[str]], widths: Sequence[int]) -> list[str]:
    """Cells of several lines side by side."""
    told = []
    for n in range(max(len(cell) for cell in cells)):
        parts = [cell[n] if n < len(cell) else "" for cell in cells]
        told.append(_GAP.join(p + " " * (w - _cells(p)) for p, w in zip(parts, widths, strict=True)).rstrip())
    return told


def _paragraphs(rows: Sequence[Sequence[str]], widths: Sequence[int], total: int) -> list[str]:
    told: list[str] = []
    for row in rows:
        short = _GAP.join(cell for cell, w in zip(row, widths, strict=True) if w <= _SHORT and cell)
        told += [""] * bool(told) + _wrapped(short, total)
        for cell, w in zip(row, widths, strict=True):
            if w > _SHORT and cell:
                told += [f"    {line}" for line in _wrapped(cell, total - 4)]
    return told


def _wrapped(text: str, columns: int) -> list[str]:
    told: list[str] = []
    for line in text.split("\n"):
        room = columns if _cells(line) == len(line) else max(columns // 2, 1)  # wide letters take two places
        told += textwrap.wrap(line, room, break_on_hyphens=False) if _cells(line) > columns else [line]
    return told


def _cells(text: str) -> int:
    """Places that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else not unicodedata.combining(c) for c in text)
