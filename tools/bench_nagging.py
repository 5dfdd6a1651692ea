"""How often the device would have spoken: delivered alerts an hour over recorded days, at every frequency.

    python tools/bench_nagging.py FOLDER [FOLDER ...] [--json] [--most-average 2] [--most-in-an-hour 6]

Each folder is a source, of which every *.trace.jsonl counts.  A trace is grown once; then the experts and the arbiter
go over it once for each frequency, causally, as live.  Hours are recorded ones; "most" is the largest number of alerts
in any hour of the recording's own time.  The exit status is 1 when, at the default frequency, more is said than the
two limits allow, when a source hears less at a higher frequency, or when all of them together do not hear more.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any, get_args

from edge.clock import US, ReplayClock
from edge.config import Alerts, Config, Frequency
from edge.engines import Engines
from edge.memory.growth import Growth
from edge.messages import Message, ServiceDecided
from edge.proactive.screening import Proactive
from edge.recorder import check_trace, read_trace
from storage import EmbeddingSpace, Store

LEVELS: tuple[Frequency, ...] = get_args(Frequency)
DEFAULT = Alerts().frequency


@dataclass(slots=True)
class Told:
    """What one recording or source hears at one frequency."""

    hours: float = 0.0
    delivered: int = 0
    most: int = 0
    types: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, other: Told) -> None:
        """Take in another recording."""
        self.hours += other.hours
        self.delivered += other.delivered
        self.most = max(self.most, other.most)
        self.types += other.types
        self.reasons += other.reasons

    @property
    def rate(self) -> float:
        """Delivered alerts an hour."""
        return self.delivered / self.hours if self.hours else 0.0


def most_in_an_hour(times: list[int]) -> int:
    """The largest number of times (microseconds, sorted) within any 3600 s."""
    low, most = 0, 0
    for high, t in enumerate(times):
        while t - times[low] >= 3600 * US:
            low += 1
        most = max(most, high - low + 1)
    return most


def hear(path: str) -> dict[str, Told]:
    """One recording at every frequency."""
    trace = Path(path)
    checked = check_trace(trace)
    config = Config(memory={"profile": checked.profile})  # type: ignore[arg-type]
    engines = Engines(config)
    model = engines.text_embedding()
    space = EmbeddingSpace(model.id, model.dim)
    steps: list[tuple[int, int, list[Message], list[Message]]] = []
    worn = 0
    found: dict[str, Told] = {}
    with tempfile.TemporaryDirectory() as folder:
        grown = Path(folder) / "grown.db"
        with Store.open(grown, space=space, synchronous="normal") as store:
            growth = Growth(store, model.embed, config.memory, config.owner.name)
            for window in read_trace(trace, config.memory.growth(config.memory.profile).frame_interval_s):
                worn += window.t_end - window.t_start
                before = growth.idle(window.t_start)
                steps.append((window.t_end, window.offset_s, before, growth.step(window)))
            last = growth.end()
        for level in LEVELS:
            copy = Path(folder) / f"{level}.db"
            shutil.copyfile(grown, copy)
            with Store.open(copy, space=space, synchronous="normal") as store:
                alerts = config.alerts.model_copy(update={"frequency": level})
                found[level] = _told(
                    Proactive(store, alerts, clock := ReplayClock(), config.owner.name), clock, steps, last
                )
            found[level].hours = worn / US / 3600
            copy.unlink()
    engines.close()
    return found


def _told(
    proactive: Proactive,
    clock: ReplayClock,
    steps: list[tuple[int, int, list[Message], list[Message]]],
    last: list[Message],
) -> Told:
    out: list[Message] = []
    for t_end, offset_s, before, after in steps:
        out += proactive.step(before)
        clock.set(t_end, offset_s)
        out += proactive.step(after)
    out += proactive.step(last)
    decided = [m for m in out if isinstance(m, ServiceDecided)]
    said = [m for m in decided if m.decision.decision == "deliver"]
    return Told(
        delivered=len(said),
        most=most_in_an_hour(sorted(m.decision.t for m in said)),
        types=Counter(m.service.type for m in said),
        reasons=Counter(m.decision.reason.partition(":")[0] for m in decided if m.decision.decision == "suppress"),
    )


def faults(sources: dict[str, dict[str, Told]], average: float, in_an_hour: int) -> list[str]:
    """What breaks the promise not to nag; empty when all is well."""
    wrong = []
    for name, levels in sources.items():
        usual = levels[DEFAULT]
        if usual.rate > average:
            wrong.append(f"{name}: {usual.rate:.2f} alerts an hour at {DEFAULT}")
        if usual.most > in_an_hour:
            wrong.append(f"{name}: {usual.most} alerts in one hour at {DEFAULT}")
        for less, more in pairwise(LEVELS):
            if levels[less].delivered > levels[more].delivered:
                wrong.append(f"{name}: {less} hears more than {more}")
    for less, more in pairwise(LEVELS):
        low, high = (sum(levels[level].delivered for levels in sources.values()) for level in (less, more))
        if not low < high:
            wrong.append(f"all: {more} does not hear more than {less}")
    return wrong


def table(sources: dict[str, dict[str, Told]]) -> list[str]:
    """One line a source: alerts an hour and, in brackets, the most in any hour, at each frequency."""
    lines = [f"{'source':12}{'hours':>8}  " + "".join(f"{level:>22}" for level in LEVELS)]
    for name, levels in sources.items():
        cells = "".join(f"{t.delivered:>8} {t.rate:>6.2f}/h ({t.most:>2})" + " " for t in levels.values())
        lines.append(f"{name:12}{levels[DEFAULT].hours:>8.1f}  {cells}")
    return lines


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--most-average", type=float, default=2.0, help="alerts an hour at the default frequency")
    parser.add_argument("--most-in-an-hour", type=int, default=6, help="alerts in any hour at the default frequency")
    options = parser.parse_args()
    sources: dict[str, dict[str, Told]] = {}
    with get_context("spawn").Pool(1) as pool:
        for folder in options.folders:
            whole = sources[folder.name] = {level: Told() for level in LEVELS}
            traces = sorted(map(str, folder.rglob("*.trace.jsonl")))
            for found in pool.imap(hear, traces):
                for level, told in found.items():
                    whole[level].add(told)
            if not traces:
                print(f"no traces in {folder}", file=sys.stderr)
                return 1
    wrong = faults(sources, options.most_average, options.most_in_an_hour)
    if options.json:
        print(
            json.dumps(
                {"sources": {n: {k: _json(t) for k, t in s.items()} for n, s in sources.items()}, "wrong": wrong}
            )
        )
    else:
        print("\n".join([*table(sources), *wrong]))
    return 1 if wrong else 0


def _json(told: Told) -> dict[str, Any]:
    return {
        "hours": round(told.hours, 2), "delivered": told.delivered, "an_hour": round(told.rate, 3), "most": told.most,
        "types": dict(told.types.most_common()), "suppressed": dict(told.reasons.most_common()),
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
