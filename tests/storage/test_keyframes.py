"""Keyframes on the disk: private, whole, named by content, swept after a crash, gone when removed."""

from __future__ import annotations

import os
import stat
from dataclasses import replace

import pytest

from storage.errors import BadRecord, NotFound, StoreUnwritable
from storage.keyframes import KeyframeFolder, folder_of

T = 1_772_438_400_000_000
JPEG = b"\xff\xd8 a picture \xff\xd9"


@pytest.fixture
def folder(tmp_path):
    return KeyframeFolder(folder_of(tmp_path / "memory.db"))


def test_what_was_saved_is_read_back(folder):
    keyframe = folder.save(T, JPEG, 640, 360)
    assert (keyframe.t, keyframe.width, keyframe.height, keyframe.size) == (T, 640, 360, len(JPEG))
    assert folder.read(keyframe) == JPEG
    assert folder.root.name == "memory.db.keyframes"
    assert folder.files() == [keyframe.file]


def test_only_the_owner_can_look(folder):
    path = folder.path(folder.save(T, JPEG, 1, 1).file)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.root.stat().st_mode) == 0o700


def test_the_same_frame_twice_is_one_file_and_another_is_another(folder):
    first = folder.save(T, JPEG, 1, 1)
    assert folder.save(T, JPEG, 1, 1) == first
    second = folder.save(T, JPEG + b"x", 1, 1)
    assert sorted(folder.files()) == sorted([first.file, second.file])
    assert not list(folder.root.glob("*/*.part"))


def test_a_damaged_file_is_written_again_and_never_read_as_good(folder):
    keyframe = folder.save(T, JPEG, 1, 1)
    folder.path(keyframe.file).write_bytes(b"cut")
    with pytest.raises(BadRecord):
        folder.read(keyframe)
    folder.save(T, JPEG, 1, 1)
    assert folder.read(keyframe) == JPEG


def test_a_frame_that_is_gone_says_so(folder):
    keyframe = folder.save(T, JPEG, 1, 1)
    assert folder.remove(keyframe.file)
    assert not folder.remove(keyframe.file)
    with pytest.raises(NotFound):
        folder.read(keyframe)
    assert list(folder.root.iterdir()) == []


def test_removed_bytes_are_overwritten_before_the_name_goes(folder, tmp_path):
    keyframe = folder.save(T, JPEG, 1, 1)
    other_name = tmp_path / "second name of the same bytes"
    os.link(folder.path(keyframe.file), other_name)
    folder.remove(keyframe.file)
    assert other_name.read_bytes() == bytes(len(JPEG))


def test_a_sweep_removes_what_no_window_names(folder):
    kept = folder.save(T, JPEG, 1, 1)
    orphan = folder.save(T + 86_400_000_000, JPEG, 1, 1)
    half = folder.path(kept.file).with_suffix(".part")
    half.write_bytes(b"half")
    gone = folder.sweep([kept.file])
    assert set(gone) == {orphan.file, half.relative_to(folder.root).as_posix()}
    assert folder.files() == [kept.file]
    assert folder.read(kept) == JPEG


def test_a_sweep_of_a_folder_that_was_never_made(folder):
    assert folder.sweep([]) == []
    assert folder.files() == []


@pytest.mark.parametrize("name", ["../memory.db", "a/../../x", "/etc/passwd", "x.jpg", "a/b/c.jpg", "..", "a/.."])
def test_no_name_leads_out_of_the_folder(folder, name):
    keyframe = folder.save(T, JPEG, 1, 1)
    with pytest.raises(BadRecord):
        folder.read(replace(keyframe, file=name))
    with pytest.raises(BadRecord):
        folder.remove(name)


def test_a_place_that_cannot_be_written_is_an_error_that_says_what_to_do(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreUnwritable, match="free some space or check permissions"):
        KeyframeFolder(tmp_path / "file").save(T, JPEG, 1, 1)
