"""grove-edge replay: a recorded trace through the same memory, experts and arbiter as live."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from edge import config as settings
from edge.commands.common import DbOption, JsonOption, db_path, moment, open_for_growth, say
from edge.config import ProfileName


def replay(
    trace: Annotated[Path, typer.Argument(metavar="TRACE.jsonl", help="A recorded trace, one window a line.")],
    db: DbOption = None,
    speed: Annotated[
        Literal["realtime", "max"], typer.Option("--speed", help="As it was, or as fast as it goes.")
    ] = "max",
    until: Annotated[
        str | None,
        typer.Option("--until", help="End the recording at this time (ISO 8601 with a zone).", show_default=False),
    ] = None,
    profile: Annotated[
        ProfileName | None,
        typer.Option("--profile", help="wear or clip; without it what the trace says, else the setting."),
    ] = None,
    record: Annotated[
        Path | None, typer.Option("--record", help="Write what was replayed as a trace again.", show_default=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Replay a recorded trace into a memory; a replay that was killed goes on where it was."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from edge.proactive.model_experts import experts_of
    from edge.recorder import Recorder, check_trace
    from edge.replay import replay as run

    config = settings.load()
    until_us = moment(until)
    checked = check_trace(trace)  # before a database is made
    if record is not None:
        Recorder(record, 1.0).close()  # whether it can be written
    chosen = profile or (checked.profile if checked.profile != "wear" else config.memory.profile)
    config = config.model_copy(update={"memory": config.memory.model_copy(update={"profile": chosen})})
    console = Console(stderr=True)
    with (
        open_for_growth(db_path(db), config) as (store, embed, model, thinkers),
        Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            disable=as_json or not console.is_terminal,
        ) as bar,
    ):
        task = bar.add_task("windows", total=checked.windows)
        report = run(
            trace,
            store,
            embed,
            config,
            checked=checked,
            until=until_us,
            realtime=speed == "realtime",
            record=record,
            progress=lambda n, _: bar.update(task, completed=n),
            growing=model,
            thinker=experts_of(thinkers),
        )
        with store.snapshot() as snapshot:
            totals = {
                "windows": snapshot.trace.count(),
                "episodes": snapshot.episodes.count(),
                "moments": snapshot.moments.count(),
                "patterns": snapshot.patterns.count(),
                "services": len(snapshot.services.between()),
            }
    new = report.totals
    value = {
        "recording": report.recording,
        **asdict(new),
        "skipped": report.skipped,
        "seconds": report.seconds,
        "total": totals,
        "db": str(db_path(db)),
    }
    faster = f"{new.recorded_s / report.seconds:,.0f} times real time" if report.seconds else "at once"
    grown = f"{new.windows} windows, {new.episodes} episodes, {new.moments} moments, {new.patterns} patterns"
    alerts = f"{new.services} services ({new.delivered} said)"
    lines = [f"{report.recording}: {grown}, {alerts} in {report.seconds:.1f} s, {faster}."]
    if model is not None:
        value["growing"] = model.health()
        lines += model.fell_back()
    if report.skipped:
        lines.append(f"{report.skipped} windows were in the memory already.")
    say(value, as_json, [*lines, f"Memory: {db_path(db)}"])
