"""grove-edge run and stop: the device itself, and its end."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from edge import config as settings
from edge.clock import SystemClock, parse_time
from edge.commands.common import DbOption, JsonOption, db_path, say
from edge.config import Domain, ProfileName

if TYPE_CHECKING:
    from rich.console import Console

    from edge.bus import Subscription
    from edge.runtime import Runtime


def run(
    profile: Annotated[
        ProfileName | None,
        typer.Option("--profile", help="wear (all day) or clip; without it clip for files under ten minutes."),
    ] = None,
    domain: Annotated[Domain | None, typer.Option("--domain", help="What is seen; without it the setting.")] = None,
    start: Annotated[
        str | None, typer.Option("--start", help="When a file began (ISO 8601 with a zone).", show_default=False)
    ] = None,
    source: Annotated[
        str | None, typer.Option("--source", help="camera, /dev/videoN, a file, a folder of images, a URL, or none.")
    ] = None,
    mic: Annotated[str | None, typer.Option("--mic", help="default, device:NAME, a sound file, or none.")] = None,
    speaker: Annotated[str | None, typer.Option("--speaker", help="default, device:NAME, a WAV file, or none.")] = None,
    db: DbOption = None,
    speed: Annotated[
        Literal["realtime", "max"],
        typer.Option("--speed", help="How a file is played: as it was, or as fast as it goes."),
    ] = "max",
    duration: Annotated[
        float | None,
        typer.Option("--duration", min=0.1, max=1e9, help="Stop after so many seconds.", show_default=False),
    ] = None,
    record: Annotated[
        Path | None, typer.Option("--record", help="Write the session as a trace as well.", show_default=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Capture, perceive, remember, and say what helps, until the source ends or it is stopped."""
    from rich.console import Console

    from edge.app import build, serve
    from edge.logs import setup
    from edge.recorder import Recorder
    from edge.runtime import Options
    from edge.voice.player import WavPlayer

    config = settings.load()
    sound = mic or config.capture.mic
    alone = source is None and config.capture.source == "camera" and Path(sound).suffix != ""
    source = "none" if alone else source or config.capture.source  # a sound file alone is a conversation
    if domain is not None:
        config = config.model_copy(update={"memory": config.memory.model_copy(update={"domain": domain})})
    options = Options(
        db=db_path(db),
        source=source,
        mic=sound,
        speaker=speaker or config.voice.speaker,
        speed="realtime" if source == "none" else speed,
        start=None if start is None else parse_time(start),
        duration_s=duration,
        record=record,
    )
    if record is not None:  # what cannot be written is better known before a memory is made
        Recorder(record, 1.0).close()
    if options.speaker.lower().endswith(".wav"):
        place = Path(options.speaker)
        fresh = not place.exists()
        WavPlayer(place).close()
        if fresh:
            place.unlink(missing_ok=True)
    clock = SystemClock()
    device = config.device
    logs = setup(settings.state_dir() / "log", device.log_level, device.log_mb, device.log_files, clock)
    try:
        began = clock.mono()
        runtime = build(config, options, profile)
        watch = _Watch(runtime, Console(stderr=True), as_json)
        try:
            serve(runtime, watch.look)
        finally:
            watch.close()
    finally:
        logs.close()
    seconds = round((clock.mono() - began) / 1_000_000, 2)
    health = watch.last
    value = {
        "recording": runtime.recording,
        **asdict(runtime.totals),
        "seconds": seconds,
        "share_perceived": health["perception"]["share_perceived"],
        "share_kept": health["perception"]["share_kept"],
        "gaps": health["capture"]["gaps"],
        "fell_back": health["fell_back"],
        "db": str(options.db),
        "speaker": options.speaker,
    }
    t = runtime.totals
    grown = f"{t.windows} windows, {t.episodes} episodes, {t.moments} moments, {t.patterns} patterns"
    if not t.windows and not runtime.live:
        say(value, as_json, ["Nothing was added: the recording was in the memory already.", f"Memory: {options.db}"])
        return
    lines = [
        f"{grown}, {t.services} services ({t.delivered} said) in {seconds:.0f} s for {t.recorded_s / 60:.1f} minutes.",
        f"Perceived anew: {value['share_perceived']:.0%} of the frames; kept as evidence: {value['share_kept']:.0%}.",
        *(f"Fell back: {text}" for text in health["fell_back"]),
        f"Memory: {options.db}",
    ]
    say(value, as_json, lines)


def stop(as_json: JsonOption = False) -> None:
    """Stop the running device; what is committed is safe."""
    from edge.server.control import ControlClient, control_path

    say(ControlClient(control_path()).call("stop"), as_json, ["Stopping."])


class _Watch:
    """What a run shows while it goes: a progress bar for a recording, a line for each thing worth a line."""

    def __init__(self, runtime: Runtime, console: Console, quiet: bool) -> None:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

        self._runtime, self._console, self._quiet = runtime, console, quiet
        topics = ("episodes", "intentions", "decisions")
        self._queues: list[Subscription] = [runtime.bus.subscribe(t) for t in topics]
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            console=console,
            disable=quiet or runtime.live or not console.is_terminal,
        )
        self._bar.start()
        self._task = self._bar.add_task("watching", total=1.0)
        self._told: set[str] = set()
        self.last: dict[str, Any] = runtime.health()

    def look(self, runtime: Runtime) -> None:
        """Called at every look of the supervisor."""
        from edge.doctor import down

        progress = getattr(runtime.capture, "progress", None)
        if progress is not None:
            waiting = runtime.raw.backlog()
            self._bar.update(self._task, completed=min(progress(), 1.0 if not waiting else 0.99))
        for queue in self._queues:
            while queue.backlog():
                message = queue.get(0.0)
                line = _line(message)
                if line and not self._quiet:
                    self._console.print(line, highlight=False, markup=False, soft_wrap=True)
        self.last = runtime.health()
        waits = [text for text in self.last["fell_back"] if text.startswith(("memory: ", "disk: "))]
        for text in down(self.last) + waits:  # neither in silence
            if not self._quiet and text not in self._told:
                self._told.add(text)
                self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def close(self) -> None:
        """The run is over."""
        self._bar.stop()


def _line(message: object) -> str:
    from edge.clock import local
    from edge.messages import EpisodeClosed, IntentionChanged, ServiceDecided

    if isinstance(message, EpisodeClosed):
        e = message.episode
        return f"{local(e.t_start, e.offset_s):%H:%M:%S}  e{e.id}  {e.subject}"
    if isinstance(message, IntentionChanged):
        i = message.intention
        return f"{local(i.t, i.offset_s):%H:%M:%S}  i{i.id}  {i.state}: {i.what}"
    if isinstance(message, ServiceDecided) and message.decision.decision == "deliver":
        s = message.service
        return f"{local(message.decision.t, s.offset_s):%H:%M:%S}  a{s.id}  ALERT {s.type}: {s.text}"
    return ""
