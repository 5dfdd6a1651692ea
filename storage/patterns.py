"""Stratum P: patterns as chains of versions, and the group edges to their episodes.  All its SQL is here."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from storage import vectors
from storage.connect import Connection
from storage.errors import NotFound
from storage.records import Edge, Pattern, Us
from storage.vectors import Vector

_COLUMNS = (
    "v.kind, v.title, v.summary, v.keywords, v.coherence, v.recurrence, v.days, v.frequency, v.typical_minute, "
    "v.spread_min, v.known, v.made_by, v.version, v.pattern_id"
)
# The newest version known at t of each pattern, looked for from the end of its chain: the cost does not grow with it.
_VERSION = (
    "(SELECT n.version FROM pattern_version n WHERE n.pattern_id = {} AND n.known <= ? ORDER BY n.version DESC LIMIT 1)"
)
_NEWEST = f"pattern p CROSS JOIN pattern_version v ON v.pattern_id = p.id AND v.version = {_VERSION.format('p.id')}"


class Member(NamedTuple):
    """What grouping needs to know of an episode; `pattern_id` is 0 for one that no pattern holds.

    A tuple, because hundreds are made for every episode that closes.
    """

    episode_id: int
    recording: str
    subject: str
    keywords: tuple[str, ...]
    t_start: Us
    t_end: Us
    offset_s: int
    pattern_id: int


_MEMBER = "e.id, r.name, e.subject, e.keywords, e.t_start, e.t_end, e.offset_s"


class PatternReader:
    """Reads of P as known at `until`: of each pattern its newest version not after it."""

    def __init__(self, db: Connection, until: Us) -> None:
        self._db, self._until = db, until

    def get(self, pattern_id: int) -> Pattern:
        """One pattern.  Raises NotFound."""
        found = self._rows(f"{_NEWEST} WHERE p.id = ?", (self._until, pattern_id))
        if not found:
            raise NotFound(f"There is no pattern p{pattern_id} at that time.")
        return found[0]

    def many(self, pattern_ids: list[int]) -> dict[int, Pattern]:
        """Patterns by id, those that are known."""
        marks = ",".join("?" * len(pattern_ids))
        found = self._rows(f"{_NEWEST} WHERE p.id IN ({marks})", (self._until, *pattern_ids))
        return {p.id: p for p in found}

    def all(self) -> list[Pattern]:
        """Every known pattern, in the order they came."""
        return self._rows(f"{_NEWEST} ORDER BY p.id", (self._until,))

    def versions(self, pattern_id: int) -> list[Pattern]:
        """The chain of a pattern up to this time, oldest first."""
        return self._rows(
            "pattern_version v WHERE v.pattern_id = ? AND v.known <= ? ORDER BY v.version",
            (pattern_id, self._until),
        )

    def by_version_row(self, rows: list[int]) -> dict[int, int]:
        """Ids of patterns by the row of a version, only where that version is the newest known one."""
        found: dict[int, int] = {}
        for start in range(0, len(rows), 500):
            part = rows[start : start + 500]
            marks = ",".join("?" * len(part))
            found.update(
                self._db.execute(
                    f"SELECT v.id, v.pattern_id FROM pattern_version v WHERE v.id IN ({marks}) "
                    f"AND v.version = {_VERSION.format('v.pattern_id')}",
                    (*part, self._until),
                )
            )
        return found

    def edges(self, pattern_id: int) -> list[Edge]:
        """The newest known edge to each episode of a pattern, in the order of the episodes' time."""
        rows = self._db.execute(
            "SELECT g.pattern_id, g.episode_id, g.role, g.weight, g.known FROM edge g "
            "JOIN episode e ON e.id = g.episode_id "
            "WHERE g.pattern_id = ? AND g.known <= ? AND NOT EXISTS (SELECT 1 FROM edge n WHERE "
            "n.pattern_id = g.pattern_id AND n.episode_id = g.episode_id AND n.known <= ? AND n.known > g.known) "
            "ORDER BY e.t_start, e.id",
            (pattern_id, self._until, self._until),
        )
        return [Edge(*row) for row in rows]

    def newest(self, pattern_id: int, count: int) -> list[Member]:
        """The newest `count` episodes of a pattern by their time, oldest first: what came in late is not newest."""
        rows = self._db.execute(
            f"SELECT {_MEMBER} FROM (SELECT episode_id FROM edge WHERE pattern_id = ? AND known <= ? GROUP BY episode_id "
            "ORDER BY min(known) DESC, episode_id DESC LIMIT ?) g JOIN episode e ON e.id = g.episode_id "
            "JOIN recording r ON r.id = e.recording_id ORDER BY e.t_start, e.id",
            (pattern_id, self._until, count),
        )
        return [_member(row, pattern_id) for row in rows]

    def subjects(self, pattern_id: int, count: int) -> list[str]:
        """The subjects of the newest `count` episodes of a pattern, newest first: those that `newest` would give."""
        rows = self._db.execute(
            "SELECT e.subject FROM (SELECT episode_id, min(known) AS joined FROM edge WHERE pattern_id = ? AND known <= ? "
            "GROUP BY episode_id ORDER BY 2 DESC, 1 DESC LIMIT ?) g CROSS JOIN episode e ON e.id = g.episode_id "
            "ORDER BY g.joined DESC, g.episode_id DESC",
            (pattern_id, self._until, count),
        )
        return [row[0] for row in rows]

    def first(self, pattern_id: int) -> Member | None:
        """The episode that opened a pattern."""
        rows = self._db.execute(
            f"SELECT {_MEMBER} FROM (SELECT episode_id AS id FROM edge WHERE pattern_id = ? AND known <= ? "
            "ORDER BY known, episode_id LIMIT 1) g JOIN episode e ON e.id = g.id JOIN recording r ON r.id = e.recording_id",
            (pattern_id, self._until),
        ).fetchall()
        return _member(rows[0], pattern_id) if rows else None

    def size(self, pattern_id: int) -> int:
        """How many episodes a pattern holds."""
        found = self._db.execute(
            "SELECT count(DISTINCT episode_id) FROM edge WHERE pattern_id = ? AND known <= ?", (pattern_id, self._until)
        )
        return int(found.fetchone()[0])

    def recent(self, count: int) -> list[Member]:
        """The newest `count` episodes whatever holds them, newest first."""
        rows = self._db.execute(
            f"SELECT {_MEMBER}, (SELECT g.pattern_id FROM edge g WHERE g.episode_id = e.id AND g.known <= ? LIMIT 1) "
            "FROM episode e JOIN recording r ON r.id = e.recording_id "
            "WHERE e.known <= ? ORDER BY e.known DESC, e.id DESC LIMIT ?",
            (self._until, self._until, count),
        )
        return [_member(row, row[7] or 0) for row in rows]

    def edges_to(self, pattern_id: int, episode_ids: list[int]) -> dict[int, Edge]:
        """The newest known edges from a pattern to those episodes, by episode."""
        found: dict[int, Edge] = {}
        for start in range(0, len(episode_ids), 500):
            part = episode_ids[start : start + 500]
            for row in self._db.execute(
                "SELECT pattern_id, episode_id, role, weight, known FROM edge WHERE pattern_id = ? AND known <= ? "
                f"AND episode_id IN ({','.join('?' * len(part))}) ORDER BY known",
                (pattern_id, self._until, *part),
            ):
                found[row[1]] = Edge(*row)
        return found

    def of_episode(self, episode_id: int) -> list[int]:
        """Ids of the patterns an episode belongs to."""
        rows = self._db.execute(
            "SELECT DISTINCT pattern_id FROM edge WHERE episode_id = ? AND known <= ? ORDER BY 1",
            (episode_id, self._until),
        )
        return [row[0] for row in rows]

    def count(self) -> int:
        """How many patterns are known."""
        return int(self._db.execute("SELECT count(*) FROM pattern WHERE known <= ?", (self._until,)).fetchone()[0])

    def vectors_of(self, pattern_ids: list[int]) -> dict[int, Vector]:
        """Embeddings of the newest known version of each of those patterns, by pattern id."""
        marks = ",".join("?" * len(pattern_ids))
        rows = dict(
            self._db.execute(
                f"SELECT v.id, v.pattern_id FROM {_NEWEST} WHERE p.id IN ({marks})", (self._until, *pattern_ids)
            ).fetchall()
        )
        found = vectors.get(self._db, "pattern_vec", list(rows), "pattern_version.known", self._until)
        return {rows[row]: vector for row, vector in found.items()}

    def _rows(self, source: str, values: tuple[object, ...]) -> list[Pattern]:
        return [_pattern(row) for row in self._db.execute(f"SELECT {_COLUMNS} FROM {source}", values)]


