"""How long a question takes, by its form, on a memory of any length.

    python tools/bench_ask.py MEMORY.db [--each 12] [--traces FOLDER] [--seed 7] [--slow 5] [--json]

Questions of every type are taken from the question sets beside the recorded traces; their dates and "recordings that
began" are moved to days and stretches that this memory has, and they are asked at its end, each in a snapshot of its own,
rules policy, with the default embedding.  One row a type, and one over all:
    {"type", "asked", "p50_ms", "p95_ms", "max_ms"}
--slow names the slowest questions on stderr.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from edge.agent.answer import ask
from edge.errors import QuestionError
from storage import Store
from storage.lookup import Stretch
from tools import corpus as source

US = 1_000_000
_DATE = re.compile(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,? \d{1,2} [A-Z][a-z]+ \d{4}")
_BEGAN = re.compile(r"(the recording that began at) \d{1,2}:\d{2}( on )" + _DATE.pattern)
MONTH_US = 30 * 86_400 * US


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it is put to this memory."""

    type: str
    text: str
    choices: list[str] | None


def drawn(folder: Path, each: int, runs: list[Stretch], offset_s: int, seed: int) -> list[Asked]:
    """Up to `each` questions of every type, moved into this memory.  Raises FileNotFoundError when there are none."""
    rng = random.Random(seed)
    by_type: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(folder.rglob("*.questions.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            by_type.setdefault(f"{path.parent.name}.{row['type']}", []).append(row)
    if not by_type:
        raise FileNotFoundError(f"There are no *.questions.jsonl below {folder}: give their folder with --traces.")

    def date(t: int) -> datetime:
        return datetime.fromtimestamp(t // US, timezone(timedelta(seconds=offset_s)))

    def day(t: int) -> str:
        at = date(t)
        return f"{at:%A} {at.day} {at:%B} {at.year}"

    def moved(text: str) -> str:
        run = rng.choice(runs)
        inside = rng.randrange(run.t_start, run.t_end)
        text = _BEGAN.sub(lambda m: f"{m[1]} {date(run.t_start):%H:%M}{m[2]}{day(run.t_start)}", text)
        if _BEGAN.search(text):
            return text
        return _DATE.sub(lambda _: day(inside), text)

    return [
        Asked(kind, moved(row["question"]), row.get("choices"))
        for kind, rows in by_type.items()
        for row in rng.sample(rows, min(each, len(rows)))
    ]


def measure(db: Path, questions: Path, each: int, seed: int, slow: int) -> list[dict[str, Any]]:
    """Ask everything; a row for each type and one over all."""
    embed = source.bulk()
    taken: dict[str, list[float]] = {}
    every: list[tuple[float, str, str]] = []
    with Store.open(db, read_only=True) as store:
        with store.snapshot() as snapshot:
            last = snapshot.trace.last()
            if last is None:
                sys.exit(f"{db} holds nothing.")
            runs = snapshot.lookup.stretches(last.t_end - 12 * MONTH_US)
        now, offset_s = last.t_end + 60 * US, last.offset_s
        asked = drawn(questions, each, runs, offset_s, seed)
        warm = asked[:5]  # these load what a running device has loaded
        for number, one in enumerate([*warm, *asked]):
            begin = perf_counter()
            with store.snapshot(now) as snapshot:
                try:
                    found = ask(
                        snapshot,
                        one.text,
                        now=now,
                        offset_s=offset_s,
                        choices=one.choices,
                        embed=embed.embed,
                        policy="rules",
                    )
                    kind = found.kind
                except QuestionError:
                    kind = "refused"
            ms = (perf_counter() - begin) * 1e3
            if number >= len(warm):
                taken.setdefault(one.type, []).append(ms)
                every.append((ms, kind, one.text))
    for ms, kind, text in sorted(every, reverse=True)[:slow]:
        print(f"{ms:8.1f} ms  {kind}  {text}", file=sys.stderr)
    return [_row(kind, times) for kind, times in sorted(taken.items())] + [_row("all", [ms for ms, _, _ in every])]


def _row(kind: str, times: list[float]) -> dict[str, Any]:
    p50, p95 = np.percentile(times, (50, 95))
    return {
        "type": kind,
        "asked": len(times),
        "p50_ms": round(p50, 1),
        "p95_ms": round(p95, 1),
        "max_ms": round(max(times), 1),
    }


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("db", type=Path)
    parser.add_argument("--each", type=int, default=12)
    parser.add_argument("--traces", type=Path, default=source.TRACES, help="the folder of traces and question sets")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--slow", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    for row in measure(given.db, given.traces, given.each, given.seed, given.slow):
        print(json.dumps(row) if given.json else "  ".join(f"{k} {v}" for k, v in row.items()), flush=True)


if __name__ == "__main__":
    main()
