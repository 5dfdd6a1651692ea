"""The index at rest: runs of rows with their words, codes and times, inside the database.

A segment covers the rows of one stratum with ids first..last and is never changed: rows that are deleted or rewritten
take their segment with them (triggers of the schema do that, in the same transaction), and what is left of its rows is
indexed anew.  Small segments are written every SEAL rows with their words packed into one blob; neighbours are merged,
STEP at a time, at last into one whose postings stand term by term: a query over years reads one run of the B-tree for
each word.
Because all of it lives in the database it is encrypted with it, erased with it and whole after a crash.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from storage.connect import Connection
from storage.index_codes import Codes, codes, spread
from storage.index_strata import GROUNDS, Ground
from storage.index_text import occurrences

SEAL = 2048
STEP = 8
FEW = 256  # vectors that are spread to floats at once: what is held for a moment is kept from growing with SEAL
SPAN = 32 * SEAL  # rows, and the reach of ids, of a merged segment: positions are 16 bits
_PACKED_MOST = STEP * SEAL

Array = npt.NDArray[Any]
Postings: TypeAlias = "tuple[Array, Array | None]"  # positions of rows, and how often (None: once)
# What is kept of each row, and as what.  A column that would say nothing is left out: see Part.
TYPES = {"offset": "<u2", "known": "<i8", "start": "<i8", "end": "<i8", "chain": "<i8", "length": "<u2", "blank": "|b1", "tag": "|u1", "code": "<u8"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Head:
    """Where a segment lies: ids, rows, and the bounds of its times in microseconds."""

    id: int
    first: int
    last: int
    rows: int
    known_min: int
    known_max: int
    start_min: int
    start_max: int
    end_min: int
    end_max: int
    packed: bool


HEAD = "id, first, last, rows, known_min, known_max, start_min, start_max, end_min, end_max, packed"


class Words:
    """The words of a run of rows: for each term the rows that hold it (uint16 positions) and how often (uint8)."""

    __slots__ = ("counts", "docs", "starts", "terms")

    def __init__(self, terms: Sequence[str], starts: Array, docs: Array, counts: Array) -> None:
        self.terms = {t: i for i, t in enumerate(terms)}
        self.starts, self.docs, self.counts = starts, docs, counts

    @classmethod
    def of(cls, texts: Iterable[str]) -> Words:
        """Cut texts to terms: postings in the order of the alphabet, then of the rows."""
        terms, held, rows, often = occurrences(list(texts))
        return cls._sorted(terms, held, rows.astype(np.uint16), np.minimum(often, 255).astype(np.uint8))

    @classmethod
    def merged(cls, parts: Sequence[tuple[int, Words]]) -> Words:
        """One of several, each with the position its rows begin at, in the order of the rows."""
        numbers: dict[str, int] = {}
        held, docs, counts = [], [], []
        for begin, words in parts:
            mine = np.asarray([numbers.setdefault(t, len(numbers)) for t in words.terms], dtype=np.int64)
            held.append(np.repeat(mine, np.diff(words.starts)))
            docs.append((words.docs.astype(np.int64) + begin).astype(np.uint16))
            counts.append(words.counts)
        return cls._sorted(list(numbers), np.concatenate(held), np.concatenate(docs), np.concatenate(counts))

    @classmethod
    def _sorted(cls, terms: list[str], held: Array, docs: Array, counts: Array) -> Words:
        order = sorted(range(len(terms)), key=terms.__getitem__)
        rank = np.empty(len(terms), dtype=np.int64)
        rank[order] = np.arange(len(terms))
        held = rank[held]
        by_term = np.argsort(held, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(held, minlength=len(terms)))))
        return cls([terms[i] for i in order], starts, docs[by_term], counts[by_term])

    def get(self, term: str) -> tuple[Array, Array] | None:
        """Positions and counts of a term, if it occurs."""
        i = self.terms.get(term)
        if i is None:
            return None
        low, high = self.starts[i], self.starts[i + 1]
        return self.docs[low:high], self.counts[low:high]

    def count(self, term: str) -> int:
        """In how many rows a term occurs."""
        i = self.terms.get(term)
        return 0 if i is None else int(self.starts[i + 1] - self.starts[i])

    def packed(self) -> bytes:
        """As one blob: lengths, terms, where each begins, positions, counts."""
        text = "\n".join(self.terms).encode()
        head = struct.pack("<III", len(self.terms), len(self.docs), len(text))
        arrays = (self.starts.astype("<u4"), self.docs.astype("<u2"), self.counts)
        return head + text + b"".join(a.tobytes() for a in arrays)

    @classmethod
    def unpacked(cls, blob: bytes) -> Words:
        """The inverse of `packed`."""
        terms, docs, size = struct.unpack_from("<III", blob)
        at = 12 + size
        text = blob[12:at].decode()
        starts = np.frombuffer(blob, "<u4", terms + 1, at)
        at += starts.nbytes
        return cls(
            text.split("\n") if terms else [], starts.astype(np.int64), np.frombuffer(blob, "<u2", docs, at),
            np.frombuffer(blob, "|u1", docs, at + 2 * docs),
        )  # fmt: skip


def posting(docs: Array, counts: Array) -> bytes:
    """One term's rows as a blob: positions, then counts where one is more than 1."""
    return docs.astype("<u2").tobytes() + (counts.tobytes() if counts.size and counts.max() > 1 else b"")


