"""Wishes, learning, snoozes, the digest, repeats and talk: what the wearer's patience does to the arbiter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge.clock import US, ReplayClock
from edge.config import Alerts, Quiet
from edge.power import PowerState, Reading, announcements, step
from edge.proactive.alerts import PATIENCE, TABLE, alert
from edge.proactive.notifier import At, State, decide, ranked, repeat, restore
from edge.proactive.patience import NOWHERE, Around, Snooze, Wishes, wishes_of
from edge.proactive.patience_digest import digest
from edge.proactive.patience_learning import Leaning, leanings
from edge.proactive.screening import Proactive
from edge.proactive.why import why
from edge.wishing import Wishing, said_last
from storage import Store
from storage.patience import Feedback
from storage.records import Caption, Decision, Service, Window

T0 = 1_772_438_400 * US  # Monday 2 March 2026, 08:00 UTC
HOUR = 3600 * US
ROOT = Path(__file__).resolve().parents[3]


def asked(number: int, kind: str = "task_reminder", *, key: str = "", t: int = T0, text: str = "") -> Service:
    words = text or f"{kind} {number} about thing{number} and matter{number}"
    return Service(kind, t, 0, words, (), key or f"k{number}", t, id=number)


def at(seconds: float, wall: int | None = None) -> At:
    mono = T0 + round(seconds * US)
    return At(mono if wall is None else wall, mono, 0)


def told(kind: str, wishes: Wishes, around: Around = NOWHERE, *, text: str = "", key: str = "") -> str:
    decision, _ = decide(asked(1, kind, text=text, key=key), at(0), wishes, State(), around)
    return decision.reason if decision.decision != "deliver" else "deliver"


# --- snoozes ------------------------------------------------------------------------------------------------------


def snoozed(kind: Any, what: str) -> Wishes:
    return Wishes(snoozes=(Snooze(kind, what, T0 + HOUR),))


def test_a_snooze_holds_back_a_type_a_person_and_a_place_and_nothing_else() -> None:
    assert told("habit_coaching", snoozed("type", "habit_coaching")).startswith("snoozed: the type")
    assert told("task_reminder", snoozed("type", "habit_coaching")) == "deliver"
    call = "You wanted to call Anna."
    assert told("task_reminder", snoozed("person", "anna"), text=call) == "snoozed: the person anna"
    assert told("task_reminder", snoozed("person", "ben"), text=call) == "deliver"
    with_ben = Around(people=frozenset({"ben"}))
    assert told("task_reminder", snoozed("person", "ben"), with_ben, text=call).startswith("snoozed")
    assert told("task_reminder", snoozed("place", "kitchen"), Around(place="the big kitchen")).startswith("snoozed")
    assert told("task_reminder", snoozed("place", "kitchen"), Around(place="garden")) == "deliver"


def test_danger_is_never_snoozed_hushed_or_kept_for_the_battery() -> None:
    everything = Wishes(
        frequency="minimal",
        quiet=Quiet(start="00:00", end="23:59"),
        hush_mono=T0 + HOUR,
        snoozes=(Snooze("type", "safety", T0 + HOUR), Snooze("place", "kitchen", T0 + HOUR)),
        leaning={"safety": Leaning(4.0)},
    )
    here = Around("kitchen", frozenset(), "critical", 5, "an answer is being said")
    assert told("safety", everything, here) == "deliver"


def test_a_snooze_ends_by_itself_and_not_because_the_clock_was_set() -> None:
    wishes = snoozed("type", "task_reminder")
    for jump in (-HOUR, 3 * 365 * 24 * HOUR):
        inside, after = at(3599, wall=T0 + 3599 * US + jump), at(3601, wall=T0 + 3601 * US + jump)
        for moment, expected in ((inside, "suppress"), (after, "deliver")):
            decision, _ = decide(asked(1, t=moment.now), moment, wishes, State())
            assert decision.decision == expected


def test_wishes_outlast_a_kill(tmp_path: Path) -> None:
    """Muted, killed in the middle of nothing, started again: still muted, for the rest of the time."""
    path = tmp_path / "m.db"
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom edge.clock import SystemClock\n"
        "from edge.wishing import Wishing\nfrom storage import Store\n"
        f"store = Store.open(Path({str(path)!r}))\nw = Wishing(store, SystemClock())\n"
        "w.snooze('type', 'task_reminder', 3600.0)\nw.frequency('low')\nw.pause(True)\n"
        "print('muted', flush=True)\nsys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None and child.stdout.readline() == "muted\n"
        os.kill(child.pid, signal.SIGKILL)
    with Store.open(path) as store, store.snapshot() as snapshot:
        (wish,) = snapshot.patience.wishes("snooze")
        half = wish.t + HOUR // 2
        wishes = wishes_of(snapshot, Alerts(), half, 77 * HOUR)
        assert wishes.frequency == "low"
        assert wishes.snoozes == (Snooze("type", "task_reminder", 77 * HOUR + HOUR // 2),)
        assert wishes_of(snapshot, Alerts(), wish.t + HOUR, 0).snoozes == ()
        back = wishes_of(snapshot, Alerts(), wish.t - 5 * HOUR, 0)  # the clock was set back before the restart
        assert back.snoozes[0].until_mono <= HOUR, "never longer than it was asked for"
        pause = snapshot.patience.wish("pause")
        assert pause is not None and pause.value == "on"


# --- learning -----------------------------------------------------------------------------------------------------


def given_feedback(*kinds: str, every_us: int = HOUR) -> list[Feedback]:
    return [Feedback(T0 + n * every_us, n, k, type="task_reminder", key=f"k{n}") for n, k in enumerate(kinds)]  # type: ignore[arg-type]


def deliveries(leaning: float, kind: str = "task_reminder") -> int:
    """How many of one type come through in eight hours when one is asked for every minute."""
    state, count = State(), 0
    for n in range(480):
        moment = at(60 * n)
        wishes = Wishes(frequency="high", leaning={kind: Leaning(leaning)})
        decision, state = decide(asked(n, kind, t=moment.now), moment, wishes, state)
        count += decision.decision == "deliver"
    return count


def test_a_type_that_is_dismissed_gets_rarer_each_time_and_thanks_bring_it_back() -> None:
    counts = [deliveries(net) for net in (-1.0, 0.0, 1.0, 2.0, 3.0, 4.0)]
    assert counts == sorted(counts, reverse=True)
    assert counts[1] > counts[2] > counts[3] > counts[4] > 0
    now = T0 + 10 * HOUR
    assert leanings(given_feedback("dismissed", "dismissed", "thanked"), now)["task_reminder"].net < 1.1
    assert leanings(given_feedback("dismissed"), now)["task_reminder"].net > 0.9
    late = T0 + 60 * 24 * HOUR
    assert leanings(given_feedback("dismissed"), late)["task_reminder"].cooldown_s(240) == 240, "it fades"


def test_safety_never_falls_below_its_floor() -> None:
    plain = deliveries(0.0, "safety")
    assert deliveries(4.0, "safety") == plain > 100


@given(st.lists(st.sampled_from(["dismissed", "thanked"]), max_size=12), st.integers(0, 100 * 24))
def test_one_more_dismissal_never_makes_a_type_more_frequent(kinds: list[str], hours: int) -> None:
    now = T0 + (len(kinds) + 1 + hours) * HOUR
    before = leanings(given_feedback(*kinds), now).get("task_reminder", Leaning())
    after = leanings(given_feedback(*kinds, "dismissed"), now)["task_reminder"]
    assert after.cooldown_s(240) >= before.cooldown_s(240)
    assert after.priority(3) <= before.priority(3)


def test_a_thing_that_was_waved_away_is_left_alone_that_day() -> None:
    wishes = Wishes(frequency="high", waved={("task_reminder", "bins"): T0 + 12 * HOUR})
    assert told("task_reminder", wishes, key="bins").startswith("waved away")
    assert told("task_reminder", wishes, key="other") == "deliver"


# --- talk, the battery, repeats ---------------------------------------------------------------------------------


def test_nobody_is_talked_over_and_what_waited_is_said_afterwards() -> None:
    for busy in ("the wearer is talking", "an answer is being said"):
        decision, state = decide(asked(1), at(0), Alerts(), State(), Around(busy=busy))
        assert (decision.decision, decision.reason) == ("defer", f"busy: {busy}")
        decision, state = decide(state.pending[0], at(3), Alerts(), state)
        assert decision.decision == "deliver"


def test_a_low_battery_keeps_to_what_matters() -> None:
    low = Around(mode="saver", least=2)
    assert told("habit_coaching", Wishes(), low) == "battery: saver leaves out what matters less"
    assert told("task_reminder", Wishes(), low) == "deliver"
    critical = Around(mode="critical", least=4)
    assert told("task_reminder", Wishes(), critical).startswith("battery")
    own = replace(asked(1, "battery_10"), expert="device")
    assert decide(own, at(0), Wishes(), State(), critical)[0].decision == "deliver", "about the battery itself"


def test_a_critical_warning_nobody_can_have_heard_is_said_once_more() -> None:
    danger = asked(1, "safety")
    _, state = decide(danger, at(0), Alerts(), State())
    again = repeat(danger, at(5), state)
    assert again is not None and again.reason.startswith("repeat")
    assert repeat(danger, at(90), state) is None, "by then it is stale"
    with Store.open(None) as store:  # the second saying comes back as such, so that there is no third
        with store.transaction() as tx:
            number = tx.services.add(replace(danger, id=0))
            for t in (0, 5):
                tx.services.decide(Decision(number, T0 + t * US, "deliver", "clear"))
        with store.snapshot() as snapshot:
            assert repeat(replace(danger, id=number), at(6), restore(snapshot, at(6))) is None
    _, state = decide(asked(2), at(0), Alerts(), State())
    assert repeat(asked(2), at(1), state) is None, "what is not critical is shown, not repeated"


class Live(ReplayClock):
    """A clock the test sets, taken for the machine's own."""


