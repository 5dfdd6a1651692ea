"""The commands about the memory's file: what goes out comes in again the same, and every file is for its owner alone."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import stat
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from conftest import make_day, write_trace

from edge.bus import Bus
from edge.cli import main
from edge.config import state_dir
from edge.messages import WindowCommitted
from edge.recorder import Recorder
from storage import Store, cipher
from storage.keyframes import KeyframeFolder, folder_of
from storage.records import Keyframe, Window

BASE = datetime(2026, 3, 2, 7, 0, tzinfo=timezone(timedelta(hours=1)))


def with_frames(folder: Path, name: str, seed: int, hours: float, frames: KeyframeFolder) -> Path:
    rows = make_day(random.Random(seed), name, BASE + timedelta(hours=hours), 12)
    for row in rows[::4]:
        t = int(datetime.fromisoformat(row["t_start"]).timestamp() * 1_000_000)
        kept: Keyframe = frames.save(t, b"\xff\xd8 picture of %s %d" % (name.encode(), t), 4, 4)
        row["keyframes"] = [
            {"t": row["t_start"], "file": kept.file, "sha256": kept.sha256, "width": 4, "height": 4, "size": kept.size}
        ]
    return write_trace(folder / f"{name}.trace.jsonl", rows)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory of recordings that did not come in the order they happened, with frames."""
    folder = tmp_path_factory.mktemp("made")
    path = folder / "data" / "m.db"
    frames = KeyframeFolder(folder_of(path))
    for name, seed, hours in (("x", 0, 0.0), ("late", 1, 40.0), ("early", 2, -30.0)):
        assert main(["replay", str(with_frames(folder, name, seed, hours, frames)), "--db", str(path)]) == 0
    return path.parent


@pytest.fixture
def db(made: Path, tmp_path: Path) -> Path:
    """A copy of it to do things with."""
    shutil.copytree(made, tmp_path / "data")
    return tmp_path / "data" / "m.db"


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "keys" / "key"
    monkeypatch.setenv("GROVE_EDGE_STORAGE__KEY_FILE", str(file))
    return file


def dump(path: Path) -> list[str]:
    with Store.open(path, read_only=True) as store:
        assert store.integrity() == []
        return list(store.dump())


def pictures(path: Path) -> list[bytes]:
    with Store.open(path, read_only=True) as store, store.snapshot() as snapshot:
        found = [KeyframeFolder(folder_of(path)).read(k) for k in snapshot.trace.keyframes()]
    assert len(found) == 9
    return found


def test_a_trace_that_went_out_comes_in_with_the_same_ids(db: Path, tmp_path: Path) -> None:
    out, again = tmp_path / "out.trace.jsonl", tmp_path / "again.trace.jsonl"
    assert main(["export", "--db", str(db), "--out", str(out), "--frames"]) == 0
    other = tmp_path / "other" / "m.db"
    assert main(["import", str(out), "--db", str(other)]) == 0
    assert dump(other) == dump(db)
    assert pictures(other) == pictures(db)
    assert main(["export", "--db", str(other), "--out", str(again), "--frames"]) == 0
    assert again.read_bytes() == out.read_bytes()
    assert main(["import", str(out), "--db", str(other)]) == 0, "a second time it is all there"
    assert dump(other) == dump(db)


def test_an_sqlite_file_that_went_out_comes_in_with_the_same_ids(db: Path, tmp_path: Path) -> None:
    out, other = tmp_path / "out.sqlite", tmp_path / "other" / "m.db"
    assert main(["export", "--db", str(db), "--sqlite", str(out)]) == 0
    with sqlite3.connect(out) as plain:  # any SQLite reads it
        assert plain.execute("SELECT count(*) FROM window").fetchone()[0] == 3 * 12
        assert plain.execute("PRAGMA journal_mode").fetchone()[0] == "delete"
    plain.close()
    assert sorted(p.name for p in tmp_path.glob("out.sqlite*")) == ["out.sqlite", "out.sqlite.keyframes"]
    assert main(["import", str(out), "--db", str(other)]) == 0
    assert dump(other) == dump(db)
    assert pictures(other) == pictures(db)


