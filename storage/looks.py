"""How keyframes look: image embeddings, searched by likeness (VAM, frames indexed by their embedding).  All their SQL is here.

Vectors of different models are never compared; a frame has the vector of one model at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from storage.connect import Connection
from storage.context_records import Alike
from storage.errors import BadVector
from storage.records import Us
from storage.vectors import Vector, pack


class LookReader:
    """Reads of image embeddings as known at `until`."""

    def __init__(self, db: Connection, until: Us) -> None:
        self._db, self._until = db, until

    def alike(
        self,
        vector: Vector,
        model: str,
        *,
        k: int = 10,
        start: Us | None = None,
        end: Us | None = None,
        window_ids: Sequence[int] = (),
    ) -> list[Alike]:
        """The k keyframes that look most like a vector of that model, best first, with start <= t < end.

        `window_ids` keeps to those windows.  Raises BadVector when the vector has another length than the stored ones.
        """
        query = pack(vector, int(np.asarray(vector).size))
        if not any(query):
            return []
        low = -(2**62) if start is None else start
        high = 2**62 if end is None else end
        found: list[Alike] = []
        parts: Sequence[Sequence[int]] = [window_ids[i : i + 500] for i in range(0, len(window_ids), 500)] or [()]
        for part in parts:
            inside = f" AND k.window_id IN ({','.join('?' * len(part))})" if part else ""
            rows = self._db.execute(
                "SELECT k.id, k.window_id, k.t, 1.0 - vec_distance_cosine(l.embedding, ?), length(l.embedding) "
                "FROM keyframe k CROSS JOIN window w ON w.id = k.window_id CROSS JOIN keyframe_look l "
                "ON l.keyframe_id = k.id WHERE l.model = ? AND length(l.embedding) = ? AND k.t >= ? AND k.t < ? "
                f"AND w.t_end <= ?{inside} ORDER BY 4 DESC, k.id LIMIT ?",
                (query, model, len(query), low, high, self._until, *part, k),
            )
            found += [Alike(*row[:4]) for row in rows]
        return sorted(found, key=lambda a: (-a.score, a.keyframe_id))[:k]

    def vectors(self, keyframe_ids: Sequence[int], model: str) -> dict[int, Vector]:
        """Embeddings of keyframes by that model; those without one are left out."""
        found: dict[int, Vector] = {}
        for start in range(0, len(keyframe_ids), 500):
            part = keyframe_ids[start : start + 500]
            marks = ",".join("?" * len(part))
            for row, data in self._db.execute(
                "SELECT l.keyframe_id, l.embedding FROM keyframe_look l JOIN keyframe k ON k.id = l.keyframe_id "
                f"JOIN window w ON w.id = k.window_id WHERE l.keyframe_id IN ({marks}) AND l.model = ? AND w.t_end <= ?",
                (*part, model, self._until),
            ):
                found[row] = np.frombuffer(data, dtype="<f4")
        return found

    def missing(self, model: str, limit: int = 100) -> list[int]:
        """Keyframes that have no embedding by that model, oldest first."""
        rows = self._db.execute(
            "SELECT k.id FROM keyframe k JOIN window w ON w.id = k.window_id WHERE w.t_end <= ? AND NOT EXISTS "
            "(SELECT 1 FROM keyframe_look l WHERE l.keyframe_id = k.id AND l.model = ?) ORDER BY k.id LIMIT ?",
            (self._until, model, limit),
        )
        return [row[0] for row in rows]


class LookWriter:
    """Writes of image embeddings, inside one transaction of the store."""

    def __init__(self, db: Connection) -> None:
        self._db = db

    def put(self, keyframe_id: int, model: str, vector: Vector) -> None:
        """Store the embedding of a keyframe in place of the one it had.  Raises BadVector on an empty one."""
        array = np.asarray(vector, dtype="<f4")
        if array.ndim != 1 or not array.size:
            raise BadVector(f"An image embedding has the shape (dim,), not {array.shape}.")
        self._db.execute(
            "INSERT OR REPLACE INTO keyframe_look VALUES (?, ?, ?)", (keyframe_id, model, pack(array, array.size))
        )
