"""grove-edge ask and eval qa: questions to the memory, one or many."""

from __future__ import annotations

import json
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from edge import config as settings
from edge.clock import SystemClock, parse_time
from edge.commands.common import (
    AtOption,
    DbOption,
    JsonOption,
    clock_told,
    db_path,
    moment,
    query_embedding,
    say,
    snapshot_at,
    wearer_offset,
    writing,
)
from edge.errors import InputError, MissingFile
from storage import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edge.agent.answer import Policy
    from edge.agent.asking import Asker
    from storage import EmbeddingSpace

PolicyOption = Annotated[
    Literal["auto", "rules", "llm"],
    typer.Option("--policy", help="auto: rules where they are certain, else the model; rules or llm: only that."),
]


def ask(
    question: Annotated[str, typer.Argument(help="What you want to know, in English.")],
    db: DbOption = None,
    when: AtOption = None,
    policy: PolicyOption = "auto",
    speak: Annotated[bool, typer.Option("--speak", help="Speak the answer too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Ask the memory; the answer names its evidence."""
    config = settings.load()
    question = question.encode("utf-8", "replace").decode("utf-8")  # a terminal may hand on bytes that are no text
    path = db_path(db)
    value = None if when is not None else _by_device(path, question, policy, config)
    if value is None:
        value = _by_itself(path, question, policy, config, when)
    say(value, as_json, _told(value))
    if speak:
        from edge.speaking import speak_now

        for line in speak_now(str(value["answer"]), config):
            typer.echo(line, err=True)


def _by_device(path: Path, question: str, policy: str, config: settings.Config) -> dict[str, Any] | None:
    """The answer of the device that runs on this memory, which can look and knows what was asked before; None without one."""
    from edge.server.control import ControlClient, NotRunning, Refused

    socket = settings.runtime_dir() / "control.sock"  # edge.app, which makes it, loads all of a runtime
    client = ControlClient(socket, config.llm.agent_seconds + 30)
    try:
        said = client.call("ask", question=question, policy=policy, db=str(path.resolve()))
    except NotRunning:
        return None
    except Refused as error:
        if error.remote_code == "control.unknown":  # an older version runs
            return None
        raise
    answer = said.get("answer")
    return answer if isinstance(answer, dict) else None


def _by_itself(path: Path, question: str, policy: Policy, config: settings.Config, when: str | None) -> dict[str, Any]:
    """The answer straight from the file."""
    from edge.agent import context_file

    clock = SystemClock()
    with Store.open(path, create=False, read_only=True) as store, snapshot_at(store, when) as snapshot:
        now = moment(when, snapshot) or clock.now()
        offset_s = wearer_offset(snapshot)
        with asker(config, store.space, policy, path) as asking:
            if (before := context_file.recall(path, now)) is not None:
                asking.remember(before)
            found = asking.ask(snapshot, question, now=now, offset_s=offset_s, policy=policy)
        if found.query is not None:
            context_file.keep(path, found.query, offset_s)
        return found.to_json()


def evaluate(
    questions: Annotated[
        Path, typer.Argument(metavar="QUESTIONS.jsonl", help="Rows with id, question, ask_time, choices.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Where the answers go, one JSON line each.")],
    db: DbOption = None,
    policy: PolicyOption = "rules",
) -> None:
    """Answer each question at its ask_time, seeing only what was known by then."""
    from rich.console import Console
    from rich.progress import track

    config = settings.load()
    rows = _questions(questions)
    with (
        Store.open(db_path(db), create=False, read_only=True) as store,
        asker(config, store.space, policy, db_path(db)) as asking,
        writing(out) as target,
    ):
        console = Console(stderr=True)
        for row in track(rows, "questions", console=console, disable=not console.is_terminal):
            now, offset_s = parse_time(str(row["ask_time"]))
            with store.snapshot(now) as snapshot:
                try:
                    found: dict[str, Any] = asking.ask(
                        snapshot, str(row["question"]), now=now, offset_s=offset_s, choices=row.get("choices"), policy=policy,
                        conversation=str(row["id"]),  # each question stands alone
                    ).to_json()  # fmt: skip
                except InputError as error:
                    found = {"answer": str(error), "value": None, "kind": "error", "confidence": 0.0, "evidence": []}
            target.write(json.dumps({"id": row["id"], **found}, ensure_ascii=False) + "\n")
    typer.echo(f"{len(rows)} answers in {out}")


@contextmanager
def asker(config: settings.Config, space: EmbeddingSpace, policy: str, db: Path | None = None) -> Iterator[Asker]:
    """Who answers: rules, and the model of the settings unless only rules may."""
    from edge.agent.asking import Asker
    from edge.answering import eyes_of
    from edge.engines import Engines

    clock, engines = SystemClock(), None
    embed = query_embedding(config, space)
    try:
        if policy != "rules" and config.llm.agent != "rules":
            engines = Engines(config)
        think = None if engines is None else partial(engines.language, "agent")
        eyes = None if engines is None or db is None else eyes_of(config, engines, db)
        yield Asker(config, mono=clock.mono, embed=embed, think=think, eyes=eyes)
    finally:
        if engines is not None:
            engines.close()


def _questions(path: Path) -> list[dict[str, Any]]:
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except OSError as error:
        raise MissingFile(f"{path} cannot be read ({error.strerror}): check the path.") from error
    except ValueError as error:
        raise InputError(f"{path.name} is not JSON lines ({error}): one question object a line.") from error
    if not rows:
        raise InputError(f"{path.name} holds no question: give a file with one JSON object a line.")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict) or not {"id", "question", "ask_time"} <= set(row):
            raise InputError(f"{path.name} line {number}: a question has id, question and ask_time.")
        choices = row.get("choices")
        if choices is not None and not (isinstance(choices, list) and all(isinstance(c, str) for c in choices)):
            raise InputError(f"{path.name} line {number}: choices are a list of texts.")
    return rows


def _told(value: dict[str, Any]) -> list[str]:
    lines = [str(value["answer"])]
    for piece in value["evidence"][:5]:
        gone = f" (what was behind it was pruned: {piece['pruned']})" if "pruned" in piece else ""
        lines.append(f"  {piece['id']:>6}  {clock_told(str(piece['t_start']))}  {piece['text'][:100]}{gone}")
    return lines
