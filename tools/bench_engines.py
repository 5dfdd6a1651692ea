"""The engines that tools/bench_search.py compares: ours through its own store, and four others as one would use them.

Each has `build(folder, corpus)`, run in a process of its own, and `open(folder, corpus)`, which gives a search
(text, vector, first, last, k) -> (fused row numbers, dense row numbers) over rows first <= n < last.  The peers fuse the
same way as ours: the top 5 k of each ranking, reciprocal ranks with constant 60.  They are not dependencies of the
product: `pip install -e '.[bench]'`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from storage import EmbeddingSpace, Store
from storage.records import Episode, Moment, Window
from storage.search import DEPTH, content_words, fuse

US = 1_000_000
BASE_US = 1_704_067_200 * US  # 2024-01-01
DAY_ROWS = 9_000  # moments of a worn day: 3.3 million a year
DAY_US = 86_400 * US
WORN_US = 16 * 3600 * US
SPACE = EmbeddingSpace("wordllama-256", 256)
BATCH = 20_000

Search: TypeAlias = "Callable[[str, Any, int, int, int], tuple[list[int], list[int]]]"


@dataclass(frozen=True, slots=True)
class Corpus:
    """In a folder, row by row: texts.jsonl, vectors.f32, and times.i64 in microseconds, ascending."""

    folder: Path
    rows: int

    def texts(self) -> Iterator[str]:
        """Each text."""
        with (self.folder / "texts.jsonl").open(encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)

    def vectors(self) -> Any:
        """Shape (rows, 256), mapped from the file."""
        return np.memmap(self.folder / "vectors.f32", np.float32, "r", shape=(self.rows, SPACE.dim))

    def times(self) -> Any:
        """Shape (rows,), mapped from the file."""
        return np.memmap(self.folder / "times.i64", np.int64, "r", shape=(self.rows,))


def time_of(row: int) -> int:
    """When a row happened: DAY_ROWS a day, over sixteen hours of it."""
    day, at = divmod(row, DAY_ROWS)
    return BASE_US + day * DAY_US + 7 * 3600 * US + at * (WORN_US // DAY_ROWS)


def peers() -> list[str]:
    """The engines other than ours."""
    return [name for name in ENGINES if name != "grove-edge"]


# grove-edge: the product's own store and search


def build_ours(folder: Path, corpus: Corpus) -> None:
    """Windows, episodes and moments, in transactions of BATCH moments."""
    nothing = np.zeros(SPACE.dim, np.float32)
    vectors = corpus.vectors()
    texts = corpus.texts()
    with Store.open(folder / "memory.db", space=SPACE) as store:
        for start in range(0, corpus.rows, BATCH):
            with store.transaction() as tx:
                rows = range(start, min(start + BATCH, corpus.rows))
                moments = []
                for row in rows:
                    t = time_of(row)
                    if row % 10 == 0:  # a window of some twenty seconds holds ten moments, an episode a hundred
                        window = tx.trace.add(Window("bench", t, time_of(row + 9) + US, 0), nothing)
                        if row % 100 == 0:
                            end = time_of(row + 99) + US
                            episode = tx.episodes.add(
                                Episode("bench", t, end, 0, "", "", (), "", "", window, window, "cap", end), nothing
                            )
                    moments.append(Moment(episode, window, t, 0, next(texts), (), "core", 0.5, "", "", t + US))
                tx.moments.add_many(moments, vectors[rows.start : rows.stop])


def _open_ours(folder: Path, corpus: Corpus) -> Search:
    db = folder / "memory.db" if (folder / "memory.db").exists() else folder
    store = Store.open(db, read_only=True)
    times = corpus.times()

    def search(text: str, vector: Any, first: int, last: int, k: int) -> tuple[list[int], list[int]]:
        start = None if first == 0 else int(times[first])
        end = None if last >= corpus.rows else int(times[last])
        with store.snapshot() as snapshot:
            hits = snapshot.search("moment", text, vector, k=k, start=start, end=end)
        return [h.id - 1 for h in hits], []

    return search


# numpy and bm25s: everything in RAM


def _build_numpy(folder: Path, corpus: Corpus) -> None:
    import bm25s

    retriever = bm25s.BM25(k1=1.5, b=0.75)
    retriever.index(bm25s.tokenize(list(corpus.texts()), stopwords="en", show_progress=False), show_progress=False)
    retriever.save(str(folder / "bm25s"))
    np.save(folder / "vectors.npy", corpus.vectors())


def _open_numpy(folder: Path, _corpus: Corpus) -> Search:
    import bm25s

    retriever = bm25s.BM25.load(str(folder / "bm25s"))
    vectors = np.load(folder / "vectors.npy")
    data, indices, starts = (retriever.scores[n] for n in ("data", "indices", "indptr"))

    def search(text: str, vector: Any, first: int, last: int, k: int) -> tuple[list[int], list[int]]:
        depth = DEPTH * k
        dense = first + _top(vectors[first:last] @ vector, depth)
        scores = np.zeros(last - first, dtype=np.float32)
        for word in bm25s.tokenize(text, stopwords="en", return_ids=False, show_progress=False)[0]:
            token = retriever.vocab_dict.get(word)
            if token is not None:
                low, high = int(starts[token]), int(starts[token + 1])
                held = indices[low:high]
                a, b = np.searchsorted(held, (first, last))  # bm25s sums over all rows; this is kinder to it
                scores[held[a:b] - first] += data[low + a : low + b]
        sparse = [first + int(i) for i in _top(scores, depth) if scores[i] > 0]
        return [h.id for h in fuse("row", sparse, [int(i) for i in dense], k)], [int(i) for i in dense[:k]]

    return search


def _top(scores: Any, depth: int) -> Any:
    if scores.size > depth:
        best = np.argpartition(-scores, depth)[:depth]
        return best[np.argsort(-scores[best], kind="stable")]
    return np.argsort(-scores, kind="stable")


# plain sqlite-vec with float vectors, and FTS5


def _connect(folder: Path) -> Any:
    import sqlcipher3
    import sqlite_vec

    db = sqlcipher3.connect(str(folder / "plain.db"), isolation_level=None)
    db.enable_load_extension(True)
    sqlite_vec.load(db)
    return db


def _build_sqlite(folder: Path, corpus: Corpus) -> None:
    db = _connect(folder)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute(f"CREATE VIRTUAL TABLE v USING vec0(embedding float[{SPACE.dim}])")
    db.execute("CREATE TABLE d(id INTEGER PRIMARY KEY, t INTEGER, text TEXT)")
    db.execute("CREATE VIRTUAL TABLE f USING fts5(text, content='d', content_rowid='id', tokenize='porter unicode61')")
    vectors, texts = corpus.vectors(), corpus.texts()
    for start in range(0, corpus.rows, BATCH):
        db.execute("BEGIN")
        for row in range(start, min(start + BATCH, corpus.rows)):
            text = next(texts)
            db.execute("INSERT INTO d VALUES (?, ?, ?)", (row, time_of(row), text))
            db.execute("INSERT INTO f(rowid, text) VALUES (?, ?)", (row, text))
            db.execute("INSERT INTO v(rowid, embedding) VALUES (?, ?)", (row, vectors[row].tobytes()))
        db.execute("COMMIT")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def _open_sqlite(folder: Path, corpus: Corpus) -> Search:
    db = _connect(folder)

    def search(text: str, vector: Any, first: int, last: int, k: int) -> tuple[list[int], list[int]]:
        depth = DEPTH * k
        within = (
            ""
            if last - first >= corpus.rows
            else f" AND rowid IN (SELECT id FROM d WHERE id >= {first} AND id < {last})"
        )
        dense = [
            r[0]
            for r in db.execute(
                f"SELECT rowid FROM v WHERE embedding MATCH ? AND k = ?{within} ORDER BY distance",
                (vector.tobytes(), depth),
            )
        ]
        words = " OR ".join(f'"{w}"' for w in content_words(text))
        sparse = [
            r[0]
            for r in db.execute(
                "SELECT rowid FROM f WHERE f MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rank LIMIT ?",
                (words, first, last - 1, depth),
            )
        ]
        return [h.id for h in fuse("row", sparse, dense, k)], dense[:k]

    return search


# LanceDB, with the indexes it offers by default


def _build_lance(folder: Path, corpus: Corpus) -> None:
    import lancedb
    import pyarrow as pa

    texts, vectors = corpus.texts(), corpus.vectors()
    kind = pa.schema([("id", pa.int64()), ("text", pa.string()), ("vector", pa.list_(pa.float32(), SPACE.dim))])

    def batches() -> Iterator[Any]:
        for start in range(0, corpus.rows, BATCH):
            ids = list(range(start, min(start + BATCH, corpus.rows)))
            flat = pa.array(np.ascontiguousarray(vectors[start : start + len(ids)]).ravel())
            held = pa.FixedSizeListArray.from_arrays(flat, SPACE.dim)
            yield pa.record_batch([pa.array(ids), pa.array([next(texts) for _ in ids]), held], schema=kind)

    table = lancedb.connect(folder / "lance").create_table("rows", data=batches(), schema=kind)
    table.create_index(metric="l2", vector_column_name="vector")
    table.create_fts_index("text", with_position=False)
    table.create_scalar_index("id")


def _open_lance(folder: Path, corpus: Corpus) -> Search:
    import lancedb

    table = lancedb.connect(folder / "lance").open_table("rows")

    def search(text: str, vector: Any, first: int, last: int, k: int) -> tuple[list[int], list[int]]:
        depth = DEPTH * k
        query = table.search(vector, query_type="vector")
        words = table.search(" ".join(content_words(text)), query_type="fts")
        if last - first < corpus.rows:
            within = f"id >= {first} AND id < {last}"
            query, words = query.where(within, prefilter=True), words.where(within, prefilter=True)
        dense = [r["id"] for r in query.select(["id"]).limit(depth).to_list()]
        sparse = [r["id"] for r in words.select(["id"]).limit(depth).to_list()]
        return [h.id for h in fuse("row", sparse, dense, k)], dense[:k]

    return search


# Chroma, which ranks by vectors alone: its words only filter


def _chroma(folder: Path) -> Any:
    import chromadb
    from chromadb.config import Settings

    return chromadb.PersistentClient(str(folder / "chroma"), settings=Settings(anonymized_telemetry=False))


def _build_chroma(folder: Path, corpus: Corpus) -> None:
    rows = _chroma(folder).create_collection("rows")
    texts, vectors = corpus.texts(), corpus.vectors()
    for start in range(0, corpus.rows, 4000):
        ids = list(range(start, min(start + 4000, corpus.rows)))
        rows.add(
            ids=[str(i) for i in ids],
            embeddings=np.ascontiguousarray(vectors[start : start + len(ids)]),
            documents=[next(texts) for _ in ids],
            metadatas=[{"n": i} for i in ids],
        )


def _open_chroma(folder: Path, corpus: Corpus) -> Search:
    rows = _chroma(folder).get_collection("rows")

    def search(_text: str, vector: Any, first: int, last: int, k: int) -> tuple[list[int], list[int]]:
        within = None if last - first >= corpus.rows else {"$and": [{"n": {"$gte": first}}, {"n": {"$lt": last}}]}
        found = rows.query(query_embeddings=[vector.tolist()], n_results=DEPTH * k, where=within, include=[])
        dense = [int(i) for i in found["ids"][0]]
        return dense[:k], dense[:k]

    return search


ENGINES: dict[str, tuple[Callable[[Path, Corpus], None], Callable[[Path, Corpus], Search], Sequence[str]]] = {
    "grove-edge": (build_ours, _open_ours, ()),
    "numpy+bm25s": (_build_numpy, _open_numpy, ("bm25s",)),
    "sqlite-vec+fts5": (_build_sqlite, _open_sqlite, ()),
    "lancedb": (_build_lance, _open_lance, ("lancedb",)),
    "chroma": (_build_chroma, _open_chroma, ("chromadb",)),
}


def disk_mb(folder: Path) -> float:
    """What an engine's files take."""
    files = [Path(at) / name for at, _, names in os.walk(folder) for name in names]
    return sum(f.stat().st_size for f in files) / 1e6


def fresh(folder: Path) -> Path:
    """An empty folder for an engine."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def plain(name: str) -> str:
    """A name for a folder."""
    return re.sub(r"\W+", "-", name)
