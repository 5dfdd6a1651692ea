"""The voice: takes Say from the bus, and speaks one at a time, sentence by sentence.

The first sentence plays while the next is being made.  Something critical cuts off what is being said, which then goes
on with the sentence it was in, unless that has gone stale.  While the wearer has the floor (`hold` to `release`)
nothing but danger is spoken; what was cut off then goes on afterwards or is dropped.  Whatever cannot be spoken is
counted and told in the open; the text itself was shown and stored before it came here.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass

from edge.ahead import ahead
from edge.bus import Bus
from edge.clock import US, Clock
from edge.errors import AudioError, ServiceDown, sentence_of
from edge.logs import Log, Private
from edge.messages import Health, Say, Spoken
from edge.voice.echo import RATE, OwnVoice
from edge.voice.maker import SpeechMaker
from edge.voice.pcm import resample, scale, to_float
from edge.voice.player import Player
from edge.voice.queue import ANSWER, CRITICAL, VoiceQueue
from edge.voice.spoken import sentences, speakable
from models.errors import ModelError
from models.roles import TTS, AudioChunk

_log = Log("voice")
_TICK_S = 0.1  # how late a stop can be noticed
_CUT_S = 2.0  # how long a player may take to fall silent
RETRY_S = 2.0  # between attempts of a warning while the speaker is away


@dataclass(slots=True)
class _Now:
    """What is being said, and how far it has come."""

    say: Say
    parts: list[str]
    part: int = 0  # index of the sentence being played
    first: int | None = None  # monotonic microseconds when sound first reached the player
    hushed: bool = False
    held: bool = False
    goes_on: bool = False  # it was cut off, and its rest is kept

    def rest(self) -> str:
        """From the sentence that was cut on."""
        return " ".join(self.parts[self.part :])


class VoiceService:
    """One voice; `run` is its loop, everything else may be called by any thread."""

    def __init__(
        self,
        bus: Bus,
        tts: TTS | None,
        player: Player,
        clock: Clock,
        *,
        voice_queue: VoiceQueue | None = None,
        own: OwnVoice | None = None,
    ) -> None:
        """`own` is told what is played and when, for whoever has to hear past it."""
        self._bus = bus
        self._own = own
        self._floor = False  # the wearer has it
        self._held: tuple[Say, str] | None = None  # what was cut off when the wearer took the floor
        self._chimes: deque[AudioChunk] = deque(maxlen=4)
        self._chiming = False
        self._then: tuple[str, Callable[[], None]] | None = None
        self._last: Say | None = None  # said last, answer or alert
        self.gain = 1.0  # of speech and earcons, 0-1
        self.chimed: int | None = None  # monotonic microseconds when the last earcon reached the player
        self._maker = SpeechMaker(tts) if tts is not None else None
        self._first_maker = self._maker
        self._player = player
        self._clock = clock
        self._queue = voice_queue or VoiceQueue()
        self._inbox = bus.subscribe("voice")
        self._changed = threading.Condition()
        self._cut = threading.Event()  # falls silent
        self._now: _Now | None = None
        self._rounds = 0  # of the thread that reads the bus
        self._spoken = 0
        self._unspoken = 0
        self._last_source = ""
        self._last_at: int | None = None  # wall microseconds
        self._first_sound_ms: int | None = None
        self._problem = player.problem
        if tts is None and not player.silent:
            self._problem = "There is no voice: run grove-edge doctor to see which is missing."

    def run(self, stop: threading.Event) -> None:
        """Speak until `stop`; then fall silent within a moment."""
        with ahead():
            self._run(stop)

    def _run(self, stop: threading.Event) -> None:
        if self._problem:
            _log.warning("voice_down", reason=self._problem)
            self._bus.publish(Health(self._clock.now(), "voice", "down", self._problem))
        left = threading.Event()
        reader = threading.Thread(target=self._read, args=(stop, left), name="voice-inbox", daemon=True)
        reader.start()
        try:
            while not stop.is_set():
                if not reader.is_alive() and not stop.is_set():
                    raise ServiceDown("The voice no longer hears the bus: the log says why.")
                self._chime()
                with self._changed:
                    say = self._queue.next(self._clock.mono(), CRITICAL if self._floor else None)
                    if say is None and self._chimes:
                        continue
                    if say is None:
                        self._changed.wait(_TICK_S)
                        continue
                    self._cut.clear()
                    now = self._now = _Now(say, sentences(speakable(say.text)))
                if stop.is_set():  # `_cut` may have been set by it, and cleared above
                    break
                try:
                    self._speak(now, stop)
                finally:
                    with self._changed:
                        self._now = None
                        over = self._then if self._then and self._then[0] == say.source and not now.goes_on else None
                        if over is not None:
                            self._then = None
                        self._changed.notify_all()
                if over is not None:
                    over[1]()
        finally:
            left.set()  # whatever ended the loop, the supervisor is to see it
            reader.join()

    def hush(self, source: str | None = None, *, critical: bool = False) -> bool:
        """Stop what is being said and forget what waits (of one source): the wearer speaks, or said stop.

        True when something was cut off.  A critical warning that is being said goes on unless `critical` is given;
        those that wait are kept in any case.
        """
        with self._changed:
            self._queue.clear(source)
            now = self._now
            if now is None or (source is not None and now.say.source != source):
                return False
            if now.say.priority >= CRITICAL and not critical:
                return False
            now.hushed = True
            self._forget_then(now.say)
            self._cut.set()
            return True

    def hold(self) -> bool:
        """The wearer takes the floor: fall silent but for danger.  True when something was cut off."""
        with self._changed:
            self._floor = True
            now = self._now
            if now is None or now.say.priority >= CRITICAL or now.hushed:
                return False
            now.held = True
            self._cut.set()
            return True

    def release(self, *, resume: bool, then: tuple[str, Callable[[], None]] | None = None) -> None:
        """The wearer is done: what was cut off goes on with the sentence it was in, or (not `resume`) is dropped.

        `then`: called once by the voice's thread, as soon as what comes next from that source has been said to its end
        or given up; not at all when it is cut off and dropped.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._now is None or not self._now.held, _CUT_S)
            held, self._held = self._held, None
            if held is not None and resume:
                self._queue.resume(*held, self._clock.mono())
            elif held is not None:
                self._forget_then(held[0])
            self._then = then or self._then
            self._floor = False
            self._changed.notify_all()

    def keep(self, text: str) -> bool:
        """Make a sentence ahead and keep it, so that it can be said at once; false when it cannot be made now."""
        maker, parts = self._maker, sentences(speakable(text))
        if maker is None or self._player.silent:
            return False
        try:
            for part in parts:
                maker.keep(part)
        except ModelError as error:  # it fails again when it is said, and is told then
            _log.debug("not_kept", cause=error)
            return False
        return True

    def use(self, tts: TTS | None) -> None:
        """Speak with this voice from the next thing said on; None: with the first one again."""
        with self._changed:
            self._maker = self._first_maker if tts is None else SpeechMaker(tts)

    @property
    def busy(self) -> str:
        """Why the wearer should not be spoken to now: the words of a reason, "" when nothing is in the way."""
        with self._changed:
            if self._floor:
                return "the wearer is talking"
            now = self._now
            return "an answer is being said" if now is not None and now.say.priority == ANSWER else ""

    def say(self, say: Say) -> bool:
        """Let it wait for its turn, as if it had come over the bus; false when it is dropped."""
        with self._changed:
            taken = self._queue.push(say, self._clock.mono())
            self._changed.notify_all()
            return taken

    def chime(self, sound: AudioChunk) -> None:
        """Play a short sound before anything else; what is being said is not cut off by it."""
        with self._changed:
            self._chimes.append(sound)
            self._changed.notify_all()

    def prepare(self, text: str) -> None:
        """Make the first words of a text that will probably be said next."""
        parts = sentences(speakable(text))
        if self._maker is not None and parts and not self._player.silent:
            self._maker.prepare(parts[0])

    @property
    def idle(self) -> bool:
        """Whether nothing is being said and nothing waits here; what is on the bus is not looked at."""
        with self._changed:
            return self._now is None and not (len(self._queue) or self._chimes or self._chiming)

    @property
    def last(self) -> Say | None:
        """What was said last, as far as it came."""
        return self._last

    @property
    def held(self) -> Say | None:
        """What was cut off when the wearer took the floor; waits for it to fall silent."""
        with self._changed:
            self._changed.wait_for(lambda: self._now is None or not self._now.held, _CUT_S)
            return self._held[0] if self._held is not None else None

    def drain(self, timeout_s: float) -> bool:
        """Wait until everything published so far has been said; false when the time is over first."""
        with self._changed:
            enough = self._rounds + 2  # one round may be half way between the bus and the queue
            return self._changed.wait_for(
                lambda: (
                    self._rounds >= enough
                    and not len(self._queue)
                    and self._now is None
                    and not (self._chimes or self._chiming)
                ),
                timeout_s,
            )

    @property
    def speaking(self) -> Say | None:
        """What is being said at this moment."""
        now = self._now
        return now.say if now else None

    def health(self) -> dict[str, object]:
        """For /health: counts, the last thing said (never its words), and what is wrong."""
        with self._changed:
            return {
                "state": "down" if self._problem else "ok",
                "detail": self._problem,
                "speaker": self._player.name,
                "voice": self._maker.name if self._maker else "none",
                "waiting": len(self._queue),
                "spoken": self._spoken,
                "unspoken": self._unspoken,
                "dropped": dict(self._queue.dropped),
                "last_source": self._last_source,
                "last_at": self._last_at,
                "first_sound_ms": self._first_sound_ms,
            }

    def _read(self, stop: threading.Event, left: threading.Event) -> None:
        while not (stop.is_set() or left.is_set()):
            message = self._inbox.get(_TICK_S)
            if message is None:
                stop.wait(_TICK_S / 5)  # a closed bus answers at once: do not spin
            with self._changed:
                self._rounds += 1
                if isinstance(message, Say) and not self._queue.push(message, self._clock.mono()):
                    _log.info("not_spoken", source=message.source, priority=message.priority, why="dropped")
                if self._now is not None and self._queue.interrupts(self._now.say):
                    self._cut.set()
                self._changed.notify_all()
        self._cut.set()

    def _speak(self, now: _Now, stop: threading.Event) -> None:
        say = now.say
        if self._maker is None or self._player.silent or not now.parts:
            self._unspoken += 1
            self._bus.publish(Spoken(say.source, say.priority, heard=False))
            return
        begun = self._clock.mono()
        try:
            with closing(self._chunks(now, self._maker)) as chunks:
                played = self._player.play(chunks, self._cut)
        except (AudioError, ModelError) as error:
            self._tell(sentence_of(error), error)
            self._failed(now, stop)
            return
        self._tell("")
        with self._changed:
            if now.first is not None:
                self._first_sound_ms = (now.first - begun) * 1000 // US
                self._last_source, self._last_at = say.source, self._clock.now()
            self._last = say
            if played.complete:
                self._spoken += 1
                self._bus.publish(Spoken(say.source, say.priority, heard=True))
            elif now.held and not now.hushed:
                self._held, now.goes_on = (say, now.rest()), True
            elif not now.hushed:
                now.goes_on = self._queue.resume(say, now.rest(), self._clock.mono())
        _log.info(
            "spoken" if played.complete else "cut_off",
            source=say.source,
            priority=say.priority,
            seconds=round(played.seconds, 2),
            first_sound_ms=self._first_sound_ms,
        )
        _log.debug("spoken_text", text=Private(say.text))

    def _failed(self, now: _Now, stop: threading.Event) -> None:
        """A warning that is still good in a moment is tried again; anything else was shown and is let go."""
        with self._changed:
            if now.say.deadline is not None and not now.hushed:
                self._now = None
                if self._queue.resume(now.say, now.rest(), self._clock.mono()):
                    self._changed.wait_for(stop.is_set, RETRY_S)
                    return
            self._unspoken += 1
        self._bus.publish(Spoken(now.say.source, now.say.priority, heard=False))
        _log.info("not_spoken", source=now.say.source, priority=now.say.priority, why="no sound")

    def _chunks(self, now: _Now, maker: SpeechMaker) -> Generator[AudioChunk, None, None]:
        """The sound of all sentences; keeps `now.part` at the one whose sound was handed out last."""
        try:
            with closing(maker.chunks(now.parts, self._cut)) as made:
                for index, chunk in made:
                    now.part = index
                    if now.first is None:
                        now.first = self._clock.mono()
                    yield self._loud(chunk)
        finally:
            if self._own is not None and self._cut.is_set():
                self._own.cut(self._clock.mono())

    def _loud(self, chunk: AudioChunk) -> AudioChunk:
        """At the volume of the moment, and told to whoever has to hear past it."""
        pcm = scale(chunk.pcm, self.gain)
        if self._own is not None:
            self._own.add(to_float(resample(pcm, chunk.rate, RATE)), self._clock.mono())
        return AudioChunk(pcm, chunk.rate)

    def _forget_then(self, say: Say) -> None:
        if self._then is not None and self._then[0] == say.source:
            self._then = None

    def _chime(self) -> None:
        """Play the earcons that wait."""
        while True:
            with self._changed:
                sound = self._chimes.popleft() if self._chimes else None
                self._chiming = sound is not None
                self._changed.notify_all()
            if sound is None:
                return
            if self._player.silent:
                continue
            try:
                self._player.play(self._sounding(sound), threading.Event())
            except AudioError as error:
                self._tell(sentence_of(error), error)

    def _sounding(self, sound: AudioChunk) -> Iterator[AudioChunk]:
        self.chimed = self._clock.mono()
        yield self._loud(sound)

    def _tell(self, problem: str, error: BaseException | None = None) -> None:
        """Log and publish a change once, not each failure."""
        with self._changed:
            if problem == self._problem:
                return
            self._problem = problem
        if problem:
            _log.warning("voice_down", cause=error)
        else:
            _log.info("voice_back")
        self._bus.publish(Health(self._clock.now(), "voice", "down" if problem else "ok", problem))
