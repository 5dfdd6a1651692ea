"""What the owner says stands above what was perceived: read, laid over, found, answered from, undone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import pytest

from edge.agent.answer import ask
from edge.clock import US
from edge.config import Memory
from edge.errors import InputError
from edge.memory.corrections import Asked, _base, _doing, correct, undo
from edge.memory.growth import Growth
from storage import EmbeddingSpace, Snapshot, Store
from storage.records import Caption, Entity, Event, Utterance, Window

SPACE = EmbeddingSpace("wordllama-256", 256)
NINE = int(datetime(2026, 3, 2, 9, tzinfo=timezone.utc).timestamp()) * US
EVENING = NINE + 10 * 3600 * US


def window(n: int, *doings: tuple[str, str], said: tuple[tuple[str, str], ...] = ()) -> Window:
    t = NINE + n * 30 * US
    events = tuple(Event(t + (i + 1) * US, "wearer", a, o) for i, (a, o) in enumerate(doings))
    return Window(
        "day", t, t + 30 * US, 0, events=events, entities=tuple(Entity(o) for _, o in doings), frames=6, scene="kitchen",
        captions=tuple(Caption(e.t, f"the wearer will {e.action} the {e.object}") for e in events),
        speech=tuple(Utterance(t + 20 * US, who, text) for who, text in said),
    )  # fmt: skip


@pytest.fixture
def store(embed: Any) -> Iterator[Store]:
    windows = [
        window(0, ("take", "mug"), ("pour", "tea")), window(1, ("drink", "tea")), window(2, ("wash", "mug")),
        window(3, ("drink", "water"), said=(("other", "Where is the other glass?"),)), window(4, ("close", "door")),
    ]  # fmt: skip
    with Store.open(None, space=SPACE) as opened:
        growth = Growth(opened, embed, Memory())
        for w in windows:
            growth.step(w)
        growth.end()
        yield opened


def say(store: Store, embed: Any, text: str, ref: str = "", at: int | None = None) -> int:
    asked = Asked(text, text, ref, at, None if at is None else at + 60 * US)
    return correct(store, embed, asked, now=EVENING, offset_s=0).id


def moment(snapshot: Snapshot, word: str) -> str:
    return f"m{next(m.id for m in snapshot.moments.between() if word in m.text.lower())}"


def test_a_thing_gets_its_owner_and_gives_it_back(store: Store, embed: Any) -> None:
    with store.snapshot() as before:
        ref = (
            moment(before, "take mug")
            if any("take mug" in m.text.lower() for m in before.moments.between())
            else moment(before, "mug")
        )
    before_dump = list(store.dump(EVENING - 1))
    made = say(store, embed, "that was my sister's mug", ref)
    with store.snapshot() as snapshot:
        told = snapshot.moments.get(int(ref[1:]))
        assert "my sister's mug" in told.text
        first = snapshot.trace.window(told.window_id)
        assert "my sister's mug" in [e.name for e in first.entities]
        assert any("my sister's mug" in c.text for c in first.captions)
        assert all("sister" not in c.text for c in snapshot.trace.window(3).captions), "another window keeps its words"
        episode = snapshot.episodes.of_window(first.id)
        assert episode is not None
        assert "my sister's mug" in episode.summary
        assert [f.text for f in snapshot.facts.all("ownership")] == ["The wearer's sister owns mug."]
        assert snapshot.facts.all("ownership")[0].made_by == "owner"
        hits = snapshot.search("moment", "sister's mug")
        assert hits[0].id == int(ref[1:])
        assert [h.id for h in snapshot.search("correction", "sister")] == [made]
        assert snapshot.corrections.of(ref)[0].text == "that was my sister's mug"
    with store.snapshot(EVENING - 1) as earlier:
        assert "sister" not in earlier.moments.get(int(ref[1:])).text
    assert list(store.dump(EVENING - 1)) == before_dump, "nothing perceived was overwritten"
    undo(store, made, now=EVENING + US)
    with store.snapshot() as snapshot:
        assert "sister" not in snapshot.moments.get(int(ref[1:])).text
        assert snapshot.search("correction", "sister") == []
        assert snapshot.facts.all("ownership") == []
        assert snapshot.facts.all("ownership", "retired")[0].reason == "the correction was undone"
        assert not any("sister" in e.summary for e in snapshot.episodes.between())
    with store.snapshot(EVENING) as meanwhile:
        assert "sister" in meanwhile.moments.get(int(ref[1:])).text
    with pytest.raises(InputError, match="undone already"):
        undo(store, made, now=EVENING + 2 * US)


def answer(store: Store, embed: Any, question: str) -> Any:
    with store.snapshot() as snapshot:
        return ask(snapshot, question, now=EVENING, offset_s=0, owner="", embed=embed, policy="rules")


def test_a_doing_that_was_missed_counts(store: Store, embed: Any) -> None:
    assert answer(store, embed, "How many times did I drink water today?").value == 1
    made = say(store, embed, "I did drink water", at=NINE + 3600 * US)
    found = answer(store, embed, "How many times did I drink water today?")
    assert found.value == 2
    with store.snapshot() as snapshot:
        added = [i for i in snapshot.trace.events("drink") if i.object == "water"][-1]
        assert (added.t, added.subject, added.text) == (NINE + 3600 * US, "wearer", "drink water")
        assert snapshot.trace.items_by_id([added.id])[added.id] == added
        assert snapshot.lookup.events_of([("drink", "water")])[-1] == added
        assert any(h.id == added.id for h in snapshot.search("item", "drink water"))
    undo(store, made, now=EVENING + US)
    assert answer(store, embed, "How many times did I drink water today?").value == 1


def test_what_did_not_happen_is_not_told(store: Store, embed: Any) -> None:
    made = say(store, embed, "I did not drink water", at=NINE + 90 * US)
    with store.snapshot() as snapshot:
        assert not [i for i in snapshot.trace.items(("event", "caption")) if "water" in i.text]
        assert not [m for m in snapshot.moments.between() if "drink" in m.text and "water" in m.text]
        assert [i for i in snapshot.trace.items(("event",)) if i.object == "tea"]
    assert answer(store, embed, "How many times did I drink water today?").value in (0, None)
    undo(store, made, now=EVENING + US)
    with store.snapshot() as snapshot:
        assert [i for i in snapshot.trace.items(("event",)) if i.object == "water"]


@pytest.mark.parametrize(
    "text", ["it was not a mug but a bowl", "it was a bowl, not a mug", "the mug was actually a bowl"]
)
def test_a_word_gives_way_to_another(store: Store, embed: Any, text: str) -> None:
    say(store, embed, text, "w1")
    with store.snapshot() as snapshot:
        w = snapshot.trace.window(1)
        assert [e.name for e in w.entities] == ["bowl", "tea"]
        assert [e.object for e in w.events] == ["bowl", "tea"]
        assert [e.object for e in snapshot.trace.window(3).events] == ["mug"]


def test_a_voice_gets_its_name(store: Store, embed: Any) -> None:
    with store.snapshot() as snapshot:
        ref = moment(snapshot, "other glass")
    say(store, embed, "that was Anna", ref)
    with store.snapshot() as snapshot:
        (said,) = snapshot.trace.items(("speech",))
        assert (said.speaker, said.text) == ("Anna", "Where is the other glass?")
        assert snapshot.trace.window(4).speech[0].speaker == "Anna"
        assert snapshot.moments.get(int(ref[1:])).text.startswith("Anna said:")


def test_a_fact_that_is_not_so_is_retired_until_it_is_undone(embed: Any) -> None:
    with Store.open(None, space=SPACE) as store:
        growth = Growth(store, embed, Memory())
        growth.step(replace(window(0), speech=(Utterance(NINE + US, "wearer", "I love olives."),)))
        made = say(store, embed, "that is not true", "f1")
        with store.snapshot() as snapshot:
            assert snapshot.facts.get(1).state == "retired"
        undo(store, made, now=EVENING + US)
        with store.snapshot() as snapshot:
            assert snapshot.facts.get(1).state == "active"


@pytest.mark.parametrize(
    ("text", "ref", "at"),
    [("that was my sister's mug", "", None), ("I did drink water", "", None), ("...", "m1", None), ("a mug", "z9", None),
     ("I did not fly to the moon", "", NINE)],
)  # fmt: skip
def test_what_cannot_be_placed_is_refused_and_nothing_is_stored(
    store: Store, embed: Any, text: str, ref: str, at: int | None
) -> None:
    before = list(store.dump())
    with pytest.raises(InputError):
        say(store, embed, text, ref, at)
    assert list(store.dump()) == before


def test_a_note_stands_beside_what_it_is_about(store: Store, embed: Any) -> None:
    say(store, embed, "I was waiting for the plumber", "e1")
    with store.snapshot() as snapshot:
        assert "The owner says: I was waiting for the plumber" in snapshot.episodes.get(1).summary


@pytest.mark.parametrize(
    ("told", "doing"),
    [("drank water", ("drink", "water")), ("turned the stove off", ("turn off", "stove")), ("watered the plants", ("water", "plants")),
     ("took my pills", ("take", "pills")), ("closed the door", ("close", "door")), ("call Anna", ("call", "Anna"))],
)  # fmt: skip
def test_a_doing_is_read_from_its_past(told: str, doing: tuple[str, str]) -> None:
    assert _doing(told) == doing


@pytest.mark.parametrize(
    ("past", "base"),
    [("watered", "water"), ("stirred", "stir"), ("carried", "carry"), ("washed", "wash"), ("filled", "fill"), ("opened", "open"),
     ("chopped", "chop"), ("saved", "save"), ("arranged", "arrange"), ("walked", "walk"), ("cleaned", "clean"), ("painted", "paint")],
)  # fmt: skip
def test_a_regular_past_has_its_plain_form(past: str, base: str) -> None:
    assert _base(past) == base
