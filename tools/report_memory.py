"""Grows traces by rules, each in a process of its own, and reports the memory's shape; with --pairs, whether patterns are true.

    python tools/report_memory.py TRACE_OR_FOLDER ... [--pairs] [--keep FOLDER] [--json]

One row a recording: windows, episodes, moments and moments an episode, patterns and episodes a pattern, the share of
the episodes that the largest pattern holds, how many patterns are routines, how many patterns the first and the second
half of the episodes opened (growth flattens when the second is fewer), CPU seconds of growth an hour of recording, peak
MB.  With --keep the memories stay in that folder, each under its recording's name.

--pairs judges the grouping on traces that name their activities, by events of an action "start ..." and, where they
end before the recording does, "finish ...":
- An episode's true activity is the one in force for most of its time; episodes without one, and those in which nothing
  was perceived, are left out.
- Of all pairs of such episodes from different local days, those of one activity are true, those in one pattern are
  found: precision, recall and F1.
- For each activity seen on five days or more: the most usual hour of the pattern that holds most of its episodes,
  against when the activity really begins (edge/memory/hours.py over its own episodes; of several hours the nearest).
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from edge.clock import US, local_day
from edge.config import Config
from edge.engines import Engines
from edge.memory import episodes as texts
from edge.memory.growth import Growth
from edge.memory.hours import DAY, apart, hours
from edge.memory.patterns import MEMBERS
from edge.recorder import check_trace, read_trace
from storage import EmbeddingSpace, Snapshot, Store
from storage.records import Episode, Window

DAYS = 5  # a typical time is asked of what was seen on that many days


def grow(trace: Path, store: Store, embed: Any, config: Config) -> float:
    """Grow a whole trace; returns the CPU seconds that growth took."""
    growth = Growth(store, embed, config.memory)
    interval = config.memory.growth(config.memory.profile).frame_interval_s
    spent = 0.0
    for window in read_trace(trace, interval):
        begun = time.process_time()
        growth.idle(window.t_start)
        growth.step(window)
        spent += time.process_time() - begun
    growth.end()
    return spent


def shape(snapshot: Snapshot) -> dict[str, Any]:
    """Counts of the strata and how patterns group."""
    found = snapshot.patterns.all()
    grouped = sum(p.recurrence for p in found)
    episodes = snapshot.episodes.between()
    days = {local_day(e.t_start, e.offset_s) for e in episodes}
    middle = episodes[len(episodes) // 2].t_start if episodes else 0
    opened = [snapshot.patterns.versions(p.id)[0].known for p in found]
    return {
        "days": len(days),
        "episodes": len(episodes),
        "moments": snapshot.moments.count(),
        "per_episode": round(snapshot.moments.count() / max(1, len(episodes)), 1),
        "patterns": len(found),
        "per_pattern": round(grouped / max(1, len(found)), 2),
        "largest": round(max((p.recurrence for p in found), default=0) / max(1, grouped), 3),
        "routines": sum(p.kind == "routine" for p in found),
        "opened": [sum(t < middle for t in opened), sum(t >= middle for t in opened)],
    }


def activities(windows: Sequence[Window]) -> list[tuple[int, int, str]]:
    """When which activity was in force, by the events that start and finish them."""
    spans: list[tuple[int, int, str]] = []
    running: dict[tuple[str, str], int] = {}
    last = windows[0]
    for window in windows:
        if window.recording != last.recording or window.t_start - last.t_end > 20 * 60 * US:
            spans += [(t, last.t_end, name) for (_, name), t in running.items()]
            running.clear()
        for event in window.events:
            verb, _, kind = event.action.partition(" ")
            if verb == "start" and kind:
                if kind == "recipe":  # one is made at a time, and its end is not told
                    spans += [(t, event.t, name) for (k, name), t in running.items() if k == kind]
                    running = {key: t for key, t in running.items() if key[0] != kind}
                running.setdefault((kind, event.object), event.t)
            elif verb == "finish" and (kind, event.object) in running:
                spans.append((running.pop((kind, event.object)), event.t, event.object))
        last = window
    return spans + [(t, last.t_end, name) for (_, name), t in running.items()]


def true_activity(episode: Episode, spans: Sequence[tuple[int, int, str]]) -> str:
    """The activity in force for most of an episode; "" for none."""
    held: Counter[str] = Counter()
    for start, end, name in spans:
        both = min(end, episode.t_end) - max(start, episode.t_start)
        if both >= 0:
            held[name] += both + US
    return min(held, key=lambda name: (-held[name], name)) if held else ""


def pairs(snapshot: Snapshot) -> dict[str, Any]:
    """Whether pairs of episodes of different days are together in a pattern just when they are of one activity."""
    windows = snapshot.trace.windows()
    spans = activities(windows) if windows else []
    group = {e.episode_id: p for p in snapshot.patterns.all() for e in snapshot.patterns.edges(p.id)}
    judged = []
    for episode in snapshot.episodes.between():
        name = true_activity(episode, spans)
        if name and not texts.is_empty(snapshot.trace.span(episode.first_window, episode.last_window)):
            judged.append((episode, name, local_day(episode.t_start, episode.offset_s)))
    true = found = both = 0
    for i, (a, name_a, day_a) in enumerate(judged):
        for b, name_b, day_b in judged[:i]:
            if day_a != day_b:
                same = a.id in group and b.id in group and group[a.id].id == group[b.id].id
                true += name_a == name_b
                found += same
                both += same and name_a == name_b
    precision, recall = both / max(1, found), both / max(1, true)
    times = typical_times(snapshot, judged, group)
    return {
        "judged": len(judged),
        "activities": len({name for _, name, _ in judged}),
        "precision": round(precision, 3),
        "recall": round(recall, 3),
        "f1": round(2 * precision * recall / max(1e-9, precision + recall), 3),
        "times_right": sum(off <= 45 for off in times.values()),
        "times": times,
    }


def typical_times(
    snapshot: Snapshot, judged: Sequence[tuple[Episode, str, int]], group: dict[int, Any]
) -> dict[str, int]:
    """Minutes by which the typical time of each frequent activity's pattern is off; a day when it has no pattern."""
    off: dict[str, int] = {}
    by_name: dict[str, list[tuple[Episode, int]]] = defaultdict(list)
    for episode, name, day in judged:
        by_name[name].append((episode, day))
    for name, seen in sorted(by_name.items()):
        if len({day for _, day in seen}) < DAYS:
            continue
        true = hours([e for e, _ in seen])
        held = Counter(group[e.id].id for e, _ in seen if e.id in group)
        best = hours(snapshot.patterns.newest(held.most_common(1)[0][0], MEMBERS)) if held else None
        off[name] = min(apart(best.times[0], t) for t in true.times) if true and best else DAY
    return off


