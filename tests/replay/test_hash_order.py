"""Python deals out the order of sets anew in every process: nothing of a memory may follow it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

from tests_support import trace_of

from storage import Store

ROOT = Path(__file__).resolve().parents[2]


def test_two_processes_with_other_orders_of_sets_grow_the_same_memory(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, datetime(2026, 3, 2, 8, tzinfo=timezone.utc), 24, lambda n: [("take", f"cup {n % 5}")])
    told = [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]
    for n, row in enumerate(told):  # much of equal weight at once: what comes first must not be chance
        t = row["t_start"]
        row["description"] = "; ".join(
            f"{act} the {thing}" for act in ("wash", "dry", "fill") for thing in ("jug", "pan")
        )
        row["speech"] = [
            {"t": t, "speaker": who, "text": f"I like {what}."} for who, what in (("Ann", "tea"), ("Bo", "rye"))
        ]
        row["entities"] += [{"name": f"{colour} bowl"} for colour in ("red", "blue", "green", "white")][n % 3 :]
    trace.write_text("".join(json.dumps(row) + "\n" for row in told), encoding="utf-8")
    dumps = []
    for seed in ("1", "2"):
        db = tmp_path / f"{seed}.db"
        command = [sys.executable, "-m", "edge.cli", "replay", str(trace), "--db", str(db)]
        subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True)
        with Store.open(db, read_only=True) as store:
            dumps.append(list(store.dump()))
    assert dumps[0] == dumps[1]
