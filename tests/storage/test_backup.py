"""Copies of a memory: while it is written, before an update, and back again; with frames, with and without a key."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from storage_support import BASE, SPACE, US, grow

from storage import Store, cipher
from storage.backup import beside, copies_before_updates, restore
from storage.cipher import Secret
from storage.errors import StorageError, StoreLocked, StoreUnreadable, StoreUnwritable, WrongKey
from storage.keyframes import KeyframeFolder, folder_of
from storage.migrations import MIGRATIONS, missing
from storage.records import Keyframe, Window

KEY = Secret.of("22" * 32)
KEYS = pytest.mark.parametrize("key", [None, KEY], ids=["plain", "encrypted"])


def with_frames(path: Path, key: Secret | None = None, count: int = 4) -> list[Keyframe]:
    """A memory whose windows name frames that are there."""
    folder = KeyframeFolder(folder_of(path), key)
    with Store.open(path, space=SPACE, key=key) as store:
        grow(store, 2, 30)
        db = store._writer
        db.execute("DELETE FROM keyframe_look")
        db.execute("DELETE FROM keyframe")
        kept = [folder.save(BASE + n * US, b"\xff\xd8 frame %d" % n, 8, 8) for n in range(count)]
        with store.transaction() as tx:
            at = BASE + 10**12
            tx.trace.add(Window("frames", at, at + US, 0, keyframes=tuple(kept)), SPACE_VECTOR)
    return kept


SPACE_VECTOR: Any = [1.0] * SPACE.dim


def lines_of(path: Path, key: Secret | None = None) -> list[str]:
    with Store.open(path, key=key, read_only=True) as store:
        assert store.integrity() == []
        return list(store.dump())


def frames_of(path: Path, kept: list[Keyframe], key: Secret | None = None) -> list[bytes]:
    return [KeyframeFolder(folder_of(path), key).read(k) for k in kept]


@KEYS
def test_a_backup_is_a_memory_like_the_one_it_was_made_of(tmp_path: Path, key: Secret | None) -> None:
    path, target = tmp_path / "m.db", tmp_path / "elsewhere" / "b.db"
    kept = with_frames(path, key)
    with Store.open(path, key=key, own=True) as store:
        done = store.backup(target)
    assert (done.path, done.keyframes, done.missing) == (target, 4, ())
    assert done.size == target.stat().st_size
    assert lines_of(target, key) == lines_of(path, key)
    assert frames_of(target, kept, key) == frames_of(path, kept, key)
    assert cipher.is_encrypted(target) == (key is not None)
    with Store.open(target, key=key) as store:
        grow(store, 8, 10, ("three", "four"))
        assert store.integrity() == []
    if key is not None:
        with pytest.raises(WrongKey):
            Store.open(target)


def test_a_backup_made_while_it_is_written_is_one_moment_of_it(tmp_path: Path) -> None:
    path, target = tmp_path / "m.db", tmp_path / "b.db"
    with_frames(path)
    stop = threading.Event()

    def write() -> None:
        seed = 100
        while not stop.is_set():
            seed += 1
            grow(store, seed, 2, (f"r{seed}", f"s{seed}"))

    with Store.open(path, own=True) as store:
        writer = threading.Thread(target=write)
        writer.start()
        try:
            held = []
            for _ in range(4):
                store.backup(target)
                with Store.open(target, read_only=True) as copy, copy.snapshot() as snapshot:
                    assert copy.integrity() == []
                    held.append(snapshot.trace.count())
            for _ in range(6000):  # on a busy machine the writer may not have had its turn since
                with store.snapshot() as snapshot:
                    if snapshot.trace.count() > held[0]:
                        break
                stop.wait(0.01)
        finally:
            stop.set()
            writer.join()
        with store.snapshot() as snapshot:
            assert held == sorted(held)
            assert held[0] < snapshot.trace.count()


def test_a_later_backup_takes_the_place_of_an_earlier_one_and_drops_what_is_gone(tmp_path: Path) -> None:
    path, target = tmp_path / "m.db", tmp_path / "b.db"
    kept = with_frames(path)
    with Store.open(path) as store:
        store.backup(target)
        store._writer.execute("DELETE FROM keyframe WHERE file = ?", (kept[0].file,))
        before = folder_of(target).joinpath(kept[1].file).stat().st_mtime_ns
        done = store.backup(target)
    assert done.keyframes == 3
    assert sorted(KeyframeFolder(folder_of(target)).files()) == sorted(k.file for k in kept[1:])
    assert folder_of(target).joinpath(kept[1].file).stat().st_mtime_ns == before, "a frame never changes: kept"


def test_a_frame_that_is_not_there_is_told(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    kept = with_frames(path)
    KeyframeFolder(folder_of(path)).remove(kept[2].file)
    with Store.open(path) as store:
        assert store.backup(tmp_path / "b.db").missing == (kept[2].file,)


def test_where_a_backup_may_not_go(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with_frames(path)
    text = tmp_path / "diary.txt"
    text.write_text("dear diary " * 100)
    with Store.open(path) as store, Store.open(tmp_path / "other.db", space=SPACE) as other:
        grow(other, 1, 1)
        for target, error in (
            (path, StoreUnwritable), (tmp_path, StoreUnwritable), (text, StoreUnreadable), (text / "b.db", StoreUnwritable),
            (other.path, StoreLocked),
        ):  # fmt: skip
            with pytest.raises(error) as caught:
                store.backup(target)
            assert "\n" not in str(caught.value)
    assert text.read_text().startswith("dear diary")
    with Store.open(None, space=SPACE) as store, pytest.raises(StorageError, match="use --db"):
        store.backup(tmp_path / "b.db")


# --- back again -------------------------------------------------------------------------------------------------------


@KEYS
def test_restore_puts_every_row_and_frame_back(tmp_path: Path, key: Secret | None) -> None:
    path, target = tmp_path / "m.db", tmp_path / "b.db"
    kept = with_frames(path, key)
    lines = lines_of(path, key)
    with Store.open(path, key=key) as store:
        store.backup(target)
        grow(store, 7, 10, ("later", "latest"))
    changed = lines_of(path, key)
    with pytest.raises(StoreUnwritable, match="--replace"):
        restore(target, path, key=key)
    assert lines_of(path, key) == changed
    assert restore(target, path, replace=True, key=key).keyframes == 4
    assert lines_of(path, key) == lines
    assert frames_of(path, kept, key) == [b"\xff\xd8 frame %d" % n for n in range(4)]
    aside = path.with_name("m.db.replaced")
    assert lines_of(aside, key) == changed, "what was there is kept"
    assert frames_of(aside, kept, key) == frames_of(path, kept, key)
    restore(target, path, replace=True, key=key)
    assert lines_of(aside, key) == lines, "once"
    restore(target, tmp_path / "new" / "m.db", key=key)
    assert lines_of(tmp_path / "new" / "m.db", key) == lines


def test_a_damaged_memory_is_replaced_by_its_backup(tmp_path: Path) -> None:
    path, target = tmp_path / "m.db", tmp_path / "b.db"
    with_frames(path)
    lines = lines_of(path)
    with Store.open(path) as store:
        store.backup(target)
    path.write_bytes(os.urandom(9000))
    with pytest.raises(StoreUnreadable):
        Store.open(path)
    restore(target, path, replace=True)
    assert lines_of(path) == lines


def test_a_backup_that_is_no_good_changes_nothing(tmp_path: Path) -> None:
    path, target = tmp_path / "m.db", tmp_path / "b.db"
    with_frames(path)
    lines = lines_of(path)
    with Store.open(path) as store:
        store.backup(target)
    data = bytearray(target.read_bytes())
    for page in range(2, len(data) // 4096):
        data[page * 4096 : page * 4096 + 100] = b"\xa5" * 100
    target.write_bytes(data)
    (tmp_path / "text").write_text("words " * 2000)
    for bad in (target, tmp_path / "text", tmp_path / "none", path):
        with pytest.raises(StoreUnreadable):
            restore(bad, path, replace=True)
        assert lines_of(path) == lines
    with Store.open(path, own=True) as store:
        store.backup(tmp_path / "good.db")
        with pytest.raises(StoreLocked):
            restore(tmp_path / "good.db", path, replace=True)
    assert lines_of(path) == lines


def test_a_restore_that_was_cut_short_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each rename in turn."""
    real = Path.rename
    n = 0
    while True:
        n += 1
        path, target = tmp_path / f"{n}" / "m.db", tmp_path / f"{n}" / "b.db"
        kept = with_frames(path)
        lines = lines_of(path)
        with Store.open(path) as store:
            store.backup(target)
            grow(store, 7, 4, ("later", "latest"))
        left = [n]

        def rename(self: Path, to: Path, left: list[int] = left) -> Path:
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt
            return real(self, to)

        monkeypatch.setattr(Path, "rename", rename)
        try:
            restore(target, path, replace=True)
        except KeyboardInterrupt:
            monkeypatch.undo()
            restore(target, path, replace=True)
        else:
            monkeypatch.undo()
            break
        assert lines_of(path) == lines
        assert frames_of(path, kept) == frames_of(target, kept)
    assert n > 3


