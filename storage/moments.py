"""Stratum F: moments.  All its SQL is here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from storage import vectors
from storage.connect import Connection
from storage.corrections import Amend, unamended
from storage.errors import NotFound
from storage.records import Moment, Role, Us
from storage.vectors import Vector

_MOMENT = (
    "SELECT episode_id, window_id, t, offset_s, text, keywords, role, weight, category, place, known, made_by, id "
    "FROM moment "
)


class MomentReader:
    """Reads of F as known at `until`."""

    def __init__(self, db: Connection, until: Us, amend: Amend = unamended) -> None:
        self._db, self._until, self._amend = db, until, amend

    def get(self, moment_id: int) -> Moment:
        """One moment.  Raises NotFound."""
        found = self._rows("WHERE id = ? AND known <= ?", (moment_id, self._until))
        if not found:
            raise NotFound(f"There is no moment m{moment_id} at that time.")
        return found[0]

    def many(self, ids: list[int]) -> dict[int, Moment]:
        """Moments by id, those that are known."""
        found: dict[int, Moment] = {}
        for start in range(0, len(ids), 500):
            part = ids[start : start + 500]
            marks = ",".join("?" * len(part))
            for moment in self._rows(f"WHERE id IN ({marks}) AND known <= ?", (*part, self._until)):
                found[moment.id] = moment
        return found

    def between(self, start: Us | None = None, end: Us | None = None, limit: int | None = None) -> list[Moment]:
        """Moments with start <= t < end, in time order."""
        low = -(2**62) if start is None else start
        high = 2**62 if end is None else end
        return self._rows(
            "WHERE t >= ? AND t < ? AND known <= ? ORDER BY t, id LIMIT ?",
            (low, high, self._until, -1 if limit is None else limit),
        )

    def of_episode(self, episode_id: int) -> list[Moment]:
        """The moments of an episode in time order."""
        return self._rows("WHERE episode_id = ? AND known <= ? ORDER BY t, id", (episode_id, self._until))

    def count(self) -> int:
        """How many moments are known."""
        return int(self._db.execute("SELECT count(*) FROM moment WHERE known <= ?", (self._until,)).fetchone()[0])

    def _rows(self, where: str, values: tuple[object, ...]) -> list[Moment]:
        found = [_moment(row) for row in self._db.execute(_MOMENT + where, values)]
        amend = self._amend() if found else None
        return amend.moments(found) if amend else found


class MomentWriter:
    """Writes of F, inside one transaction of the store."""

    def __init__(self, db: Connection, dim: int) -> None:
        self._db, self._dim = db, dim

    def add(self, moment: Moment, vector: Vector) -> int:
        """Store a moment, under its own id if it has one; returns the id."""
        return self.add_many([moment], np.asarray(vector)[None])[0]

    def add_many(self, moments: Sequence[Moment], given: Vector) -> list[int]:
        """Store moments with their vectors of shape (n, dim), each under its own id if it has one; returns the ids."""
        free = self._db.execute("SELECT coalesce(max(id), 0) + 1 FROM moment").fetchone()[0]
        ids = [m.id or free + i for i, m in enumerate(moments)]
        self._db.executemany(
            "INSERT INTO moment(id, episode_id, window_id, t, offset_s, text, keywords, role, weight, category, place, "
            "known, made_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    i, m.episode_id, m.window_id, m.t, m.offset_s, m.text, "\n".join(m.keywords), m.role, m.weight,
                    m.category, m.place, m.known, m.made_by,
                )
                for i, m in zip(ids, moments, strict=True)
            ),
        )  # fmt: skip
        vectors.put_many(self._db, "moment_vec", ids, given, self._dim)
        return ids

    def judge(self, moment_id: int, role: Role, weight: float) -> None:
        """Another judgement of what a stored moment is worth; its words and its time stay."""
        self._db.execute(
            "UPDATE moment SET role = ?, weight = ?, made_by = 'llm' WHERE id = ?", (role, weight, moment_id)
        )


def _moment(row: tuple[object, ...]) -> Moment:
    values = list(row)
    values[5] = tuple(k for k in str(row[5]).split("\n") if k)
    return Moment(*values)  # type: ignore[arg-type]
