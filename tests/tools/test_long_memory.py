"""The tools that make and measure long memories, on small ones made from a made-up trace."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from storage import Store
from tools import bench_ask, corpus, make_year

ROOT = Path(__file__).resolve().parents[2]
THINGS = ["red cup", "bread knife", "kettle", "lamp", "drawer", "wool scarf", "bicycle", "violin", "passport", "letter"]
DOINGS = ["pick up", "put down", "open", "wash", "look at", "carry", "turn on"]


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of 90 windows and a few questions."""
    folder, rng = tmp_path_factory.mktemp("traces"), random.Random(1)
    with (folder / "made.trace.jsonl").open("w", encoding="utf-8") as out:
        for n in range(90):
            day, at = divmod(n, 45)
            start, later = (
                f"2026-03-{day + 1:02d}T09:{s // 60:02d}:{s % 60:02d}+00:00" for s in (at * 30, at * 30 + 30)
            )
            did, what = rng.choice(DOINGS), rng.choice(THINGS)
            row = {
                "recording": "made", "t_start": start, "t_end": later,
                "captions": [{"t": start, "text": f"{rng.choice(DOINGS)} {rng.choice(THINGS)}"}, {"t": start, "text": f"{did} {what}"}],
                "description": "", "ocr": [], "events": [{"t": start, "subject": "wearer", "action": did, "object": what}],
                "entities": [{"name": what, "count": 1, "attributes": [], "location": None}],
                "speech": [{"t": start, "speaker": "Ana", "text": f"mind the {what}"}] if n % 9 == 0 else [],
            }  # fmt: skip
            out.write(json.dumps(row) + "\n")
    asked = [
        {"type": "last_time", "question": "When did I last open the drawer?"},
        {"type": "count_day", "question": "How many times did I wash the kettle on Sunday 1 March 2026?"},
        {
            "type": "where",
            "question": "Where did I put the red cup in the recording that began at 09:00 on Sunday 1 March 2026?",
        },
    ]
    (folder / "made.questions.jsonl").write_text("".join(json.dumps(a) + "\n" for a in asked), encoding="utf-8")
    return folder


def test_search_is_measured_against_brute_force(traces: Path, tmp_path: Path) -> None:
    command = [
        sys.executable, ROOT / "tools" / "bench_search.py", "--rows", "2500", "--queries", "10", "--json", "--traces", traces,
        "--peers", "sqlite-vec+fts5", "--dir", tmp_path,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(r["engine"], r["range"]) for r in rows] == [
        (engine, span) for engine in ("grove-edge", "sqlite-vec+fts5") for span in ("all", "day", "hour")
    ]
    keys = "engine rows range p50_ms p95_ms recall20 fused_recall20 build_s disk_mb rss_mb".split()
    for row in rows:
        assert list(row) == keys
        assert row["recall20"] > 0.9
        assert row["rss_mb"] > 10
    assert min(r["fused_recall20"] for r in rows[:3]) > 0.9
    assert rows[4]["recall20"] == rows[5]["recall20"] == 1.0, "floats compared one by one are exact"


def test_a_long_memory_holds_every_stratum_and_answers(
    traces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in (("RUNS", 6), ("ROUTINES", 2)):
        monkeypatch.setattr(make_year, name, value)
    db = tmp_path / "long.db"
    made = make_year.make(db, 3, traces, 7, progress=False)
    assert made["episodes"] == 18
    with Store.open(db, read_only=True) as store:
        assert store.integrity() == []
        with store.snapshot() as snapshot:
            assert snapshot.trace.count() == 18 * make_year.RUN
            assert len(snapshot.lookup.days()) == 3
            assert snapshot.moments.count() == made["moments"] > 1000
            assert len(snapshot.patterns.all()) == made["patterns"] >= 2
            assert snapshot.views.count() > 70
            assert snapshot.facts.all()
            assert snapshot.search("moment", "kettle")
    rows = bench_ask.measure(db, traces, 2, 7, slow=1)
    assert [r["type"].split(".")[1] if "." in r["type"] else r["type"] for r in rows] == [
        "count_day",
        "last_time",
        "where",
        "all",
    ]
    assert rows[-1]["asked"] == 3
    assert " ms " in capsys.readouterr().err
    with pytest.raises(SystemExit):
        make_year.make(db, 1, traces, 7, progress=False)


def test_sums_of_phrases_are_the_embedding_of_their_text() -> None:
    embed = corpus.bulk()
    parts = [["take the red cup", "in the kitchen"], ["wash it,", "then", "put it down"], ["東京"]]
    told = super(corpus.Bulk, embed).embed([" ".join(p) for p in parts])
    assert embed.joined(parts) == pytest.approx(told, abs=1e-5)
