"""The store of the memory: strata as tables of one SQLite file, read only through snapshots.

Public names: Store, EmbeddingSpace, Transaction, Snapshot, FOREVER; the records in `storage.records`, the errors in
`storage.errors`.
"""

from __future__ import annotations

from storage.snapshot import FOREVER, Snapshot
from storage.store import EmbeddingSpace, Store, Transaction

__all__ = ["FOREVER", "EmbeddingSpace", "Snapshot", "Store", "Transaction"]
