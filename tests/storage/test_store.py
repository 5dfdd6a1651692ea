"""The file itself: made private, refused when it is not ours, whole after a full disk, shared by readers and a writer."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from storage_support import BASE, DIM, SPACE, US, grow

import storage.connect
from storage import EmbeddingSpace, Store
from storage.connect import connect
from storage.errors import (
    BadRecord,
    BadVector,
    NotFound,
    SchemaTooNew,
    StorageError,
    StoreLocked,
    StoreUnreadable,
    StoreUnwritable,
)
from storage.health import HealthEvent
from storage.migrations import MIGRATIONS, missing
from storage.records import Caption, Episode, Event, Moment, Pattern, Window

ROOT = Path(__file__).resolve().parents[2]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def note(store: Store, t: int) -> None:
    with store.transaction() as tx:
        tx.health.add(HealthEvent(t, "camera", "down", "x" * 100))


def noted(store: Store) -> list[int]:
    with store.snapshot() as snapshot:
        return [e.t for e in snapshot.health.recent(10_000)]


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


# --- made private ---------------------------------------------------------------------------------------------------


def test_files_are_for_their_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        path = tmp_path / "new" / "m.db"
        with Store.open(path, space=SPACE, own=True) as store:
            note(store, 1)
            assert noted(store) == [1]
            files = sorted(p.name for p in path.parent.iterdir())
            assert {"m.db", "m.db-wal", "m.db-shm", "m.db.owner"} == set(files)
            assert {mode(path.parent / name) for name in files} == {0o600}
            assert mode(path.parent) == 0o700
    finally:
        os.umask(old)


# --- migrations -----------------------------------------------------------------------------------------------------


def test_each_step_is_recorded_once(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    for _ in range(2):
        with Store.open(path, space=SPACE) as store:
            rows = store._writer.execute("SELECT name, position FROM migration ORDER BY position").fetchall()
            assert [tuple(r) for r in rows] == [(step.__name__, n) for n, step in enumerate(MIGRATIONS, 1)]
            assert missing(store._writer) == []


def test_steps_are_named_in_the_order_they_came() -> None:
    assert [step.__name__[:4] for step in MIGRATIONS] == [f"m{n:03d}" for n in range(1, len(MIGRATIONS) + 1)]
    assert all(step.__doc__ for step in MIGRATIONS)


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with Store.open(path, space=SPACE) as store:
        store._writer.execute("INSERT INTO migration VALUES ('m900_telepathy', 900)")
    before = path.read_bytes()
    for options in ({}, {"read_only": True}, {"create": False}):
        with pytest.raises(SchemaTooNew, match=r"m900_telepathy.*update grove-edge"):
            Store.open(path, **options)
    assert path.read_bytes() == before


def failing(db: Any, dim: int) -> None:
    db.execute("CREATE TABLE half(id INTEGER PRIMARY KEY)")
    db.execute("INSERT INTO half VALUES (1)")
    raise RuntimeError("the power went")


def test_a_step_that_fails_half_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.db"
    with Store.open(path, space=SPACE) as store:
        note(store, 1)
        schema = store._writer.execute("SELECT name FROM sqlite_master ORDER BY 1").fetchall()
    monkeypatch.setattr("storage.migrations.MIGRATIONS", (*MIGRATIONS, failing))
    with pytest.raises(RuntimeError):
        Store.open(path)
    monkeypatch.undo()
    with Store.open(path, space=SPACE) as store:
        assert store._writer.execute("SELECT name FROM sqlite_master ORDER BY 1").fetchall() == schema
        assert noted(store) == [1]
        assert store.integrity() == []


def test_a_first_step_that_fails_leaves_an_empty_file_that_can_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.db"
    monkeypatch.setattr("storage.migrations.MIGRATIONS", (failing,))
    with pytest.raises(RuntimeError):
        Store.open(path, space=SPACE)
    monkeypatch.undo()
    db = connect(path)
    assert db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    db.close()
    with Store.open(path, space=SPACE) as store:
        assert store.space == SPACE


def test_an_older_memory_is_brought_up_to_date_even_by_a_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def m998_mood(db: Any, dim: int) -> None:
        """A step of tomorrow."""
        db.execute("CREATE TABLE mood(id INTEGER PRIMARY KEY)")

    path = tmp_path / "m.db"
    with Store.open(path, space=SPACE) as store:
        note(store, 5)
    monkeypatch.setattr("storage.migrations.MIGRATIONS", (*MIGRATIONS, m998_mood))
    with Store.open(path, read_only=True) as store:
        assert noted(store) == [5]
        assert missing(store._writer) == []


@pytest.mark.parametrize("old", [False, True])
def test_processes_that_make_or_update_the_same_file_agree(
    old: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three at once; of a file of old, one copy is kept, as it was, and none of half an update."""
    code = (
        "import sys; from pathlib import Path; from storage import EmbeddingSpace, Store\n"
        "for n in range(20):\n"
        "    with Store.open(Path(sys.argv[1]) / f'{n}.db', space=EmbeddingSpace('made-8', 8)) as s: print(s.space.dim)\n"
    )
    if old:
        monkeypatch.setattr("storage.migrations.MIGRATIONS", MIGRATIONS[:1])
        for n in range(20):
            Store.open(tmp_path / f"{n}.db", space=EmbeddingSpace("made-8", 8)).close()
    makers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(3)
    ]
    told = [maker.communicate(timeout=120)[0] for maker in makers]
    assert told == ["8\n" * 20] * 3
    kept = sorted(p.name for p in tmp_path.iterdir() if p.suffix not in (".db", ".db-wal", ".db-shm"))
    assert kept == sorted(f"{n}.db.before-{MIGRATIONS[1].__name__}" for n in range(20 if old else 0))


