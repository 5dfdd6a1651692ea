"""The command line as its owner meets it: what fits is a table, times are the wearer's, foreign files are left alone."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from conftest import make_day, write_trace

from edge.cli import main
from edge.commands import table
from edge.first_run import Answers, ask_owner

Run: TypeAlias = Callable[..., tuple[int, str, str]]
WINTER, SUMMER = timezone(timedelta(hours=1)), timezone(timedelta(hours=2))


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory of two mornings, one on each side of the change to summer time."""
    folder = tmp_path_factory.mktemp("clock")
    for name, zone, month in (("winter", WINTER, 3), ("summer", SUMMER, 4)):
        rows = make_day(random.Random(3), name, datetime(2026, month, 2, 8, 0, tzinfo=zone), 12)
        trace = write_trace(folder / f"{name}.trace.jsonl", rows)
        assert main(["replay", str(trace), "--db", str(folder / "m.db"), "--json"]) == 0
    return folder / "m.db"


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        capfd.readouterr()
        status = main([str(a) for a in arguments])
        told = capfd.readouterr()
        assert "Traceback" not in told.err
        return status, told.out, told.err

    return call


def starts(run: Run, db: Path, *arguments: str) -> list[str]:
    status, out, _ = run("episodes", "--db", db, "--json", *arguments)
    assert status == 0
    return [row["t_start"] for row in json.loads(out)]


def test_a_time_without_a_zone_is_by_the_clock_the_wearer_had_then(run: Run, db: Path) -> None:
    everything = starts(run, db)
    assert {t[-6:] for t in everything} == {"+01:00", "+02:00"}
    for zone in ("+01:00", "+02:00"):
        day = sorted(t for t in everything if t.endswith(zone))
        bare = day[0][:19]
        assert starts(run, db, "--from", bare, "--to", day[0][:10] + " 23:59") == day
        assert starts(run, db, "--from", bare + zone, "--to", day[0][:10] + "T23:59" + zone) == day
    assert starts(run, db, "--from", "2026-03-15") == [t for t in everything if t > "2026-04"]
    assert starts(run, db, "--at", "2026-03-15") == [t for t in everything if t < "2026-04"]


