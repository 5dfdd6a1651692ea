"""Procedures the wearer may follow: steps with an order, which step a doing is, and how it differs from what is asked.

A procedure file is JSON: {name: {"steps": [text, ...], "before": [[earlier step, later step], ...], "errors": [{"step",
"error", "remedy"}, ...]}}.  Without "before" the steps are taken in the order they are listed; "errors" are what is known to
go wrong at a step, told as perception would tell it, and what helps then.  docs/procedures.md describes it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from edge.errors import InputError, MissingFile
from edge.proactive.occurrences import occurrences
from edge.retrieval.words import STOPWORDS, content, key, tokens

MATCH = 0.42  # weighted overlap from which a doing is taken for a step
READY = 0.12  # how much worse a step whose turn it is may fit than another
AGAIN = 0.2  # how much worse a step not yet done may fit than one done already


_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class _KnownError(BaseModel):
    model_config = ConfigDict(extra="forbid")

    step: _Text
    error: _Text
    remedy: str = Field("", max_length=500)


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid")

    steps: list[_Text] = Field(min_length=1)
    before: list[tuple[_Text, _Text]] | None = None
    errors: list[_KnownError] = []


@dataclass(frozen=True, slots=True)
class KnownError:
    """What is known to go wrong at a step: the words that tell it, and what helps ("" when that is not said)."""

    step: str
    error: str
    remedy: str = ""


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
    errors: tuple[KnownError, ...] = ()

    def open_after(self, done: frozenset[int]) -> list[int]:
        """The steps that may come next, in the order of the list."""
        return [i for i in range(len(self.steps)) if i not in done and self.direct[i] <= done]

    def match(self, text: str, done: frozenset[int]) -> tuple[int, float] | None:
        """The step a doing is, with how well it fits (0-1); one not yet done is preferred."""
        scored = [(self._fit(text, step), i) for i, step in enumerate(self.steps)]
        ready = dict.fromkeys(self.open_after(done), READY)
        best = max(((s - (AGAIN if i in done else 0.0) + ready.get(i, 0.0), s, -i) for s, i in scored), default=None)
        if best is None or best[1] < MATCH:
            return None
        return -best[2], best[1]

    def known_error(self, text: str, done: frozenset[int]) -> tuple[int, KnownError] | None:
        """The known error a doing is, and the step it belongs to; none when a step fits the doing as well."""
        seen = set(content(text))
        fits = []
        for n, known in enumerate(self.errors):
            telling = set(content(known.error)) - set(content(known.step))  # by what it differs from the step
            if tokens(text) == tokens(known.error) or (telling and telling <= seen):
                fits.append((self._fit(text, known.error), -n, known))
        if not fits:
            return None
        fit, _, best = max(fits, key=lambda f: f[:2])
        if fit < MATCH or fit <= max(self._fit(text, step) for step in self.steps):
            return None
        places = [i for i, step in enumerate(self.steps) if step == best.step]
        return next((i for i in places if i not in done), places[-1]), best

    def _fit(self, text: str, step: str) -> float:
        asked, seen = content(step), content(text)
        if tokens(text) == tokens(step):
            return 1.0
        if undoes(text, step):
            return 0.0
        both = math.fsum(self.weights.get(k, 1.0) for k in set(asked) & set(seen))  # exact: a set has no order
        total = math.fsum(self.weights.get(k, 1.0) for k in [*asked, *set(seen)])
        return 2 * both / total if total else 0.0


def load(path: Path) -> dict[str, Procedure]:
    """Procedures of a file by name.  Raises MissingFile and InputError."""
    return {name: make(name, g.steps, g.before, g.errors) for name, g in given_in(path).items()}


def given_in(path: Path) -> dict[str, _Given]:
    """What a procedure file says, its form checked.  Raises MissingFile and InputError."""
    try:
        found = _FILE.validate_json(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise MissingFile(f"There is no procedure file at {path}.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): give the path of a JSON file.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8: a procedure file is JSON. {_SEE}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ": ".join(p for p in (str(path), " > ".join(str(x) for x in first["loc"])) if p)
        raise InputError(f"{where}: {first['msg'].rstrip('.')}. {_SEE}") from error
    if not found:
        raise InputError(f"{path} holds no procedure. {_SEE}")
    return found


_FILE = TypeAdapter(dict[str, _Given])
_SEE = 'A procedure looks like {"name": {"steps": ["..."], "before": [["a", "b"]]}}; see docs/procedures.md.'


def make(
    name: str,
    steps: Sequence[str],
    before: Sequence[tuple[str, str]] | None = None,
    errors: Sequence[_KnownError | KnownError] = (),
) -> Procedure:
    """A procedure from its steps, which comes before which and what is known to go wrong; InputError on an unknown step."""
    for known in errors:
        if known.step not in steps:
            raise InputError(f"Procedure {name!r} has an error at a step it does not list: {known.step!r}.")
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
    known_errors = tuple(KnownError(e.step, e.error, e.remedy.strip()) for e in errors)
    return Procedure(
        name, tuple(steps), tuple(map(frozenset, direct)), tuple(map(frozenset, needs)), weights, known_errors
    )


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
    if not missing:  # a thing told more closely, or where it was taken from, is the same thing
        added = tuple(w for w in tokens(_FROM.sub("", done)) if w in added and not _CLOSER.match(w))
    if not added:
        return Difference((), ())
    return Difference(missing, added)


_FROM = re.compile(r"\b(?:from|off) (?!.*\b(?:and|without|into)\b).*$", re.IGNORECASE)
_CLOSER = re.compile(
    r"^(?:black|white|red|blue|green|yellow|orange|brown|gr[ae]y|pink|purple|silver|golden|both|left|right|wooden|metal|"
    r"plastic|steel|paper|glass|hands?|own|clean|fresh|new)$"
)
_PAIRS = (
    "put on/take off", "put in/take out", "put/remove", "open/close", "open/shut", "add/remove", "insert/remove", "insert/take out",
    "insert/pull out", "attach/detach", "attach/remove", "connect/disconnect", "turn on/turn off", "switch on/switch off", "screw/unscrew",
    "tighten/loosen", "plug in/unplug", "lock/unlock", "cover/uncover", "fill/empty", "fold/unfold", "assemble/disassemble",
    "fasten/unfasten", "tie/untie", "load/unload", "pack/unpack", "raise/lower", "mount/dismount", "wrap/unwrap", "roll/unroll",
)  # fmt: skip
_OPPOSITES = frozenset(
    pair for both in _PAIRS for one, other in [both.split("/")] for pair in ((one, other), (other, one))
)


def undoes(done: str, asked: str) -> bool:
    """Whether a doing is the very opposite of what a step asks for: gloves that are taken off are not put on."""
    return any((a, b) in _OPPOSITES for a in _acts(done) for b in _acts(asked))


@lru_cache(maxsize=8192)
def _acts(text: str) -> tuple[str, ...]:
    """How a text begins, as a verb in its base form, alone and with its particle."""
    words = tokens(text)
    if not words:
        return ()
    verb = next((v for v in _VERBS if key(v) == key(words[0])), words[0])
    particle = next((w for w in words[1:] if w in ("on", "off", "in", "out")), "")
    return (f"{verb} {particle}",) if particle and f"{verb} {particle}" in _WITH else (verb,)


_VERBS = tuple(sorted({side.split()[0] for both in _PAIRS for side in both.split("/")}))
_WITH = frozenset(side for both in _PAIRS for side in both.split("/") if " " in side)


Sort: TypeAlias = Literal["addition", "preparation", "process", "other"]
_ADDS = frozenset(
    key(w)
    for w in """add season sprinkle drizzle spread coat brush splash garnish top dust grease oil apply attach insert fit
    fasten tighten screw glue label seal sign enter cover""".split()
)
_READIES = frozenset(
    key(w)
    for w in """chop mince cut slice peel dice grate shred crush squeeze crack whisk beat spiralize grind measure weigh wash
    rinse take fetch gather get unpack sort""".split()
)
_PROCESSES = frozenset(
    key(w) for w in "microwave boil bake puree blend blitz toast simmer fry roast steam stir".split()
)
_CLAUSES = re.compile(r"[,.;:(]\s*|\s+(?:and|then)\s+")


@lru_cache(maxsize=4096)
def sort_of(step: str) -> Sort:
    """What kind of step it is: one that puts something in or on (passed over, it is most often forgotten for good), one
    that makes something ready (which is then done late, when it is needed), one that heats or stirs, or none of them.
    """
    low = step.lower()
    verbs = [_verb(clause) for clause in _CLAUSES.split(low)]
    if any(v in _ADDS for v in verbs) or re.search(r"\b(?:mix|stir) in\b", low):
        return "addition"
    if verbs[0] in _READIES:
        return "preparation"
    return "process" if verbs[0] in _PROCESSES else "other"


def _verb(clause: str) -> str:
    words = [w for w in tokens(clause) if w == "apply" or not (w.endswith("ly") or w in ("then", "once", "to"))]
    return key(words[0]) if words else ""


_UNITS = frozenset(
    "tsp tbsp teaspoon tablespoon cup cups g kg ml l oz ounce gram minute minutes second seconds".split()
)
_PLAIN = re.compile(r"^(?:about|approximately|around|please|just|until|well|gently|carefully|slowly)$")


def _counts(word: str) -> bool:
    return word in _UNITS or word == "not" or (word not in STOPWORDS and not _PLAIN.match(word))
