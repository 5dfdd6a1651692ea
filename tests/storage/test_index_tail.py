"""Rows that no segment holds yet: each is indexed once however it arrives, and the pieces they lie in stay few."""

from __future__ import annotations

import random
from typing import Any

import pytest
from storage_support import BASE, SPACE, US, vector

from storage import Store, index, index_segments
from storage.records import Caption, Window

PIECE = 16


@pytest.mark.parametrize("arrivals", [[1] * 70, [3, 1, 5] * 8, [40, 1, 1, 30], [16, 16, 1]])
def test_a_row_is_indexed_once_and_pieces_stay_few(arrivals: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "PIECE", PIECE)
    made: list[int] = []
    index_rows = index_segments.part_of

    def counting(ground: Any, rows: Any) -> Any:
        made.append(len(rows))
        return index_rows(ground, rows)

    monkeypatch.setattr(index_segments, "part_of", counting)
    rng, rows = random.Random(3), 0
    with Store.open(None, space=SPACE) as store:
        for count in arrivals:
            with store.transaction() as tx:
                for n in range(rows, rows + count):
                    t = BASE + n * 30 * US
                    told = (Caption(t, f"word{n} lamp"),)
                    tx.trace.add(Window("r", t, t + 30 * US, 0, told, "lamp"), vector(rng))
            rows += count
            with store.snapshot() as snapshot:
                view = snapshot.lookup._index.view(snapshot.lookup._db, "window")
                assert {h.id for h in snapshot.search("window", "lamp", k=rows)} == set(range(1, rows + 1))
            sizes = [p.head.rows for p in view.pieces]
            full, rest = divmod(rows, PIECE)
            assert sizes[:full] == [PIECE] * full, "whole blocks first"
            assert sum(sizes) == rows
            assert len(sizes) - full <= rest.bit_length() + (rest > 0), "what is left is joined as it grows"
    assert sum(made) == rows
