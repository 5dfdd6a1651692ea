"""The journal: what it restores after a kill, a torn record, a flipped bit, and when it grows long."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from firmware_bridge import protocol as p
from firmware_bridge.errors import JournalError
from firmware_bridge.events import Deliver, Queued
from firmware_bridge.journal import REWRITE_BYTES, Journal


def queued(seq: int) -> Queued:
    return Queued(seq, *p.pack(p.Worn(seq, True)))


def test_a_new_file_starts_its_queue_and_keeps_its_name(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "link.journal"
    Journal(path, 77).close()
    restored = Journal(path, 99).restored
    assert (restored.stream, restored.next_seq, restored.queued, restored.peer_stream) == (77, 1, (), 0)
    assert path.stat().st_mode & 0o777 == 0o600


def test_queue_position_and_open_messages_survive(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = Journal(path, 7)
    for seq in range(1, 6):
        journal.queued(queued(seq))
    journal.released(2)
    for seq in (10, 11, 12):
        journal.commit(Deliver(p.Worn(seq, True), 5, seq))
    journal.done(Deliver(None, 5, 11))
    again = Journal(path, 0)
    assert [entry[0] for entry in again.restored.queued] == [3, 4, 5] and again.restored.next_seq == 6
    assert (again.restored.peer_stream, again.restored.peer_committed) == (5, 12)
    assert again.pending() == [Deliver(p.Worn(10, True), 5, 10), Deliver(p.Worn(12, True), 5, 12)]


def test_cut_anywhere_it_holds_a_true_beginning(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    journal = Journal(whole, 7)
    for seq in range(1, 8):
        journal.commit(Deliver(p.Worn(seq, True), 5, seq))
    data = whole.read_bytes()
    seen = set()
    for size in range(len(data) + 1):
        cut.write_bytes(data[:size])
        again = Journal(cut, 7)
        position = again.restored.peer_committed
        assert [item.seq for item in again.pending()] == list(range(1, position + 1))
        again.commit(Deliver(p.Worn(99, True), 5, position + 1))
        again.close()
        assert Journal(cut, 7).restored.peer_committed == position + 1
        seen.add(position)
    assert seen == set(range(8))


def test_flipped_bits_never_invent_a_message(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = Journal(path, 7)
    for seq in range(1, 30):
        journal.commit(Deliver(p.Worn(seq, True), 5, seq))
    data = path.read_bytes()
    rng = random.Random(1)
    for _ in range(200):
        broken = bytearray(data)
        broken[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(broken)
        again = Journal(path, 7)
        assert [item.message for item in again.pending()] == [
            p.Worn(seq, True) for seq in range(1, again.restored.peer_committed + 1)
        ]
        again.close()


@pytest.mark.parametrize("drained", [True, False])
def test_a_long_file_is_rewritten_without_loss(tmp_path: Path, drained: bool) -> None:
    path = tmp_path / "j"
    journal = Journal(path, 7, sync=False)
    seq = largest = 0
    while seq < 6_000:
        seq += 1
        largest = max(largest, path.stat().st_size)
        journal.queued(queued(seq))
        journal.commit(Deliver(p.Worn(seq, True), 5, seq))
        if drained or seq > 3:
            journal.done(Deliver(None, 5, seq))
        if drained or seq % 2 == 0:
            journal.released(seq if drained else max(1, seq - 1))
    before = (journal.restored, journal.pending())
    journal.close()
    again = Journal(path, 0)
    assert REWRITE_BYTES - 200 < largest <= REWRITE_BYTES + 200  # it was rewritten under way, several times
    assert (again.restored, again.pending()) == before
    again.queued(queued(seq + 1))
    again.close()
    assert Journal(path, 0).restored.next_seq == seq + 2


def test_an_unusable_place_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError) as raised:
        Journal(tmp_path / "file" / "j", 1)
    assert raised.value.code == "bridge.journal" and raised.value.hint


def test_a_journal_of_much_that_matters_is_not_rewritten_at_each_record(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = Journal(path, 7, sync=False)
    inodes = set()
    for seq in range(1, 20_000):
        journal.commit(Deliver(p.Worn(seq, True), 5, seq))
        inodes.add(path.stat().st_ino if seq % 100 == 0 else None)
    assert len(journal.pending()) == 19_999 and path.stat().st_size > REWRITE_BYTES and len(inodes) < 6