def test_a_new_file_that_somebody_reads_for_a_moment_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite does not wait for readers when it is to start a write-ahead log.

    The reader is a process of its own: in one process, whoever closes the file drops the locks of all.
    """
    path = tmp_path / "memory.db"
    code = (
        "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "db.execute('PRAGMA user_version = 0'); db.execute('BEGIN')\n"
        "db.execute('SELECT count(*) FROM sqlite_master').fetchone(); print('reading', flush=True)\n"
        "sys.stdin.readline(); db.execute('ROLLBACK'); print('done', flush=True)"
    )
    reader = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert reader.stdin is not None and reader.stdout is not None
    waits = iter(["", "end\n"])

    def pause() -> None:
        if message := next(waits):
            told, _ = reader.communicate(message, timeout=60)
            assert told == "done\n"

    monkeypatch.setattr(storage.connect, "_pause", pause)
    try:
        assert reader.stdout.readline() == "reading\n"
        with Store.open(path, space=EmbeddingSpace("made-8", 8)) as store:
            assert store.space.dim == 8
    finally:
        reader.kill()
        reader.wait()
    assert next(waits, None) is None


# --- refused --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("what", ["folder", "pipe", "device"])
def test_what_is_no_file_is_refused_and_left_alone(what: str, read_only: bool, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/null")
    with pytest.raises(StoreUnwritable, match=r"is (a folder|no file but .*): give --db the path of a file"):
        Store.open(path, read_only=read_only, space=SPACE)
    assert [p.name for p in tmp_path.iterdir()] == ["memory.db"]


def a_foreign_database(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE meta(key TEXT, value TEXT)")
        db.execute("INSERT INTO meta VALUES ('embedding_id', 'mine')")
    db.close()


def a_text(path: Path) -> None:
    path.write_text("dear diary, " * 500)


def a_word(path: Path) -> None:
    path.write_text("x")


def noise(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 64)


def a_torn_one(path: Path) -> None:
    with Store.open(path, space=SPACE) as store:
        grow(store, 1, 30)
    data = bytearray(path.read_bytes())
    for page in range(1, len(data) // 4096, 2):
        data[page * 4096 : page * 4096 + 2048] = b"\xa5" * 2048
    path.write_bytes(data)


@pytest.mark.parametrize("make", [a_foreign_database, a_text, a_word, noise])
@pytest.mark.parametrize("options", [{}, {"read_only": True}, {"create": False}, {"own": True}])
def test_what_is_not_ours_is_refused_and_left_alone(tmp_path: Path, make: Any, options: dict[str, bool]) -> None:
    path = tmp_path / "m.db"
    make(path)
    before = path.read_bytes()
    with pytest.raises(StoreUnreadable, match=r"m\.db.*(choose another --db|run or replay something)"):
        Store.open(path, space=SPACE, **options)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.db"]


def test_damage_is_told_as_such(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    a_torn_one(path)
    try:
        with Store.open(path, read_only=True) as store:
            wrong = store.integrity()
    except StoreUnreadable as error:
        wrong = [str(error)]
    assert wrong


def test_whatever_a_damaged_file_holds_it_fails_with_a_sentence(tmp_path: Path) -> None:
    """Pages of zeros and of noise, as a dying card gives them: it works, or one of our errors says why.

    In a process of its own, since sqlite-vec is no match for every damage to its own tables.
    """
    code = "import sys; from pathlib import Path; import storage_support as s; s.read_damaged(Path(sys.argv[1]), 24)"
    told = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT / "tests", env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (told.returncode, told.stderr) == (0, "")
    codes = told.stdout.split()
    assert "storage.unreadable" in codes
    assert set(codes) <= {"ok", "storage.unreadable", "storage.error", "storage.not_found", "storage.schema"}


def test_another_embedding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    Store.open(path, space=SPACE).close()
    for other in (EmbeddingSpace("other", DIM), EmbeddingSpace("made-8", 16)):
        with pytest.raises(StoreUnreadable, match=r"made-8 \(8-d\).*models\.text_embedding"):
            Store.open(path, space=other)
    with Store.open(path) as store:
        assert store.space == SPACE, "who does not mind gets what is there"


@pytest.mark.parametrize("name", ["none/m.db", "m.db"])
def test_a_memory_that_is_not_there_is_not_made_by_reading(tmp_path: Path, name: str) -> None:
    for options in ({"read_only": True}, {"create": False}):
        with pytest.raises(StoreUnreadable, match="There is no memory"):
            Store.open(tmp_path / name, **options)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_holds_no_memory_yet(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    path.touch(mode=0o600)
    for options in ({"read_only": True}, {"create": False}):
        with pytest.raises(StoreUnreadable, match="holds no memory"):
            Store.open(path, **options)
    assert path.stat().st_size == 0
    with Store.open(path, space=SPACE) as store:
        note(store, 1)


@pytest.mark.parametrize("place", ["a file/m.db", "", "x" * 300 + ".db"])
def test_a_path_that_cannot_be_is_one_sentence(tmp_path: Path, place: str) -> None:
    (tmp_path / "a file").touch()
    for options in ({}, {"read_only": True}):
        with pytest.raises(StorageError) as caught:
            Store.open(tmp_path / place, space=SPACE, **options)
        assert caught.value.code in ("storage.unwritable", "storage.unreadable")


def a_window(t: int = BASE, **more: Any) -> Window:
    return Window("r", t, t + 30 * US, 0, **more)


@pytest.mark.parametrize(
    "bad",
    [np.zeros(DIM + 1), np.zeros(DIM - 1), np.zeros((DIM, 1)), np.full(DIM, np.nan), np.full(DIM, -np.inf),
     np.asarray([0.1] * (DIM - 1) + [np.nan]), np.asarray([1e39] * DIM)],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_bad_vectors_are_refused_in_every_stratum_and_nothing_is_stored(bad: Any) -> None:
    good = np.ones(DIM, np.float32)
    with Store.open(None, space=SPACE) as store:
        with store.transaction() as tx:
            w = tx.trace.add(a_window(), good)
            e = tx.episodes.add(Episode("r", BASE, BASE + 1, 0, "s", "s", (), "d", "", w, w, "gap", BASE), good)
        before = list(store.dump())
        writes = [
            lambda tx: tx.trace.add(a_window(BASE + 60 * US), bad),
            lambda tx: tx.episodes.add(Episode("r", BASE, BASE + 1, 0, "", "", (), "", "", w, w, "gap", BASE), bad),
            lambda tx: tx.moments.add(Moment(e, w, BASE, 0, "t", (), "core", 1.0, "", "", BASE), bad),
            lambda tx: tx.patterns.put(Pattern("thread", "t", "s", (), 1.0, 1, 1, 1.0, None, None, BASE), bad),
        ]
        for write in writes:
            with pytest.raises(BadVector), store.transaction() as tx:
                write(tx)
            assert list(store.dump()) == before


@pytest.mark.parametrize("t", [BASE - 1, BASE + 30 * US + 1])
def test_an_item_outside_its_window_is_refused(t: int) -> None:
    with Store.open(None, space=SPACE) as store:
        for more in ({"captions": (Caption(t, "x"),)}, {"events": (Event(t, "a", "b", "c"),)}):
            with pytest.raises(BadRecord), store.transaction() as tx:
                tx.trace.add(a_window(**more), np.ones(DIM, np.float32))
        assert list(store.dump()) == []


def test_what_is_not_there_is_not_found() -> None:
    with Store.open(None, space=SPACE) as store, store.snapshot() as s:
        for read in (s.trace.window, s.episodes.get, s.moments.get, s.patterns.get, s.intentions.get, s.services.get):
            with pytest.raises(NotFound, match="There is no"):
                read(4)


# --- whole ----------------------------------------------------------------------------------------------------------


def test_an_error_inside_a_transaction_takes_all_of_it_back() -> None:
    with Store.open(None, space=SPACE) as store:
        note(store, 1)
        with pytest.raises(RuntimeError), store.transaction() as tx:
            tx.health.add(HealthEvent(2, "a", "b", "c"))
            raise RuntimeError
        assert noted(store) == [1]
        note(store, 3)
        assert noted(store) == [1, 3]


def test_a_full_disk_is_said_and_nothing_is_half_written(tmp_path: Path) -> None:
    with Store.open(tmp_path / "m.db", space=SPACE) as store:
        note(store, 1)
        pages = store._writer.execute("PRAGMA page_count").fetchone()[0]
        store._writer.execute(f"PRAGMA max_page_count = {pages + 2}")
        t = 1
        with pytest.raises(StoreUnwritable, match="No space left"):
            for t in count(2):
                with store.transaction() as tx:
                    for _ in range(10):
                        tx.health.add(HealthEvent(t, "camera", "down", "x" * 500))
        assert noted(store).count(t) == 0
        assert noted(store).count(t - 1) in (1, 10)
        store._writer.execute(f"PRAGMA max_page_count = {pages + 5000}")
        note(store, 10**6)
        assert noted(store)[-1] == 10**6
        assert store.integrity() == []


def test_a_closed_memory_says_so(tmp_path: Path) -> None:
    for path in (tmp_path / "m.db", None):
        store = Store.open(path, space=SPACE)
        store.close()
        store.close()
        with pytest.raises(StorageError), store.snapshot() as snapshot:
            snapshot.trace.count()
        with pytest.raises(StorageError), store.transaction() as tx:
            tx.health.add(HealthEvent(1, "a", "b", "c"))


def test_orphans_are_found(tmp_path: Path) -> None:
    with Store.open(tmp_path / "m.db", space=SPACE) as store:
        grow(store, 2, 40)
        assert store.integrity() == []
        db = store._writer
        db.execute("PRAGMA foreign_keys = OFF")
        db.execute("DELETE FROM moment WHERE id = 1")
        wrong = " / ".join(store.integrity())
        assert "1 vectors of moment_vec have no row in moment" in wrong
        assert "moment_near holds" in wrong
        db.execute("DELETE FROM window WHERE id = 1")
        assert "orphan: ('item'" in " / ".join(store.integrity())


# --- shared ---------------------------------------------------------------------------------------------------------


@contextmanager
def writing_elsewhere(path: Path) -> Iterator[None]:
    """Another process that has begun to write and does not finish."""
    code = (
        "import sys; from pathlib import Path; from storage.connect import connect\n"
        "db = connect(Path(sys.argv[1])); db.execute('BEGIN IMMEDIATE')\n"
        "db.execute(\"INSERT INTO health_event(t, part, state, detail) VALUES (999, 'x', 'y', 'z')\")\n"
        "print('begun', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "begun\n"
        try:
            yield
        finally:
            other.kill()


def test_a_memory_another_process_writes_is_locked_for_writers_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage.connect, "BUSY_MS", 200)
    path = tmp_path / "m.db"
    with Store.open(path, space=SPACE) as store:
        note(store, 1)
        with writing_elsewhere(path):
            with pytest.raises(StoreLocked, match="another process: stop it"):
                note(store, 2)
            assert noted(store) == [1], "readers see the last commit"
            with Store.open(path, read_only=True) as reader:
                assert noted(reader) == [1]
        note(store, 3)  # the other was killed: its lock went with it
        assert noted(store) == [1, 3]
        assert store.integrity() == []


def test_a_memory_has_one_owner_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    code = "import sys; from pathlib import Path; from storage import Store; Store.open(Path(sys.argv[1]), own=True)"
    with Store.open(path, space=SPACE, own=True) as store:
        told = python(code, str(path)).stderr.splitlines()[-1]
        assert "StoreLocked" in told
        assert f"being grown by another process ({os.getpid()})" in told
        with Store.open(path, read_only=True) as reader:
            assert noted(reader) == []
        with Store.open(path) as short:
            note(short, 1)
        assert noted(store) == [1]
    assert python(code, str(path)).returncode == 0


def test_an_open_reader_does_not_hold_up_a_writer_and_does_not_see_it(tmp_path: Path) -> None:
    with Store.open(tmp_path / "m.db", space=SPACE) as store:
        note(store, 1)
        with store.snapshot() as snapshot:
            assert len(snapshot.health.recent(9)) == 1
            for t in range(2, 50):
                note(store, t)
            assert len(snapshot.health.recent(99)) == 1, "what a snapshot shows does not move"
        assert len(noted(store)) == 49


def test_a_dump_is_of_one_moment(tmp_path: Path) -> None:
    with Store.open(tmp_path / "m.db", space=SPACE) as store:
        grow(store, 8, 30)
        before = list(store.dump())
        lines = store.dump()
        first = next(lines)
        grow(store, 9, 30, ("three", "four"))
        assert [first, *lines] == before


def test_many_threads_read_while_one_writes(tmp_path: Path) -> None:
    with Store.open(tmp_path / "m.db", space=SPACE) as store:
        wrong: list[object] = []
        done = threading.Event()

        def read() -> None:
            last = 0
            while not done.is_set():
                try:
                    seen = noted(store)
                except StorageError as error:
                    wrong.append(error)
                    return
                if seen != list(range(1, len(seen) + 1)) or len(seen) < last:
                    wrong.append(seen)
                last = len(seen)

        readers = [threading.Thread(target=read) for _ in range(4)]
        for reader in readers:
            reader.start()
        for t in range(1, 120):
            note(store, t)
        done.set()
        for reader in readers:
            reader.join(120)
        assert wrong == []


def test_opening_again_keeps_the_locks_of_the_process(tmp_path: Path) -> None:
    """A descriptor that is closed takes the process's locks on its file along: another process would then think the
    memory unused and might take its log away.
    """
    path = tmp_path / "m.db"
    code = (
        "import fcntl, sys\n"
        "with open(sys.argv[1], 'r+b') as f:\n"
        "    try: fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)\n"
        "    except OSError: print('held')\n"
    )
    with Store.open(path, space=SPACE) as store:
        note(store, 1)
        assert python(code, str(path)).stdout == "held\n"
        Store.open(path).close()
        Store.open(path, read_only=True).close()
        assert python(code, str(path)).stdout == "held\n"


def test_reading_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with Store.open(path, space=SPACE) as store:
        grow(store, 1, 20)
    before = path.read_bytes()
    with Store.open(path, read_only=True) as store:
        assert noted(store) is not None
        assert store.integrity() == []
        with pytest.raises(StoreUnwritable):
            note(store, 1)
        with pytest.raises(StoreUnwritable), store.transaction() as tx:
            tx.services.advance("x", 1)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.db"]


# --- the dump -------------------------------------------------------------------------------------------------------


def test_the_dump_is_canonical(tmp_path: Path) -> None:
    """Equal for equal memories, whatever the file went through; different when any row is."""
    with Store.open(tmp_path / "a.db", space=SPACE) as a, Store.open(None, space=SPACE) as b:
        grow(a, 6, 60)
        grow(b, 6, 60)
        a._writer.execute("VACUUM")
        lines = list(a.dump())
        assert lines == list(b.dump())
        rows = [json.loads(line) for line in lines]
        tables = {row["table"] for row in rows}
        assert tables == {
            "recording", "window", "item", "entity", "keyframe", "gap", "episode", "moment", "pattern", "pattern_version",
            "edge", "intention", "intention_version", "service", "decision", "view", "node", "alias", "relation", "fact",
            "fact_version", "fact_support", "correction", "correction_version", "correction_effect", "keyframe_look",
        }  # fmt: skip
        assert all(len(row["vector"]) == 64 for row in rows if row["table"] in ("window", "moment", "episode"))
        for table in sorted(tables - {"recording"}):
            b._writer.execute("BEGIN")
            named = {"edge": "role", "decision": "reason", "keyframe": "file", "gap": "reason", "fact_support": "quote",
                     "correction_effect": "new", "keyframe_look": "model"}  # fmt: skip
            column = named.get(table, "id")
            changed = "9000 + id" if column == "id" else "'other'"
            b._writer.execute("PRAGMA defer_foreign_keys = ON")
            b._writer.execute(f"UPDATE {table} SET {column} = {changed}")
            assert list(b.dump()) != lines, table
            b._writer.execute("ROLLBACK")
        assert list(b.dump()) == lines
        b._writer.execute("UPDATE moment_vec SET embedding = ? WHERE rowid = 1", (np.ones(DIM, "<f4").tobytes(),))
        assert list(b.dump()) != lines, "a changed vector changes the dump"
