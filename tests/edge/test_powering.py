"""A whole live device on a battery told by a file: every column of its mode works, and paused it leaves no trace."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from edge import powering
from edge.app import Supervisor, build
from edge.capture.power_sources import JetsonPower, Merged, open_power, read_device, upower_reading
from edge.clock import US, SystemClock
from edge.config import Config
from edge.errors import ConfigError
from edge.power import MODES, TIERS, ModeRow, PowerState, Reading, percent_of, step
from edge.runtime import Options, Runtime
from edge.server.control import ControlClient, ControlError
from storage import Store
from tools import road_paint as paint
from tools.picture_server import PictureServer

ROOT = Path(__file__).resolve().parents[2]


def until(true: Callable[[], Any], seconds: float = 180.0) -> None:
    """Wait for something to become true; the machine may be busy, so patience is long and nothing is timed."""
    clock, never = SystemClock(), threading.Event()
    end = clock.mono() + round(seconds * US)
    while not true():
        assert clock.mono() < end, "it did not come about"
        clock.wait(never, 0.05)


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="ge-"))
    (folder / "run").mkdir(mode=0o700)
    for name in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(folder / name.lower()))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder / "run"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def device(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Runtime, PictureServer, Path]]:
    """A running device with a camera, and the file that tells its power."""
    monkeypatch.setattr(powering, "LOOK_S", 0.05)
    monkeypatch.setattr(powering, "READ_S", 0.02)
    power = home / "power.json"
    power.write_text(json.dumps({"battery": 80.0, "charging": False}))
    config = Config(device={"power": f"file:{power}"}, voice={"listen": False})  # type: ignore[arg-type]
    with PictureServer(paint.wall()) as camera:
        runtime = build(config, Options(home / "m.db", source=camera.url, mic="none", speaker="none"), None)
        supervisor, over = Supervisor(runtime, runtime.wall), threading.Event()

        def supervise() -> None:
            while not over.wait(0.05):
                supervisor.step()

        thread = threading.Thread(target=supervise, daemon=True)
        thread.start()
        try:
            yield runtime, camera, power
        finally:
            over.set()
            thread.join()
            supervisor.stop(60.0)
            runtime.close()


def in_effect(runtime: Runtime) -> dict[str, Any]:
    """What the parts of the device really do, by the column that says so."""
    growth = runtime.config.memory.growth(runtime.config.memory.profile)
    maker: Any = runtime.capture._maker  # type: ignore[attr-defined]
    tier = next(name for name, row in TIERS.items() if row == runtime.light.tier)
    voice: Any = runtime.voice._maker
    assert runtime.watch is not None
    return {
        "interval": maker.interval_s / growth.frame_interval_s,
        "glance_s": runtime.watch.every_s,
        "tier": tier,
        "offload": runtime.engines.thinkers.offload,
        "min_priority": MODES[runtime.pipeline.proactive.mode].min_priority,  # type: ignore[index]
        "experts": MODES[runtime.pipeline.proactive.mode].experts,  # type: ignore[index]
        "tts": "small" if voice is not None and "espeak" in voice.name else "chosen",
        "asr": "off" if not runtime.light.hears else "chosen" if runtime.light.small_asr is None else "small",
        "sync": "now" if powering.may_tidy(runtime) and runtime.tidy.is_set() else "later",
    }


def wanted(row: ModeRow) -> dict[str, Any]:
    return {k: v for k, v in dataclasses.asdict(row).items() if k != "vlm"}


def test_every_column_of_the_table_has_somebody_who_applies_it() -> None:
    assert set(powering.APPLY) == {f.name for f in dataclasses.fields(ModeRow)}


def test_each_mode_is_really_in_effect(device: tuple[Runtime, PictureServer, Path]) -> None:
    runtime, _, power = device
    steps: list[tuple[dict[str, Any], str]] = [
        ({"battery": 80.0, "charging": False}, "balanced"),
        ({"battery": 30.0, "charging": False}, "saver"),
        ({"battery": 8.0, "charging": False}, "critical"),
        ({"battery": 8.0, "charging": True}, "charging"),
        ({"battery": 80.0, "charging": False, "temperature_c": 90.0}, "cool-down"),
        ({"battery": 80.0, "charging": False, "temperature_c": 50.0}, "balanced"),
    ]
    for told, mode in steps:
        power.write_text(json.dumps(told))
        until(lambda mode=mode: runtime.power.mode == mode and in_effect(runtime) == wanted(MODES[mode]))  # type: ignore[index, misc]
        assert bool(runtime.power.row.vlm) == (mode in ("charging", "balanced"))
    powering.choose(runtime, {"mode": "performance"})
    until(lambda: runtime.power.mode == "performance")
    assert runtime.health()["power"]["chosen"] == "performance"
    with runtime.store.snapshot() as snapshot:
        logged = [p.mode for p in snapshot.patience.power()]
        spoken = [s.type for s in snapshot.services.between() if s.expert == "device"]
    assert [m for m in dict.fromkeys(logged) if m != "performance"][:3] == ["balanced", "saver", "critical"]
    assert set(spoken) <= {"battery_20", "battery_10", "too_hot"}
    assert len(spoken) == len(set(spoken)), "each once"


def everything(folder: Path) -> dict[str, str]:
    """A digest of every file below a folder, sockets and the shared memory of the database apart."""
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and not p.is_socket() and p.suffix != ".db-shm" and not p.name.endswith("-shm")
    }


def test_paused_it_writes_nothing_anywhere(device: tuple[Runtime, PictureServer, Path], home: Path) -> None:
    runtime, camera, power = device
    until(lambda: runtime.capture.health().frames > 1)
    powering.pause(runtime, True)
    until(lambda: runtime.capture.health().state == "paused")
    until(lambda: runtime.capture.health().windows == runtime.totals.windows)  # seen before the pause: on its way
    looks: list[dict[str, str]] = []

    def still() -> bool:
        """Whether what was under way at the pause has come to its end: nothing was written in three looks."""
        runtime.wall.wait(threading.Event(), 0.4)
        looks.append(everything(home))
        return len(looks) > 2 and looks[-1] == looks[-2] == looks[-3]

    until(still)
    before, frames = looks[-1], runtime.capture.health().frames
    camera.show(paint.sign("HIDDEN", "WORDS"))
    power.write_text(json.dumps({"battery": 18.0, "charging": False}))  # even a warning of the battery waits
    until(lambda: runtime.power.mode == "saver")
    runtime.wall.wait(threading.Event(), 1.5)
    after = everything(home)
    assert {k: v for k, v in after.items() if k != "power.json"} == {
        k: v for k, v in before.items() if k != "power.json"
    }
    assert runtime.capture.health().frames == frames
    powering.pause(runtime, False)
    until(lambda: runtime.capture.health().frames > frames)
    until(lambda: _asked(runtime) == ["battery_20"])


def _asked(runtime: Runtime) -> list[str]:
    with runtime.store.snapshot() as snapshot:
        return [s.type for s in snapshot.services.between()]


@pytest.mark.slow
def test_a_pause_outlasts_a_kill_and_leaves_no_trace(home: Path) -> None:
    environment = {**os.environ, "GROVE_EDGE_DEVICE__POWER": "none", "GROVE_EDGE_VOICE__LISTEN": "false"}
    client = ControlClient(home / "run" / "grove-edge" / "control.sock", 30.0)

    def start(url: str) -> subprocess.Popen[bytes]:
        arguments = ["--source", url, "--mic", "none", "--speaker", "none", "--db", str(home / "m.db"), "--json"]
        with (home / "run" / "err").open("ab") as log:
            child = subprocess.Popen(
                [sys.executable, "-m", "edge.cli", "run", *arguments], env=environment, cwd=ROOT,
                stdout=subprocess.DEVNULL, stderr=log,
            )  # fmt: skip
        until(lambda: _health(client) is not None)
        return child

    with PictureServer(paint.wall()) as camera:
        first = start(camera.url)
        until(lambda: (_health(client) or {})["capture"]["frames"] > 2)
        assert client.call("pause") == {"paused": True}
        first.send_signal(signal.SIGKILL)
        first.wait()
        camera.show(paint.sign("HIDDEN", "WORDS"))
        second = start(camera.url)
        told = client.call("health")
        assert told["paused"] and told["capture"]["frames"] == 0
        threading.Event().wait(4.0)
        told = client.call("health")
        assert told["paused"] and told["capture"]["frames"] == told["capture"]["windows"] == 0
        held = b"".join(p.read_bytes() for p in home.rglob("*") if p.is_file())
        assert b"HIDDEN" not in held
        assert client.call("resume") == {"paused": False}
        until(lambda: (_health(client) or {})["capture"]["frames"] > 2)
        client.call("stop")
        second.wait(60)
    with Store.open(home / "m.db") as store, store.snapshot() as snapshot:
        assert snapshot.patience.wish("pause").value == ""  # type: ignore[union-attr]


def _health(client: ControlClient) -> dict[str, Any] | None:
    try:
        return client.call("health")
    except ControlError:
        return None


# --- sources ------------------------------------------------------------------------------------------------------


def test_the_kernel_tells_volts_watts_and_energy(tmp_path: Path) -> None:
    battery = tmp_path / "BAT0"
    battery.mkdir()
    files = {
        "type": "Battery", "capacity": "55", "status": "Discharging", "voltage_now": "7700000", "power_now": "4200000",
        "energy_now": "12600000", "temp": "315",
    }  # fmt: skip
    for name, text in files.items():
        (battery / name).write_text(text + "\n")
    found = read_device(tmp_path, tmp_path / "none")
    assert found == Reading(55.0, False, None, 31.5, cell_v=3.85, watts=4.2, energy_wh=12.6)
    assert step(PowerState(), found, US).hours_left == pytest.approx(3.0)


def test_a_jetson_tells_what_it_draws(tmp_path: Path) -> None:
    chip = tmp_path / "hwmon3"
    chip.mkdir()
    files = {
        "name": "ina3221", "in1_label": "VDD_IN", "in1_input": "5040", "curr1_input": "1500", "in2_label": "VDD_CPU",
    }  # fmt: skip
    for name, text in files.items():
        (chip / name).write_text(text + "\n")
    assert JetsonPower(tmp_path).read() == Reading(watts=7.56)
    assert JetsonPower(tmp_path / "none").read() == Reading()


def test_upower_is_read_and_what_it_does_not_know_is_none() -> None:
    text = "  battery\n    present:             yes\n    state:               discharging\n    energy:  31.2 Wh\n"
    text += "    energy-rate:         6.5 W\n    percentage:          61%\n"
    assert upower_reading(text) == Reading(61.0, False, watts=6.5, energy_wh=31.2)
    assert upower_reading("") == Reading()
    assert upower_reading("    state:   unknown\n") == Reading()


def test_several_sources_fill_each_other_up(tmp_path: Path) -> None:
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    one.write_text('{"battery": 50, "charging": "yes"}')
    two.write_text('{"battery": 70, "watts": 2.5, "worn": true, "choice": "warp"}')
    sources = [open_power(f"file:{p}") for p in (one, two)]
    assert Merged(*[s for s in sources if s is not None]).read() == Reading(battery=50, watts=2.5, worn=True)
    two.write_text('{"battery": 70, "wat')
    assert sources[1] is not None and sources[1].read() == Reading()
    assert open_power("none") is None
    with pytest.raises(ConfigError):
        open_power("sundial")


def test_a_cells_voltage_stands_in_for_percent() -> None:
    assert percent_of(2.5) == 0.0
    assert percent_of(4.3) == 100.0
    assert percent_of(3.82) == pytest.approx(50.0)
    levels = [percent_of(v / 100) for v in range(290, 430)]
    assert levels == sorted(levels)
    assert step(PowerState(), Reading(cell_v=3.6), US).mode == "critical"
