"""Views, graph and facts as they grow: what they hold, what they rest on, and that they are continued exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import pytest

from edge.clock import US
from edge.config import Memory
from edge.memory import facts, graph, views
from edge.memory.growth import Growth
from edge.messages import FactChanged
from storage import EmbeddingSpace, Store
from storage.records import Caption, Entity, Event, SeenText, Utterance, Window

SPACE = EmbeddingSpace("wordllama-256", 256)
NINE = int(datetime(2026, 3, 2, 9, tzinfo=timezone.utc).timestamp()) * US
DAY = 86_400 * US


def window(
    t: int, *doings: tuple[str, str], said: tuple[tuple[str, str], ...] = (), scene: str = "kitchen", **more: Any
) -> Window:
    events = tuple(Event(t + (i + 1) * US, "wearer", a, o) for i, (a, o) in enumerate(doings))
    speech = tuple(Utterance(t + (i + 1) * US, who, text) for i, (who, text) in enumerate(said))
    things = tuple(Entity(o, 1) for _, o in doings)
    return Window(
        "day", t, t + 30 * US, 0, events=events, entities=things, speech=speech, scene=scene, frames=6, **more
    )


def stretch(start: int, count: int, *doings: tuple[str, str], **more: Any) -> list[Window]:
    return [window(start + n * 30 * US, *doings, **more) for n in range(count)]


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open(None, space=SPACE) as opened:
        yield opened


def feed(store: Store, embed: Any, windows: list[Window], *, restart: bool = False) -> list[Any]:
    growth, told = Growth(store, embed, Memory()), []
    for w in windows:
        if restart:
            growth = Growth(store, embed, Memory())
        told += growth.idle(w.t_start)
        told += growth.step(w)
    return told + growth.end()


def test_a_view_is_written_when_its_stretch_is_over_and_is_anchored_to_its_windows(store: Store, embed: Any) -> None:
    feed(store, embed, stretch(NINE, 30, ("stir", "soup"), ("take", "blue cup")))
    with store.snapshot() as snapshot:
        three = snapshot.views.between(scale_s=180)
        assert [(v.first_window, v.last_window) for v in three] == [(n, n + 5) for n in range(1, 31, 6)]
        assert [v.known for v in three][:4] == [NINE + n * 180 * US + 210 * US for n in range(4)]
        assert [(v.first_window, v.last_window) for v in snapshot.views.between(scale_s=600)] == [(1, 20), (21, 30)]
        (hour,) = snapshot.views.between(scale_s=3600)
        assert (hour.first_window, hour.last_window) == (1, 30)
        assert "stir soup" in hour.text
        assert "blue cup" in hour.visual
        assert hour.objects == ("blue cup", "soup")
        assert [v.scale_s for v in snapshot.views.of_window(3)] == [180, 600, 3600]
        assert snapshot.search("view", "blue cup")
    with store.snapshot(NINE + 200 * US) as early:
        assert early.views.between() == []


def test_a_recording_that_goes_on_in_the_same_hour_gets_a_further_version(store: Store, embed: Any) -> None:
    feed(store, embed, [*stretch(NINE, 4, ("stir", "soup")), *stretch(NINE + 600 * US, 4, ("wash", "pot"))])
    with store.snapshot() as snapshot:
        (hour,) = snapshot.views.between(scale_s=3600)
        assert hour.version == 2
        assert (hour.first_window, hour.last_window) == (1, 8)
    with store.snapshot(NINE + 500 * US) as between:
        (hour,) = between.views.between(scale_s=3600)
        assert "wash pot" not in hour.text


def test_context_is_the_same_after_restarts(embed: Any) -> None:
    said = (("wearer", "I love strong coffee. My sister Anna is coming."),)
    windows = [*stretch(NINE, 25, ("stir", "soup")), *stretch(NINE + 800 * US, 9, ("drink", "tea"), said=said)]
    with Store.open(None, space=SPACE) as one, Store.open(None, space=SPACE) as two:
        feed(one, embed, windows)
        feed(two, embed, windows, restart=True)
        assert list(one.dump()) == list(two.dump())


def test_names_are_kept_as_they_stand() -> None:
    w = window(NINE, said=(("Anna", "We met Ben in Zurich, didn't we?"),))
    w = replace(w, texts=(SeenText(NINE + US, "EXIT 4B"),), captions=(Caption(NINE + US, "a box of Lindt Excellence"),))
    assert views.names_of([w]) == ("Anna", "Ben", "Zurich", "Lindt Excellence", "EXIT 4B")


@pytest.mark.parametrize(
    ("name", "told"),
    [("The Mugs", "mug"), ("my  red boxes", "red box"), ("glass", "glass"), ("berries", "berry"), ("", ""),
     ("one two three four five six seven", ""), ("bus", "bus")],
)  # fmt: skip
def test_names_become_canonical(name: str, told: str) -> None:
    assert graph.canonical(name) == told


def test_the_graph_leads_from_a_thing_to_where_it_was(store: Store, embed: Any) -> None:
    first = replace(window(NINE, ("put", "the keys")), entities=(Entity("keys", 1, (), "on the shelf"),))
    feed(
        store,
        embed,
        [
            first,
            *stretch(NINE + 30 * US, 3, ("stir", "soup")),
            *stretch(NINE + 3600 * US, 3, ("take", "key"), scene="hall"),
        ],
    )
    with store.snapshot() as snapshot:
        (key,) = snapshot.graph.find("Keys")
        assert (key.name, set(key.aliases)) == ("key", {"the keys", "keys"})
        told = snapshot.graph.relations([key.id])
        nodes = snapshot.graph.nodes({n for r in told for n in (r.source, r.target)})
        seen = {(nodes[r.source].name, r.type, r.label, nodes[r.target].name) for r in told}
        assert seen == {
            ("wearer", "acts_on", "put", "key"), ("wearer", "acts_on", "take", "key"), ("key", "at", "", "kitchen"),
            ("key", "at", "", "shelf"), ("key", "at", "", "hall"),
        }  # fmt: skip
        put = next(r for r in told if r.label == "put")
        assert (put.window_id, put.t) == (1, NINE + US)
        assert 5 in snapshot.graph.around([1]), "one hop over the key leads to the window in the hall"
    with store.snapshot(NINE + 3000 * US) as before:
        (key,) = before.graph.find("key")
        assert {r.label for r in before.graph.relations([key.id], ("acts_on",))} == {"put"}


def test_what_came_after_what_is_an_edge(store: Store, embed: Any) -> None:
    feed(store, embed, [
        *stretch(NINE, 8, ("cut", "onion"), ("stir", "soup"), description="cooking soup"),
        *stretch(NINE + 300 * US, 8, ("type", "report"), ("open", "laptop"), scene="office", description="writing a report"),
    ])  # fmt: skip
    with store.snapshot() as snapshot:
        then = [r for e in snapshot.episodes.between() for r in snapshot.graph.of_episode(e.id) if r.type == "then"]
        nodes = snapshot.graph.nodes({n for r in then for n in (r.source, r.target)})
        steps = {(nodes[r.source].name, nodes[r.target].name) for r in then}
    assert ("cooking soup", "writing a report") in steps
    assert ("kitchen", "office") in steps


@pytest.mark.parametrize(
    ("who", "text", "told"),
    [
        ("wearer", "I really love dark chocolate, you know.", ("preference", "The wearer likes dark chocolate.")),
        ("Anna", "I can't stand olives.", ("preference", "Anna dislikes olives.")),
        ("Anna", "I'm allergic to nuts.", ("preference", "Anna avoids nuts.")),
        ("wearer", "This is my sister Anna.", ("relation", "Anna is the wearer's sister.")),
        ("Ben", "My boss is called Carla.", ("relation", "Carla is Ben's boss.")),
        ("wearer", "I just bought a red bike.", ("ownership", "The wearer owns a red bike.")),
        ("wearer", "That is Anna's mug.", ("ownership", "Anna owns mug.")),
        ("wearer", "The blue umbrella is mine.", ("ownership", "The wearer owns blue umbrella.")),
        ("Anna", "We're going to visit Rome next week.", ("plan", "Anna plans to visit Rome next week.")),
        (
            "wearer",
            "I have a dentist appointment on Monday.",
            ("plan", "The wearer has a dentist appointment on Monday."),
        ),
        ("wearer", "I usually take the bus.", ("habit", "The wearer often does this: take the bus.")),
    ],
)
def test_facts_are_taken_from_what_is_said(who: str, text: str, told: tuple[str, str]) -> None:
    assert [(d.kind, d.text) for d in facts.heard(window(NINE, said=((who, text),)))] == [told]


@pytest.mark.parametrize(
    ("who", "text"),
    [
        ("wearer", "Do I like olives?"), ("wearer", "I love it!"), ("other", "I love olives."), ("wearer", "I'm going to be fine."),
        ("wearer", "That is my dream."), ("wearer", "Being my own boss is hard."), ("wearer", "I like how you did that."),
    ],
)  # fmt: skip
def test_talk_is_no_fact(who: str, text: str) -> None:
    assert facts.heard(window(NINE, said=((who, text),))) == []


def test_the_same_said_again_adds_support_and_the_opposite_retires(store: Store, embed: Any) -> None:
    lines = ["I love coffee.", "I really like a cup of coffee.", "I like green tea.", "I hate coffee."]
    feed(store, embed, [window(NINE + n * 30 * US, said=(("wearer", text),)) for n, text in enumerate(lines)])
    with store.snapshot() as snapshot:
        told = {f.text: (f.state, f.support) for f in snapshot.facts.all(state=None)}
        assert told == {
            "The wearer likes coffee.": ("retired", 2), "The wearer likes green tea.": ("active", 1),
            "The wearer dislikes coffee.": ("active", 1),
        }  # fmt: skip
        coffee = snapshot.facts.all(state="retired")[0]
        assert [s.quote for s in snapshot.facts.support(coffee.id)] == lines[:2]
        assert [snapshot.trace.items_by_id([int(s.ref[1:])]) for s in snapshot.facts.support(coffee.id)]
        assert [h.id for h in snapshot.search("fact", "coffee")] == [
            f.id for f in snapshot.facts.all() if "coffee" in f.text
        ]
    with store.snapshot(NINE + 60 * US) as before:
        assert [(f.text, f.state, f.support) for f in before.facts.all()] == [("The wearer likes coffee.", "active", 2)]


def test_a_habit_needs_three_days(store: Store, embed: Any) -> None:
    days = [stretch(NINE + n * DAY, 3, ("drink", "coffee"), ("open", "door")) for n in range(4)]
    told = feed(store, embed, [w for d in days for w in d])
    with store.snapshot() as snapshot:
        habit = next(f for f in snapshot.facts.all("habit") if f.relation == "does")
        assert (habit.text, habit.days, habit.support) == ("The wearer often does this: drink coffee.", 4, 4)
        assert {s.episode_id for s in snapshot.facts.support(habit.id)} == {e.id for e in snapshot.episodes.between()}
        assert not [f for f in snapshot.facts.all(state=None) if "door" in f.text and f.relation == "does"]
    assert [m.fact.text for m in told if isinstance(m, FactChanged)].count(habit.text) == 1
    with store.snapshot(NINE + DAY + 7200 * US) as before:
        assert [f.state for f in before.facts.all(state=None) if f.relation == "does"] == ["candidate"]


def test_a_plan_ends_when_it_is_done(store: Store, embed: Any) -> None:
    said = (("wearer", "I have to call the plumber before noon."),)
    feed(store, embed, [window(NINE, said=said), window(NINE + 30 * US, ("call", "plumber"))])
    with store.snapshot() as snapshot:
        (plan,) = snapshot.facts.all("plan", None)
        assert (plan.text, plan.state, plan.reason) == (
            "The wearer plans to call the plumber before noon.", "retired", "it was done",
        )  # fmt: skip
    with store.snapshot(NINE + 30 * US) as before:
        assert before.facts.all("plan")[0].support == 1


def test_a_continued_recording_takes_back_what_its_end_had_told(embed: Any) -> None:
    windows = [*stretch(NINE, 21, ("drink", "tea")), *stretch(NINE + 21 * 30 * US, 4, ("wash", "cup"))]
    for stop in (3, 20, 21, 22):
        with Store.open(None, space=SPACE) as whole, Store.open(None, space=SPACE) as parted:
            feed(whole, embed, windows)
            feed(parted, embed, windows[:stop])
            feed(parted, embed, windows[stop:])
            assert list(parted.dump()) == list(whole.dump()), stop
            assert parted.integrity() == []


def test_a_crowded_window_costs_a_bounded_number_of_edges(store: Store, embed: Any) -> None:
    crowd = replace(
        window(NINE), entities=tuple(Entity(f"thing {chr(97 + n % 26)}{n}", 1, (), "on table") for n in range(3000))
    )
    feed(store, embed, [crowd])
    with store.snapshot() as snapshot:
        assert snapshot.graph.count()[1] == graph.MOST_EDGES
