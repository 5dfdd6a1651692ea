"""kill -9 in the middle of a replay, again and again: the memory opens clean and grows on to the very same rows."""

from __future__ import annotations

import json
import os
import random
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from tests_support import trace_of

from edge.clock import ReplayClock
from edge.config import Config
from edge.memory.growth import Growth
from edge.pipeline import Pipeline
from edge.recorder import read_trace
from edge.replay import replay
from storage import EmbeddingSpace, Store
from storage.migrations import VECTOR_TABLES

ROOT = Path(__file__).resolve().parents[2]
SPACE = EmbeddingSpace("wordllama-256", 256)
KILLS = 10


def eventful(n: int) -> list[tuple[str, str]]:
    """Acts that leave things open and change the room, so that services are asked for and decided on."""
    script = [[("open", "fridge"), ("take", "milk")], [("turn on", "stove"), ("stir", "soup")], [("stir", "soup")],
              [("walk", "hallway"), ("open", "front door")], [("walk", "street")], [("type", "report"), ("open", "laptop")],
              [("read", "letter")], [], [("turn on", "tap")], [("wash", "bowl")], [("leave", "kitchen")]]  # fmt: skip
    return script[(n // 3 + n * n // 17) % len(script)]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four recordings' worth of stretches with gaps, said intentions and things left on: every kind of row comes of it."""
    folder = tmp_path_factory.mktemp("trace")
    start = datetime(2026, 3, 1, 20, 0, tzinfo=timezone(timedelta(hours=1)))
    rows: list[str] = []
    t = start
    for part in range(4):
        path = trace_of(folder, t, 45, lambda n, p=part: eventful(n + 5 * p))
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for n in (4, 20):
            text = "I have to call the plumber." if n == 4 else "remind me to water the tomatoes"
            lines[n]["speech"] = [{"t": lines[n]["t_start"], "speaker": "wearer", "text": text}]
        rows += [json.dumps(line) for line in lines]
        t = datetime.fromisoformat(lines[-1]["t_end"]) + timedelta(seconds=[61, 3 * 3600, 90, 0][part])
    path = folder / "eventful.trace.jsonl"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def whole(trace: Path, embed: Any) -> list[str]:
    """The dump of the uninterrupted replay."""
    with Store.open(None, space=SPACE) as store:
        replay(trace, store, embed, Config())
        return list(store.dump())


def test_the_trace_asks_for_every_kind_of_row(whole: list[str]) -> None:
    rows = [json.loads(line) for line in whole]
    kinds = {row["table"] for row in rows}
    assert kinds >= {
        "window",
        "item",
        "episode",
        "moment",
        "pattern_version",
        "edge",
        "intention",
        "service",
        "decision",
    }
    assert {row["cut"] for row in rows if row["table"] == "episode"} >= {"gap", "change", "day"}
    assert {row["decision"] for row in rows if row["table"] == "decision"} >= {"deliver"}


def killed_after(writes: int, delay_s: float, trace: Path, db: Path) -> bool:
    """`grove-edge replay` in a process of its own, killed a little after so many writes; false when it ended before."""
    log = db.with_name(db.name + "-wal")

    def written() -> int:
        return log.stat().st_mtime_ns if log.exists() else 0

    with subprocess.Popen(
        [sys.executable, "-m", "edge.cli", "replay", str(trace), "--db", str(db), "--json"],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as child:  # fmt: skip
        assert child.stderr is not None
        seen = written()
        while writes and child.poll() is None:
            select.select([], [], [], 0.001)
            if (now := written()) != seen:
                seen, writes = now, writes - 1
        select.select([], [], [], delay_s)
        child.send_signal(signal.SIGKILL)
        assert child.stderr.read() == b""
        return child.wait() == -signal.SIGKILL


def check_clean(path: Path) -> int:
    """Open it as it was left; gives how many windows it holds."""
    with Store.open(path, read_only=True) as store:
        assert store.integrity() == []
        with store.snapshot() as snapshot:
            windows = snapshot.trace.windows()
            ids = {w.id for w in windows}
            for episode in snapshot.episodes.between():
                assert set(range(episode.first_window, episode.last_window + 1)) <= ids
                assert snapshot.moments.of_episode(episode.id), "an episode has its moments"
            for service in snapshot.services.between():
                assert snapshot.services.decisions(service.id), "a service has its decision"
            return len(windows)


def test_killed_again_and_again_it_ends_the_same(trace: Path, whole: list[str], tmp_path: Path, embed: Any) -> None:
    rng = random.Random(os.environ.get("GROVE_TEST_SEED", "kill"))
    path, held = tmp_path / "m.db", 0
    for number in range(KILLS):
        killed = killed_after(rng.randint(1, 30), rng.uniform(0, 0.01), trace, path)
        assert killed or number, "it was killed, it did not end"
        now = check_clean(path)
        assert now >= held, "what was committed stays"
        held = now
        if not killed:
            break  # on a starved machine it gets far before each kill, and to its end before the last
    assert held > 0
    with Store.open(path, space=SPACE) as store:
        report = replay(trace, store, embed, Config())
        assert report.skipped == held
        assert list(store.dump()) == whole
        assert store.integrity() == []


@pytest.mark.parametrize(("blocks", "among"), [(300, False), (1_000, False), (4_700, True)])
def test_a_full_disk_in_the_middle_is_one_sentence_and_goes_on_later(
    blocks: int, among: bool, trace: Path, whole: list[str], tmp_path: Path, embed: Any
) -> None:
    """The kernel refuses to let a file grow past so many kilobytes: before the first row, and among the rows."""
    path = tmp_path / "m.db"
    limit = (blocks * 1024, blocks * 1024)
    told = subprocess.run(
        [sys.executable, "-m", "edge.cli", "replay", str(trace), "--db", str(path), "--json"],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )  # fmt: skip
    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr.count("\n") == 1
    assert told.stderr.startswith("storage.unwritable: ")
    with Store.open(path, space=SPACE) as store:
        assert store.integrity() == []
        report = replay(trace, store, embed, Config())
        assert (0 < report.skipped < 180) == among
        assert list(store.dump()) == whole


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Let the n-th write of this process fail as if the power went: nothing after it is done."""

    class PowerCut(BaseException):
        pass

    real = Store.transaction
    left = [0]

    def transaction(self: Store) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise PowerCut
        return real(self)

    def after(writes: int) -> None:
        left[0] = writes
        monkeypatch.setattr(Store, "transaction", transaction)

    after.cut = PowerCut  # type: ignore[attr-defined]
    yield after
    monkeypatch.undo()


def test_a_cut_before_any_single_write_ends_the_same(
    trace: Path, whole: list[str], stopped: Any, embed: Any, tmp_path: Path
) -> None:
    """Every write around a gap in turn: between growth and screening, between an idle closing and its screening."""
    short = tmp_path / "short.trace.jsonl"
    lines = trace.read_text(encoding="utf-8").splitlines()[38:56]  # a gap lies inside
    short.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with Store.open(None, space=SPACE) as store:
        replay(short, store, embed, Config())
        expected = list(store.dump())
    n = 0
    while True:
        n += 1
        with Store.open(None, space=SPACE) as store:
            stopped(n)
            try:
                replay(short, store, embed, Config())
            except stopped.cut:
                stopped(0)
            else:
                break
            assert store.integrity() == []
            replay(short, store, embed, Config())
            assert list(store.dump()) == expected, f"cut before write {n}"
    assert n > 20
    assert whole


def test_an_idle_closing_that_was_not_screened_is_screened_later(trace: Path, embed: Any) -> None:
    """Growth has committed the closing after a gap, then the power went before the experts had seen it."""
    config = Config()
    windows = list(read_trace(trace, 5.0))[:46]
    with Store.open(None, space=SPACE) as store:
        pipeline = Pipeline(store, embed, config, ReplayClock())
        for w in windows[:45]:
            pipeline.step(w)
        growth = Growth(store, embed, config.memory)
        closed = growth.idle(windows[45].t_start)
        assert len(closed) == 2
        before = [line for line in store.dump() if '"service"' in line]
        again = Pipeline(store, embed, config, ReplayClock())
        again.catch_up()
        again.step(windows[45])
        again.end()
        left = list(store.dump())
    with Store.open(None, space=SPACE) as store:
        pipeline = Pipeline(store, embed, config, ReplayClock())
        for w in windows:
            pipeline.step(w)
        pipeline.end()
        assert list(store.dump()) == left
    assert len([line for line in left if '"service"' in line]) >= len(before)


def test_catching_up_twice_adds_nothing(trace: Path, embed: Any) -> None:
    with Store.open(None, space=SPACE) as store:
        replay(trace, store, embed, Config())
        before = list(store.dump())
        for _ in range(2):
            Pipeline(store, embed, Config(), ReplayClock()).catch_up()
            replay(trace, store, embed, Config())
            assert list(store.dump()) == before


def test_a_memory_whose_log_was_torn_opens_at_its_last_commit(trace: Path, embed: Any, tmp_path: Path) -> None:
    """A power cut may leave the end of the write-ahead log half written, at any byte."""
    path = tmp_path / "m.db"
    lines = trace.read_text(encoding="utf-8").splitlines()[:12]
    short = tmp_path / "short.trace.jsonl"
    short.write_text("\n".join(lines) + "\n", encoding="utf-8")
    store = Store.open(path, space=SPACE)
    replay(short, store, embed, Config())
    main, wal = path.read_bytes(), path.with_name("m.db-wal").read_bytes()
    store.close()
    rng = random.Random(2)
    for n in range(12):
        torn = tmp_path / f"torn{n}.db"
        torn.write_bytes(main)
        at = rng.randrange(len(wal))
        garbage = bytes(rng.randrange(256) for _ in range(64)) if n % 2 else b""
        torn.with_name(torn.name + "-wal").write_bytes(wal[:at] + garbage)
        try:
            with Store.open(torn, space=SPACE) as again:
                assert again.integrity() == []
                replay(short, again, embed, Config())
                with Store.open(None, space=SPACE) as fresh:
                    replay(short, fresh, embed, Config())
                    assert list(again.dump()) == list(fresh.dump())
                assert all(again._writer.execute(f"SELECT count(*) FROM {vec}").fetchone() for vec, _ in VECTOR_TABLES)
        finally:
            torn.unlink()
