"""The evidence of one question: each piece once, numbered, so that a model can cite it and the user can open it.

GROVE eq. 7: what a call returns is deduplicated before it is added.  What stands in a note was seen, read or heard; it is
made harmless before a model reads it: one line, no control characters, none of the marks that chat templates are made of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from edge.retrieval import words
from edge.retrieval.evidence import Evidence
from edge.retrieval.zone import Zone

CHARS = 180  # of one note as the model reads it
MOST = 160  # notes of one question

_MARKS = re.compile(
    r"<\|[^>]{0,60}\|>|</?(?:s|think|im_start|im_end|system|user|assistant|tool_call)>|\[/?INST\]|<<|>>|```", re.I
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


@dataclass(frozen=True, slots=True)
class Note:
    """A piece of evidence and its number."""

    number: int
    evidence: Evidence


class Notebook:
    """Notes in the order they came; `add` gives back only what is new."""

    def __init__(self, zone: Zone) -> None:
        self._zone = zone
        self.notes: list[Note] = []
        self._seen: set[tuple[str, str]] = set()

    def add(self, found: Iterable[Evidence], most: int = 20) -> list[Note]:
        """Number what is not there yet, `most` of it at most."""
        new: list[Note] = []
        for evidence in found:
            if len(new) >= most or len(self.notes) >= MOST:
                break
            mark = (evidence.id, words.plain(evidence.text))
            if mark in self._seen or not evidence.text.strip():
                continue
            self._seen.add(mark)
            note = Note(len(self.notes) + 1, evidence)
            self.notes.append(note)
            new.append(note)
        return new

    def get(self, number: int) -> Evidence | None:
        """The evidence of a note, if there is such a note."""
        return self.notes[number - 1].evidence if 0 < number <= len(self.notes) else None

    def lines(self, notes: Iterable[Note], chars: int = CHARS) -> str:
        """Notes as the model reads them, one a line: number, local time, stratum, text."""
        return "\n".join(
            f"[{n.number}] {stamp(self._zone, n.evidence)} {n.evidence.kind}: {harmless(n.evidence.text, chars)}"
            for n in notes
        )

    def text(self) -> str:
        """Everything noted, for checking an answer against it."""
        return "\n".join(f"{stamp(self._zone, n.evidence)} {n.evidence.text}" for n in self.notes)


def stamp(zone: Zone, evidence: Evidence) -> str:
    """The local time of a piece of evidence: to the second for an instant, as a stretch for what lasts."""
    start, end = zone.local(evidence.t_start), zone.local(evidence.t_end)
    if evidence.kind in ("episode", "view") and end > start:
        return f"{start:%a %d %b %Y %H:%M}-{end:%H:%M}"
    return f"{start:%a %d %b %Y %H:%M:%S}"


def harmless(text: str, chars: int) -> str:
    """One line without what a chat template or a terminal would take for more than text, cut at a word."""
    told = _MARKS.sub(" ", _CONTROL.sub(" ", text))
    told = " ".join(told.split())
    return told if len(told) <= chars else told[: max(told.rfind(" ", 0, chars), chars // 2)] + " ..."
