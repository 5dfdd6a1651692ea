"""Every scenario file: expected alerts come in time, forbidden ones do not."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

_SPEC = importlib.util.spec_from_file_location("scenario", Path(__file__).with_name("scenario.py"))
assert _SPEC is not None and _SPEC.loader is not None
scenario = sys.modules["scenario"] = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(scenario)
SCENARIOS: list[dict[str, Any]] = scenario.load()


@pytest.mark.parametrize("case", SCENARIOS, ids=lambda s: f"{s['file']}: {s['name']}")
def test_scenario(case):
    assert scenario.faults(case, scenario.told(case)) == []


def test_enough_from_life_for_each_service():
    for file in {s["file"] for s in SCENARIOS}:
        cases = [s for s in SCENARIOS if s["file"] == file]
        assert sum(bool(s.get("expect")) for s in cases) >= 5
        assert sum(not s.get("expect") for s in cases) >= 3


def test_a_scenario_that_goes_wrong_is_noticed():
    case = {
        "start": "2026-03-02T17:30:00+01:00",
        "script": [{"at": "0:10", "do": "turn on | hob"}, {"at": "1:00", "do": "leave | house"}],
    }
    delivered = scenario.told(case)
    assert scenario.faults({**case, "forbid": ["resource_reminder"]}, delivered)
    assert scenario.faults({**case, "at_most": {"resource_reminder": 0}}, delivered)
    late = {"type": "resource_reminder", "from": "2:00", "to": "3:00"}
    assert scenario.faults({**case, "expect": [late]}, delivered)
