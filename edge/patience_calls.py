"""What the control socket and the commands share: each call of the wearer's patience by name, with plain arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from edge.config import Quiet
from edge.wishing import Wishing

Call: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]


def calls(wishing: Wishing) -> dict[str, Call]:
    """The calls, bound to where wishes are written; each raises InputError or StorageError with a sentence."""

    def snooze(given: dict[str, Any]) -> dict[str, Any]:
        if given.get("kind", "all") == "all":
            return wishing.hush(given.get("seconds"))
        return wishing.snooze(given["kind"], given["what"], given.get("seconds"))

    def quiet(given: dict[str, Any]) -> dict[str, Any]:
        hours = given.get("quiet")
        return wishing.quiet(None if hours is None else Quiet.model_validate(hours))

    return {
        "frequency": lambda given: wishing.frequency(given.get("level")),
        "quiet_hours": quiet,
        "snooze": snooze,
        "pause": lambda _: wishing.pause(True),
        "resume": lambda _: wishing.pause(False),
        "power": lambda given: wishing.mode(given.get("mode")),
        "feedback": lambda given: wishing.feedback(given["kind"], given.get("how", ""), given.get("id")),
    }
