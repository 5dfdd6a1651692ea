"""When somebody has finished speaking: a pure step over chances of speech, one for every 32 ms of sound.

A fixed pause is either slow or rude.  How long one is waited for depends on what was said so far: a whole question is
over after half a second, a sentence that ends in "and" may go on for three.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

STEP_S = 0.032  # seconds of sound behind one chance

Event: TypeAlias = Literal["began", "paused", "resumed", "ended", "nothing"]

_DANGLING = frozenset(
    """a an the my your our their his her this that these those and or but so because if when while of to in on at for
    with from by about into than as is are was were do does did can could will would should have has had not very um uh
    er hmm well like remind remember tell""".split()
)
_WORD = re.compile(r"[a-z0-9']+")


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds: of silence after a whole sentence, after one that may go on, after one that must; of waiting for the
    first word; and of the longest turn.
    """

    whole_s: float = 0.5
    usual_s: float = 0.8
    open_s: float = 2.0
    first_s: float = 5.0
    longest_s: float = 20.0


class Endpoint:
    """One turn's ear.  `on` begins speech, `off` keeps it going: chances of the voice detector."""

    def __init__(
        self,
        patience: Patience,
        *,
        deaf_s: float = 0.0,
        begun: bool = False,
        on: float = 0.5,
        off: float = 0.35,
        begin_s: float = 0.16,
    ) -> None:
        """`deaf_s`: speech this early does not count as begun; the end of the wake word lies there.  `begun`: somebody
        speaks already.
        """
        self.steps = 0  # since the turn began
        self.spoken_to = 0  # the step after the last one with speech
        self.began = begun
        self.need_s = patience.usual_s
        self._patience, self._on, self._off = patience, on, off
        self._deaf, self._begin = _steps(deaf_s), _steps(begin_s)
        self._pause = _steps(0.19)
        self._voiced = 0
        self._speaking = False
        self._paused = False

    @property
    def silent_s(self) -> float:
        """Seconds since the last speech."""
        return (self.steps - self.spoken_to) * STEP_S

    @property
    def length_s(self) -> float:
        """Seconds since the turn began."""
        return self.steps * STEP_S

    def step(self, chance: float) -> Event | None:
        """Take 32 ms more; says what changed.  "ended" and "nothing" are said again until the turn is closed."""
        self.steps += 1
        self._speaking = chance >= self._on or (self._speaking and chance >= self._off)
        if self._speaking:
            return self._speech()
        if not self.began:
            self._voiced = max(0, self._voiced - 1)
            return "nothing" if self.length_s >= self._patience.first_s else None
        if self.silent_s >= self.need_s or self.length_s >= self._patience.longest_s:
            return "ended"
        if not self._paused and self.steps - self.spoken_to >= self._pause:
            self._paused = True
            return "paused"
        return None

    def wait_again(self) -> None:
        """What was taken for speech held no words: go on waiting for the first one."""
        self.began = self._paused = False
        self._voiced = 0

    def _speech(self) -> Event | None:
        if self.steps > self._deaf:
            self._voiced += 1
        self.spoken_to = self.steps
        if not self.began:
            if self._voiced < self._begin:
                return None
            self.began = True
            return "began"
        if self.length_s >= self._patience.longest_s:
            return "ended"
        if self._paused:
            self._paused = False
            return "resumed"
        return None


def needed(text: str, patience: Patience, *, whole: bool, command: bool = False) -> float:
    """Seconds of silence that end a turn in which `text` was heard so far; `whole`: it is a command or question.

    A command ends where it likes: "repeat that", "what can you do".
    """
    words = _WORD.findall(text.lower())
    open_ = not command and bool(words) and words[-1] in _DANGLING
    if not words or open_ or text.rstrip().endswith(("...", "…", ",", "-")):
        return patience.open_s
    return patience.whole_s if whole else patience.usual_s


def _steps(seconds: float) -> int:
    return round(seconds / STEP_S)
