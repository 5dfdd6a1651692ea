"""Doings as a model that looks at pictures tells them ("The person is cracking two eggs into a glass bowl."): how they are
brought to the words of a step, and how such a telling differs from one.

A step's own words are instructions, and a doing told like an instruction is compared with it word by word.  A description
has words of its own (colours, vessels, tools, other verbs), so only what it cannot say by chance counts there: an amount,
the thing itself, what is put in, and a fault that is named.
"""

from __future__ import annotations

import re
from functools import lru_cache

from edge.proactive.acts import clauses
from edge.retrieval.words import STOPWORDS, content, key, tokens

_DESCRIBES = re.compile(
    r"^(?:the (?:camera[ -]?)?(?:wearer|person|man|woman|user)|a (?:person|man|woman|(?:\w+ )?hand)|(?:the |his |her |my )?(?:left |right |both )?hands?|c|he/she|he|she|i|they|"
    r"(?:the|an?) [\w' -]{2,30}? (?:is|are)(?: being)?) (?=\w)",
    re.IGNORECASE,
)
_ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_DIGITS = {word: str(n) for n, word in enumerate(_ONES, 1)} | {"fifteen": "15", "twenty": "20", "thirty": "30"}
_NUMBER = re.compile(rf"\b(?P<n>{'|'.join(_DIGITS)}|\d+)(?P<hundred>[ -]hundred)?\b", re.IGNORECASE)
_UNITS = {
    form: short
    for short, forms in {
        "ml": "milliliter milliliters millilitre millilitres", "l": "liter liters litre litres", "g": "gram grams gramme grammes",
        "kg": "kilogram kilograms kilo kilos", "tbsp": "tablespoon tablespoons", "tsp": "teaspoon teaspoons", "min": "minute minutes",
        "cm": "centimeter centimeters centimetre centimetres", "mm": "millimeter millimeters millimetre millimetres",
    }.items()
    for form in forms.split()
}  # fmt: skip
_MEASURE = frozenset(_UNITS.values())
# What somebody does who does nothing: no step, unless the step itself asks for it.
_IDLE = frozenset(
    key(w) for w in "look stare gaze watch see stand sit wait rest walk talk hold smile nod appear speak listen".split()
)
_PLACE = re.compile(
    r"\b(?:in|into|inside|to|on|onto|from|off|out|over|at|under|until|with|through|around|across|next|for|using|by|back|halfway|up|down|together|while|so|before|after)\b"
)
_PUT_IN = re.compile(
    r"^(?:fill|top|cover|coat|sprinkle|season|rinse|wash|stuff|brush|spread|mix|replace|grease|line|dust|pack|load|feed|water|treat|clean)\w*\b.*?\bwith (?P<what>[\w' -]+)"
)
_FAULT = re.compile(
    r"\b(?:with (?:\w+ )?(?:pieces|bits|lumps|chunks|splinters) of|without|instead of|spill\w*|wrong|upside down|by mistake|accidentally|burn(?:s|t|ed|ing)|"
    r"too (?:much|many|little|few|long|short|thick|thin|hot|cold|early|late)|forg[eo]t\w*)\b"
)
_KIND = frozenset(
    "first second third other another more some same small large big little fresh new clean hot cold whole amount drop pinch ladle spoon spoonful handful piece cup bowl glass".split()
)


@lru_cache(maxsize=8192)
def as_step(text: str) -> tuple[str, bool]:
    """A caption as the words of a doing, and whether it is a description; an instruction stays as it is."""
    text = text.strip().rstrip(".")
    if not _DESCRIBES.match(text):
        return text, False
    return numbers(" and ".join(clauses(text)) or text), True


@lru_cache(maxsize=8192)
def numbers(text: str) -> str:
    """A text with its numbers as digits and its units short: "one hundred grams" becomes "100 g"."""

    def digits(found: re.Match[str]) -> str:
        n = _DIGITS.get(found["n"].lower(), found["n"])
        return f"{n}00" if found["hundred"] else n

    return " ".join(_UNITS.get(w.lower(), w) for w in _NUMBER.sub(digits, text).split())


def idle(text: str) -> bool:
    """Whether a description, brought to the words of a doing, tells of none."""
    words = tokens(text)
    return bool(words) and key(words[0]) in _IDLE


@lru_cache(maxsize=4096)
def departs(asked: str, done: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """How a description departs from a step: words of the step that are missing, words in their place; both empty when it
    does not.
    """
    asked = numbers(asked)
    fault = _FAULT.search(done)
    if fault is not None and not _FAULT.search(asked.lower()):
        return (), tuple(tokens(done[fault.start() :])[:3])
    want, got = _amounts(asked), _amounts(done)
    if want and got and not set(want) & set(got):
        return tuple(want), tuple(got)
    for part in (_object, _put_in):
        one, other = part(asked), part(done)
        if (
            one
            and other
            and not {key(w) for w in one} & set(content(done))
            and not {key(w) for w in other} & set(content(asked))
        ):
            return one, other
    return (), ()


def _amounts(text: str) -> list[str]:
    return [w for w in tokens(text) if w[0].isdigit()]


def _object(text: str) -> tuple[str, ...]:
    """The thing a doing is about: what stands between its verb and the first word of place."""
    words = text.lower().split(maxsplit=1)
    if len(words) < 2:
        return ()
    return _names(_PLACE.split(words[1])[0])


def _put_in(text: str) -> tuple[str, ...]:
    found = _PUT_IN.match(text.lower())
    return _names(_PLACE.split(found["what"])[0]) if found is not None else ()


def _names(phrase: str) -> tuple[str, ...]:
    return tuple(
        w for w in tokens(phrase) if w not in STOPWORDS and w not in _MEASURE and w not in _KIND and not w[0].isdigit()
    )
