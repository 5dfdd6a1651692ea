"""Figures of language models and of profiles on this machine, as one JSON object a line.

    python -m tools.bench_models llm ID|PATH.gguf [--mmproj PATH] [--threads N] [--runs N]
    python -m tools.bench_models profile light|starter|...

llm: seconds to load, what the process holds, tokens a second read and written, time to the first piece, with and without
a grammar; with a vision part, seconds for one frame and for six.
profile: every model of it that is here, loaded together in one process (language models in their own): seconds and MB.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from edge import config as settings
from edge.clock import US, SystemClock
from edge.memory.thinking_prompts import BOUNDARY, SUMMARY
from edge.perception.vlm_prompts import prompt_for, schema_for
from models import Loader, LoadOptions, Registry
from models.backends.llama_model import LlamaModel
from models.backends.llama_settings import LlamaSettings, board
from models.child.memory import held_kb
from models.errors import ModelError
from models.loader import BACKENDS, ROLES
from models.manifest import load_profiles
from models.roles import CallOptions, Message, Usage

mono = SystemClock().mono
TEXT = "The wearer takes a cup from the shelf, fills the kettle, turns it on and looks out of the window at the rain. "
REPEATS = 18  # of TEXT: some 450 tokens


def seconds(work: Callable[[], Any]) -> float:
    """How long it takes."""
    began = mono()
    work()
    return (mono() - began) / US


def tell(**figures: Any) -> None:
    """One line of figures."""
    print(json.dumps({k: round(v, 3) if isinstance(v, float) else v for k, v in figures.items()}), flush=True)


def resident_mb(pid: int) -> float:
    """Resident memory of a process, the model file's pages included."""
    fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def bench_llm(model: LlamaModel, runs: int, *, vision: bool) -> None:
    """Figures of one model."""
    load = seconds(lambda: model.warm(600))
    pid = model.process.pid
    assert pid is not None
    tell(what="load", model=model.id, seconds=load, held_mb=(held_kb(pid) or 0) / 1024, rss_mb=resident_mb(pid))
    reads, writes, firsts = [], [], []
    for run in range(runs):
        prompt = [Message("user", f"{run}. {TEXT * REPEATS}Tell in detail what happened.")]
        costs: list[Usage] = []
        began, first = mono(), 0.0
        for _ in model.stream(prompt, CallOptions(max_tokens=64, timeout_s=600, meter=costs.append)):
            first = first or (mono() - began) / US
        (cost,) = costs
        reads.append(cost.prompt_tokens / first)
        writes.append((cost.completion_tokens - 1) / max(1e-6, cost.seconds - first))
        firsts.append(first)
    tell(what="text", model=model.id, prompt_tokens=cost.prompt_tokens, read_tokens_per_s=statistics.median(reads),
         written_tokens_per_s=statistics.median(writes), first_piece_s=statistics.median(firsts))  # fmt: skip
    for name, schema, tokens in (("boundary", BOUNDARY, 90), ("summary", SUMMARY, 420)):
        used, usable = [], 0
        for run in range(runs):
            costs = []
            options = CallOptions(max_tokens=tokens, timeout_s=600, seed=run, meter=costs.append)
            try:
                model.complete([Message("user", f"{run}. {TEXT * 6}Answer as JSON.")], schema, options)
                usable += 1
            except ModelError as error:
                tell(what=name, model=model.id, error=str(error))
            used.append(costs[0])
        tell(what=name, model=model.id, usable=f"{usable}/{runs}", seconds=statistics.median(u.seconds for u in used),
             written_tokens=statistics.median(u.completion_tokens for u in used))  # fmt: skip
    if vision:
        bench_vision(model, runs)
    tell(what="after", model=model.id, held_mb=(held_kb(pid) or 0) / 1024, rss_mb=resident_mb(pid))


def bench_vision(model: LlamaModel, runs: int) -> None:
    """Seconds a window takes, of one frame and of six."""
    rng = np.random.default_rng(1)
    for count in (1, 6):
        times = [f"09:00:{5 * i:02d}" for i in range(count)]
        used = []
        for run in range(runs):
            frames = [rng.integers(0, 255, (480, 640, 3), dtype=np.uint8) for _ in times]
            costs: list[Usage] = []
            options = CallOptions(max_tokens=900, timeout_s=900, seed=run, meter=costs.append)
            try:
                model.describe(
                    frames, prompt_for("daily", times, (), ()), schema_for(times, times, exact=True), options
                )
            except ModelError as error:
                tell(what="window", model=model.id, error=str(error))
            used.append(costs[0])
        tell(what="window", model=model.id, frames=count, seconds=statistics.median(u.seconds for u in used),
             prompt_tokens=used[-1].prompt_tokens, written_tokens=used[-1].completion_tokens)  # fmt: skip


def bench_profile(name: str, threads: int) -> None:
    """Load everything of a profile that is here, and look at one frame and one second with it."""
    models = next(p.models for p in load_profiles() if p.name == name)
    registry = Registry(settings.data_dir() / "models", settings.cache_dir())
    llama = replace(LlamaSettings(), threads=threads)
    loader = Loader(registry, LoadOptions(threads=threads, llama=llama, mono=mono))
    began, pid, absent = mono(), os.getpid(), []
    children = 0.0
    for model_id in models:
        for role in (r for r in ROLES if r.name in BACKENDS[model_id].roles):
            try:
                loaded = loader.load(role, model_id).model
            except ModelError as error:
                absent.append(f"{model_id}: {error.code}")
                break
            if isinstance(loaded, LlamaModel) and loaded.process.pid is None:
                loaded.warm(600)
                child = loaded.process.pid
                assert child is not None
                children += resident_mb(child)
    tell(what="profile", profile=name, board=board(), seconds=(mono() - began) / US, rss_mb=resident_mb(pid),
         held_mb=(held_kb(pid) or 0) / 1024, children_rss_mb=children, absent=absent)  # fmt: skip
    loader.close()


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Figures of language models and profiles.")
    kinds = parser.add_subparsers(dest="kind", required=True)
    llm = kinds.add_parser("llm")
    llm.add_argument("model")
    llm.add_argument("--mmproj", type=Path)
    llm.add_argument("--runs", type=int, default=3)
    profile = kinds.add_parser("profile")
    profile.add_argument("name", choices=[p.name for p in load_profiles()])
    for one in (llm, profile):
        one.add_argument("--threads", type=int, default=2)
    given = parser.parse_args(arguments)
    if given.kind == "profile":
        bench_profile(given.name, given.threads)
        return
    path, mmproj = Path(given.model), given.mmproj
    if path.suffix != ".gguf":
        files = Registry(settings.data_dir() / "models", settings.cache_dir()).locate(given.model)
        mmproj = next((p for n, p in files.items() if n.startswith("mmproj")), None)
        path = next(p for n, p in files.items() if not n.startswith("mmproj"))
    model = LlamaModel(path, mmproj, mono=mono, settings=replace(LlamaSettings(), threads=given.threads))
    try:
        bench_llm(model, given.runs, vision=mmproj is not None)
    finally:
        model.close()


if __name__ == "__main__":
    main()
