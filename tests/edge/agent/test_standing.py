"""Standing questions: understood, kept across restarts, decided on what is perceived from then on, and said in time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edge.agent.standing import add, cancel, described
from edge.agent.wishes import GAP_US, STEP_GAP_US, condition, is_wish, wish
from edge.clock import ReplayClock
from edge.config import Config
from edge.errors import QuestionError
from edge.messages import Message, Say, ServiceAsked, ServiceDecided
from edge.pipeline import Pipeline
from edge.retrieval.zone import Zone
from storage import EmbeddingSpace, Store
from storage.records import Caption, Entity, Event, SeenText, Utterance, Window

OFFSET_S = 7200
ZONE = timezone(timedelta(seconds=OFFSET_S))
US = 1_000_000
START = round(datetime(2025, 7, 1, 9, tzinfo=ZONE).timestamp()) * US
AT = Zone(START, OFFSET_S)


def embed(texts: list[str]) -> Any:
    return np.ones((len(texts), 8), dtype=np.float32)


class Life:
    """A device whose wearer lives in windows of 30 s."""

    def __init__(self, path: Path | None) -> None:
        self.store = Store.open(path, space=EmbeddingSpace("test", 8))
        self.clock = ReplayClock()
        self.pipeline = Pipeline(self.store, embed, Config(), self.clock)
        self.n = 0

    def ask(self, text: str) -> int:
        return add(self.store, text, now=self.now, offset_s=OFFSET_S).id

    @property
    def now(self) -> int:
        return START + self.n * 30 * US

    def window(self, *lines: tuple[str, str] | tuple[str, str, float]) -> list[Message]:
        """Lines are (kind, text[, second]): act "verb|thing", cap, thing, text, or a speaker."""
        t = self.now
        parts: dict[str, list[Any]] = {"events": [], "captions": [], "entities": [], "texts": [], "speech": []}
        for kind, text, *second in lines:
            when = t + round((second[0] if second else 10) * US)
            if kind == "act":
                parts["events"].append(Event(when, "wearer", *text.split("|")))
            elif kind == "cap":
                parts["captions"].append(Caption(when, text))
            elif kind == "thing":
                parts["entities"].append(Entity(text))
            elif kind == "text":
                parts["texts"].append(SeenText(when, text))
            else:
                parts["speech"].append(Utterance(when, kind, text))
        self.n += 1
        return self.pipeline.step(Window("home", t, t + 30 * US, OFFSET_S, **{k: tuple(v) for k, v in parts.items()}))

    def said(self, *lines: Any) -> list[str]:
        """What the device says of standing questions while that happens."""
        messages = self.window(*lines)
        asked = {m.service.id for m in messages if isinstance(m, ServiceAsked) and m.service.type == "standing"}
        return [m.text for m in messages if isinstance(m, Say) and int(m.source[1:]) in asked]


@pytest.fixture
def life() -> Iterator[Life]:
    made = Life(None)
    made.window()
    yield made
    made.store.close()


@pytest.mark.parametrize(
    ("text", "happens", "says"),
    [
        ("Tell me when you see a cat", ("thing", "cat"), "I see a cat."),
        ("Let me know as soon as a bus comes", ("thing", "bus"), "I see a bus."),
        ("Please warn me if there is a dog", ("cap", "A dog runs along the fence."), "I see a dog."),
        ("Watch out for a red bicycle", ("cap", "a red bicycle leans at the wall"), "I see a red bicycle."),
        ("Tell me when the water boils", ("cap", "The water boils in the pot."), "The water boils."),
        ("Let me know when Noor says the code", ("Noor", "The code is 4711."), 'I hear: "The code is 4711.".'),
        ("Tell me when somebody mentions the ferns", ("other", "Who waters the ferns?"), "ferns"),
        ("Tell me when the screen shows gate 12", ("text", "Gate 12 boarding"), "Gate 12"),
        (
            "Remind me to take my umbrella when I leave the house",
            ("act", "leave|house"),
            "Reminder: take your umbrella.",
        ),
        ("When I open the fridge, remind me to buy milk", ("act", "open|fridge"), "Reminder: buy milk."),
        ("Next time I open the fridge remind me to buy milk", ("act", "open|refrigerator"), "Reminder: buy milk."),
        ("Remind me about the pills when I drink coffee", ("act", "sip|coffee"), "Reminder: the pills."),
        ("Remind me to stretch as soon as I close the laptop", ("act", "shut|laptop"), "Reminder: stretch."),
        (
            "Tell me when I pick up the scissors",
            ("cap", "I pick up the scissors from the drawer"),
            "You pick up the scissors.",
        ),
    ],
)
def test_is_told_when_it_happens_and_not_before(life: Life, text: str, happens: tuple[str, str], says: str) -> None:
    life.ask(text)
    assert (
        life.said(("act", "wash|hands"), ("cap", "A hand under the tap."), ("thing", "cup"), ("other", "Nice day."))
        == []
    )
    told = life.said(happens)
    assert len(told) == 1
    assert says.rstrip(".") in told[0]
    assert life.said(happens) == []  # once is once
    with life.store.snapshot() as snapshot:
        assert snapshot.standing.open() == []
        assert snapshot.standing.all()[0].state == "done"


def test_the_past_triggers_nothing(life: Life) -> None:
    life.window(("thing", "cat"), ("act", "open|fridge"))
    life.ask("Tell me when you see a cat")
    life.ask("Remind me to buy milk when I open the fridge")
    assert life.said(("thing", "cup")) == []
    assert life.said(("thing", "cat")) == ["I see a cat."]


def test_what_happened_in_the_window_before_the_asking_does_not_count(life: Life) -> None:
    add(life.store, "Remind me to buy milk when I open the fridge", now=life.now + 20 * US, offset_s=OFFSET_S)
    assert life.said(("act", "open|fridge", 10.0)) == []
    assert life.said(("act", "open|fridge", 10.0)) == ["Reminder: buy milk."]


def test_whenever_goes_on_and_keeps_its_gap(life: Life) -> None:
    life.ask("Tell me whenever I open the fridge")
    told = life.said(("act", "open|fridge", 1.0), ("act", "open|fridge", 5.0), ("act", "open|fridge", 12.0))
    with life.store.snapshot() as snapshot:
        (standing,) = snapshot.standing.open()
    assert standing.gap_us == GAP_US
    assert standing.fired == 2  # at 1 s and 12 s; 5 s lies within the gap
    assert told
    assert life.said(("act", "open|fridge", 20.0))


def test_step_by_step_is_told_more_densely(life: Life) -> None:
    life.ask("Comment on every step while I cook")
    life.window(("act", "take|pan", 1.0), ("act", "pour|oil", 3.0), ("act", "crack|egg", 6.0))
    with life.store.snapshot() as snapshot:
        (standing,) = snapshot.standing.open()
    assert standing.gap_us == STEP_GAP_US
    assert standing.fired == 2


def test_a_thing_that_stays_in_view_is_told_once(life: Life) -> None:
    life.ask("Tell me every time you see a cat")
    assert [bool(life.said(("thing", "cat"))) for _ in range(3)] == [True, False, False]
    assert life.said(("thing", "cup")) == []
    assert life.said(("thing", "cat"))


def test_waits_through_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    first = Life(path)
    first.window()
    first.ask("Remind me to buy milk when I open the fridge")
    first.store.close()
    second = Life(path)
    second.n = first.n
    assert second.said(("act", "open|fridge")) == ["Reminder: buy milk."]
    second.store.close()


def test_clock_times(life: Life) -> None:
    life.ask("Remind me to call Ana in one minute")
    assert life.said() == []
    assert life.said() == ["Reminder: call Ana."]
    assert life.said() == []


def test_a_clock_time_needs_no_window(life: Life) -> None:
    life.ask("Remind me at 9:30 to water the ferns")
    life.clock.set(START + 29 * 60 * US, OFFSET_S)
    assert not [m for m in life.pipeline.tick(START + 29 * 60 * US) if isinstance(m, Say)]
    life.clock.set(START + 30 * 60 * US, OFFSET_S)
    assert [m.text for m in life.pipeline.tick(START + 30 * 60 * US) if isinstance(m, Say)] == [
        "Reminder: water the ferns."
    ]


def test_cancelled_is_silent(life: Life) -> None:
    cat, fridge = life.ask("Tell me when you see a cat"), life.ask("Remind me to buy milk when I open the fridge")
    assert [s.id for s in cancel(life.store, "the milk", now=life.now)] == [fridge]
    assert life.said(("act", "open|fridge")) == []
    assert [s.id for s in cancel(life.store, f"q{cat}", now=life.now)] == [cat]
    assert life.said(("thing", "cat")) == []
    with pytest.raises(QuestionError, match="No standing question"):
        cancel(life.store, "q99", now=life.now)
    life.ask("Tell me when you see a dog")
    life.ask("Tell me when you see a dog in the park")
    with pytest.raises(QuestionError, match="2 standing questions fit"):
        cancel(life.store, "dog", now=life.now)
    assert len(cancel(life.store, "all", now=life.now)) == 2


def test_asking_twice_is_asking_once(life: Life) -> None:
    assert life.ask("Tell me when you see a cat") == life.ask("tell me when you see a cat!")


def test_a_snapshot_shows_what_stood_then(life: Life) -> None:
    number = life.ask("Tell me when you see a cat")
    asked = life.now
    life.window(("thing", "cat"))
    with life.store.snapshot(asked - 1) as snapshot:
        assert snapshot.standing.all() == []
    with life.store.snapshot(asked) as snapshot:
        assert [s.state for s in snapshot.standing.all()] == ["open"]
    with life.store.snapshot() as snapshot:
        assert snapshot.standing.get(number).state == "done"


def test_pauses_between_nudges_do_not_hold_it_back(life: Life) -> None:
    for thing in ("cat", "dog", "bus", "car", "bird", "horse"):
        life.ask(f"Tell me when you see a {thing}")
        messages = life.window(("thing", thing))
        assert [
            m.decision.decision for m in messages if isinstance(m, ServiceDecided) and m.service.type == "standing"
        ] == ["deliver"]


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("Tell me when you see a cat", True),
        ("Tell me when I last opened the fridge", False),
        ("Tell me when I took my pills", False),
        ("Tell me when Noor said that", False),
        ("Remind me to call Ana when I get home", True),
        ("Remind me what Noor said", False),
        ("When did I open the fridge?", False),
        ("If I open the fridge, tell me", True),
        ("Let me know once the kettle is done", True),
        ("Remind me in ten minutes to check the oven", True),
        ("Remind me at 5 pm to leave", True),
        ("Where did I put my keys?", False),
        ("Narrate what I am doing", True),
    ],
)
def test_what_is_a_wish(text: str, is_one: bool) -> None:
    assert is_wish(text) is is_one


@pytest.mark.parametrize(
    ("text", "looks"),
    [
        ("you see a cat", "see"), ("a bus comes", "see"), ("there is a dog nearby", "see"), ("a person shows up", "see"),
        ("Noor says hello", "said"), ("someone calls me", "said"), ("I hear Noor talking about money", "said"),
        ("the sign says EXIT", "text"), ("gate 12 is displayed", "text"), ("I read the word SALE", "text"),
        ("I open the fridge", "act"), ("I'm leaving", "act"), ("the water boils", "state"), ("the light is green", "state"),
    ],
)  # fmt: skip
def test_where_a_condition_is_looked_for(text: str, looks: str) -> None:
    assert condition(text).looks == looks


@pytest.mark.parametrize(
    "text", ["hello", "tell me when I don't move", "tell me when", "remind me", "remind me to when", "x" * 400, ""]
)
def test_what_cannot_be_watched_for_is_said(text: str) -> None:
    with pytest.raises(QuestionError):
        wish(text, AT)


@pytest.mark.parametrize(
    ("phrase", "clock"),
    [("in ten minutes", "09:10"), ("in half an hour", "09:30"), ("at 17:30", "17:30"), ("at 5 pm", "17:00"), ("at 8", "20:00"), ("at 10", "10:00"), ("at 7 am", "07:00"), ("in 2 hours", "11:00")],
)  # fmt: skip
def test_clock_phrases(phrase: str, clock: str) -> None:
    made = wish(f"Remind me {phrase} to leave", AT)
    assert made.due is not None
    assert made.due > START
    assert f"{AT.local(made.due):%H:%M}" == clock
    assert made.what == "leave"


def test_said_back() -> None:
    def say(text: str) -> str:
        return described(replace(wish(text, AT), id=1), AT)

    assert (
        say("remind me to take my coat when I leave the house")
        == "I remind you to take your coat when you leave the house."
    )
    assert say("tell me whenever you see a bus") == "I tell you every time I see a bus."
    assert say("remind me at 17:30 to leave") == "At 17:30 I remind you: leave."
