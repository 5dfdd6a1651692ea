"""No read sees the future, and the same recording gives the same memory."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests_support import cut_at

from edge.clock import parse_time
from edge.config import Config
from edge.replay import replay
from storage import EmbeddingSpace, Store

SPACE = EmbeddingSpace("wordllama-256", 256)


def memory(trace: Path, embed: Any, **options: Any) -> Store:
    store = Store.open(None, space=SPACE)
    replay(trace, store, embed, Config(), **options)
    return store


def rows(trace: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]


def check_causal(trace: Path, full: Store, embed: Any, t: int, folder: Path) -> None:
    """Grown to t = grown from the trace cut at t; and where t is a window's end, so says a snapshot of the full one."""
    cut = folder / "cut.trace.jsonl"
    kept = cut_at(rows(trace), t)
    if not kept:
        return
    cut.write_text("".join(json.dumps(r) + "\n" for r in kept), encoding="utf-8")
    with memory(cut, embed) as short, memory(trace, embed, until=t) as until:
        assert list(short.dump()) == list(until.dump())
        ends = [parse_time(r["t_end"])[0] for r in kept]
        if parse_time(kept[-1]["t_end"])[0] == t and t in {parse_time(r["t_end"])[0] for r in rows(trace)}:
            assert list(full.dump(t)) == list(short.dump(t))
        whole = max((e for e in ends if e < t), default=None)
        if whole is not None:
            assert list(full.dump(whole)) == list(short.dump(whole))


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10_000), share=st.floats(0.02, 1.0))
def test_the_past_does_not_depend_on_the_future(
    seed: int, share: float, day: Callable[..., Path], embed: Any, tmp_path: Path
) -> None:
    trace = day(seed, 60)
    first, last = (parse_time(r["t_end"])[0] for r in (rows(trace)[0], rows(trace)[-1]))
    with memory(trace, embed) as full:
        check_causal(trace, full, embed, first + round((last - first) * share), tmp_path)


@pytest.mark.parametrize("name", ["epic/epic-P14", "holo/holo-z029", "locomo/locomo-30", "cc4d/cc4d-person7"])
def test_causality_on_real_recordings(name: str, recorded: Path, embed: Any, tmp_path: Path) -> None:
    source = recorded / "open" / f"{name}.trace.jsonl"
    trace = tmp_path / "part.trace.jsonl"
    trace.write_text("\n".join(source.read_text(encoding="utf-8").splitlines()[:120]) + "\n", encoding="utf-8")
    ends = [parse_time(r["t_end"])[0] for r in rows(trace)]
    rng = random.Random(name)
    with memory(trace, embed) as full:
        for t in [rng.choice(ends) for _ in range(3)] + [rng.randrange(ends[0], ends[-1]) for _ in range(3)]:
            check_causal(trace, full, embed, t, tmp_path)


def test_replaying_twice_and_replaying_the_recorders_copy_give_the_same_memory(
    day: Callable[..., Path], embed: Any, tmp_path: Path
) -> None:
    trace = day(7, 100)
    copy = tmp_path / "copy.trace.jsonl"
    with memory(trace, embed, record=copy) as one, memory(trace, embed) as two:
        assert list(one.dump()) == list(two.dump())
        with memory(copy, embed) as three:
            assert list(one.dump()) == list(three.dump())


def test_a_recording_that_goes_on_takes_back_what_its_end_had_closed(
    day: Callable[..., Path], embed: Any, tmp_path: Path
) -> None:
    trace = day(11, 90)
    ends = [parse_time(r["t_end"])[0] for r in rows(trace)]
    with memory(trace, embed) as whole:
        for stop in (ends[10], ends[40], ends[41]):
            with Store.open(None, space=SPACE) as store:
                replay(trace, store, embed, Config(), until=stop)
                replay(trace, store, embed, Config())
                assert list(store.dump()) == list(whole.dump())
                assert store.integrity() == []
