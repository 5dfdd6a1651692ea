"""grove-edge eval proactive: the services of a recorded trace, as rows to be judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from edge import config as settings
from edge.commands.common import JsonOption, say, writing
from edge.config import Frequency
from edge.errors import InputError, MissingFile


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
    from edge.proactive.evaluate import evaluate
    from edge.proactive.model_experts import experts_of
    from edge.proactive.procedures import load
    from storage import EmbeddingSpace, Store

    config = settings.load()
    alerts = config.alerts if frequency is None else config.alerts.model_copy(update={"frequency": frequency})
    known = None if procedures is None else load(procedures)
    expected = Counter() if truth is None else Counter(_types(truth))
    engines = Engines(config)
    try:
        model = engines.text_embedding()
        with writing(out) as target, Store.open(None, space=EmbeddingSpace(model.id, model.dim)) as store:
            judged = evaluate(
                trace, store, model.embed, config,
                window_s=window, procedures=known, drop_speaker=drop_speaker, alerts=alerts,
                thinker=experts_of(engines.thinkers),
            )  # fmt: skip
            target.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in judged.rows)
    finally:
        engines.close()
    said = Counter(str(r["type"]) for r in judged.rows if r["decision"] == "deliver")
    value = {"rows": len(judged.rows), "hours": round(judged.hours, 3), "delivered": dict(sorted(said.items()))}
    if truth is not None:
        value["truth"] = dict(sorted(expected.items()))
    told = ", ".join(f"{kind} {n}" for kind, n in sorted(said.items())) or "nothing"
    say(value, as_json, [f"{len(judged.rows)} rows in {out}; said in {judged.hours:.2f} h: {told}."])


def _types(truth: Path) -> list[str]:
    """The types of the true services."""
    try:
        rows = [json.loads(line) for line in truth.read_text(encoding="utf-8").splitlines() if line.strip()]
        return [str(row["type"]) for row in rows]
    except OSError as error:
        raise MissingFile(f"{truth} cannot be read ({error.strerror}): check the path.") from error
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{truth.name} is not JSON lines with a type each: give a file of true services.") from error
