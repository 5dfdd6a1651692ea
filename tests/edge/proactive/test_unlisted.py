"""The next step of a job that no procedure is loaded for."""

from __future__ import annotations

from edge.clock import US, ReplayClock
from edge.config import Alerts, Memory
from edge.memory.growth import Growth
from edge.messages import ServiceDecided
from edge.proactive.screening import Proactive
from models.backends.fake import HashEmbedding
from storage import Store
from storage.records import Caption, Event, Window

T0 = 1_772_442_000 * US
EMBED = HashEmbedding().embed


def window(n, events=(), captions=()):
    t = T0 + n * 10 * US
    return Window(
        "bench", t, t + 10 * US, 0,
        events=tuple(Event(t + i * US, "wearer", action, thing) for i, (action, thing) in enumerate(events)),
        captions=tuple(Caption(t + i * US, text) for i, text in enumerate(captions)),
    )  # fmt: skip


def told(windows, frequency="high", split=None):
    store, clock = Store.open(None), ReplayClock()
    growth, out = Growth(store, EMBED, Memory()), []
    proactive = Proactive(store, Alerts(frequency=frequency), clock)
    for i, each in enumerate(windows):
        if i == split:  # started anew
            proactive = Proactive(store, Alerts(frequency=frequency), clock)
        grown = growth.step(each)
        clock.set(each.t_end, 0)
        out += proactive.step(grown)
    return [
        m.service.text
        for m in out
        if isinstance(m, ServiceDecided) and m.service.type == "next_step_guidance" and m.decision.decision == "deliver"
    ]


START = window(0, [("start task", "set up the drill")])


def test_what_is_taken_off_is_to_be_put_on_again():
    day = [START, window(1, captions=["wearer detaches the chuck guard from the drill"]), window(2)]
    assert told(day) == ["Next: attach the chuck guard again."]
    assert told(day, split=1) == ["Next: attach the chuck guard again."]


def test_taking_apart_is_the_job_itself():
    job = window(0, [("start task", "disassemble the shelf")])
    assert not told([job, window(1, captions=["wearer unscrews the left bracket"])])


def test_without_a_job_an_open_drawer_is_no_step():
    assert not told([window(0, captions=["wearer opens the drawer"]), window(1)])


def test_what_others_do_is_not_the_wearers_step():
    assert not told([START, window(1, captions=["Anna opens the box"])])


def test_a_step_made_ready_after_another_was_done_is_next():
    day = [
        window(0, [("work on recipe", "Pilau")]),
        window(1, [("prepare for step", "Rinse the rice"), ("do step", "Rinse the rice")]),
        window(3, [("prepare for step", "Toast the spices")]),
        window(6, [("do step", "Toast the spices"), ("prepare for step", "Rinse the rice")]),
    ]
    assert told(day) == ["Next: toast the spices."], "what was done already is not next"


def test_it_is_only_for_who_wants_to_hear_everything():
    day = [START, window(1, captions=["wearer detaches the chuck guard"]), window(2)]
    assert not told(day, "normal")


def test_a_job_left_half_an_hour_ago_is_over():
    later = window(200, captions=["wearer opens the side cover"])
    assert not told([START, later])
