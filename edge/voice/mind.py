"""What the voice asks of the rest of the device.  The voice knows no memory and no agent; it is given a Mind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from edge.messages import Say
from edge.voice.intent import Intent


@dataclass(frozen=True, slots=True)
class Moment:
    """When something was said: microseconds UTC, and the wearer's UTC offset in seconds."""

    t: int
    offset_s: int


@dataclass(frozen=True, slots=True)
class Reply:
    """What is said to a command; `asks`: it is a question, to be answered with yes or no."""

    text: str
    asks: bool = False


class Mind(Protocol):
    """Every call is made by one thread of the voice's own."""

    def answer(self, question: str, at: Moment) -> Iterable[str]:
        """The answer sentence by sentence.  It may be dropped half-way, and asked for before it is sure to be wanted:
        nothing may be changed by it.
        """
        ...

    def answered(self, question: str) -> None:
        """The answer to this question is being spoken: what follows may refer to it."""
        ...

    def obey(self, intent: Intent, at: Moment, last: Say | None) -> Reply:
        """Carry out a command; `last` is what was said last."""
        ...

    def confirm(self, yes: bool, at: Moment) -> Reply:
        """The answer to the question that the last Reply asked."""
        ...
