"""Replays every trace below a folder, each in a process of its own, and prints what came of it as JSON lines.

    python tools/replay_all.py FOLDER [--twice] [--least 500]

One row a recording: windows, episodes, moments, patterns, services, seconds, how many times real time, peak memory in
MB, whether the rules of growth hold.  --twice replays each again and compares the canonical dumps.  The exit status is
1 when a rule was broken, a dump differed, or a replay was slower than --least times real time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import sys
import tempfile
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from edge.clock import US, local_day
from edge.config import Config
from edge.engines import Engines
from edge.recorder import check_trace
from edge.replay import replay
from storage import EmbeddingSpace, Snapshot, Store


def broken_rules(snapshot: Snapshot, config: Config) -> list[str]:
    """The rules of growth that do not hold, in words."""
    growth = config.memory.growth(config.memory.profile)
    wrong: list[str] = []
    episodes = snapshot.episodes.between()
    for episode in episodes:
        windows = snapshot.trace.span(episode.first_window, episode.last_window)
        if episode.t_end - episode.t_start > growth.cap_s * US:
            wrong.append(f"e{episode.id} is longer than the cap")
        if any(b.t_start - a.t_end > growth.gap_s * US for a, b in pairwise(windows)):
            wrong.append(f"e{episode.id} spans a gap")
        if len({local_day(w.t_start, w.offset_s) for w in windows}) > 1:
            wrong.append(f"e{episode.id} spans a day change")
        times = [m.t for m in snapshot.moments.of_episode(episode.id)]
        if times != sorted(times) or any(not episode.t_start <= t <= episode.t_end for t in times):
            wrong.append(f"moments of e{episode.id} are out of order or outside")
        if len(times) > config.memory.moment_ceiling:
            wrong.append(f"e{episode.id} has {len(times)} moments")
    known = {e.id for e in episodes}
    patterns = snapshot.patterns
    wrong += [
        f"p{p.id} groups an episode that is not there"
        for p in patterns.all()
        if not {e.episode_id for e in patterns.edges(p.id)} <= known
    ]
    return wrong


def one(path: str, twice: bool) -> dict[str, Any]:
    """Replay one trace into a database file and report."""
    trace = Path(path)
    engines = Engines(Config())
    model = engines.text_embedding()
    checked = check_trace(trace)
    config = Config(memory={"profile": checked.profile})  # type: ignore[arg-type]
    digests = []
    report: dict[str, Any] = {}
    for _ in range(1 + twice):
        with tempfile.TemporaryDirectory() as folder:
            space = EmbeddingSpace(model.id, model.dim)
            with Store.open(Path(folder) / "m.db", space=space) as store:
                done = replay(trace, store, model.embed, config, checked=checked)
                with store.snapshot() as snapshot:
                    wrong = broken_rules(snapshot, config)
                wrong += store.integrity()
                digest = hashlib.sha256()
                for line in store.dump():
                    digest.update(line.encode())
                digests.append(digest.hexdigest())
            report = {
                "recording": done.recording,
                "windows": done.totals.windows,
                "episodes": done.totals.episodes,
                "moments": done.totals.moments,
                "patterns": done.totals.patterns,
                "services": done.totals.services,
                "delivered": done.totals.delivered,
                "hours": round(done.totals.recorded_s / 3600, 2),
                "seconds": done.seconds,
                "times_real_time": round(done.totals.recorded_s / max(done.seconds, 1e-3)),
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
                "wrong": wrong,
            }
    report["same"] = len(set(digests)) == 1
    return report


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--twice", action="store_true", help="replay each again and compare")
    parser.add_argument("--least", type=float, default=500.0, help="times real time that each must reach")
    options = parser.parse_args()
    traces = sorted(options.folder.rglob("*.trace.jsonl"))
    bad = 0
    # A new process for each recording, so that its peak memory is its own.
    with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for row in pool.imap(partial(one, twice=options.twice), map(str, traces)):
            print(json.dumps(row), flush=True)
            bad += bool(row["wrong"]) or not row["same"] or row["times_real_time"] < options.least
    print(json.dumps({"recordings": len(traces), "bad": bad}))
    return 1 if bad or not traces else 0


if __name__ == "__main__":
    sys.exit(main())
