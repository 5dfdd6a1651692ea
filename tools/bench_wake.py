"""Measure the wake word: how often it is heard in what is not it, how often it is missed, and what that costs.

    python tools/bench_wake.py [--media FOLDER] [--minutes 60] [--each 40] [--model ID] [--seed 1]

An hour (`--minutes`) of sentences in many voices and of noises (tools/wake_corpus.py), a third of the sentences made of
words that sound like the wake word, and the sound of every recording in `--media`; then `--each` times the word itself,
clean and with noise.  All of it goes through the ears of the product: what they hear clearly counts, what they doubt is
shown to the recogniser, as the listener does.  `first_stage` counts both without asking the recogniser.
`cpu_ms` is what a second of sound costs the ears, and what one doubt costs the recogniser.
"""

# ruff: noqa: E402
from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from edge.clock import US
from edge.messages import Pcm
from edge.voice import turn
from edge.voice.hearing import Hearing
from edge.voice.intent import says
from models import ASR, VAD, WAKE_WORD, Loader, LoadOptions, Registry
from tools.bench_voice import sound_of
from tools.wake_corpus import NEAR, PLAIN, RATE, Corpus

FRAME = 512
NOISY = (("white", 10.0), ("pink", 10.0), ("babble", 10.0), ("music", 10.0))


@dataclass
class Row:
    """What was heard in many sounds."""

    seconds: float = 0.0
    silent: int = 0  # sounds in which nothing was acted on
    heard: Counter[str] = field(default_factory=Counter)  # by the first stage, sure or doubted
    which: Counter[str] = field(default_factory=Counter)  # acted on, by the sound's name

    def told(self) -> dict[str, object]:
        """For the report."""
        accepts = sum(self.which.values())
        return {
            "hours": round(self.seconds / 3600, 3),
            "accepts": accepts,
            "first_stage": dict(self.heard),
            "in": dict(+self.which),
        }


class Judge:
    """The ears and the recogniser of a device, and what they cost."""

    def __init__(self, loader: Loader, wake: str | None = None) -> None:
        model = loader.load(WAKE_WORD, wake).model
        self._hearing = Hearing(
            lambda: [model], list, lambda: loader.load(VAD).model, lambda: loader.load(ASR, "whisper-tiny.en").model
        )
        self._hearing.load()
        self.seconds = self.ears_s = self.asked_s = 0.0
        self.asked = 0

    def take(self, row: Row, name: str, pcm: Pcm) -> None:
        """Hear one sound."""
        calls = self._calls(row, pcm)
        row.seconds += len(pcm) / RATE
        row.which[name] += calls
        row.silent += not calls

    def row(self, sounds: Iterable[tuple[str, Pcm]]) -> Row:
        """Hear many."""
        row = Row()
        for name, pcm in sounds:
            self.take(row, name, pcm)
        return row

    def _calls(self, row: Row, pcm: Pcm) -> int:
        ears, found = self._hearing.ears, 0
        ears.reset()
        self.seconds += len(pcm) / RATE
        for end in range(FRAME, len(pcm) + 1, FRAME):
            begun = time.process_time()
            called = ears.feed(pcm[end - FRAME : end], mono := 10**12 + end * US // RATE)
            self.ears_s += time.process_time() - begun
            if called is None:
                continue
            row.heard["sure" if called.sure else "doubted"] += 1
            if not called.sure:
                begun = time.process_time()
                said = says(self._hearing.words(pcm[max(0, end - round(turn.PRE_S * RATE)) : end]), called.phrase)
                self.asked_s += time.process_time() - begun
                self.asked += 1
                if not said:
                    continue
                ears.rest(mono)
            found += 1
        return found


def measure(given: argparse.Namespace) -> dict[str, object]:
    """Everything, as printed."""
    corpus = Corpus(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(Loader(Registry(Path(folder) / "store", Path(folder) / "cache"), LoadOptions()), given.model)
        found: dict[str, Row] = {}
        if given.media is not None:
            files = sorted(p for p in given.media.iterdir() if p.suffix in {".wav", ".mp4"})
            found["media"] = judge.row((p.name, pcm) for p in files if len(pcm := sound_of(p)))
        life: dict[str, Row] = {kind: Row() for kind in ("speech", "alike", "noise")}
        for what, pcm in corpus.without(given.minutes):
            judge.take(life["speech" if what in PLAIN else "alike" if what in NEAR else "noise"], what, pcm)
        called = {"clean": judge.row(("", pcm) for pcm in corpus.called(given.each))}
        for noise, db in NOISY:
            called[f"{noise} {db:.0f} dB"] = judge.row(("", pcm) for pcm in corpus.called(given.each, noise, db))
    return {
        **{kind: row.told() for kind, row in (found | life).items()},
        f"missed_of_{given.each}": {
            kind: {"missed": row.silent, "sure": row.heard["sure"], "doubted": row.heard["doubted"]}
            for kind, row in called.items()
        },
        "cpu_ms": {
            "ears_a_second": round(judge.ears_s / judge.seconds * 1000, 2),
            "a_doubt": round(judge.asked_s / max(1, judge.asked) * 1000, 1),
        },
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--media", type=Path)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--each", type=int, default=40)
    parser.add_argument("--model", help="another wake word; what is missed is then of no meaning")
    parser.add_argument("--seed", type=int, default=1)
    print(json.dumps(measure(parser.parse_args()), indent=2))


if __name__ == "__main__":
    main()
