"""What it costs to grow a memory as it gets longer: CPU time a window and resident memory, day by day.

    python tools/bench_growth.py [TRACE_OR_FOLDER ...] [--days 30] [--keep MEMORY.db] [--json]

The recorded days of the traces (by default those of homes over weeks and of people cooking, beside this checkout) are
laid one after the other, a day of each trace in turn, into one memory on disk, by rules, every window its own commit.
Days differ in what happens in them, so two of them tell nothing about growth.  Therefore the first day's material comes
back every fifth day and as the last day, among days that are all different.  And because other work on the machine moves
CPU time too, the last day is grown twice at once, window by window: at the end of the long memory and in a fresh one.

One row a day, `like` is the day whose material it repeats (0: none):
    {"day", "trace", "like", "windows", "episodes", "patterns", "ms_per_window", "rss_mb", "own_mb",
     "db_mb"}
and one in the end:
    {"days", "windows", "ms_first", "ms_last", "ms_fresh", "ratio", "rss_early_mb", "rss_last_mb", "rss_ratio",
     "own_early_mb", "own_last_mb", "own_ratio"}
`ratio` is the last day's cost in the long memory over its cost in the fresh one (`ms_fresh`).  RSS is what the process
holds in memory; `own` leaves out the pages of files mapped into it, which are those of the embedding's table that were
ever looked up (16 MB when all were) and which the system takes back when it needs them.  Both are compared after the
fifth day, when caches have filled, and after the last but one: the last has two memories open.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from time import process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from edge.clock import US, local_day
from edge.config import Config
from edge.engines import Engines
from edge.memory.growth import Growth
from edge.memory.patterns import Embed
from edge.messages import EpisodeClosed
from edge.recorder import read_trace
from storage import EmbeddingSpace, Store
from storage.records import Window
from tools.corpus import TRACES

DAY_US = 86_400 * US
LEAST = 30  # windows of a day; fewer tell no cost
WARM = 5  # days until caches have filled
AGAIN = 5  # the first day's material comes back after so many days
DEFAULT = ("adl", "cc4d")


@dataclass(frozen=True, slots=True)
class Day:
    """The windows of one local day of a trace."""

    trace: str
    windows: tuple[Window, ...]


def days_of(traces: Sequence[Path], interval_s: float) -> list[Day]:
    """The recorded days of LEAST windows, one of each trace in turn.  Raises FileNotFoundError when there is none."""
    by_trace: list[list[Day]] = []
    for trace in traces:
        name = trace.name.removesuffix(".trace.jsonl")
        days = groupby(read_trace(trace, interval_s), lambda w: local_day(w.t_start, w.offset_s))
        held = [Day(name, tuple(windows)) for _, windows in days]
        by_trace.append([day for day in held if len(day.windows) >= LEAST])
    longest = max((len(days) for days in by_trace), default=0)
    found = [days[n] for n in range(longest) for days in by_trace if n < len(days)]
    if not found:
        raise FileNotFoundError("There are no *.trace.jsonl there: give traces or a folder of them.")
    return found


def plan(days: Sequence[Day], count: int) -> Iterator[tuple[int, Day]]:
    """`count` days, each with the day that it repeats (0: none); when all were laid they begin anew."""
    other = 1
    for number in range(1, count + 1):
        if number > 1 and ((number - 1) % AGAIN == 0 or number == count):
            yield 1, days[0]
        elif number == 1:
            yield 0, days[0]
        else:
            yield (0 if other < len(days) else 1 + other % len(days)), days[other % len(days)]
            other += 1


def moved(window: Window, day: int) -> Window:
    """A window of one long recording in UTC: on that day since 1970, at the local hour it had."""
    by = (day - local_day(window.t_start, window.offset_s)) * DAY_US + window.offset_s * US
    return replace(
        window, recording="long", t_start=window.t_start + by, t_end=window.t_end + by, offset_s=0,
        captions=tuple(replace(x, t=x.t + by) for x in window.captions),
        events=tuple(replace(x, t=x.t + by) for x in window.events),
        texts=tuple(replace(x, t=x.t + by) for x in window.texts),
        speech=tuple(replace(x, t=x.t + by) for x in window.speech),
    )  # fmt: skip


class Memory:
    """One memory that grows, and the CPU seconds it has cost."""

    def __init__(self, path: Path, embed: Embed, space: EmbeddingSpace, config: Config) -> None:
        self.path, self.store = path, Store.open(path, space=space)
        self._growth = Growth(self.store, embed, config.memory)
        self.spent, self.episodes = 0.0, 0

    def step(self, window: Window) -> None:
        """Take in one window as a replay does."""
        begun = process_time()
        changes = [*self._growth.idle(window.t_start), *self._growth.step(window)]
        self.spent += process_time() - begun
        self.episodes += sum(isinstance(c, EpisodeClosed) for c in changes)


def bench(days: Sequence[Day], count: int, path: Path, embed: Embed, space: EmbeddingSpace) -> Iterator[dict[str, Any]]:
    """Grow `count` days into a new memory at `path`; yields the rows described above."""
    config = Config()
    memory = Memory(path, embed, space, config)
    fresh = Memory(path.with_suffix(".fresh.db"), embed, space, config)
    start = local_day(days[0].windows[0].t_start, days[0].windows[0].offset_s)
    cost: list[float] = []
    held: list[tuple[float, float]] = []
    windows = 0
    with memory.store, fresh.store:
        for number, (like, day) in enumerate(plan(days, count), 1):
            spent, episodes = memory.spent, memory.episodes
            for window in day.windows:
                memory.step(moved(window, start + number))
                if number == count:
                    fresh.step(moved(window, start + number))
            windows += len(day.windows)
            cost.append((memory.spent - spent) / len(day.windows) * 1e3)
            held.append(_resident_mb())
            with memory.store.snapshot() as snapshot:
                patterns = snapshot.patterns.count()
            yield {
                "day": number, "trace": day.trace, "like": like, "windows": len(day.windows),
                "episodes": memory.episodes - episodes, "patterns": patterns, "ms_per_window": round(cost[-1], 2),
                "rss_mb": round(held[-1][0], 1), "own_mb": round(held[-1][1], 1), "db_mb": round(path.stat().st_size / 2**20, 1),
            }  # fmt: skip
    alone = fresh.spent / len(day.windows) * 1e3
    early, late = held[min(WARM, count - 1) - 1], held[-2]
    yield {
        "days": count, "windows": windows, "ms_first": round(cost[0], 2), "ms_last": round(cost[-1], 2),
        "ms_fresh": round(alone, 2), "ratio": round(cost[-1] / alone, 2), "rss_early_mb": round(early[0], 1),
        "rss_last_mb": round(late[0], 1), "rss_ratio": round(late[0] / early[0], 2), "own_early_mb": round(early[1], 1),
        "own_last_mb": round(late[1], 1), "own_ratio": round(late[1] / early[1], 2),
    }  # fmt: skip


def _resident_mb() -> tuple[float, float]:
    """Resident memory of this process now, and what of it is its own: no file's."""
    _, resident, shared, *_ = (int(n) for n in Path("/proc/self/statm").read_text(encoding="ascii").split())
    size = os.sysconf("SC_PAGE_SIZE") / 2**20
    return resident * size, (resident - shared) * size


