"""The stretch of time a question is about."""

from __future__ import annotations

from dataclasses import dataclass

from edge.retrieval.zone import Us


@dataclass(frozen=True, slots=True)
class Scope:
    """[start, end) in microseconds UTC, open where None, and whether it was named at all."""

    start: Us | None = None
    end: Us | None = None
    named: bool = False
