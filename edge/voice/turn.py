"""Whose turn it is: a pure step from what is heard to what is done about it.

A turn begins with a wake word, a tap, a question of the device's own, or a voice raised over it; it ends with a
sentence to act on or with nothing.  The sentence is decoded while it is spoken and in the first pause after it, and an
answer is prepared on that guess, so that little is left to do once the speaker has clearly finished.

    events   Wake, Tap, Expect, Barge, Chance (32 ms of sound), Words (a decoding came back), Deaf (no sound comes)
    actions  Open, Decode, Guess, Do, Chime, Hold, Close
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from edge.voice.earcons import Name
from edge.voice.endpoint import STEP_S, Endpoint, Patience, needed
from edge.voice.intent import Intent, understand, without_wake

TurnKind: TypeAlias = Literal["wake", "tap", "reply", "barge"]

EVERY_S = 0.8  # between two decodings of a sentence that goes on
SPEECH = 0.5  # a chance that is taken for speech
PEEK_S = 0.5  # after a wake word that nothing followed: it may have been said in one breath with a short command
PRE_S = 1.4  # of sound before the wake word was noticed: the word, and what a hasty speaker said with it
BARGE_PRE_S = 0.6
FALSE_S = 2.0  # after a voice that said nothing, what was being said goes on
REPLY_S = 6.0  # how long an answer to the device's own question is waited for
LATE_S = 6.0  # a decoding that takes longer is given up
LATE_DEAF = 120  # looks (of about 50 ms) after which one is given up while no sound comes


@dataclass(frozen=True, slots=True)
class Wake:
    """A wake word was completed."""

    phrase: str


@dataclass(frozen=True, slots=True)
class Tap:
    """A button or a tap on the glasses."""


@dataclass(frozen=True, slots=True)
class Expect:
    """The device has asked something and listens for the answer."""


@dataclass(frozen=True, slots=True)
class Barge:
    """Somebody speaks over the device."""


@dataclass(frozen=True, slots=True)
class Chance:
    """How likely somebody speaks in the next 32 ms of sound; `anybody`: or the device itself, where that is more."""

    value: float
    anybody: float = 0.0


@dataclass(frozen=True, slots=True)
class Words:
    """What was decoded from the turn's sound up to step `steps`; `turn` is the number Decode carried."""

    turn: int
    steps: int
    text: str


@dataclass(frozen=True, slots=True)
class Deaf:
    """No sound has come for a while."""


Event: TypeAlias = Wake | Tap | Expect | Barge | Chance | Words | Deaf


@dataclass(frozen=True, slots=True)
class Open:
    """A turn began: keep its sound, from `pre_s` seconds ago on."""

    turn: int
    kind: TurnKind
    pre_s: float


@dataclass(frozen=True, slots=True)
class Decode:
    """Decode the turn's sound, of which `steps` steps have come since it began."""

    turn: int
    steps: int


@dataclass(frozen=True, slots=True)
class Guess:
    """What will probably be asked: prepare the answer."""

    intent: Intent


@dataclass(frozen=True, slots=True)
class Do:
    """The sentence is complete: act on it."""

    turn: int
    kind: TurnKind
    intent: Intent


@dataclass(frozen=True, slots=True)
class Chime:
    """Make a short sound."""

    name: Name


@dataclass(frozen=True, slots=True)
class Hold:
    """Fall silent, and say nothing but warnings of danger until Close."""


@dataclass(frozen=True, slots=True)
class Close:
    """The turn is over; `resume`: what was being said goes on."""

    resume: bool


Action: TypeAlias = Open | Decode | Guess | Do | Chime | Hold | Close


_CLEAR = {"question": 3, "yes": 9, "no": 9}  # words that what is left of a misheard wake word does not have


