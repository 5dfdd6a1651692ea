"""Vectors on their way into and out of sqlite-vec: checked, packed, deleted by owner."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from storage.connect import Connection
from storage.errors import BadVector
from storage.index_codes import squeeze
from storage.index_strata import NEAR
from storage.records import Us

Vector = npt.NDArray[np.float32]


def pack(vector: Vector, dim: int) -> bytes:
    """Little-endian float32 bytes of a vector of shape (dim,).  Raises BadVector on a wrong length or a non-number."""
    return _checked(vector, (dim,)).tobytes()


def _checked(vectors: Vector, shape: tuple[int, ...]) -> Vector:
    array: Vector = np.asarray(vectors, dtype="<f4")
    if array.shape != shape:
        raise BadVector(f"Vectors of shape {array.shape} do not fit this database, which holds {shape}.")
    if not np.isfinite(array).all():
        raise BadVector("A vector holds NaN or infinity: the embedding model is broken; nothing was stored.")
    return array


def put(db: Connection, table: str, row: int, vector: Vector, dim: int) -> None:
    """Store one vector of shape (dim,); see put_many."""
    put_many(db, table, [row], np.asarray(vector)[None], dim)


def put_many(db: Connection, table: str, rows: Sequence[int], vectors: Vector, dim: int) -> None:
    """Store vectors (n, dim), and the coarse ones that searches read; all-zero ones are left out: they never rank.

    Raises BadVector on a wrong length or a non-number.
    """
    array = _checked(vectors, (len(rows), dim))
    told = np.asarray(array.any(axis=1))
    ids, array = [row for row, says in zip(rows, told, strict=True) if says], array[told]
    if not ids:
        return
    exact = ((row, vector.tobytes()) for row, vector in zip(ids, array, strict=True))
    db.executemany(f"INSERT INTO {table}(rowid, embedding) VALUES (?, ?)", exact)
    db.executemany(
        f"INSERT INTO {NEAR[table]}(id, v) VALUES (?, ?) ON CONFLICT(id) DO UPDATE SET v = excluded.v",
        zip(ids, squeeze(array), strict=True),
    )


def get(db: Connection, table: str, rows: list[int], known: str, until: Us) -> dict[int, Vector]:
    """The vectors of those rows that have one and are known: `known` is "owner.column", which must not be after `until`."""
    found: dict[int, Vector] = {}
    owner = known.partition(".")[0]
    # Row by row from its owner: vec0 takes three times as long over "rowid IN (...)".
    source = f"{owner} CROSS JOIN {table} v ON v.rowid = {owner}.id"
    for start in range(0, len(rows), 500):
        part = rows[start : start + 500]
        marks = ",".join("?" * len(part))
        for row, data in db.execute(
            f"SELECT {owner}.id, v.embedding FROM {source} WHERE {owner}.id IN ({marks}) AND {known} <= ?",
            (*part, until),
        ):
            found[row] = np.frombuffer(data, dtype="<f4")
    return found
