"""Conversations as text: what is said near the device in, what it says and does out.

Turns, Talk, the voice and the memory are the real ones; only sound is left out: a sentence is as many steps of speech
as it is long, is decoded as far as it was spoken, and what the device says is read off its player.

A file of `talks` holds conversations, each a list of steps over the memory that `memory.yaml` tells of:
    wake / over / reply / near   a sentence after the wake word, over the device's voice, to its question, to nobody
    silence                      so many seconds in which nobody says anything
    alert                        an alert is delivered, with the window at `from` as evidence
    wait                         so much time passes, as "1:05:00"
and with it what must come of it:
    says / never     parts of what is said, in this order / that must not be said;  [] says: not a word
    does             the effects, each once:  rest 3600, rest, erase 600, dismissed, snooze 7200, remind WORD, louder, quieter
    chime            the short sounds
    until            speak only so many sentences, so that the next step is said over the rest
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from edge.agent.asking import Asker
from edge.bus import Bus
from edge.clock import US, ReplayClock
from edge.config import Config
from edge.conversation import Conversation
from edge.messages import Say
from edge.pipeline import Pipeline
from edge.voice import turn as t
from edge.voice.earcons import NOTES, earcon
from edge.voice.endpoint import Patience
from edge.voice.mind import Moment
from edge.voice.player import Played
from edge.voice.queue import ALERT
from edge.voice.service import VoiceService
from edge.voice.talk import Talk
from edge.voice.timing import Timing
from models.roles import AudioChunk
from storage import EmbeddingSpace, Store
from storage.records import Decision, Service

FOLDER = Path(__file__).parent / "talks"
SPELLED = 8_000  # the rate by which what was spelled is told from an earcon
STEP_US = 32_000
STEPS_A_WORD = 10
LIMIT_S = 60.0
CALLS = ("wake", "over", "reply", "near", "silence", "alert", "wait")
KEYS = {*CALLS, "from", "says", "never", "does", "chime", "until"}
_SPEC = importlib.util.spec_from_file_location("scenario", Path(__file__).with_name("scenario.py"))
assert _SPEC is not None and _SPEC.loader is not None
scenario: Any = sys.modules.get("scenario") or importlib.util.module_from_spec(_SPEC)
if "scenario" not in sys.modules:
    sys.modules["scenario"] = scenario
    _SPEC.loader.exec_module(scenario)


def load() -> list[dict[str, Any]]:
    """Every conversation of the folder, with the file it stands in."""
    found = []
    for path in sorted(FOLDER.glob("*.yaml")):
        if path.stem != "memory":
            for talk in yaml.safe_load(path.read_text()):
                wrong = [step for step in talk["talk"] if set(step) - KEYS or sum(k in step for k in CALLS) != 1]
                assert not wrong, f"{path.name}, {talk['name']}: {wrong}"
                found.append({"file": path.stem, **talk})
    return found


def remember(db: Path, embed: Any) -> int:
    """Make the memory the conversations are about; returns the end of it, microseconds UTC."""
    told = yaml.safe_load((FOLDER / "memory.yaml").read_text())
    windows = scenario.windows(told)
    with Store.open(db, space=EmbeddingSpace("wordllama-256", 256)) as store:
        pipeline = Pipeline(store, embed, Config(), ReplayClock())
        for window in windows:
            pipeline.step(window)
        pipeline.end()
    return int(windows[-1].t_end)


class Ear:
    """A player that reads what is spelled; `left` sentences are heard, the next is held until it is cut off."""

    name, problem, silent = "ear", "", False

    def __init__(self) -> None:
        self.said: list[str] = []
        self.chimes: list[str] = []
        self.left: int | None = None
        self.held = threading.Event()

    def play(self, chunks: Iterable[AudioChunk], stop: threading.Event) -> Played:
        for chunk in chunks:
            if chunk.rate != SPELLED:
                sounds = (name for name in NOTES if len(earcon(name).pcm) == len(chunk.pcm) and _like(name, chunk))
                self.chimes.append(next(sounds, "?"))
                continue
            if self.left is not None and self.left <= 0:
                self.held.set()
                assert stop.wait(LIMIT_S)
            if stop.is_set():
                return Played(0.0, complete=False)
            self.said.append(chunk.pcm.tobytes().decode("utf-16-le"))
            self.left = None if self.left is None else self.left - 1
        return Played(0.0, complete=not stop.is_set())

    def close(self) -> None:
        """Nothing is held."""


class Spelling:
    """A voice whose sound spells its words."""

    id = name = "spelling"

    def synthesize(self, text: str) -> Iterator[AudioChunk]:
        yield AudioChunk(np.frombuffer(text.encode("utf-16-le"), np.int16), SPELLED)

    def close(self) -> None:
        """Nothing is held."""


class Device:
    """Notes what is asked of the device."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def rest(self, seconds: float | None) -> None:
        self.done.append("resume" if seconds is None else f"rest {seconds:.0f}")

    def erase(self, seconds: float) -> None:
        self.done.append(f"erase {seconds - seconds % 60:.0f}")  # what was said since belongs to it


