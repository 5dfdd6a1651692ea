"""What ``grove-edge firmware simulate`` does: a scenario, a firmware, a line, until told to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from firmware_bridge.device import Engine
from firmware_bridge.links.base import Link
from firmware_bridge.links.pty import PtyLink
from firmware_bridge.links.tcp import TcpListener
from firmware_bridge.reference_device import ReferenceDevice, build
from firmware_bridge.scenario import Scenario
from firmware_bridge.simulator import Simulator


def simulate(
    scenario: Scenario,
    now: Callable[[], int],
    stop: threading.Event,
    *,
    tcp: tuple[str, int] | None = None,
    alias: Path | None = None,
    reference: Path | None = None,
    ready: Callable[[Simulator, str], None] = lambda _sim, _url: None,
) -> Simulator:
    """Run a simulated device until ``stop``; returns the simulator, whose board shows what became of it.

    The line is a new pseudo-terminal (``alias``: a symbolic link kept on it) or, with ``tcp``, a listening socket (port 0:
    any). ``reference`` is a folder: the C reference is compiled into it and used as the firmware. ``ready`` is told the
    simulator and the URL for ``links.open_url`` each time the line opens. Raises ReferenceFailed, LinkUnavailable.
    """
    engine: Engine | None = None
    if reference is not None:
        engine = ReferenceDevice(build(reference / "grove-device"), reference / "state.bin")
    simulator = Simulator(scenario, now, engine=engine)
    listener = None if tcp is None else TcpListener(*tcp)
    link: Link = PtyLink(alias=alias) if listener is None else listener
    if listener is not None:
        ready(simulator, listener.name)  # open() waits for a caller, who must know the port before
    try:
        simulator.run(link, stop, None if listener is not None else lambda opened: ready(simulator, opened.name))
    finally:
        if listener is not None:
            listener.shut()
        if isinstance(engine, ReferenceDevice):
            engine.close()
    return simulator