def posted(blob: bytes, n: int) -> Postings:
    """The inverse of `posting`; no counts means that all are 1."""
    return np.frombuffer(blob, "<u2", n), np.frombuffer(blob, "|u1", n, 2 * n) if len(blob) > 2 * n else None


@dataclass(frozen=True, slots=True)
class Part:
    """A segment in memory.  `columns` by name, shape (rows,); "code" is (words, rows).

    Left out: "offset" (id - first) when ids are dense, "end" when it equals start, "chain" in strata without versions,
    "tag" where there is none, "blank" (rows without a vector) when there is none, "code" in strata without vectors.
    """

    head: Head
    columns: dict[str, Array]
    words: Words


def rows_of(db: Connection, ground: Ground, after: int, last: int, most: int) -> list[Sequence[Any]]:
    """Up to `most` rows with after < id <= last in the order of their ids, within the reach of one segment."""
    near = f"LEFT JOIN {ground.near} v ON v.id = o.id" if ground.near else ""
    rows: list[Sequence[Any]] = db.execute(
        f"SELECT {ground.columns()}, {'v.v' if near else 'NULL'} FROM {ground.owner} o {ground.joins} {near} "
        "WHERE o.id > ? AND o.id <= ? ORDER BY o.id LIMIT ?",
        (after, last, most),
    ).fetchall()
    while rows and rows[-1][0] - rows[0][0] >= SPAN:
        rows = [r for r in rows if r[0] - rows[0][0] < SPAN]
    return rows


def part_of(ground: Ground, rows: Sequence[Sequence[Any]]) -> Part:
    """Index rows as `rows_of` gives them."""
    ids, known, start, end, chain, length, tag = (
        np.asarray([r[i] for r in rows], dtype=np.int64) for i in (0, 1, 2, 3, 4, 6, 7)
    )
    columns: dict[str, Array] = {"known": known, "start": start, "length": np.minimum(length, 65535).astype(np.uint16)}
    if ids[-1] - ids[0] != len(ids) - 1:
        columns["offset"] = (ids - ids[0]).astype(np.uint16)
    if (end != start).any():
        columns["end"] = end
    if ground.chain:
        columns["chain"] = chain
    if ground.tag:
        columns["tag"] = tag.astype(np.uint8)
    if ground.near:
        columns |= _coded([r[8] for r in rows])
    head = Head(
        0, int(ids[0]), int(ids[-1]), len(ids), int(known.min()), int(known.max()), int(start.min()), int(start.max()),
        int(end.min()), int(end.max()), True,
    )  # fmt: skip
    return Part(head, columns, Words.of(r[5] for r in rows))


def _coded(near: list[bytes | None]) -> dict[str, Array]:
    """The codes of coarse vectors, and which rows have none."""
    held = [i for i, v in enumerate(near) if v is not None]
    if not held:
        return {"blank": np.ones(len(near), dtype=bool)}
    columns: dict[str, Array] = {}
    parts = [codes(spread([near[i] or b"" for i in held[at : at + FEW]])) for at in range(0, len(held), FEW)]
    made: Codes = np.concatenate(parts, axis=1)
    if len(held) < len(near):
        blank = np.ones(len(near), dtype=bool)
        blank[held] = False
        full = np.zeros((made.shape[0], len(near)), dtype=np.uint64)
        full[:, held] = made
        columns["blank"], made = blank, full
    return {**columns, "code": made}


