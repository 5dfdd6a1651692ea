"""Whatever is given to a command: one line with a code and what to do, exit 1 or 2, no traceback, nothing half written."""

from __future__ import annotations

import io
import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from edge.cli import main
from edge.config import config_path, load
from edge.recorder import check_trace
from storage import EmbeddingSpace, Store

ROOT = Path(__file__).resolve().parents[2]
LINE = re.compile(r"[a-z]+(?:[._][a-z_]+)*: [^\n]{15,}[.!?)]\n")

Row = dict[str, Any]
Run = Callable[..., str]


@pytest.fixture
def fails(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command that must fail; gives its line."""

    def run(*arguments: object, status: int = 1, code: str = "") -> str:
        capfd.readouterr()
        assert main([str(a) for a in arguments]) == status
        told = capfd.readouterr()
        assert told.out == ""
        assert LINE.fullmatch(told.err), told.err
        assert "Traceback" not in told.err
        assert told.err.startswith(code), told.err
        return told.err

    return run


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Path]:
    """Where a memory would be; nothing may be there when the input was bad."""
    path = tmp_path / "memory" / "m.db"
    yield path
    assert not path.exists()
    assert not path.parent.exists() or not list(path.parent.iterdir())


def row(n: int = 0, **more: Any) -> Row:
    start = datetime.fromisoformat("2026-03-02T09:00:00+01:00") + timedelta(seconds=30 * n)
    return {
        "recording": "r",
        "t_start": start.isoformat(),
        "t_end": (start + timedelta(seconds=30)).isoformat(),
        **more,
    }


def said(n: int, when: str, kind: str = "captions") -> Row:
    item: Row = {"t": when, "text": "x"}
    if kind == "speech":
        item["speaker"] = "wearer"
    if kind == "events":
        item = {"t": when, "subject": "wearer", "action": "open", "object": "door"}
    return row(n, **{kind: [item]})


def lines(*rows: Row) -> bytes:
    return "".join(json.dumps(r) + "\n" for r in rows).encode()


GOOD = [row(n) for n in range(3)]
BIG = 10**30

BAD_TRACES: dict[str, tuple[bytes, str]] = {
    "empty file": (b"", "input.trace"),
    "blank lines only": (b"\n \n\n", "input.trace"),
    "not JSON": (b"dear diary\n", "input.trace"),
    "not JSON further on": (lines(*GOOD) + b"{oops\n", "input.trace"),
    "a cut line": (lines(*GOOD)[:-20], "input.trace"),
    "a list": (b"[1, 2]\n", "input.trace"),
    "a number": (b"12\n", "input.trace"),
    "deep nesting": (b"[" * 100_000 + b"\n", "input.trace"),
    "binary": (bytes(range(256)) * 100, "input.trace"),
    "zeros": (bytes(100_000), "input.trace"),
    "UTF-16": (lines(*GOOD).decode().encode("utf-16"), "input.trace"),
    "wrong key": (lines(row(mood="good")), "input.trace"),
    "wrong key of an item": (lines(row(captions=[{"t": row()["t_start"], "text": "x", "who": "me"}])), "input.trace"),
    "missing key": (lines({k: v for k, v in row().items() if k != "t_end"}), "input.trace"),
    "missing key of an item": (lines(row(captions=[{"text": "x"}])), "input.trace"),
    "wrong type": (lines(row(captions="none")), "input.trace"),
    "number for a text": (lines(row(description=3)), "input.trace"),
    "null for a text": (lines(row(description=None)), "input.trace"),
    "wrong maker": (lines(row(made_by="magic")), "input.trace"),
    "wrong profile": (lines(row(profile="sport")), "input.trace"),
    "no name": (lines(row(recording="  ")), "input.trace"),
    "out of order": (lines(GOOD[0], GOOD[2], GOOD[1]), "input.order"),
    "overlapping": (lines(GOOD[0], {**GOOD[1], "t_start": "2026-03-02T09:00:20+01:00"}), "input.order"),
    "duplicated": (lines(GOOD[0], GOOD[0]), "input.order"),
    "ends before it begins": (lines({**row(), "t_end": "2026-03-02T08:00:00+01:00"}), "input.order"),
    "of no length": (lines({**row(), "t_end": row()["t_start"]}), "input.order"),
    "no zone": (lines({**row(), "t_start": "2026-03-02T09:00:00"}), "input.trace"),
    "an item without a zone": (lines(said(0, "2026-03-02T09:00:05")), "input.trace"),
    "zones hours apart": (lines({**row(), "t_end": "2026-03-02T20:00:30+12:00"}), "input.trace"),
    "a zone that is none": (lines({**row(), "t_start": "2026-03-02T09:00:00+25:00"}), "input.trace"),
    "a zone too far": (lines({**row(), "t_start": "2026-03-02T09:00:00+18:00"}), "input.trace"),
    "a named zone": (lines({**row(), "t_start": "2026-03-02T09:00:00 Europe/Zurich"}), "input.trace"),
    "an item in a wrong zone": (lines(said(0, "2026-03-02T09:00:05+02:00")), "input.order"),
    "an item before its window": (lines(said(0, "2026-03-02T08:59:59+01:00")), "input.order"),
    "an event after its window": (lines(said(0, "2026-03-02T09:00:31+01:00", "events")), "input.order"),
    "text outside its window": (lines(said(0, "2026-03-03T09:00:00+01:00", "ocr")), "input.order"),
    "speech outside its window": (lines(said(0, "2026-03-01T09:00:00+01:00", "speech")), "input.order"),
    "no such day": (lines({**row(), "t_start": "2026-02-30T09:00:00+01:00"}), "input.trace"),
    "a leap second": (lines({**row(), "t_start": "2026-03-02T08:59:60+01:00"}), "input.trace"),
    "the year 1": (lines({**row(), "t_start": "0001-01-01T00:00:00+01:00"}), "input.trace"),
    "the year 9999": (lines({**row(), "t_start": "9999-12-31T23:59:59-01:00"}), "input.trace"),
    "a time as a number": (lines({**row(), "t_start": 1772438400}), "input.trace"),
    "a window of an hour": (lines({**row(), "t_end": "2026-03-02T10:00:00+01:00"}), "input.trace"),
    "a count that no column holds": (lines(row(entities=[{"name": "cup", "count": BIG}])), "input.trace"),
    "frames that no column holds": (lines(row(frames=BIG)), "input.trace"),
    "frames below none": (lines(row(frames=-3)), "input.trace"),
    "a battery beyond full": (lines(row(device={"battery": 400})), "input.trace"),
    "half a surrogate": (b'{"recording": "\\ud800", "t_start": "x", "t_end": "y"}\n', "input.trace"),
    "a key twice over": (b'{"recording": "a"}{"recording": "b"}\n', "input.trace"),
    "a line of ten megabytes": (lines(row(description="x" * 10_000_000)), "input.trace"),
}


@pytest.mark.parametrize("case", BAD_TRACES)
def test_a_bad_trace(case: str, fails: Run, db: Path, tmp_path: Path) -> None:
    content, code = BAD_TRACES[case]
    trace = tmp_path / "t.trace.jsonl"
    trace.write_bytes(content)
    copy = tmp_path / "copy.jsonl"
    told = fails("replay", trace, "--db", db, "--record", copy, code=code)
    assert "t.trace.jsonl" in told
    assert not copy.exists()


def test_a_trace_that_is_no_file(fails: Run, db: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for place in ("none.trace.jsonl", "folder", "", "x" * 5000, "folder/\n/x"):
        fails("replay", tmp_path / place if place else "", "--db", db, code="input.missing")


def test_a_megabyte_of_caption_is_not_bad(db: Path, tmp_path: Path) -> None:
    trace = tmp_path / "t.trace.jsonl"
    trace.write_bytes(lines(row(captions=[{"t": row()["t_start"], "text": ("x" * 99 + " ") * 10_000}]), row(1)))
    assert check_trace(trace).windows == 2
    other = tmp_path / "big.db"
    assert main(["replay", str(trace), "--db", str(other), "--json"]) == 0
    with Store.open(other, read_only=True) as store, store.snapshot() as snapshot:
        assert len(snapshot.trace.windows()[0].captions[0].text) == 1_000_000
        assert snapshot.episodes.count() == 1


# --- the memory's file ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with a little in it."""
    folder = tmp_path_factory.mktemp("memory")
    (folder / "t.jsonl").write_bytes(lines(*(said(n, row(n)["t_start"], "events") for n in range(4))))
    assert main(["replay", str(folder / "t.jsonl"), "--db", str(folder / "m.db"), "--json"]) == 0
    return folder / "m.db"


READS = [["ask", "when did I open the door?"], ["timeline"], ["episodes"], ["moments"], ["patterns"], ["intentions"],
         ["alerts"], ["why", "a1"], ["export"], ["export", "--canonical"]]  # fmt: skip


@pytest.mark.parametrize("command", READS, ids=" ".join)
def test_a_memory_that_is_not_there(command: list[str], fails: Run, db: Path, tmp_path: Path) -> None:
    fails(*command, "--db", db, code="storage.unreadable")
    empty = tmp_path / "empty.db"
    empty.touch()
    fails(*command, "--db", empty, code="storage.unreadable")
    assert empty.stat().st_size == 0
    text = tmp_path / "text.db"
    text.write_text("dear diary" * 1000)
    fails(*command, "--db", text, code="storage.unreadable")
    fails(*command, "--db", tmp_path, code="storage.un")
    fails(*command, "--db", "", code="storage.un")
    fails(*command, "--db", text / "m.db", code="storage.un")
    fails(*command, "--db", tmp_path / ("x" * 400), code="storage.un")


def test_a_memory_that_cannot_be_written(fails: Run, tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    trace.write_bytes(lines(*GOOD))
    blocked = tmp_path / "file"
    blocked.write_text("x")
    for place in (
        blocked / "m.db",
        blocked / "a" / "m.db",
        tmp_path,
        "/proc/m.db",
        "/dev/null/m.db",
        tmp_path / ("x" * 400),
    ):
        fails("replay", trace, "--db", place, code="storage.unwritable")
    fails("replay", trace, "--db", blocked, code="storage.unreadable")
    assert blocked.read_text() == "x"


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(fails: Run, tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    trace.write_bytes(lines(*GOOD))
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    fails("replay", trace, "--db", closed / "m.db", code="storage.unwritable")


def test_a_memory_of_another_embedding(fails: Run, tmp_path: Path) -> None:
    trace, path = tmp_path / "t.jsonl", tmp_path / "m.db"
    trace.write_bytes(lines(*GOOD))
    Store.open(path, space=EmbeddingSpace("minilm", 384)).close()
    assert "models.text_embedding" in fails("replay", trace, "--db", path, code="storage.unreadable")


def test_a_memory_that_is_being_grown(fails: Run, tmp_path: Path) -> None:
    trace, path = tmp_path / "t.jsonl", tmp_path / "m.db"
    trace.write_bytes(lines(*GOOD))
    with Store.open(path, space=EmbeddingSpace("wordllama-256", 256), own=True):
        fails("replay", trace, "--db", path, code="storage.locked")


# --- what is asked --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    ["", "   ", "\t\n", "?!?", "12345", "🚀🚀🚀", "東京はどこですか", "x " * 2000, "\udcff\udcfe", "--", "'\"`;"],
)
def test_a_nonsense_question(question: str, fails: Run, memory: Path) -> None:
    fails("ask", "--db", memory, "--", question, code="input.question")


@pytest.mark.parametrize(
    "question", ["blorp the frumious zibble?", "when did I \udcff?", "when is \x1b[31m red?", 'NEAR(" OR *', "x" * 1999]
)
def test_a_question_about_nothing_is_answered_honestly(
    question: str, memory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["ask", question, "--db", str(memory), "--json"]) == 0
    told = capfd.readouterr()
    assert json.loads(told.out)["value"] in (None, [], 0)
    assert told.err == ""


@pytest.mark.parametrize(
    "when",
    ["", "yesterday", "2026-02-30", "2026-03-02T9", "2026-13-02T09:00:00Z", "9999-12-31T23:59:59Z", "-1", "nan"],
)
def test_a_time_that_is_none(when: str, fails: Run, memory: Path) -> None:
    for command in (
        ["ask", "when did I open the door?", "--at"],
        ["timeline", "--from"],
        ["episodes", "--to"],
        ["export", "--at"],
    ):
        fails(*command[:-1], f"{command[-1]}={when}", "--db", memory, code="input")


@pytest.mark.parametrize("ref", ["", "a", "3", "e1", "a-1", "a²", "a" + "9" * 40, "a1; DROP TABLE service", "a 1"])
def test_an_id_that_is_none(ref: str, fails: Run, memory: Path) -> None:
    fails("why", "--db", memory, "--", ref, status=2, code="usage")


def test_an_id_that_is_not_there(fails: Run, memory: Path) -> None:
    assert "a99" in fails("why", "a99", "--db", memory, code="storage.not_found")


@pytest.mark.parametrize(
    "arguments",
    [["fly"], ["replay"], ["replay", "a", "b"], ["replay", "a", "--nope"], ["ask"], ["ask", "x", "--policy", "magic"], ["run", "--profile", "sport"],
     ["run", "--domain", "space"], ["run", "--speed", "warp"], ["run", "--duration", "soon"], ["run", "--duration", "0"], ["run", "--duration", "nan"],
     ["run", "--duration", "inf"], ["replay", "a", "--speed", "2x"], ["replay", "a", "--profile", "x"], ["why"], ["models", "fly"], ["models", "pull"],
     ["eval", "qa"], ["serve", "--port", "0"], ["serve", "--port", "70000"], ["serve", "--port", "http"], ["export", "--out"], ["--nope"],
     ["why", "a1", "a2"]],
    ids=" ".join,
)  # fmt: skip
def test_a_command_used_wrongly(arguments: list[str], fails: Run) -> None:
    assert "grove-edge" in fails(*arguments, status=2, code="usage")


@pytest.mark.parametrize("arguments", [[], ["models"], ["eval"]], ids=" ".join)
def test_a_command_given_nothing_shows_its_help(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    told = capfd.readouterr()
    assert told.err == ""
    assert told.out.startswith("Usage: grove-edge")


# --- settings -------------------------------------------------------------------------------------------------------

BAD_SETTINGS = {
    "wrong section": "[memry]\nprofile = 'wear'\n",
    "wrong key": "[memory]\nwindow = 30\n",
    "wrong key below": "[memory.wear]\nwindow = 30\n",
    "wrong value": "[memory]\nprofile = 'sport'\n",
    "wrong type": "[memory]\nmoment_ceiling = 'many'\n",
    "out of range": "[capture]\nwidth = 3\n",
    "a value for a section": "memory = 3\n",
    "a value for the owner": "owner = 'me'\n",
    "not TOML": "memory: profile\n",
    "a key twice": "[owner]\nname = 'a'\nname = 'b'\n",
    "wrong hours": "[alerts.quiet]\nstart = '25:00'\n",
    "a key for the library": "_env_file = '/etc/passwd'\n",
    "a list": "owner = [1, 2]\n",
}


@pytest.mark.parametrize("case", BAD_SETTINGS)
def test_bad_settings(case: str, fails: Run, db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config_path().parent.mkdir(parents=True)
    config_path().write_text(BAD_SETTINGS[case], encoding="utf-8")
    trace = tmp_path / "t.jsonl"
    trace.write_bytes(lines(*GOOD))
    monkeypatch.setenv("GROVE_EDGE_OWNER_NAME", "Ana")
    for command in (["replay", trace], ["run", "--source", trace], ["doctor"], ["ask", "when?"], ["serve"]):
        extra = [] if command == ["serve"] else ["--db", db]
        fails(*command, *extra, code="config.key")


@pytest.mark.parametrize("content", [b"\xff\xfe", b"\x00"])
def test_settings_that_are_no_text(content: bytes, fails: Run) -> None:
    config_path().parent.mkdir(parents=True)
    config_path().write_bytes(content)
    fails("doctor", code="config.key")
    fails("setup", "--yes", "--name", "Ana", code="config.key")
    assert config_path().read_bytes() == content


@pytest.mark.parametrize(
    ("variable", "value"),
    [("GROVE_EDGE_NOPE", "1"), ("GROVE_EDGE_MEMORY__NOPE", "1"), ("GROVE_EDGE_MEMORY__PROFILE", "sport"),
     ("GROVE_EDGE_MEMORY", "{"), ("GROVE_EDGE_MEMORY__WEAR", "{"), ("GROVE_EDGE_CAPTURE__WIDTH", "wide"), ("GROVE_EDGE_CONFIG", "/none/x.toml"),
     ("GROVE_EDGE_CONFIG", "/")],
)  # fmt: skip
def test_a_bad_environment(variable: str, value: str, fails: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, value)
    fails("doctor", code="config.key")


# --- run, doctor, setup ---------------------------------------------------------------------------------------------


def test_a_source_that_is_none(fails: Run, db: Path, tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("dear diary\n" * 200)
    noise = tmp_path / "noise.mp4"
    noise.write_bytes(bytes(range(256)) * 200)
    empty = tmp_path / "empty.mp4"
    empty.touch()
    folder = tmp_path / "folder"
    folder.mkdir()
    quiet = ["--mic", "none", "--speaker", "none", "--db", db]
    for source in (text, noise, empty, folder):
        fails("run", "--source", source, *quiet, code="input.media")
    fails("run", "--source", tmp_path / "none.mp4", *quiet, code="input.missing")
    fails("run", "--source", "camera", "--start", "2026-03-02T09:00:00Z", *quiet, status=2, code="usage")
    fails("run", "--source", text, "--start", "noon", *quiet, code="input")
    fails("run", "--source", text, "--start", "2026-03-02T09:00:00", *quiet, code="input")


def test_sound_and_record_that_cannot_be(fails: Run, db: Path, tmp_path: Path, image: Path) -> None:
    base = ["run", "--source", image, "--speaker", "none", "--db", db]
    fails(*base, "--mic", tmp_path / "none.wav", code="input.missing")
    fails(*base, "--mic", image, code="input.media")
    for place in (tmp_path, tmp_path / "none" / "t.jsonl", image):
        fails(*base, "--mic", "none", "--record", place, code="input")


@pytest.fixture
def image(tmp_path: Path) -> Path:
    import cv2
    import numpy as np

    path = tmp_path / "photo.png"
    cv2.imwrite(str(path), np.full((48, 64, 3), 90, np.uint8))
    return path


def test_doctor_tells_a_bad_memory(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.db"
    path.write_text("dear diary" * 1000)
    assert main(["doctor", "--db", str(path), "--json"]) == 3
    found = {f["part"]: f for f in json.loads(capfd.readouterr().out)}
    assert found["memory"]["state"] == "broken"
    assert found["memory"]["do"]


def test_setup_keeps_what_was_there(capfd: pytest.CaptureFixture[str]) -> None:
    path = config_path()
    path.parent.mkdir(parents=True)
    path.write_text(
        '# mine\n[owner]  # me\nname = "Old"  # it was\n\n[memory]\nprofile = "clip"\n\n[capture]\nmic = "none" # quiet\n',
        encoding="utf-8",
    )
    path.chmod(0o644)
    assert (
        main(
            [
                "setup",
                "--yes",
                "--name",
                'Zoë "Z" \\ O\'Neil',
                "--zone",
                "Europe/Zurich",
                "--quiet-hours",
                "9:30-17:00",
                "--consent",
            ]
        )
        == 0
    )
    capfd.readouterr()
    text = path.read_text(encoding="utf-8")
    for kept in ("# mine", "[owner]  # me", '[memory]\nprofile = "clip"', 'mic = "none" # quiet'):
        assert kept in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    config = load()
    assert (config.owner.name, config.owner.zone, config.owner.consent) == ('Zoë "Z" \\ O\'Neil', "Europe/Zurich", True)
    assert (config.alerts.quiet.start, config.alerts.quiet.end) == ("09:30", "17:00")
    assert (config.memory.profile, config.capture.mic) == ("clip", "none")
    assert main(["setup", "--yes", "--name", "Ana"]) == 0
    assert load().owner.name == "Ana"
    assert load().owner.zone == "Europe/Zurich", "what was not given stays"
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_setup_on_a_fresh_machine_makes_private_settings(capfd: pytest.CaptureFixture[str]) -> None:
    old = os.umask(0)
    try:
        assert main(["setup", "--yes", "--json"]) == 0
    finally:
        os.umask(old)
    assert set(json.loads(capfd.readouterr().out)) == {"settings", "camera", "sound"}
    assert stat.S_IMODE(config_path().stat().st_mode) == 0o600
    assert stat.S_IMODE(config_path().parent.stat().st_mode) == 0o700
    load()


@pytest.mark.parametrize(
    "options",
    [["--zone", "Middle/Earth"], ["--zone", "Europe"], ["--zone", "../../etc/passwd"], ["--zone", "x" * 400], ["--quiet-hours", "late"],
     ["--quiet-hours", "22-7"], ["--quiet-hours", "29:00-07:00"], ["--name", "x" * 5000]],
    ids=lambda o: " ".join(o)[:40],
)  # fmt: skip
def test_bad_answers_to_setup_write_nothing(options: list[str], fails: Run) -> None:
    fails("setup", "--yes", *options, code="config.key")
    assert not config_path().exists()


@pytest.mark.parametrize("text", ["owner = {name = 'a'}\n", "[owner\n", "owner = 3\n", "[memory]\nnope = 1\n"])
def test_setup_does_not_make_settings_that_cannot_be_read(text: str, fails: Run) -> None:
    config_path().parent.mkdir(parents=True)
    config_path().write_text(text, encoding="utf-8")
    fails("setup", "--yes", "--name", "Ana", code="config.key")
    assert config_path().read_text(encoding="utf-8") == text
    assert len(list(config_path().parent.iterdir())) == 1


def test_setup_without_anybody_to_ask(
    fails: Run, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["setup"]) == 1
    assert capfd.readouterr().err.splitlines()[-1].startswith("aborted: ")
    assert not config_path().exists()


def test_settings_that_cannot_be_written(fails: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("x")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(blocked))
    fails("setup", "--yes", code="config.key")


# --- the rest -------------------------------------------------------------------------------------------------------


def test_output_that_cannot_be_written(fails: Run, memory: Path, tmp_path: Path) -> None:
    questions = tmp_path / "q.jsonl"
    questions.write_text('{"id": 1, "question": "when did I open the door?", "ask_time": "2026-03-02T10:00:00Z"}\n')
    for place in (tmp_path, tmp_path / "none" / "x", questions / "x", tmp_path / ("x" * 300)):
        fails("export", "--db", memory, "--out", place, code="input")
        fails("eval", "qa", questions, "--db", memory, "--out", place, code="input")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["q.jsonl"]


@pytest.mark.parametrize(
    "content",
    [b"dear diary\n", b"[1]\n", b'{"id": 1}\n', b"\xff\xfe\n", b'{"id": 1, "question": "when?", "ask_time": "noon"}\n'],
)
def test_bad_questions(content: bytes, fails: Run, memory: Path, tmp_path: Path) -> None:
    questions, out = tmp_path / "q.jsonl", tmp_path / "a.jsonl"
    questions.write_bytes(content)
    fails("eval", "qa", questions, "--db", memory, "--out", out, code="input")
    assert not out.exists()
    fails("eval", "qa", tmp_path / "none", "--db", memory, "--out", out, code="input.missing")


def test_an_export_is_whole_and_private(memory: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.jsonl"
    out.write_text("old")
    assert main(["export", "--db", str(memory), "--out", str(out)]) == 0
    assert check_trace(out).windows == 4
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert main(["export", "--db", str(memory), "--out", "/dev/null", "--canonical"]) == 0


def test_words_to_a_device_that_does_not_run(fails: Run) -> None:
    fails("stop", code="control.none")
    for words in (
        ["pause"],
        ["resume"],
        ["frequency", "low"],
        ["snooze", "--for", "1h"],
        ["dismiss"],
        ["power", "saver"],
    ):
        fails(*words, code="storage.unreadable")  # a wish is kept by the memory, and there is none yet
    fails("snooze", "--for", "soon", code="usage", status=2)
    fails("quiet-hours", "22-7", code="usage", status=2)


def test_models_that_are_not(fails: Run) -> None:
    fails("models", "verify", "nope", code="model")
    fails("models", "pull", "nope", code="model")


def test_a_real_process_says_the_same(tmp_path: Path) -> None:
    """As a program: status, one line, and a reader that has gone away."""
    told = subprocess.run(
        [sys.executable, "-m", "edge.cli", "replay", str(tmp_path / "none")],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert (told.returncode, told.stdout) == (1, "")
    assert LINE.fullmatch(told.stderr)


def test_a_reader_that_goes_away_is_no_error(memory: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "edge.cli", "export", "--canonical", "--db", str(memory)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(300) == 0
