"""grove-edge firmware simulate: glasses that anyone can run, on a pseudo-terminal or a socket."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edge.commands.common import JsonOption, say

if TYPE_CHECKING:
    from firmware_bridge.simulator import Simulator

firmware = typer.Typer(help="The glasses' microcontroller: a simulated one.")


@firmware.callback()
def _firmware() -> None:
    """The glasses' microcontroller."""


@firmware.command("simulate")
def simulate(
    scenario: Annotated[
        Path | None, typer.Option("--scenario", help="A TOML file of events; without it the day that comes with it.")
    ] = None,
    tcp: Annotated[
        str | None, typer.Option("--tcp", help="HOST:PORT to listen on instead of a pseudo-terminal.")
    ] = None,
    link: Annotated[Path | None, typer.Option("--link", help="A symbolic link to keep on the pseudo-terminal.")] = None,
    reference: Annotated[
        bool, typer.Option("--reference", help="Compile the C reference and run it as the firmware (needs a compiler).")
    ] = False,
    duration: Annotated[
        float | None, typer.Option("--duration", min=0.1, max=1e9, help="Stop after so many seconds.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Simulated glasses until interrupted; point the setting device.glasses at the address it prints."""
    from edge.clock import SystemClock
    from edge.errors import UsageError
    from firmware_bridge.scenario import load
    from firmware_bridge.simulate import simulate as run

    chosen = scenario or Path(__file__).resolve().parents[2] / "firmware_bridge" / "scenarios" / "day.toml"
    address: tuple[str, int] | None = None
    if tcp is not None:
        host, _, port = tcp.rpartition(":")
        if not host or not port.isdecimal() or len(port) > 5 or int(port) > 65_535:
            raise UsageError("Write --tcp as 127.0.0.1:7000.")
        address = (host, int(port))
    if link is not None and (not link.name or not link.parent.is_dir() or (link.exists() and not link.is_symlink())):
        raise UsageError(f"{str(link)[:200]} cannot be a link: name one that is not there yet, in a folder that is.")
    clock, stop = SystemClock(), threading.Event()
    if duration is not None:
        threading.Timer(duration, stop.set).start()

    def ready(_: Simulator, url: str) -> None:
        say({"glasses": url}, as_json, [f"Glasses at {url}"])

    with tempfile.TemporaryDirectory() as folder:
        try:
            run(
                load(chosen),
                clock.mono,
                stop,
                tcp=address,
                alias=link,
                reference=Path(folder) if reference else None,
                ready=ready,
            )
        except KeyboardInterrupt:
            stop.set()
