"""Measure the voice: from the end of speech to the first sound, and word errors (the wake word: bench_wake.py).

    python tools/bench_voice.py latency [--db PATH] [--turns 30]     in real time, through the real services
    python tools/bench_voice.py words --media FOLDER                 word error rate of the clips with a transcript
    python tools/bench_voice.py own-voice [--echo-db 0]              beside its own loudspeaker: through PulseAudio

`latency` speaks to a listener with the real models, the rules of the agent and a memory, without a sound card: the
microphone is fed block by block in real time, and the first sound is when the player gets it.  The driver's buffers of
a real device (about 0.05 s each way) come on top.  `--media` is a folder with media.json: a list of objects with
"file" and "transcript".  `own-voice` leads a virtual speaker into the virtual microphone (tools/audio_sinks.sh):
--utterances to nobody, then --persons who speak over it, from their first sound to the last of the speaker.
"""

# ruff: noqa: SLF001, E402  # a measurement looks inside; its helpers lie with the tests
from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "tests")]

from sound_room import sound_room
from voice_support import RATE, Table, silence

from edge.agent.asking import Asker
from edge.clock import US, SystemClock
from edge.config import Config
from edge.conversation import Conversation
from edge.engines import Engines
from models import ASR, Loader, LoadOptions, Registry
from storage import Store
from tools.virtual_audio import sound_server

QUESTIONS = (
    "where are my keys?", "when did I last open the fridge?", "what did I do yesterday?", "how often did I wash my hands?",
    "where did I put the cup?", "what did I eat this morning?", "when did I last drink water?", "who was with me today?",
    "what did I do before lunch?", "when did I last take the milk?",
)  # fmt: skip
NUMBERS = {str(n): w for n, w in enumerate("zero one two three four five six seven eight nine ten".split())}


