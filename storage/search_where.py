"""Filters of a search: what was seen, who was there, where it was.

Two ways lead to the rows that fit, and the cheaper is taken: a name that few rows carry is looked up in its index, and
only those rows are ranked; else the rankings are read deeper and what does not fit is left out, in the order they have.
Names are matched exactly, as entities, speakers and places are stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from storage.connect import Connection
from storage.errors import BadRecord
from storage.index_strata import GROUNDS, Stratum

FEW = 20_000  # rows that are ranked by themselves
DEEP = 4_096  # rows of a ranking that are read for those that fit


@dataclass(frozen=True, slots=True)
class Where:
    """Only rows of windows with this entity, with this person (who spoke, or was seen), at this place."""

    entity: str | None = None
    person: str | None = None
    place: str | None = None

    def __bool__(self) -> bool:
        return any((self.entity, self.person, self.place))


_SEEN = "EXISTS (SELECT 1 FROM entity e WHERE e.window_id {of} AND e.name = ?)"
_HEARD = "EXISTS (SELECT 1 FROM item i WHERE i.window_id {of} AND i.kind = 'speech' AND i.speaker = ?)"
# How a row of a stratum points at its windows, and where it says its place.
_WINDOWS: dict[Stratum, str] = {
    "item": "= o.window_id", "window": "= o.id", "moment": "= o.window_id",
    "episode": "BETWEEN o.first_window AND o.last_window", "view": "BETWEEN o.first_window AND o.last_window",
}  # fmt: skip
_PLACE: dict[Stratum, str] = {
    "item": "EXISTS (SELECT 1 FROM window s WHERE s.id = o.window_id AND s.scene = ?)", "window": "o.scene = ?",
    "moment": "o.place = ?", "episode": "o.place = ?",
    "view": "EXISTS (SELECT 1 FROM window s WHERE s.id BETWEEN o.first_window AND o.last_window AND s.scene = ?)",
}  # fmt: skip
# By an index: windows that hold a name, or rows of a place (those indexes leave out rows that say none).
_NAMED = "SELECT e.window_id FROM entity e WHERE e.name = ?"
_SPOKE = "SELECT i.window_id FROM item i INDEXED BY item_speaker WHERE i.kind = 'speech' AND i.speaker = ?"
_AT: dict[Stratum, str] = {
    "item": "SELECT o.id FROM window s CROSS JOIN item o ON o.window_id = s.id WHERE s.scene = ? AND s.scene <> ''",
    "window": "SELECT o.id FROM window o WHERE o.scene = ? AND o.scene <> ''",
    "moment": "SELECT o.id FROM moment o WHERE o.place = ? AND o.place <> ''",
}


def condition(stratum: Stratum, where: Where) -> tuple[str, tuple[str, ...]]:
    """SQL over `o`, and its values.  Raises BadRecord for a stratum whose rows lie in no window."""
    if stratum not in _WINDOWS:
        raise BadRecord(
            f"Rows of the kind {stratum} lie in no one place or window: leave out entity, person and place."
        )
    of = _WINDOWS[stratum]
    parts: list[tuple[str, tuple[str, ...]]] = []
    if where.entity:
        parts.append((_SEEN.format(of=of), (where.entity,)))
    if where.person:
        parts.append((f"({_HEARD.format(of=of)} OR {_SEEN.format(of=of)})", (where.person, where.person)))
    if where.place:
        parts.append((_PLACE[stratum], (where.place,)))
    return " AND ".join(p for p, _ in parts), tuple(v for _, values in parts for v in values)


def few(db: Connection, stratum: Stratum, where: Where) -> npt.NDArray[np.int64] | None:
    """The ids, ascending, of all rows that fit when they are no more than FEW by one of their names; else None."""
    fits, values = condition(stratum, where)
    owner = GROUNDS[stratum].owner
    sources: list[tuple[str, tuple[str, ...]]] = []
    if stratum in _AT:
        by_window = f"SELECT o.id FROM ({{}}) n CROSS JOIN {owner} o ON {'o.id' if stratum == 'window' else 'o.window_id'} = n.window_id"
        if where.entity:
            sources.append((by_window.format(_NAMED), (where.entity,)))
        if where.person:
            sources.append((by_window.format(f"{_NAMED} UNION {_SPOKE}"), (where.person, where.person)))
        if where.place:
            sources.append((_AT[stratum], (where.place,)))
    for source, given in sources:
        found = db.execute(f"{source} LIMIT ?", (*given, FEW + 1)).fetchall()
        if len(found) <= FEW:
            ids = sorted({row[0] for row in found})
            return np.asarray(ids if len(sources) == 1 else keep(db, stratum, where, ids), dtype=np.int64)
    if db.execute(f"SELECT max(id) FROM {owner}").fetchone()[0] in range(FEW):
        return np.asarray(
            [r[0] for r in db.execute(f"SELECT o.id FROM {owner} o WHERE {fits} ORDER BY o.id", values)], dtype=np.int64
        )
    return None


def keep(db: Connection, stratum: Stratum, where: Where, ids: list[int]) -> list[int]:
    """Those of some rows that fit, in the order they were given."""
    fits, values = condition(stratum, where)
    found: set[int] = set()
    for at in range(0, len(ids), 500):
        part = ids[at : at + 500]
        marks = ",".join("?" * len(part))
        rows = db.execute(
            f"SELECT o.id FROM {GROUNDS[stratum].owner} o WHERE o.id IN ({marks}) AND {fits}", (*part, *values)
        )
        found.update(row[0] for row in rows)
    return [i for i in ids if i in found]


def deeper(ranked: Callable[[int], list[int]], fit: Callable[[list[int]], list[int]], depth: int) -> list[int]:
    """The first `depth` rows of a ranking that fit: it is read deeper until they are found, or to DEEP."""
    read = depth
    while True:
        rows = ranked(read)
        found = fit(rows)
        if len(found) >= depth or len(rows) < read or read >= DEEP:
            return found[:depth]
        read = min(DEEP, read * 6)
