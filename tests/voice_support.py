"""A conversation without a sound card: a voice that speaks to the device, and what the device answers.

Sound goes in block by block in real time, as a microphone gives it; what the device plays is kept where it fell, and may
be mixed into the microphone as a room would do.  Time passes as sound is given, and waits for ears on a starved machine.
"""

from __future__ import annotations

import copy
import re
import threading
import wave
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np

from edge.ahead import ahead, soon
from edge.bus import Bus
from edge.clock import US, SystemClock
from edge.messages import Say, Sound
from edge.voice.hearing import Hearing
from edge.voice.intent import Intent
from edge.voice.listener import Listener, Settings
from edge.voice.mind import Moment, Reply
from edge.voice.own_marks import OwnMarks, TimedVoice
from edge.voice.pcm import resample, to_float, to_int16
from edge.voice.player import Played
from edge.voice.service import VoiceService
from edge.voice.spoken import speakable
from models import ASR, TTS, VAD, WAKE_WORD, Loader
from models.roles import AudioChunk

RATE = 16_000
BLOCK = 512
KEPT_S = 60  # of what was played, at least
LATE = 4  # blocks that the ears may lag behind before time waits for them
SLACK_US = 50_000  # by which time may run ahead of the sound
ALIKE = 0.65  # of a question's letters that must be heard
THINKING = 30  # and for how many blocks a sentence may be decoded


def calm(loader: Loader) -> Any:
    """The neural voice without the noise it draws by chance: it says a sentence the same way in every run."""
    voice = copy.copy(loader.load(TTS, "piper-en-us-joe").model)
    voice._scales = np.array([0.0, 1.0, 0.0], np.float32)  # the pace is its own
    return voice


def share_heard(text: str, heard: str) -> float:
    """How much of a spoken text an ear made out, 0-1: those of its letters that were heard, in their order.

    A small recogniser mistakes a word now and then ("mark second", "i know one" for "oh one"), and writes numbers its
    own way: what was said is taken from who said it, and a sound is that text when most of it is heard.  Sentences that
    have nothing in common share up to six tenths of their letters.
    """
    said, ear = (re.sub("[^a-z]", "", speakable(x).lower()) for x in (text, heard))
    matcher = SequenceMatcher(None, said, ear, autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks()) / len(said)


class Mouth:
    """A voice that says things to the device, 16 kHz, each sentence in one way."""

    def __init__(self, loader: Loader) -> None:
        self._tts = calm(loader)
        self._said: dict[str, np.ndarray] = {}

    def __call__(self, text: str, gain: float = 0.5) -> np.ndarray:
        if text not in self._said:
            chunks = [to_float(resample(c.pcm, c.rate, RATE)) for c in self._tts.synthesize(text)]
            self._said[text] = np.concatenate(chunks)
        return self._said[text] * np.float32(gain)


def write_wav(path: Path, pcm: np.ndarray) -> Path:
    """A mono 16-bit file, RATE."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(to_int16(pcm).tobytes())
    return path


def silence(seconds: float) -> np.ndarray:
    return np.zeros(int(seconds * RATE), np.float32)


class PatientClock(SystemClock):
    """The machine's clock, which stands still when it comes to `limit` (monotonic microseconds; None: it runs)."""

    def __init__(self) -> None:
        self.limit: int | None = None
        self._lock = threading.Lock()
        self._lost = 0  # microseconds in which it stood
        self._apart = super().now() - super().mono()

    def mono(self) -> int:
        with self._lock:
            t = super().mono() - self._lost
            if self.limit is not None and t > self.limit:
                self._lost += t - self.limit
                t = self.limit
            return t

    def now(self) -> int:
        return self.mono() + self._apart


