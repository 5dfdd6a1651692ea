"""An answer at t is the same from a memory that ends at t: by rules, by every call of the skills, by a model."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from edge.agent.answer import Mind, ask
from edge.clock import SystemClock, parse_time
from edge.config import Config
from edge.replay import replay
from edge.retrieval import TOOLS, Skills, call
from models.roles import DEFAULT_CALL, CallOptions, JsonSchema, Message
from storage import EmbeddingSpace, Snapshot, Store

OFFSET_S = 3600
SPACE = EmbeddingSpace("wordllama-256", 256)
QUESTIONS = (
    "When did I last open the fridge?", "How many times did I take the milk?", "Where did I put the knife?",
    "On which days did I water the tomatoes?", "What did I do right after cutting the bread?", "How long was I working in the kitchen?",
    "What did I say about the plumber?", "What do I have to do?", "What is this?", "Did I write a note today?",
    "When do I usually drink coffee?", "What did the sign say?", "Which did I do first: open laptop or read letter?",
    "What did I do today?", "Who was I talking to?", "How often did I open the fridge since I took the milk?",
    "Where is the pen?", "Is the tap still on?", "What colour is the zebra?", "Why was it so?",
)  # fmt: skip
ARGUMENTS = {
    "query": "open fridge",
    "action": "open",
    "thing": "fridge",
    "name": "fridge",
    "question": "what is in it?",
    "episode": 1,
}


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory, embed: Any) -> Iterator[tuple[Store, list[tuple[int, Store]]]]:
    """A whole memory, and memories that were grown to some moments and know nothing after them."""
    from conftest import make_day, write_trace

    start = datetime(2026, 3, 1, 21, tzinfo=timezone(timedelta(seconds=OFFSET_S)))
    rows = make_day(random.Random(11), "made", start, 130)
    folder = tmp_path_factory.mktemp("causal")
    whole = grow(write_trace(folder / "whole.jsonl", rows), folder / "whole.db", embed)
    early = []
    for n in (3, 40, 97):
        path = write_trace(folder / f"{n}.jsonl", rows[:n])
        early.append(
            (parse_time(rows[n - 1]["t_end"])[0], grow(path, folder / f"{n}.db", embed, more=rows[n:], folder=folder))
        )
    yield whole, early
    for store in (whole, *(s for _, s in early)):
        store.close()


def grow(trace: Path, db: Path, embed: Any, more: Sequence[Any] = (), folder: Path | None = None) -> Store:
    """A recording that goes on is not closed: its end is cut off again, as a live one has none yet."""
    store = Store.open(db, space=SPACE, synchronous="off")
    if more and folder is not None:
        from conftest import write_trace

        rows = [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]
        trace = write_trace(folder / f"{db.stem}-on.jsonl", [*rows, more[0]])
        until = parse_time(rows[-1]["t_end"])[0]
        replay(trace, store, embed, Config(), until=until + 1)
    else:
        replay(trace, store, embed, Config())
    return store


class Curious:
    """A model that asks for one thing after the other, and answers with what it saw first."""

    id = "curious"

    def __init__(self) -> None:
        self.read: list[str] = []
        self._turn = 0

    def complete(
        self, messages: Sequence[Message], schema: JsonSchema | None = None, options: CallOptions = DEFAULT_CALL
    ) -> Any:
        del options
        self.read += [m.content for m in messages]
        self._turn += 1
        do = (schema or {})["properties"]["do"]
        if "anyOf" not in do:
            return {"do": {"action": "answer", "notes": [], "value": "unknown"}}
        names = do["anyOf"][0]["properties"]["calls"]["items"]["properties"]["tool"]["enum"]
        chosen = [names[(3 * self._turn + i) % len(names)] for i in range(3)]
        return {"do": {"action": "search", "calls": [{"tool": t, "query": "open fridge", "when": ""} for t in chosen]}}

    def stream(self, messages: Sequence[Message], options: CallOptions = DEFAULT_CALL) -> Iterator[str]:
        del messages, options
        yield "Well."

    def close(self) -> None:
        """Nothing is held."""


def answers(snapshot: Snapshot, t: int, embed: Any) -> list[dict[str, Any]]:
    return [ask(snapshot, q, now=t, offset_s=OFFSET_S, embed=embed).to_json() for q in QUESTIONS]


def test_rules_answer_alike(grown: Any, embed: Any) -> None:
    whole, early = grown
    for t, store in early:
        with whole.snapshot(t) as a, store.snapshot(t) as b:
            assert answers(a, t, embed) == answers(b, t, embed)


def test_every_call_gives_the_same(grown: Any, embed: Any) -> None:
    whole, early = grown
    for t, store in early:
        with whole.snapshot(t) as a, store.snapshot(t) as b:
            for tool in TOOLS:
                given = {k: ARGUMENTS.get(k, 0 if k == "start" else t + 10**9) for k in tool.parameters["required"]}
                if tool.name == "episode_moments" and not b.episodes.count():
                    continue
                one, two = (call(Skills(s, embed), tool.name, given) for s in (a, b))
                assert one == two, tool.name
                assert f'"t_start": {t + 1}' not in json.dumps(one)


def test_a_model_reads_nothing_of_later(grown: Any, embed: Any) -> None:
    whole, early = grown
    mono = SystemClock().mono
    for t, store in early:
        read, found = [], []
        for source in (whole, store):
            model = Curious()
            with source.snapshot(t) as snapshot:
                found.append(
                    ask(snapshot, "What about the fridge and the rest?", now=t, offset_s=OFFSET_S, embed=embed, policy="llm", mind=Mind(model, mono))
                )  # fmt: skip
            read.append(model.read)
        assert read[0] == read[1]
        assert asdict(found[0])["evidence"] == asdict(found[1])["evidence"]
