"""Scenario files: the shipped ones load, wrong ones name the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from firmware_bridge.errors import ScenarioError
from firmware_bridge.scenario import ACTIONS, SCENARIOS, Event, load, parse
from firmware_bridge.simulator import Simulator


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.toml")), ids=lambda path: path.stem)
def test_shipped_scenarios_run_to_their_end(path: Path) -> None:
    scenario = load(path.stem)
    assert scenario.events
    now = [0]
    sim = Simulator(scenario, lambda: now[0])
    sim.line_opened()
    last = max(event.at_s for event in scenario.events)
    while sim.world_s() <= last:
        now[0] = max(now[0] + 1_000, sim.deadline())
        sim.step()
    assert not sim._events


def test_every_action_can_happen() -> None:
    values = {"battery": 50, "ambient": 20, "lux": 100, "log": "hello", "line": {"drop": 0.1}}
    for action in ACTIONS:
        now = [0]
        event = {"at_s": 1, "do": action, **({"value": values[action]} if action in values else {})}
        sim = Simulator(parse({"event": [event]}), lambda now=now: now[0])
        for now[0] in range(0, 4_000_000, 100_000):
            sim.step()
        assert not sim._events


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ({"nonsense": 1}, "nonsense"),
        ({"battery": {"percents": 1}}, "percents"),
        ({"battery": {"percent": "full"}}, "percent"),
        ({"battery": 5}, "battery"),
        ({"speed": 0}, "speed"),
        ({"speed": True}, "speed"),
        ({"event": [{"do": "tap"}]}, "at_s"),
        ({"event": [{"at_s": 1, "do": "dance"}]}, "do, one of"),
        ({"event": [{"at_s": 1, "do": "battery"}]}, "value missing"),
        ({"event": [{"at_s": 1, "do": "battery", "value": "low"}]}, "number"),
        ({"event": [{"at_s": 1, "do": "tap", "value": 3}]}, "value unused"),
        ({"event": [{"at_s": 1, "do": "line", "value": {"lose": 1}}]}, "lose"),
        ({"expect": [{"mode": "saver"}]}, "at_s"),
    ],
)
def test_wrong_scenarios_name_the_key(data: dict, named: str) -> None:
    with pytest.raises(ScenarioError, match=named):
        parse(data)


def test_files_that_cannot_be_read_say_so(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="nowhere"):
        load(tmp_path / "nowhere.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("name = ")
    with pytest.raises(ScenarioError, match=r"broken\.toml"):
        load(broken)


def test_events_are_sorted_and_expectations_kept() -> None:
    scenario = parse(
        {"event": [{"at_s": 9, "do": "tap"}, {"at_s": 2, "do": "wear"}], "expect": [{"at_s": 3, "mode": "x"}]}
    )
    assert scenario.events == (Event(2, "wear"), Event(9, "tap")) and scenario.expect[0]["mode"] == "x"