class Turns:
    """The state of the conversation.  `step` takes one event and gives the actions in order."""

    def __init__(self, patience: Patience, *, chimes: bool = True) -> None:
        self._patience, self._chimes = patience, chimes
        self._phrase = ""  # that began the turn
        self._number = 0
        self._kind: TurnKind | None = None
        self._ear = Endpoint(patience)
        self._text = ""
        self._decoded = 0  # steps of the turn that `_text` covers
        self._asked = 0  # steps of the decoding under way, 0: none is
        self._since = 0  # steps since the speaker may have finished while a decoding was awaited
        self._peeked = False
        self._loud = 0  # the step after the last one in which anybody spoke, the device too

    @property
    def open(self) -> TurnKind | None:
        """What kind of turn is under way."""
        return self._kind

    @property
    def text(self) -> str:
        """What was understood so far."""
        return self._text

    def step(self, event: Event) -> list[Action]:
        """Take one event."""
        if isinstance(event, Wake):
            self._phrase = event.phrase
            return self._begin("wake")
        if isinstance(event, Tap):
            return self._give_up("gone", resume=False) if self._kind is not None else self._begin("tap")
        if isinstance(event, Expect):
            return self._begin("reply") if self._kind is None else []
        if isinstance(event, Barge):
            return self._begin("barge") if self._kind is None else []
        if self._kind is None:
            return []
        if isinstance(event, Chance):
            return self._heard(event)
        if isinstance(event, Words):
            return self._words(event)
        return self._deaf()

    def _begin(self, kind: TurnKind) -> list[Action]:
        self._number += 1
        self._kind, self._text, self._decoded, self._asked, self._since = kind, "", 0, 0, 0
        self._peeked, self._loud = kind != "wake", 0
        patience = self._patience
        if kind == "barge":
            patience = replace(patience, first_s=FALSE_S)
        elif kind == "reply":
            patience = replace(patience, first_s=REPLY_S)
        # The wake word's own tail is no question; over the device's voice somebody has begun already.
        self._ear = Endpoint(patience, deaf_s=0.1 if kind == "wake" else 0.0, begun=kind == "barge")
        pre = {"wake": PRE_S, "barge": BARGE_PRE_S}.get(kind, 0.2)
        actions: list[Action] = [Hold(), Open(self._number, kind, pre)]
        if kind != "barge" and self._chimes:
            actions.append(Chime("ready"))
        return actions

    def _heard(self, chance: Chance) -> list[Action]:
        ear = self._ear
        happened = ear.step(chance.value)
        if max(chance.value, chance.anybody) >= SPEECH:
            self._loud = ear.steps
        if happened == "nothing":
            return self._give_up(None if self._kind == "barge" else "gone", resume=True)
        if happened == "ended":
            return self._ended()
        self._since = 0
        if happened == "paused":
            return self._decode()
        if not self._peeked and not ear.began and ear.length_s >= PEEK_S and self._quiet_s >= PEEK_S / 2:
            self._peeked = True
            return self._decode()
        if ear.began and not self._asked and (ear.steps - self._decoded) * STEP_S >= EVERY_S and not ear.silent_s:
            return self._decode()
        return []

    def _decode(self) -> list[Action]:
        if self._asked:
            return []
        self._asked = self._ear.steps
        return [Decode(self._number, self._asked)]

    def _words(self, words: Words) -> list[Action]:
        if words.turn != self._number or not self._asked:
            return []
        self._asked, self._decoded = 0, words.steps
        text = words.text
        self._text = without_wake(text, self._phrase) if self._kind == "wake" else text
        intent = understand(self._text)
        whole = intent.kind not in ("none", "remind")
        command = whole and intent.kind != "question"
        self._ear.need_s = needed(self._text, self._patience, whole=whole, command=command)
        if intent.kind == "stop":
            return self._finish(intent)  # nobody says it twice as long
        over = not self._ear.began and self._complete and self._decoded >= self._loud
        if over and whole and len(self._text.split()) >= _CLEAR.get(intent.kind, 1):
            return self._finish(intent)  # all of it was said before the wake word was noticed
        if self._complete and intent.kind == "question":
            return [Guess(intent)]
        return []

    @property
    def _complete(self) -> bool:
        """Whether what was decoded covers all that was said."""
        return self._decoded >= max(1, self._ear.spoken_to)

    @property
    def _quiet_s(self) -> float:
        """Seconds since anybody spoke: while the device still sounds, a person's words may pass for its own."""
        return (self._ear.steps - max(self._loud, self._ear.spoken_to)) * STEP_S

    def _ended(self) -> list[Action]:
        """Silence for as long as the words so far call for: act, once they are all decoded."""
        self._since += 1
        if not self._complete and self._since * STEP_S < LATE_S:
            return self._decode()
        if not self._text.strip(" .,!?"):
            if self._kind == "wake" and self._ear.length_s < self._patience.first_s:
                self._ear.wait_again()  # it was the wake word alone
                self._since = 0
                return []
            return self._give_up(None if self._kind == "barge" else "gone", resume=True)
        return self._finish(understand(self._text))

    def _finish(self, intent: Intent) -> list[Action]:
        assert self._kind is not None
        done = Do(self._number, self._kind, intent)
        self._kind = None
        return [done]

    def _deaf(self) -> list[Action]:
        """The microphone gives nothing: what was understood is acted on if it is whole, else the turn is over."""
        self._since += 1
        if self._ear.began and not self._complete and self._since < LATE_DEAF:
            return self._decode()
        intent = understand(self._text)
        if self._text and intent.kind != "none":
            return self._finish(intent)
        return self._give_up("trouble", resume=True)

    def _give_up(self, chime: Name | None, *, resume: bool) -> list[Action]:
        self._kind = None
        chimes: list[Action] = [Chime(chime)] if chime is not None and self._chimes else []
        return [*chimes, Close(resume)]
