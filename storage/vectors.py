"""Vectors on their way into and out of sqlite-vec: checked, packed, deleted by owner."""

from __future__ import annotations

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
    array = np.asarray(vector, dtype="<f4")
    if array.shape != (dim,):
        raise BadVector(f"A vector of shape {array.shape} does not fit this database, which holds ({dim},).")
    if not np.isfinite(array).all():
        raise BadVector("A vector holds NaN or infinity: the embedding model is broken; nothing was stored.")
    return array.tobytes()


def put(db: Connection, table: str, row: int, vector: Vector, dim: int) -> None:
    """Store one vector, and the coarse one that searches read; an all-zero one is left out: it never ranks."""
    data = pack(vector, dim)
    if any(data):
        db.execute(f"INSERT INTO {table}(rowid, embedding) VALUES (?, ?)", (row, data))
        near, coarse = NEAR[table], squeeze(np.frombuffer(data, dtype="<f4"))
        db.execute(
            f"INSERT INTO {near}(id, v) VALUES (?, ?) ON CONFLICT(id) DO UPDATE SET v = excluded.v", (row, coarse)
        )


def get(db: Connection, table: str, rows: list[int], known: str, until: Us) -> dict[int, Vector]:
    """The vectors of those rows that have one and are known: `known` is "owner.column", which must not be after `until`."""
    found: dict[int, Vector] = {}
    owner = known.partition(".")[0]
    for start in range(0, len(rows), 500):
        part = rows[start : start + 500]
        marks = ",".join("?" * len(part))
        for row, data in db.execute(
            f"SELECT rowid, embedding FROM {table} WHERE rowid IN "
            f"(SELECT id FROM {owner} WHERE id IN ({marks}) AND {known} <= ?)",
            (*part, until),
        ):
            found[row] = np.frombuffer(data, dtype="<f4")
    return found