@pytest.mark.parametrize("command", ["timeline", "moments", "views", "intentions", "patterns"])
def test_lines_keep_to_the_width(run: Run, db: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    status, out, _ = run(command, "--db", db)
    assert status == 0
    assert max(map(len, out.splitlines())) <= 60
    assert not any(line != line.rstrip() for line in out.splitlines())


def test_what_forgetting_would_take_is_told_for_a_day_alone(run: Run, db: Path) -> None:
    status, out, _ = run("forget", "--db", db, "--from", "2026-04-01", "--dry-run", "--json")
    told: dict[str, Any] = json.loads(out)
    assert status == 0
    assert (told["windows"], told["windows_cut"]) == (12, 0)


@pytest.mark.parametrize("command", ["encrypt", "decrypt"])
@pytest.mark.parametrize("content", ["another program's", "nothing", "noise"])
def test_a_file_that_is_no_memory_is_not_encrypted(run: Run, tmp_path: Path, command: str, content: str) -> None:
    path, key = tmp_path / "x.db", tmp_path / "key"
    if content == "another program's":
        with closing(sqlite3.connect(path)) as other:
            other.execute("CREATE TABLE songs (name TEXT)")
            other.commit()
    else:
        path.write_bytes(b"" if content == "nothing" else random.Random(1).randbytes(5000))
    before = path.read_bytes()
    status, out, err = run(command, "--db", path, "--key-file", key)
    assert (status, out) == (1, "")
    assert err.startswith("storage.unreadable: ")
    assert path.read_bytes() == before
    assert not key.exists()


BAD: dict[str, tuple[list[str], int]] = {
    "a name no file can have": (["backup", "x" * 300], 1),
    "a port beyond all": (["firmware", "simulate", "--tcp", "127.0.0.1:99999"], 2),
    "a link in the place of a file": (["firmware", "simulate", "--link", "FILE"], 2),
    "a link in no folder": (["firmware", "simulate", "--link", "none/here"], 2),
    "a stretch below none": (["views", "--scale", "-3"], 2),
    "a stretch no column holds": (["views", "--scale", "9" * 30], 2),
    "a length without end": (["forget", "--dry-run", "--last", "9" * 400 + "d"], 2),
    "a silence of ages": (["snooze", "--for", "99999999h"], 2),
    "quiet on no day": (["quiet-hours", "22:00-07:00", "--days", " "], 2),
    "bytes that are no text": (["unpin", "\udcff"], 2),
    "a truth that is none": (["eval", "proactive", "--trace", "FILE", "--truth", "FILE", "--out", "o"], 1),
    "a day that is none": (["timeline", "--from", "2026-02-30"], 1),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_words_are_told_in_a_line(
    run: Run, db: Path, tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mine.txt"
    file.write_text("dear diary\n")
    words, wanted = BAD[case]
    given = [str(file) if w == "FILE" else w for w in words]
    own = [] if words[0] in ("firmware", "eval") else ["--db", str(db)]
    status, out, err = run(*given, *own)
    assert (status, out) == (wanted, "")
    assert err.count("\n") == 1
    assert err.rstrip().endswith((".", "--help."))
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]
    assert file.read_text() == "dear diary\n"


def test_choices_that_are_none(run: Run, db: Path, tmp_path: Path) -> None:
    questions = tmp_path / "q.jsonl"
    asked = {"id": 1, "question": "what is it?", "ask_time": "2026-03-02T09:00:00Z", "choices": 3}
    questions.write_text(json.dumps(asked) + "\n")
    status, _, err = run("eval", "qa", questions, "--out", tmp_path / "o", "--db", db)
    assert status == 1
    assert "line 1" in err
    questions.write_text("\n")
    status, _, err = run("eval", "qa", questions, "--out", tmp_path / "o", "--db", db)
    assert (status, "no question" in err) == (1, True)
    assert not (tmp_path / "o").exists()


def test_an_export_says_what_it_wrote(run: Run, db: Path, tmp_path: Path) -> None:
    status, out, _ = run("export", "--db", db, "--out", tmp_path / "t.jsonl", "--json")
    assert status == 0
    assert json.loads(out) == {"path": str(tmp_path / "t.jsonl"), "lines": 24}
    assert len((tmp_path / "t.jsonl").read_text().splitlines()) == 24


def test_what_a_run_cannot_write_is_told_before_a_memory_is_made(run: Run, tmp_path: Path) -> None:
    film, nowhere = tmp_path / "film.mp4", tmp_path / "none"
    film.write_bytes(b"x")
    for option, name in (("--speaker", "a.wav"), ("--record", "a.jsonl")):
        status, out, err = run("run", "--source", film, "--db", tmp_path / "m.db", option, nowhere / name)
        assert (status, out) == (1, "")
        assert "cannot be written" in err
    status, _, err = run("run", "--source", film, "--db", tmp_path / "m.db", "--speaker", tmp_path / "a.wav")
    assert status == 1
    assert err.startswith("input.media: ")
    assert [p.name for p in tmp_path.iterdir()] == ["film.mp4"]


def test_setup_asks_again_for_what_cannot_be() -> None:
    answers, told = iter(["Sam", "Europe/Nowhere", " Europe/Zurich ", "25-7", "22:00-25:00", "22:00-7:00"]), []
    found = ask_owner(Answers(), lambda *_, **__: next(answers), lambda *_, **__: True, told.append)
    assert (found.name, found.zone, found.quiet, found.consent) == ("Sam", "Europe/Zurich", "22:00-7:00", True)
    assert ["Europe/Nowhere" in told[1], "25-7" in told[2], "22:00-25:00" in told[3]] == [True] * 3


def test_the_version_is_told(run: Run) -> None:
    status, out, _ = run("--version")
    assert status == 0
    assert out.startswith("grove-edge ")


def test_a_table_where_it_fits_else_paragraphs() -> None:
    rows = [["e1", "09:00", "a cup"], ["e12", "10:00", "one two three four five six"]]
    assert table.lines(rows, ["id", "time", "what"], 80) == [
        "id   time   what",
        "─" * 39,
        "e1   09:00  a cup",
        "e12  10:00  one two three four five six",
    ]
    assert table.lines(rows, ["id", "time", "what"], 32)[3:] == [
        "e12  10:00  one two three four",
        "            five six",
    ]
    long = [["e1", "x " * 30, "y " * 30], ["e2", "", "z"]]
    assert table.lines(long, ["id", "a", "b"], 40)[:3] == ["e1", "    " + ("x " * 18)[:-1], "    " + ("x " * 12)[:-1]]
    assert table.lines(long, ["id", "a", "b"], 40)[-3:] == ["", "e2", "    z"]
    wide = table.lines([["日本語" * 20, "a" * 45]], ["a", "b"], 50)
    assert max(sum(2 if c in "日本語" else 1 for c in line) for line in wide) <= 50