# --- before an update -------------------------------------------------------------------------------------------------


def m998_mood(db: Any, _dim: int) -> None:
    """A step of tomorrow."""
    db.execute("CREATE TABLE mood(id INTEGER PRIMARY KEY)")


@KEYS
def test_an_older_memory_is_copied_before_it_is_changed(
    tmp_path: Path, key: Secret | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.db"
    with_frames(path, key)
    assert copies_before_updates(path) == [], "a fresh one has nothing to lose"
    lines = lines_of(path, key)
    monkeypatch.setattr("storage.migrations.MIGRATIONS", (*MIGRATIONS, m998_mood))
    with Store.open(path, key=key) as store:
        assert missing(store._writer) == []
    copy = path.with_name("m.db.before-m998_mood")
    assert copies_before_updates(path) == beside(path) == [copy]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert cipher.is_encrypted(copy) == (key is not None)
    monkeypatch.undo()
    assert lines_of(copy, key) == lines


def test_only_the_newest_copy_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m[1].db"  # a name that a pattern of names would misread
    with_frames(path)
    old = path.with_name("m[1].db.before-m002_speakers")
    old.write_bytes(b"x")
    monkeypatch.setattr("storage.migrations.MIGRATIONS", (*MIGRATIONS, m998_mood))
    Store.open(path).close()
    assert copies_before_updates(path) == [path.with_name("m[1].db.before-m998_mood")]


def test_without_room_for_a_copy_the_update_does_not_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.db"
    with_frames(path)
    lines = lines_of(path)
    monkeypatch.setattr("storage.migrations.MIGRATIONS", (*MIGRATIONS, m998_mood))
    monkeypatch.setattr("storage.backup.shutil.disk_usage", lambda _: type("Usage", (), {"free": 1000}))
    with pytest.raises(StoreUnwritable, match=r"needs \d+ MB.*nothing was changed"):
        Store.open(path)
    monkeypatch.undo()
    assert lines_of(path) == lines
    assert beside(path) == []
