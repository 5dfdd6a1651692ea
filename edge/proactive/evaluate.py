"""Proactive services of a recording, as rows to be judged: what was asked, decided, and when it could first be said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from edge.clock import US, ReplayClock, iso
from edge.config import Alerts, Config
from edge.memory.growth import Growth
from edge.memory.patterns import Embed
from edge.messages import Message, ServiceDecided
from edge.proactive.model_experts import ModelExperts
from edge.proactive.procedures import Procedure
from edge.proactive.screening import Proactive
from edge.recorder import read_trace
from storage import Store
from storage.records import Window


@dataclass(frozen=True, slots=True)
class Judged:
    """The services of one recording and how long it was worn, hours."""

    rows: list[dict[str, Any]]
    hours: float


def evaluate(
    trace: Path,
    store: Store,
    embed: Embed,
    config: Config,
    *,
    window_s: float | None = None,
    procedures: Mapping[str, Procedure] | None = None,
    drop_speaker: str = "",
    alerts: Alerts | None = None,
    thinker: ModelExperts | None = None,
) -> Judged:
    """Replay a trace into an empty memory and collect every decision on a service.

    window_s cuts the trace's windows shorter; drop_speaker leaves out what that person says, because an instructor's
    words would give the help away.  Raises InputError and StorageError subclasses.
    """
    clock = ReplayClock()
    growth = Growth(store, embed, config.memory, config.owner.name)
    proactive = Proactive(store, alerts or config.alerts, clock, config.owner.name, procedures=procedures)
    proactive.thinker = thinker
    interval_s = config.memory.growth(config.memory.profile).frame_interval_s
    rows: list[dict[str, Any]] = []
    worn = 0
    for whole in read_trace(trace, interval_s):
        for window in cut(whole, window_s, interval_s):
            if drop_speaker:
                said = tuple(s for s in window.speech if s.speaker.lower() != drop_speaker.lower())
                window = replace(window, speech=said)  # noqa: PLW2901
            worn += window.t_end - window.t_start
            rows += _rows(proactive.step(growth.idle(window.t_start)))
            grown = growth.step(window)
            clock.set(window.t_end, window.offset_s)
            rows += _rows(proactive.step(grown))
    rows += _rows(proactive.step(growth.end()))
    return Judged(rows, worn / US / 3600)


def cut(window: Window, seconds: float | None, frame_interval_s: float) -> Iterator[Window]:
    """A window as shorter ones: each with its own dated items, and of the entities those that its words name."""
    if seconds is None or (window.t_end - window.t_start) <= seconds * US:
        yield window
        return
    step = round(seconds * US)
    for start in range(window.t_start, window.t_end, step):
        end = min(start + step, window.t_end)
        last = end == window.t_end

        def inside(t: int, start: int = start, end: int = end, last: bool = last) -> bool:
            return start <= t < end or (last and t == end)

        captions = tuple(c for c in window.captions if inside(c.t))
        events = tuple(e for e in window.events if inside(e.t))
        words = " ".join([*(c.text for c in captions), *(e.object for e in events)])
        yield replace(
            window,
            t_start=start,
            t_end=end,
            captions=captions,
            events=events,
            texts=tuple(x for x in window.texts if inside(x.t)),
            speech=tuple(s for s in window.speech if inside(s.t)),
            keyframes=tuple(k for k in window.keyframes if inside(k.t)),
            description="; ".join(dict.fromkeys(c.text for c in captions)),
            entities=tuple(e for e in window.entities if e.name in words),
            gaps=window.gaps if start == window.t_start else (),
            frames=max(1, round((end - start) / US / frame_interval_s)),
        )


def _rows(messages: list[Message]) -> list[dict[str, Any]]:
    return [
        {
            "t": iso(m.service.t, m.service.offset_s),
            "t_delivered": iso(m.decision.t, m.service.offset_s),
            "type": m.service.type,
            "text": m.service.text,
            "evidence": list(m.service.evidence),
            "decision": m.decision.decision,
            "reason": m.decision.reason,
        }
        for m in messages
        if isinstance(m, ServiceDecided)
    ]