def test_between_windows_a_repeat_and_what_waited_come_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edge.proactive.screening.ReplayClock", type("Other", (), {}))
    clock = Live(T0)
    with Store.open(None) as store:
        arbiter = Proactive(store, Alerts(), clock)
        (_, _, say) = arbiter.warn("blade", T0, "Careful: fingers near the blade.")
        assert arbiter.warn("blade", T0 + US, "Careful: fingers near the blade.") == [], "told, and still so"
        clock.set(T0 + 3 * US)
        arbiter.unheard(int(say.source[1:]))  # type: ignore[union-attr]
        assert [m.text for m in arbiter.tick() if hasattr(m, "text")] == ["Careful: fingers near the blade."]
        arbiter.unheard(int(say.source[1:]))  # type: ignore[union-attr]
        assert arbiter.tick() == []
        talking = ["the wearer is talking"]
        arbiter.busy = lambda: talking[0]
        waits = arbiter.announce("link_lost", "glasses", clock.now(), "I lost the glasses.")
        assert [m.decision.decision for m in waits if hasattr(m, "decision")] == ["defer"]
        assert arbiter.tick() == []
        talking[0] = ""
        clock.set(T0 + 9 * US)
        assert [m.text for m in arbiter.tick() if hasattr(m, "text")] == ["I lost the glasses."]
        with store.transaction() as tx:
            seen = Window("r", T0 - 9 * US, T0 + 20 * US, 0, captions=(Caption(T0, "a knife near a finger"),))
            tx.trace.add(seen, np.zeros(store.space.dim, np.float32))
        with store.snapshot() as snapshot:
            assert said_last(snapshot, clock.now()) == 2
            told = why(snapshot, 1)
            assert [g.text for g in told.grounds] == ["a knife near a finger"], "the window the frame went into"
            assert any("it could not be heard the first time" in line for line in told.lines())


