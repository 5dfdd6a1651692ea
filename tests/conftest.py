"""What tests of several rooms share: days of made-up life as traces, the embedding, the recorded data if it is there."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from edge.config import Config
from edge.engines import Engines

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # for tests that import an engine themselves; see models/backends/__init__.py
# Made-up cases are the same in each run, however slow the machine; GROVE_TEST_PROFILE=search looks for new ones.
settings.register_profile(
    "same", deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)  # fmt: skip
settings.register_profile("search", settings.get_profile("same"), derandomize=False)
settings.load_profile(os.environ.get("GROVE_TEST_PROFILE", "same"))
ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT.parent / "shared" / "data"

KITCHEN = [("open", "fridge"), ("take", "milk"), ("close", "fridge"), ("pour", "milk into bowl"), ("wash", "bowl"),
           ("turn on", "tap"), ("turn off", "tap"), ("cut", "bread"), ("put", "knife in sink")]  # fmt: skip
DESK = [
    ("open", "laptop"),
    ("type", "report"),
    ("read", "letter"),
    ("take", "pen"),
    ("write", "note"),
    ("drink", "coffee"),
]
GARDEN = [("water", "tomatoes"), ("pull", "weeds"), ("dig", "bed"), ("cut", "roses"), ("fill", "watering can")]
SCENES = {"kitchen": KITCHEN, "office": DESK, "garden": GARDEN}
SAYINGS = ["I have to call the plumber before noon.", "remind me to water the tomatoes tonight", "what a nice smell",
           "I need to post the letter.", "Have you seen my keys?"]  # fmt: skip


def iso(t: datetime) -> str:
    return t.isoformat(timespec="milliseconds")


def make_day(
    rng: random.Random, recording: str, start: datetime, windows: int, window_s: int = 30
) -> list[dict[str, Any]]:
    """A made-up stretch of life: scenes that change now and then, gaps, empty windows, speech, text."""
    rows, t, scene = [], start, rng.choice(list(SCENES))
    for _ in range(windows):
        if rng.random() < 0.08:
            t += timedelta(seconds=rng.choice([20, 61, 600, 7200]))
        if rng.random() < 0.12:
            scene = rng.choice(list(SCENES))
        end = t + timedelta(seconds=window_s)

        def at(lo: datetime = t) -> str:
            return iso(lo + timedelta(milliseconds=rng.randrange(window_s * 1000)))

        row: dict[str, Any] = {
            "recording": recording, "t_start": iso(t), "t_end": iso(end), "captions": [], "description": "",
            "entities": [], "events": [], "ocr": [], "speech": [],
        }  # fmt: skip
        if rng.random() > 0.15:
            for action, thing in rng.sample(SCENES[scene], rng.randint(1, 4)):
                when = at()
                row["events"].append({"t": when, "subject": "wearer", "action": action, "object": thing})
                row["captions"].append({"t": when, "text": f"{action} {thing}"})
                row["entities"].append(
                    {"name": thing.split()[-1], "count": rng.randint(1, 3), "attributes": [], "location": None}
                )
            row["description"] = f"working in the {scene}"
            if rng.random() < 0.2:
                row["speech"].append({"t": at(), "speaker": "wearer", "text": rng.choice(SAYINGS)})
            if rng.random() < 0.2:
                row["ocr"].append({"t": at(), "text": rng.choice(["EXIT", "Best before 12 May", "Room 4"])})
            for kind in ("events", "captions", "speech", "ocr"):
                row[kind].sort(key=lambda x: x["t"])
        rows.append(row)
        t = end
    return rows


def write_trace(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return path


@pytest.fixture
def day(tmp_path: Path) -> Callable[..., Path]:
    """A maker of trace files: day(seed, windows) -> path."""

    def make(seed: int = 1, windows: int = 80, name: str = "made") -> Path:
        start = datetime(2026, 3, 1, 22, 30, tzinfo=timezone(timedelta(hours=1)))  # a midnight lies inside
        return write_trace(tmp_path / f"{name}-{seed}.trace.jsonl", make_day(random.Random(seed), name, start, windows))

    return make


@pytest.fixture(scope="session")
def embed() -> Iterator[Any]:
    """The embedding memories are made with, the real one."""
    engines = Engines(Config())
    yield engines.text_embedding().embed
    engines.close()


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings, data, logs and sockets of a test are its own; the cache of model verdicts is shared."""
    home = tmp_path_factory.mktemp("home")
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(variable, str(home / variable.lower()))
    runtime = home / "run"
    runtime.mkdir(mode=0o700)
    if "PULSE_SERVER" not in os.environ:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.delenv("GROVE_EDGE_OWNER_NAME", raising=False)


@pytest.fixture(scope="session")
def recorded() -> Path:
    """The folder of real recordings, where it is beside the checkout; such tests are skipped where it is not."""
    if not (RECORDED / "open").is_dir():
        pytest.skip(f"no recorded data at {RECORDED}: this test needs it")
    return RECORDED