class Room:
    """One conversation."""

    def __init__(self, db: Path, now: int, embed: Any) -> None:
        self.store, self.clock, self.device, self.ear = Store.open(db), ReplayClock(now, 3600), Device(), Ear()
        asker = Asker(Config(), mono=self.clock.mono, embed=embed)
        mind = Conversation(self.store, asker, self.device, self.clock)
        self.voice = VoiceService(Bus(), Spelling(), self.ear, self.clock)
        self.turns = t.Turns(Patience())
        self.expected = threading.Event()
        self.talk = Talk(self.voice, mind, self.clock, 0.5, self.expected.set)
        self._alerts = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self.voice.run, args=(self._stop,), daemon=True)
        self._thread.start()
        self.talk.start()

    def close(self) -> None:
        self._stop.set()
        self.talk.stop()
        self._thread.join(LIMIT_S)
        self.store.close()

    def step(self, step: dict[str, Any]) -> list[str]:
        """Do one step; what is wrong with what came of it."""
        self.ear.said, self.ear.chimes, self.device.done = [], [], []
        self.ear.left = step.get("until")
        if not self.ear.held.is_set() and "over" in step:
            return ["it was not speaking"]
        before, volume = self._kept(), self.talk.volume
        call = next(k for k in CALLS if k in step)
        getattr(self, f"_{call}")(step[call], step)
        self._settle(cut=step.get("until") is not None)
        done = [*self.device.done, *(x for x in self._kept() if x not in before)]
        if self.talk.volume != volume:
            done.append("louder" if self.talk.volume > volume else "quieter")
        return [f"{call} {step[call]!r}: {fault}" for fault in _faults(step, self.ear, done)]

    def _wake(self, text: str, _: dict[str, Any]) -> None:
        self._act(t.Wake("hey jarvis"))
        self._hear(f"Hey Jarvis, {text}" if text else "Hey Jarvis.")

    def _over(self, text: str, _: dict[str, Any]) -> None:
        self._act(t.Barge())
        self._hear(text)

    def _reply(self, text: str, _: dict[str, Any]) -> None:
        self._near(text, _)

    def _near(self, text: str, _: dict[str, Any]) -> None:
        """Whether a turn is open, and which, is the device's affair."""
        self._hear(text)

    def _silence(self, seconds: float, _: dict[str, Any]) -> None:
        self._steps(round(seconds * US / STEP_US), 0.0)

    def _alert(self, text: str, step: dict[str, Any]) -> None:
        self._alerts += 1
        with self.store.transaction() as tx:
            t0 = self.clock.now()
            window = next(w for w in tx.snapshot().trace.recent(500) if any(step["from"] in c.text for c in w.captions))
            service = Service("memory_recall", t0, 3600, text, (f"w{window.id}",), f"made-{self._alerts}", t0)
            number = tx.services.add(service)
            tx.services.decide(Decision(number, t0, "deliver", "clear"))
        self.voice.say(Say(text, ALERT, f"a{number}"))

    def _wait(self, length: str, _: dict[str, Any]) -> None:
        self.clock.set(self.clock.now() + round(scenario.seconds(length) * US))

    def _hear(self, text: str) -> None:
        """Speak, then be silent for as long as a person waits for an answer."""
        self._text, words = text, len(text.split())
        self._length = max(8, words * STEPS_A_WORD)
        self._spoken = 0
        self._steps(self._length, 1.0)
        self._steps(100, 0.0)

    def _steps(self, count: int, chance: float) -> None:
        for _ in range(count):
            self.clock.set(self.clock.now() + STEP_US)
            self._spoken += chance > 0.5
            self._act(t.Chance(chance))

    _text, _length, _spoken = "", 1, 0

    def _act(self, event: t.Event) -> None:
        at = self.talk.at = Moment(self.clock.now(), 3600)
        for action in self.turns.step(event):
            if isinstance(action, t.Hold):
                self.talk.cancel()
                self.voice.hold()
            elif isinstance(action, t.Chime):
                self.voice.chime(earcon(action.name))
            elif isinstance(action, t.Decode):
                words = self._text.split()
                heard = " ".join(words[: max(1, len(words) * self._spoken // self._length)]) if self._spoken else ""
                self._act(t.Words(action.turn, action.steps, heard))
            elif isinstance(action, t.Guess):
                self.talk.guess(action.intent, at)
            elif isinstance(action, t.Do):
                self.talk.do(action.kind, action.intent, at, Timing())
            elif isinstance(action, t.Close):
                self.talk.give_back(resume=action.resume)

    def _settle(self, *, cut: bool) -> None:
        """Until all is said, or (`cut`) what is to be cut off is being said."""
        never = threading.Event()
        for _ in range(round(LIMIT_S / 0.002)):
            if cut and self.ear.held.is_set():
                return
            if not self.talk.busy and self.voice.idle:
                if not cut:
                    self.ear.held.clear()
                if self.expected.is_set():
                    self.expected.clear()
                    self._act(t.Expect())
                if not (cut or (self.talk.asking and self.turns.open is None)):
                    return
            never.wait(0.002)
        raise AssertionError("it never came to an end")

    def _kept(self) -> list[str]:
        """What the memory holds of the wearer's wishes."""
        with self.store.snapshot() as snapshot:
            wish = snapshot.patience.wish("do-not-disturb")
            return [
                *(f"{f.kind} {f.service_id}" for f in snapshot.patience.feedback()),
                *([f"snooze {((wish.until or 0) - wish.t) // US}"] if wish is not None else []),
                *(f"remind {i.what}" for i in snapshot.intentions.all()),
                *(f"watch {s.text}" for s in snapshot.standing.open()),
            ]


def faults(talk: dict[str, Any], memory: Path, now: int, embed: Any, work: Path) -> list[str]:
    """What goes otherwise than the conversation says."""
    db = work / "talk.db"
    shutil.copyfile(memory, db)
    room = Room(db, now, embed)
    try:
        return [fault for step in talk["talk"] for fault in room.step(step)]
    finally:
        room.close()


def _faults(step: dict[str, Any], ear: Ear, done: list[str]) -> list[str]:
    said, found, at = " ".join(ear.said).lower(), [], 0
    if "says" in step and not step["says"] and said:
        found.append(f"said {said!r}")
    for part in step.get("says", []):
        place = said.find(part.lower(), at)
        if place < 0:
            found.append(f"{part!r} is not in {said!r}")
        at = max(at, place)
    found += [f"{part!r} is in {said!r}" for part in step.get("never", []) if part.lower() in said]
    wanted = step.get("does", [])
    if len(done) != len(wanted) or any(w.lower() not in d.lower() for w, d in zip(wanted, done, strict=False)):
        found.append(f"did {done}, not {wanted}")
    chimes = [c for c in ear.chimes if c != "ready"]
    if "chime" in step and chimes != step["chime"]:
        found.append(f"chimed {chimes}")
    return found


def _like(name: Any, chunk: AudioChunk) -> bool:
    sound = earcon(name).pcm.astype(float)
    return float(np.corrcoef(sound, chunk.pcm.astype(float))[0, 1]) > 0.99
