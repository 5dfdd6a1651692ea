"""The only way to read the memory: a view of it as it was known at a time t."""

from __future__ import annotations

from storage import search
from storage.connect import Connection
from storage.episodes import EpisodeReader
from storage.health import HealthReader
from storage.intentions import IntentionReader
from storage.lookup import LookupReader
from storage.moments import MomentReader
from storage.patience import PatienceReader
from storage.patterns import PatternReader
from storage.records import Hit, OpenUnit, Us
from storage.search import Stratum
from storage.services import ServiceReader
from storage.standing import StandingReader
from storage.trace import TraceReader
from storage.vectors import Vector

FOREVER: Us = 2**61


class Snapshot:
    """Readers of every stratum bound to one cutoff: no row made from observations after `until` comes out of them.

    One object serves one thread; it holds a read transaction, so what it shows does not move while it is open.
    """

    def __init__(self, db: Connection, until: Us) -> None:
        self.until = until
        self._db = db
        self.trace = TraceReader(db, until)
        self.lookup = LookupReader(db, until)
        self.episodes = EpisodeReader(db, until)
        self.moments = MomentReader(db, until)
        self.patterns = PatternReader(db, until)
        self.intentions = IntentionReader(db, until)
        self.services = ServiceReader(db, until)
        self.health = HealthReader(db, until)
        self.patience = PatienceReader(db, until)
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
    ) -> list[Hit]:
        """Hybrid search of one stratum; see storage.search.search.  Pattern hits carry the pattern's id, not a row's."""
        hits = search.search(self._db, self.until, stratum, text, vector, k=k, start=start, end=end)
        if stratum != "pattern":
            return hits
        newest = self.patterns.by_version_row([h.id for h in hits])
        return [Hit(h.kind, newest[h.id].id, h.score, h.bm25_rank, h.dense_rank) for h in hits if h.id in newest]

    def open_unit(self, recording: str) -> OpenUnit:
        """The windows of a recording that no closed episode holds yet (GROVE: the open unit)."""
        last = self.episodes.last(recording)
        return OpenUnit(recording, tuple(self.trace.after(recording, 0 if last is None else last.last_window)))
