"""Erasure of rows: taking away what follows from the windows, episodes and patterns that are forgotten.

Whoever asks decides what is forgotten and writes anew what stays (edge.memory.forget); how every table follows is said
in storage.erase_rules, and `mark` fills the temporary tables its conditions speak of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from storage import erase_all, erase_jobs
from storage.connect import Connection
from storage.erase_rules import EXEMPT, FOLLOWS, WHOLE, Follows
from storage.erase_search import Needles
from storage.migrations import VECTOR_TABLES
from storage.records import Us

_MARKS = """
CREATE TEMP TABLE IF NOT EXISTS erased_window(id INTEGER PRIMARY KEY, whole INTEGER NOT NULL);
CREATE TEMP TABLE IF NOT EXISTS erased_episode(id INTEGER PRIMARY KEY, whole INTEGER NOT NULL);
CREATE TEMP TABLE IF NOT EXISTS erased_pattern(id INTEGER PRIMARY KEY, known INTEGER NOT NULL);
CREATE TEMP TABLE IF NOT EXISTS erased_span(t_start INTEGER NOT NULL, t_end INTEGER NOT NULL);
CREATE TEMP TABLE IF NOT EXISTS erased_ref(ref TEXT PRIMARY KEY, whole INTEGER NOT NULL) WITHOUT ROWID;
CREATE TEMP TABLE IF NOT EXISTS erased_row(tab TEXT NOT NULL, key ANY NOT NULL, PRIMARY KEY (tab, key)) WITHOUT ROWID
"""
_MARK_TABLES = ("erased_window", "erased_episode", "erased_pattern", "erased_span", "erased_ref", "erased_row")


@dataclass(frozen=True, slots=True)
class Marks:
    """What is to go: windows and episodes with whether they go whole, patterns with the time from which on."""

    windows: Mapping[int, bool] = field(default_factory=dict)
    episodes: Mapping[int, bool] = field(default_factory=dict)
    patterns: Mapping[int, Us] = field(default_factory=dict)
    spans: Sequence[tuple[Us, Us]] = ()
    rows: Mapping[str, Iterable[object]] = field(default_factory=dict)


@dataclass(slots=True)
class Deleted:
    """What went: rows by table, and the names of the keyframes whose files are to go."""

    rows: dict[str, int] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)


class Eraser:
    """Deletes inside one transaction of the store; the texts and vectors that go are noted in `needles`."""

    def __init__(self, db: Connection) -> None:
        self._db = db
        self.needles = Needles()

    def naming(self, names: Callable[[str], bool], like: str) -> dict[str, list[object]]:
        """Keys of the rows of each table one of whose texts is about a name; `like` is a part every such text has."""
        self._db.create_function("is_named", 1, lambda text: bool(text) and names(str(text)))
        found: dict[str, list[object]] = {}
        for rule in self._rules():
            if not rule.texts:
                continue
            quick = "".join("%" if c in "%_" else c for c in like)
            asked = " OR ".join(f"(x.{c} LIKE ? AND is_named(x.{c}))" for c in rule.texts)
            rows = self._db.execute(
                f"SELECT {rule.key} FROM {rule.table} x WHERE {asked}", (f"%{quick}%",) * len(rule.texts)
            ).fetchall()
            if rows:
                found[rule.table] = [row[0] for row in rows]
        return found

    def owners(self, table: str, column: str, keys: Iterable[object]) -> set[int]:
        """A column of those rows of a table: the windows of items, the episodes of moments."""
        wanted = {int(str(k)) for k in keys}
        return {
            int(row[0])
            for part in _parts(sorted(wanted))
            for row in self._db.execute(
                f"SELECT DISTINCT {column} FROM {table} WHERE id IN ({','.join('?' * len(part))})", part
            )
        }

    def first_known(self, versions: Iterable[object]) -> dict[int, Us]:
        """Of those rows of pattern_version: each pattern with the earliest time among them."""
        return self._earliest("pattern_version", "id", (int(str(v)) for v in versions))

    def patterns_of(self, episodes: Iterable[int]) -> dict[int, Us]:
        """Each pattern one of those episodes belongs to, with the time it joined."""
        return self._earliest("edge", "episode_id", episodes)

    def _earliest(self, table: str, column: str, values: Iterable[int]) -> dict[int, Us]:
        """Each pattern that rows of a table with those values name, with the earliest time among them."""
        found: dict[int, Us] = {}
        for part in _parts(sorted(values)):
            for pattern, known in self._db.execute(
                f"SELECT pattern_id, min(known) FROM {table} WHERE {column} IN ({','.join('?' * len(part))}) "
                "GROUP BY pattern_id",
                part,
            ):
                found[pattern] = min(known, found.get(pattern, known))
        return found

    def note_window(self, window_id: int) -> None:
        """Note what a window that is about to be cut held."""
        for table, where in (("window", "x.id = ?"), ("item", "x.window_id = ?"), ("entity", "x.window_id = ?")):
            self._note(_RULES[table], where, (window_id,))

    def note_episode(self, episode_id: int) -> None:
        """Note what an episode that is about to be rewritten held."""
        self._note(_RULES["episode"], "x.id = ?", (episode_id,))

    def mark(self, marks: Marks) -> None:
        """Fill the temporary tables; references to what goes whole, and to what is written anew, are added."""
        for statement in _MARKS.split(";\n"):
            self._db.execute(statement)
        self._unmark()
        put = self._db.executemany
        put("INSERT INTO erased_window VALUES (?, ?)", [(i, int(w)) for i, w in marks.windows.items()])
        put("INSERT INTO erased_episode VALUES (?, ?)", [(i, int(w)) for i, w in marks.episodes.items()])
        put("INSERT INTO erased_pattern VALUES (?, ?)", list(marks.patterns.items()))
        put("INSERT INTO erased_span VALUES (?, ?)", list(marks.spans))
        put(
            "INSERT OR IGNORE INTO erased_row VALUES (?, ?)",
            [(table, key) for table, keys in marks.rows.items() for key in keys],
        )
        refs = {f"w{i}": whole for i, whole in marks.windows.items()}
        refs.update({f"e{i}": whole for i, whole in marks.episodes.items()})
        put("INSERT INTO erased_ref VALUES (?, ?)", [(r, int(w)) for r, w in refs.items()])
        for letter, table, where in (
            ("m", "moment", "episode_id IN (SELECT id FROM erased_episode)"),
            ("k", "keyframe", f"window_id IN {WHOLE}"),
            ("k", "keyframe", "id IN (SELECT key FROM erased_row WHERE tab = 'keyframe')"),
            ("o", "item", f"window_id IN {WHOLE}"),
            ("o", "item", "id IN (SELECT key FROM erased_row WHERE tab = 'item')"),
            ("i", "intention", f"window_id IN {WHOLE}"),
            ("i", "intention", "id IN (SELECT key FROM erased_row WHERE tab = 'intention')"),
        ):
            self._db.execute(f"INSERT OR IGNORE INTO erased_ref SELECT '{letter}' || id, 1 FROM {table} WHERE {where}")
        self._lost_support()

    def mark_rows(self, table: str, keys: Iterable[object]) -> None:
        """Mark further rows of a table."""
        self._db.executemany("INSERT OR IGNORE INTO erased_row VALUES (?, ?)", [(table, key) for key in keys])

    def delete(self) -> Deleted:
        """Take away what follows from the marks, in the order of FOLLOWS; what is to be written anew comes after."""
        self._db.execute("PRAGMA defer_foreign_keys = ON")
        gone = Deleted()
        vec_of = {owner: vec for vec, owner in VECTOR_TABLES}
        for rule in self._rules():
            where = f"({rule.where}) OR {rule.key} IN (SELECT key FROM erased_row WHERE tab = '{rule.table}')"
            self._note(rule, where)
            if rule.table == "keyframe":
                gone.files += [r[0] for r in self._db.execute(f"SELECT x.file FROM keyframe x WHERE {where}")]
            if rule.table in vec_of:
                self._drop_vectors(vec_of[rule.table], rule.table, where)
            count = self._db.execute(f"DELETE FROM {rule.table} AS x WHERE {where}").rowcount
            if count:
                gone.rows[rule.table] = count
        self._settle()
        return gone

    def delete_all(self) -> Deleted:
        """Take away every row of the memory, inside Store.emptying; the owner's settings and the schema stay."""
        return Deleted(*erase_all.empty(self._db, self._note, self.needles))

    def ask(self, t: Us, kind: str, request: dict[str, Any]) -> int:
        """Note that something is to be forgotten; gives the number of the erasure."""
        return erase_jobs.ask(self._db, t, kind, request)

    def rows_gone(self, job: int, deleted: Deleted) -> None:
        """The rows of an erasure are gone, in this very transaction; what is to be looked for is kept with it."""
        erase_jobs.rows_gone(self._db, job, sorted(set(deleted.files)), deleted.rows, self.needles.packed())

    def refuse(self, job: int) -> None:
        """There was nothing to forget."""
        erase_jobs.refuse(self._db, job)

    def remember_file(self, path: str, t: Us) -> None:
        """A recording is written there: an erasure has to rewrite it."""
        self._db.execute("INSERT OR IGNORE INTO recorded_file(path, t) VALUES (?, ?)", (path, t))

    def recorded_files(self) -> list[str]:
        """Where recordings were written to."""
        return [row[0] for row in self._db.execute("SELECT path FROM recorded_file ORDER BY t, path")]

    def clean(self) -> None:
        """After what stays was written anew: no mark is left behind."""
        self._unmark()

    def _lost_support(self) -> None:
        """A fact that loses part of what it rests on is counted anew: its versions go and come again."""
        if not self._has("fact_support"):
            return
        rule = _RULES["fact_support"]
        self._db.execute(
            "INSERT OR IGNORE INTO erased_ref SELECT DISTINCT 'f' || x.fact_id, 0 FROM fact_support x "
            f"WHERE {rule.where} OR {rule.key} IN (SELECT key FROM erased_row WHERE tab = 'fact_support')"
        )

    def _settle(self) -> None:
        """Chains are numbered through again, and no stage has come further than there are windows."""
        self._db.execute(
            "UPDATE intention_version AS x SET version = -(SELECT count(*) FROM intention_version o WHERE "
            "o.intention_id = x.intention_id AND o.version <= x.version) WHERE x.intention_id IN (SELECT intention_id FROM "
            "intention_version GROUP BY 1 HAVING max(version) > count(*))"
        )
        self._db.execute("UPDATE intention_version SET version = -version WHERE version < 0")
        self._db.execute("UPDATE cursor SET window_id = min(window_id, (SELECT coalesce(max(id), 0) FROM window))")

    def _note(self, rule: Follows, where: str, values: Sequence[object] = ()) -> None:
        if rule.texts:
            columns = ", ".join(f"x.{c}" for c in rule.texts)
            for row in self._db.execute(f"SELECT {columns} FROM {rule.table} x WHERE {where}", values):
                for text in row:
                    if text:
                        self.needles.add_text(str(text))
        vec = {owner: vec for vec, owner in VECTOR_TABLES}.get(rule.table)
        if vec is not None:
            for (data,) in self._db.execute(
                f"SELECT v.embedding FROM {rule.table} x CROSS JOIN {vec} v ON v.rowid = x.id WHERE {where}", values
            ):
                self.needles.add_vector(bytes(data))
        if rule.table == "keyframe_look":
            for (data,) in self._db.execute(f"SELECT x.embedding FROM keyframe_look x WHERE {where}", values):
                self.needles.add_vector(bytes(data))

    def _drop_vectors(self, vec: str, owner: str, where: str) -> None:
        rows = self._db.execute(f"SELECT x.id FROM {owner} x WHERE {where}").fetchall()
        self._db.executemany(f"DELETE FROM {vec} WHERE rowid = ?", rows)

    def _unmark(self) -> None:
        for table in _MARK_TABLES:
            self._db.execute(f"DELETE FROM temp.{table}")

    def _rules(self) -> list[Follows]:
        return [rule for rule in FOLLOWS if self._has(rule.table)]

    def _has(self, table: str) -> bool:
        return self._db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is not None


def unnamed(db: Connection) -> list[str]:
    """Tables of a database that neither FOLLOWS nor EXEMPT names; shadow tables of an index belong to their owner's."""
    shadows = tuple(f"{vec}_" for vec, _ in VECTOR_TABLES)
    indexes = {
        *(vec for vec, _ in VECTOR_TABLES),
        *(f"{owner}_near" for _, owner in VECTOR_TABLES),
    }
    tables = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    return [
        t
        for t in tables
        if t not in _RULES and t not in EXEMPT and t not in indexes and not t.startswith((*shadows, "sqlite_"))
    ]


_RULES = {rule.table: rule for rule in FOLLOWS}


def _parts(ids: Sequence[int]) -> list[list[int]]:
    return [list(ids[start : start + 500]) for start in range(0, len(ids), 500)]
