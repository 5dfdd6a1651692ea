"""A device between a virtual loudspeaker and a virtual microphone that hears it: a real sound server, real time.

The room is PulseAudio's (tools/audio_sinks.sh): what the speaker plays comes back into the microphone, and a person
plays into it too.  Both are recorded on the machine's clock, so that it can be said when somebody spoke and when the
device fell silent.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from voice_support import RATE, Mind, Mouth

from edge.ahead import ahead, soon
from edge.bus import Bus
from edge.capture.microphone import MicrophoneDriver, SoundClock
from edge.capture.steady import SteadyTime
from edge.clock import US, SystemClock
from edge.messages import Say
from edge.voice.echo import OwnVoice
from edge.voice.hearing import Hearing
from edge.voice.listener import Listener, Settings
from edge.voice.pcm import to_int16
from edge.voice.player import open_player
from edge.voice.queue import ANSWER
from edge.voice.service import VoiceService
from models import ASR, TTS, VAD, WAKE_WORD, Loader

LOUD = 0.01  # of full scale: above it somebody is heard
SILENT_S = 0.25  # without a loud sample: it has fallen silent
LOOP_MS = 20  # from the speaker into the microphone
OWN = (
    "You have not had any water since nine. The bottle stands on your desk.",
    "Hey Jarvis is what you say to wake me.",
    "Stop the car and turn around.",
    "You opened the fridge four times this morning, the last time at ten past eleven.",
    "I do not know: nothing in the memory speaks of that.",
    "Anna said that she would come at five, or a little later.",
    "You last watered the tomatoes today at one minute past nine.",
    "Forget the last ten minutes? Yes or no?",
)
LONG = tuple(text for text in OWN if len(text) > 52)
PERSON = ("Stop.", "Hey Jarvis.", "Wait a moment.", "Where are my keys?")


class Tape:
    """What a source of the sound server gives, with the time of every sample."""

    def __init__(self, source: str, clock: SystemClock) -> None:
        self._clock = clock
        self._parec = subprocess.Popen(
            ["parec", f"--device={source}", f"--rate={RATE}", "--channels=1", "--format=s16le", "--latency-msec=5"],
            stdout=subprocess.PIPE,
        )
        self._data = bytearray()
        self._begun: int | None = None  # monotonic time of the first sample, by the quickest way it came
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def since(self, mono: int) -> tuple[np.ndarray, int]:
        """The sound from a monotonic time on, and the time at which it begins."""
        begun = self._begun or mono
        first = max(0, (mono - begun) * RATE // US)
        return np.frombuffer(bytes(self._data), "<i2")[first:].astype(np.float32) / 32_768, begun + first * US // RATE

    def close(self) -> None:
        self._parec.terminate()
        self._thread.join(10)
        self._parec.wait(10)
        assert self._parec.stdout is not None
        self._parec.stdout.close()

    def _read(self) -> None:
        assert self._parec.stdout is not None
        with ahead():
            while data := self._parec.stdout.read1(4096):  # type: ignore[attr-defined]
                self._data += data
                begun = self._clock.mono() - len(self._data) // 2 * US // RATE
                self._begun = begun if self._begun is None else min(self._begun, begun)


class SoundRoom:
    """The device, its room, and a person in it."""

    def __init__(self, loader: Loader) -> None:  # as a session puts it together
        self.clock, self.bus, own = SystemClock(), Bus(), OwnVoice()
        self.mind, self.mouth = Mind(), Mouth(loader)
        with soon():
            tts = loader.load(TTS, "piper-en-us-joe").model
        self.voice = VoiceService(self.bus, tts, open_player("default"), self.clock, own=own)
        hearing = Hearing(
            lambda: [loader.load(WAKE_WORD).model], list, lambda: loader.load(VAD).model,
            lambda: loader.load(ASR, "whisper-tiny.en").model,
        )  # fmt: skip
        settings = Settings(volume=0.6, adapt_volume=False)
        self.listener = Listener(self.bus, self.voice, self.mind, hearing, self.clock, settings, own)
        self.speaker, self.microphone = Tape("speaker.monitor", self.clock), Tape("micfeed.monitor", self.clock)
        self.never = threading.Event()

    def say(self, text: str) -> None:
        """Let the device say something; returns when it is heard."""
        before = self.clock.mono()
        self.bus.publish(Say(text, ANSWER, "answer"))
        self.until(lambda: bool((np.abs(self.speaker.since(before)[0]) > LOUD).any()))

    def person(self, pcm: np.ndarray) -> int:
        """Let a person speak to its end; the monotonic time at which they are first heard at the microphone."""
        before = self.clock.mono()
        data = to_int16(np.concatenate([pcm, np.zeros(RATE // 5, np.float32)])).tobytes()
        pacat = ["pacat", "--device=micfeed", f"--rate={RATE}", "--channels=1", "--format=s16le", "--latency-msec=20"]
        subprocess.run(pacat, input=data, check=True, timeout=60)
        heard, begun = self.microphone.since(before)
        first = int(np.flatnonzero(np.abs(pcm) > 0.05 * np.abs(pcm).max())[0])
        piece = pcm[first : first + RATE // 2]
        place = int(np.argmax(np.correlate(heard, piece, "valid")))
        return begun + place * US // RATE

    def silent_from(self, mono: int) -> int:
        """The monotonic time after `mono` at which the speaker fell silent for SILENT_S."""
        sound, begun = self.speaker.since(mono)
        loud = np.flatnonzero(np.concatenate([np.abs(sound) > LOUD, [True]]))  # the end of what is known
        last = np.flatnonzero(np.diff(loud, prepend=0) > SILENT_S * RATE)
        return begun + (int(loud[last[0] - 1]) if len(last) and last[0] else 0) * US // RATE

    def alone(self, utterances: int) -> list[str]:
        """Let it speak to nobody; what of its own it took for somebody else."""
        wrong = []
        for n in range(utterances):
            text, before = OWN[n % len(OWN)], self.listener.timing.turns
            self.say(text)
            self.wait()
            if self.listener.timing.turns != before:
                wrong.append(text)
        return wrong

    def interrupted(self, persons: int) -> list[float | None]:
        """Let persons speak over it; milliseconds from their first sound to its last, None: it spoke on."""
        found: list[float | None] = []
        for n in range(persons):
            self.say(LONG[n % len(LONG)])
            self.never.wait(0.8)
            before = self.listener.timing.turns
            onset = self.person(self.mouth(PERSON[n % len(PERSON)], 0.3))
            self.never.wait(1.0)
            noticed = self.listener.timing.turns > before
            found.append((self.silent_from(onset) - onset) * 1000 / US if noticed else None)
            self.listener._talk.silence()
            self.wait()
        return found

    def quiet(self) -> bool:
        """Whether the device is done."""
        return self.listener.idle() and not self.bus.backlog().get("voice") and self.voice.idle

    def until(self, true: Callable[[], bool], seconds: float = 60.0) -> None:
        for _ in range(int(seconds / 0.02)):
            if true():
                return
            self.never.wait(0.02)
        raise AssertionError("it did not come true")

    def wait(self) -> None:
        """Until it has been quiet for a while."""
        for _ in range(100):
            self.until(self.quiet)
            self.never.wait(0.4)
            if self.quiet():
                return

    def _listen(self, stop: threading.Event) -> None:
        driver, stamped = MicrophoneDriver(), SoundClock(SteadyTime(self.clock))
        driver.open(stop)
        try:
            while not stop.is_set():
                pcm = driver.take(stop)
                if pcm is not None:
                    self.bus.publish(stamped.stamp(pcm))
        finally:
            driver.release()


@contextmanager
def sound_room(loader: Loader, echo_db: float = 0.0) -> Iterator[SoundRoom]:
    """The virtual sound server must run; its speaker is led into its microphone for the time, so much louder."""
    loop = ["pactl", "load-module", "module-loopback", "source=speaker.monitor", "sink=micfeed",
            f"latency_msec={LOOP_MS}", "source_dont_move=true", "sink_dont_move=true"]  # fmt: skip
    module = subprocess.run(loop, check=True, capture_output=True, text=True, timeout=20).stdout.strip()
    _soften(module, echo_db)
    room, stop = SoundRoom(loader), threading.Event()
    runs = (room.voice.run, room.listener.run, room._listen)
    threads = [threading.Thread(target=run, args=(stop,), daemon=True) for run in runs]
    for thread in threads:
        thread.start()
    try:
        room.until(lambda: room.listener.health()["last_sound_age_s"] is not None)
        yield room
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)
        room.speaker.close()
        room.microphone.close()
        subprocess.run(["pactl", "unload-module", module], check=False, timeout=20)
        assert not any(thread.is_alive() for thread in threads)


def _soften(module: str, echo_db: float) -> None:
    """The loop's own volume at the microphone."""
    listed = subprocess.run(["pactl", "list", "sink-inputs"], check=True, capture_output=True, text=True, timeout=20)
    for entry in listed.stdout.split("Sink Input #")[1:]:
        if f"Owner Module: {module}\n" in entry:
            volume = ["pactl", "set-sink-input-volume", entry.split("\n")[0], f"{echo_db}dB"]
            subprocess.run(volume, check=True, timeout=20)
            return
    raise AssertionError("the loop has no sound")
