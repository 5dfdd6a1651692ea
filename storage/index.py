"""The index in use: what a process remembers of it, and the view that one snapshot has of one stratum.

Segments never change, so their columns are remembered by segment up to a budget of bytes.  Rows that no segment holds
yet are indexed in memory in pieces of at most PIECE rows and kept until the stratum's epoch says that a row was deleted
or rewritten; of a piece that is not full yet the rows that came together lie together, and are joined as they grow.  A view is made of what its own connection sees, so it is exact whatever was written meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from storage import index_segments as seg
from storage.connect import Connection
from storage.index_kept import Blocks, Kept
from storage.index_segments import Array, Head, Part, Postings, Words
from storage.index_strata import GROUNDS, Ground, Stratum
from storage.records import Us

PIECE = 256
BUDGET_BYTES = 192 * 2**20  # codes of six million rows of 256 bits; what does not fit is read again
WORDS_BYTES = 48 * 2**20  # beside that: the rows of words that were asked for last


@dataclass(slots=True)
class _Tail:
    """Rows after segments, in memory: ids after < id, as pieces in order; they fill blocks of PIECE rows."""

    epoch: int
    after: int
    pieces: list[Part]


class SearchIndex:
    """What a process remembers of the index of one database.  Safe for threads; one belongs to each Store."""

    def __init__(self, budget: int = BUDGET_BYTES) -> None:
        self._lock = threading.Lock()
        self._columns = Kept(budget)
        self._lists = Kept(WORDS_BYTES)
        self._blocks = Blocks()
        self._tails: dict[tuple[int, int], _Tail] = {}
        self._known: dict[int, tuple[int, int, list[Head]]] = {}
        self._dim = 0

    def dim(self, db: Connection) -> int:
        """How long the vectors of this database are, which never changes."""
        if not self._dim:
            self._dim = int(db.execute("SELECT value FROM meta WHERE key = 'embedding_dim'").fetchone()[0])
        return self._dim

    def clear(self) -> None:
        """Forget everything: after a transaction was rolled back, whose rows may have been seen; after an erasure."""
        self._columns.clear()
        self._lists.clear()
        with self._lock:
            self._tails.clear()
            self._known.clear()

    def column(self, db: Connection, head: Head, name: str) -> Array | None:
        """A column of a stored segment, None when it was left out."""
        found = self._columns.get((head.id, name))
        if found is None:
            made = seg.column(db, head.id, name, head.rows)
            if name == "code" and made is not None:
                made = self._blocks.copy(made)
            found = self._columns.put((head.id, name), (made,), 64 if made is None else made.nbytes)
        return found[0]  # type: ignore[no-any-return]

    def words(self, db: Connection, head: Head) -> Words:
        """The words of a packed segment."""
        found = self._columns.get((head.id, "words"))
        if found is None:
            made = seg.words(db, head.id)
            found = self._columns.put((head.id, "words"), made, 3 * made.docs.size + 150 * len(made.terms))
        return found  # type: ignore[no-any-return]

    def counts(self, db: Connection, ground: Ground, state: tuple[int, int], term: str) -> dict[int, int]:
        """In how many rows a term occurs, for each stored segment whose words stand term by term."""
        found = self.told(("counts", ground.number, term), state)
        if found is None:
            rows = seg.counts(db, ground, term)
            found = self.tell(("counts", ground.number, term), state, rows, 100 * len(rows))
        return found  # type: ignore[no-any-return]

    def told(self, key: tuple[str, int, str], state: tuple[int, int]) -> Any | None:
        """What is remembered of the segments in one state of a stratum."""
        found = self._lists.get(key)
        return None if found is None or found[0] != state else found[1]

    def tell(self, key: tuple[str, int, str], state: tuple[int, int], thing: Any, size: int = 0) -> Any:
        """Remember it; returns it."""
        return self._lists.put(key, (state, thing), 300 + size)[1]

    def lists(self, db: Connection, ground: Ground, term: str, segments: Sequence[int]) -> dict[int, Postings]:
        """The rows that hold a term in some such segments, all of which have it."""
        found = {s: self._lists.get((s, term)) for s in segments}
        lacking = [s for s, postings in found.items() if postings is None]
        for segment, n, blob in seg.lists(db, ground, term, lacking):
            found[segment] = self._lists.put((segment, term), seg.posted(blob, n), 200 + len(blob))
        return found  # type: ignore[return-value]

    def view(self, db: Connection, stratum: Stratum) -> View:
        """What this connection sees of a stratum now."""
        ground = GROUNDS[stratum]
        state = "SELECT epoch, settled FROM search_state WHERE stratum = ?"
        epoch, settled = db.execute(state, (ground.number,)).fetchone()
        newest = db.execute(f"SELECT max(id) FROM {ground.owner}").fetchone()[0] or 0
        pieces: list[Piece] = []
        after = 0
        for head in self._heads(db, ground, epoch, settled):
            if head.first > after + 1:  # a hole: rows erased, or their segment was
                pieces += self._loose(db, ground, epoch, after, head.first - 1)
            pieces.append(Piece(self, db, head, None, head.rows))
            after = head.last
        if newest > after:
            pieces += self._loose(db, ground, epoch, after, newest)
        return View(self, db, ground, (epoch, settled), pieces)

    def _heads(self, db: Connection, ground: Ground, epoch: int, settled: int) -> list[Head]:
        """The segments of a stratum: whatever changes them moves its epoch or how far it is settled."""
        with self._lock:
            known = self._known.get(ground.number)
        if known is None or known[:2] != (epoch, settled):
            known = epoch, settled, seg.heads(db, ground)
            with self._lock:
                self._known[ground.number] = known
        return known[2]

    def _loose(self, db: Connection, ground: Ground, epoch: int, after: int, last: int) -> list[Piece]:
        """Rows with after < id <= last, indexed in memory and remembered as far as possible."""
        key = (ground.number, after)
        with self._lock:
            tail = self._tails.get(key)
            if tail is None or tail.epoch != epoch:
                tail = self._moved(ground.number, epoch, after) or _Tail(epoch, after, [])
            kept = list(tail.pieces)
        at = kept[-1].head.last if kept else after
        if at < last:
            held = sum(p.head.rows for p in kept)
            while rows := seg.rows_of(db, ground, at, last, PIECE - held % PIECE):
                kept.append(seg.part_of(ground, rows))
                held += len(rows)
                _join(kept, held % PIECE or PIECE)
                at = rows[-1][0]
            with self._lock:
                self._tails[key] = _Tail(epoch, after, kept)
                for old in [k for k, t in self._tails.items() if k[0] == ground.number and t.epoch < epoch]:
                    del self._tails[old]
        found = []
        for part in kept:
            if part.head.first > last:
                break
            rows_seen = part.head.rows
            if part.head.last > last:  # indexed by a snapshot that sees more than this one
                rows_seen = int(np.searchsorted(_ids(part.head, part.columns.get("offset")), last, side="right"))
            if rows_seen:
                found.append(Piece(self, db, part.head, part, rows_seen))
        return found

    def _moved(self, number: int, epoch: int, after: int) -> _Tail | None:
        """The tail as it was before its first rows went into a segment, without those."""
        for (stratum, was), tail in list(self._tails.items()):
            if stratum == number and tail.epoch == epoch and was < after:
                rest = [p for p in tail.pieces if p.head.first > after]
                joined = rest and tail.pieces[len(tail.pieces) - len(rest) - 1].head.last == after
                if joined and len(rest) < len(tail.pieces):
                    return _Tail(epoch, after, rest)
        return None


def _join(pieces: list[Part], block: int) -> None:
    """Join the newest pieces, which lie in a block of that many rows by now, once the last is no smaller than its neighbour.

    A row is then indexed once and joined a few times, however the rows arrive.
    """
    while len(pieces) > 1 and pieces[-1].head.rows < block:
        before, last = pieces[-2:]
        small = block < PIECE and before.head.rows > last.head.rows
        if small or last.head.last - before.head.first >= seg.SPAN:
            return
        pieces[-2:] = [seg.merged([before, last])]


def _ids(head: Head, offset: Array | None) -> Array:
    return np.arange(head.first, head.first + head.rows) if offset is None else offset.astype(np.int64) + head.first


class Piece:
    """A segment, stored or in memory, as one view sees it: its first `limit` rows."""

    __slots__ = ("_db", "_index", "head", "limit", "part")

    def __init__(self, index: SearchIndex, db: Connection, head: Head, part: Part | None, limit: int) -> None:
        self._index, self._db, self.head, self.part, self.limit = index, db, head, part, limit

    def column(self, name: str) -> Array | None:
        """A column of shape (rows,), "code" of (words, rows); None when it says nothing."""
        if self.part is not None:
            return self.part.columns.get(name)
        return self._index.column(self._db, self.head, name)

    def times(self, name: str) -> Array:
        """The column known, start or end."""
        found = self.column(name)
        if found is None:
            found = self.column("start")
        assert found is not None
        return found

    def ids(self, at: Array) -> Array:
        """The ids of rows by their positions."""
        offset = self.column("offset")
        return self.head.first + (at if offset is None else offset[at]).astype(np.int64)

    def places(self, ids: Array) -> Array:
        """The positions of rows by their ids, all of which it holds."""
        offset = self.column("offset")
        return ids - self.head.first if offset is None else np.searchsorted(offset, ids - self.head.first)

    def words(self) -> Words | None:
        """Its words when they are held together; None when they are stored term by term."""
        if self.part is not None:
            return self.part.words
        return self._index.words(self._db, self.head) if self.head.packed else None


Mask = Array | None  # True for rows that count; None when all do


@dataclass(frozen=True, slots=True)
class Span:
    """Rows low <= position < high of a piece, by its number in a view; of these the ones in `mask` are inside.

    `at` is where the span begins when those of a view are put one after the other.
    """

    number: int
    piece: Piece
    low: int
    high: int
    at: int
    mask: Mask

    def column(self, name: str) -> Array | None:
        """A column of its rows."""
        found = self.piece.column(name)
        return None if found is None else found[..., self.low : self.high]


def ids_of(spans: Sequence[Span], at: Array) -> Array:
    """The ids of rows by their ascending places among those of all spans."""
    parts = [span.piece.ids(at[low:high] - span.at + span.low) for span, low, high in shared_out(spans, at)]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def shared_out(spans: Sequence[Span], at: Array) -> Iterator[tuple[Span, int, int]]:
    """For each span that has some of the ascending places `at`: from which of them to which."""
    edges = [*np.searchsorted(at, [span.at for span in spans]).tolist(), len(at)]
    for span, low, high in zip(spans, edges, edges[1:], strict=False):
        if low < high:
            yield span, low, high


class View:
    """The pieces of a stratum, oldest ids first, with what a snapshot at a time and a range of time leave of them."""

    def __init__(
        self, index: SearchIndex, db: Connection, ground: Ground, state: tuple[int, int], pieces: Sequence[Piece]
    ) -> None:
        self.db, self.ground = db, ground
        self._index, self._state = index, state
        self._stored = sum(p.part is None for p in pieces)
        self.pieces: list[Piece] = list(pieces)
        self.visible: list[Mask] = [None] * len(self.pieces)
        self.inside: list[Mask | bool] = [None] * len(self.pieces)
        self._spans: list[Span] | None = None

    def cut(self, until: Us, span: tuple[Us, Us], allowed: Array | None = None) -> View:
        """Only rows known at `until`; those of them that overlap [start, end), and are `allowed` (sorted ids), are found.

        `visible` and `inside` then run beside `pieces`: a mask, or None for all rows; `inside` is False for none.
        """
        pieces, visible = [], []
        for piece in self.pieces:
            h = piece.head
            if h.known_min > until:
                continue
            mask: Mask = None
            if h.known_max > until:
                mask = piece.times("known") <= until
            if piece.limit < h.rows:
                first = np.arange(h.rows) < piece.limit
                mask = first if mask is None else mask & first
            if mask is not None and not mask.any():
                continue
            pieces.append(piece)
            visible.append(mask)
        self.pieces, self.visible = pieces, visible
        if self.ground.chain:
            self._newest()
        self.inside = [self._within(p, m, span, allowed) for p, m in zip(self.pieces, self.visible, strict=True)]
        self._spans = None
        return self

    def lists(self, term: str, pieces: Collection[int]) -> dict[int, Postings]:
        """The rows that hold a term, for those of some pieces, by their numbers, in which it occurs."""
        found: dict[int, Postings] = {}
        stored: dict[int, int] = {}
        counts = self._counts(term)
        for i in pieces:
            piece = self.pieces[i]
            words = piece.words()
            if words is None:
                if piece.head.id in counts:
                    stored[piece.head.id] = i
            elif (held := words.get(term)) is not None:
                found[i] = held
        if stored:
            lists = self._index.lists(self.db, self.ground, term, list(stored))
            found |= {i: lists[segment] for segment, i in stored.items()}
        return found

    def count(self, term: str) -> int:
        """In how many visible rows a term occurs."""
        masks = {i: mask for i, mask in enumerate(self.visible) if mask is not None}
        whole = [i for i in range(len(self.pieces)) if i not in masks]
        number = sum(int(np.count_nonzero(masks[i][at])) for i, (at, _) in self.lists(term, masks).items())
        stored = [i for i in whole if self.pieces[i].part is None]
        if len(stored) == self._stored:  # as mostly: what all segments hold together is remembered
            place = ("total", self.ground.number, term)
            known = self._index.told(place, self._state)
            if known is None:
                known = self._index.tell(place, self._state, sum(self.occurs(term, i) for i in stored))
            number += known
            whole = [i for i in whole if self.pieces[i].part is not None]
        return number + sum(self.occurs(term, i) for i in whole)

    def occurs(self, term: str, number: int) -> int:
        """In how many rows of a piece, visible or not, a term occurs."""
        piece = self.pieces[number]
        words = piece.words()
        return self._counts(term).get(piece.head.id, 0) if words is None else words.count(term)

    def _counts(self, term: str) -> dict[int, int]:
        return self._index.counts(self.db, self.ground, self._state, term)

    def size(self) -> int:
        """How many rows are visible."""
        return sum(p.head.rows if m is None else int(m.sum()) for p, m in zip(self.pieces, self.visible, strict=True))

    def found(self) -> int:
        """How many rows are inside."""
        return sum(
            0 if m is False else p.head.rows if m is None else int(np.sum(m))
            for p, m in zip(self.pieces, self.inside, strict=True)
        )

    def spans(self) -> list[Span]:
        """Where the rows inside lie, in the order of their ids."""
        if self._spans is not None:
            return self._spans
        found: list[Span] = []
        at = 0
        for i, (piece, inside) in enumerate(zip(self.pieces, self.inside, strict=True)):
            if inside is False:
                continue
            low, high, mask = 0, piece.head.rows, None
            if isinstance(inside, np.ndarray):
                low, high = int(inside.argmax()), high - int(inside[::-1].argmax())
                mask = None if np.count_nonzero(inside) == high - low else inside[low:high]
            found.append(Span(i, piece, low, high, at, mask))
            at += high - low
        self._spans = found
        return found

    def _within(self, piece: Piece, visible: Mask, span: tuple[Us, Us], allowed: Array | None) -> Mask | bool:
        h, (start, end) = piece.head, span
        if h.end_max < start or h.start_min >= end:
            return False
        mask = visible
        if h.end_min < start:
            late = piece.times("end") >= start
            mask = late if mask is None else mask & late
        if h.start_max >= end:
            early = piece.times("start") < end
            mask = early if mask is None else mask & early
        if allowed is not None:
            low, high = np.searchsorted(allowed, (h.first, h.last + 1))
            if low == high:
                return False
            wanted = np.isin(piece.ids(np.arange(h.rows)), allowed[low:high])
            mask = wanted if mask is None else mask & wanted
        return False if mask is not None and not mask.any() else mask

    def _newest(self) -> None:
        """Of the versions of one thing only the newest visible one stays: it has the greatest id."""
        taken = np.empty(0, dtype=np.int64)
        for i in range(len(self.pieces) - 1, -1, -1):
            chain, mask = self.pieces[i].times("chain"), self.visible[i]
            at = np.arange(chain.size) if mask is None else np.flatnonzero(mask)
            kinds, last = np.unique(chain[at][::-1], return_index=True)
            fresh = ~np.isin(kinds, taken)
            newest = np.zeros(chain.size, dtype=bool)
            newest[at[at.size - 1 - last[fresh]]] = True
            taken = np.concatenate((taken, kinds[fresh]))
            self.visible[i] = newest
