"""What is kept and what is thinned out: pins, the tiers of keyframes, windows whose content was pruned.

A pruned window keeps its row, its time and its place in the chain; what was made from it stays readable, and `pruned`
says why there is nothing behind it any more.  All the SQL of retention is here; what to thin out is decided by
edge.memory.retention.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from storage.connect import Connection
from storage.errors import NotFound
from storage.index_strata import NEAR
from storage.records import Keyframe, Us

_REF = re.compile(r"([wek])([0-9]{1,18})")
_CITED = re.compile(r"([wem])([0-9]{1,18})")
_TABLES = {"w": "window", "e": "episode", "k": "keyframe"}
# Of a window w: whether the owner has pinned it, its episode or one of its pictures.
_PINNED_WINDOW = (
    "EXISTS (SELECT 1 FROM pin p WHERE p.ref = 'w' || w.id) OR EXISTS (SELECT 1 FROM pin p JOIN episode e "
    "ON p.ref = 'e' || e.id WHERE e.recording_id = w.recording_id AND w.id BETWEEN e.first_window AND e.last_window)"
)
_IN_EPISODE = (
    "EXISTS (SELECT 1 FROM episode e WHERE e.first_window <= w.id AND e.last_window >= w.id "
    "AND e.recording_id = w.recording_id)"
)


@dataclass(frozen=True, slots=True)
class Held:
    """One keyframe as retention sees it: `tier` is the last it was compressed for, `linked` an episode's first or last."""

    keyframe: Keyframe
    tier: str
    linked: bool
    pinned: bool


@dataclass(frozen=True, slots=True)
class Pruned:
    """Why nothing stands behind a window any more."""

    window_id: int
    t: Us
    why: str


class RetentionReader:
    """What retention has done, for whoever cites it."""

    def __init__(self, db: Connection, until: Us) -> None:
        self._db, self._until = db, until

    def pruned(self, window_ids: Iterable[int]) -> dict[int, Pruned]:
        """Those of the windows whose content is gone, with when and why."""
        ids = list(window_ids)
        found: dict[int, Pruned] = {}
        for start in range(0, len(ids), 500):
            part = ids[start : start + 500]
            marks = ",".join("?" * len(part))
            for row in self._db.execute(
                f"SELECT p.window_id, p.t, p.why FROM pruned p JOIN window w ON w.id = p.window_id "
                f"WHERE p.window_id IN ({marks}) AND w.t_end <= ?",
                (*part, self._until),
            ):
                found[row[0]] = Pruned(*row)
        return found

    def behind(self, ref: str) -> Pruned | None:
        """The pruning by which nothing stands behind a reference any more: a window, a moment's, all of an episode's."""
        match = _CITED.fullmatch(ref)
        if match is None:
            return None
        letter, number = match[1], int(match[2])
        if letter == "e":
            row = self._db.execute(
                "SELECT w.id, p.window_id IS NULL FROM episode e JOIN window w ON w.recording_id = e.recording_id "
                "AND w.id BETWEEN e.first_window AND e.last_window LEFT JOIN pruned p ON p.window_id = w.id "
                "WHERE e.id = ? AND e.known <= ? ORDER BY 2 DESC, w.id LIMIT 1",
                (number, self._until),
            ).fetchone()
            window = None if row is None or row[1] else row[0]
        elif letter == "m":
            row = self._db.execute(
                "SELECT window_id FROM moment WHERE id = ? AND known <= ?", (number, self._until)
            ).fetchone()
            window = None if row is None else row[0]
        else:
            window = number
        return None if window is None else self.pruned([window]).get(window)


