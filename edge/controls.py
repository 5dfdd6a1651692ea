"""What a running session answers on its control socket."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edge import powering
from edge.answering import handler
from edge.memory.forget import Wish
from edge.patience_calls import calls
from edge.runtime import Runtime
from edge.server.control import ControlServer, control_path
from edge.wishing import Wishing


def control(running: Callable[[], Runtime]) -> ControlServer:
    """The control socket of a session and what it answers."""

    def pause(_: dict[str, Any]) -> dict[str, Any]:
        powering.pause(running(), True)
        return {"paused": True}

    def resume(_: dict[str, Any]) -> dict[str, Any]:
        powering.pause(running(), False)
        return {"paused": False}

    def patience(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
        def call(given: dict[str, Any]) -> dict[str, Any]:
            return calls(Wishing(running().store, running().wall))[name](given)

        return call

    def stop(_: dict[str, Any]) -> dict[str, Any]:
        running().stopping.set()
        return {"stopping": True}

    def forget(args: dict[str, Any]) -> dict[str, Any]:
        wish = Wish.from_json(args)
        return running().errands.look(running(), wish) if args.get("look") else running().forget(wish)

    handlers = {
        "health": lambda _: running().health(), "pause": pause, "resume": resume, "stop": stop, "forget": forget,
    }  # fmt: skip
    handlers["ask"] = handler(running)
    handlers |= {name: patience(name) for name in ("frequency", "quiet_hours", "snooze", "feedback")}
    handlers["power"] = lambda given: powering.choose(running(), given)
    return ControlServer(control_path(), handlers)
