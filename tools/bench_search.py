"""How fast, how exact and how large hybrid search is: ours through the product's own store, and four peers beside it.

    python tools/bench_search.py --rows N [--peers [NAME ...]] [--json] [--queries 120] [--ingest] [--dir FOLDER] [--db YEAR.db]

Builds a store of N moments (real captions retold, real embeddings; see tools/corpus.py), asks each query over everything,
a day and an hour, and prints one row for each engine and range:
    {"engine", "rows", "range", "p50_ms", "p95_ms", "recall20", "fused_recall20", "build_s", "disk_mb", "rss_mb"}
Times are of the fused search, the snapshot's opening included.  recall20 judges the dense part, fused_recall20 the fused
list, both against brute force (tools/bench_exact.py).  Every engine is built in one process and asked in another, whose
peak memory is told.  --db asks an existing memory (tools/make_year.py) instead.  --ingest adds what a window costs to
commit at 10,000 rows and at N, a snapshot to open, and a search while another thread writes.
Peers: `pip install -e '.[bench]'`; one that is not installed is said on stderr and left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools import corpus as source
from tools.bench_engines import BATCH, DAY_ROWS, ENGINES, SPACE, Corpus, disk_mb, fresh, peers, plain, time_of
from tools.bench_exact import Exact, Question

K = 20
RANGES = ("all", "day", "hour")
KINDS = ("names", "paraphrase", "common", "caption", "question")
WARM = 10


def make_corpus(folder: Path, rows: int, captions: Counter[str], embed: source.Bulk, seed: int) -> Corpus:
    """Write texts, vectors and times of so many moments; what is there already from an earlier run is used again."""
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / f"done-{seed}"
    if not done.exists():
        retold = source.Retold(captions, seed)
        with (
            (folder / "texts.jsonl").open("w", encoding="utf-8") as texts,
            (folder / "vectors.f32").open("wb") as vectors,
        ):
            for start in range(0, rows, BATCH):
                parts = [retold.parts() for _ in range(min(BATCH, rows - start))]
                texts.writelines(json.dumps(" ".join(p)) + "\n" for p in parts)
                vectors.write(embed.joined(parts).tobytes())
        np.asarray([time_of(n) for n in range(rows)], dtype=np.int64).tofile(folder / "times.i64")
        done.touch()
    return Corpus(folder, rows)


def corpus_of(folder: Path, db: Path) -> Corpus:
    """The same of the moments of an existing memory, for the exact rankings.  Ids must have no holes."""
    from storage.connect import connect

    folder.mkdir(parents=True, exist_ok=True)
    memory = connect(db, read_only=True)
    memory.execute("BEGIN")
    times = []
    with (folder / "texts.jsonl").open("w", encoding="utf-8") as texts:
        for n, (row, t, text) in enumerate(
            memory.execute("SELECT id, t, text || ' ' || keywords FROM moment ORDER BY id"), 1
        ):
            if row != n:
                sys.exit(f"{db}: moments were erased, ids have holes; make another memory.")
            texts.write(json.dumps(text.strip()) + "\n")
            times.append(t)
    np.asarray(times, dtype=np.int64).tofile(folder / "times.i64")
    vectors = np.memmap(folder / "vectors.f32", np.float32, "w+", shape=(len(times), SPACE.dim))
    for row, data in memory.execute("SELECT rowid, embedding FROM moment_vec"):
        vectors[row - 1] = np.frombuffer(data, dtype="<f4")
    vectors.flush()
    memory.close()
    return Corpus(folder, len(times))


def ask(corpus: Corpus, captions: Counter[str], embed: source.Bulk, count: int, seed: int) -> dict[str, list[Question]]:
    """`count` questions of mixed kinds for each range; days and hours are drawn anew for each."""
    rng = random.Random(seed)
    retold = source.Retold(captions, seed + 1)
    often = Counter(
        w for text, n in captions.items() for w in re.findall(r"[a-z]{3,}", text.lower()) for _ in range(min(n, 9))
    )
    rare = [w for w, _ in often.most_common()][len(often) // 3 :]
    common = [w for w, _ in often.most_common(60) if w not in {"the", "and", "with", "that"}]
    made: dict[str, list[Question]] = {r: [] for r in RANGES}
    for n in range(count):
        kind = KINDS[n % len(KINDS)]
        drawn = retold.drawn()
        text = {
            "names": " ".join(rng.sample(rare, rng.randint(1, 2))),
            "paraphrase": retold.reworded(drawn, 1.0),
            "common": " ".join(rng.sample(common, rng.randint(2, 4))),
            "caption": drawn,
            "question": f"where did I {drawn}?",
        }[kind]
        vector = embed.embed([text])[0]
        for name in RANGES:
            size = {"all": corpus.rows, "day": DAY_ROWS, "hour": DAY_ROWS // 16}[name]
            first = 0 if size >= corpus.rows else rng.randrange(corpus.rows - size)
            if name == "day":
                first = first // DAY_ROWS * DAY_ROWS
            made[name].append(Question(kind, text, vector, first, min(first + size, corpus.rows)))
    return made


def child(engine: str, what: str, folder: Path, corpus: Corpus, asked: Path, *, cpu: bool) -> None:
    """In a process of its own: build an engine's files, or ask it; prints one line of JSON."""
    build, opened, _ = ENGINES[engine]
    start = perf_counter()
    if what == "build":
        build(folder, corpus)
        print(json.dumps({"build_s": perf_counter() - start}))
        return
    held = np.load(asked)
    texts = json.loads(str(held["texts"]))
    vectors, first, last = (held[name] for name in ("vectors", "first", "last"))
    search = opened(folder, corpus)
    clock = process_time if cpu else perf_counter
    taken: list[float] = []
    fused: list[list[int]] = []
    dense: list[list[int]] = []

    def one(n: int) -> tuple[list[int], list[int]]:
        return search(texts[n], vectors[n], int(first[n]), int(last[n]), K)

    order = list(range(len(texts)))
    for n in [*order[:WARM], *order[-WARM:]]:
        one(n)
    for n in order:
        begin = clock()
        got = one(n)
        taken.append((clock() - begin) * 1e3)
        fused.append(got[0])
        dense.append(got[1])
    peak = _peak_mb()
    if engine == "grove-edge":  # its search gives the fused list; the dense part is asked for by itself, untimed
        dense = [search("", vectors[n], int(first[n]), int(last[n]), K)[0] for n in order]
    print(json.dumps({"ms": taken, "fused": fused, "dense": dense, "rss_mb": peak}))


