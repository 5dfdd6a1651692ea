"""Views: stretches of several lengths told in text, each a chain of versions.  All their SQL is here."""

from __future__ import annotations

from storage import vectors
from storage.connect import Connection
from storage.context_records import View
from storage.errors import NotFound
from storage.records import Us
from storage.vectors import Vector

_COLUMNS = (
    "r.name, v.scale_s, v.t_block, v.t_start, v.t_end, v.offset_s, v.first_window, v.last_window, v.text, v.visual, "
    "v.objects, v.actions, v.topics, v.speakers, v.names, v.known, v.made_by, v.version, v.id"
)
_VIEW = f"SELECT {_COLUMNS} FROM view v JOIN recording r ON r.id = v.recording_id "
_NEWEST = (
    "v.known <= ? AND NOT EXISTS (SELECT 1 FROM view n WHERE n.recording_id = v.recording_id "
    "AND n.scale_s = v.scale_s AND n.t_block = v.t_block AND n.known <= ? AND n.version > v.version)"
)


class ViewReader:
    """Reads of views as known at `until`: of each stretch its newest version not after it."""

    def __init__(self, db: Connection, until: Us) -> None:
        self._db, self._until = db, until

    def get(self, view_id: int) -> View:
        """One view by its row.  Raises NotFound."""
        found = self._rows("WHERE v.id = ? AND v.known <= ?", (view_id, self._until))
        if not found:
            raise NotFound(f"There is no view v{view_id} at that time.")
        return found[0]

    def between(
        self, start: Us | None = None, end: Us | None = None, scale_s: int | None = None, limit: int | None = None
    ) -> list[View]:
        """Views that overlap [start, end), of one scale in seconds when given, oldest first, finer scales first."""
        low = -(2**62) if start is None else start
        high = 2**62 if end is None else end
        where, values = "", ()  # type: tuple[str, tuple[object, ...]]
        if scale_s is not None:
            where, values = "v.scale_s = ? AND ", (scale_s,)
        return self._rows(
            f"WHERE {where}v.t_end > ? AND v.t_start < ? AND {_NEWEST} ORDER BY v.t_start, v.scale_s, v.id LIMIT ?",
            (*values, low, high, self._until, self._until, -1 if limit is None else limit),
        )

    def of_window(self, window_id: int) -> list[View]:
        """The views a window is part of, finest first."""
        return self._rows(
            "JOIN window w ON w.id = ? AND w.recording_id = v.recording_id "
            f"WHERE v.first_window <= ? AND v.last_window >= ? AND v.t_end >= w.t_end AND v.t_start <= w.t_start AND {_NEWEST} "
            "ORDER BY v.scale_s",
            (window_id, window_id, window_id, self._until, self._until),
        )

    def of_block(self, recording: str, scale_s: int, t_block: Us) -> View | None:
        """The view of one stretch, if there is one."""
        found = self._rows(
            f"WHERE r.name = ? AND v.scale_s = ? AND v.t_block = ? AND {_NEWEST}",
            (recording, scale_s, t_block, self._until, self._until),
        )
        return found[0] if found else None

    def newest_of(self, rows: list[int]) -> dict[int, View]:
        """Views by row, only where that row is the newest known version of its stretch."""
        found: dict[int, View] = {}
        for start in range(0, len(rows), 500):
            part = rows[start : start + 500]
            marks = ",".join("?" * len(part))
            for view in self._rows(f"WHERE v.id IN ({marks}) AND {_NEWEST}", (*part, self._until, self._until)):
                found[view.id] = view
        return found

    def count(self) -> int:
        """How many stretches have a view."""
        sql = f"SELECT count(*) FROM view v WHERE {_NEWEST}"
        return int(self._db.execute(sql, (self._until, self._until)).fetchone()[0])

    def _rows(self, where: str, values: tuple[object, ...]) -> list[View]:
        return [_view(row) for row in self._db.execute(_VIEW + where, values)]


class ViewWriter:
    """Writes of views, inside one transaction of the store."""

    def __init__(self, db: Connection, dim: int) -> None:
        self._db, self._dim = db, dim

    def put(self, view: View, vector: Vector) -> int:
        """Append a version of the view of a stretch; returns the row's id."""
        (recording,) = self._db.execute("SELECT id FROM recording WHERE name = ?", (view.recording,)).fetchone()
        row = self._db.execute(
            "INSERT INTO view(recording_id, scale_s, t_block, version, t_start, t_end, offset_s, first_window, "
            "last_window, text, visual, objects, actions, topics, speakers, names, made_by, known) VALUES (?, ?, ?, "
            "1 + (SELECT count(*) FROM view WHERE recording_id = ? AND scale_s = ? AND t_block = ?), "
            "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                recording,
                view.scale_s,
                view.t_block,
                recording,
                view.scale_s,
                view.t_block,
                view.t_start,
                view.t_end,
                view.offset_s,
                view.first_window,
                view.last_window,
                view.text,
                view.visual,
                *("\n".join(x) for x in (view.objects, view.actions, view.topics, view.speakers, view.names)),
                view.made_by,
                view.known,
            ),
        ).lastrowid
        vectors.put(self._db, "view_vec", int(row), vector, self._dim)
        return int(row)


def _view(row: tuple[object, ...]) -> View:
    values = list(row)
    for i in range(10, 15):
        values[i] = tuple(x for x in str(row[i]).split("\n") if x)
    return View(*values)  # type: ignore[arg-type]