def one(job: tuple[str, bool, str]) -> dict[str, Any]:
    """Grow one trace into a memory, on disk when a folder is given, and report; what was there under its name goes."""
    trace = Path(job[0])
    name = trace.name.removesuffix(".trace.jsonl")
    path = Path(job[2]) / f"{name}.db" if job[2] else None
    if path is not None:
        for old in path.parent.glob(f"{path.name}*"):
            if old.is_file():
                old.unlink()
    model = Engines(Config()).text_embedding()
    checked = check_trace(trace)
    config = Config(memory={"profile": checked.profile})
    with Store.open(path, space=EmbeddingSpace(model.id, model.dim)) as store:
        spent = grow(trace, store, model.embed, config)
        with store.snapshot() as snapshot:
            windows = snapshot.trace.windows()
            worn = sum(w.t_end - w.t_start for w in windows) / US / 3600
            row = {
                "recording": name,
                "hours": round(worn, 1),
                "windows": len(windows),
            }
            row |= shape(snapshot)
            row["s_per_hour"] = round(spent / max(worn, 1e-9), 2)
            row["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            if job[1]:
                row["pairs"] = pairs(snapshot)
    return row


def show(row: dict[str, Any]) -> str:
    """A row as a line."""
    line = (
        f"{row['recording']:16} {row['hours']:6} {row['days']:4} {row['windows']:7} {row['episodes']:8} {row['moments']:7} "
        f"{row['per_episode']:6} {row['patterns']:8} {row['per_pattern']:6} {row['largest']:7.1%} {row['routines']:8} "
        f"{row['opened'][0]:5}+{row['opened'][1]:<5} {row['s_per_hour']:6} {row['peak_mb']:5}"
    )
    if "pairs" in row:
        p = row["pairs"]
        line += (
            f"\n    pairs of {p['judged']} episodes, {p['activities']} activities: precision {p['precision']}, recall "
            f"{p['recall']}, F1 {p['f1']}; typical times within 45 min: {p['times_right']} of {len(p['times'])} "
            f"(minutes off: {', '.join(f'{name} {off}' for name, off in p['times'].items())})"
        )
    return line


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", type=Path, nargs="+", help="traces or folders of them")
    parser.add_argument("--pairs", action="store_true", help="judge the grouping against the activities named")
    parser.add_argument("--keep", type=Path, help="a folder for the memories that are grown")
    parser.add_argument("--json", action="store_true", help="rows as JSON lines")
    options = parser.parse_args()
    found = [t for p in options.traces for t in (sorted(p.rglob("*.trace.jsonl")) if p.is_dir() else [p])]
    if not options.json:
        print(
            f"{'recording':16} {'hours':>6} {'days':>4} {'windows':>7} {'episodes':>8} {'moments':>7} {'/epis.':>6} "
            f"{'patterns':>8} {'epis./':>6} {'largest':>7} {'routines':>8} {'opened':>11} {'s/hour':>6} {'MB':>5}"
        )
    keep = ""
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
        keep = str(options.keep)
    rows = []
    with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for row in pool.imap(one, [(str(t), options.pairs, keep) for t in found]):
            rows.append(row)
            print(json.dumps(row) if options.json else show(row), flush=True)
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
