"""A language model in a running session: it never holds up the memory, and what it could not do yet is done later."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from remote_support import Handler, free_port, hangs, serving
from tests_support import trace_of

from storage import Store

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(importlib.util.find_spec("openai") is None, reason="openai is not installed")
START = datetime(2026, 3, 2, 9, tzinfo=timezone.utc)
ACTS = [[("stir", "soup"), ("taste", "soup")], [("hammer", "nail"), ("saw", "plank")]]


def thinks(h: Handler) -> None:
    """Answers each question of growth in its form."""
    asked = h.body["response_format"]["json_schema"]["schema"]["properties"]
    told = h.body["messages"][-1]["content"].split("09:", 1)[-1][:50]
    answers: dict[str, Any] = {
        "subject": {"subject": "Told by the remote", "summary": f"The wearer did: {told}.", "keywords": ["remote"]},
        "core": {"core": [1], "context": []},
        "belongs_to": {"why": "none", "belongs_to": 0},
        "title": {"title": "Soup", "summary": "The wearer did stir soup."},
        "facts": {"facts": []},
        "same_activity": {"before": "x", "finished": False, "now": "y", "same_activity": True},
    }  # fmt: skip
    h.stream([json.dumps(next(answers[k] for k in answers if k in asked))])


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "run").mkdir(mode=0o700)
    yield tmp_path


def replayed(home: Path, url: str, **llm: str) -> dict[str, Any]:
    """Replay a made-up hour in a process of its own, as the settings would have it."""
    trace = trace_of(home, START, 40, lambda n: ACTS[n // 10 % 2])
    settings = {"CONSOLIDATION": "remote", "MATCHING": "remote", "REMOTE__URL": url, "REMOTE__MODEL": "m", "REMOTE__TRIES": "1",
                "REMOTE__FIRST_BYTE_S": "0.5", **llm}  # fmt: skip
    env = {
        **os.environ,
        **{f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "DATA", "STATE")},
        "XDG_RUNTIME_DIR": str(home / "run"),
        **{f"GROVE_EDGE_LLM__{k}": v for k, v in settings.items()},
    }
    command = [sys.executable, "-m", "edge.cli", "replay", str(trace), "--db", str(home / "m.db"), "--json"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def made_by(home: Path) -> list[str]:
    with Store.open(home / "m.db") as store, store.snapshot() as snapshot:
        assert store.integrity() == []
        assert all(len(snapshot.patterns.of_episode(e.id)) == 1 for e in snapshot.episodes.between())
        return [e.made_by for e in snapshot.episodes.between()]


def test_a_remote_that_is_down_costs_words_and_is_made_good_when_it_is_back(home: Path) -> None:
    port = free_port()
    told = replayed(home, f"http://127.0.0.1:{port}/v1")
    first = made_by(home)
    assert told["windows"] == 40
    assert set(first) == {"rules"}
    assert told["growing"]["consolidation"]["waiting"] == len(first)
    assert told["growing"]["consolidation"]["waiting_for"]
    with serving(thinks, port=port) as server:
        again = replayed(home, server.url)  # nothing new in it: the line is worked off
    assert again["windows"] == 0
    assert again["growing"]["consolidation"]["waiting"] == 0
    assert set(made_by(home)) == {"llm"}


def test_a_remote_that_accepts_and_hangs_is_left_alone_after_some_tries(home: Path) -> None:
    with serving(hangs) as server:
        told = replayed(home, server.url, BOUNDARY="remote", BOUNDARY_TIMEOUT_S="0.5")
        assert len(server.requests) < 40, "the breaker and the rests spare it"
    assert told["windows"] == 40
    assert set(made_by(home)) == {"rules"}
    assert told["growing"]["boundary"]["by_rules"] > 0


def test_a_setting_that_names_no_remote_is_told_at_once(home: Path) -> None:
    trace = trace_of(home, START, 4, lambda _: ACTS[0])
    env = {
        **os.environ,
        "GROVE_EDGE_LLM__CONSOLIDATION": "remote",
        "XDG_CONFIG_HOME": str(home),
        "XDG_STATE_HOME": str(home),
    }
    command = [sys.executable, "-m", "edge.cli", "replay", str(trace), "--db", str(home / "m.db")]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "llm.consolidation names a remote model" in done.stderr
