"""The question before, for a command line that ends after each answer: one small file that only its owner can read.

It holds the last question and when it was asked, nothing of the answer, and is removed when it is too old to be followed.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from edge import config as settings
from edge.agent.followup import FOLLOW_US
from edge.agent.question import Query, understand
from edge.logs import Log
from edge.retrieval.zone import Us, Zone

_log = Log("agent")
NAME = "asked.json"


def context_path() -> Path:
    """Where it lies: in the state folder."""
    return settings.state_dir() / NAME


def recall(memory: Path, now: Us) -> Query | None:
    """The question before to this memory, if it was asked within the time of a follow-up; what is older is removed."""
    path = context_path()
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        text, asked, offset_s = str(told["text"]), int(told["asked"]), int(told["offset_s"])
        same = str(told["memory"]) == str(memory.resolve())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        _log.warning("context_unreadable", cause=error)
        forget()
        return None
    if not 0 <= now - asked <= FOLLOW_US:
        forget()
        return None
    return replace(understand(text, Zone(asked, offset_s)), asked=asked) if same else None


def keep(memory: Path, query: Query, offset_s: int) -> None:
    """Write the question down (0600); a disk that refuses costs the follow-up and nothing else."""
    path = context_path()
    told = {"memory": str(memory.resolve()), "text": query.text, "asked": query.asked, "offset_s": offset_s}
    part = path.with_name(f"{NAME}.{os.getpid()}.part")
    try:
        settings.private_dir(path.parent)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(told, file)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        _log.warning("context_not_kept", cause=error)


def forget() -> None:
    """Remove it: what was asked may name what was just erased."""
    try:
        context_path().unlink(missing_ok=True)
    except OSError as error:
        _log.warning("context_not_removed", cause=error)
