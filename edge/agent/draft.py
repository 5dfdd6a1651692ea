"""An answer being made: its value, its sentence, and the items it rests on turned into evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from edge.retrieval.timephrase import Us
from storage.records import Item

SHOWN_US: Us = 20_000_000  # how long an instant's evidence lasts: about what a person needs to recognise it


@dataclass(frozen=True, slots=True)
class Evidence:
    """A piece of the memory that can be opened again: kind and id ("w12", "m3", "e4", "p2", "k9"), its time, its text."""

    kind: str
    id: str
    t_start: Us
    t_end: Us
    text: str


@dataclass(frozen=True, slots=True)
class Draft:
    """What a rule found; `value` None means that the memory does not tell."""

    kind: str
    value: Any
    answer: str
    evidence: tuple[Evidence, ...] = ()
    confidence: float = 0.9


def proof(items: Iterable[Item]) -> tuple[Evidence, ...]:
    """Items as evidence: the window that holds each, from the item's own time on."""
    return tuple(Evidence("window", f"w{i.window_id}", i.t, i.t + 1_000_000, i.text) for i in items)


def spread(items: Sequence[Item], count: int = 5) -> list[Item]:
    """Up to `count` items evenly over a long list, its ends included: proof of a count without listing all."""
    if len(items) <= count:
        return list(items)
    step = (len(items) - 1) / (count - 1)
    return [items[round(i * step)] for i in range(count)]
