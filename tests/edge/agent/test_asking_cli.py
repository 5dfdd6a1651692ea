"""Asking from the command line: follow-ups between commands, standing questions, a device that runs."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from edge import answering
from edge import config as settings
from edge.agent import context_file
from edge.agent.asking import Asker
from edge.agent.question import understand
from edge.cli import main
from edge.clock import SystemClock
from edge.config import Config
from edge.retrieval.zone import Zone
from edge.server.control import ControlServer
from storage import EmbeddingSpace, Store
from storage.records import Event, Window

ZONE = timezone(timedelta(hours=2))
AT = "2025-07-02T21:00:00+02:00"
NOON = round(datetime(2025, 7, 2, 12, tzinfo=ZONE).timestamp()) * 1_000_000
US = 1_000_000
Said = Callable[..., tuple[int, Any]]


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    """Doors that were opened at noon: three times a fridge, twice a window."""
    path = tmp_path / "m.db"
    with Store.open(path, space=EmbeddingSpace("wordllama-256", 256)) as store, store.transaction() as tx:
        for n, thing in enumerate(("fridge", "window", "fridge", "window", "fridge")):
            t = NOON + n * 60 * US
            made = Window("home", t, t + 30 * US, 7200, events=(Event(t + US, "wearer", "open", thing),))
            tx.trace.add(made, np.zeros(256, dtype=np.float32))
    return path


@pytest.fixture
def said(memory: Path, capsys: pytest.CaptureFixture[str]) -> Said:
    def run(*arguments: str, db: Path = memory) -> tuple[int, Any]:
        status = main([*arguments, "--db", str(db), "--json"])
        out = capsys.readouterr()
        return status, json.loads(out.out) if status == 0 else out.err

    return run


def test_a_follow_up_is_another_command(said: Said) -> None:
    assert said("ask", "How many times did I open the fridge?", "--at", AT)[1]["value"] == 3
    assert said("ask", "And the window?", "--at", AT)[1]["value"] == 2
    path = context_file.context_path()
    assert path.stat().st_mode & 0o777 == 0o600
    assert "window" in path.read_text(encoding="utf-8")
    assert said("ask", "And the day before?", "--at", AT)[1]["value"] == 0


def test_what_was_asked_of_another_memory_or_long_ago_is_no_context(memory: Path, tmp_path: Path) -> None:
    query = understand("How many times did I open the fridge?", Zone(NOON, 7200))
    asked = NOON
    context_file.keep(memory, query_at(query, asked), 7200)
    assert context_file.recall(memory, asked + US) is not None
    assert context_file.recall(tmp_path / "other.db", asked + US) is None
    assert context_file.recall(memory, asked + 3600 * US) is None
    assert not context_file.context_path().exists()  # too old: removed
    settings.private_dir(context_file.context_path().parent)
    context_file.context_path().write_text("{broken", encoding="utf-8")
    assert context_file.recall(memory, asked) is None
    assert not context_file.context_path().exists()


def query_at(query: Any, asked: int) -> Any:
    from dataclasses import replace

    return replace(query, asked=asked)


def test_standing_questions_are_listed_added_and_taken_back(said: Said) -> None:
    status, made = said("standing", "add", "remind me to buy milk when I open the fridge")
    assert status == 0
    assert made["answer"] == "I remind you to buy milk when you open the fridge."
    assert said("standing", "add", "tell me when you see a cat")[0] == 0
    assert [r["id"] for r in said("standing", "list")[1]] == ["q1", "q2"]
    assert [r["id"] for r in said("standing")[1]] == ["q1", "q2"]
    assert said("standing", "cancel", "milk")[1] == {"cancelled": ["q1"]}
    assert [r["id"] for r in said("standing", "list")[1]] == ["q2"]
    assert [r["state"] for r in said("standing", "list", "--all")[1]] == ["cancelled", "open"]
    status, error = said("standing", "add", "hello there")
    assert status == 1
    assert error.startswith("input.question:")
    assert said("standing", "cancel", "q9")[0] == 1


def test_llm_without_a_model_is_a_wrong_setting(said: Said) -> None:
    status, error = said("ask", "Did I open the fridge?", "--at", AT, "--policy", "llm")
    assert status == 1
    assert error.startswith("config.key:")


def test_eval_takes_the_policy(memory: Path, tmp_path: Path) -> None:
    questions, out = tmp_path / "q.jsonl", tmp_path / "p.jsonl"
    rows = [
        {"id": n, "question": q, "ask_time": AT}
        for n, q in enumerate(("How many times did I open the fridge?", "And the window?"))
    ]
    questions.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    for policy in ("rules", "auto"):
        assert main(["eval", "qa", str(questions), "--db", str(memory), "--out", str(out), "--policy", policy]) == 0
        found = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        assert found[0]["value"] == 3
        assert found[1]["value"] != 2  # each question stands alone


@pytest.fixture
def device(memory: Path) -> Iterator[Any]:
    """As much of a running session as questions need, behind a real control socket."""
    wall = SystemClock()
    with Store.open(memory) as store:
        asker = Asker(Config(), mono=wall.mono)
        runtime = SimpleNamespace(asker=asker, options=SimpleNamespace(db=memory), wall=wall, store=store)
        path = settings.private_dir(settings.runtime_dir()) / "control.sock"
        server = ControlServer(path, {"ask": answering.handler(lambda: runtime)})  # type: ignore[arg-type,return-value]
        server.bind()
        stop = threading.Event()
        thread = threading.Thread(target=server.run, args=(stop,))
        thread.start()
        yield runtime
        stop.set()
        thread.join()


def test_a_running_device_is_asked(device: Any, said: Said, tmp_path: Path) -> None:
    assert said("ask", "How many times did I open the fridge?")[1]["value"] == 3
    assert device.asker.previous("control").text.startswith("How many times")
    assert said("ask", "And the window?")[1]["value"] == 2
    assert not context_file.context_path().exists()  # the device remembers, not the disk
    status, error = said("ask", "?")
    assert status == 1
    assert "ask" in error
    other = tmp_path / "other.db"
    Store.open(other, space=EmbeddingSpace("wordllama-256", 256)).close()
    assert said("ask", "How many times did I open the fridge?", db=other)[1]["value"] in (0, None)


def test_forgetting_takes_the_question_with_it(said: Said) -> None:
    said("ask", "How many times did I open the fridge?", "--at", AT)
    assert context_file.context_path().exists()
    status, _ = said("forget", "--entity", "fridge", "--yes")
    assert status == 0
    assert not context_file.context_path().exists()
