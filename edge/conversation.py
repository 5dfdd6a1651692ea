"""What the voice is about: questions to the agent, commands to whoever owns what they concern.

The voice hears and speaks; here is what it knows.  Everything is read at the time of asking.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Protocol, cast

from edge.agent import standing
from edge.agent.asking import Asker
from edge.agent.phrases import done, to_you
from edge.agent.question import Query
from edge.agent.wishes import is_wish
from edge.clock import US, Clock, local
from edge.errors import QuestionError
from edge.memory import intentions
from edge.messages import Say
from edge.proactive.why import why
from edge.retrieval.zone import Zone
from edge.voice.intent import Intent
from edge.voice.mind import Moment, Reply
from edge.voice.spoken import number_words, time_words
from edge.wishing import Wishing
from storage import Store
from storage.errors import NotFound
from storage.records import Intention, Utterance, Window

CONVERSATION = "voice"
SNOOZE_S = 3600.0  # when no length was named
MOST_FORGOTTEN_S = 7 * 86_400.0  # by voice: a misheard word must not take a year

_TELL = re.compile(r"(?:please )?(?:tell|let|warn|alert) me\b", re.IGNORECASE)
_ALERT = re.compile(r"a(\d+)")
_FORGET = re.compile(
    r"\b(?:(?:don't|do not) let me forget|remember|make a note|note)(?: to| about| that)? ", re.IGNORECASE
)


class Device(Protocol):
    """What a conversation may do to the running device."""

    def rest(self, seconds: float | None) -> None:
        """Close camera and microphone, for so many seconds or until told otherwise; None: open them again at once."""
        ...

    def erase(self, seconds: float) -> None:
        """Forget the newest stretch of time for good."""
        ...


@dataclass(slots=True)
class _Pending:
    """What waits for a yes: how much is to be forgotten, and when that was said, monotonic microseconds."""

    seconds: float
    mono: int


class Conversation:
    """A Mind for the voice (see edge.voice.mind)."""

    def __init__(self, store: Store, asker: Asker, device: Device, clock: Clock, owner: str = "") -> None:
        self._store, self._asker, self._device, self._clock, self._owner = store, asker, device, clock, owner
        self._pending: _Pending | None = None
        self._lock = threading.Lock()
        self._asked: dict[str, Query | None] = {}
        self._evidence: tuple[str, tuple[str, ...]] = ("", ())
        self._commands: dict[str, Callable[[Intent, Moment, Say | None], Reply]] = {
            "pause": self._pause,
            "resume": self._resume,
            "forget": self._forget,
            "why": self._why,
            "mute_this": self._mute,
            "snooze": self._snooze,
            "remind": self._remind,
        }

    def answer(self, question: str, at: Moment) -> Iterator[str]:
        """The agent's answer, sentence by sentence; a question that was only guessed leaves no trace."""
        before = self._asker.previous(CONVERSATION)
        spoken = False
        with self._store.snapshot(at.t) as snapshot:
            asked = self._asker.sentences(snapshot, question, now=at.t, offset_s=at.offset_s, conversation=CONVERSATION)
            parts = cast("Generator[str, None, None]", asked)
            try:
                with closing(parts):
                    for part in parts:
                        yield part
                        spoken = True
            finally:
                if not spoken and before is not None:
                    self._asker.remember(before, CONVERSATION)

    def answered(self, question: str) -> None:
        """The answer to this question is being spoken."""
        with self._lock:
            self._evidence = (question, ())

    def obey(self, intent: Intent, at: Moment, last: Say | None) -> Reply:
        """Carry out a command.  Raises what its owner raises."""
        return self._commands[intent.kind](intent, at, last)

    def confirm(self, yes: bool, at: Moment) -> Reply:
        """Forget, or do not."""
        del at
        pending, self._pending = self._pending, None
        if pending is None:
            return Reply("There is nothing to confirm.")
        if not yes:
            return Reply("All right, nothing is forgotten.")
        # What was said since belongs to it too: the wish itself names what is to go.
        self._device.erase(pending.seconds + (self._clock.mono() - pending.mono) / US)
        self._asker.forget()
        return Reply("It is forgotten.")

    def _pause(self, intent: Intent, at: Moment, last: Say | None) -> Reply:
        del at, last
        self._device.rest(intent.seconds or 0.0)
        until = f"for {span_words(intent.seconds)}" if intent.seconds else "until you resume it by hand"
        return Reply(f"Camera and microphone are off {until}.")

    def _resume(self, intent: Intent, at: Moment, last: Say | None) -> Reply:
        del intent, at, last
        self._device.rest(None)
        return Reply("I am recording.")

    def _forget(self, intent: Intent, at: Moment, last: Say | None) -> Reply:
        del at, last
        if intent.seconds is None:
            return Reply("How much? Say for example: forget the last ten minutes.")
        if intent.seconds > MOST_FORGOTTEN_S:
            return Reply("By voice I forget at most seven days. Use the forget command for more.")
        self._pending = _Pending(intent.seconds, self._clock.mono())
        return Reply(f"Forget the last {span_words(intent.seconds)} for good? Yes or no?", asks=True)

    def _why(self, intent: Intent, at: Moment, last: Say | None) -> Reply:
        del intent
        if last is None:
            return Reply("I have not said anything yet.")
        found = _ALERT.fullmatch(last.source)
        if found is None:
            return self._why_answer(at)
        with self._store.snapshot() as snapshot:
            try:
                told = why(snapshot, int(found[1]))
            except NotFound:
                return Reply("What that rested on has been forgotten since.")
        grounds = [g for g in told.grounds if g.t is not None]
        if not grounds:
            return Reply(f"Because of what I noticed at {_clock(told.service.t, told.service.offset_s)}.")
        parts = [f"at {_clock(g.t or 0, g.offset_s)}: {_plain(g.text)}" for g in grounds[:2]]
        return Reply(f"Because of what I noticed {', and '.join(parts)}.")

    def _why_answer(self, at: Moment) -> Reply:
        question = self._evidence[0]
        if not question:
            return Reply("That was no answer of mine.")
        with self._store.snapshot(at.t) as snapshot:
            found = self._asker.ask(
                snapshot, question, now=at.t, offset_s=at.offset_s, policy="rules", conversation="why"
            )
        if not found.evidence:
            return Reply("I found nothing in your memory about it.")
        best = found.evidence[0]
        when = re.match(r"\d{4}-\d\d-(\d\d)T(\d\d):(\d\d)", best["t_start"])
        told = f" at {time_words(int(when[2]), int(when[3]))}" if when is not None else ""
        return Reply(f"I took it from what I noticed{told}: {_plain(best['text'])}.")

    def _mute(self, intent: Intent, at: Moment, last: Say | None) -> Reply:
        del intent, at
        found = None if last is None else _ALERT.fullmatch(last.source)
        if found is None:
            return Reply("That was no alert: I only speak like that when you ask.")
        Wishing(self._store, self._clock).feedback("dismissed", "voice", int(found[1]))
        return Reply("All right, not again.")

    def _snooze(self, intent: Intent, at: Moment, last: Say | None) -> Reply:
        del at, last
        seconds = intent.seconds or SNOOZE_S
        Wishing(self._store, self._clock).hush(seconds)
        return Reply(f"I leave you alone for {span_words(seconds)}, unless there is danger.")

    def _remind(self, intent: Intent, at: Moment, last: Say | None) -> Reply:
        del last
        if _TELL.match(intent.text) and not is_wish(intent.text):  # "tell me when I lost it" asks about what was
            return Reply(" ".join(self.answer(intent.text, at)))
        try:
            taken = standing.add(self._store, reminder(intent.text), now=at.t, offset_s=at.offset_s)
        except QuestionError:
            return self._intend(intent, at)
        return Reply(standing.described(taken, Zone(at.t, at.offset_s)))

    def _intend(self, intent: Intent, at: Moment) -> Reply:
        """A reminder with no condition to watch for is an intention like any other that is said."""
        with self._store.transaction() as tx:
            windows = tx.snapshot().trace.recent(1)
            if not windows:
                return Reply("I cannot keep that yet: nothing has been recorded so far.")
            said = Utterance(at.t, "wearer", reminder(intent.text))
            heard = intentions.heard(_saying(windows[0], said), frozenset({"wearer"}))
            if not heard:
                return Reply("Tell me what to remind you of, as in: remind me to call home.")
            for intention in heard:
                tx.intentions.add(intention)
        return Reply(f"I keep it in mind: {_first(heard)}.")


def span_words(seconds: float | None) -> str:
    """A length of time for the ear: "an hour", "ten minutes", "two hours and thirty minutes"."""
    total = round(seconds or 0)
    parts = []
    for unit, size in (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1)):
        count, total = divmod(total, size)
        if count:
            parts.append(f"{number_words(count)} {unit}{'' if count == 1 else 's'}")
    return " and ".join(parts[:2]) or "a moment"


def _saying(window: Window, said: Utterance) -> Window:
    return replace(window, speech=(said,))


def _first(heard: Iterable[Intention]) -> str:
    first = next(iter(heard))
    return to_you(f"{first.what} {first.due}".strip())


def reminder(text: str) -> str:
    """A wish to be reminded in the words that are understood: "remind me to ..."."""
    return text if "remind me" in text.lower() else _FORGET.sub("remind me to ", text, count=1)


def _clock(t: int, offset_s: int) -> str:
    moment = local(t, offset_s)
    return time_words(moment.hour, moment.minute)


def _plain(text: str) -> str:
    """For the ear of the wearer, who is the subject of most of it: "wearer wash hand" -> "you washed hand"."""
    return re.sub(r"^wearer (.+)", lambda m: f"you {done(m[1])}", text.strip().rstrip(".!?\u2026"))
