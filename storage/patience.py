"""What the wearer wished of the device, how alerts were taken, and the power log.  All their SQL is here.

A wish is never changed: the newest of its kind and target counts, so that every snapshot shows those of its time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from storage.connect import Connection
from storage.errors import NotFound
from storage.records import Us

WishKind: TypeAlias = Literal["frequency", "quiet", "do-not-disturb", "snooze", "pause", "mode"]
FeedbackKind: TypeAlias = Literal["dismissed", "thanked"]


@dataclass(frozen=True, slots=True)
class Wish:
    """One word of the wearer.  `value` "" takes an earlier one of the same kind and target back; `until` is when it ends
    by itself (microseconds UTC, None: never).  `target` is "" where the kind has none, else as in type:habit_coaching.
    """

    t: Us
    kind: WishKind
    target: str = ""
    value: str = ""
    until: Us | None = None
    id: int = 0


@dataclass(frozen=True, slots=True)
class Feedback:
    """How the wearer took an alert, by `how` (tap, voice, command); `type` and `key` are the alert's."""

    t: Us
    service_id: int
    kind: FeedbackKind
    how: str = ""
    type: str = ""
    key: str = ""
    id: int = 0


@dataclass(frozen=True, slots=True)
class PowerEvent:
    """The power state at a change of mode, of the charger, or of a warned level; percent, degrees Celsius, watts, hours.

    `warned`: the battery levels told since the last charge, as in "20 10".
    """

    t: Us
    mode: str
    battery: float | None = None
    charging: bool | None = None
    temperature_c: float | None = None
    watts: float | None = None
    hours_left: float | None = None
    warned: str = ""
    id: int = 0


class PatienceReader:
    """Reads as known at `until`."""

    def __init__(self, db: Connection, until: Us) -> None:
        self._db, self._until = db, until

    def wishes(self, kind: WishKind | None = None) -> list[Wish]:
        """The newest wish of each kind and target, also those taken back or over, oldest first."""
        rows = self._db.execute(
            "SELECT t, kind, target, value, until, id FROM wish WHERE id IN "
            "(SELECT max(id) FROM wish WHERE t <= ? GROUP BY kind, target) AND (? IS NULL OR kind = ?) ORDER BY id",
            (self._until, kind, kind),
        )
        return [Wish(*row) for row in rows]

    def wish(self, kind: WishKind, target: str = "") -> Wish | None:
        """The newest wish of one kind and target."""
        return next((w for w in self.wishes(kind) if w.target == target), None)

    def newest(self) -> tuple[int, int]:
        """(id of the newest wish, id of the newest feedback), 0 when there is none: whether anything is new."""
        wish = self._db.execute("SELECT max(id) FROM wish WHERE t <= ?", (self._until,)).fetchone()[0]
        given = self._db.execute(
            "SELECT max(f.id) FROM feedback f JOIN service s ON s.id = f.service_id WHERE f.t <= ? AND s.known <= ?",
            (self._until, self._until),
        ).fetchone()[0]
        return int(wish or 0), int(given or 0)

    def feedback(self, since: Us = -(2**62)) -> list[Feedback]:
        """Feedback from `since` on, oldest first."""
        rows = self._db.execute(
            "SELECT f.t, f.service_id, f.kind, f.how, s.type, s.key, f.id FROM feedback f "
            "JOIN service s ON s.id = f.service_id WHERE f.t >= ? AND f.t <= ? AND s.known <= ? ORDER BY f.id",
            (since, self._until, self._until),
        )
        return [Feedback(*row) for row in rows]

    def power(self, since: Us = -(2**62)) -> list[PowerEvent]:
        """The power log from `since` on, oldest first."""
        rows = self._db.execute(
            "SELECT t, mode, battery, charging, temperature_c, watts, hours_left, warned, id FROM power_event "
            "WHERE t >= ? AND t <= ? ORDER BY id",
            (since, self._until),
        )
        return [_power(row) for row in rows]

    def last_power(self) -> PowerEvent | None:
        """The newest line of the power log."""
        row = self._db.execute(
            "SELECT t, mode, battery, charging, temperature_c, watts, hours_left, warned, id FROM power_event "
            "WHERE t <= ? ORDER BY id DESC LIMIT 1",
            (self._until,),
        ).fetchone()
        return None if row is None else _power(row)


class PatienceWriter:
    """Writes, inside one transaction of the store."""

    def __init__(self, db: Connection) -> None:
        self._db = db

    def wish(self, wish: Wish) -> int:
        """Store a wish; returns its id."""
        row = self._db.execute(
            "INSERT INTO wish(t, kind, target, value, until) VALUES (?, ?, ?, ?, ?)",
            (wish.t, wish.kind, wish.target, wish.value, wish.until),
        ).lastrowid
        return int(row)

    def feedback(self, feedback: Feedback) -> int:
        """Store feedback on an alert; returns its id.  Raises NotFound when there is no such alert."""
        if not self._db.execute("SELECT 1 FROM service WHERE id = ?", (feedback.service_id,)).fetchone():
            raise NotFound(f"There is no alert a{feedback.service_id}: see grove-edge alerts.")
        row = self._db.execute(
            "INSERT INTO feedback(t, service_id, kind, how) VALUES (?, ?, ?, ?)",
            (feedback.t, feedback.service_id, feedback.kind, feedback.how),
        ).lastrowid
        return int(row)

    def power(self, event: PowerEvent) -> int:
        """Add a line to the power log; returns its id."""
        charging = None if event.charging is None else int(event.charging)
        row = self._db.execute(
            "INSERT INTO power_event(t, mode, battery, charging, temperature_c, watts, hours_left, warned) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (event.t, event.mode, event.battery, charging, event.temperature_c, event.watts, event.hours_left,
             event.warned),
        ).lastrowid  # fmt: skip
        return int(row)


def _power(row: tuple[object, ...]) -> PowerEvent:
    charging = None if row[3] is None else bool(row[3])
    return PowerEvent(row[0], row[1], row[2], charging, *row[4:])  # type: ignore[arg-type]
