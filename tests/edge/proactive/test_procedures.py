"""Procedures: loading, matching, differences, following; their services have caps of their own and survive a kill."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from edge.clock import US, ReplayClock
from edge.config import Alerts, Config, Memory, Quiet
from edge.errors import InputError, MissingFile
from edge.memory.growth import Growth
from edge.messages import ServiceDecided
from edge.proactive.alerts import PROCEDURE_SPANS, alert
from edge.proactive.evaluate import cut, evaluate
from edge.proactive.notifier import At, State, decide
from edge.proactive.procedures import KnownError, difference, load, make, sort_of
from edge.proactive.screening import Proactive
from edge.proactive.wording import as_step, departs, idle
from edge.recorder import to_line
from models.backends.fake import HashEmbedding
from storage import Store
from storage.records import Caption, Event, Service, Utterance, Window

T0 = 1_772_438_400 * US
EMBED = HashEmbedding().embed
TEA = make(
    "Tea",
    ["Boil 500 ml of water", "Put 2 teaspoons of leaves into the pot", "Pour the water into the pot", "Wait 3 minutes", "Serve the tea"],
    [
        ("Boil 500 ml of water", "Pour the water into the pot"),
        ("Put 2 teaspoons of leaves into the pot", "Pour the water into the pot"),
        ("Pour the water into the pot", "Wait 3 minutes"),
        ("Wait 3 minutes", "Serve the tea"),
    ],
)  # fmt: skip
NONE = frozenset()


def test_order_is_closed_and_the_next_steps_follow_from_it():
    assert TEA.needs[4] == {0, 1, 2, 3}
    assert TEA.open_after(NONE) == [0, 1]
    assert TEA.open_after(frozenset({0})) == [1]
    assert TEA.open_after(frozenset({0, 1})) == [2]
    assert make("x", ["a", "b"]).direct == (frozenset(), frozenset({0}))


def test_a_circle_is_broken_where_it_would_close():
    assert make("x", ["a", "b"], [("a", "b"), ("b", "a")]).open_after(NONE) == [0]


def test_matching_takes_the_step_that_is_still_to_do():
    assert TEA.match("pour hot water into the pot", NONE)[0] == 2
    assert TEA.match("Serve the tea", NONE) == (4, 1.0)
    assert TEA.match("answer the phone", NONE) is None
    twice = make("x", ["Stir the pot", "Add salt to the pot", "Stir the pot again"])
    assert twice.match("stir the pot", NONE)[0] == 0
    assert twice.match("stir the pot", frozenset({0, 1}))[0] == 2


@pytest.mark.parametrize(
    ("asked", "done", "differs"),
    [
        ("Add 2 cups of flour", "add 2 cups of flour", False),
        ("Add 2 cups of flour", "Add 3 cups of flour", True),
        ("Add 2 cups of flour", "add flour", False),
        ("Add 1 tbsp of salt", "Add 1 tsp of salt", True),
        ("Heat the pan on medium heat", "Heat the pan on high heat", True),
        ("Add milk to the bowl", "Add water to the bowl", True),
        ("Peel one onion", "Do not peel one onion", True),
        ("Stir gently", "Stir", False),
        ("Whisk the eggs", "whisks the egg", False),
    ],
)
def test_what_counts_as_a_difference(asked, done, differs):
    assert bool(difference(asked, done)) is differs


def test_files_are_checked(tmp_path):
    path = tmp_path / "p.json"
    with pytest.raises(MissingFile):
        load(path)
    with pytest.raises(InputError, match="Is a directory"):
        load(tmp_path)
    path.write_text(json.dumps({"Tea": {"steps": list(TEA.steps)}}), encoding="utf-8-sig")
    assert load(path)["Tea"].steps == TEA.steps


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"{", "JSON"),
        (b"", "JSON"),
        (b"{}", "no procedure"),
        (b"\xff\xfe{", "UTF-8"),
        (b'{"a": ' * 9000, "JSON"),
        (b'{"a": {"steps": "x"}}', "a > steps: "),
        (b'{"a": {"step": []}}', "a > steps: "),
        (b'{"a": {"steps": []}}', "a > steps: "),
        (b'{"a": {"steps": ["x", " "]}}', "a > steps > 1: "),
        (b'{"a": {"steps": ["x"], "before": [["x", "y"]]}}', "does not list: 'y'"),
        (b'{"a": {"steps": ["x"], "errors": [{"step": "y", "error": "z"}]}}', "does not list: 'y'"),
        (b'{"a": {"steps": ["x"], "errors": [{"step": "x"}]}}', "a > errors > 0 > error: "),
    ],
)
def test_a_bad_file_is_told_with_the_place(text, told, tmp_path):
    path = tmp_path / "p.json"
    path.write_bytes(text)
    with pytest.raises(InputError) as error:
        load(path)
    assert told in str(error.value)


COFFEE = KnownError(TEA.steps[1], "Put ground coffee into the pot", "empty the pot")


@pytest.mark.parametrize(
    ("done", "is_error"),
    [
        ("puts ground coffee into the pot", True),
        ("Put 2 teaspoons of leaves into the pot", False),
        ("Put 4 teaspoons of leaves into the pot", False),
        ("put the coffee on the table", False),
        ("Pour the water into the pot", False),
    ],
)
def test_a_known_error_is_told_from_the_step(done, is_error):
    known = make("Tea", TEA.steps, errors=(COFFEE,)).known_error(done, NONE)
    assert known == ((1, COFFEE) if is_error else None)


def doing(second, text):
    return T0 + second * US, text


def windows(doings, length=10, count=None):
    last = max(t for t, _ in doings)
    count = count or (last - T0) // (length * US) + 6
    made = []
    for n in range(count):
        start, end = T0 + n * length * US, T0 + (n + 1) * length * US
        captions = tuple(Caption(t, x) for t, x in doings if start <= t < end)
        made.append(Window("r", start, end, 0, captions, "; ".join(c.text for c in captions)))
    return made


def run(made, store=None, alerts=None, kills=(), tea=TEA):
    store = store or Store.open(None)
    out, session = [], None
    for n, window in enumerate(made):
        if session is None or n in kills:
            clock, growth = ReplayClock(), Growth(store, EMBED, Memory())
            session = Proactive(store, alerts or Alerts(), clock, procedures={"Tea": tea})
            out += session.catch_up()
        out += session.step(growth.idle(window.t_start))
        grown = growth.step(window)
        clock.set(window.t_end, 0)
        if n + 1 in kills:
            continue  # killed between growth and screening
        out += session.step(grown)
    out += session.step(growth.end())
    return store, [(m.service, m.decision) for m in out if isinstance(m, ServiceDecided)]


MORNING = [
    doing(2, "begins making: Tea"),
    doing(5, "Boil 500 ml of water"),
    doing(25, "finished: Boil 500 ml of water"),
    doing(31, "Put 4 teaspoons of leaves into the pot"),
    doing(45, "finished: Put 4 teaspoons of leaves into the pot"),
    doing(52, "Pour the water into the pot"),
    doing(60, "finished: Pour the water into the pot"),
    doing(75, "Serve the tea"),
]


def test_a_procedure_is_followed_to_its_end():
    _, decided = run(windows(MORNING))
    said = [(s.type, s.text) for s, d in decided if d.decision == "deliver"]
    assert ("error_recovery", "4 teaspoons: it says 2 teaspoons.") in said
    assert ("error_recovery", "Not yet: first wait 3 minutes.") in said
    assert ("task_reminder", "You passed over: wait 3 minutes.") in said
    assert [text for kind, text in said if kind == "next_step_guidance"] == [
        "Next: put 2 teaspoons of leaves into the pot.", "Next: pour the water into the pot.", "Next: wait 3 minutes."
    ]  # fmt: skip


def test_the_same_error_of_another_day_is_recalled_at_its_step():
    first = windows(MORNING)
    store, decided = run(first)
    assert not any(s.type == "memory_recall" for s, _ in decided)
    days = 3 * 86_400 * US
    again = [
        replace(w, recording="next", t_start=w.t_start + days, t_end=w.t_end + days,
                captions=tuple(replace(c, t=c.t + days) for c in w.captions))
        for w in first
    ]  # fmt: skip
    _, decided = run(again, store)
    recalled = [s for s, _ in decided if s.type == "memory_recall"]
    assert recalled[0].text == "Last time here: 4 teaspoons: it says 2 teaspoons."
    assert recalled[0].evidence[0].startswith("a")


def test_an_error_that_came_with_the_procedure_is_said_with_its_remedy_and_recalled_later():
    tea = make("Tea", TEA.steps, errors=(COFFEE,))
    wrong = [(t, text.replace("4 teaspoons of leaves", "ground coffee")) for t, text in MORNING]
    store, decided = run(windows(wrong), tea=tea)
    said = [s.text for s, _ in decided if s.type == "error_recovery"]
    assert "Put ground coffee into the pot: empty the pot." in said
    days = 86_400 * US
    again = [
        replace(w, recording="next", t_start=w.t_start + days, t_end=w.t_end + days,
                captions=tuple(replace(c, t=c.t + days) for c in w.captions))
        for w in windows([(t, text.replace("4 tea", "2 tea")) for t, text in MORNING])
    ]  # fmt: skip
    _, decided = run(again, store, tea=tea)
    assert "Last time here: put ground coffee into the pot." in [
        s.text for s, _ in decided if s.type == "memory_recall"
    ]


@pytest.mark.parametrize(
    ("step", "sort"),
    [
        ("Add 1/4 tsp salt to the pan", "addition"),
        ("Measure and add 2 tsp of oil", "addition"),
        ("Slowly sprinkle the cheese over it", "addition"),
        ("Once the plate is clean, apply the label", "addition"),
        ("Tighten the four screws", "addition"),
        ("Mince the garlic", "preparation"),
        ("Carefully measure the length of the board", "preparation"),
        ("Microwave for 3 minutes", "process"),
        ("Wait for the paint to dry", "other"),
    ],
)
def test_steps_that_are_forgotten_are_told_from_those_that_come_late(step, sort):
    assert sort_of(step) == sort


SALAD = make(
    "Salad",
    ["Chop the cucumber", "Add salt to the bowl", "Mix the contents of the bowl", "Serve the salad"],
    [("Chop the cucumber", "Mix the contents of the bowl"), ("Add salt to the bowl", "Mix the contents of the bowl"),
     ("Mix the contents of the bowl", "Serve the salad")],
)  # fmt: skip


@pytest.mark.parametrize(
    ("done", "passed_over"),
    [("Chop the cucumber", ["You passed over: add salt to the bowl."]), ("Add salt to the bowl", [])],
)
def test_what_is_made_ready_when_needed_is_not_called_passed_over(done, passed_over):
    course = [doing(2, "begins making: Tea"), doing(8, done), doing(30, "Mix the contents of the bowl")]
    _, decided = run(windows(course), tea=replace(SALAD, name="Tea"))
    assert [s.text for s, d in decided if s.type == "task_reminder"] == passed_over


def test_two_steps_that_end_together_get_one_word_about_what_is_next():
    course = [
        doing(2, "begins making: Tea"),
        doing(5, "Boil 500 ml of water"),
        doing(14, "Put 2 teaspoons of leaves into the pot"),
        doing(25, "finished: Put 2 teaspoons of leaves into the pot"),
        doing(45, "finished: Boil 500 ml of water"),
    ]
    _, decided = run(windows(course))
    assert [s.text for s, _ in decided if s.type == "next_step_guidance"] == ["Next: pour the water into the pot."]
    begun_between = [*course[:4], doing(30, "Pour the water into the pot"), course[4]]
    _, decided = run(windows(begun_between))
    assert len([s for s, _ in decided if s.type == "next_step_guidance"]) == 2


def test_which_procedure_is_under_way_shows_after_two_steps():
    made = windows([(t, x) for t, x in MORNING if not x.startswith("begins")])
    _, decided = run(made)
    assert any(s.type == "next_step_guidance" for s, _ in decided)


def test_a_kill_changes_nothing_of_what_is_said():
    made = windows(MORNING)
    undisturbed = list(run(made)[0].dump())
    rng = random.Random(1)
    for _ in range(4):
        kills = set(rng.sample(range(1, len(made)), 4))
        assert list(run(made, kills=kills)[0].dump()) == undisturbed


def test_caps_of_their_own_but_the_wearers_settings_bind():
    state, told = State(), []
    for n in range(400):
        at = At(T0 + n * 3 * US, T0 + n * 3 * US, 0)
        kind = ("next_step_guidance", "error_recovery", "memory_recall")[n % 3]
        made = Service(kind, at.now, 0, f"word{n} thing{n}", (), f"k{n}", at.now, "R", id=n + 1)
        decision, state = decide(made, at, Alerts(), state)
        if decision.decision == "deliver":
            told.append((at.mono, kind))
    assert len(told) > 60, "far more than a day's budget"
    for seconds, count in PROCEDURE_SPANS:
        for i in range(count, len(told)):
            assert told[i][0] - told[i - count][0] >= seconds * US
    for kind in ("next_step_guidance", "error_recovery"):
        times = [t for t, k in told if k == kind]
        assert all(b - a >= alert(kind).step_s * US for a, b in zip(times, times[1:], strict=False))
    quiet = Alerts(quiet=Quiet(start="00:00", end="23:59"))
    at = At(T0, T0, 0)
    made = Service("error_recovery", T0, 0, "x", (), "k", T0, "R", id=1)
    assert decide(made, at, quiet, State())[0].decision == "suppress"
    step = Service("next_step_guidance", T0, 0, "x", (), "k", T0, "R", id=1)
    assert decide(step, at, Alerts(frequency="minimal"), State())[0].decision == "suppress"
    daily = Service("resource_reminder", T0, 0, "y", (), "k", T0, "A", id=9)
    assert decide(daily, At(T0 + 1200 * US, T0 + 1200 * US, 0), Alerts(), state)[0].decision in ("deliver", "suppress")
    assert not [t for t in state.told if not t.step], "and they spend nothing of the day's budget"


def test_evaluation_cuts_windows_and_leaves_out_a_speaker(tmp_path):
    start, end = T0, T0 + 30 * US
    window = Window(
        "r", start, end, 0,
        (Caption(T0 + US, "opens the tap"), Caption(T0 + 25 * US, "closes the tap")), "tap",
        events=(Event(T0 + 25 * US, "wearer", "close", "tap"),),
        speech=(Utterance(T0 + 2 * US, "instructor", "I have to call my sister."), Utterance(end, "wearer", "Good.")),
    )  # fmt: skip
    parts = list(cut(window, 10, 5.0))
    assert [(p.t_start, p.t_end) for p in parts] == [(T0 + n * 10 * US, T0 + (n + 1) * 10 * US) for n in range(3)]
    assert [len(p.captions) for p in parts] == [1, 0, 1]
    assert [len(p.speech) for p in parts] == [1, 0, 1], "what is said at the very end stays in the last part"
    assert list(cut(window, None, 5.0)) == [window]
    trace = tmp_path / "t.jsonl"
    trace.write_text("".join(json.dumps(to_line(w, 5.0)) + "\n" for w in windows(MORNING)))
    judged = evaluate(trace, Store.open(None), EMBED, Config(), window_s=10, procedures={"Tea": TEA}, drop_speaker="x")
    assert judged.hours == pytest.approx(len(windows(MORNING)) * 10 / 3600)
    assert {"error_recovery", "next_step_guidance"} <= {r["type"] for r in judged.rows}
    assert all(r["t"] <= r["t_delivered"] and r["decision"] in ("deliver", "defer", "suppress") for r in judged.rows)


@pytest.mark.parametrize(
    ("asked", "seen", "departs_in"),
    [
        ("Break 2 eggs into a bowl", "The person is cracking two eggs into a glass bowl.", ()),
        ("Add 200 ml of milk", "C pours 200 milliliters of milk into the bowl.", ()),
        ("Flip the pancake", "The person flips the pancake with a spatula.", ()),
        ("Fill up with soil", "The person fills up the pot with soil.", ()),
        ("Break 2 eggs into a bowl", "The person breaks three eggs into the bowl.", ("3",)),
        ("Add 100 g of flour", "A hand adds one hundred grams of sugar to the bowl.", ("sugar",)),
        ("Fill the pot halfway with soil", "The person is filling the pot with sand.", ("sand",)),
        ("Break 2 eggs", "The person breaks 2 eggs with pieces of shell.", ("with", "pieces", "of")),
    ],
)
def test_a_description_departs_from_a_step_by_what_it_cannot_say_by_chance(asked, seen, departs_in):
    text, described = as_step(seen)
    assert described
    assert departs(asked, text)[1] == departs_in


def test_an_instruction_stays_as_it_is_and_who_looks_on_does_nothing():
    assert as_step("Add two spoons of tea.") == ("Add two spoons of tea", False)
    assert idle(as_step("The person is standing next to the bed.")[0])
    assert not idle(as_step("A hand is pulling on a glove.")[0])