# --- the digest ---------------------------------------------------------------------------------------------------


def test_what_had_to_wait_too_long_is_told_in_one_sentence_at_a_break() -> None:
    quiet = Alerts(quiet=Quiet(start="07:00", end="08:30"))
    state = State()
    for n, text in enumerate(("You wanted to call Anna.", "You wanted to water the plants.", "Next: stir."), 1):
        kind = "next_step_guidance" if text.startswith("Next") else "task_reminder"
        _, state = decide(asked(n, kind, text=text), at(0), quiet, state)
    assert [s.id for s in state.shelf] == [1, 2], "a step that is over is of no use later"
    made = digest(state.shelf, T0 + HOUR, 0)
    assert made is not None
    assert made.text == "Held back: You wanted to call Anna, and 1 more."
    assert made.evidence == ("a1", "a2")
    decision, after = decide(replace(made, id=9), at(3600), quiet, state)
    assert decision.decision == "deliver" and after.shelf == ()
    assert digest(state.shelf, T0 + 5 * HOUR, 0) is None, "after four hours nobody wants to know"


def test_what_was_told_after_all_leaves_the_shelf() -> None:
    quiet = Alerts(quiet=Quiet(start="07:00", end="08:10"))
    _, state = decide(asked(1, key="anna"), at(0), quiet, State())
    assert len(state.shelf) == 1
    _, state = decide(asked(2, key="anna", t=T0 + 900 * US), at(900), quiet, state)
    assert state.shelf == ()


def test_the_shelf_comes_back_from_what_was_stored() -> None:
    quiet = Alerts(quiet=Quiet(start="07:00", end="08:30"))
    state = State()
    with Store.open(None) as store:
        for n in range(3):
            with store.transaction() as tx:
                service = replace(asked(0, text=f"You wanted to see friend{n} about matter{n}.", key=f"k{n}"))
                service = replace(service, id=tx.services.add(service))
                decision, state = decide(service, at(n), quiet, state)
                tx.services.decide(decision)
        with store.snapshot() as snapshot:
            assert restore(snapshot, at(3)).shelf == state.shelf != ()


# --- the battery, end to end ------------------------------------------------------------------------------------


