"""Writing anew what an erasure leaves: windows with less in them, episodes, moments, patterns; ids stay what they were.

Rows keep their ids (and with them the order of ids, which is the order of arrival): whatever cites what stays goes on
to cite the same thing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TypeAlias

from storage import vectors
from storage.connect import Connection
from storage.episodes import EpisodeReader
from storage.erase_rules import FOLLOWS
from storage.index_strata import NEAR
from storage.intentions import IntentionReader
from storage.moments import MomentReader
from storage.patterns import PatternReader
from storage.records import Episode, Us, Window
from storage.trace import TraceReader
from storage.vectors import Vector

# What a fact rests on: its reference, its window, its episode, when it was known
Support: TypeAlias = tuple[str, int | None, int | None, Us]

_EVER: Us = 2**61
_RULES = {rule.table: rule for rule in FOLLOWS}
_ROWS_OF = "(SELECT key FROM erased_row WHERE tab = 'fact_support')"


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

    def reserve(self, patterns: Iterable[int]) -> None:
        """Keep the ids of patterns that are to be grown again, so that no new one takes them."""
        self._db.executemany("INSERT OR IGNORE INTO pattern(id, known) VALUES (?, 0)", [(p,) for p in patterns])

    def pattern(self, pattern_id: int, known: Us) -> None:
        """A pattern whose first version is still to be written again."""
        self._db.execute("UPDATE pattern SET known = ? WHERE id = ?", (known, pattern_id))

    def release(self) -> None:
        """Patterns that nothing was left of go."""
        self._db.execute(
            "DELETE FROM pattern WHERE NOT EXISTS (SELECT 1 FROM pattern_version v WHERE v.pattern_id = pattern.id)"
        )

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

    def episode_after(self, recording: str, window_id: int) -> int | None:
        """The first episode of a recording after that window."""
        row = self._db.execute(
            "SELECT e.id FROM episode e JOIN recording r ON r.id = e.recording_id WHERE r.name = ? AND e.first_window > ? "
            "ORDER BY e.first_window LIMIT 1",
            (recording, window_id),
        ).fetchone()
        return None if row is None else int(row[0])

    def episode_before(self, recording: str, window_id: int) -> int | None:
        """The last episode of a recording before that window."""
        row = self._db.execute(
            "SELECT e.id FROM episode e JOIN recording r ON r.id = e.recording_id WHERE r.name = ? AND e.last_window < ? "
            "ORDER BY e.last_window DESC LIMIT 1",
            (recording, window_id),
        ).fetchone()
        return None if row is None else int(row[0])

    def transitions(self, episodes: list[int]) -> list[int]:
        """The edges that lead from the episode before to one of these."""
        return [
            row[0]
            for number in episodes
            for row in self._db.execute("SELECT id FROM relation WHERE episode_id = ? AND type = 'then'", (number,))
        ]

    def lost_views(self) -> list[tuple[str, int, Us, Us]]:
        """Views that the marks take: recording, scale in seconds, begin of the stretch, when it was known first."""
        return [
            (row[0], row[1], row[2], row[3])
            for row in self._db.execute(
                "SELECT r.name, v.scale_s, v.t_block, min(v.known) FROM view v JOIN recording r ON r.id = v.recording_id "
                "WHERE EXISTS (SELECT 1 FROM erased_window g WHERE g.id BETWEEN v.first_window AND v.last_window) "
                "OR v.id IN (SELECT key FROM erased_row WHERE tab = 'view') GROUP BY 1, 2, 3 ORDER BY 4, 2, 1, 3"
            )
        ]

    def lost_aliases(self) -> list[tuple[int, str]]:
        """Other names that the marks take: node and name."""
        return [
            (row[0], row[1])
            for row in self._db.execute(
                "SELECT node_id, name FROM alias WHERE window_id IN (SELECT id FROM erased_window) ORDER BY id"
            )
        ]

    def alias_again(self, node_id: int, name: str) -> None:
        """A name that was met elsewhere too stays, from when it was met there."""
        if self._db.execute("SELECT 1 FROM node WHERE id = ?", (node_id,)).fetchone() is None:
            return
        row = self._db.execute(
            "SELECT w.id, w.t_end FROM entity e JOIN window w ON w.id = e.window_id WHERE e.name = ? COLLATE NOCASE "
            "ORDER BY w.t_end, w.id LIMIT 1",
            (name,),
        ).fetchone()
        if row is not None:
            self._db.execute(
                "INSERT OR IGNORE INTO alias(node_id, name, window_id, known) VALUES (?, ?, ?, ?)",
                (node_id, name, *row),
            )

    def nodes_known(self) -> None:
        """A node is known from the earliest that still tells of it."""
        self._db.execute(
            "UPDATE node AS x SET known = m.t FROM (SELECT n.id AS id, min(coalesce((SELECT min(known) FROM relation r "
            "WHERE r.source = n.id), 9e18), coalesce((SELECT min(known) FROM relation r WHERE r.target = n.id), 9e18), "
            "coalesce((SELECT min(known) FROM alias a WHERE a.node_id = n.id), 9e18)) AS t FROM node n) m "
            "WHERE m.id = x.id AND m.t < 9e18 AND m.t > x.known"
        )

    def routine_facts(self) -> list[int]:
        """Facts that stand for a pattern which is grown again."""
        return [
            row[0]
            for row in self._db.execute(
                "SELECT f.id FROM fact f JOIN erased_pattern g ON f.key = 'habit|p' || g.id ORDER BY f.id"
            )
        ]

    def founded(self) -> dict[int, list[Support]]:
        """Facts whose first words the marks take though something supports them still: what that is, in its order."""
        supports: dict[int, list[tuple[bool, Support]]] = {}
        rule = _RULES["fact_support"]
        for row in self._db.execute(
            f"SELECT x.fact_id, {rule.where} OR {rule.key} IN {_ROWS_OF}, x.ref, x.window_id, x.episode_id, x.known "
            "FROM fact_support x WHERE 'f' || x.fact_id IN (SELECT ref FROM erased_ref) ORDER BY x.fact_id, x.known, x.t, x.ref"
        ):
            supports.setdefault(row[0], []).append((bool(row[1]), row[2:]))
        left = {fact: [s for lost, s in own if not lost] for fact, own in supports.items() if own[0][0]}
        return {fact: own for fact, own in left.items() if own}

    def requote(self) -> None:
        """What rests on an episode that was written anew quotes its new subject."""
        self._db.execute(
            "UPDATE fact_support AS x SET quote = e.subject, t = e.t_start, offset_s = e.offset_s FROM episode e "
            "WHERE e.id = x.episode_id AND x.window_id IS NULL AND x.episode_id IN (SELECT id FROM erased_episode)"
        )

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
