"""Encryption at rest: everything works under it, nothing readable stays, a wrong key is told, a kill loses nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from storage_support import BASE, DIM, SPACE, US, grow

from storage import Store, cipher, cipher_swap
from storage.backup import beside
from storage.cipher import Secret
from storage.connect import connect
from storage.errors import BadRecord, StoreLocked, StoreUnreadable, StoreUnwritable, WrongKey
from storage.keyframes import KeyframeFolder, folder_of
from storage.records import Keyframe

KEY, OTHER = Secret.of("11" * 32), Secret.of("a passphrase of some length")
JPEG = b"\xff\xd8\xff\xe0 a picture of a kitchen \xff\xd9" * 20
WORDS = (b"plumber", b"washing a cup", b"kitchen", b"SQLite format 3")


@pytest.fixture(autouse=True)
def _no_key_of_the_process() -> Iterator[None]:
    cipher.provide(None)
    yield
    cipher.provide(None)


def made(path: Path, key: Secret | None = None) -> tuple[list[str], list[Keyframe]]:
    """A memory with frames; its dump and the rows of its frames."""
    with Store.open(path, space=SPACE, key=key) as store:
        grow(store, 4, 60)
        lines = list(store.dump())
    frames = KeyframeFolder(folder_of(path), key)
    return lines, [frames.save(BASE + n * US, JPEG + bytes([n]), 64, 48) for n in range(6)]


def everything(folder: Path) -> bytes:
    return b"".join(p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file())


def is_whole(path: Path, key: Secret | None, lines: list[str], kept: list[Keyframe]) -> None:
    with Store.open(path, key=key) as store:
        assert list(store.dump()) == lines
        assert store.integrity() == []
    frames = KeyframeFolder(folder_of(path), key)
    assert [frames.read(k) for k in kept] == [JPEG + bytes([n]) for n in range(6)]
    assert cipher_swap.unfinished(path) == 0
    assert beside(path) == []


# --- working with an encrypted memory ---------------------------------------------------------------------------------


def test_an_encrypted_memory_is_written_searched_and_read_like_another(tmp_path: Path) -> None:
    plain, sealed = tmp_path / "plain.db", tmp_path / "sealed" / "m.db"
    expected, kept = made(plain)
    lines, kept_sealed = made(sealed, KEY)
    assert lines == expected
    assert kept_sealed == kept, "the rows do not tell whether the frame is sealed"
    with Store.open(plain) as a, Store.open(sealed, key=KEY) as b, a.snapshot() as s, b.snapshot() as t:
        for stratum in ("item", "window", "moment", "episode", "pattern"):
            query = np.linspace(-1, 1, DIM, dtype=np.float32)
            assert s.search(stratum, "washing a cup", query) == t.search(stratum, "washing a cup", query) != []
        assert b._writer.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        with b.transaction() as tx:  # its log is sealed too, while it is open
            tx.trace.recording("a secret recording", "wear")
        for word in (*WORDS, b"a secret recording", b"picture"):
            assert word not in everything(sealed.parent), word
        assert b"plumber" in everything(tmp_path), "so the test would see it"


def test_a_new_memory_is_encrypted_when_the_process_has_a_key(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    cipher.provide(lambda database: KEY if database == path else None)
    made(path)
    assert cipher.is_encrypted(path)
    made(tmp_path / "other.db")
    assert not cipher.is_encrypted(tmp_path / "other.db")
    with Store.open(path, read_only=True) as store, store.snapshot() as snapshot:
        assert snapshot.trace.count()


def test_a_plain_memory_stays_plain_though_there_is_a_key(tmp_path: Path) -> None:
    lines, kept = made(tmp_path / "m.db")
    is_whole(tmp_path / "m.db", None, lines, kept)
    with Store.open(tmp_path / "m.db", key=KEY) as store:
        assert list(store.dump()) == lines


@pytest.mark.parametrize("options", [{}, {"read_only": True}, {"create": False}, {"own": True}])
def test_a_wrong_or_missing_key_is_told_and_changes_nothing(tmp_path: Path, options: dict[str, bool]) -> None:
    path = tmp_path / "m.db"
    made(path, KEY)
    before = everything(tmp_path)
    for key, told in ((OTHER, "The key does not open"), (None, "encrypted and there is no key: set storage.key_file")):
        with pytest.raises(WrongKey, match=told) as caught:
            Store.open(path, key=key, **options)
        assert caught.value.code == "storage.key"
        assert "11" * 8 not in str(caught.value)
    assert everything(tmp_path) == before


def test_a_frame_does_not_open_elsewhere_changed_or_without_its_key(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    _, kept = made(path, KEY)
    frames = KeyframeFolder(folder_of(path), KEY)
    first, second = (frames.path(k.file) for k in kept[:2])
    whole = first.read_bytes()
    assert len(whole) == kept[0].size + cipher.OVERHEAD
    with pytest.raises(WrongKey):
        KeyframeFolder(folder_of(path)).read(kept[0])
    with pytest.raises(BadRecord):
        KeyframeFolder(folder_of(path), OTHER).read(kept[0])
    for bad in (second.read_bytes(), whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1]), whole[:20], whole[:4]):
        first.write_bytes(bad)
        with pytest.raises(BadRecord):
            frames.read(kept[0])


def test_the_same_frame_twice_is_one_file(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    _, kept = made(path, KEY)
    frames = KeyframeFolder(folder_of(path), KEY)
    before = frames.path(kept[0].file).stat().st_mtime_ns
    assert frames.save(BASE, JPEG + bytes([0]), 64, 48) == kept[0]
    assert frames.path(kept[0].file).stat().st_mtime_ns == before


def test_secrets_are_not_shown_and_say_what_they_are() -> None:
    assert Secret.of("AB" * 32 + "\n") == Secret.of("ab" * 32)
    assert KEY.is_key
    assert not OTHER.is_key
    assert "11" not in repr(KEY)
    assert "passphrase" not in repr(OTHER)
    assert Secret.of(Secret.new().text()).is_key
    with pytest.raises(WrongKey, match="empty"):
        Secret.of(" \n")


def test_two_memories_with_one_key_have_nothing_in_common(tmp_path: Path) -> None:
    salts = set()
    for name in ("a.db", "b.db"):
        made(tmp_path / name, KEY)
        salts.add(cipher.salt_of(tmp_path / name))
    assert len(salts) == 2


# --- in its place -----------------------------------------------------------------------------------------------------


def test_encrypt_rekey_decrypt_keep_every_row_and_frame(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    lines, kept = made(path)
    assert cipher_swap.encrypt(path, KEY) == cipher_swap.Swapped(True, 6, ())
    is_whole(path, KEY, lines, kept)
    for word in (*WORDS, b"picture"):
        assert word not in everything(tmp_path), word
    assert cipher_swap.encrypt(path, KEY) == cipher_swap.Swapped(False, 0, ()), "nothing is left to do"
    assert cipher_swap.rekey(path, KEY, OTHER) == cipher_swap.Swapped(True, 6, ())
    is_whole(path, OTHER, lines, kept)
    with pytest.raises(WrongKey):
        Store.open(path, key=KEY)
    assert cipher_swap.decrypt(path, OTHER) == cipher_swap.Swapped(True, 6, ())
    is_whole(path, None, lines, kept)
    with Store.open(path) as store:  # and it grows on
        grow(store, 9, 20, ("three", "four"))
        assert store.integrity() == []


def test_a_kill_at_any_step_is_finished_by_the_same_command(tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    whole = tmp_path / "whole"
    path = whole / "m.db"
    lines, kept = made(path)
    for do, before, after in (
        (lambda p, progress: cipher_swap.encrypt(p, KEY, progress), None, KEY),
        (lambda p, progress: cipher_swap.rekey(p, KEY, OTHER, progress), KEY, OTHER),
        (lambda p, progress: cipher_swap.decrypt(p, OTHER, progress), OTHER, None),
    ):
        copy = tmp_path / "copy"
        last = 0
        while True:
            last += 1
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(whole, copy)
            left = [last]

            def progress(*_: object, left: list[int] = left) -> None:
                left[0] -= 1
                if left[0] == 0:
                    raise Killed

            torn = copy / "m.db"
            try:
                do(torn, progress)
            except Killed:
                assert list_of(torn, before, after) == lines, "at every moment it opens with one key or the other"
                do(torn, lambda *_: None)
                is_whole(torn, after, lines, kept)
            else:
                break
        assert last > 8
        do(path, lambda *_: None)


def list_of(path: Path, *keys: Secret | None) -> list[str]:
    for key in keys:
        try:
            with Store.open(path, key=key) as store:
                return list(store.dump())
        except WrongKey:
            continue
    raise AssertionError("no key opens it")


def test_the_old_file_is_finished_off_after_a_kill_right_after_the_swap(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    lines, kept = made(path)
    plain = path.read_bytes()
    cipher_swap.encrypt(path, KEY)
    left = path.with_name("m.db.leaving")
    left.write_bytes(plain)
    half = path.with_name("m.db.new")
    half.write_bytes(plain[:5000])
    assert set(cipher_swap.encrypt(path, KEY).removed) == {left, half}
    is_whole(path, KEY, lines, kept)


def test_nothing_is_swapped_under_somebody_who_has_it_open(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    lines, kept = made(path)
    with Store.open(path, own=True), pytest.raises(StoreLocked):
        cipher_swap.encrypt(path, KEY)
    with Store.open(path, read_only=True) as store, store.snapshot(), pytest.raises(StoreLocked, match="in use"):
        cipher_swap.encrypt(path, KEY)
    is_whole(path, None, lines, kept)


def test_what_cannot_be_swapped_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreadable, match="no memory"):
        cipher_swap.encrypt(tmp_path / "none.db", KEY)
    path = tmp_path / "m.db"
    lines, kept = made(path)
    with pytest.raises(StoreUnreadable, match="not encrypted"):
        cipher_swap.rekey(path, KEY, OTHER)
    assert cipher_swap.decrypt(path, KEY) == cipher_swap.Swapped(False, 0, ())
    cipher_swap.encrypt(path, KEY)
    for do in (cipher_swap.encrypt, cipher_swap.decrypt):
        with pytest.raises(WrongKey):
            do(path, OTHER)
    with pytest.raises(WrongKey):
        cipher_swap.rekey(path, Secret.new(), OTHER)
    is_whole(path, KEY, lines, kept)


def test_a_frame_that_does_not_open_stops_a_change_before_anything_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    lines, kept = made(path, KEY)
    file = KeyframeFolder(folder_of(path)).path(kept[3].file)
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + b"x")
    with pytest.raises(BadRecord):
        cipher_swap.decrypt(path, KEY)
    assert file.read_bytes() == whole[:-1] + b"x"
    file.write_bytes(whole)
    cipher_swap.decrypt(path, KEY)
    is_whole(path, None, lines, kept)


def test_a_page_that_was_changed_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    made(path, KEY)
    data = bytearray(path.read_bytes())
    data[4096 * 9 + 100] ^= 1
    path.write_bytes(data)
    try:
        with Store.open(path, key=KEY) as store:
            wrong = store.integrity()
    except StoreUnreadable as error:
        wrong = [str(error)]
    assert wrong


def test_a_spilled_message_is_for_its_process_alone() -> None:
    spool = cipher.Spool()
    sealed = spool.seal(b"what was said")
    assert b"said" not in sealed
    assert spool.open(sealed) == b"what was said"
    for other, data in ((cipher.Spool(), sealed), (spool, sealed[:-1])):
        with pytest.raises(BadRecord):
            other.open(data)


def test_no_room_to_write_it_anew_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.db"
    lines, kept = made(path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("storage.cipher_swap.sync_file", full)
    with pytest.raises(StoreUnwritable, match=r"No space left.*nothing was changed"):
        cipher_swap.encrypt(path, KEY)
    monkeypatch.undo()
    is_whole(path, None, lines, kept)


def test_connecting_without_a_path_needs_no_key() -> None:
    cipher.provide(lambda _: KEY)
    db = connect(None)
    assert db.execute("SELECT 1").fetchone()[0] == 1
    db.close()
