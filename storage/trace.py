"""Stratum R: windows with captions, registry, text, speech, keyframes and gaps.  All its SQL is here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict

import numpy as np

from storage import vectors
from storage.connect import Connection
from storage.corrections import OWNER_ITEMS, Amend, unamended
from storage.errors import BadRecord, NotFound
from storage.records import (
    LONGEST_US,
    Caption,
    Device,
    Entity,
    Event,
    Gap,
    Item,
    ItemKind,
    Keyframe,
    SeenEntity,
    SeenText,
    Us,
    Utterance,
    Window,
)
from storage.vectors import Vector

_WINDOW = (
    "SELECT w.id, r.name, w.t_start, w.t_end, w.offset_s, w.description, w.scene, w.made_by, w.frames, w.device, r.profile "
    "FROM window w JOIN recording r ON r.id = w.recording_id "
)
_SHORT_US = 3 * 86_400_000_000
# By the index over a recording's windows in the order of their beginning, which is that of their arrival.
_OF_RECORDING = "WHERE w.recording_id = (SELECT id FROM recording WHERE name = ?)"
_ITEM = (
    "SELECT i.id, i.window_id, i.kind, i.t, w.offset_s, i.text, i.subject, i.action, i.object, i.speaker "
    "FROM item i JOIN window w ON w.id = i.window_id "
)
_ENTITY = (
    "SELECT e.window_id, w.t_start, w.t_end, w.offset_s, e.name, e.count, e.attributes, e.location "
    "FROM entity e JOIN window w ON w.id = e.window_id "
)


class TraceReader:
    """Reads of R as known at `until`: a window is visible once it has ended."""

    def __init__(self, db: Connection, until: Us, amend: Amend = unamended) -> None:
        self._db, self._until, self._amend = db, until, amend

    def window(self, window_id: int) -> Window:
        """One window whole.  Raises NotFound."""
        found = self._windows("WHERE w.id = ? AND w.t_end <= ?", (window_id, self._until))
        if not found:
            raise NotFound(f"There is no window w{window_id} at that time.")
        return found[0]

    def windows(self, start: Us | None = None, end: Us | None = None, limit: int | None = None) -> list[Window]:
        """Windows that overlap [start, end), oldest first."""
        return self._windows(
            "WHERE w.t_end <= ? AND w.t_end > ? AND w.t_start < ? ORDER BY w.t_start, w.id LIMIT ?",
            (self._by(end), _low(start), _high(end), -1 if limit is None else limit),
        )

    def recent(self, count: int) -> list[Window]:
        """The newest windows, oldest first."""
        return self._windows("WHERE w.t_end <= ? ORDER BY w.t_end DESC, w.id DESC LIMIT ?", (self._until, count))[::-1]

    def span(self, first: int, last: int) -> list[Window]:
        """The windows with ids first..last (one recording's run), oldest first."""
        return self._windows("WHERE w.id BETWEEN ? AND ? AND w.t_end <= ? ORDER BY w.id", (first, last, self._until))

    def after(self, recording: str, window_id: int) -> list[Window]:
        """Windows of a recording that came after that one, oldest first."""
        return self._windows(
            "WHERE r.name = ? AND w.id > ? AND w.t_end <= ? ORDER BY w.id", (recording, window_id, self._until)
        )

    def before(self, recording: str, window_id: int, count: int) -> list[Window]:
        """The `count` windows of a recording up to and with that one, oldest first."""
        return self._windows(
            f"{_OF_RECORDING} AND w.id <= ? AND w.t_end <= ? ORDER BY w.t_start DESC LIMIT ?",
            (recording, window_id, self._until, count),
        )[::-1]

    def newest_stored(self) -> Window | None:
        """The known window that was stored last, whatever its time and recording, if any."""
        found = self._windows("WHERE w.t_end <= ? ORDER BY w.id DESC LIMIT 1", (self._until,))
        return found[0] if found else None

    def first(self, recording: str) -> Window | None:
        """The first window of a recording, if any."""
        found = self._windows(f"{_OF_RECORDING} AND w.t_end <= ? ORDER BY w.t_start LIMIT 1", (recording, self._until))
        return found[0] if found else None

    def last(self, recording: str | None = None) -> Window | None:
        """The newest window (of a recording), if any."""
        if recording is None:
            found = self.recent(1)
        else:
            found = self._windows(
                f"{_OF_RECORDING} AND w.t_end <= ? ORDER BY w.t_start DESC LIMIT 1", (recording, self._until)
            )
        return found[0] if found else None

    def count(self) -> int:
        """How many windows are known."""
        return int(self._db.execute("SELECT count(*) FROM window WHERE t_end <= ?", (self._until,)).fetchone()[0])

    def recordings(self) -> list[str]:
        """Names of the recordings with at least one known window, in the order they came."""
        rows = self._db.execute(
            "SELECT name FROM recording r WHERE EXISTS (SELECT 1 FROM window w WHERE w.recording_id = r.id "
            "AND w.t_end <= ?) ORDER BY id",
            (self._until,),
        )
        return [row[0] for row in rows]

    def days(self) -> list[str]:
        """Local days (YYYY-MM-DD) on which something was recorded, in order."""
        rows = self._db.execute(
            "SELECT DISTINCT date((t_start + offset_s * 1000000) / 1000000, 'unixepoch') FROM window "
            "WHERE t_end <= ? ORDER BY 1",
            (self._until,),
        )
        return [row[0] for row in rows]

    def items(
        self,
        kinds: Sequence[ItemKind],
        start: Us | None = None,
        end: Us | None = None,
        limit: int | None = None,
    ) -> list[Item]:
        """Dated items of those kinds with start <= t < end, in time order."""
        found: list[Item] = []
        for kind in dict.fromkeys(kinds):  # each in the order of its index: together they would be sorted, all of them
            found += self._items(
                "WHERE i.kind = ? AND i.t >= ? AND i.t < ? AND w.t_end <= ? ORDER BY i.t, i.id LIMIT ?",
                (kind, _low(start), _high(end), self._until, -1 if limit is None else limit),
            )
        found.sort(key=lambda i: (i.t, i.id))
        return self._with_added(found[:limit], kinds, start, end)[:limit]

    def events(self, action: str | None = None, start: Us | None = None, end: Us | None = None) -> list[Item]:
        """Events, of one exact action when given, in time order."""
        if action is None:
            return self.items(("event",), start, end)
        # Over a short range the index by time is the shorter way, over a long one that by action; the planner cannot tell.
        short = min(self._until, _high(end)) - _low(start) < _SHORT_US
        found = self._items(
            "WHERE i.kind = 'event' AND i.action = ? AND i.t >= ? AND i.t < ? AND w.t_end <= ? ORDER BY i.t, i.id",
            (action, _low(start), _high(end), self._until),
            "item_time" if short else "item_action",
        )
        return self._with_added(found, ("event",), start, end, action)

    def following(self, item: Item, within: Us) -> Item | None:
        """The first event of the same action after one, less than `within` later."""
        end = item.t + within
        found = self._items(
            "WHERE i.kind = 'event' AND i.action = ? AND i.t >= ? AND i.t < ? AND (i.t, i.id) > (?, ?) AND w.t_end <= ? "
            "ORDER BY i.t, i.id LIMIT 4",  # the owner may have taken some back
            (item.action, item.t, end, item.t, item.id, self._until),
            "item_time",
        )
        found = self._with_added(found, ("event",), item.t, end, item.action)
        return next((i for i in found if (i.t, i.id) > (item.t, item.id)), None)

    def event_terms(self) -> list[tuple[str, str, int]]:
        """The vocabulary of events: (action, object, how many)."""
        rows = self._db.execute(
            "SELECT i.action, i.object, count(*) FROM item i JOIN window w ON w.id = i.window_id "
            "WHERE i.kind = 'event' AND w.t_end <= ? GROUP BY i.action, i.object",
            (self._until,),
        )
        return [(a, o, n) for a, o, n in rows]

    def neighbours(self, item: Item, kinds: Sequence[ItemKind], count: int) -> tuple[list[Item], list[Item]]:
        """The `count` items of those kinds just before and just after one item, each in time order."""
        before: list[Item] = []
        after: list[Item] = []
        for kind in dict.fromkeys(kinds):
            values = (kind, item.t, item.id, self._until, count)
            before += self._items(
                "WHERE i.kind = ? AND (i.t, i.id) < (?, ?) AND w.t_end <= ? ORDER BY i.t DESC, i.id DESC LIMIT ?",
                values,
            )
            after += self._items(
                "WHERE i.kind = ? AND (i.t, i.id) > (?, ?) AND w.t_end <= ? ORDER BY i.t, i.id LIMIT ?", values
            )
        before.sort(key=lambda i: (i.t, i.id))
        after.sort(key=lambda i: (i.t, i.id))
        return before[-count:] if count else [], after[:count]

    def items_by_id(self, ids: Sequence[int]) -> dict[int, Item]:
        """Items by id, those that are known."""
        found: dict[int, Item] = {}
        for start in range(0, len(ids), 500):
            part = list(ids[start : start + 500])
            marks = ",".join("?" * len(part))
            for item in self._items(f"WHERE i.id IN ({marks}) AND w.t_end <= ?", (*part, self._until)):
                found[item.id] = item
        if any(i >= OWNER_ITEMS for i in ids):
            found |= {i.id: i for i in self._amend().added if i.id in set(ids)}
        return found

    def entities(self, name: str | None = None, start: Us | None = None, end: Us | None = None) -> list[SeenEntity]:
        """Entities seen in windows that overlap [start, end), of one exact name when given, in time order."""
        where = "WHERE w.t_end <= ? AND w.t_end > ? AND w.t_start < ?"
        values: tuple[object, ...] = (self._by(end), _low(start), _high(end))
        if name is not None:
            where, values = where + " AND e.name = ?", (*values, name)
        rows = self._db.execute(f"{_ENTITY}{where} ORDER BY w.t_start, e.id", values)
        found = [_seen(row) for row in rows]
        amend = self._amend() if found else None
        return amend.entities(found) if amend else found

    def entity_names(self) -> list[tuple[str, int]]:
        """The vocabulary of entities: (name, in how many windows)."""
        rows = self._db.execute(
            "SELECT e.name, count(DISTINCT e.window_id) FROM entity e JOIN window w ON w.id = e.window_id "
            "WHERE w.t_end <= ? GROUP BY e.name ORDER BY e.name",
            (self._until,),
        )
        return [(name, n) for name, n in rows]

    def speakers(self) -> list[str]:
        """Everybody who was heard."""
        rows = self._db.execute(
            "SELECT DISTINCT i.speaker FROM item i JOIN window w ON w.id = i.window_id "
            "WHERE i.kind = 'speech' AND w.t_end <= ? ORDER BY 1",
            (self._until,),
        )
        return [row[0] for row in rows]

    def keyframes(self, start: Us | None = None, end: Us | None = None) -> list[Keyframe]:
        """Keyframes with start <= t < end, in time order."""
        rows = self._db.execute(
            "SELECT k.t, k.file, k.sha256, k.width, k.height, k.size, k.window_id, k.id FROM keyframe k "
            "JOIN window w ON w.id = k.window_id WHERE k.t >= ? AND k.t < ? AND w.t_end <= ? ORDER BY k.t, k.id",
            (_low(start), _high(end), self._until),
        )
        return [Keyframe(*row) for row in rows]

    def gaps(self) -> list[Gap]:
        """Recorded gaps in time order."""
        rows = self._db.execute(
            "SELECT r.name, g.t_start, g.t_end, g.reason, g.id FROM gap g JOIN recording r ON r.id = g.recording_id "
            "JOIN window w ON w.id = g.window_id WHERE w.t_end <= ? ORDER BY g.t_start, g.id",
            (self._until,),
        )
        return [Gap(*row) for row in rows]

    def vectors(self, window_ids: list[int]) -> dict[int, Vector]:
        """Embeddings of windows, shape (dim,) each; windows with nothing to embed have none."""
        return vectors.get(self._db, "window_vec", window_ids, "window.t_end", self._until)

    def _by(self, end: Us | None) -> Us:
        """The latest end of a known window that begins before `end`: what came later need not be walked."""
        return min(self._until, _high(end) + LONGEST_US)

    def _windows(self, where: str, values: Iterable[object]) -> list[Window]:
        rows = self._db.execute(_WINDOW + where, tuple(values)).fetchall()
        if not rows:
            return []
        found: list[Window] = []
        for start in range(0, len(rows), 400):
            found += self._filled(rows[start : start + 400])
        return found

    def _filled(self, rows: Sequence[Sequence[object]]) -> list[Window]:
        ids = [row[0] for row in rows]
        marks = ",".join("?" * len(ids))
        items: dict[object, list[Item]] = {i: [] for i in ids}
        for item in self._items(f"WHERE i.window_id IN ({marks}) ORDER BY i.id", ids):
            items[item.window_id].append(item)
        entities: dict[object, list[Entity]] = {i: [] for i in ids}
        for owner, name, count, attributes, location in self._db.execute(
            f"SELECT window_id, name, count, attributes, location FROM entity WHERE window_id IN ({marks}) ORDER BY id",
            ids,
        ):
            entities[owner].append(Entity(name, count, tuple(json.loads(attributes)), location))
        frames: dict[object, list[Keyframe]] = {i: [] for i in ids}
        for row in self._db.execute(
            "SELECT t, file, sha256, width, height, size, window_id, id FROM keyframe "
            f"WHERE window_id IN ({marks}) ORDER BY id",
            ids,
        ):
            frames[row[6]].append(Keyframe(*row))
        gaps: dict[object, list[Gap]] = {i: [] for i in ids}
        for row in self._db.execute(
            "SELECT r.name, g.t_start, g.t_end, g.reason, g.id, g.window_id FROM gap g "
            f"JOIN recording r ON r.id = g.recording_id WHERE g.window_id IN ({marks}) ORDER BY g.id",
            ids,
        ):
            gaps[row[5]].append(Gap(*row[:5]))
        found = [_window(row, items[row[0]], entities[row[0]], frames[row[0]], gaps[row[0]]) for row in rows]
        amend = self._amend() if found else None
        return [amend.window(w) for w in found] if amend else found

    def _items(self, where: str, values: Iterable[object], by: str = "") -> list[Item]:
        source = _ITEM if not by else _ITEM.replace("FROM item i ", f"FROM item i INDEXED BY {by} ")
        found = [Item(*row) for row in self._db.execute(source + where, tuple(values))]
        amend = self._amend() if found else None
        return amend.items(found) if amend else found

    def _with_added(
        self, found: list[Item], kinds: Sequence[ItemKind], start: Us | None, end: Us | None, action: str | None = None
    ) -> list[Item]:
        """Items with the doings the owner added, in time order."""
        amend = self._amend()
        return sorted([*found, *amend.doings(kinds, start, end, action)], key=lambda i: (i.t, i.id)) if amend else found


class TraceWriter:
    """Writes of R, inside one transaction of the store."""

    def __init__(self, db: Connection, dim: int) -> None:
        self._db, self._dim = db, dim

    def add(self, window: Window, vector: Vector) -> int:
        """Store a window with all its rows; returns its id.  Raises BadRecord when an item lies outside it."""
        return self.add_many([window], np.asarray(vector)[None])[0]

    def add_many(self, windows: Sequence[Window], given: Vector) -> list[int]:
        """Store windows with their vectors of shape (n, dim); returns the ids.  Raises BadRecord like `add`."""
        ids = [self._add(window) for window in windows]
        vectors.put_many(self._db, "window_vec", ids, given, self._dim)
        return ids

    def _add(self, window: Window) -> int:
        if window.t_end - window.t_start > LONGEST_US:
            raise BadRecord("A window is longer than an hour: nothing was stored.")
        dated: tuple[Caption | Event | SeenText | Utterance, ...]
        dated = (*window.captions, *window.events, *window.texts, *window.speech)
        for thing in dated:
            if not window.t_start <= thing.t <= window.t_end:
                raise BadRecord("An item of the window lies outside its time: nothing was stored.")
        recording_id = self.recording(window.recording, window.profile)
        device = None if window.device is None else json.dumps(asdict(window.device), sort_keys=True)
        row = self._db.execute(
            "INSERT INTO window(recording_id, t_start, t_end, offset_s, description, scene, made_by, frames, device) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                recording_id, window.t_start, window.t_end, window.offset_s, window.description, window.scene,
                window.made_by, window.frames, device,
            ),
        ).lastrowid  # fmt: skip
        window_id = int(row)
        self._db.executemany(
            "INSERT INTO item(window_id, kind, t, text, subject, action, object, speaker) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(window_id, *values) for values in _flat(window)],
        )
        self._db.executemany(
            "INSERT INTO entity(window_id, name, count, attributes, location) VALUES (?, ?, ?, ?, ?)",
            [
                (window_id, e.name, e.count, json.dumps(e.attributes, ensure_ascii=False), e.location)
                for e in window.entities
            ],
        )
        for k in window.keyframes:
            frame = self._db.execute(
                "INSERT INTO keyframe(window_id, t, file, sha256, width, height, size) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (window_id, k.t, k.file, k.sha256, k.width, k.height, k.size),
            ).lastrowid
            if k.look is not None:
                self._db.execute("INSERT INTO keyframe_look VALUES (?, ?, ?)", (frame, *k.look))
        self._db.executemany(
            "INSERT INTO gap(recording_id, t_start, t_end, reason, window_id) VALUES (?, ?, ?, ?, ?)",
            [(recording_id, g.t_start, g.t_end, g.reason, window_id) for g in window.gaps],
        )
        return window_id

    def recording(self, name: str, profile: str) -> int:
        """The id of a recording, made on first use with the profile it is captured with."""
        row = self._db.execute("SELECT id FROM recording WHERE name = ?", (name,)).fetchone()
        if row is None:
            return int(
                self._db.execute("INSERT INTO recording(name, profile) VALUES (?, ?)", (name, profile)).lastrowid
            )
        return int(row[0])