def test_the_same_holds_when_the_memories_are_encrypted(db: Path, key: Path, tmp_path: Path) -> None:
    lines, frames = dump(db), pictures(db)
    assert main(["encrypt", "--db", str(db), "--key-file", str(key)]) == 0
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert cipher.is_encrypted(db)
    assert (dump(db), pictures(db)) == (lines, frames)
    sqlite, trace = tmp_path / "out.sqlite", tmp_path / "out.trace.jsonl"
    assert main(["export", "--db", str(db), "--sqlite", str(sqlite)]) == 0
    assert main(["export", "--db", str(db), "--out", str(trace), "--frames"]) == 0
    assert not cipher.is_encrypted(sqlite)
    for n, source in enumerate((sqlite, trace)):
        other = tmp_path / f"other{n}" / "m.db"
        assert main(["import", str(source), "--db", str(other)]) == 0
        assert cipher.is_encrypted(other), "a key is configured"
        assert (dump(other), pictures(other)) == (lines, frames)
        assert b"picture" not in b"".join(p.read_bytes() for p in other.parent.rglob("*.jpg"))


def test_another_memory_is_taken_in_by_recording(db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "second" / "m.db"
    trace = with_frames(tmp_path, "second", 7, 60.0, KeyframeFolder(folder_of(other)))
    assert main(["replay", str(trace), "--db", str(other)]) == 0
    capsys.readouterr()
    assert main(["import", str(db), "--db", str(other), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["recordings"], told["windows"], told["keyframes"], told["missing"]) == (3, 36, 9, [])
    with Store.open(other, read_only=True) as store, store.snapshot() as snapshot:
        assert snapshot.trace.recordings() == ["second", "x", "late", "early"]


def test_backup_and_restore(db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = dump(db)
    target = tmp_path / "backups" / "m.db"
    assert main(["backup", str(target), "--db", str(db)]) == 0
    assert dump(target) == lines
    db.write_bytes(os.urandom(20_000))
    assert main(["episodes", "--db", str(db)]) == 1
    assert main(["restore", str(target), "--db", str(db)]) == 1
    capsys.readouterr()
    assert main(["doctor", "--db", str(db), "--json"]) == 3
    broken = [f for f in json.loads(capsys.readouterr().out) if f["part"] == "memory"]
    assert "grove-edge restore" in broken[0]["do"]
    assert main(["restore", str(target), "--db", str(db), "--replace"]) == 0
    assert dump(db) == lines
    assert pictures(db) == pictures(target)


def test_doctor_tells_how_the_files_are(db: Path, key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def told(part: str) -> list[dict[str, Any]]:
        capsys.readouterr()
        main(["doctor", "--db", str(db), "--json"])
        return [f for f in json.loads(capsys.readouterr().out) if f["part"] == part]

    assert told("encryption")[0] | {"what": ""} == {
        "part": "encryption", "state": "degraded", "what": "", "do": "grove-edge encrypt"}  # fmt: skip
    assert main(["encrypt", "--db", str(db), "--key-file", str(key)]) == 0
    assert told("encryption")[0]["state"] == "ok"
    assert told("keyframes") == []
    frames = KeyframeFolder(folder_of(db))
    frames.exchange(frames.files()[0], b"\xff\xd8 plain")
    assert told("keyframes")[0]["do"] == "grove-edge encrypt"
    db.with_name(db.name + ".replaced").write_bytes(b"x")
    assert "replaced" in told("other copy")[0]["what"]


@pytest.mark.parametrize(
    ("variable", "value", "code"),
    [
        ("GROVE_EDGE_STORAGE_KEY", "", "storage.key"),
        ("GROVE_EDGE_STORAGE_KEY", "44" * 32, "storage.key"),
        ("GROVE_EDGE_STORAGE__KEY_FILE", "none", "config.key"),
        ("GROVE_EDGE_STORAGE__KEYRING", "true", "config.key"),
    ],
)
def test_a_key_that_is_no_good_is_told(
    variable: str, value: str, code: str, db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    assert main(["encrypt", "--db", str(db), "--key-file", str(tmp_path / "key")]) == 0
    monkeypatch.setenv(variable, value)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    capsys.readouterr()
    assert main(["episodes", "--db", str(db)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"{code}: ")
    assert error.count("\n") == 1


def test_keys_that_are_too_weak_or_open_to_others_are_refused(
    db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["encrypt", "--db", str(db)]) == 1
    monkeypatch.setenv("GROVE_EDGE_STORAGE_KEY", "short")
    assert main(["encrypt", "--db", str(db)]) == 1
    monkeypatch.delenv("GROVE_EDGE_STORAGE_KEY")
    open_key = tmp_path / "open"
    open_key.write_text("55" * 32)
    open_key.chmod(0o644)
    assert main(["encrypt", "--db", str(db), "--key-file", str(open_key)]) == 1
    assert "chmod 600" in capsys.readouterr().err
    assert not cipher.is_encrypted(db)


def test_a_passphrase_and_a_new_key_work(db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = dump(db)
    monkeypatch.setenv("GROVE_EDGE_STORAGE_KEY", "correct horse battery staple")
    assert main(["encrypt", "--db", str(db)]) == 0
    assert dump(db) == lines
    assert main(["rekey", "--db", str(db)]) == 1
    assert main(["rekey", "--db", str(db), "--new-key-file", str(tmp_path / "key")]) == 0
    assert main(["episodes", "--db", str(db)]) == 1
    monkeypatch.setenv("GROVE_EDGE_STORAGE_KEY", (tmp_path / "key").read_text())
    assert dump(db) == lines
    assert main(["decrypt", "--db", str(db)]) == 0
    monkeypatch.delenv("GROVE_EDGE_STORAGE_KEY")
    assert dump(db) == lines


def test_every_file_and_folder_is_for_its_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Database, log, keyframes, spool, recording, backup, exports, key and logs, with nothing masked by the user."""
    root = tmp_path / "all"
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(variable, str(root / variable.lower()))
    old = os.umask(0)
    try:
        path = root / "data" / "deep" / "m.db"
        trace = with_frames(tmp_path, "r", 1, 0.0, KeyframeFolder(folder_of(path)))
        assert main(["replay", str(trace), "--db", str(path), "--record", str(root / "data" / "again.jsonl")]) == 0
        assert main(["backup", str(root / "backup" / "deep" / "b.db"), "--db", str(path)]) == 0
        assert main(["export", "--db", str(path), "--out", str(root / "data" / "o.jsonl"), "--frames"]) == 0
        assert main(["export", "--db", str(path), "--sqlite", str(root / "data" / "o.sqlite")]) == 0
        assert main(["encrypt", "--db", str(path), "--key-file", str(root / "keys" / "deep" / "key")]) == 0
        assert main(["setup", "--yes", "--name", "Ana", "--consent"]) == 0
        monkeypatch.setenv("GROVE_EDGE_STORAGE_KEY", (root / "keys" / "deep" / "key").read_text())
        bus = Bus(state_dir() / "spool")
        topic = bus.subscribe("windows")
        for n in range(topic.topic.capacity + 2):
            bus.publish(WindowCommitted(Window("picture", n, n + 1, 0)))
        with Store.open(path, own=True) as store, store.transaction() as tx:
            tx.trace.recording("another", "wear")
            Recorder(state_dir() / "r.jsonl", 5.0).close()
            every = [p for p in root.rglob("*") if not p.is_socket()]
            wrong = {
                str(p.relative_to(root)): oct(stat.S_IMODE(p.stat().st_mode))
                for p in every
                if stat.S_IMODE(p.stat().st_mode) != (0o700 if p.is_dir() else 0o600)
            }
            assert wrong == {}
            names = {p.suffix for p in every}
            assert {".db", ".db-wal", ".jpg", ".jsonl", ".sqlite", ".spill", ".toml", ".owner"} <= names
            assert all(b"picture" not in p.read_bytes() for p in every if p.suffix in (".spill", ".db-wal"))
    finally:
        os.umask(old)


@pytest.mark.parametrize("there", [False, True], ids=["new", "old"])
@pytest.mark.parametrize("content", ["a folder", "no name", "half", "magic", "brace", "mute"])
def test_what_is_no_memory_is_refused_in_a_sentence_and_leaves_no_trace(
    content: str, there: bool, db: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Files that begin like a memory or a trace, and memories that do not say how their vectors were made."""
    raw, source, target = db.read_bytes(), tmp_path / "source", tmp_path / "target" / "m.db"
    target.parent.mkdir()
    before = dump(db)
    if there:
        shutil.copy(db, target)
    made = {
        "half": raw[: len(raw) // 2], "magic": b"SQLite format 3\0", "brace": b"{" + bytes(range(128, 256)), "mute": raw,
    }  # fmt: skip
    if content in made:
        source.write_bytes(made[content])
    if content == "mute":
        with closing(sqlite3.connect(source)) as broken:
            broken.execute("UPDATE meta SET value = 'many' WHERE key = 'embedding_dim'")
            broken.commit()
    given = tmp_path if content == "a folder" else "x" * 5000 if content == "no name" else source
    capfd.readouterr()
    assert main(["import", str(given), "--db", str(target)]) == 1
    told = capfd.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert told.err.split(".")[0] in ("input", "storage")
    if there:
        assert dump(target) == before
    else:
        assert not list(target.parent.iterdir())
