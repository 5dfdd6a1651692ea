"""The only way to read the memory: a view of it as it was known at a time t."""

from __future__ import annotations

from storage import search
from storage.connect import Connection
from storage.corrections import OWNER_ITEMS, CorrectionReader
from storage.episodes import EpisodeReader
from storage.facts import FactReader
from storage.graph import GraphReader
from storage.health import HealthReader
from storage.index import SearchIndex
from storage.intentions import IntentionReader
from storage.looks import LookReader
from storage.lookup import LookupReader
from storage.moments import MomentReader
from storage.patience import PatienceReader
from storage.patterns import PatternReader
from storage.procedures import ProcedureReader
from storage.records import Hit, OpenUnit, Us
from storage.retention import RetentionReader
from storage.search import Stratum, Where
from storage.search_where import keep
from storage.services import ServiceReader
from storage.standing import StandingReader
from storage.trace import TraceReader
from storage.vectors import Vector
from storage.views import ViewReader

FOREVER: Us = 2**61
_LETTERS: dict[Stratum, str] = {"item": "o", "window": "w", "moment": "m", "episode": "e"}


class Snapshot:
    """Readers of every stratum bound to one cutoff: no row made from observations after `until` comes out of them.

    One object serves one thread; it holds a read transaction, so what it shows does not move while it is open.
    """

    def __init__(self, db: Connection, until: Us, index: SearchIndex | None = None) -> None:
        self.until = until
        self._db, self._index = db, index or SearchIndex()
        self.corrections = CorrectionReader(db, until)
        amend = self.corrections.amendments
        self.trace = TraceReader(db, until, amend)
        self.lookup = LookupReader(db, until, amend, self._index)
        self.episodes = EpisodeReader(db, until, amend)
        self.moments = MomentReader(db, until, amend)
        self.patterns = PatternReader(db, until)
        self.intentions = IntentionReader(db, until)
        self.services = ServiceReader(db, until)
        self.health = HealthReader(db, until)
        self.views = ViewReader(db, until)
        self.looks = LookReader(db, until)
        self.graph = GraphReader(db, until)
        self.facts = FactReader(db, until)
        self.procedures = ProcedureReader(db)
        self.patience = PatienceReader(db, until)
        self.retention = RetentionReader(db, until)
        self.standing = StandingReader(db, until)

    def search(
        self,
        stratum: Stratum,
        text: str,
        vector: Vector | None = None,
        *,
        k: int = 20,
        start: Us | None = None,
        end: Us | None = None,
        where: Where | None = None,
    ) -> list[Hit]:
        """Hybrid search of one stratum; see storage.search.search.  Pattern hits carry the pattern's id, not a row's.

        Candidate and retired facts and undone corrections are not found; what the owner denied neither, and what the
        owner's corrections bear on is found by their words too, first.
        """
        if stratum in _LETTERS and self.corrections.amendments():
            return self._corrected(stratum, text, vector, k, start, end, where)
        hits = search.search(
            self._db, self.until, stratum, text, vector, k=k, start=start, end=end, where=where, index=self._index
        )
        if stratum == "fact":
            active = {i for i, f in self.facts.many([h.id for h in hits]).items() if f.state == "active"}
            return [h for h in hits if h.id in active]
        if stratum == "correction":
            active = {c.id for c in self.corrections.all()} if hits else set()
            return [h for h in hits if h.id in active]
        if stratum != "pattern":
            return hits
        newest = self.patterns.by_version_row([h.id for h in hits])
        return [Hit(h.kind, newest[h.id], h.score, h.bm25_rank, h.dense_rank) for h in hits if h.id in newest]

    def _corrected(
        self, stratum: Stratum, text: str, vector: Vector | None, k: int, start: Us | None, end: Us | None,
        where: Where | None,
    ) -> list[Hit]:  # fmt: skip
        """Hits with those rows before them that a correction of these words bears on, without what was denied."""
        letter, amend = _LETTERS[stratum], self.corrections.amendments()
        denied = sum(amend.denied(ref) for ref in amend.effects)
        hits = search.search(
            self._db,
            self.until,
            stratum,
            text,
            vector,
            k=k + denied,
            start=start,
            end=end,
            where=where,
            index=self._index,
        )
        most = hits[0].score if hits else 0.0
        told = {c.id: c for c in self.corrections.all()}
        found: list[Hit] = []
        for hit in search.search(
            self._db, self.until, "correction", text, None, k=k, start=start, end=end, index=self._index
        ):
            refs = [e.ref for e in told[hit.id].effects if e.kind != "deny"] if hit.id in told else []
            rows = [int(r[1:]) for r in refs if r[0] == letter]
            if where:
                rows = keep(self._db, stratum, where, rows)
            elif stratum == "item" and hit.id in told and told[hit.id].kind == "add":
                rows.append(OWNER_ITEMS + hit.id)
            found += [Hit(stratum, row, most + hit.score, hit.bm25_rank) for row in rows]
        best = {h.id: h for h in reversed([*found, *hits]) if not amend.denied(f"{letter}{h.id}")}
        return sorted(best.values(), key=lambda h: (-h.score, h.id))[:k]

    def open_unit(self, recording: str) -> OpenUnit:
        """The windows of a recording that no closed episode holds yet (GROVE: the open unit)."""
        last = self.episodes.last(recording)
        return OpenUnit(recording, tuple(self.trace.after(recording, 0 if last is None else last.last_window)))
