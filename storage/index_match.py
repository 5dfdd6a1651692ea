"""Which rows hold given words, newest first: exact look-up over the search index, without walking what is older.

An expression is what storage.lookup's `phrase`, `all_words` and `any_words` make: quoted words, AND, OR, parentheses.
Pieces of the index are read from the newest on, each word's rows in a piece at a time, and only as far as the caller
takes what comes out; a quoted phrase of several words gives candidates, whose texts have to be looked at.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from storage.index import View
from storage.index_segments import Array
from storage.index_text import sequence, terms

_TOKEN = re.compile(r'"([^"]*)"|(AND|OR)|([()])|\S')


@dataclass(frozen=True, slots=True)
class Node:
    """A part of an expression: words that must all be there (`sequence` in this order), or parts joined."""

    kind: Literal["words", "and", "or"]
    terms: tuple[str, ...] = ()
    sequence: tuple[str, ...] = ()
    parts: tuple[Node, ...] = ()

    def loose(self) -> bool:
        """Whether rows that match by their words need not match by their order."""
        return len(self.sequence) > 1 or any(p.loose() for p in self.parts)

    def holds(self, text: str) -> bool:
        """Whether a text matches, order and all."""
        return _holds(self, sequence(text))


def _holds(node: Node, words: tuple[str, ...]) -> bool:
    if node.kind == "words":
        size = len(node.sequence)
        return any(words[i : i + size] == node.sequence for i in range(len(words) - size + 1))
    held = (_holds(p, words) for p in node.parts)
    return all(held) if node.kind == "and" else any(held)


def parse(expression: str) -> Node | None:
    """The expression as a tree; None when it holds no word.  What is not an expression is read as words, all required."""
    found = [m.groups() for m in _TOKEN.finditer(expression)]
    position = 0

    def either() -> Node | None:
        nonlocal position
        parts = [both()]
        while position < len(found) and found[position][1] == "OR":
            position += 1
            parts.append(both())
        return _joined("or", parts)

    def both() -> Node | None:
        nonlocal position
        parts = []
        while position < len(found) and found[position][1] != "OR" and found[position][2] != ")":
            quoted, _, bracket = found[position]
            position += 1
            if bracket == "(":
                parts.append(either())
                position += 1
            elif quoted is not None:
                words = terms(quoted)
                parts.append(Node("words", words, sequence(quoted)) if words else None)
        return _joined("and", parts)

    return either()


def _joined(kind: Literal["and", "or"], parts: list[Node | None]) -> Node | None:
    some = tuple(p for p in parts if p is not None)
    return some[0] if len(some) == 1 else Node(kind, parts=some) if some else None


def newest(view: View, node: Node, tags: Collection[int]) -> Iterator[tuple[int, int, int]]:
    """(start, id, tag) of the rows inside a cut view that match by their words and have one of the tags, newest first.

    Of equal times the last stored comes first.
    """
    order = [i for i, inside in enumerate(view.inside) if inside is not False]
    order.sort(key=lambda i: -view.pieces[i].head.start_max)
    held = np.empty((3, 0), dtype=np.int64)
    wanted = np.zeros(256, dtype=bool)
    wanted[list(tags)] = True
    for n, i in enumerate(order):
        piece, inside = view.pieces[i], view.inside[i]
        tag = piece.column("tag")
        at = _rows(view, i, node)
        if isinstance(inside, np.ndarray):
            at = at[inside[at]]
        if tag is not None:
            at = at[wanted[tag[at]]]
            held = np.concatenate((held, np.stack((piece.times("start")[at], piece.ids(at), tag[at]))), axis=1)
        bound = view.pieces[order[n + 1]].head.start_max if n + 1 < len(order) else None
        ready = np.ones(held.shape[1], dtype=bool) if bound is None else held[0] > bound
        if ready.any():
            some, held = held[:, ready], held[:, ~ready]
            yield from zip(*some[:, np.lexsort((-some[1], -some[0]))].tolist(), strict=True)


def _rows(view: View, number: int, node: Node) -> Array:
    """Positions in a piece of the rows that match, ascending."""
    if node.kind == "or":
        held = np.zeros(view.pieces[number].head.rows, dtype=bool)
        for part in node.parts:
            held[_rows(view, number, part)] = True
        return np.flatnonzero(held)
    if node.kind == "words":
        often = sorted((view.occurs(t, number), t) for t in node.terms)
        if not often[0][0]:
            return np.empty(0, dtype=np.uint16)
        first = _of_term(view, number, often[0][1])
        for _, term in often[1:]:  # the rarest first: the rows of a common word are mostly not even read
            if first.size:
                first = first[_in(first, _of_term(view, number, term))]
        return first
    first_part, *parts = sorted(node.parts, key=lambda p: p.kind == "or")
    found = _rows(view, number, first_part)
    for part in parts:
        if not found.size:
            break
        found = found[_fits(view, number, part, found)]
    return found


def _fits(view: View, number: int, node: Node, at: Array) -> Array:
    """Which of some positions match, as a mask."""
    if node.kind == "words":
        masks = [_in(at, _of_term(view, number, t)) for t in node.terms]
    else:
        masks = [_fits(view, number, p, at) for p in node.parts]
    found: Array = (np.logical_or if node.kind == "or" else np.logical_and).reduce(masks)
    return found


def _in(at: Array, others: Array) -> Array:
    """Which of ascending positions stand among others, as a mask."""
    if not others.size:
        return np.zeros(at.size, dtype=bool)
    place = np.searchsorted(others, at.astype(others.dtype, copy=False))  # of another type, all would be converted
    found: Array = others[np.minimum(place, others.size - 1)] == at
    return found


def _of_term(view: View, number: int, term: str) -> Array:
    found = view.lists(term, (number,)).get(number)
    return np.empty(0, dtype=np.uint16) if found is None else found[0]