def merged(parts: Sequence[Part]) -> Part:
    """One segment of several neighbours, oldest first."""
    heads = [p.head for p in parts]
    first, last, rows = heads[0].first, heads[-1].last, sum(h.rows for h in heads)
    columns: dict[str, Array] = {}
    for name in dict.fromkeys(n for p in parts for n in p.columns):
        columns[name] = np.concatenate([_whole(p, name, first, parts) for p in parts], axis=-1)
    if last - first != rows - 1 and "offset" not in columns:
        columns["offset"] = np.concatenate([_whole(p, "offset", first, parts) for p in parts])
    begins = np.concatenate(([0], np.cumsum([h.rows for h in heads])))
    low, high = ({n: f(getattr(h, n) for h in heads) for n in _TIMES[i::2]} for i, f in enumerate((min, max)))
    head = Head(id=0, first=first, last=last, rows=rows, packed=False, **low, **high)
    return Part(head, columns, Words.merged([(int(b), p.words) for b, p in zip(begins, parts, strict=False)]))


_TIMES = ("known_min", "known_max", "start_min", "start_max", "end_min", "end_max")


def _whole(part: Part, name: str, first: int, parts: Sequence[Part]) -> Array:
    """A column of one part of a merge, also where the part left it out."""
    if name == "offset":
        own = part.columns.get("offset")
        own = np.arange(part.head.rows) if own is None else own
        return (own.astype(np.int64) + part.head.first - first).astype(np.uint16)
    if name in part.columns:
        return part.columns[name]
    if name == "end":
        return part.columns["start"]
    if name == "blank":
        return np.zeros(part.head.rows, dtype=bool)
    words = next(p.columns["code"].shape[0] for p in parts if "code" in p.columns)
    return np.zeros((words, part.head.rows), dtype=np.uint64)


def write(db: Connection, ground: Ground, part: Part, *, packed: bool) -> None:
    """Store a segment, its words in one blob or term by term."""
    h = part.head
    row = db.execute(
        "INSERT INTO segment(stratum, first, last, rows, known_min, known_max, start_min, start_max, end_min, end_max, packed) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (ground.number, h.first, h.last, h.rows, h.known_min, h.known_max, h.start_min, h.start_max, h.end_min, h.end_max, packed),
    ).lastrowid  # fmt: skip
    data = [(row, name, column.astype(TYPES[name], copy=False).tobytes()) for name, column in part.columns.items()]
    if packed:
        data.append((row, "words", part.words.packed()))
    else:
        w = part.words
        db.executemany(
            "INSERT INTO posting(stratum, term, segment_id, n, docs) VALUES (?, ?, ?, ?, ?)",
            (
                (ground.number, t, row, int(w.starts[i + 1] - w.starts[i]), posting(*w.get(t) or ()))
                for t, i in w.terms.items()
            ),
        )
    db.executemany("INSERT INTO segment_column(segment_id, name, data) VALUES (?, ?, ?)", data)


def heads(db: Connection, ground: Ground) -> list[Head]:
    """The segments of a stratum in the order of their rows."""
    rows = db.execute(f"SELECT {HEAD} FROM segment WHERE stratum = ? ORDER BY first", (ground.number,))
    return [Head(*row) for row in rows]


def column(db: Connection, segment: int, name: str, rows: int) -> Array | None:
    """One column of a segment, None when it was left out."""
    row = db.execute("SELECT data FROM segment_column WHERE segment_id = ? AND name = ?", (segment, name)).fetchone()
    if row is None:
        return None
    found = np.frombuffer(row[0], TYPES[name])
    return found.reshape(-1, rows) if name == "code" else found


def words(db: Connection, segment: int) -> Words:
    """The words of a packed segment."""
    row = db.execute("SELECT data FROM segment_column WHERE segment_id = ? AND name = 'words'", (segment,)).fetchone()
    return Words.unpacked(row[0])


def counts(db: Connection, ground: Ground, term: str) -> dict[int, int]:
    """In how many rows a term occurs, by segment, over those whose words stand term by term."""
    rows = db.execute("SELECT segment_id, n FROM posting WHERE stratum = ? AND term = ?", (ground.number, term))
    return dict(rows.fetchall())


def lists(db: Connection, ground: Ground, term: str, segments: Sequence[int]) -> Iterator[tuple[int, int, bytes]]:
    """(segment, n, posting) of a term in some of them."""
    if len(segments) < 8:
        one = "SELECT segment_id, n, docs FROM posting WHERE stratum = ? AND term = ? AND segment_id = ?"
        for segment in segments:
            yield from db.execute(one, (ground.number, term, segment))
        return
    marks = ",".join("?" * len(segments))
    every = f"SELECT segment_id, n, docs FROM posting WHERE stratum = ? AND term = ? AND segment_id IN ({marks})"
    yield from db.execute(every, (ground.number, term, *segments))