def show(row: dict[str, Any]) -> str:
    """A row as a line."""
    if "ratio" in row:
        return (
            f"a window at the end costs {row['ratio']} times what it costs in a fresh memory ({row['ms_last']} and "
            f"{row['ms_fresh']} ms; {row['ms_first']} ms on the first day); RSS {row['rss_early_mb']} MB early, "
            f"{row['rss_last_mb']} MB late ({row['rss_ratio']} times), of its own {row['own_early_mb']} and "
            f"{row['own_last_mb']} MB ({row['own_ratio']} times)"
        )
    like = f"day {row['like']}" if row["like"] else ""
    return (
        f"{row['day']:4} {row['trace']:18} {like:>7} {row['windows']:8} {row['episodes']:9} {row['patterns']:9} "
        f"{row['ms_per_window']:10} {row['rss_mb']:8} {row['own_mb']:8} {row['db_mb']:7}"
    )


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", type=Path, nargs="*", help="traces or folders of them")
    parser.add_argument("--days", type=int, default=30, help="how many days to grow, 2 or more")
    parser.add_argument("--keep", type=Path, help="where the memory is made and left; nothing may be there")
    parser.add_argument("--json", action="store_true", help="rows as JSON lines")
    options = parser.parse_args()
    if options.days < 2:
        parser.error("--days must be 2 or more: the last day is compared with the first")
    if options.keep is not None and options.keep.exists():
        parser.error(f"{options.keep} is there already: give --keep the path of a new file")
    given = options.traces or [TRACES / name for name in DEFAULT]
    traces = [t for p in given for t in (sorted(p.rglob("*.trace.jsonl")) if p.is_dir() else [p])]
    config = Config()
    model = Engines(config).text_embedding()
    try:
        days = days_of(traces, config.memory.growth(config.memory.profile).frame_interval_s)
    except FileNotFoundError as error:
        parser.error(str(error))
    if not options.json:
        print(
            f"{'day':>4} {'trace':18} {'like':>7} {'windows':>8} {'episodes':>9} {'patterns':>9} {'ms/window':>10} "
            f"{'RSS MB':>8} {'own MB':>8} {'DB MB':>7}"
        )
    with tempfile.TemporaryDirectory() as folder:
        path = options.keep or Path(folder) / "memory.db"
        for row in bench(days, options.days, path, model.embed, EmbeddingSpace(model.id, model.dim)):
            print(json.dumps(row) if options.json else show(row), flush=True)
        path.with_suffix(".fresh.db").unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