def _flat(window: Window) -> list[tuple[object, ...]]:
    """The dated items of a window in time order; ties keep the order captions, events, text, speech."""
    rows: list[tuple[object, ...]] = []
    rows += [("caption", c.t, c.text, "", "", "", "") for c in window.captions]
    rows += [
        ("event", e.t, " ".join(p for p in (e.subject, e.action, e.object) if p), e.subject, e.action, e.object, "")
        for e in window.events
    ]
    rows += [("text", x.t, x.text, "", "", "", "") for x in window.texts]
    rows += [("speech", s.t, s.text, "", "", "", s.speaker) for s in window.speech]
    return sorted(rows, key=lambda row: int(str(row[1])))


def _window(
    row: Sequence[object], items: list[Item], entities: list[Entity], frames: list[Keyframe], gaps: list[Gap]
) -> Window:
    device = None if row[9] is None else Device(**json.loads(str(row[9])))
    return Window(
        recording=str(row[1]),
        t_start=int(str(row[2])),
        t_end=int(str(row[3])),
        offset_s=int(str(row[4])),
        captions=tuple(Caption(i.t, i.text, i.id) for i in items if i.kind == "caption"),
        description=str(row[5]),
        entities=tuple(entities),
        events=tuple(Event(i.t, i.subject, i.action, i.object, i.id) for i in items if i.kind == "event"),
        texts=tuple(SeenText(i.t, i.text, i.id) for i in items if i.kind == "text"),
        speech=tuple(Utterance(i.t, i.speaker, i.text, i.id) for i in items if i.kind == "speech"),
        scene=str(row[6]),
        made_by=row[7],  # type: ignore[arg-type]
        frames=int(str(row[8])),
        profile=str(row[10]),
        keyframes=tuple(frames),
        gaps=tuple(gaps),
        device=device,
        id=int(str(row[0])),
    )


def _seen(row: Sequence[object]) -> SeenEntity:
    window_id, t_start, t_end, offset_s, name, count, attributes, location = row
    return SeenEntity(
        int(str(window_id)),
        int(str(t_start)),
        int(str(t_end)),
        int(str(offset_s)),
        str(name),
        int(str(count)),
        tuple(json.loads(str(attributes))),
        None if location is None else str(location),
    )


def _low(t: Us | None) -> Us:
    return -(2**62) if t is None else t


def _high(t: Us | None) -> Us:
    return 2**62 if t is None else t