class PatternWriter:
    """Writes of P, inside one transaction of the store."""

    def __init__(self, db: Connection, dim: int) -> None:
        self._db, self._dim = db, dim

    def put(self, pattern: Pattern, vector: Vector) -> int:
        """Append a version: of a new pattern when `pattern.id` is 0, else of that one.  Returns the pattern's id."""
        pattern_id = pattern.id
        if not pattern_id:
            pattern_id = int(self._db.execute("INSERT INTO pattern(known) VALUES (?)", (pattern.known,)).lastrowid)
        last = self._db.execute("SELECT max(version) FROM pattern_version WHERE pattern_id = ?", (pattern_id,))
        version = int(last.fetchone()[0] or 0) + 1
        row = self._db.execute(
            "INSERT INTO pattern_version(pattern_id, version, kind, title, summary, keywords, coherence, recurrence, "
            "days, frequency, typical_minute, spread_min, known, made_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                pattern_id,
                version,
                pattern.kind,
                pattern.title,
                pattern.summary,
                "\n".join(pattern.keywords),
                pattern.coherence,
                pattern.recurrence,
                pattern.days,
                pattern.frequency,
                pattern.typical_minute,
                pattern.spread_min,
                pattern.known,
                pattern.made_by,
            ),
        ).lastrowid
        vectors.put(self._db, "pattern_vec", int(row), vector, self._dim)
        return pattern_id

    def unwind(self, pattern_id: int, until: Us) -> tuple[int, list[tuple[int, Us]]]:
        """Take back what a pattern became after `until`: its versions, its edges, and itself when nothing is left.

        Returns how many rows went, and the episodes that had joined it after that, each with the time it did, in that
        order.
        """
        later = self._db.execute(
            "SELECT episode_id, min(known) FROM edge WHERE pattern_id = ? GROUP BY episode_id HAVING min(known) > ? "
            "ORDER BY 2, 1",
            (pattern_id, until),
        ).fetchall()
        rows = self._db.execute(
            "SELECT id FROM pattern_version WHERE pattern_id = ? AND known > ?", (pattern_id, until)
        ).fetchall()
        for (row,) in rows:
            self._db.execute("DELETE FROM pattern_vec WHERE rowid = ?", (row,))
            self._db.execute("DELETE FROM pattern_version WHERE id = ?", (row,))
        gone = len(rows)
        gone += self._db.execute("DELETE FROM edge WHERE pattern_id = ? AND known > ?", (pattern_id, until)).rowcount
        gone += self._db.execute(
            "DELETE FROM pattern WHERE id = ? AND NOT EXISTS (SELECT 1 FROM pattern_version WHERE pattern_id = pattern.id)",
            (pattern_id,),
        ).rowcount
        return gone, [(row[0], row[1]) for row in later]

    def reopen(self, pattern_id: int, known: Us) -> None:
        """Let a pattern be there again under its id, its first version still to come."""
        self._db.execute("INSERT OR IGNORE INTO pattern(id, known) VALUES (?, ?)", (pattern_id, known))

    def later(self, pattern_id: int, until: Us) -> bool:
        """Whether a pattern has a version known after that time: something older is about to join it."""
        found = self._db.execute(
            "SELECT 1 FROM pattern_version WHERE pattern_id = ? AND known > ? LIMIT 1", (pattern_id, until)
        )
        return found.fetchone() is not None

    def link(self, edge: Edge) -> None:
        """Append a version of an edge."""
        self._db.execute(
            "INSERT OR REPLACE INTO edge(pattern_id, episode_id, role, weight, known) VALUES (?, ?, ?, ?, ?)",
            (edge.pattern_id, edge.episode_id, edge.role, edge.weight, edge.known),
        )


def _pattern(row: tuple[object, ...]) -> Pattern:
    values = list(row)
    values[3] = _split(str(row[3]))
    return Pattern(*values)  # type: ignore[arg-type]


@lru_cache(maxsize=1024)  # growth reads the newest few hundred again with every episode
def _split(keywords: str) -> tuple[str, ...]:
    return tuple(k for k in keywords.split("\n") if k)


def _member(row: tuple[Any, ...], pattern_id: int) -> Member:
    return Member(row[0], row[1], row[2], _split(row[3]), row[4], row[5], row[6], pattern_id)
