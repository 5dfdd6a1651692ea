"""grove-edge doctor, setup, models, firmware, serve: caring for the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from edge import config as settings
from edge.commands.common import DbOption, JsonOption, db_path, emit, say

if TYPE_CHECKING:
    from rich.progress import TaskID

    from models import Registry
    from models.fetch import Progress

models = typer.Typer(help="The models of each role: where they are, their licence, whether they are whole.")


def doctor(db: DbOption = None, as_json: JsonOption = False) -> None:
    """Check the machine, the settings, the models, the memory and a running device; exit 3 when degraded."""
    from edge.doctor import examine

    findings = examine(settings.load(), db_path(db))
    rows = [f.to_json() for f in findings]
    if not as_json:
        rows = [
            {**row, "what": f"{str(row['what']).rstrip('.')}: {row['do']}" if row["do"] else row["what"]}
            for row in rows
        ]
    emit(rows, as_json, ("state", "part", "what"), "")
    if any(f.state != "ok" for f in findings):
        raise typer.Exit(3)


@models.command("list")
def models_list(as_json: JsonOption = False) -> None:
    """Every model: role, size, licence, whether it is here and whole, in which profiles it is."""
    from models.manifest import load_profiles

    registry = _registry()
    profiles = load_profiles()
    rows: list[dict[str, Any]] = []
    for entry in registry.entries:
        status = registry.status(entry.id)
        rows.append(
            {
                "id": entry.id,
                "role": entry.role,
                "default": entry.default,
                "mb": round(sum(f.size for f in entry.files) / 1e6, 1),
                "licence": entry.licence,
                "installed": status.installed,
                "verified": status.verified,
                "profiles": " ".join(p.name for p in profiles if entry.id in p.models),
                "memory_mb": entry.memory_mb,
                "expected": [e.model_dump() for e in entry.expected],
                "licence_url": entry.licence_url,
                "state": "verified" if status.verified else "wrong" if status.installed else "absent",
                "problem": status.problem or "",
            }
        )
    if not as_json:
        rows = [{**row, "default": "yes" if row["default"] else ""} for row in rows]
    emit(rows, as_json, ("id", "role", "default", "mb", "licence", "state"), "The manifest is empty.")


@models.command("verify")
def models_verify(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Which; without any, all that are here.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Read every file and compare its sha256 with the manifest."""
    registry = _registry()
    wanted = ids or [e.id for e in registry.entries if registry.status(e.id).installed]
    rows = []
    for model_id in wanted:
        files = registry.verify(model_id)
        rows.append({"id": model_id, "verified": True, "files": [str(p) for p in files.values()]})
    emit(rows, as_json, ("id", "verified", "files"), "No model is here.")


@models.command("pull")
def models_pull(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Which models to fetch.")] = None,
    profile: Annotated[
        str | None, typer.Option("--profile", help="All of a profile: light, starter, orin-8gb, orin-16gb, pi5, x86.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Fetch models from their sources: resumable, checked, never half there.  What is here is not fetched again."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn
    from rich.progress import Progress as Bar

    from edge.errors import UsageError

    wanted = [*(ids or ()), *_of_profile(profile)]
    if not wanted:
        raise UsageError("Name the models to fetch, or a profile with --profile; see grove-edge models list.")
    registry = _registry()
    console = Console(stderr=True)
    rows = []
    with Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        console=console,
        disable=not console.is_terminal,
    ) as bar:
        for model_id in dict.fromkeys(wanted):
            task = bar.add_task(model_id, total=None)

            def show(p: Progress, task: TaskID = task) -> None:
                bar.update(task, completed=p.done, total=p.total, description=p.name)

            files = registry.fetch(model_id, show)
            rows.append({"id": model_id, "files": [str(p) for p in files.values()]})
    emit(rows, as_json, ("id", "files"), "Nothing to fetch.")


def setup(
    yes: Annotated[bool, typer.Option("--yes", help="Take the defaults and the options given, ask nothing.")] = False,
    name: Annotated[str | None, typer.Option("--name", help="Your name as others say it.")] = None,
    zone: Annotated[str | None, typer.Option("--zone", help="Your time zone, as in Europe/Zurich.")] = None,
    quiet: Annotated[str | None, typer.Option("--quiet-hours", help="As in 22:00-07:00; empty for none.")] = None,
    consent: Annotated[
        bool, typer.Option("--consent", help="You have read docs/privacy.md and agree to what is stored.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """First set-up: owner, consent, quiet hours, zone, a look at camera and microphone; writes the settings."""
    from edge.first_run import Answers, ask_owner, check_senses, write_settings

    given = Answers(name=name, zone=zone, quiet=quiet, consent=consent)
    answers = given if yes else ask_owner(given, typer.prompt, typer.confirm, typer.echo)
    path = write_settings(answers, settings.config_path())
    senses = check_senses()
    value = {"settings": str(path), **senses}
    say(value, as_json, [f"Settings written to {path}.", *(f"{part}: {told}" for part, told in senses.items())])


def serve(
    port: Annotated[int | None, typer.Option("--port", min=1, max=65535, help="Port on loopback.")] = None,
) -> None:
    """Serve /health over HTTP on loopback, behind a token, for a running device, until it is interrupted."""
    import threading

    from edge.errors import ControlError, UsageError, sentence_of
    from edge.server.control import ControlClient, control_path
    from edge.server.http import serve_health, token_in

    chosen = port or settings.load().device.health_port
    if not chosen:
        raise UsageError("Give --port, or set device.health_port.")
    client = ControlClient(control_path(), timeout_s=5.0)

    def snapshot() -> dict[str, Any]:
        try:
            return client.call("health")
        except ControlError as error:
            return {"state": "down", "detail": sentence_of(error)}

    folder = settings.runtime_dir()
    token = token_in(folder)
    typer.echo(f"http://127.0.0.1:{chosen}/health  (Authorization: Bearer, token in {folder / 'token'})")
    serve_health(chosen, snapshot, token, threading.Event())


def _of_profile(name: str | None) -> tuple[str, ...]:
    from edge.errors import UsageError
    from models.manifest import load_profiles

    if name is None:
        return ()
    profiles = {p.name: p.models for p in load_profiles()}
    if name not in profiles:
        raise UsageError(f"There is no profile {name}: choose of {', '.join(profiles)}.")
    return profiles[name]


def _registry() -> Registry:
    from models import Registry

    return Registry(settings.data_dir() / "models", settings.cache_dir())
