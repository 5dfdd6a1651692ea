"""The glasses on the bus: what they show becomes power, pause, light and words; and a whole scripted day of it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from edge.capture.device import Companion, follow
from edge.clock import US, SystemClock
from firmware_bridge import protocol as p
from firmware_bridge.view import DeviceState

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[3]


def battery(percent: int, *, charging: bool = False, temp_dc: int = 250) -> p.Battery:
    state = p.Charging.CHARGING if charging else p.Charging.DISCHARGING
    return p.Battery(0, percent, state, p.Health.GOOD, 3900, -80, temp_dc)


def shown(percent: int = 80, **more: Any) -> DeviceState:
    cell = battery(percent, charging=more.pop("charging", False), temp_dc=more.pop("temp_dc", 250))
    return DeviceState(**{"connected": True, "percent": percent, "battery": cell, "worn": True, **more})


class Script:
    """Follows a list of states, one a second, as reports of their own."""

    def __init__(self, *, need_light: bool = True) -> None:
        self.now, self.companion, self.need_light = 0, Companion(), need_light
        self.said: list[str] = []

    def see(self, state: DeviceState, *gestures: p.GestureKind, seconds: int = 1) -> Companion:
        for _ in range(seconds):
            self.now += US
            pressed = [p.Gesture(0, p.Control.TOUCH, kind, 900) for kind in gestures]
            self.companion = follow(self.companion, state, pressed, self.now, self.now, need_light=self.need_light)
            self.said += [kind for kind, _, _ in self.companion.announce]
            gestures = ()
        return self.companion


def test_a_long_press_pauses_and_the_next_resumes_and_the_light_follows() -> None:
    script = Script()
    assert script.see(shown()).light is True
    after = script.see(shown(), p.GestureKind.LONG_PRESS)
    assert (after.paused, after.recording, after.light) == (True, False, False)
    after = script.see(shown(), p.GestureKind.LONG_PRESS)
    assert (after.paused, after.recording, after.light) == (False, True, True)
    assert script.see(shown(), p.GestureKind.TAP, p.GestureKind.DOUBLE_TAP).recording


def test_taken_off_muted_or_with_a_dead_light_nothing_is_recorded() -> None:
    script = Script()
    assert not script.see(shown(worn=False), seconds=4).recording
    assert script.see(shown(worn=True)).recording
    assert not script.see(shown(muted=True)).recording
    dead = p.LedState(0, p.Led.RECORDING, p.LedMode.ON, False)
    assert not script.see(shown(led=dead)).recording
    assert Script(need_light=False).see(shown(led=dead)).recording


def test_a_discharge_is_told_at_each_level_once() -> None:
    script = Script()
    for percent in range(30, 2, -1):
        script.see(shown(percent), seconds=3)
    assert script.said == ["battery_20", "battery_10", "battery_5"]
    assert script.companion.power.mode == "critical"


def test_out_of_reach_the_battery_is_unknown_and_never_stale() -> None:
    script = Script()
    script.see(shown(50))
    away = script.see(DeviceState(connected=False))
    assert away.power.battery is None
    assert away.light is None


def test_a_suspected_fall_is_told_once_while_it_lasts() -> None:
    script = Script()
    script.see(shown(activity=p.Activity.WALKING), seconds=2)
    script.see(shown(activity=p.Activity.FALL_SUSPECTED), seconds=5)
    script.see(shown(activity=p.Activity.STILL), seconds=2)
    assert script.said == ["safety"]


def test_heat_of_the_cell_is_told_once() -> None:
    script = Script()
    script.see(shown(temp_dc=460), seconds=5)
    assert script.companion.power.mode == "cool-down"
    script.see(shown(temp_dc=430), seconds=5)
    assert script.companion.power.mode == "cool-down"
    script.see(shown(temp_dc=390))
    assert script.companion.power.mode == "balanced"
    assert script.said == ["too_hot"]


@pytest.mark.slow
def test_a_scripted_day_of_the_simulated_glasses_drives_a_running_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, media: ModuleType
) -> None:
    """The scenario's own expectations, against `grove-edge run` and a simulator of their own processes."""
    from edge.app import control_path
    from edge.server.control import ControlClient

    still_video = media.write_video(tmp_path / "still.mp4", list(range(0, 200_000, 1000)), [90] * 200)
    scenario = tomllib.loads((ROOT / "firmware_bridge/scenarios/day.toml").read_text())
    simulator = subprocess.Popen(
        [sys.executable, "-m", "edge.cli", "firmware", "simulate", "--tcp", "127.0.0.1:0", "--json"],
        stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    assert simulator.stdout is not None
    url = json.loads(simulator.stdout.readline())["glasses"]
    clock = SystemClock()
    began = clock.mono()  # the scenario runs from here
    monkeypatch.setenv("GROVE_EDGE_DEVICE__GLASSES", url)
    device = subprocess.Popen(
        [sys.executable, "-m", "edge.cli", "run", "--source", str(still_video), "--speed", "realtime",
         "--mic", "none", "--speaker", "none", "--db", str(tmp_path / "m.db")],
        cwd=ROOT, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    pause = threading.Event()
    try:
        client = ControlClient(control_path(), timeout_s=5.0)
        while True:
            try:
                if client.call("health")["glasses"]["connected"]:
                    break
            except Exception:  # noqa: BLE001  # not up yet
                assert device.poll() is None, device.stderr.read() if device.stderr else ""
            pause.wait(0.1)
        up_s = (clock.mono() - began) / US * scenario["speed"]
        wrong = []
        due = [e for e in scenario["expect"] if e["at_s"] > up_s + 60]
        assert len(due) >= len(scenario["expect"]) - 4
        for expected in due:
            wait_s = expected["at_s"] / scenario["speed"] - (clock.mono() - began) / US
            pause.wait(max(0.0, wait_s))
            health = client.call("health")
            glasses = health["glasses"]
            seen = {
                "mode": health["power"]["mode"],
                "led": glasses["led"],
                "paused": health["paused"],
                "battery": "unknown" if glasses["battery"] is None else glasses["battery"],
                "notices": glasses["notices"],
                "connected": glasses["connected"],
            }
            wrong += [(expected["at_s"], k, v, seen[k]) for k, v in expected.items() if k in seen and seen[k] != v]
        assert not wrong
        client.call("stop")
        device.wait(60)
    finally:
        for process in (device, simulator):
            process.kill()
            process.communicate()
