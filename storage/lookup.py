"""Stratum R by what it holds: exact events, words, stretches, days.  The reads that answering needs; all their SQL is here.

Each walks an index by what is asked for, never the whole trace: a year costs about what a day does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice
from unicodedata import normalize

from storage.connect import Connection
from storage.corrections import Amend, unamended
from storage.index import SearchIndex, View
from storage.index_match import newest, parse
from storage.index_strata import KINDS
from storage.records import LONGEST_US, Item, ItemKind, Us

_DAY_US = 86_400_000_000
_FIRST_DAY = date(1970, 1, 1)
_ITEM = "SELECT i.id, i.window_id, i.kind, i.t, w.offset_s, i.text, i.subject, i.action, i.object, i.speaker FROM "
# Where items are read from: CROSS JOIN and INDEXED BY hold the planner to the one order that stays cheap in a long memory.
_SOURCE = "item i JOIN window w ON w.id = i.window_id "
_BY_ACTION = "item i INDEXED BY item_action JOIN window w ON w.id = i.window_id "
READ = 64  # rows that are read at first for those that match; then ever more


@dataclass(frozen=True, slots=True)
class Stretch:
    """A run of windows without a gap: what a person would call one recording."""

    first_window: int
    last_window: int
    t_start: Us
    t_end: Us


class LookupReader:
    """Reads of R as known at `until`: a window is visible once it has ended."""

    def __init__(self, db: Connection, until: Us, amend: Amend = unamended, index: SearchIndex | None = None) -> None:
        self._db, self._until, self._amend = db, until, amend
        self._index = index or SearchIndex()

    def days(self) -> list[date]:
        """Local days on which something was recorded, in order; one step of the index a day."""
        found: set[date] = set()
        after = -(2**62)
        while True:
            row = self._db.execute(
                "SELECT t_start, t_end, offset_s FROM window WHERE t_end > ? AND t_end <= ? ORDER BY t_end LIMIT 1",
                (after, self._until),
            ).fetchone()
            if row is None:
                return sorted(found)
            start, end, offset = row[0], row[1], row[2] * 1_000_000
            day = (start + offset) // _DAY_US
            found.add(_FIRST_DAY + timedelta(days=day))
            # A window that begins before midnight may end after it: such a one is stepped over by its own end.
            after = max(end, (day + 1) * _DAY_US - offset - 1)

    def size(self) -> int:
        """About how many dated items there are: the newest id.  For the rarity of words, not for counting."""
        row = self._db.execute(
            "SELECT i.id FROM window w JOIN item i ON i.window_id = w.id WHERE w.t_end <= ? ORDER BY w.t_end DESC, i.id DESC LIMIT 1",
            (self._until,),
        ).fetchone()
        return 0 if row is None else int(row[0])

    def offset_at(self, t: Us) -> int | None:
        """The wearer's UTC offset in seconds in the last window begun by t, else in the first one; None when empty."""
        row = (
            self._db.execute(
                "SELECT offset_s FROM window WHERE t_end <= ? AND t_start <= ? ORDER BY t_end DESC LIMIT 1",
                (min(self._until, t + 3_600_000_000), t),
            ).fetchone()
            or self._db.execute(
                "SELECT offset_s FROM window WHERE t_end <= ? ORDER BY t_end LIMIT 1", (self._until,)
            ).fetchone()
        )
        return None if row is None else int(row[0])

    def stretches(self, start: Us | None = None, end: Us | None = None, gap: Us = 1_000_000) -> list[Stretch]:
        """Runs of windows without a gap longer than `gap` microseconds, oldest first, cut at [start, end)."""
        rows = self._db.execute(
            "SELECT id, t_start, before, before_id FROM (SELECT id, t_start, lag(t_end) OVER (ORDER BY t_end, id) AS before, "
            "lag(id) OVER (ORDER BY t_end, id) AS before_id FROM window WHERE t_end <= ? AND t_end > ? AND t_start < ?) "
            "WHERE before IS NULL OR t_start - before > ?",
            (min(self._until, _high(end) + LONGEST_US), _low(start), _high(end), gap),
        ).fetchall()
        if not rows:
            return []
        last = self._db.execute(
            "SELECT id, t_end FROM window WHERE t_end <= ? AND t_start < ? ORDER BY t_end DESC, id DESC LIMIT 1",
            (min(self._until, _high(end) + LONGEST_US), _high(end)),
        ).fetchone()
        ends = [(row[3], row[2]) for row in rows[1:]] + [tuple(last)]
        return [Stretch(int(row[0]), int(e[0]), int(row[1]), int(e[1])) for row, e in zip(rows, ends, strict=True)]

    def actions(self) -> list[str]:
        """The distinct actions of events known at `until`, hopping along the index."""
        found = self._hop(
            "SELECT action FROM item INDEXED BY item_action WHERE kind = 'event' AND action > ? ORDER BY action LIMIT 1",
            (),
        )
        known = self._known("i.kind = 'event' AND i.action = ?", (), found)
        return sorted({*known, *(i.action for i in self._amend().added)})

    def objects(self, action: str) -> list[str]:
        """The distinct objects of one exact action known at `until`, hopping along the index."""
        found = self._hop(
            "SELECT object FROM item INDEXED BY item_action WHERE kind = 'event' AND action = ? AND object > ? ORDER BY object LIMIT 1",
            (action,),
        )
        known = self._known("i.kind = 'event' AND i.action = ? AND i.object = ?", (action,), found)
        return sorted({*known, *(i.object for i in self._amend().added if i.action == action)})

    def speakers(self) -> list[str]:
        """Everybody who was heard by `until`, hopping along the index."""
        found = self._hop(
            "SELECT speaker FROM item INDEXED BY item_speaker WHERE kind = 'speech' AND speaker > ? ORDER BY speaker LIMIT 1",
            (),
        )
        return self._known("i.kind = 'speech' AND i.speaker = ?", (), found)

    def entity_names(self) -> list[str]:
        """The distinct names of entities, hopping along the index; those not seen by `until` are left out."""
        found = self._hop("SELECT name FROM entity INDEXED BY entity_name WHERE name > ? ORDER BY name LIMIT 1", ())
        if self._complete():
            return found
        seen = "SELECT 1 FROM entity e JOIN window w ON w.id = e.window_id WHERE e.name = ? AND w.t_end <= ? LIMIT 1"
        return [n for n in found if self._db.execute(seen, (n, self._until)).fetchone()]

    def _known(self, where: str, values: tuple[str, ...], found: list[str]) -> list[str]:
        """Of words hopped over, those that an item known at `until` holds."""
        if self._complete():
            return found
        known = f"SELECT 1 FROM item i JOIN window w ON w.id = i.window_id WHERE {where} AND w.t_end <= ? LIMIT 1"
        return [f for f in found if self._db.execute(known, (*values, f, self._until)).fetchone()]

    def _complete(self) -> bool:
        """Is every stored window known at `until`?  Then nothing needs to be checked for lying in the future."""
        return self._db.execute("SELECT 1 FROM window WHERE t_end > ? LIMIT 1", (self._until,)).fetchone() is None

    def _hop(self, statement: str, values: tuple[str, ...]) -> list[str]:
        found: list[str] = []
        row = self._db.execute(statement, (*values, "")).fetchone()
        while row is not None:
            found.append(row[0])
            row = self._db.execute(statement, (*values, row[0])).fetchone()
        return found

    def events_of(self, terms: Sequence[tuple[str, str]], start: Us | None = None, end: Us | None = None) -> list[Item]:
        """Events with one of these exact (action, object) pairs and start <= t < end, in time order."""
        found: list[Item] = []
        for pair in terms:
            found += self._items(
                "WHERE i.kind = 'event' AND i.action = ? AND i.object = ? AND i.t >= ? AND i.t < ? AND w.t_end <= ?",
                (*pair, _low(start), _high(end), self._until),
                _BY_ACTION,
            )
        if amend := self._amend():
            asked = set(terms)
            found += [i for i in amend.doings(("event",), start, end) if (i.action, i.object) in asked]
        return sorted(found, key=lambda i: (i.t, i.id))

    def newest(
        self, kinds: Sequence[ItemKind], start: Us | None = None, end: Us | None = None, limit: int = 20
    ) -> list[Item]:
        """The newest items of those kinds with start <= t < end, newest first."""
        found: list[Item] = []
        for kind in kinds:  # each by itself in the order of its index: together they would be sorted, all of them
            found += self._items(
                "WHERE i.kind = ? AND i.t >= ? AND i.t < ? AND w.t_end <= ? ORDER BY i.t DESC, i.id DESC LIMIT ?",
                (kind, _low(start), _high(end), self._until, limit),
            )
        return sorted(found, key=lambda i: (-i.t, -i.id))[:limit]

    def matching(
        self,
        expression: str,
        kinds: Sequence[ItemKind],
        start: Us | None = None,
        end: Us | None = None,
        limit: int | None = None,
    ) -> list[Item]:
        """Items whose text matches an expression made by `phrase`, `all_words` or `any_words`, newest first."""
        if limit is not None and limit <= 0:
            return []
        return list(islice(self.matches(expression, kinds, start, end), limit))

    def matches(
        self, expression: str, kinds: Sequence[ItemKind], start: Us | None = None, end: Us | None = None
    ) -> Iterator[Item]:
        """The same one by one, read as far as they are taken."""
        node, size = parse(expression), READ
        if node is None or not kinds:
            return
        held: dict[str, bool] = {}  # what is done often is told in the same words
        rows = newest(self._view(start, end), node, [KINDS.index(k) for k in kinds])
        amend = self._amend()
        while ids := [row for _, row, _ in islice(rows, size)]:
            read = {i.id: i for i in self._raw(f"WHERE i.id IN ({','.join('?' * len(ids))})", ids)}
            items = [read[i] for i in ids]
            if node.loose():
                held.update((t, node.holds(t)) for t in {i.text for i in items}.difference(held))
                items = [i for i in items if held[i.text]]
            yield from amend.items(items) if amend else items
            size = min(size * 4, 16 * READ)

    def times_of(
        self, word: str, start: Us | None = None, end: Us | None = None, limit: int = 5000
    ) -> list[tuple[Us, int, str]]:
        """When a word occurs: (t, item id, kind) of its newest `limit` occurrences."""
        node = parse(all_words((word,)))
        if node is None:
            return []
        if node.loose():
            return [(i.t, i.id, i.kind) for i in self.matching(all_words((word,)), KINDS, start, end, limit)]
        rows = newest(self._view(start, end), node, range(len(KINDS)))
        return [(t, row, KINDS[tag]) for t, row, tag in islice(rows, limit)]

    def _view(self, start: Us | None, end: Us | None) -> View:
        return self._index.view(self._db, "item").cut(self._until, (_low(start), _high(end)))

    def _items(self, where: str, values: Iterable[object], source: str = _SOURCE) -> list[Item]:
        found = self._raw(where, values, source)
        amend = self._amend()
        return amend.items(found) if amend else found

    def _raw(self, where: str, values: Iterable[object], source: str = _SOURCE) -> list[Item]:
        return [Item(*row) for row in self._db.execute(f"{_ITEM}{source}{where}", tuple(values))]


def phrase(text: str) -> str:
    """An expression for texts that hold these very words in this order."""
    return _quoted(text)


def all_words(words: Sequence[str]) -> str:
    """An expression for texts that hold all the words (inflections too); quotes make operators plain words."""
    return " AND ".join(_quoted(w) for w in words if _quoted(w))


def any_words(words: Sequence[str]) -> str:
    """An expression for texts that hold one of the words."""
    return " OR ".join(_quoted(w) for w in words if _quoted(w))


def _quoted(word: str) -> str:
    bare = "".join(c if c.isalnum() else " " for c in normalize("NFC", word)).strip()
    return f'"{bare}"' if bare else ""


def _low(t: Us | None) -> Us:
    return -(2**62) if t is None else t


def _high(t: Us | None) -> Us:
    return 2**62 if t is None else t
