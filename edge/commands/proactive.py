"""grove-edge eval proactive: the services of a recorded trace, as rows to be judged."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from edge import config as settings
from edge.commands.common import JsonOption, say
from edge.config import Frequency


def evaluate_proactive(
    trace: Annotated[Path, typer.Option("--trace", help="A recorded trace.")],
    out: Annotated[Path, typer.Option("--out", help="Where the rows go, one JSON line each.")],
    truth: Annotated[Path | None, typer.Option("--truth", help="True services, to print counts beside.")] = None,
    window: Annotated[float | None, typer.Option("--window", min=1.0, help="Cut windows to so many seconds.")] = None,
    procedures: Annotated[Path | None, typer.Option("--procedures", help="A JSON file of step lists.")] = None,
    drop_speaker: Annotated[str, typer.Option("--drop-speaker", help="Leave out what this speaker says.")] = "",
    frequency: Annotated[Frequency | None, typer.Option("--frequency", help="Without it the setting.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Replay a trace into an empty memory and write every service with when it could first be said."""
    from collections import Counter

    from edge.engines import Engines
    from edge.errors import MissingFile
    from edge.proactive.evaluate import evaluate
    from edge.proactive.model_experts import experts_of
    from edge.proactive.procedures import load
    from storage import EmbeddingSpace, Store

    config = settings.load()
    alerts = config.alerts if frequency is None else config.alerts.model_copy(update={"frequency": frequency})
    known = None if procedures is None else load(procedures)
    expected: Counter[str] = Counter()
    if truth is not None:
        try:
            lines = truth.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise MissingFile(f"{truth} cannot be read ({error.strerror}): check the path.") from error
        expected.update(str(json.loads(line)["type"]) for line in lines if line.strip())
    engines = Engines(config)
    try:
        model = engines.text_embedding()
        with Store.open(None, space=EmbeddingSpace(model.id, model.dim)) as store:
            judged = evaluate(
                trace, store, model.embed, config,
                window_s=window, procedures=known, drop_speaker=drop_speaker, alerts=alerts,
                thinker=experts_of(engines.thinkers),
            )  # fmt: skip
    finally:
        engines.close()
    with os.fdopen(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as target:
        for row in judged.rows:
            target.write(json.dumps(row, ensure_ascii=False) + "\n")
    said = Counter(str(r["type"]) for r in judged.rows if r["decision"] == "deliver")
    value = {"rows": len(judged.rows), "hours": round(judged.hours, 3), "delivered": dict(sorted(said.items()))}
    if truth is not None:
        value["truth"] = dict(sorted(expected.items()))
    told = ", ".join(f"{kind} {n}" for kind, n in sorted(said.items())) or "nothing"
    say(value, as_json, [f"{len(judged.rows)} rows in {out}; said in {judged.hours:.2f} h: {told}."])