def _peak_mb() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return float(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1024


def measure(engine: str, work: Path, corpus: Corpus, exact: Exact, db: Path | None, clock: str) -> list[dict[str, Any]]:
    """Build and ask one engine; its rows."""
    folder = work / plain(engine)
    built = {"build_s": 0.0}
    if db is not None and engine == "grove-edge":
        folder = db
    else:
        built = _run(engine, "build", fresh(folder), corpus, work, clock)
    got = _run(engine, "query", folder, corpus, work, clock)
    rows = []
    each = len(got["ms"]) // len(RANGES)
    for i, name in enumerate(RANGES):
        span = range(i * each, (i + 1) * each)
        recalls = [exact.recall(n, got["dense"][n], got["fused"][n]) for n in span]
        times = [got["ms"][n] for n in span]
        rows.append(
            {
                "engine": engine,
                "rows": corpus.rows,
                "range": name,
                "p50_ms": round(float(np.percentile(times, 50)), 2),
                "p95_ms": round(float(np.percentile(times, 95)), 2),
                "recall20": round(float(np.mean([r for r, _ in recalls])), 4),
                "fused_recall20": round(float(np.mean([r for _, r in recalls])), 4),
                "build_s": round(built["build_s"], 1),
                "disk_mb": round(disk_mb(folder) if folder.is_dir() else folder.stat().st_size / 1e6, 1),
                "rss_mb": round(got["rss_mb"], 1),
            }
        )
    return rows


def _run(engine: str, what: str, folder: Path, corpus: Corpus, work: Path, clock: str) -> dict[str, Any]:
    given = [engine, what, str(folder), str(corpus.folder), str(corpus.rows), str(work), clock]
    command = [sys.executable, __file__, "--child", *given]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{engine} failed to {what}:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--peers", nargs="*", choices=peers(), help="all of them, or those named")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--queries", type=int, default=120)
    parser.add_argument("--ingest", action="store_true")
    parser.add_argument(
        "--cpu", action="store_true", help="tell processor time instead of the clock's: for a busy machine"
    )
    parser.add_argument("--dir", type=Path, help="where to build, and to keep what was built")
    parser.add_argument("--db", type=Path)
    parser.add_argument("--traces", type=Path, default=source.TRACES)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--child", nargs=7, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        engine, what, folder, texts, rows, work, clock = given.child
        child(engine, what, Path(folder), Corpus(Path(texts), int(rows)), Path(work) / "asked.npz", cpu=clock == "cpu")
        return
    with tempfile.TemporaryDirectory() as scratch:
        work = given.dir or Path(scratch)
        captions, embed = source.captions(given.traces), source.bulk()
        if given.db:
            corpus = corpus_of(work / "corpus", given.db)
        else:
            corpus = make_corpus(work / f"corpus-{given.rows}", given.rows, captions, embed, given.seed)
        made = ask(corpus, captions, embed, given.queries, given.seed)
        questions = [q for name in RANGES for q in made[name]]
        np.savez(
            work / "asked.npz",
            texts=json.dumps([q.text for q in questions]),
            vectors=np.asarray([q.vector for q in questions]),
            first=np.asarray([q.first for q in questions]),
            last=np.asarray([q.last for q in questions]),
        )
        exact = Exact(corpus, questions, K)
        for engine in ("grove-edge", *(peers() if given.peers == [] else given.peers or [])):
            lacking = [m for m in ENGINES[engine][2] if importlib.util.find_spec(m) is None]
            if lacking:
                print(f"{engine} is left out: pip install -e '.[bench]' has {' '.join(lacking)}", file=sys.stderr)
                continue
            _show(measure(engine, work, corpus, exact, given.db, "cpu" if given.cpu else "wall"), as_json=given.json)
        if given.ingest:
            from tools.bench_ingest import ingest

            _show(ingest(work, corpus, given.db or work / "grove-edge" / "memory.db"), as_json=given.json)


def _show(rows: list[dict[str, Any]], *, as_json: bool) -> None:
    for row in rows:
        print(json.dumps(row) if as_json else "  ".join(f"{k} {v}" for k, v in row.items()), flush=True)


if __name__ == "__main__":
    main()