def latency(db: Path | None, turns: int) -> dict[str, object]:
    """Turns in real time; milliseconds from the end of speech."""
    with tempfile.TemporaryDirectory() as folder:
        loader = Loader(Registry(Path(folder) / "store", Path(folder) / "cache"), LoadOptions())
        table, clock, engines = Table(loader, patient=False), SystemClock(), Engines(Config())
        store = Store.open(db, create=False, read_only=True) if db is not None else Store.open(None)
        with store.snapshot() as snapshot:
            last = snapshot.trace.last()
        shift = 0 if last is None else last.t_end - clock.now()
        asker = Asker(Config(), mono=clock.mono, embed=engines.text_embedding().embed)
        mind = Conversation(store, asker, _Nothing(), clock)
        table.listener._talk._mind = _Then(mind, shift)  # the memory's now is where it ends
        stop = threading.Event()
        for service in (table.voice, table.listener):
            threading.Thread(target=service.run, args=(stop,), daemon=True).start()
        table.play(silence(2.0))
        first: list[float] = []
        tones: list[float] = []
        for n in range(turns):
            text = f"Hey Jarvis, {QUESTIONS[n % len(QUESTIONS)]}"
            said = table.mouth(text)
            end = np.flatnonzero(np.abs(said) > 0.02 * np.abs(said).max())[-1]
            table.play(silence(0.3))
            began = table._due or clock.mono()
            before = table.voice.health()["spoken"]
            table.play(np.concatenate([said, silence(0.6)]))
            tones.append(((table.voice.chimed or 0) - table.listener.timing._woke) / 1000)
            table.until(lambda b=before: table.voice.speaking is not None or table.voice.health()["spoken"] != b)  # type: ignore[misc]
            spoke = table.room.began_after(began + int(end) * US // RATE + US // 10)
            first.append((spoke - began) / 1000 - end / RATE * 1000)
            table.listener._talk.silence()
            table.wait()
        stop.set()
        history = list(table.listener.timing.history)
        store.close()
        engines.close()
    parts = {key: _spread([h[key] for h in history if key in h]) for key in ("endpoint", "asr", "answer", "tts")}
    return {
        "turns": turns,
        "first_sound_ms": _spread(first),
        "wake_to_tone_ms": _spread(tones),
        **{f"{k}_ms": v for k, v in parts.items()},
    }


def own_voice(utterances: int, persons: int, echo_db: float) -> dict[str, object]:
    """Beside its own loudspeaker, through a real sound server."""
    with sound_server(), tempfile.TemporaryDirectory() as folder:
        loader = Loader(Registry(Path(folder) / "store", Path(folder) / "cache"), LoadOptions())
        load = [os.getloadavg()[0]]
        with sound_room(loader, echo_db) as room:
            wrong = room.alone(utterances)
            took = room.interrupted(persons)
        load.append(os.getloadavg()[0])
    heard = [ms for ms in took if ms is not None]
    return {
        "echo_db": echo_db,
        "utterances": utterances,
        "took_itself_for_somebody": wrong,
        "persons_heard": f"{len(heard)} of {persons}",
        "silent_after_ms": {**_spread(heard), "within_200": sum(ms <= 200 for ms in heard)},
        "load": [round(one, 1) for one in load],
    }


def words(media: Path, models: tuple[str, ...] = ("whisper-tiny.en", "whisper-base")) -> dict[str, object]:
    """Word error rate over the clips, the fast way and the full one."""
    clips = [
        (row["file"], row["transcript"])
        for row in json.loads((media / "media.json").read_text())
        if "transcript" in row
    ]
    clock, found = SystemClock(), {}
    with tempfile.TemporaryDirectory() as folder:
        registry = Registry(Path(folder) / "store", Path(folder) / "cache")
        loader = Loader(registry, LoadOptions())
        for name in models:
            registry.fetch(name)
            model = loader.load(ASR, name).model
            for way in ("utterance", "transcribe"):
                wrong = total = 0
                begun = clock.mono()
                for file, transcript in clips:
                    heard = " ".join(s.text for s in getattr(model, way)(sound_of(media / file)))
                    wrong += distance(plain(transcript), plain(heard))
                    total += len(plain(transcript))
                found[f"{name} {way}"] = {
                    "wer": round(wrong / total, 3),
                    "s_a_clip": round((clock.mono() - begun) / US / len(clips), 2),
                }
    return {"clips": len(clips), **found}


class _Nothing:
    """A device that does nothing."""

    def rest(self, seconds: float | None) -> None:
        """Nothing."""

    def erase(self, seconds: float) -> None:
        """Nothing."""


class _Then:
    """A mind that is asked as if it were then."""

    def __init__(self, mind: Conversation, shift: int) -> None:
        self._mind, self._shift = mind, shift

    def answer(self, question: str, at: object) -> Iterator[str]:
        """The memory's answer."""
        from edge.voice.mind import Moment

        return self._mind.answer(question, Moment(at.t + self._shift, 0))  # type: ignore[attr-defined]

    def answered(self, question: str) -> None:
        """As the mind."""
        self._mind.answered(question)


def sound_of(path: Path) -> np.ndarray:
    """A file's sound, 16 kHz mono; empty when it has none."""
    with av.open(str(path)) as container:
        if not container.streams.audio:
            return np.zeros(0, np.float32)
        resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE)
        frames = [o for f in container.decode(audio=0) for o in resampler.resample(f)]
    return np.concatenate([f.to_ndarray().reshape(-1) for f in frames]).astype(np.float32)


def plain(text: str) -> list[str]:
    """Words for comparing: lower case, digits and titles written out."""
    text = re.sub(r"\bmr\b\.?", "mister", text.lower()).replace("centre", "center")
    return [NUMBERS.get(w, w) for w in re.sub(r"[^a-z0-9' ]", " ", text).split()]


def distance(wanted: list[str], heard: list[str]) -> int:
    """Fewest words to insert, leave out or change."""
    row = list(range(len(heard) + 1))
    for i, a in enumerate(wanted, 1):
        before, row[0] = row[:], i
        for j, b in enumerate(heard, 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
    return row[-1]


def _spread(values: list[float]) -> dict[str, float]:
    if not values:
        return {}
    return {"p50": round(float(np.percentile(values, 50)), 1), "p95": round(float(np.percentile(values, 95)), 1)}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("latency", "words", "own-voice"))
    parser.add_argument("--db", type=Path)
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--media", type=Path)
    parser.add_argument("--utterances", type=int, default=50)
    parser.add_argument("--persons", type=int, default=20)
    parser.add_argument("--echo-db", type=float, default=0.0)
    given = parser.parse_args()
    if given.what == "latency":
        result = latency(given.db, given.turns)
    elif given.what == "own-voice":
        result = own_voice(given.utterances, given.persons, given.echo_db)
    else:
        if given.media is None:
            parser.error("words needs --media")
        result = words(given.media)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
