"""Acting on what was heard: answers, commands, and the questions the device asks back.

Runs a thread for what takes time.  An answer may be begun on a guess of what is being asked; it is spoken only when
the sentence has turned out so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from edge.ahead import soon
from edge.clock import Clock
from edge.errors import GroveError, code_of, sentence_of
from edge.logs import Log
from edge.messages import Say
from edge.voice.earcons import earcon
from edge.voice.intent import Intent, normal
from edge.voice.mind import Mind, Moment, Reply
from edge.voice.queue import ANSWER
from edge.voice.service import VoiceService
from edge.voice.timing import Timing
from edge.voice.turn import TurnKind
from edge.voice.worker import Worker

STEP = 1.4  # of the volume, louder or quieter
SOFTEST = 0.1
ASKED = "question"  # the source of what asks back
ANSWERED = "answer"
HELP = (
    "Ask me what you saw, did or heard: where you left your keys, or when you last watered the plants. "
    "Or say: repeat that, louder, stop, remind me to call home, why did you say that, don't tell me that again, "
    "snooze for an hour, pause recording for an hour, or forget the last ten minutes."
)
TROUBLE = "Something went wrong with that."

_log = Log("voice")


class _Answer:
    """One answer in the making."""

    def __init__(self, question: str) -> None:
        self.key = normal(question)
        self.wanted = threading.Event()
        self.dropped = threading.Event()


class Talk:
    """Called by the listener's thread, except where it says otherwise."""

    def __init__(
        self, voice: VoiceService, mind: Mind, clock: Clock, volume: float, expect: Callable[[], None]
    ) -> None:
        self._voice, self._mind, self._clock, self._expect = voice, mind, clock, expect
        self._worker = Worker("voice-mind", clock)
        self._making: _Answer | None = None
        self._timing: Timing | None = None
        self._asking = False  # a yes or no is awaited
        self.volume = volume
        self.at = Moment(0, 0)  # of the last sound

    def start(self) -> None:
        """Begin."""
        self._worker.start()

    def stop(self) -> None:
        """End; what is being thought is dropped."""
        self.cancel()
        self._worker.stop()

    @property
    def busy(self) -> bool:
        """Whether something is being thought about."""
        return self._worker.busy

    @property
    def asking(self) -> bool:
        """Whether a yes or no is awaited."""
        return self._asking

    def guess(self, intent: Intent, at: Moment) -> None:
        """Begin on the answer to what is probably being asked."""
        making = self._making
        if making is None or making.key != normal(intent.text):
            self._begin(intent, at, None)

    def do(self, kind: TurnKind, intent: Intent, at: Moment, timing: Timing) -> None:
        """Act on a whole sentence."""
        last = self._voice.held or self._voice.last
        asking, self._asking = self._asking, False
        if intent.kind != "question":
            self.cancel()  # what was guessed of half a sentence
        if intent.kind == "stop":
            self.silence()
        elif asking and intent.kind in ("yes", "no"):
            self._think(lambda: self._mind.confirm(intent.kind == "yes", at), timing)
        elif intent.kind == "question":
            making = self._making
            if making is None or making.key != normal(intent.text):
                making = self._begin(intent, at, timing)
            self._timing = timing
            making.wanted.set()
        elif intent.kind in ("louder", "quieter"):
            self._volume(STEP if intent.kind == "louder" else 1 / STEP)
            self._voice.chime(earcon("done"))
            self._asking = asking
            self.give_back(resume=True)
        elif intent.kind == "repeat":
            self._say(last.text if last is not None else "I have not said anything yet.", timing, asks=asking)
        elif intent.kind == "help":
            self._say(HELP, timing)
        elif intent.kind in ("none", "yes", "no"):
            if asking and kind != "barge":
                self._think(lambda: self._mind.confirm(False, at), timing)
                return
            if kind != "barge":
                self._voice.chime(earcon("unknown"))
            self._asking = asking
            self.give_back(resume=True)
        else:
            self._think(lambda: self._mind.obey(intent, at, last), timing)

    def silence(self) -> None:
        """The wearer said stop: nothing of what was being said or waits is said, but warnings of danger."""
        self.cancel()
        self._asking = False
        self._voice.hush()
        self._voice.release(resume=False)

    def cancel(self) -> None:
        """What is being thought is not wanted any more."""
        making, self._making = self._making, None
        if making is not None:
            making.dropped.set()
            making.wanted.set()

    def give_back(self, *, resume: bool) -> None:
        """The turn came to nothing: what was cut off goes on."""
        self.cancel()
        held = self._voice.held
        if self._asking and not (resume and held is not None and held.source == ASKED):
            self._asking = False
            self._worker.put(lambda: self._quietly(self._mind.confirm(False, self.at)))
        self._voice.release(resume=resume)

    def _begin(self, intent: Intent, at: Moment, timing: Timing | None) -> _Answer:
        self.cancel()
        making = self._making = _Answer(intent.text)
        self._timing = timing

        def job() -> None:
            with soon():
                self._answer(making, intent.text, at)

        self._worker.put(job)
        return making

    def _answer(self, making: _Answer, question: str, at: Moment) -> None:
        """In the worker: sentence by sentence, the first made into sound while it is still a guess."""
        begun, spoken = self._clock.mono(), False
        thought = made = 0
        try:
            for sentence in self._mind.answer(question, at):
                if making.dropped.is_set():
                    return
                if not spoken:
                    thought = self._clock.mono()
                    self._voice.prepare(sentence)
                    made = self._clock.mono()
                    making.wanted.wait()
                    if making.dropped.is_set():
                        return
                    if self._timing is not None:
                        self._timing.thought(thought - begun)
                        self._timing.made(made - thought)
                    self._mind.answered(question)
                self._say(sentence, self._timing if not spoken else None, first=not spoken)
                spoken = True
        except GroveError as error:
            making.wanted.wait()
            if not making.dropped.is_set():
                self._say(sentence_of(error), self._timing, first=not spoken)
        except Exception as error:
            making.wanted.wait()
            if not making.dropped.is_set():
                self._say(TROUBLE if code_of(error) is None else sentence_of(error), self._timing, first=not spoken)
            raise

    def _think(self, act: Callable[[], Reply], timing: Timing) -> None:
        def job() -> None:
            try:
                reply = act()
            except Exception as error:
                self._say(TROUBLE if code_of(error) is None else sentence_of(error), timing)
                if code_of(error) is None:
                    raise
                return
            self._say(reply.text, timing, asks=reply.asks)

        self.cancel()
        self._worker.put(job)

    def _say(self, text: str, timing: Timing | None, *, first: bool = True, asks: bool = False) -> None:
        """Speak, and give the floor back: an earlier answer is dropped, an alert that was cut off comes after this."""
        held = self._voice.held
        if asks:
            self._asking = True
        if text:
            self._voice.say(Say(text, ANSWER, ASKED if asks else ANSWERED))
        if timing is not None:
            timing.said(self._clock.mono())
        if first:
            self._voice.release(
                resume=held is not None and held.source not in (ANSWERED, ASKED),
                then=(ASKED, self._expect) if asks else None,
            )

    def _quietly(self, reply: Reply) -> None:
        _log.debug("not_confirmed", length=len(reply.text))

    def _volume(self, factor: float) -> None:
        self.volume = min(1.0, max(SOFTEST, self.volume * factor))
        self._voice.gain = self.volume
