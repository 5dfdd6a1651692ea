"""Standing questions and what became of them.  All their SQL is here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from storage.connect import Connection
from storage.errors import NotFound
from storage.records import Us

StandingKind: TypeAlias = Literal["tell", "remind"]
StandingState: TypeAlias = Literal["open", "done", "cancelled"]
StandingEventKind: TypeAlias = Literal["fired", "done", "cancelled"]


@dataclass(frozen=True, slots=True)
class Standing:
    """What the wearer wants to be told: `text` as it was said, `what` is said back, `trigger` must happen first.

    `repeats`: every time, else once; `gap_us`: least time between two; `due`: a clock time instead of a happening;
    `known`: when it was asked.  `state`, `fired` and `last` (times it fired, the newest) are as of the snapshot.
    """

    text: str
    kind: StandingKind
    what: str
    trigger: str
    repeats: bool
    gap_us: Us
    due: Us | None
    offset_s: int
    known: Us
    state: StandingState = "open"
    fired: int = 0
    last: Us | None = None
    id: int = 0


_ROWS = """
SELECT s.text, s.kind, s.what, s.trigger, s.repeats, s.gap_us, s.due, s.offset_s, s.known,
    coalesce((SELECT e.kind FROM standing_event e WHERE e.standing_id = s.id AND e.known <= ?1 AND e.kind != 'fired'
        ORDER BY e.id DESC LIMIT 1), 'open'),
    (SELECT count(*) FROM standing_event e WHERE e.standing_id = s.id AND e.known <= ?1 AND e.kind = 'fired'),
    (SELECT max(e.t) FROM standing_event e WHERE e.standing_id = s.id AND e.known <= ?1 AND e.kind = 'fired'),
    s.id
FROM standing s WHERE s.known <= ?1 """


class StandingReader:
    """Reads of standing questions as known at `until`."""

    def __init__(self, db: Connection, until: Us) -> None:
        self._db, self._until = db, until

    def get(self, standing_id: int) -> Standing:
        """One standing question.  Raises NotFound."""
        found = [_standing(r) for r in self._db.execute(_ROWS + "AND s.id = ?2", (self._until, standing_id))]
        if not found:
            raise NotFound(f"There is no standing question q{standing_id} at that time.")
        return found[0]

    def all(self, state: StandingState | None = None) -> list[Standing]:
        """Standing questions (in one state), in the order they were asked."""
        found = [_standing(r) for r in self._db.execute(_ROWS + "ORDER BY s.id", (self._until,))]
        return [s for s in found if state is None or s.state == state]

    def open(self) -> list[Standing]:
        """Those that still wait."""
        ended = "AND NOT EXISTS (SELECT 1 FROM standing_event e WHERE e.standing_id = s.id AND e.known <= ?1 AND e.kind != 'fired') "
        return [_standing(r) for r in self._db.execute(_ROWS + ended + "ORDER BY s.id", (self._until,))]


class StandingWriter:
    """Writes of standing questions, inside one transaction of the store."""

    def __init__(self, db: Connection) -> None:
        self._db = db

    def add(self, standing: Standing) -> int:
        """Keep a new one; returns its id."""
        row = self._db.execute(
            "INSERT INTO standing(text, kind, what, trigger, repeats, gap_us, due, offset_s, known) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                standing.text, standing.kind, standing.what, standing.trigger, int(standing.repeats), standing.gap_us,
                standing.due, standing.offset_s, standing.known,
            ),
        ).lastrowid  # fmt: skip
        return int(row)

    def note(self, standing_id: int, kind: StandingEventKind, t: Us, known: Us, evidence: tuple[str, ...] = ()) -> None:
        """It fired at `t` (known at `known`), or it is done or cancelled."""
        self._db.execute(
            "INSERT INTO standing_event(standing_id, kind, t, evidence, known) VALUES (?, ?, ?, ?, ?)",
            (standing_id, kind, t, "\n".join(evidence), known),
        )


def _standing(row: tuple[object, ...]) -> Standing:
    values = list(row)
    values[4] = bool(values[4])
    return Standing(*values)  # type: ignore[arg-type]
