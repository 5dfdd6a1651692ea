"""The listening stage: the sound on the bus in, turns of a conversation out.

Sound runs through the echo canceller, the wake words and, while it matters, the voice detector, in steps of 32 ms;
`Turns` says what to do about it.  Decoding and answering have threads of their own, so that nothing that is said
meanwhile is lost.  Sound is held in memory for the length of a turn and is never written anywhere.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from dataclasses import dataclass, field, replace

import numpy as np

from edge.ahead import ahead, soon
from edge.bus import Bus
from edge.clock import US, Clock
from edge.errors import sentence_of
from edge.logs import Log, Private
from edge.messages import Health, Pcm, Sound
from edge.voice import turn as t
from edge.voice.barge import OverVoice, repeats
from edge.voice.earcons import earcon
from edge.voice.echo import BLOCK, Canceller, OwnVoice, place
from edge.voice.endpoint import Patience
from edge.voice.hearing import Hearing
from edge.voice.intent import says
from edge.voice.mind import Mind, Moment
from edge.voice.noise import Ambient
from edge.voice.own_marks import OwnMarks
from edge.voice.service import VoiceService
from edge.voice.talk import Talk
from edge.voice.timing import Timing
from edge.voice.wake import Called
from edge.voice.worker import Worker
from models.errors import ModelError
from models.roles import SPEECH_RATE

FRAME = 512  # samples of one step: 32 ms
FRAME_US = FRAME * US // SPEECH_RATE
LOST_US = 3 * US // 10  # a hole in the sound beyond which streams begin anew
DEAF_US = US  # a turn in which no sound came for so long is over
DRIFT = 2000  # one part in so many by which two clocks may part
RING = 125  # frames kept before a turn: 4 s
_WAIT_S = 0.05


@dataclass(frozen=True, slots=True)
class _Told:
    """Whether a doubtful word that ended with a frame was said, by the recogniser."""

    called: Called
    frame: int
    mono: int
    said: bool


_log = Log("voice")


@dataclass(frozen=True, slots=True)
class Settings:
    """How the device listens.  `over_speech`: any voice over its own interrupts it, not the wake word alone."""

    patience: Patience = field(default_factory=Patience)
    chimes: bool = True
    over_speech: bool = True
    volume: float = 1.0
    adapt_volume: bool = True


class Listener:
    """One pair of ears.  `run` is its loop; `tap` and `health` may be called by any thread."""

    def __init__(
        self,
        bus: Bus,
        voice: VoiceService,
        mind: Mind,
        hearing: Hearing,
        clock: Clock,
        settings: Settings,
        own: OwnVoice | None = None,
        marks: OwnMarks | None = None,
    ) -> None:
        """`own` is what the voice plays, the same that was given to `voice`; without it nothing is cancelled.

        `marks` are told where it is heard.
        """
        self._bus, self._voice, self._hearing, self._clock, self._settings = bus, voice, hearing, clock, settings
        self._inbox = bus.subscribe("sound")
        self._back: queue.SimpleQueue[t.Event | _Told] = queue.SimpleQueue()  # what threads and other rooms bring
        self._turns = t.Turns(settings.patience, chimes=settings.chimes)
        self._talk = Talk(voice, mind, clock, settings.volume, self._expect)
        self._echo, self._marks = Canceller(own or OwnVoice()), marks
        self._over = OverVoice()
        self._ambient = Ambient()
        voice.gain = settings.volume
        self._decoder = Worker("voice-asr", clock)
        self._ring: deque[Pcm] = deque(maxlen=RING)
        self._frames = 0  # ever heard
        self._sound: list[Pcm] = []  # of the turn under way
        self._pre = 0  # frames of it from before the turn began
        self._wordless = False  # the device has said nothing in it; its tone is no voice, and hides none
        self._rest: Pcm = np.zeros(0, np.float32)
        self._next: int | None = None  # wall time at which the next sound is due
        self._lag: int | None = None  # monotonic time less the sound's own
        self._heard_at: int | None = None  # monotonic time of the last sound
        self._problem = self._unheard = ""  # of recognition, of the wake words
        self.timing = Timing()

    def run(self, stop: threading.Event) -> None:
        """Listen until `stop`.  Without a model it says why and lets the sound pass."""
        self._talk.start()
        try:
            with soon():  # its models' threads and the decoder's too
                if self._load():
                    self._listen(stop)
        finally:
            self._talk.stop()
        while not stop.is_set():
            self._inbox.get(_WAIT_S)
            self._clock.wait(stop, _WAIT_S)

    def _listen(self, stop: threading.Event) -> None:
        self._decoder.start()
        try:
            with ahead():
                self._loop(stop)
        finally:
            self._decoder.stop()

    def _loop(self, stop: threading.Event) -> None:
        while not stop.is_set():
            message = self._inbox.get(_WAIT_S)
            if isinstance(message, Sound):
                self.hear(message)
            else:
                if message is None:
                    self._clock.wait(stop, _WAIT_S / 10)  # a closed bus answers at once: do not spin
                self._silence()
            self._bring()

    def tap(self) -> None:
        """The button, or a tap on the glasses: begin a turn, or end the one under way."""
        self._back.put(t.Tap())

    def idle(self) -> bool:
        """Whether nothing is under way: no turn, no decoding, no answer in the making."""
        return (
            self._turns.open is None
            and not self._inbox.backlog()
            and not self._decoder.busy
            and not self._talk.busy
            and self._back.empty()
        )

    def drain(self, timeout_s: float) -> bool:
        """Wait until everything that was heard has been acted on; false when the time is over first."""
        never = threading.Event()
        for _ in range(round(timeout_s / _WAIT_S)):
            if self.idle():
                return True
            self._clock.wait(never, _WAIT_S)
        return False

    def health(self) -> dict[str, object]:
        """For /health: whether it hears, and how it fared; never words."""
        now = self._clock.mono()
        return {
            "state": "down" if self._problem or self._unheard else "ok",
            "detail": self._problem or self._unheard,
            "turn": self._turns.open,
            "turns": self.timing.turns,
            "last_sound_age_s": None if self._heard_at is None else round((now - self._heard_at) / US, 1),
            "ambient_db": round(self._ambient.level_db, 1),
            "echo_removed_db": round(self._echo.removed_db, 1),
            "last_turn_ms": self.timing.last,
        }

    def hear(self, sound: Sound) -> None:
        """Take a stretch of sound; called by one thread."""
        now = self._clock.mono()
        self._heard_at = now
        if self._hearing.ears.problem != self._unheard:
            self._unheard = self._hearing.ears.problem
            self._told("wake word", self._unheard)
        if self._next is None or abs(sound.t - self._next) > LOST_US:
            if self._next is not None:
                _log.debug("sound_lost", seconds=round((sound.t - self._next) / US, 2))
            self._rest = np.zeros(0, np.float32)
            self._lag = None
            self._hearing.ears.reset()
        length = len(sound.pcm) * US // SPEECH_RATE
        self._next = sound.t + length
        # From the sound's own time to the monotonic one by its quickest way here: a busy machine hands it on late.
        late = now - self._next
        self._lag = late if self._lag is None else min(late, self._lag + length // DRIFT)
        pcm = np.concatenate([self._rest, sound.pcm])
        begin = self._next + self._lag - len(pcm) * US // SPEECH_RATE  # monotonic
        count = len(pcm) // FRAME
        for i in range(count):
            wall = self._next - (len(pcm) - (i + 1) * FRAME) * US // SPEECH_RATE
            self._frame(pcm[i * FRAME : (i + 1) * FRAME], begin + i * FRAME_US, Moment(wall, sound.offset_s))
        self._rest = pcm[count * FRAME :]

    def _frame(self, raw: Pcm, begin: int, at: Moment) -> None:
        mono = begin + FRAME_US
        pcm = np.concatenate([
            self._echo.step(raw[:BLOCK], place(begin)), self._echo.step(raw[BLOCK:], place(begin) + BLOCK)
        ])  # fmt: skip
        if self._marks is not None:
            self._marks.note(at.t - FRAME_US, pcm, self._echo)
        self._keep(pcm)
        called = self._hearing.ears.feed(pcm, mono)
        if self._over.itself(self._echo):  # what is heard may be its own voice still
            called = None
        if called is not None and called.sure:
            self._called(called, mono, at)
        elif called is not None and self._turns.open is None:
            self._doubt(called, mono)
        talking = self._echo.talking
        if self._turns.open is not None:
            anybody = self._hearing.vad.probability(pcm)
            self._wordless = self._wordless and self._voice.speaking is None
            chance = anybody if self._wordless else self._over.chance(anybody, self._echo)
            if chance >= t.SPEECH:
                self.timing.voiced(mono)
            self._step(t.Chance(chance, anybody), at)
        elif talking or self._voice.speaking is not None:
            chance = self._over.chance(self._hearing.vad.probability(pcm), self._echo)
            if self._over.begun(chance, self._echo) and self._voice.speaking is not None and self._settings.over_speech:
                self.timing.barged(mono)
                self._step(t.Barge(), at)
        else:
            self._over.quiet()
            self._ambient.take(pcm)
            if self._settings.adapt_volume:
                self._voice.gain = self._ambient.gain(self._talk.volume)
        self._talk.at = at

    def _keep(self, pcm: Pcm) -> None:
        self._frames += 1
        self._ring.append(pcm)
        if self._turns.open is not None:
            self._sound.append(pcm)

    def _called(self, called: Called, mono: int, at: Moment) -> None:
        if called.kind == "stop":
            self._talk.silence()
        else:
            self.timing.woke(mono, self._clock.mono())
            self._step(t.Wake(called.phrase), at)

    def _doubt(self, called: Called, mono: int) -> None:
        """Let the recogniser say whether the word was said; the sound that comes meanwhile is kept."""
        pcm = np.concatenate(list(self._ring)[-round(t.PRE_S * SPEECH_RATE / FRAME) :])
        frame = self._frames

        def job() -> None:
            try:
                said = says(self._hearing.words(pcm), called.phrase)
            except ModelError:  # nobody can say: the turn will find that out and tell
                said = True
            _log.debug("doubtful_word", said=said)
            self._back.put(_Told(called, frame, mono, said))

        self._decoder.put(job)

    def _believe(self, told: _Told) -> None:
        """Act on a doubtful word as if it had been clear: what was said since is still to be heard."""
        since = self._frames - told.frame
        if not told.said or self._turns.open is not None or since >= len(self._ring):
            return
        self._hearing.ears.rest(told.mono)
        missed = [self._ring.pop() for _ in range(since)][::-1]
        self._frames = told.frame
        self._called(told.called, told.mono, self._talk.at)
        for pcm in missed:
            self._keep(pcm)
            self._step(t.Chance(self._hearing.vad.probability(pcm)), self._talk.at)

    def _silence(self) -> None:
        """No sound came in a while."""
        if self._turns.open is None or self._heard_at is None:
            return
        if self._clock.mono() - self._heard_at >= DEAF_US:
            self._step(t.Deaf(), self._talk.at)

    def _bring(self) -> None:
        """What the threads have done."""
        while not self._back.empty():
            event = self._back.get()
            self._believe(event) if isinstance(event, _Told) else self._step(self._foreign(event), self._talk.at)

    def _foreign(self, event: t.Event) -> t.Event:
        """What interrupted the device is not taken for its own words, should the echo have passed for somebody."""
        if isinstance(event, t.Words) and self._turns.open == "barge":
            held = self._voice.held
            if held is not None and repeats(event.text, held.text):
                return replace(event, text="")
        return event

    def _expect(self) -> None:
        self._back.put(t.Expect())

    def _step(self, event: t.Event, at: Moment) -> None:
        for action in self._turns.step(event):
            self._act(action, at)

    def _act(self, action: t.Action, at: Moment) -> None:
        if isinstance(action, t.Hold):
            self._talk.cancel()
            self._voice.hold()
        elif isinstance(action, t.Open):
            frames = min(len(self._ring), round(action.pre_s * SPEECH_RATE / FRAME))
            self._sound = list(self._ring)[len(self._ring) - frames :]
            self._pre = frames
            self._wordless = not self._echo.talking
            self._hearing.vad.reset()
            self.timing.opened(action.kind)
            _log.debug("turn", kind=action.kind)
        elif isinstance(action, t.Chime):
            self._voice.chime(earcon(action.name))
        elif isinstance(action, t.Decode):
            self._decode(action)
        elif isinstance(action, t.Guess):
            self._talk.guess(action.intent, at)
        elif isinstance(action, t.Do):
            self._sound = []
            self.timing.ended(self._clock.mono())
            _log.info("heard", turn=action.kind, intent=action.intent.kind)
            _log.debug("heard_text", text=Private(action.intent.text))
            self._talk.do(action.kind, action.intent, at, self.timing)
        else:
            self._sound = []
            _log.debug("turn_over", resume=action.resume)
            self._talk.give_back(resume=action.resume)

    def _decode(self, action: t.Decode) -> None:
        pcm = np.concatenate(self._sound[: self._pre + action.steps])

        def job() -> None:
            begun = self._clock.mono()
            try:
                text = self._hearing.words(pcm)
                self._tell("")
            except ModelError as error:
                text = ""
                self._tell(sentence_of(error))
            self.timing.decoded(self._clock.mono() - begun)
            self._back.put(t.Words(action.turn, action.steps, text))

        self._decoder.put(job)

    def _load(self) -> bool:
        try:
            self._hearing.load()
        except ModelError as error:
            self._tell(sentence_of(error))
            return False
        return True

    def _tell(self, problem: str) -> None:
        """Log and publish a change once, not each failure."""
        if problem == self._problem:
            return
        self._problem = problem
        self._told("listening", problem)

    def _told(self, part: str, problem: str) -> None:
        _log.warning("listening_down", part=part, reason=problem) if problem else _log.info("listening_back", part=part)
        self._bus.publish(Health(self._clock.now(), part, "down" if problem else "ok", problem))
