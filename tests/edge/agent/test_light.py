"""Questions to a memory that detectors, text reading and transcription made: an invented morning in a workshop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest

from edge.agent.answer import Answer, ask
from storage.records import Caption, Entity, Event, Intention, SeenText, Utterance, Window
from storage.store import EmbeddingSpace, Store

OFFSET_S = 3600
START = round(datetime(2025, 10, 7, 8, 0, tzinfo=timezone(timedelta(hours=1))).timestamp())  # a Tuesday


@dataclass(frozen=True)
class Frame:
    """One frame: second of the morning, things as (count, colours, name, place), lines of text."""

    s: int
    things: tuple[tuple[int, str, str, str], ...] = ()
    lines: tuple[str, ...] = ()


FRAMES = (
    Frame(0, ((1, "red", "bicycle", "left"), (2, "green", "bottle", "lower right")), ("Oct 7,2025", "08:00:00")),
    Frame(10, ((1, "red", "bicycle", "left"), (3, "green", "bottle", "lower right")), ("Oct 7,2025", "08:00:10")),
    Frame(20, ((1, "red", "bicycle", "centre"),), ("Oct 7,2025", "08:00:20")),
    Frame(30, ((1, "brown", "dog", "centre"),), ("Oct 7,2025", "08:00:30")),
    Frame(50, ((1, "brown", "dog", "centre"), (1, "yellow", "cup", "top")), ("Oct 7,2025", "08:00:50")),
    Frame(65, ((1, "white", "refrigerator", "centre"),), ("Oct 7,2025", "08:01:05", "CALL THE", "PLUMBER")),
    Frame(80, ((1, "white", "refrigerator", "left"), (1, "", "oven", "right")),
          ("Oct 7,2025", "08:01:20", "CALL THE", "GRILL 200 C", "PLUMBER")),
    Frame(100, ((1, "", "oven", "centre"),), ("Oct 7,2025", "08:01:40", "GRILL 200 C")),
    Frame(125, (), ("Oct 7,2025", "08:02:05", "WET PAINT", "KEEP OFF", "THE STAIRS")),
    Frame(140, (), ("Oct 7,2025", "08:02:20", "WET PAINT", "KEEP OFF", "THE STAIRS")),
    Frame(150, ((1, "black", "tv", "centre"), (1, "blue", "cup", "lower left")), ("Oct 7,2025", "08:02:30", "MARKET DAY 18 OCTOBER")),
    Frame(170, ((1, "black", "tv", "centre"),), ("Oct 7,2025", "08:02:50", "MARKET DAY 18 OCTOBER")),
    Frame(185, (), ("Oct 7,2025", "08:03:05")),
)  # fmt: skip
SPEECH = (
    (5, "wearer", "The dog wants to go out."),
    (35, "other", "The dentist's appointment is on Thursday at quarter past two in room 12."),
    (55, "wearer", "I've put my gloves under the bench."),
    (70, "wearer", "I must bring the green toolbox before the shop closes."),
    (92, "other", "You left your scarf on the railing."),
    (95, "other", "The ferry sails at half past ten."),
    (128, "other", "The stairs are closed until Friday."),
    (160, "wearer", "The lesson was on Monday."),
)


def _caption(frame: Frame) -> str:
    seen = ", ".join(
        f"{n} {name}s" if n > 1 else f"a {look} {name}".replace("  ", " ") for n, look, name, _ in frame.things
    )
    said = "; text reads " + ", ".join(f'"{line}"' for line in frame.lines) if frame.lines else ""
    return f"{(seen or 'nothing recognised').capitalize()}{said}."


def _windows() -> Iterator[Window]:
    for begin in range(0, 210, 30):
        inside = [f for f in FRAMES if begin <= f.s < begin + 30]
        at = lambda s: (START + s) * 1_000_000  # noqa: E731
        entities: dict[str, Entity] = {}
        texts: list[SeenText] = []
        before: tuple[str, ...] = ()
        for frame in inside:
            for n, look, name, place in frame.things:
                most = max(n, entities[name].count) if name in entities else n
                entities[name] = Entity(name, most, (look,) if look else (), place)
            texts += [SeenText(at(frame.s), line) for line in frame.lines if line not in before]
            before = frame.lines
        first = {name: next(f.s for f in inside if any(t[2] == name for t in f.things)) for name in entities}
        yield Window(
            "walk", at(begin), at(begin + 30), OFFSET_S,
            captions=tuple(Caption(at(f.s), _caption(f)) for f in inside),
            entities=tuple(entities.values()),
            events=tuple(Event(at(s), name, "appears", "") for name, s in sorted(first.items(), key=lambda x: x[1])),
            texts=tuple(texts),
            speech=tuple(Utterance(at(s), who, text) for s, who, text in SPEECH if begin <= s < begin + 30),
            made_by="light",
        )  # fmt: skip


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with Store.open(None, space=EmbeddingSpace("test", 8)) as store:
        with store.transaction() as tx:
            ids = [tx.trace.add(w, np.zeros(8, dtype=np.float32)) for w in _windows()]
            tx.intentions.add(
                Intention(
                    "wearer",
                    "I must bring the green toolbox before the shop closes.",
                    "bring the green toolbox",
                    (START + 70) * 1_000_000,
                    OFFSET_S,
                    ids[2],
                    "before the shop closes",
                    "open",
                    (START + 90) * 1_000_000,
                    (f"w{ids[2]}",),
                )
            )
        yield store


def told(store: Store, question: str, after_s: int = 210) -> Answer:
    now = (START + after_s) * 1_000_000
    with store.snapshot(now) as snapshot:
        return ask(snapshot, question, now=now, offset_s=OFFSET_S)


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("When did I last see a dog?", "2025-10-07T08:00:50.000+01:00"),
        ("When did I first see the dog?", "2025-10-07T08:00:30.000+01:00"),
        ("When was the dog last seen?", "2025-10-07T08:00:50.000+01:00"),
        ("When did I last see an animal?", "2025-10-07T08:00:50.000+01:00"),
        ("When did I last see my bike?", "2025-10-07T08:00:20.000+01:00"),
        ("When did I last see a cat?", "never"),
        ("Did I see a television?", "yes"),
        ("Did I see a cow?", "no"),
        ("Have I seen any vehicles today?", "yes"),
        ("Which animals did I see?", ["dog"]),
        ("What kind of vehicle did I see?", "bicycle"),
        ("What furniture did I see?", []),
        ("What did I see at 08:02?", ["cup", "tv"]),
        ("What was in view at 08:00?", ["bicycle", "bottle", "dog", "cup"]),
        ("What was on the bench at 08:02?", ["tv", "cup"]),
        ("What was next to the fridge?", ["oven"]),
        ("How many bottles were there?", 3),
        ("How many animals did I see?", 1),
        ("How often did I see a cup?", 2),
        ("What colour was the bicycle?", "red"),
        ("What colour was the cup?", "blue"),
        ("What was the color of the mug?", "blue"),
    ],
)
def test_seeing(store: Store, question: str, value: object) -> None:
    assert told(store, question).value == value


@pytest.mark.parametrize(
    "question", ["When did I last see a cat?", "Did I see a cat?", "When did I last open the oven?"]
)
def test_what_was_not_seen_is_said_in_english(store: Store, question: str) -> None:
    answer = told(store, question).answer
    assert "seen you see" not in answer
    assert "not seen a cat" in answer or "no record" in answer


def test_a_sighting_is_proved_by_its_window(store: Store) -> None:
    proof = told(store, "When did I last see the dog?").evidence[0]
    assert (proof["id"], proof["t_start"]) == ("w2", "2025-10-07T08:00:50.000+01:00")
    assert proof["text"] == "dog (brown, centre)"


def test_an_earlier_look_is_told_too(store: Store) -> None:
    assert "yellow" in told(store, "What colour was the cup?").answer


def test_a_hot_dog_is_no_dog_and_a_teddy_bear_no_animal() -> None:
    with Store.open(None, space=EmbeddingSpace("test", 8)) as memory:
        with memory.transaction() as tx:
            things = (Entity("hot dog"), Entity("teddy bear"))
            window = Window("w", START * 1_000_000, (START + 30) * 1_000_000, 0, entities=things, made_by="light")
            tx.trace.add(window, np.zeros(8, dtype=np.float32))
        assert told(memory, "Did I see a dog?").value == "no"
        assert told(memory, "Which animals did I see?").value == []
        assert told(memory, "What food did I see?").value == "hot dog"


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("What did the note on the fridge say?", "CALL THE PLUMBER"),
        ("What was written on the note on the refrigerator?", "CALL THE PLUMBER"),
        ("What did the note about the plumber say?", "CALL THE PLUMBER"),
        ("What did the oven say?", "GRILL 200 C"),
        ("What did the sign on the stairs say?", "WET PAINT KEEP OFF THE STAIRS"),
        ("What did the sign say?", "MARKET DAY 18 OCTOBER"),
        ("What did the first sign say?", "CALL THE PLUMBER"),
        ("What did the screen say?", "MARKET DAY 18 OCTOBER"),
        ("What did the sign say at 08:02?", "WET PAINT KEEP OFF THE STAIRS"),
        ("What did the clock say when the recording started?", "Oct 7, 2025, 08:00:00"),
        ("What did the clock say?", "Oct 7, 2025, 08:03:05"),
        ("What did the clock say at the beginning of the video?", "Oct 7, 2025, 08:00:00"),
    ],
)
def test_written(store: Store, question: str, value: str) -> None:
    assert told(store, question).value == value


def test_a_clock_is_proved_by_its_first_window(store: Store) -> None:
    assert [e["id"] for e in told(store, "What did the clock say when the recording started?").evidence] == ["w1"]


def test_a_text_that_nothing_tells_apart_is_not_asserted(store: Store) -> None:
    answer = told(store, "What did the label on the parachute say?")
    assert answer.confidence < 0.5
    assert not answer.answer.startswith("It said")


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("When is the dentist's appointment?", "2025-10-09"),
        ("What day is my dentist's appointment?", "2025-10-09"),
        ("What time is the dentist's appointment?", "14:15"),
        ("In which room is the dentist's appointment?", "room 12"),
        ("Where is the appointment?", "in room 12"),
        ("When does the ferry sail?", "10:30"),
        ("How long are the stairs closed?", "until Friday"),
        ("Until when are the stairs closed?", "until Friday"),
        ("When was the lesson?", "2025-10-06"),
        ("When is the market day?", "2025-10-18"),
        ("Where did I put my gloves?", "under the bench"),
        ("Where are my gloves?", "under the bench"),
        ("Where did I leave my scarf?", "on the railing"),
        ("What do I have to do?", ["bring the green toolbox"]),
        ("What must I not forget?", ["bring the green toolbox"]),
        ("What do I have to bring?", "the green toolbox"),
        ("What do I have to do before the shop closes?", "bring the green toolbox"),
        ("Do I still have anything to do?", ["bring the green toolbox"]),
        ("Who told me about the stairs?", "other"),
        ("What did the other person say about the ferry?", "The ferry sails at half past ten."),
        ("Is the grill on?", None),
        ("Are the stairs closed?", "yes"),
    ],
)
def test_told(store: Store, question: str, value: object) -> None:
    assert told(store, question).value == value


def test_what_is_to_be_done_cites_where_it_was_said(store: Store) -> None:
    answer = told(store, "What do I have to do?")
    assert [(e["id"], e["t_start"]) for e in answer.evidence] == [("w3", "2025-10-07T08:01:10.000+01:00")]
    assert "bring the green toolbox before the shop closes" in answer.answer


def test_nothing_is_to_be_done_before_it_was_said(store: Store) -> None:
    assert told(store, "What do I have to do?", after_s=60).value == []


@pytest.mark.parametrize("question", ["Where did I leave the cup?", "Where is my mug?", "Where is the blue cup?"])
def test_what_nobody_saw_put_down_is_told_by_its_last_sight(store: Store, question: str) -> None:
    answer = told(store, question)
    assert answer.value == "at the lower left of the view, with a black tv"
    assert "08:02" in answer.answer
    assert answer.evidence[0]["id"] == "w6"


def test_a_colour_tells_two_cups_apart(store: Store) -> None:
    assert told(store, "Where did I leave the yellow cup?").value == "at the top of the view, with a brown dog"
    assert told(store, "Did I see a green cup?").value == "no"


def test_a_thing_only_spoken_of_has_no_place(store: Store) -> None:
    answer = told(store, "Where did I leave the toolbox?")
    assert answer.value is None
    assert "green toolbox" in answer.answer


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("Was there a dog?", "yes"),
        ("Were there any people around?", "no"),
        ("Was the bicycle red?", "yes"),
        ("Was the bicycle blue?", "no"),
        ("When was the dog last in view?", "2025-10-07T08:00:50.000+01:00"),
        ("Read me the note on the fridge.", "CALL THE PLUMBER"),
        ("What time did the clock show at the beginning?", "Oct 7, 2025, 08:00:00"),
        ("When's the dentist's appointment?", "2025-10-09"),
        ("What time is my appointment on Thursday?", "14:15"),
        ("When do I have to catch the ferry?", "10:30"),
        ("When will the stairs be open again?", "until Friday"),
        ("What am I supposed to take along?", "the green toolbox"),
        ("What did I say about my gloves?", "I've put my gloves under the bench."),
    ],
)
def test_in_other_words(store: Store, question: str, value: object) -> None:
    assert told(store, question).value == value
