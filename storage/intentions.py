"""Intentions and the chain of their states.  All their SQL is here."""

from __future__ import annotations

from storage.connect import Connection
from storage.errors import NotFound
from storage.records import Intention, IntentionState, Us

_INTENTION = (
    "SELECT i.who, i.quote, i.what, i.t, i.offset_s, i.window_id, i.due, v.state, v.known, v.evidence, v.version, i.id "
    "FROM intention i JOIN intention_version v ON v.intention_id = i.id "
)
_NEWEST = (
    "v.known <= ? AND NOT EXISTS (SELECT 1 FROM intention_version n WHERE n.intention_id = v.intention_id "
    "AND n.known <= ? AND n.version > v.version)"
)


class IntentionReader:
    """Reads of intentions as known at `until`."""

    def __init__(self, db: Connection, until: Us) -> None:
        self._db, self._until = db, until

    def get(self, intention_id: int) -> Intention:
        """One intention in its newest known state.  Raises NotFound."""
        found = self._rows(f"WHERE i.id = ? AND {_NEWEST}", (intention_id, self._until, self._until))
        if not found:
            raise NotFound(f"There is no intention i{intention_id} at that time.")
        return found[0]

    def all(self, state: IntentionState | None = None) -> list[Intention]:
        """Intentions (in one state), in the order they were said."""
        found = self._rows(f"WHERE {_NEWEST} ORDER BY i.t, i.id", (self._until, self._until))
        return [i for i in found if state is None or i.state == state]

    def _rows(self, where: str, values: tuple[object, ...]) -> list[Intention]:
        found = []
        for row in self._db.execute(_INTENTION + where, values):
            evidence = tuple(e for e in str(row[9]).split("\n") if e)
            found.append(Intention(*row[:9], evidence, *row[10:]))  # type: ignore[call-arg]
        return found


class IntentionWriter:
    """Writes of intentions, inside one transaction of the store."""

    def __init__(self, db: Connection) -> None:
        self._db = db

    def add(self, intention: Intention) -> int:
        """Store a new intention with its first state; returns its id."""
        row = self._db.execute(
            "INSERT INTO intention(who, quote, what, t, offset_s, window_id, due, known) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                intention.who,
                intention.quote,
                intention.what,
                intention.t,
                intention.offset_s,
                intention.window_id,
                intention.due,
                intention.known,
            ),
        ).lastrowid
        self.move(int(row), intention.state, intention.known, intention.evidence)
        return int(row)

    def move(self, intention_id: int, state: IntentionState, known: Us, evidence: tuple[str, ...]) -> None:
        """Append a state to the chain."""
        self._db.execute(
            "INSERT INTO intention_version(intention_id, version, state, evidence, known) VALUES "
            "(?, 1 + (SELECT count(*) FROM intention_version WHERE intention_id = ?), ?, ?, ?)",
            (intention_id, intention_id, state, "\n".join(evidence), known),
        )