def settle(db: Connection) -> None:
    """Index what was written since, inside the transaction that wrote it: whole runs of SEAL rows, and every hole.

    Costs a few microseconds when there is nothing to do, about 15 microseconds a row when there is.
    """
    marks = {
        number: (epoch, settled)
        for number, epoch, settled in db.execute("SELECT stratum, epoch, settled FROM search_state")
    }
    for ground in GROUNDS.values():
        newest = db.execute(f"SELECT max(id) FROM {ground.owner}").fetchone()[0]
        settled = marks[ground.number][1]
        if newest is not None and newest - settled >= SEAL:
            _settle(db, ground, newest)


def _settle(db: Connection, ground: Ground, newest: int) -> None:
    settled = 0
    for head in heads(db, ground):  # what an erasure or a rewritten row opened
        if head.first > settled + 1:
            _seal(db, ground, settled, head.first - 1, least=1)
        settled = head.last
    settled = _seal(db, ground, settled, newest, least=SEAL)
    _merge(db, ground)
    db.execute("UPDATE search_state SET settled = ? WHERE stratum = ?", (settled, ground.number))


def _seal(db: Connection, ground: Ground, after: int, last: int, *, least: int) -> int:
    """Write segments over ids after < id <= last; rows fewer than `least` are left for later.  Returns how far it got."""
    begun = _begun(db, ground, after) if least > 1 else after
    while True:
        full = begun + SPAN
        filling = begun < after < full < last  # small segments that what comes now fills up: _merge joins them with it
        rows = rows_of(db, ground, after, full if filling else last, SPAN)
        if len(rows) < least and not filling:
            return after
        if least > 1 and not filling and len(rows) < SPAN:
            rows = rows[: min(_PACKED_MOST, len(rows) // SEAL * SEAL)]
        if rows:
            write(db, ground, part_of(ground, rows), packed=filling or len(rows) <= _PACKED_MOST)
            after = rows[-1][0]
        begun = after


def _begun(db: Connection, ground: Ground, after: int) -> int:
    """The id before the first of the small segments that end at `after`; `after` when there are none."""
    for head in reversed(heads(db, ground)):
        if head.last == after and head.packed:
            after = head.first - 1
    return after


def _merge(db: Connection, ground: Ground) -> None:
    """Put small neighbours together: all that one segment can reach over, and STEP of the newest while that fills up."""
    run: list[Head] = []
    for head in heads(db, ground):
        if run and (not head.packed or head.last - run[0].first >= SPAN):
            _join(db, ground, run, packed=sum(h.rows for h in run) <= _PACKED_MOST)
            run = []
        if head.packed:
            run.append(head)
        if sum(h.rows for h in run) >= SPAN - SEAL:
            _join(db, ground, run, packed=False)
            run = []
    fresh = list(takewhile(lambda h: h.rows < SEAL * STEP, reversed(run)))[::-1]
    if sum(h.rows for h in fresh) >= SEAL * STEP:
        _join(db, ground, fresh, packed=True)


def _join(db: Connection, ground: Ground, run: list[Head], *, packed: bool) -> None:
    if not run or (len(run) == 1 and packed):
        return
    parts = [loaded(db, h) for h in run]
    for old in run:
        db.execute("DELETE FROM segment WHERE id = ?", (old.id,))
    write(db, ground, merged(parts), packed=packed)


def loaded(db: Connection, head: Head) -> Part:
    """A packed segment, whole."""
    rows = db.execute("SELECT name, data FROM segment_column WHERE segment_id = ? AND name <> 'words'", (head.id,))
    columns: dict[str, Array] = {}
    for name, data in rows:
        found = np.frombuffer(data, TYPES[name])
        columns[name] = found.reshape(-1, head.rows) if name == "code" else found
    return Part(head, columns, words(db, head.id))


def amiss(db: Connection) -> list[str]:
    """Where the index does not fit the rows it was made from; empty when all is well."""
    found = []
    for name, ground in GROUNDS.items():
        if ground.near is not None:
            near, vec = (
                db.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in (ground.near, f"{ground.vec}_rowids")
            )
            if near != vec:
                found.append(f"{ground.near} holds {near} coarse vectors, {ground.vec} {vec}")
        before = 0
        for head in heads(db, ground):
            owned = f"SELECT count(*) FROM {ground.owner} WHERE id BETWEEN ? AND ?"
            rows = db.execute(owned, (head.first, head.last)).fetchone()[0]
            if rows != head.rows or head.first <= before:
                found.append(
                    f"segment {head.id} of {name} covers {head.first}..{head.last} with {head.rows} rows of {rows}"
                )
            before = head.last
    for table in ("segment_column", "posting"):
        lost = db.execute(f"SELECT count(*) FROM {table} WHERE segment_id NOT IN (SELECT id FROM segment)").fetchone()[
            0
        ]
        if lost:
            found.append(f"{lost} rows of {table} have no segment")
    return found
