"""Memories of earlier versions, kept as they were written: today's code opens them, brings them up to date, reads them.

A released step of the schema never changes: when one of these fails, add a step instead.  A new step gets a new file:
    python tests/storage/test_golden.py
"""

from __future__ import annotations

import json
import lzma
import sys
import tempfile
from pathlib import Path

import pytest

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[1])]

from storage_support import SPACE, grow

from storage import Store
from storage.connect import connect
from storage.migrations import MIGRATIONS, missing

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
FILES = sorted(GOLDEN.glob("memory-*.db.xz"))


def dump_of(file: Path) -> Path:
    return file.with_name(file.name.replace(".db.xz", ".jsonl.xz"))


def opened(file: Path, folder: Path) -> Path:
    path = folder / "old.db"
    path.write_bytes(lzma.decompress(file.read_bytes()))
    return path


def test_there_is_one_for_the_newest_step() -> None:
    assert f"memory-{MIGRATIONS[-1].__name__}.db.xz" in [f.name for f in FILES]


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.name)
@pytest.mark.parametrize("read_only", [True, False])
def test_an_old_memory_is_read_as_it_was_written(file: Path, read_only: bool, tmp_path: Path) -> None:
    told = [json.loads(line) for line in lzma.decompress(dump_of(file).read_bytes()).decode("utf-8").splitlines()]
    with Store.open(opened(file, tmp_path), read_only=read_only) as store:
        assert store.space == SPACE
        assert missing(store._writer) == []
        assert store.integrity() == []
        now = {(r["table"], *_key(r)): r for r in map(json.loads, store.dump())}
        for row in told:
            found = now[(row["table"], *_key(row))]
            assert {k: found[k] for k in row} == row, "a later version may add to a row, not change it"
        with store.snapshot() as snapshot:
            assert snapshot.search("moment", "cup")
            assert snapshot.search("item", "door")


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.name)
def test_an_old_memory_grows_on(file: Path, tmp_path: Path) -> None:
    with Store.open(opened(file, tmp_path), space=SPACE) as store:
        grow(store, 99, 30, ("three", "four"))
        assert store.integrity() == []


def test_what_a_full_text_table_had_only_marked_as_deleted_goes_with_it(tmp_path: Path) -> None:
    """The first steps kept words in tables of their own, where a deleted row leaves its terms until they are merged."""
    path = opened(GOLDEN / "memory-m002_speakers.db.xz", tmp_path)
    db = connect(path)
    window = db.execute("SELECT max(id) FROM window").fetchone()[0]
    made = db.execute(
        "INSERT INTO item(window_id, kind, t, text, subject, action, object, speaker) "
        "SELECT id, 'caption', t_start, 'a qqxylofonium', '', '', '', '' FROM window WHERE id = ?", (window,)
    ).lastrowid  # fmt: skip
    db.execute("DELETE FROM item WHERE id = ?", (made,))
    db.close()
    assert b"qqxylofonium" in path.read_bytes(), "a term that is deleted stays in its table"
    with Store.open(path) as store:
        assert not [name for name, _ in store.schema() if "_fts" in name]
        assert store.integrity() == []
        with store.snapshot() as snapshot:
            assert snapshot.search("item", "red door")
    assert b"qqxylofonium" not in path.read_bytes()


def test_the_schema_of_a_released_step_has_not_changed(tmp_path: Path) -> None:
    """A fresh memory and one brought up to date from the first step are made of the same things."""
    with Store.open(opened(FILES[0], tmp_path)) as old, Store.open(tmp_path / "new.db", space=SPACE) as new:
        assert sorted(old.schema()) == sorted(new.schema())


def _key(row: dict[str, object]) -> tuple[object, ...]:
    names = (
        "id",
        "pattern_id",
        "episode_id",
        "version",
        "known",
        "fact_id",
        "correction_id",
        "ref",
        "kind",
        "old",
        "keyframe_id",
    )
    return tuple(row.get(k) for k in names)


def write() -> None:
    """Keep a memory as the newest step of the schema writes it."""
    name = MIGRATIONS[-1].__name__
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.db"
        with Store.open(path, space=SPACE) as store:
            grow(store, 12, 60)
            lines = "".join(line + "\n" for line in store.dump())
        (GOLDEN / f"memory-{name}.db.xz").write_bytes(lzma.compress(path.read_bytes(), preset=9))
        (GOLDEN / f"memory-{name}.jsonl.xz").write_bytes(lzma.compress(lines.encode("utf-8"), preset=9))


if __name__ == "__main__":
    write()
