"""Warning signs: what a sign that can be read warns of.  A sign names its danger itself; what is not named is not told."""

from __future__ import annotations

import re
from collections.abc import Sequence

from edge.proactive.hazards import Hazard

TABLE: tuple[Hazard, ...] = (
    Hazard("slippery floor", r"\b(?:wet|slippery|icy) (?:floor|surface|steps?|stairs?|path|road)\b|\bslippery when wet\b",
           "", "the floor is wet"),
    Hazard("electricity", r"\bhigh[ -]?voltage\b|\bdanger of (?:death|electrocution)\b|\blive wires?\b|\belectric (?:shock|fence)\b",
           r"\bproof\b", "high voltage"),
    Hazard("burn", r"\b(?:caution|warning|danger|very)\b.{0,12}\bhot\b|\bhot surface\b", r"\bhot (?:deal|price|offer|drinks?|food)\b",
           "that is hot"),
    Hazard("overhead", r"\b(?:mind|watch) your head\b|\blow (?:headroom|ceiling|beam|clearance)\b|\bfalling (?:rocks?|objects?|ice)\b",
           "", "mind your head"),
    Hazard("step", r"\b(?:mind|watch) (?:the|your) (?:step|gap)\b|\buneven (?:floor|surface|steps?)\b|\bdeep (?:water|excavation)\b",
           "", "watch your step"),
    Hazard("forbidden", r"\bdanger\b.{0,24}\b(?:keep out|no entry|do not enter)\b|\b(?:explosives?|toxic|poison(?:ous)?|flammable) (?:gas|fumes|area|liquid)\b",
           "", "that is dangerous, keep away"),
)  # fmt: skip
_COMPILED = tuple((h, re.compile(h.sign), re.compile(h.unless) if h.unless else None) for h in TABLE)


def sign(lines: Sequence[str]) -> Hazard | None:
    """The danger that lines of text, as they stand one below the other, warn of, if any."""
    text = " ".join(lines).lower()
    for hazard, wanted, unless in _COMPILED:
        if wanted.search(text) and not (unless is not None and unless.search(text)):
            return hazard
    return None
