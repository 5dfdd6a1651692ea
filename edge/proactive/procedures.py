"""Procedures the wearer may follow: steps with an order, which step a doing is, and how it differs from what is asked.

A procedure file is JSON: {name: {"steps": [text, ...], "before": [[earlier step, later step], ...]}}; without "before"
the steps are taken in the order they are listed.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from edge.errors import InputError, MissingFile
from edge.proactive.occurrences import occurrences
from edge.retrieval.words import STOPWORDS, content, key, tokens

MATCH = 0.42  # weighted overlap from which a doing is taken for a step
READY = 0.12  # how much worse a step whose turn it is may fit than another
AGAIN = 0.2  # how much worse a step not yet done may fit than one done already


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid")

    steps: list[str]
    before: list[tuple[str, str]] | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """How a doing differs from its step: amounts, words that replace others, or a fault that is named."""

    missing: tuple[str, ...]
    added: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.missing or self.added)


@dataclass(frozen=True)
class Procedure:
    """Named steps; `needs[i]` are the steps that must be done before step i, closed under "before"."""

    name: str
    steps: tuple[str, ...]
    direct: tuple[frozenset[int], ...]
    needs: tuple[frozenset[int], ...]
    weights: Mapping[str, float] = field(repr=False)

    def open_after(self, done: frozenset[int]) -> list[int]:
        """The steps that may come next, in the order of the list."""
        return [i for i in range(len(self.steps)) if i not in done and self.direct[i] <= done]

    def match(self, text: str, done: frozenset[int]) -> tuple[int, float] | None:
        """The step a doing is, with how well it fits (0-1); one not yet done is preferred."""
        scored = [(self._fit(text, i), i) for i in range(len(self.steps))]
        ready = dict.fromkeys(self.open_after(done), READY)
        best = max(((s - (AGAIN if i in done else 0.0) + ready.get(i, 0.0), s, -i) for s, i in scored), default=None)
        if best is None or best[1] < MATCH:
            return None
        return -best[2], best[1]

    def _fit(self, text: str, step: int) -> float:
        asked, seen = content(self.steps[step]), content(text)
        if tokens(text) == tokens(self.steps[step]):
            return 1.0
        both = sum(self.weights.get(k, 1.0) for k in set(asked) & set(seen))
        total = sum(self.weights.get(k, 1.0) for k in asked) + sum(self.weights.get(k, 1.0) for k in set(seen))
        return 2 * both / total if total else 0.0


def load(path: Path) -> dict[str, Procedure]:
    """Procedures of a file by name.  Raises MissingFile and InputError."""
    if not path.exists():
        raise MissingFile(f"There is no procedure file at {path}.")
    try:
        given = TypeAdapter(dict[str, _Given]).validate_json(path.read_bytes())
    except (ValidationError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(
            f'{path} is no procedure file: it must look like {{"name": {{"steps": ["..."], "before": [["a", "b"]]}}}}.'
        ) from error
    return {name: make(name, g.steps, g.before) for name, g in given.items()}


def make(name: str, steps: Sequence[str], before: Sequence[tuple[str, str]] | None = None) -> Procedure:
    """A procedure from its steps and which comes before which; raises InputError on an unknown step."""
    direct: list[set[int]] = [set() for _ in steps]
    needs: list[set[int]] = [set() for _ in steps]
    if before is None:
        pairs = [(i, i + 1) for i in range(len(steps) - 1)]
    else:
        try:
            pairs = occurrences(steps, before)
        except KeyError as error:
            raise InputError(f"Procedure {name!r} orders a step it does not list: {error.args[0]!r}.") from error
    for first, then in pairs:
        if first == then or then in needs[first]:
            continue  # an order that closes a circle: what was named first holds
        direct[then].add(first)
        for i in range(len(steps)):
            if i == then or then in needs[i]:
                needs[i] |= {first} | needs[first]
    count = Counter(k for step in steps for k in set(content(step)))
    weights = {k: 1.0 + math.log(len(steps) / n) for k, n in count.items()}
    return Procedure(name, tuple(steps), tuple(map(frozenset, direct)), tuple(map(frozenset, needs)), weights)


@lru_cache(maxsize=4096)
def difference(asked: str, done: str) -> Difference:
    """What of a step was not done, and what was done that it does not ask for.

    A doing told in fewer words than the step is no difference by itself: only what replaces something counts, an
    amount that is not the one asked for, or a fault that perception names ("without", "instead of", "spills").
    """
    want, got = tokens(asked), tokens(done)
    if want == got:
        return Difference((), ())
    have = {key(w) for w in got}
    ask = {key(w) for w in want}
    missing = tuple(w for w in want if _counts(w) and key(w) not in have)
    added = tuple(w for w in got if _counts(w) and key(w) not in ask)
    if not added:
        return Difference((), ())
    return Difference(missing, added)


_UNITS = frozenset(
    "tsp tbsp teaspoon tablespoon cup cups g kg ml l oz ounce gram minute minutes second seconds".split()
)
_PLAIN = re.compile(r"^(?:about|approximately|around|please|just|until|well|gently|carefully|slowly)$")


def _counts(word: str) -> bool:
    return word in _UNITS or word == "not" or (word not in STOPWORDS and not _PLAIN.match(word))
