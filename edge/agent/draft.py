"""An answer being made: its value, its sentence, and the items it rests on turned into evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from edge.retrieval.evidence import Evidence, of_items
from storage.records import Item

T = TypeVar("T")


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
    return of_items(items)


def spread(items: Sequence[T], count: int = 5) -> list[T]:
    """Up to `count` items evenly over a long list, its ends included: proof of a count without listing all."""
    if len(items) <= count:
        return list(items)
    step = (len(items) - 1) / (count - 1)
    return [items[round(i * step)] for i in range(count)]
