"""Services the experts asked for and what the arbiter decided.  All their SQL is here."""

from __future__ import annotations

from storage.connect import Connection
from storage.errors import NotFound
from storage.records import Decision, Service, Us

_SERVICE = "SELECT type, t, offset_s, text, evidence, key, known, expert, made_by, id FROM service "


class ServiceReader:
    """Reads of services and decisions as known at `until`."""

    def __init__(self, db: Connection, until: Us) -> None:
        self._db, self._until = db, until

    def get(self, service_id: int) -> Service:
        """One service.  Raises NotFound."""
        found = self._rows("WHERE id = ? AND known <= ?", (service_id, self._until))
        if not found:
            raise NotFound(f"There is no alert a{service_id} at that time.")
        return found[0]

    def between(self, start: Us | None = None, end: Us | None = None) -> list[Service]:
        """Services whose trigger second lies in [start, end), in the order they were asked for."""
        low = -(2**62) if start is None else start
        high = 2**62 if end is None else end
        return self._rows("WHERE t >= ? AND t < ? AND known <= ? ORDER BY known, id", (low, high, self._until))

    def with_key(self, kind: str, key: str) -> list[Service]:
        """Earlier services of one type about the same thing, oldest first."""
        return self._rows("WHERE type = ? AND key = ? AND known <= ? ORDER BY id", (kind, key, self._until))

    def decisions(self, service_id: int | None = None) -> list[Decision]:
        """Decisions (about one service), oldest first."""
        where, values = (
            ("WHERE t <= ?", (self._until,))
            if service_id is None
            else (
                "WHERE service_id = ? AND t <= ?",
                (service_id, self._until),
            )
        )
        rows = self._db.execute(f"SELECT service_id, t, decision, reason, id FROM decision {where} ORDER BY id", values)
        return [Decision(*row) for row in rows]

    def cursor(self, stage: str) -> int:
        """Id of the last window a stage has finished with; 0 when it has not begun."""
        row = self._db.execute("SELECT window_id FROM cursor WHERE stage = ?", (stage,)).fetchone()
        return 0 if row is None else int(row[0])

    def _rows(self, where: str, values: tuple[object, ...]) -> list[Service]:
        found = []
        for row in self._db.execute(_SERVICE + where, values):
            evidence = tuple(e for e in str(row[4]).split("\n") if e)
            found.append(Service(*row[:4], evidence, *row[5:]))  # type: ignore[call-arg]
        return found


class ServiceWriter:
    """Writes of services and decisions, inside one transaction of the store."""

    def __init__(self, db: Connection) -> None:
        self._db = db

    def add(self, service: Service) -> int:
        """Store a service; returns its id."""
        row = self._db.execute(
            "INSERT INTO service(type, t, offset_s, text, evidence, key, known, expert, made_by) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                service.type,
                service.t,
                service.offset_s,
                service.text,
                "\n".join(service.evidence),
                service.key,
                service.known,
                service.expert,
                service.made_by,
            ),
        ).lastrowid
        return int(row)

    def decide(self, decision: Decision) -> int:
        """Store a decision; returns its id."""
        row = self._db.execute(
            "INSERT INTO decision(service_id, t, decision, reason) VALUES (?, ?, ?, ?)",
            (decision.service_id, decision.t, decision.decision, decision.reason),
        ).lastrowid
        return int(row)

    def advance(self, stage: str, window_id: int) -> None:
        """Note that a stage has finished with a window; in the same transaction as what it wrote."""
        self._db.execute(
            "INSERT INTO cursor(stage, window_id) VALUES (?, ?) "
            "ON CONFLICT(stage) DO UPDATE SET window_id = excluded.window_id",
            (stage, window_id),
        )
