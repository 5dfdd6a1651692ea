"""Helpers that tests import: traces to measure, and the cut of a trace at a time."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from edge.clock import parse_time

Acts = list[tuple[str, str]]


def trace_of(folder: Path, start: datetime, windows: int, acts: Callable[[int], Acts], window_s: int = 30) -> Path:
    """A trace of `windows` windows in a row, each with the acts that `acts(number)` gives."""
    path = folder / "made.trace.jsonl"
    lines = []
    for n in range(windows):
        t = start + timedelta(seconds=n * window_s)
        done = acts(n)
        events = [
            {"t": (t + timedelta(seconds=1 + i)).isoformat(), "subject": "wearer", "action": a, "object": o}
            for i, (a, o) in enumerate(done)
        ]
        row = {
            "recording": "made",
            "t_start": t.isoformat(),
            "t_end": (t + timedelta(seconds=window_s)).isoformat(),
            "captions": [{"t": e["t"], "text": f"{e['action']} {e['object']}"} for e in events],
            "description": "",
            "entities": [{"name": o, "count": 1, "attributes": [], "location": None} for _, o in done],
            "events": events,
            "ocr": [],
            "speech": [],
        }
        lines.append(json.dumps(row))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def cut_at(rows: list[dict[str, Any]], t: int) -> list[dict[str, Any]]:
    """What a recording that stopped at t would hold: whole windows, and of the one in progress its dated items."""
    kept = []
    for row in rows:
        start, end = parse_time(row["t_start"])[0], parse_time(row["t_end"])[0]
        if end <= t:
            kept.append(row)
        elif start < t:
            short = {
                k: [x for x in row[k] if parse_time(x["t"])[0] <= t] for k in ("captions", "events", "ocr", "speech")
            }
            stop = datetime.fromisoformat(row["t_start"]) + timedelta(microseconds=t - start)
            kept.append({**row, **short, "t_end": stop.isoformat(), "description": "", "entities": []})
    return kept