def test_a_noisy_slide_from_21_to_4_percent_is_told_three_times() -> None:
    import random

    for seed in range(20):
        rng, power, state, said, number = random.Random(seed), PowerState(), State(), [], 0
        for n in range(17 * 20):  # a percent in ten minutes, a report every half minute
            moment = at(30 * n)
            level = max(0.0, 21 - n / 20 + rng.uniform(-3, 3))
            before, power = power, step(power, Reading(battery=level), moment.mono)
            fresh = []
            for kind, key, _ in announcements(before, power):
                number += 1
                fresh.append(replace(asked(number, kind, key=key, t=moment.now, text=kind), expert="device"))
            for each in ranked([*state.pending, *fresh]):
                decision, state = decide(
                    each, moment, Alerts(), state, Around(power.mode, least=power.row.min_priority)
                )
                said += [each.type] if decision.decision == "deliver" else []
        assert said in (["battery_20", "battery_10", "battery_5"], ["battery_20", "battery_10"]), seed
        assert power.battery is not None and (power.battery > 5 or said[-1] == "battery_5")


def test_a_flapping_charger_does_not_begin_a_new_discharge() -> None:
    power, crossed = PowerState(), []
    for n in range(400):
        power = step(power, Reading(battery=19.0, charging=bool(n // 3 % 2)), n * 10 * US)
        crossed += power.warn
    assert crossed == [20]


# --- feedback through the memory --------------------------------------------------------------------------------


def test_feedback_is_about_what_was_said_last_and_reaches_the_arbiter() -> None:
    clock = ReplayClock(T0)
    with Store.open(None) as store:
        with store.transaction() as tx:
            number = tx.services.add(replace(asked(0, key="bins"), known=T0))
            tx.services.decide(Decision(number, T0, "deliver", "clear"))
        clock.set(T0 + 5 * US)
        wishing = Wishing(store, clock)
        assert wishing.feedback("dismissed", "voice") == {"id": f"a{number}", "feedback": "dismissed"}
        with store.snapshot() as snapshot:
            wishes = wishes_of(snapshot, Alerts(), clock.now(), clock.mono())
        assert wishes.leaning["task_reminder"].net == pytest.approx(1.0)
        assert ("task_reminder", "bins") in wishes.waved


# --- every rule for random streams, with every wish ------------------------------------------------------------


KINDS = [row.type for row in TABLE]
some = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(KINDS),
        "key": st.sampled_from("abcd"),
        "words": st.integers(0, 9),
        "age_s": st.integers(0, 500),
    }
)
ticks = st.lists(
    st.tuples(st.sampled_from([2, 20, 70, 400, 4000, 40_000]), st.lists(some, max_size=4), st.booleans()), max_size=30
)


@settings(max_examples=120, deadline=None)
@given(
    ticks,
    st.sampled_from(["minimal", "low", "normal", "high"]),
    st.lists(st.sampled_from(KINDS), max_size=2),
    st.dictionaries(st.sampled_from(KINDS), st.floats(-1, 4), max_size=3),
    st.sampled_from([0, 2, 4]),
    st.integers(0, 20_000),
)
def test_wishes_hold_for_any_stream(
    stream: list[Any], frequency: Any, asleep: list[str], leaning: dict[str, float], least: int, hush_s: int
) -> None:
    wishes = Wishes(
        frequency=frequency,
        hush_mono=T0 + hush_s * US,
        snoozes=tuple(Snooze("type", kind, T0 + 10 * HOUR) for kind in asleep),
        leaning={kind: Leaning(net) for kind, net in leaning.items()},
    )
    state, seconds, number = State(), 0, 0
    said: list[tuple[Service, At]] = []
    for wait, wanted, talking in stream:
        seconds += wait
        moment = at(seconds)
        around = Around(mode="saver", least=least, busy="the wearer is talking" if talking else "")
        fresh = []
        for a in wanted:
            number += 1
            text = f"word{a['words']} other{a['words']} thing{number}"
            fresh.append(asked(number, a["kind"], key=a["key"], t=moment.now - a["age_s"] * US, text=text))
        for each in ranked([*state.pending, *fresh]):
            decision, state = decide(each, moment, wishes, state, around)
            if decision.decision != "deliver":
                continue
            row = alert(each.type)
            said.append((each, moment))
            if row.critical:
                continue
            assert not talking
            assert each.type not in asleep or moment.mono >= T0 + 10 * HOUR
            assert moment.mono >= T0 + hush_s * US
            assert row.priority >= max(least, PATIENCE[frequency].min_priority)
    for n, (service, moment) in enumerate(said):
        row = alert(service.type)
        earlier = [m for s, m in said[:n] if s.type == service.type]
        if earlier and not row.critical:
            wanted_s = Leaning(leaning.get(service.type, 0.0)).cooldown_s(row.cooldown_s)
            assert moment.mono - earlier[-1].mono >= round(wanted_s * US)