class Holdings:
    """What the memory holds in pictures, pages and pins: for retention alone, no answer is made from it."""

    def __init__(self, db: Connection) -> None:
        self._db = db

    def pruned_count(self) -> int:
        """How many windows have been pruned."""
        return int(self._db.execute("SELECT count(*) FROM pruned").fetchone()[0])

    def pins(self) -> list[str]:
        """What the owner has pinned, in the order it was."""
        return [row[0] for row in self._db.execute("SELECT ref FROM pin ORDER BY t, ref")]

    def keyframe_bytes(self) -> int:
        """How large all keyframes are together."""
        return int(self._db.execute("SELECT coalesce(sum(size), 0) FROM keyframe").fetchone()[0])

    def trace_bytes(self) -> int:
        """How large the database is without its free pages."""
        pages, free, size = (
            int(self._db.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("page_count", "freelist_count", "page_size")
        )
        return (pages - free) * size

    def free_bytes(self) -> int:
        """How much of the database's file is free to be written again."""
        free, size = (int(self._db.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("freelist_count", "page_size"))
        return free * size

    def newest(self) -> Us | None:
        """The end of the newest window: the memory's own now."""
        row = self._db.execute("SELECT max(t_end) FROM window").fetchone()
        return None if row[0] is None else int(row[0])

    def keyframes(self, start: Us | None = None, end: Us | None = None) -> list[Held]:
        """Keyframes with start <= t < end, in time order."""
        rows = self._db.execute(
            "SELECT k.t, k.file, k.sha256, k.width, k.height, k.size, k.window_id, k.id, coalesce(c.tier, ''), "
            f"EXISTS (SELECT 1 FROM pin p WHERE p.ref = 'k' || k.id) OR {_PINNED_WINDOW}, w.recording_id "
            "FROM keyframe k JOIN window w ON w.id = k.window_id LEFT JOIN keyframe_tier c ON c.keyframe_id = k.id "
            "WHERE k.t >= ? AND k.t < ? ORDER BY k.t, k.id",
            (-(2**62) if start is None else start, 2**62 if end is None else end),
        ).fetchall()
        linked = self._linked(start)
        return [Held(Keyframe(*row[:8]), row[8], row[7] in linked, bool(row[9])) for row in rows]

    def old_windows(self, before: Us, limit: int) -> list[int]:
        """The oldest windows that ended before then, are in a closed episode, not pinned and not pruned yet."""
        rows = self._db.execute(
            "SELECT w.id FROM window w WHERE w.t_end < ? AND NOT EXISTS (SELECT 1 FROM pruned p WHERE p.window_id = w.id) "
            f"AND {_IN_EPISODE} AND NOT ({_PINNED_WINDOW}) ORDER BY w.t_end, w.id LIMIT ?",
            (before, limit),
        )
        return [row[0] for row in rows]

    def unsettled(self, tier: str) -> Us | None:
        """The time of the oldest keyframe that does not fit that tier yet and is not pinned; None when all do."""
        row = self._db.execute(
            "SELECT k.t FROM keyframe k JOIN window w ON w.id = k.window_id WHERE NOT EXISTS "
            "(SELECT 1 FROM keyframe_tier c WHERE c.keyframe_id = k.id AND c.tier = ?) "
            f"AND NOT (EXISTS (SELECT 1 FROM pin p WHERE p.ref = 'k' || k.id) OR {_PINNED_WINDOW}) "
            "ORDER BY k.t LIMIT 1",
            (tier,),
        ).fetchone()
        return None if row is None else int(row[0])

    def _linked(self, start: Us | None) -> set[int]:
        """The first and the last keyframe of each episode that ended after `start`."""
        found: set[int] = set()
        for row in self._db.execute(
            "SELECT min(k.t || ' ' || k.id), max(k.t || ' ' || k.id) FROM episode e JOIN window w ON "
            "w.recording_id = e.recording_id AND w.id BETWEEN e.first_window AND e.last_window "
            "JOIN keyframe k ON k.window_id = w.id WHERE e.t_end >= ? GROUP BY e.id",
            (-(2**62) if start is None else start,),
        ):
            found.update(int(str(value).split()[1]) for value in row)
        return found


class RetentionWriter(Holdings):
    """Changes by retention, inside one transaction of the store."""

    def pin(self, ref: str, t: Us) -> None:
        """Keep a window, an episode or a picture.  Raises NotFound when there is no such thing."""
        match = _REF.fullmatch(ref)
        there = (
            match is not None
            and self._db.execute(f"SELECT 1 FROM {_TABLES[match[1]]} WHERE id = ?", (int(match[2]),)).fetchone()
        )
        if not there:
            raise NotFound(f"There is no {ref!r} to keep: give a window, episode or picture, as in w12, e3 or k7.")
        self._db.execute("INSERT OR IGNORE INTO pin(ref, t) VALUES (?, ?)", (ref, t))

    def unpin(self, ref: str, _t: Us) -> None:
        """Let retention have it again.  Raises NotFound when it was not pinned."""
        if not self._db.execute("DELETE FROM pin WHERE ref = ?", (ref,)).rowcount:
            raise NotFound(f"{ref!r} is not pinned.")

    def drop_keyframes(self, ids: Iterable[int]) -> list[str]:
        """Take keyframes out of the memory; gives the files that are to go, those no other keyframe names."""
        files: list[str] = []
        for number in ids:
            row = self._db.execute("SELECT file FROM keyframe WHERE id = ?", (number,)).fetchone()
            if row is None:
                continue
            for table in ("keyframe_look", "keyframe_tier"):
                self._db.execute(f"DELETE FROM {table} WHERE keyframe_id = ?", (number,))
            self._db.execute("DELETE FROM keyframe WHERE id = ?", (number,))
            files.append(row[0])
        return [f for f in files if not self._named(f)]

    def compressed(self, number: int, tier: str, smaller: Keyframe | None) -> str | None:
        """Note that a keyframe fits a tier now, with its smaller file if it got one; gives the file that is to go.

        A keyframe that was forgotten meanwhile takes its smaller file with it.
        """
        row = self._db.execute("SELECT file FROM keyframe WHERE id = ?", (number,)).fetchone()
        if row is None:
            return None if smaller is None else smaller.file
        self._db.execute("INSERT OR REPLACE INTO keyframe_tier(keyframe_id, tier) VALUES (?, ?)", (number, tier))
        if smaller is None:
            return None
        self._db.execute(
            "UPDATE keyframe SET file = ?, sha256 = ?, width = ?, height = ?, size = ? WHERE id = ?",
            (smaller.file, smaller.sha256, smaller.width, smaller.height, smaller.size, number),
        )
        return None if self._named(row[0]) else str(row[0])

    def prune(self, windows: Iterable[int], t: Us, why: str) -> list[str]:
        """Take the content of windows, not their rows; gives the files that are to go."""
        files: list[str] = []
        for window in windows:
            frames = self._db.execute(
                "SELECT k.id FROM keyframe k WHERE k.window_id = ? "
                "AND NOT EXISTS (SELECT 1 FROM pin p WHERE p.ref = 'k' || k.id)",
                (window,),
            ).fetchall()
            files += self.drop_keyframes(row[0] for row in frames)
            self._db.execute("DELETE FROM item WHERE window_id = ?", (window,))
            self._db.execute("DELETE FROM entity WHERE window_id = ?", (window,))
            self._db.execute("DELETE FROM window_vec WHERE rowid = ?", (window,))
            self._db.execute(f"DELETE FROM {NEAR['window_vec']} WHERE id = ?", (window,))
            self._db.execute("UPDATE window SET description = '', scene = '', device = NULL WHERE id = ?", (window,))
            self._db.execute("INSERT OR IGNORE INTO pruned(window_id, t, why) VALUES (?, ?, ?)", (window, t, why))
        return files

    def _named(self, file: str) -> bool:
        return self._db.execute("SELECT 1 FROM keyframe WHERE file = ?", (file,)).fetchone() is not None
