"""A small memory of two invented days, written by hand: a flat, a dog, a printer, a neighbour who talks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest

from edge.agent.answer import Answer, ask
from storage.records import Caption, Entity, Event, SeenText, Utterance, Window
from storage.store import EmbeddingSpace, Store

OFFSET_S = 7200
ZONE = timezone(timedelta(seconds=OFFSET_S))
DIM = 8


def at(day: int, clock: str) -> int:
    """A local time of July 2025 as microseconds UTC."""
    h, m, s = (int(p) for p in (clock + ":00").split(":")[:3])
    return round(datetime(2025, 7, day, h, m, s, tzinfo=ZONE).timestamp()) * 1_000_000


class Diary:
    """Writes windows of 30 s around the lines it is given."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def write(
        self, day: int, start: str, minutes: int, lines: list[tuple[str, str, str]], recording: str = "home"
    ) -> None:
        """Lines are (clock, kind, text); kinds: "act" (verb|thing), "cap", "text", or a speaker's name."""
        begin = at(day, start)
        with self.store.transaction() as tx:
            for n in range(minutes * 2):
                low, high = begin + n * 30_000_000, begin + (n + 1) * 30_000_000
                mine = [(at(day, c), kind, text) for c, kind, text in lines if low <= at(day, c) < high]
                acts = [(t, *text.split("|")) for t, kind, text in mine if kind == "act"]
                window = Window(
                    recording, low, high, OFFSET_S,
                    captions=tuple(Caption(t, text) for t, kind, text in mine if kind == "cap"),
                    events=tuple(Event(t, "wearer", verb, thing) for t, verb, thing in acts),
                    entities=tuple(Entity(thing) for _, _, thing in acts),
                    texts=tuple(SeenText(t, text) for t, kind, text in mine if kind == "text"),
                    speech=tuple(Utterance(t, kind, text) for t, kind, text in mine if kind not in ("act", "cap", "text")),
                )  # fmt: skip
                tx.trace.add(window, np.zeros(DIM, dtype=np.float32))


class Wearer:
    """Asks the memory as it was at a time."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def ask(self, question: str, now: int | None = None, choices: list[str] | None = None) -> Answer:
        when = at(2, "21:00") if now is None else now
        with self.store.snapshot(when) as snapshot:
            return ask(snapshot, question, now=when, offset_s=OFFSET_S, owner="Ada", choices=choices)


@pytest.fixture(scope="module")
def wearer() -> Iterator[Wearer]:
    store = Store.open(None, space=EmbeddingSpace("test", DIM))
    diary = Diary(store)
    diary.write(1, "08:00", 20, [
        ("08:00:05", "act", "start activity|Walk the dog"),
        ("08:01:00", "act", "open|front door"),
        ("08:02:10", "cap", "put the leash on the hook"),
        ("08:02:40", "act", "feed|dog"),
        ("08:05:00", "act", "start activity|Make porridge"),
        ("08:05:30", "act", "open|fridge"),
        ("08:06:00", "cap", "put the red mug next to the sink"),
        ("08:07:00", "act", "stir|porridge"),
        ("08:08:00", "act", "rinse|bowl"),
        ("08:09:00", "act", "wipe|bowl"),
        ("08:10:00", "Noor", "Could you water the ferns on Thursday?"),
        ("08:10:06", "wearer", "Sure, I will bring my own can."),
        ("08:11:00", "text", "08:11"),
    ])  # fmt: skip
    diary.write(1, "18:00", 10, [
        ("18:00:10", "act", "start activity|Fix the printer"),
        ("18:01:00", "cap", "Open the paper tray"),
        ("18:02:00", "cap", "finished: Open the paper tray"),
        ("18:03:00", "cap", "Load 20 sheets"),
        ("18:05:00", "text", "PAPER JAM"),
        ("18:06:00", "act", "turn off|printer"),
    ])  # fmt: skip
    diary.write(2, "07:30", 20, [
        ("07:31:00", "act", "start activity|Make porridge"),
        ("07:32:00", "act", "open|refrigerator door"),
        ("07:35:00", "act", "switch on|hob"),
        ("07:36:00", "act", "pour into|milk"),
        ("07:40:00", "cap", "put the red mug in the dishwasher"),
        ("07:41:00", "act", "start activity|Read the paper"),
        ("07:45:00", "act", "open|fridge"),
    ])  # fmt: skip
    yield Wearer(store)
    store.close()


@pytest.fixture(scope="module")
def household() -> Iterator[Wearer]:
    """Two days whose activities have names ("take shower", "leave house"), and a friend who talks."""
    store = Store.open(None, space=EmbeddingSpace("test", DIM))
    diary = Diary(store)

    def activity(kind: str, name: str, begin: str, end: str) -> list[tuple[str, str, str]]:
        return [
            (begin, "act", f"start {kind}|{name}"), (begin, "cap", f"starts: {name}"),
            (end, "act", f"finish {kind}|{name}"), (end, "cap", f"finished: {name}"),
        ]  # fmt: skip

    diary.write(1, "07:00", 90, [
        *activity("activity", "sleeping", "07:00:05", "07:10"),
        *activity("activity", "take shower", "07:15", "07:25"),
        *activity("activity", "doing laundry", "07:30", "07:40"),
        ("07:45", "act", "open|fridge"),
        *activity("activity", "leave house", "08:00", "08:20"),
        ("08:25", "Noor", "My bakery opens in May, and I will sell rye bread there."),
        ("08:25:10", "wearer", "I went to the harbour festival last Saturday."),
    ])  # fmt: skip
    diary.write(1, "18:30", 30, [
        *activity("recipe", "Lentil Soup", "18:30", "18:50"),
        *activity("activity", "putting away laundry", "18:52", "18:55"),
    ])  # fmt: skip
    diary.write(2, "07:00", 40, [
        *activity("activity", "take shower", "07:05", "07:10"),
        *activity("activity", "take shower", "07:20", "07:24"),
        ("07:30", "act", "wash|knife"),
        ("07:32", "act", "open|fridge"),
    ])  # fmt: skip
    diary.write(2, "12:30", 20, [*activity("recipe", "Lentil Soup", "12:30", "12:35"), *activity("recipe", "Omelette", "12:36", "12:45")])  # fmt: skip
    yield Wearer(store)
    store.close()
