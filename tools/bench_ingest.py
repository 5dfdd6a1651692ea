"""What it costs to take in one window with all its rows, at few rows and at many; part of tools/bench_search.py --ingest.

A commit is safe against a power cut: in WAL mode `synchronous=FULL` syncs the log to the disk before COMMIT returns, so
whatever was acknowledged is read back after power fails (NORMAL would sync only at checkpoints: the file stays whole,
the last commits may be lost).  On a store of N moments, windows come in as they do while worn: captions, events, seen
text, speech, entities, a keyframe and a gap now and then, and every ten windows an episode with its moments.
"""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from storage import Store
from storage.records import Caption, Entity, Episode, Event, Keyframe, Moment, SeenText, Utterance, Window
from tools.bench_engines import SPACE, US, Corpus, fresh
from tools.bench_engines import build_ours as build

FEW = 10_000
WINDOWS = 300
SEARCHES = 60


def ingest(work: Path, corpus: Corpus, many: Path) -> list[dict[str, Any]]:
    """Rows for FEW and for all moments of the corpus: {"engine", "what", "rows", "p50_ms", "p95_ms"}, and their ratio."""
    few = fresh(work / "ingest-few")
    build(few, Corpus(corpus.folder, min(FEW, corpus.rows)))
    rows = _measure(few / "memory.db", corpus, min(FEW, corpus.rows))
    copy = work / "ingest-many.db"  # what is measured grows: the store that searches are compared on does not
    shutil.copyfile(many, copy)
    rows += _measure(copy, corpus, corpus.rows)
    copy.unlink()
    first, last = ([r["p50_ms"] for r in rows if r["what"] == "commit of a window"][i] for i in (0, -1))
    return [
        *rows,
        {"engine": "grove-edge", "what": "ratio of commits", "rows": corpus.rows, "ratio": round(last / first, 2)},
    ]


def _measure(db: Path, corpus: Corpus, size: int) -> list[dict[str, Any]]:
    texts = [t for t, _ in zip(corpus.texts(), range(WINDOWS * 10), strict=False)]
    vectors = np.asarray(corpus.vectors()[: WINDOWS * 10])
    with Store.open(db, space=SPACE, synchronous="full") as store:
        with store.snapshot() as snapshot:
            last = snapshot.trace.last()
        t = last.t_end if last is not None else 0
        commits, searches, opened = [], [], []
        first: list[int] = []
        for n in range(WINDOWS):
            begin = perf_counter()
            with store.transaction() as tx:
                first.append(tx.trace.add(window(n, t + n * 30 * US, texts[n * 10 : n * 10 + 10]), vectors[n]))
                if n % 10 == 9:
                    _episode(tx, first[-10], first[-1], t, n, texts, vectors)
            commits.append(perf_counter() - begin)
        for _ in range(SEARCHES):
            begin = perf_counter()
            with store.snapshot() as snapshot:
                opened.append(perf_counter() - begin)
        searches = _while_writing(store, texts, vectors, t + WINDOWS * 30 * US)
    named = {
        "commit of a window": commits,
        "opening a snapshot": opened,
        "search while another thread commits": searches,
    }
    return [
        {
            "engine": "grove-edge",
            "what": what,
            "rows": size,
            "p50_ms": round(float(np.percentile(taken, 50)) * 1e3, 2),
            "p95_ms": round(float(np.percentile(taken, 95)) * 1e3, 2),
        }
        for what, taken in named.items()
    ]


def window(n: int, t: int, texts: list[str]) -> Window:
    """A window of thirty seconds as light perception sees it: about twenty rows."""
    at = [t + i * 3 * US for i in range(10)]
    return Window(
        "ingest", t, t + 30 * US, 0,
        tuple(Caption(at[i], texts[i]) for i in range(6)), texts[6],
        tuple(Entity(w, 1, ("seen",), "table") for w in dict.fromkeys(texts[7].split()[:3])),
        tuple(Event(at[i], "wearer", texts[i].partition(" ")[0], texts[i].partition(" ")[2]) for i in range(5)),
        (SeenText(at[3], texts[8]),), (Utterance(at[4], "wearer", texts[9]),),
        keyframes=(Keyframe(t, f"{n:08d}.jpg", f"{n:064x}", 768, 432, 40_000),),
    )  # fmt: skip


def _episode(tx: Any, first: int, last: int, t: int, n: int, texts: list[str], vectors: Any) -> None:
    begin, end = t + (n - 9) * 30 * US, t + (n + 1) * 30 * US
    told = " ".join(texts[n : n + 3])
    row = Episode(
        "ingest", begin, end, 0, texts[n], told, tuple(texts[n].split()), told * 3, "home", first, last, "cap", end
    )
    episode = tx.episodes.add(row, vectors[n])
    for i in range(30):
        moment = Moment(episode, first + i // 3, begin + i * 10 * US, 0, texts[n + i], (), "core", 0.5, "", "home", end)
        tx.moments.add(moment, vectors[n + i])


def _while_writing(store: Store, texts: list[str], vectors: Any, t: int) -> list[float]:
    """Seconds of searches by one thread while another commits a window after the other."""
    over = threading.Event()

    def write() -> None:
        n = 0
        while not over.is_set():
            with store.transaction() as tx:
                tx.trace.add(window(n, t + n * 30 * US, texts[n % 100 * 10 :][:10]), vectors[n % 100])
            n += 1

    taken = []
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        for n in range(SEARCHES):
            begin = perf_counter()
            with store.snapshot() as snapshot:
                snapshot.search("moment", texts[n], vectors[n])
            taken.append(perf_counter() - begin)
        over.set()
        writing.result()
    return taken