class NotingVoice:
    """A voice of which is kept what it made: each text with the sound of its end."""

    def __init__(self, voice: Any) -> None:
        self._voice = voice
        self.id, self.name = voice.id, voice.name
        self.ends: dict[str, np.ndarray] = {}

    def synthesize(self, text: str) -> Iterator[AudioChunk]:
        for chunk in self._voice.synthesize(text):
            self.ends[text] = to_float(resample(chunk.pcm, chunk.rate, RATE))[-RATE // 2 :]
            yield chunk

    def close(self) -> None:
        """Nothing is held."""

    def said_in(self, track: np.ndarray) -> list[str]:
        """The texts that were played to their end, in their order, as often as they were."""
        found: list[tuple[int, str]] = []
        for text, end in self.ends.items():
            size, wanted = len(end), len(track) + len(end)
            if size > len(track):
                continue
            alike = np.fft.irfft(np.fft.rfft(track, wanted) * np.conj(np.fft.rfft(end, wanted)), wanted)
            power = np.concatenate([[0.0], np.cumsum(track.astype(np.float64) ** 2)])
            loud = np.sqrt(np.maximum(power[size:] - power[:-size], 1e-6)) * np.linalg.norm(end)
            places = np.flatnonzero(alike[: len(loud)] / loud > 0.95)
            found += [(int(at), text) for n, at in enumerate(places) if not n or at - places[n - 1] > size]
        return [text for _, text in sorted(found)]


class Room:
    """A player in real time whose sound can be heard by the microphone, as loud as `leak` says, after `delay_s`."""

    name = "room"
    silent = False

    def __init__(self, clock: SystemClock, leak: float = 0.0, delay_s: float = 0.25) -> None:
        self.problem = ""
        self.clock, self.leak = clock, leak
        self._delay = int(delay_s * RATE)
        self._begun = clock.mono()
        self.starts: list[int] = []  # monotonic times at which an utterance or a chime began
        self._track = np.zeros(0, np.float32)  # what was played since the beginning, RATE
        self._lock = threading.Lock()

    def play(self, chunks: Iterable[AudioChunk], stop: threading.Event) -> Played:
        seconds = 0.0
        for chunk in chunks:
            if not seconds:
                self.starts.append(self.clock.mono())
            pcm = to_float(resample(chunk.pcm, chunk.rate, RATE))
            self._pad()
            for i in range(0, len(pcm), 320):
                if stop.is_set():
                    return Played(seconds, complete=False)
                with self._lock:
                    self._track = np.concatenate([self._track, pcm[i : i + 320]])
                seconds += len(pcm[i : i + 320]) / RATE
                while (wait := self._ahead() - 0.15) > 0:  # what a driver's buffer holds
                    if stop.wait(max(wait, 0.01)):
                        break
        return Played(seconds, complete=not stop.is_set())

    def close(self) -> None:
        pass

    def began_after(self, mono: int) -> int:
        """When the first thing that was played after this began."""
        return min((t for t in self.starts if t >= mono), default=mono)

    def leaked(self, mono: int, count: int) -> np.ndarray:
        """What of it reaches the microphone in the `count` samples before `mono`."""
        out = np.zeros(count, np.float32)
        with self._lock:
            end = (mono - self._begun) * RATE // US - self._delay
            low, high = max(0, end - count), min(end, len(self._track))
            if low < high:
                out[low - end + count : high - end + count] = self._track[low:high]
        return out * np.float32(self.leak)

    def heard(self, since: int = 0) -> np.ndarray:
        """What was played from a monotonic time on."""
        with self._lock:
            return self._track[max(0, (since - self._begun) * RATE // US) :].copy()

    def _ahead(self) -> float:
        """Seconds of sound that are still to be heard."""
        with self._lock:
            return len(self._track) / RATE - (self.clock.mono() - self._begun) / US

    def _pad(self) -> None:
        with self._lock:
            if len(self._track) > 2 * KEPT_S * RATE:  # a long evening must not fill the memory
                self._track = self._track[KEPT_S * RATE :].copy()
                self._begun += KEPT_S * US
            behind = (self.clock.mono() - self._begun) * RATE // US - len(self._track)
            if behind > 0:
                self._track = np.concatenate([self._track, np.zeros(behind, np.float32)])


class Mind:
    """Answers from a table and notes what it was asked to do.

    The answer is that to the question which was heard best: an ear may mistake a letter over the device's own voice.
    """

    def __init__(self) -> None:
        self.answers: dict[str, list[str]] = {}
        self.asked: list[str] = []
        self.answered_: list[str] = []
        self.obeyed: list[Intent] = []
        self.confirmed: list[bool] = []
        self.think: Callable[[], Any] = lambda: None

    def answer(self, question: str, at: Moment) -> Iterator[str]:
        self.asked.append(question)
        self.think()
        share, asked = max(((share_heard(q, question), q) for q in self.answers), default=(0.0, ""))
        yield from self.answers[asked] if share > ALIKE else ["I do not know that."]

    def answered(self, question: str) -> None:
        self.answered_.append(question)

    def obey(self, intent: Intent, at: Moment, last: Say | None) -> Reply:
        self.obeyed.append(intent)
        return Reply("Forget it? Yes or no?", asks=True) if intent.kind == "forget" else Reply("As you wish.")

    def confirm(self, yes: bool, at: Moment) -> Reply:
        self.confirmed.append(yes)
        return Reply("It is forgotten." if yes else "Nothing is forgotten.")


class Table:
    """The device on a table: `tell` speaks to it, `said` is what it was heard to answer since."""

    def __init__(
        self, loader: Loader, *, leak: float = 0.0, settings: Settings | None = None, patient: bool = True
    ) -> None:
        """Not `patient`: the clock is the machine's, so that what takes long is seen to take long."""
        self.clock: SystemClock = PatientClock() if patient else SystemClock()
        self.bus, own = Bus(), TimedVoice()
        self.own, self.marks = own, OwnMarks(own, self.clock)
        self.loader = loader
        self.room = Room(self.clock, leak)
        self.mind = Mind()
        with soon():  # as a session loads it
            self._tts = NotingVoice(calm(loader))
            self._asr = loader.load(ASR, "whisper-tiny.en").model
        self.voice = VoiceService(self.bus, self._tts, self.room, self.clock, own=own)
        self.mouth = Mouth(loader)
        hearing = Hearing(
            lambda: [loader.load(WAKE_WORD).model], list, lambda: loader.load(VAD).model, lambda: self._asr
        )
        chosen = settings or Settings(volume=0.6, adapt_volume=False)
        self.listener = Listener(self.bus, self.voice, self.mind, hearing, self.clock, chosen, own, self.marks)
        self._rng = np.random.default_rng(3)
        self._since = self.clock.mono()
        self.taken: list[Sound] | None = None  # what the microphone heard, where that is wanted
        self._due: int | None = None
        self._wall = self._decoding = 0

    def play(self, pcm: np.ndarray, *, noise: float = 0.0008) -> None:
        """Let the microphone hear this, in real time, with what the device plays meanwhile."""
        with ahead():  # no microphone waits for other programs, nor gives nothing for a second because of them
            self._play(pcm, noise)

    def _play(self, pcm: np.ndarray, noise: float) -> None:
        rest = len(pcm) % BLOCK
        pcm = np.concatenate([pcm, np.zeros(BLOCK - rest if rest else 0, np.float32)])
        if self._due is None or self.clock.mono() > self._due + 2 * US:
            self._due, self._wall = self.clock.mono(), self.clock.now()
        never = threading.Event()
        for i in range(0, len(pcm), BLOCK):
            self._due += BLOCK * US // RATE
            if isinstance(self.clock, PatientClock):
                self._await_ears()
                self.clock.limit = self._due + SLACK_US
            ahead = self._due - self.clock.mono()
            if ahead > 0:
                never.wait(ahead / US)
            heard = pcm[i : i + BLOCK] + self.room.leaked(self._due, BLOCK)
            heard = heard + self._rng.normal(size=BLOCK).astype(np.float32) * np.float32(noise)
            sound = Sound(self._wall, 0, heard.astype(np.float32))
            if self.taken is not None:
                self.taken.append(sound)
            self.bus.publish(sound)
            self._wall += BLOCK * US // RATE

    def tell(self, text: str, *, before: float = 0.3, after: float = 1.2, gain: float = 0.5) -> None:
        """Say something to it and fall silent for a while."""
        self._since = self.clock.mono()
        self.play(np.concatenate([silence(before), self.mouth(text, gain), silence(after)]))

    def _await_ears(self) -> None:
        """Let the world wait while they lag behind."""
        decoding, never = self.listener._decoder, threading.Event()
        self._decoding = self._decoding + 1 if decoding.busy else 0
        for _ in range(12_000):
            if self.bus.backlog().get("sound", 0) <= LATE and not (self._decoding > THINKING and decoding.busy):
                return
            never.wait(0.01)
        raise AssertionError("nobody listens")

    def until(self, true: Callable[[], bool], seconds: float = 60.0) -> None:
        """Listen on to silence until something has happened."""
        for _ in range(int(seconds / 0.128)):
            if true():
                return
            self.play(silence(0.128))
        raise AssertionError("it did not come true")

    def quiet(self) -> bool:
        """Whether nothing is said and nothing is under way."""
        never = threading.Event()
        for _ in range(12):  # the last block of sound is still on its way
            if self.listener.idle() and not self.bus.backlog().get("voice") and self.voice.idle:
                return True
            never.wait(0.02)
        return False

    def wait(self, seconds: float = 60.0) -> None:
        """Listen on to silence until all is said."""
        self.play(silence(0.2))
        self.until(self.quiet, seconds)

    def said(self) -> list[str]:
        """The sentences that sounded to their end since the last `tell` began."""
        return self._tts.said_in(self.room.heard(self._since))


@contextmanager
def table(loader: Loader, **how: Any) -> Iterator[Table]:
    """A device on a table, listening."""
    made, stop = Table(loader, **how), threading.Event()
    threads = [threading.Thread(target=s.run, args=(stop,), daemon=True) for s in (made.voice, made.listener)]
    for thread in threads:
        thread.start()
    try:
        yield made
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
