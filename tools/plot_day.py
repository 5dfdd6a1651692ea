"""Draws a day of a memory: what happened, what it belongs to, what was said about it.

    python tools/plot_day.py MEMORY.db [--day 2026-03-02] [--out day.png]

Times are the wearer's own, the newest day is the default, --out ends in .png or .svg (by default day-2026-03-02.png).
- Episodes are bands from left to right with their subjects, once for several of one subject in a row; of more than fit the
  longest have theirs.
- Patterns are threads below: one line each through its episodes of the day, in the colour of their bands, dotted where
  it goes on from an earlier day or to a later one.  Bands of patterns without a line of their own are grey.
- Alerts stand on a row for each kind: spoken, put off, or kept back.
- Where nothing was recorded the ground is hatched; a long pause is drawn shorter than it was and says how long it was.
Needs matplotlib, which comes with the extra `dev`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from edge.clock import US, local_day
from storage import Snapshot, Store
from storage.errors import StorageError
from storage.records import Episode
from tools.day_chart import Day, PlotError, Thread, draw

GAP_US = 60 * US  # a pause from which nothing was recorded
DAY_US = 86_400 * US


def collect(snapshot: Snapshot, wanted: date | None = None) -> Day:
    """Read a day, the newest when none is wanted.  Raises PlotError with the days there are."""
    days = snapshot.lookup.days()
    if not days:
        raise PlotError("This memory holds no day yet: run or replay something into it first.")
    wanted = wanted or days[-1]
    if wanted not in days:
        raise PlotError(f"There is nothing on {wanted}. Days that can be drawn: {_told(days)}.")
    number = (wanted - date(1970, 1, 1)).days
    around = ((number - 1) * DAY_US, (number + 2) * DAY_US)  # whatever the zone
    episodes = [e for e in snapshot.episodes.between(*around) if local_day(e.t_start, e.offset_s) == number]
    if not episodes:
        raise PlotError(f"No episode of {wanted} is closed yet: try again when one is, or another of {_told(days)}.")
    offset = episodes[0].offset_s
    begin = number * DAY_US - offset * US
    runs = snapshot.lookup.stretches(begin, begin + DAY_US, GAP_US)
    last = {d.service_id: d.decision for d in snapshot.services.decisions()}
    return Day(
        wanted,
        offset,
        tuple((r.t_start, r.t_end) for r in runs),
        tuple(episodes),
        tuple(_threads(snapshot, episodes)),
        tuple((s, last.get(s.id, "")) for s in snapshot.services.between(begin, begin + DAY_US)),
    )


def _threads(snapshot: Snapshot, episodes: Sequence[Episode]) -> list[Thread]:
    """The patterns of the day in the order they begin."""
    own = {e.id: e for e in episodes}
    ids = dict.fromkeys(p for e in episodes for p in snapshot.patterns.of_episode(e.id))
    first, last = episodes[0].t_start, episodes[-1].t_start
    found = []
    for pattern_id in ids:
        members = [e.episode_id for e in snapshot.patterns.edges(pattern_id)]
        others = snapshot.episodes.many([m for m in members if m not in own]).values()
        found.append(
            Thread(
                snapshot.patterns.get(pattern_id), tuple(own[m] for m in members if m in own),
                any(e.t_start < first for e in others), any(e.t_start > last for e in others),
            )
        )  # fmt: skip
    return found


def _told(days: Sequence[date]) -> str:
    """Days in words, runs of them by their ends."""
    runs: list[list[date]] = []
    for day in days:
        if runs and day - runs[-1][-1] == timedelta(days=1):
            runs[-1].append(day)
        else:
            runs.append([day])
    told = [f"{r[0]}" if len(r) == 1 else f"{r[0]} to {r[-1]}" for r in runs]
    return ", ".join(told if len(told) <= 12 else [*told[:11], f"and {len(told) - 11} more stretches up to {days[-1]}"])


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("memory", type=Path)
    parser.add_argument("--day", type=date.fromisoformat, help="a local day as YYYY-MM-DD; the newest by default")
    parser.add_argument("--out", type=Path, help="a .png or .svg file")
    options = parser.parse_args()
    try:
        with Store.open(options.memory, create=False, read_only=True) as store, store.snapshot() as snapshot:
            day = collect(snapshot, options.day)
        path = options.out or Path(f"day-{day.day}.png")
        draw(day, path)
    except (PlotError, StorageError) as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"The picture cannot be written ({error.strerror or error}): choose another --out.", file=sys.stderr)
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
