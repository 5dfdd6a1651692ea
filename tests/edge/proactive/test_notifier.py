"""The arbiter: each rule by itself, and all of them for random streams."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge.clock import US, local, local_day
from edge.config import Alerts, Quiet
from edge.proactive.alerts import PATIENCE, TABLE, alert
from edge.proactive.notifier import At, State, decide, pruned, ranked, restore
from edge.proactive.quiet import quiet_now
from storage import Store
from storage.records import Service

T0 = 1_772_438_400 * US  # Monday 2 March 2026, 08:00 UTC
HOUR = 3600 * US
NORMAL = Alerts()
HIGH = Alerts(frequency="high")


def service(number, kind="task_reminder", key="", t=T0, text=""):
    words = text or f"{kind} {number} about thing{number} and matter{number}"
    return Service(kind, t, 0, words, (), key or f"k{number}", t, id=number)


def at(seconds, wall=None, offset_s=0):
    mono = T0 + round(seconds * US)
    return At(mono if wall is None else wall, mono, offset_s)


def told(state):
    return [t.service_id for t in state.told]


def ask(state, number, seconds, kind="task_reminder", alerts=NORMAL, **more):
    moment = at(seconds)
    more.setdefault("t", moment.now)
    decision, state = decide(service(number, kind, **more), moment, alerts, state)
    return decision, state


# --- one rule at a time ------------------------------------------------------------------------------------------------


def test_delivered_when_nothing_stands_against_it():
    decision, state = ask(State(), 1, 0)
    assert decision.decision == "deliver"
    assert told(state) == [1]


def test_two_of_one_type_within_a_minute_are_one():
    _, state = ask(State(), 1, 0, "resource_reminder")
    decision, state = ask(state, 2, 40, "resource_reminder")
    assert (decision.decision, decision.reason.split(":")[0]) == ("suppress", "merged")
    assert told(state) == [1]


def test_a_suppressed_one_does_not_spend_the_cooldown():
    night = Alerts(quiet=Quiet(start="07:00", end="08:10"))
    decision, state = ask(State(), 1, 0, "resource_reminder", night)
    assert decision.decision == "suppress" and decision.reason.startswith("quiet hours")
    decision, state = ask(state, 2, 601, "resource_reminder", night)
    assert decision.decision == "deliver"


def test_the_same_thing_is_not_told_again_while_it_holds():
    state = State()
    decision, state = ask(state, 1, 0, "link_lost", key="glasses")
    assert decision.decision == "deliver"
    for n in range(20):  # the link flaps for five minutes
        decision, state = ask(state, 2 + n, 15 * (n + 1), "link_lost", key="glasses")
        assert decision.decision == "suppress"
    decision, state = ask(state, 30, 300 + 599, "link_lost", key="glasses")
    assert decision.reason.startswith("same")
    decision, state = ask(state, 31, 300 + 599 + 3600, "link_lost", key="glasses")
    assert decision.decision == "deliver", "it came back, and was lost again"


def test_a_thing_that_was_held_back_is_told_when_it_can_be():
    quiet = Alerts(quiet=Quiet(start="08:00", end="08:05"))
    decision, state = ask(State(), 1, 0, "link_lost", quiet, key="glasses")
    assert decision.decision == "suppress"
    decision, _ = ask(state, 2, 400, "link_lost", quiet, key="glasses")
    assert decision.decision == "deliver", "still lost, and never told"


def test_stale_is_dropped_and_the_edge_is_exact():
    limit = alert("task_reminder").staleness_s
    decision, _ = ask(State(), 1, 0, t=T0 - limit * US)
    assert decision.decision == "deliver"
    decision, _ = ask(State(), 1, 0, t=T0 - limit * US - 1)
    assert decision.reason.startswith("stale")


def test_a_stall_of_ten_seconds_with_eight_waiting_tells_the_highest_first():
    kinds = ["next_step_guidance", "task_reminder", "habit_coaching", "safety", "memory_recall", "tool_use",
             "resource_reminder", "error_recovery"]  # fmt: skip
    queue = [service(n, kind, t=T0 - 10 * US + n) for n, kind in enumerate(kinds, 1)]
    order = [s.type for s in ranked(queue)]
    assert order[0] == "safety"
    assert [alert(k).priority for k in order] == sorted((alert(k).priority for k in kinds), reverse=True)
    state = State()
    for each in ranked(queue):
        _, state = decide(each, at(0), NORMAL, state)
    assert [t.type for t in state.told][:2] == ["safety", "resource_reminder"]
    assert sum(not alert(t.type).critical for t in state.told) == 1, "the rest waits or is dropped, never all at once"


def test_the_same_words_are_not_said_twice():
    _, state = ask(State(), 1, 0, "resource_reminder", text="The fridge is still open.")
    decision, _ = ask(state, 2, 400, "memory_recall", text="The fridge is still open!")
    assert decision.reason == "alike: a1 said so"


def test_what_waits_is_told_later_and_only_once():
    _, state = ask(State(), 1, 0, "resource_reminder")
    decision, state = ask(state, 2, 30)
    assert (decision.decision, decision.reason.split(":")[0]) == ("defer", "pause")
    waiting = state.pending[0]
    decision, state = decide(waiting, at(60), NORMAL, state)
    assert decision.decision == "defer" and len(state.pending) == 1
    decision, state = decide(waiting, at(91), NORMAL, state)
    assert decision.decision == "deliver" and state.pending == ()


def test_a_clock_that_jumps_changes_no_cooldown():
    for jump in (-HOUR, 3 * 365 * 24 * HOUR):
        _, state = ask(State(), 1, 0, "resource_reminder")
        moment = at(100, wall=T0 + 100 * US + jump)
        decision, _ = decide(service(2, "resource_reminder", t=moment.now), moment, NORMAL, state)
        assert decision.reason.startswith("cooldown")
        moment = at(301, wall=T0 + 301 * US + jump)
        decision, _ = decide(service(3, "resource_reminder", t=moment.now), moment, NORMAL, state)
        assert decision.decision == "deliver"


def test_critical_passes_quiet_hours_frequency_and_budget():
    quiet = Alerts(frequency="minimal", quiet=Quiet(start="00:00", end="23:59"))
    state = State()
    for n in range(12):
        decision, state = ask(state, n + 1, n, "safety", quiet, key=f"danger{n}")
        assert decision.decision == "deliver"
    decision, _ = ask(state, 50, 13, "safety", quiet, key="danger11")
    assert decision.reason.startswith("same"), "but one danger is one warning"


def test_once_a_local_day_also_across_midnight():
    state = State()
    evening = T0 + 15 * HOUR  # 23:00 UTC, 00:00 at +1 h
    for offset, expected in ((0, ["deliver", "suppress", "deliver"]), (3600, ["deliver", "suppress", "suppress"])):
        state, got = State(), []
        for n, t in enumerate((evening + US, evening + HOUR // 2, evening + 2 * HOUR)):
            moment = At(t, t, offset)
            decision, state = decide(service(n + 1, "habit_coaching", "water", t=t), moment, HIGH, state)
            state = replace(state, held={})  # the rule of the day alone
            got.append(decision.decision)
        assert got == expected


# --- quiet hours -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clock", "offset_h", "quiet"),
    [
        ("2026-03-06T21:59", 0, False),  # Friday
        ("2026-03-06T22:00", 0, True),
        ("2026-03-07T06:59", 0, True),  # Saturday morning belongs to Friday
        ("2026-03-07T07:00", 0, False),
        ("2026-03-07T23:00", 0, False),  # Saturday is not named
        ("2026-03-08T03:00", 0, False),
        ("2026-03-06T23:00", -2, False),  # 21:00 where the wearer is
        ("2026-03-06T20:00", 2, True),
    ],
)
def test_quiet_hours_by_weekday_across_midnight(clock, offset_h, quiet):
    settings_ = Quiet(start="22:00", end="07:00", weekdays="mon tue wed thu fri")
    t = round((_utc(clock)) * US)
    assert quiet_now(settings_, t, offset_h * 3600).quiet is quiet


def test_quiet_hours_follow_a_change_of_the_clock():
    settings_ = Quiet(start="22:00", end="07:00")
    before = round(_utc("2026-03-29T00:30") * US)  # 01:30 +01:00
    after = round(_utc("2026-03-29T04:59") * US)  # 06:59 +02:00
    done = round(_utc("2026-03-29T05:00") * US)
    assert quiet_now(settings_, before, 3600).quiet
    assert quiet_now(settings_, after, 7200).quiet
    assert not quiet_now(settings_, done, 7200).quiet


def test_no_quiet_hours_unless_both_ends_are_named():
    assert not quiet_now(Quiet(start="22:00"), T0, 0).quiet
    assert not quiet_now(Quiet(), T0, 0).quiet


def _utc(clock):
    from datetime import datetime, timezone

    return datetime.fromisoformat(clock).replace(tzinfo=timezone.utc).timestamp()


# --- random streams ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Done:
    """A decision with everything it was made from."""

    service: Service
    at: At
    decision: str
    reason: str


TYPES = [row.type for row in TABLE]
asking = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(TYPES),
        "key": st.sampled_from(["a", "b", "c", "d"]),
        "words": st.integers(0, 12),
        "age_s": st.integers(0, 700),
    }
)
tick = st.tuples(st.sampled_from([1, 5, 30, 61, 200, 900, 4000, 30_000]), st.lists(asking, max_size=5))
quiets = st.sampled_from(
    [Quiet(), Quiet(start="22:00", end="07:00"), Quiet(start="09:00", end="17:30", weekdays="mon wed fri"),
     Quiet(start="00:00", end="00:00", weekdays="sun tue")]
)  # fmt: skip
patience = st.builds(Alerts, frequency=st.sampled_from(["minimal", "low", "normal", "high"]), quiet=quiets)


def run(ticks, alerts, offset_s=3600, jumps=()):
    """A stream through the arbiter as screening does it; every decision, and the state at the end."""
    state, seconds, number, log, wall = State(), 0, 0, [], 0
    for n, (wait, asked) in enumerate(ticks):
        seconds += wait
        wall += jumps[n % len(jumps)] if jumps else 0
        moment = At(T0 + (seconds + wall) * US, T0 + seconds * US, offset_s)
        fresh = []
        for a in asked:
            number += 1
            t = moment.now - a["age_s"] * US
            fresh.append(
                service(number, a["kind"], a["key"], t, f"word{a['words']} other{a['words']} thing{number % 7}")
            )
        for each in ranked([*state.pending, *fresh]):
            decision, state = decide(each, moment, alerts, state)
            log.append(Done(each, moment, decision.decision, decision.reason))
    return log, state


@settings(max_examples=150, deadline=None)
@given(
    st.lists(tick, max_size=40),
    patience,
    st.sampled_from([-18_000, 0, 3600]),
    st.sampled_from([(), (0, -3600, 90_000)]),
)
def test_the_rules_hold_for_any_stream(ticks, alerts, offset_s, jumps):
    log, _ = run(ticks, alerts, offset_s, jumps)
    said = [d for d in log if d.decision == "deliver"]
    limits = PATIENCE[alerts.frequency]
    assert len({d.service.id for d in said}) == len(said), "nothing is said twice"
    for n, d in enumerate(said):
        row = alert(d.service.type)
        assert d.at.now - d.service.t <= row.staleness_s * US
        for before in said[:n]:
            if before.service.type != row.type:
                continue
            if not row.critical or before.service.key == d.service.key:
                assert d.at.mono - before.at.mono >= row.cooldown_s * US
            if row.once_a_day and before.service.key == d.service.key:
                days = {local_day(x.at.now, offset_s) for x in (before, d)}
                assert len(days) == 2
        if not row.critical:
            assert row.priority >= limits.min_priority
            assert not _quiet(alerts.quiet, d.at.now, offset_s)
    budgeted = [d for d in said if alert(d.service.type).budgeted]
    for seconds, count in limits.spans:
        for n in range(count, len(budgeted)):
            assert budgeted[n].at.mono - budgeted[n - count].at.mono >= seconds * US
    for one, two in itertools.pairwise(budgeted):
        assert two.at.mono - one.at.mono >= limits.gap_s * US
    for day in {local_day(d.at.now, offset_s) for d in budgeted}:
        assert sum(local_day(d.at.now, offset_s) == day for d in budgeted) <= limits.daily


@settings(max_examples=60, deadline=None)
@given(st.lists(tick, max_size=30), patience)
def test_nothing_lower_goes_before_something_higher_that_had_to_wait_for_it(ticks, alerts):
    log, _ = run(ticks, alerts)
    for moment in {d.at for d in log}:
        here = [d for d in log if d.at == moment]
        for d in here:
            if d.reason.split(":")[0] in ("pause", "budget", "daily cap"):
                told = [alert(x.service.type) for x in here if x.decision == "deliver"]
                lower = [row for row in told if row.budgeted]
                assert all(row.priority >= alert(d.service.type).priority for row in lower)


@settings(max_examples=60, deadline=None)
@given(st.lists(tick, max_size=30), patience)
def test_what_was_never_said_cost_nothing(ticks, alerts):
    """Without the services that were suppressed, the others fare exactly as with them."""
    alone = [(w, [{**a, "key": f"{i}.{j}"} for j, a in enumerate(asked)]) for i, (w, asked) in enumerate(ticks)]
    log, _ = run(alone, alerts)
    final = {d.service.id: d for d in log}
    number, kept = 0, []
    for wait, asked in alone:
        keep = []
        for a in asked:
            number += 1
            if final[number].decision != "suppress":
                keep.append(a)
        kept.append((wait, keep))
    again, _ = run(kept, alerts)
    first = [(d.at, d.service.type, d.service.key) for d in log if d.decision == "deliver"]
    second = [(d.at, d.service.type, d.service.key) for d in again if d.decision == "deliver"]
    if all("alike" not in d.reason and "merged" not in d.reason for d in log):  # texts differ once numbers shift
        assert first == second


@settings(max_examples=40, deadline=None)
@given(st.lists(tick, min_size=1, max_size=20), patience)
def test_the_state_comes_back_from_what_was_stored(ticks, alerts):
    state, seconds = State(), 0
    with Store.open(None) as store:
        for wait, asked in ticks:
            seconds += wait
            moment = at(seconds)
            with store.transaction() as tx:
                fresh = []
                for a in asked:
                    t = moment.now - a["age_s"] * US
                    made = service(0, a["kind"], a["key"], t, f"word{a['words']} other{a['words']}")
                    made = replace(made, known=moment.now)
                    fresh.append(replace(made, id=tx.services.add(made)))
                waiting = {s.id for s in state.pending}
                for each in ranked([*state.pending, *fresh]):
                    decision, state = decide(each, moment, alerts, state)
                    if not (decision.decision == "defer" and each.id in waiting):
                        tx.services.decide(decision)
            with store.snapshot(moment.now) as snapshot:
                back = restore(snapshot, moment)
            state = pruned(state, moment)
            assert back.pending == state.pending
            assert back.told == state.told
            assert dict(back.held) == dict(state.held)


def _quiet(quiet, now, offset_s):
    """Quiet hours once more, minute by minute, as a wearer would read the setting."""
    if not quiet.start or not quiet.end:
        return False
    moment = local(now, offset_s)
    start = int(quiet.start[:2]) * 60 + int(quiet.start[3:])
    end = int(quiet.end[:2]) * 60 + int(quiet.end[3:])
    minute, day = moment.hour * 60 + moment.minute, moment.weekday()
    named = [d in quiet.weekdays for d in ("mon", "tue", "wed", "thu", "fri", "sat", "sun")]
    if end > start:
        return named[day] and start <= minute < end
    return (named[day] and minute >= start) or (named[day - 1] and minute < end)
