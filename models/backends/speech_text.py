"""From what is to be said to pieces that are said in one go: cleaned, in sentences, long ones broken at a clause."""

from __future__ import annotations

import re

LONGEST = 200  # characters in one piece: beyond, the first sound comes late
_SENTENCE = re.compile(r"(?<=[.!?…])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])|\n+")
_CLAUSE = re.compile(r"(?<=[,;:])\s+")
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|vs|e\.g|i\.e|No|approx)\.$")


def clean(text: str) -> str:
    """Drop what has no sound: control characters, markup marks, pictures; one blank for runs of white space."""
    text = re.sub(r"[*_`#<>|~^\\]+", " ", text)
    text = "".join(c if c.isprintable() or c == "\n" else " " for c in text if ord(c) < 0x2500 or c.isalpha())
    return "\n".join(" ".join(line.split()) for line in text.splitlines()).strip()


def sentences(text: str) -> list[str]:
    """Speakable pieces in order, none empty, none without a letter or digit, most under 200 characters."""
    pieces: list[str] = []
    for part in _SENTENCE.split(clean(text)):
        if pieces and _ABBREVIATION.search(pieces[-1]):
            pieces[-1] = f"{pieces[-1]} {part}"
        else:
            pieces.append(part)
    short = [p.strip() for piece in pieces for p in _break_up(piece)]
    return [p for p in short if any(c.isalnum() for c in p)]


def _break_up(piece: str) -> list[str]:
    if len(piece) <= LONGEST:
        return [piece]
    parts: list[str] = []
    for clause in _CLAUSE.split(piece):
        if parts and len(parts[-1]) + len(clause) < LONGEST:
            parts[-1] = f"{parts[-1]} {clause}"
        else:
            parts.append(clause)
    return parts
