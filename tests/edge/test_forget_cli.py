"""forget, pin, unpin and prune as commands: what they ask, say and refuse."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edge import forgetting
from edge.cli import main
from edge.clock import iso
from edge.commands.forget import length_of
from edge.config import Config
from edge.errors import UsageError
from edge.memory import forget
from edge.replay import replay
from storage import EmbeddingSpace, Store


@pytest.fixture
def memory(day: Callable[..., Path], embed: Any, tmp_path: Path) -> Path:
    path = tmp_path / "m.db"
    with Store.open(path, space=EmbeddingSpace("wordllama-256", 256), own=True) as store:
        replay(day(4, 30), store, embed, Config())
    return path


def told(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_a_stretch_by_its_times(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store.open(memory, read_only=True) as store, store.snapshot() as snapshot:
        windows = snapshot.trace.windows()
    span = ["--from", iso(windows[4].t_start, 3600), "--to", iso(windows[9].t_end, 3600)]
    assert main(["forget", *span, "--db", str(memory), "--dry-run", "--json"]) == 0
    assert told(capsys)["windows"] == 6
    assert main(["forget", *span, "--db", str(memory), "--yes", "--json"]) == 0
    report = told(capsys)
    assert report["done"] and report["removed"]["window"] == 6
    assert report["not_reached"] == [forgetting.COPIES]
    assert main(["forget", *span, "--db", str(memory), "--yes"]) == 0
    assert "nothing, there was nothing of it" in capsys.readouterr().out
    with Store.open(memory, read_only=True) as store, store.snapshot() as snapshot:
        assert snapshot.trace.windows(windows[4].t_start, windows[9].t_end) == []


def test_it_asks_first(memory: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    before = memory.read_bytes()
    monkeypatch.setattr("typer.confirm", _answer(no=True))
    assert main(["forget", "--all", "--db", str(memory)]) == 1
    said = capsys.readouterr()
    assert "everything in this memory" in said.err and said.out == ""
    with Store.open(memory, read_only=True) as store:
        assert store.erasures() == [] and list(store.dump())
    assert len(memory.read_bytes()) == len(before)
    monkeypatch.setattr("typer.confirm", _answer(no=False))
    assert main(["forget", "--all", "--db", str(memory)]) == 0
    with Store.open(memory, read_only=True) as store:
        assert list(store.dump()) == []


def _answer(*, no: bool) -> Callable[..., bool]:
    import typer

    def confirm(text: str, *, abort: bool, err: bool) -> bool:
        assert abort and err and text
        if no:
            raise typer.Abort
        return True

    return confirm


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        ([], 2, "usage"),
        (["--last", "1h", "--all"], 2, "usage"),
        (["--last", "soon"], 2, "usage"),
        (["--last", "10"], 2, "usage"),
        (["--from", "yesterday"], 1, "input"),
        (["--from", "2026-03-02T09:00:00Z", "--to", "2026-03-02T08:00:00Z"], 2, "usage"),
        (["--entity", "..."], 1, "input"),
    ],
)
def test_wishes_that_say_nothing(
    words: list[str], status: int, code: str, memory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["forget", *words, "--db", str(memory), "--yes"]) == status
    assert capsys.readouterr().err.startswith(f"{code}: ")


def test_no_memory_no_forgetting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["forget", "--all", "--yes", "--db", str(tmp_path / "none.db")]) == 1
    assert capsys.readouterr().err.startswith("storage.unreadable: ")
    assert not (tmp_path / "none.db").exists()


def test_a_reader_finishes_what_was_killed(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store.open(memory, own=True) as store:
        with store.snapshot() as snapshot:
            windows = snapshot.trace.windows()
        forget.ask(store, forget.Wish("range", windows[0].t_start, windows[19].t_end), 1)
    assert main(["episodes", "--db", str(memory), "--json"]) == 0
    assert all(r["t_start"] >= iso(windows[20].t_start, 3600) for r in told(capsys))
    with Store.open(memory, read_only=True) as store, store.snapshot() as snapshot:
        assert store.erasures() == [] and snapshot.trace.count() == 10


def test_pins(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pin", "e1", "w3", "--db", str(memory), "--json"]) == 0
    assert sorted(told(capsys)["pinned"]) == ["e1", "w3"]
    assert main(["pin", "e999", "--db", str(memory)]) == 1
    assert main(["pin", "m1", "--db", str(memory)]) == 1
    assert "storage.not_found: " in capsys.readouterr().err
    assert main(["unpin", "e1", "--db", str(memory)]) == 0
    assert "Pinned: w3." in capsys.readouterr().out
    assert main(["unpin", "e1", "--db", str(memory)]) == 1
    assert main(["prune", "--db", str(memory), "--json"]) == 0
    capsys.readouterr()
    assert main(["forget", "--all", "--yes", "--db", str(memory)]) == 0
    with Store.open(memory) as store, store.holdings() as holdings:
        assert holdings.pins() == [], "what is forgotten is not pinned any more"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("10 min", 600), ("1h", 3600), ("1h30m", 5400), ("2d", 172_800), ("1.5h", 5400)],
)
def test_lengths_of_time(text: str, seconds: float) -> None:
    assert length_of(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "10", "ten minutes", "-5m", "5m or so"])
def test_no_lengths_of_time(text: str) -> None:
    with pytest.raises(UsageError):
        length_of(text)
