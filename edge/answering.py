"""Questions to a running session: one Asker for its voice and its control socket, with the camera for "what is this?"."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, cast

from edge.agent.answer import POLICIES, Policy
from edge.agent.asking import Asker
from edge.agent.glance import Glance
from edge.errors import InputError
from edge.retrieval.looking import Eyes
from storage.keyframes import KeyframeFolder, folder_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from edge.agent.view import Embed
    from edge.bus import Bus
    from edge.clock import Clock
    from edge.config import Config
    from edge.engines import Engines
    from edge.runtime import Runtime
    from models.roles import ImageEmbedding

OTHER = "another memory"


def eyes_of(config: Config, engines: Engines, db: Path) -> Eyes:
    """What the stored frames of a memory are opened and looked at with."""
    looks = config.llm.vision != "off"
    return Eyes(
        KeyframeFolder(folder_of(db)), config.perception, detector=engines.detector, ocr=engines.ocr,
        vision=engines.vision if looks else None, images=lambda: cast("ImageEmbedding", engines.detector()),
    )  # fmt: skip


def session_asker(
    config: Config, engines: Engines, bus: Bus, wall: Clock, embed: Embed, db: Path, *, live: bool
) -> Asker:
    """Who answers in a session; a live one looks through its camera for questions about now."""
    glance: Glance | None = None
    if live:
        never = threading.Event()
        looks = config.llm.vision != "off"
        glance = Glance(
            bus, config.perception, wait=lambda seconds: _wait(wall, never, seconds), detector=engines.detector,
            ocr=engines.ocr, hearing=lambda: (engines.vad(), engines.asr()), vision=engines.vision if looks else None,
            worn=config.memory.domain != "third-person",
        )  # fmt: skip
    return Asker(
        config,
        mono=wall.mono,
        embed=embed,
        think=lambda: engines.language("agent"),
        glance=glance,
        eyes=eyes_of(config, engines, db),
    )


def handler(running: Callable[[], Runtime]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The control socket's `ask`: {"question", "db", "policy"} -> {"answer": `ask --json`'s object}, or {"other": why}."""

    def ask(args: dict[str, Any]) -> dict[str, Any]:
        runtime = running()
        question, policy = args.get("question"), args.get("policy", "auto")
        if not isinstance(question, str) or policy not in POLICIES:
            raise InputError(f"ask takes a question and a policy ({', '.join(POLICIES)}).")
        if runtime.asker is None or not same_memory(runtime.options.db, args.get("db")):
            return {"other": OTHER}
        now = runtime.wall.now()
        with runtime.store.snapshot(now) as snapshot:
            last = snapshot.trace.last()
            offset_s = runtime.wall.offset() if last is None else last.offset_s
            found = runtime.asker.ask(
                snapshot, question, now=now, offset_s=offset_s, policy=cast("Policy", policy), conversation="control"
            )
        return {"answer": found.to_json()}

    return ask


def same_memory(own: Path, asked: object) -> bool:
    """Is the memory asked about (None: any) the one of the session?"""
    return asked is None or str(own.resolve()) == str(asked)


def _wait(wall: Clock, never: threading.Event, seconds: float) -> None:
    wall.wait(never, seconds)
