"""Questions about now: the last ten seconds and a fresh frame, told as old when it is old."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from edge.agent.answer import Answer, ask
from edge.agent.glance import Glance
from edge.agent.present import matter_of
from edge.bus import Bus
from edge.clock import SystemClock
from edge.config import Config
from edge.engines import Engines
from edge.messages import Frame, Sound
from edge.perception.hands import NEAR_HAND
from models.backends.fake import FakeASR, FakeVAD
from models.errors import OutputError
from models.roles import Detection, DetectorResult, TextLine
from storage import EmbeddingSpace, Store
from storage.records import Caption, Entity, Event, SeenText, Utterance, Window

OFFSET_S = 7200
US = 1_000_000
T = round(datetime(2025, 7, 2, 21, tzinfo=timezone(timedelta(seconds=OFFSET_S))).timestamp()) * US
wall = SystemClock()
never = threading.Event()


def window(start: int, **parts: Any) -> Window:
    return Window("home", start, start + 30 * US, OFFSET_S, **parts)


@pytest.fixture
def memory() -> Iterator[Store]:
    with Store.open(None, space=EmbeddingSpace("test", 8)) as store:
        yield store


def put(store: Store, made: Window) -> None:
    with store.transaction() as tx:
        tx.trace.add(made, np.zeros(8, dtype=np.float32))


def told(store: Store, question: str, now: int = T + 31 * US, glance: Glance | None = None) -> Answer:
    with store.snapshot(now) as snapshot:
        return ask(snapshot, question, now=now, offset_s=OFFSET_S, glance=glance)


NOW = window(
    T,
    captions=(Caption(T + 1 * US, "An empty hall."), Caption(T + 25 * US, "A blue cup on the table.")),
    entities=(Entity("cup", 1, ("blue", NEAR_HAND), "centre"), Entity("dining table"), Entity("hand")),
    texts=(SeenText(T + 26 * US, "Platform 4"),),
    speech=(Utterance(T + 24 * US, "Noor", "Hurry up, the train is leaving."),),
)


@pytest.mark.parametrize(
    ("question", "value", "words"),
    [
        ("What is this?", "A blue cup on the table.", "blue cup"),
        ("What's in front of me?", "A blue cup on the table.", "blue cup"),
        ("What do you see?", "A blue cup on the table.", "blue cup"),
        ("What does it say?", "Platform 4", "Platform 4"),
        ("Read this to me", "Platform 4", "Platform 4"),
        ("What is written here?", "Platform 4", "Platform 4"),
        ("What am I holding?", "cup", "blue cup"),
        ("What do I have in my hand?", "cup", "blue cup"),
        ("Who is talking?", "Noor", "Hurry up"),
        ("What time is it?", "21:00", "21:00"),
        ("What day is it today?", "2025-07-02", "Wednesday"),
    ],
)
def test_the_newest_window_tells(memory: Store, question: str, value: str, words: str) -> None:
    put(memory, NOW)
    answer = told(memory, question)
    assert answer.value == value
    assert words in answer.answer
    assert answer.confidence >= 0.6


def test_a_thing_that_was_taken_is_held_until_it_is_put(memory: Store) -> None:
    put(memory, window(T, events=(Event(T + 5 * US, "wearer", "take", "red mug"),)))
    assert told(memory, "What am I holding?").value == "red mug"
    put(memory, window(T + 30 * US, events=(Event(T + 35 * US, "wearer", "put down", "red mug"),)))
    assert told(memory, "What am I holding?", T + 61 * US).value is None


def test_what_was_seen_long_ago_is_told_as_such(memory: Store) -> None:
    put(memory, NOW)
    answer = told(memory, "What is this?", T + 7200 * US)
    assert answer.answer.startswith("When I last looked, today at 21:00")
    assert answer.confidence < 0.6


def test_nothing_seen_is_said(memory: Store) -> None:
    assert "nothing has been recorded" in told(memory, "What is this?").answer
    put(memory, window(T))
    assert told(memory, "What is this?").value is None
    assert "nobody" in told(memory, "Who is talking?").answer


# -- a fresh frame ---------------------------------------------------------------------------------------------------


class Eyes:
    """A detector that finds one thing, and a reader of one line."""

    id, embedding_dim = "eyes", 4

    def __init__(self, label: str = "cup", line: str = "") -> None:
        self.label, self.line, self.looks, self.reads = label, line, 0, 0

    def detect(self, frame: Any) -> DetectorResult:
        self.looks += 1
        height, width = frame.shape[:2]
        box = (width * 0.2, height * 0.2, width * 0.8, height * 0.8)
        return DetectorResult((Detection(self.label, 0.9, box),), np.ones(4, np.float32) / 2)

    def read(self, frame: Any) -> tuple[TextLine, ...]:
        self.reads += 1
        return (TextLine(self.line, 0.99, (10.0, 10.0, 100.0, 30.0)),) if self.line else ()

    def close(self) -> None:
        """Nothing is held."""


def glance_of(bus: Bus, eyes: Eyes, **more: Any) -> Glance:
    return Glance(
        bus, Config().perception, wait=lambda s: bool(wall.wait(never, s)), detector=lambda: eyes, ocr=lambda: eyes, **more
    )  # fmt: skip


def picture(t: int) -> Frame:
    rng = np.random.default_rng(1)
    return Frame(t, OFFSET_S, rng.integers(0, 255, (240, 320, 3), dtype=np.uint8))


def test_the_camera_is_looked_through(memory: Store) -> None:
    put(memory, NOW)
    bus, eyes = Bus(), Eyes("banana", "Gate 9")
    glance = glance_of(bus, eyes)
    bus.publish(picture(T + 31 * US))
    answer = told(memory, "What is this?", glance=glance)
    assert answer.value == "banana"
    assert eyes.reads == 0  # reading costs most, and was not asked for
    assert answer.evidence[0]["id"] == "now"
    bus.publish(picture(T + 31 * US))
    assert told(memory, "What does it say?", glance=glance).value == "Gate 9"
    assert eyes.reads == 1


def test_a_frame_from_before_the_question_waits_for_a_newer_one(memory: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    bus, asked = Bus(), T + 40 * US
    glance = glance_of(bus, Eyes())
    monkeypatch.setattr("edge.agent.glance.PATIENCE_S", 60.0)
    bus.publish(picture(T))
    later = threading.Timer(0.2, lambda: bus.publish(replace(picture(asked + US // 5), seq=2)))
    later.start()
    fresh = glance.look("What is this?", asked, read=False, listen=False)
    later.join()
    assert fresh is not None
    assert fresh.window.t_start == asked + US // 5


def test_without_a_frame_the_memory_tells(memory: Store) -> None:
    put(memory, NOW)
    assert told(memory, "What am I holding?", glance=glance_of(Bus(), Eyes())).value == "cup"


def test_a_detector_that_fails_is_told_and_the_memory_answers(memory: Store) -> None:
    class Blind(Eyes):
        def detect(self, frame: Any) -> DetectorResult:
            raise OutputError("It broke.")

    put(memory, NOW)
    bus = Bus()
    glance = glance_of(bus, Blind())
    bus.publish(picture(T + 31 * US))
    assert told(memory, "What am I holding?", glance=glance).value == "cup"
    bus.publish(picture(T + 31 * US))
    fresh = glance.look("?", T + 31 * US, read=False, listen=False)
    assert fresh is not None
    assert fresh.problems == ("It broke.",)


def test_a_vision_model_says_it_better(memory: Store) -> None:
    class Looks:
        id = "vlm"

        def __init__(self) -> None:
            self.sure, self.prompt = True, ""

        def describe(self, frames: Any, prompt: str, schema: Any, options: Any) -> dict[str, Any]:
            del schema, options
            assert len(frames) == 1
            self.prompt = prompt
            return {"answer": "It is a ripe banana.", "sure": self.sure}

        def close(self) -> None:
            """Nothing is held."""

    bus, model = Bus(), Looks()
    glance = glance_of(bus, Eyes("banana"), vision=lambda: model)
    bus.publish(picture(T + 31 * US))
    assert told(memory, "What is this?", glance=glance).answer == "It is a ripe banana."
    assert "What is this?" in model.prompt
    model.sure = False
    bus.publish(picture(T + 31 * US))
    assert told(memory, "What is this?", glance=glance).answer == "I see a gray banana."


def test_who_is_talking_is_heard_in_the_sound_of_the_last_seconds(memory: Store) -> None:
    bus = Bus()
    glance = glance_of(bus, Eyes(), hearing=lambda: (FakeVAD(), FakeASR()))
    rng = np.random.default_rng(2)
    for n in range(30):
        loud = 0.3 if 10 <= n < 25 else 0.0005
        bus.publish(Sound(T + n * US // 10, OFFSET_S, (rng.standard_normal(1600) * loud).astype(np.float32)))
    bus.publish(picture(T + 31 * US))
    answer = told(memory, "Who is talking?", glance=glance)
    assert answer.value in ("wearer", "other")
    assert answer.evidence


@pytest.mark.parametrize(
    ("question", "matter"),
    [("What is this?", "see"), ("What does the label say?", "read"), ("What am I holding?", "hold"), ("Who is speaking?", "talk"),
     ("What am I doing?", "doing"), ("Who is this?", "person"), ("What time is it?", "clock")],
)  # fmt: skip
def test_what_about_the_present(question: str, matter: str) -> None:
    assert matter_of(question) == matter


def test_real_eyes_read_a_sign(memory: Store, tmp_path: Path) -> None:
    del tmp_path
    engines = Engines(Config())
    try:
        bus = Bus()
        glance = Glance(
            bus,
            Config().perception,
            wait=lambda s: bool(wall.wait(never, s)),
            detector=engines.detector,
            ocr=engines.ocr,
        )
        board = np.full((360, 640, 3), 255, np.uint8)
        cv2.putText(board, "PLATFORM 7", (90, 200), cv2.FONT_HERSHEY_SIMPLEX, 2.4, (0, 0, 0), 6)
        bus.publish(Frame(T + 31 * US, OFFSET_S, board))
        answer = told(memory, "What does it say?", glance=glance)
        assert answer.value == "PLATFORM 7"
    finally:
        engines.close()
