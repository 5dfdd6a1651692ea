"""Writing anew what an erasure leaves: windows with less in them, episodes, moments, patterns; ids stay what they were.

Rows keep their ids (and with them the order of ids, which is the order of arrival): whatever cites what stays goes on
to cite the same thing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from storage import vectors
from storage.connect import Connection
from storage.episodes import EpisodeReader
from storage.index_strata import NEAR
from storage.intentions import IntentionReader
from storage.moments import MomentReader
from storage.patterns import PatternReader
from storage.records import Episode, Moment, Us, Window
from storage.trace import TraceReader
from storage.vectors import Vector

_EVER: Us = 2**61


@dataclass(frozen=True, slots=True)
class FactRow:
    """One version of a fact as it was before an erasure."""

    id: int
    support: int
    days: int
    t_first: Us
    t_last: Us
    known: Us
    state: str
    reason: str


class Rewriter:
    """Readers that show the rows as they are stored, without the owner's corrections, and writers that keep ids."""

    def __init__(self, db: Connection, dim: int) -> None:
        self._db, self.dim = db, dim
        self.trace = TraceReader(db, _EVER)
        self.episodes = EpisodeReader(db, _EVER)
        self.moments = MomentReader(db, _EVER)
        self.patterns = PatternReader(db, _EVER)
        self.intentions = IntentionReader(db, _EVER)

    def window(self, window: Window, vector: Vector) -> None:
        """What is left of a window in the place of what it was; its items and keyframes are deleted one by one."""
        device = None if window.device is None else json.dumps(asdict(window.device), sort_keys=True)
        self._db.execute(
            "UPDATE window SET t_start = ?, t_end = ?, description = ?, scene = ?, frames = ?, device = ? WHERE id = ?",
            (window.t_start, window.t_end, window.description, window.scene, window.frames, device, window.id),
        )
        self._db.execute("DELETE FROM entity WHERE window_id = ?", (window.id,))
        self._db.executemany(
            "INSERT INTO entity(window_id, name, count, attributes, location) VALUES (?, ?, ?, ?, ?)",
            [
                (window.id, e.name, e.count, json.dumps(e.attributes, ensure_ascii=False), e.location)
                for e in window.entities
            ],
        )
        kept = [g.id for g in window.gaps]
        self._db.execute(
            f"DELETE FROM gap WHERE window_id = ? AND id NOT IN ({','.join('?' * len(kept))})", (window.id, *kept)
        )
        self._vector("window_vec", window.id, vector)

    def episode(self, episode: Episode, vector: Vector) -> None:
        """New texts, and the windows that are left, in the place of an episode."""
        self._db.execute(
            "UPDATE episode SET t_start = ?, t_end = ?, offset_s = ?, subject = ?, summary = ?, keywords = ?, "
            "description = ?, place = ?, first_window = ?, last_window = ?, made_by = ? WHERE id = ?",
            (
                episode.t_start,
                episode.t_end,
                episode.offset_s,
                episode.subject,
                episode.summary,
                "\n".join(episode.keywords),
                episode.description,
                episode.place,
                episode.first_window,
                episode.last_window,
                episode.made_by,
                episode.id,
            ),
        )
        self._vector("episode_vec", episode.id, vector)

    def moment(self, moment: Moment, vector: Vector) -> None:
        """A moment with the id of one that went."""
        self._db.execute(
            "INSERT INTO moment(id, episode_id, window_id, t, offset_s, text, keywords, role, weight, category, place, "
            "known, made_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                moment.id,
                moment.episode_id,
                moment.window_id,
                moment.t,
                moment.offset_s,
                moment.text,
                "\n".join(moment.keywords),
                moment.role,
                moment.weight,
                moment.category,
                moment.place,
                moment.known,
                moment.made_by,
            ),
        )
        self._vector("moment_vec", moment.id, vector)

    def pattern(self, pattern_id: int, known: Us) -> None:
        """A pattern whose first version is still to be written again."""
        self._db.execute("INSERT OR IGNORE INTO pattern(id, known) VALUES (?, ?)", (pattern_id, known))

    def within(self, start: Us, end: Us) -> list[int]:
        """Ids of the windows that lie whole in [start, end)."""
        rows = self._db.execute(
            "SELECT id FROM window WHERE t_end > ? AND t_end <= ? AND t_start >= ? ORDER BY id", (start, end, start)
        )
        return [row[0] for row in rows]

    def across(self, start: Us, end: Us) -> list[int]:
        """Ids of the windows that overlap [start, end) and reach beyond it."""
        rows = self._db.execute(
            "SELECT id FROM window WHERE t_end > ? AND t_start < ? AND (t_start < ? OR t_end > ?) ORDER BY id",
            (start, end, start, end),
        )
        return [row[0] for row in rows]

    def windows(self, ids: list[int]) -> Iterator[Window]:
        """Those windows as they are stored, whatever their order."""
        for window_id in ids:
            yield from self.trace.span(window_id, window_id)

    def length(self, ids: list[int]) -> Us:
        """How long those windows are together, microseconds."""
        total = 0
        for start in range(0, len(ids), 500):
            part = ids[start : start + 500]
            row = self._db.execute(
                f"SELECT sum(t_end - t_start) FROM window WHERE id IN ({','.join('?' * len(part))})", part
            ).fetchone()
            total += int(row[0] or 0)
        return total

    def pruned(self, ids: list[int]) -> set[int]:
        """Those windows whose content retention has taken."""
        found: set[int] = set()
        for start in range(0, len(ids), 500):
            part = ids[start : start + 500]
            found.update(
                row[0]
                for row in self._db.execute(
                    f"SELECT window_id FROM pruned WHERE window_id IN ({','.join('?' * len(part))})", part
                )
            )
        return found

    def members(self, pattern_id: int) -> list[tuple[int, Us]]:
        """The episodes of a pattern with the time each joined, in that order."""
        rows = self._db.execute(
            "SELECT episode_id, min(known) FROM edge WHERE pattern_id = ? GROUP BY episode_id ORDER BY 2, 1",
            (pattern_id,),
        )
        return [(row[0], row[1]) for row in rows]

    def holding(self, windows: list[int]) -> list[int]:
        """Ids of the episodes that hold one of those windows."""
        if not windows:
            return []
        low, high = min(windows), max(windows)
        runs: dict[int, list[tuple[int, int, int]]] = {}
        for row in self._db.execute(
            "SELECT recording_id, first_window, last_window, id FROM episode WHERE first_window <= ? AND last_window >= ?",
            (high, low),
        ):
            runs.setdefault(row[0], []).append(tuple(row[1:]))
        wanted: set[int] = set(windows)
        of: dict[int, int] = {}
        for start in range(0, len(windows), 500):
            part = windows[start : start + 500]
            of.update(
                self._db.execute(
                    f"SELECT id, recording_id FROM window WHERE id IN ({','.join('?' * len(part))})", part
                ).fetchall()
            )
        found: set[int] = set()
        by_recording: dict[int, list[int]] = {}
        for window in sorted(wanted & set(of)):
            by_recording.setdefault(of[window], []).append(window)
        for recording, own in by_recording.items():
            spans = sorted(runs.get(recording, []))
            place = 0
            for window in own:
                while place < len(spans) and spans[place][1] < window:
                    place += 1
                if place < len(spans) and spans[place][0] <= window:
                    found.add(spans[place][2])
        return sorted(found)

    def recount_facts(self, lost: dict[int, list[FactRow]]) -> None:
        """The versions of facts that lost part of their support, as they are with what is left."""
        for fact_id, versions in lost.items():
            if self._db.execute("SELECT 1 FROM fact WHERE id = ?", (fact_id,)).fetchone() is None:
                continue
            number = 0
            before: tuple[object, ...] = ()
            for row in versions:
                now = self._db.execute(
                    "SELECT count(*), count(DISTINCT (t + offset_s * 1000000) / 86400000000), min(t), max(t) "
                    "FROM fact_support WHERE fact_id = ? AND known <= ?",
                    (fact_id, row.known),
                ).fetchone()
                changed = (now[0], now[1]) != (row.support, row.days)
                if not now[0] or (changed and (now[0], now[1], row.state) == before):
                    continue
                before, number = (now[0], now[1], row.state), number + 1
                first, last = (now[2], now[3]) if changed else (row.t_first, row.t_last)
                self._db.execute(
                    "INSERT INTO fact_version(id, fact_id, version, state, support, days, t_first, t_last, reason, known) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (row.id, fact_id, number, row.state, now[0], now[1], first, last, row.reason, row.known),
                )

    def losing_support(self) -> dict[int, list[FactRow]]:
        """Facts that the marks take support from, each with its chain; to be asked before anything is deleted."""
        found: dict[int, list[FactRow]] = {}
        for row in self._db.execute(
            "SELECT fact_id, id, support, days, t_first, t_last, known, state, reason FROM fact_version "
            "WHERE 'f' || fact_id IN (SELECT ref FROM erased_ref) ORDER BY fact_id, version"
        ):
            found.setdefault(row[0], []).append(FactRow(*row[1:]))
        return found

    def _vector(self, table: str, row: int, vector: Vector) -> None:
        self._db.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))
        self._db.execute(f"DELETE FROM {NEAR[table]} WHERE id = ?", (row,))
        vectors.put(self._db, table, row, vector, self.dim)
