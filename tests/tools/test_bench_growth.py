"""The measure of growth: its days, its rows, and a memory that holds what the rows say."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests_support import trace_of

from edge.clock import local, local_day
from storage import EmbeddingSpace, Store
from tools import bench_growth

DAY_KEYS = "day trace like windows episodes patterns ms_per_window rss_mb own_mb db_mb".split()
LAST_KEYS = "days windows ms_first ms_last ms_fresh ratio rss_early_mb rss_last_mb rss_ratio own_early_mb own_last_mb own_ratio".split()


@pytest.fixture
def days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[bench_growth.Day]:
    """Two days of one trace and one of another, which is in another zone."""
    monkeypatch.setattr(bench_growth, "LEAST", 12)

    def lines(day: int, hour: int, zone: int, windows: int) -> str:
        begun = datetime(2026, 3, day, hour, tzinfo=timezone(timedelta(hours=zone)))
        made = trace_of(tmp_path, begun, windows, lambda n: [("open", "fridge"), ("wash", "bowl")][n % 2 :])
        return made.read_text(encoding="utf-8")

    home, away = tmp_path / "home.trace.jsonl", tmp_path / "away.trace.jsonl"
    home.write_text(lines(1, 9, 1, 14) + lines(2, 9, 1, 14) + lines(3, 9, 1, 2), encoding="utf-8")
    away.write_text(lines(1, 20, -8, 13), encoding="utf-8")
    return bench_growth.days_of([home, away], 5.0)


def test_days_come_from_each_trace_in_turn(days: list[bench_growth.Day]) -> None:
    assert [(d.trace, len(d.windows)) for d in days] == [("home", 14), ("away", 13), ("home", 14)]
    plan = list(bench_growth.plan(days, 8))
    assert [like for like, _ in plan] == [0, 0, 0, 1, 2, 1, 3, 1]
    assert all(day is days[like - 1] for like, day in plan if like)
    with pytest.raises(FileNotFoundError, match="trace"):
        bench_growth.days_of([], 5.0)


def test_rows_tell_what_the_memory_holds(days: list[bench_growth.Day], tmp_path: Path, embed: Any) -> None:
    path, space = tmp_path / "long.db", EmbeddingSpace("wordllama-256", 256)
    *rows, last = bench_growth.bench(days, 4, path, embed, space)
    assert [list(row) for row in rows] == [DAY_KEYS] * 4
    assert list(last) == LAST_KEYS
    assert [row["trace"] for row in rows] == ["home", "away", "home", "home"]
    assert [row["like"] for row in rows] == [0, 0, 0, 1]
    assert json.loads(json.dumps(last)) == last
    assert min(row["ms_per_window"] for row in rows) > 0
    assert last["ratio"] == pytest.approx(last["ms_last"] / last["ms_fresh"], abs=0.02)
    assert last["own_last_mb"] < last["rss_last_mb"]
    assert all(bench_growth.show(row) for row in (*rows, last))
    with Store.open(path, read_only=True) as store, store.snapshot() as snapshot:
        assert store.integrity() == []
        windows = snapshot.trace.windows()
        assert len(windows) == last["windows"] == sum(row["windows"] for row in rows) == 55
        assert snapshot.episodes.count() <= sum(row["episodes"] for row in rows) + 1
        assert snapshot.patterns.count() == rows[-1]["patterns"]
        assert {w.recording for w in windows} == {"long"}
        assert all(a.t_end <= b.t_start for a, b in pairwise(windows))
        by_day = {local_day(w.t_start, w.offset_s) for w in windows}
        assert max(by_day) - min(by_day) == 3
        assert local(windows[14].t_start, 0).hour == 20, "the local hour stays"


@pytest.mark.parametrize("options", [["--days", "1"], ["--keep", str(Path(__file__))]])
def test_wrong_options_are_refused(
    options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["bench_growth.py", *options])
    with pytest.raises(SystemExit) as ended:
        bench_growth.main()
    assert ended.value.code == 2
    assert options[0] in capsys.readouterr().err
