"""Replay: a recorded trace through the same memory, experts and arbiter as live, under the replay clock."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from edge.clock import US, ReplayClock, SystemClock
from edge.config import Config
from edge.memory.patterns import Embed
from edge.messages import EpisodeClosed, Message, PatternChanged, ServiceAsked, ServiceDecided, WindowCommitted
from edge.pipeline import Pipeline
from edge.recorder import Recorder, check_trace, default_frames, read_trace
from storage import Store
from storage.records import Window


@dataclass(slots=True)
class ReplayReport:
    """What a replay did.  `seconds` is how long it took, `recorded_s` how much worn time it covered."""

    recording: str = ""
    windows: int = 0
    skipped: int = 0
    episodes: int = 0
    moments: int = 0
    patterns: int = 0
    services: int = 0
    delivered: int = 0
    seconds: float = 0.0
    recorded_s: float = 0.0
    services_by_type: dict[str, int] = field(default_factory=dict)

    def count(self, messages: list[Message]) -> None:
        """Add what one step did."""
        types = Counter(self.services_by_type)
        for message in messages:
            if isinstance(message, WindowCommitted):
                self.windows += 1
                self.recorded_s += (message.window.t_end - message.window.t_start) / US
            elif isinstance(message, EpisodeClosed):
                self.episodes += 1
                self.moments += message.moments
            elif isinstance(message, PatternChanged):
                self.patterns += message.new
            elif isinstance(message, ServiceAsked):
                self.services += 1
                types[message.service.type] += 1
            elif isinstance(message, ServiceDecided):
                self.delivered += message.decision.decision == "deliver"
        self.services_by_type = dict(sorted(types.items()))


def replay(
    trace: Path,
    store: Store,
    embed: Embed,
    config: Config,
    *,
    until: int | None = None,
    realtime: bool = False,
    record: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
    heard: Callable[[list[Message]], None] | None = None,
) -> ReplayReport:
    """Feed a trace into a memory; windows that the memory holds already are passed over, so a killed replay goes on.

    The whole file is checked first: nothing is stored of a trace that breaks the format.  `until` (microseconds) ends
    the recording there: of the window in progress only the dated items so far count, for nothing else was known yet.
    Raises InputError and StorageError subclasses.
    """
    constants = config.memory.growth(config.memory.profile)
    total = check_trace(trace, constants.frame_interval_s, constants.cap_s)
    system, clock = SystemClock(), ReplayClock()
    began = system.mono()
    pipeline = Pipeline(store, embed, config, clock)
    recorder = Recorder(record, constants.frame_interval_s) if record is not None else None
    report = ReplayReport()
    report.count(pipeline.catch_up())
    last_end: int | None = None
    with store.snapshot() as snapshot:
        stored = {name: w.t_end for name in snapshot.trace.recordings() if (w := snapshot.trace.last(name))}
    try:
        for number, window in enumerate(
            _until(read_trace(trace, constants.frame_interval_s), until, constants.frame_interval_s), 1
        ):
            report.recording = window.recording
            if window.t_end <= stored.get(window.recording, window.t_start):
                report.skipped += 1
                if recorder is not None:
                    recorder.write(window)
                continue
            if realtime and last_end is not None:
                _pace(system, (window.t_end - last_end) / US)
            messages = pipeline.step(window)
            last_end = window.t_end
            report.count(messages)
            if recorder is not None:
                recorder.write(window)
            if heard is not None:
                heard(messages)
            if progress is not None:
                progress(number, total)
        messages = pipeline.end()
        report.count(messages)
        if heard is not None:
            heard(messages)
    finally:
        if recorder is not None:
            recorder.close()
    report.seconds = round((system.mono() - began) / US, 3)
    report.recorded_s = round(report.recorded_s, 3)
    return report


def _until(windows: Iterator[Window], until: int | None, frame_interval_s: float) -> Iterator[Window]:
    for window in windows:
        if until is None or window.t_end <= until:
            yield window
        elif window.t_start < until:
            yield replace(
                window,
                t_end=until,
                captions=tuple(c for c in window.captions if c.t <= until),
                events=tuple(e for e in window.events if e.t <= until),
                texts=tuple(x for x in window.texts if x.t <= until),
                speech=tuple(s for s in window.speech if s.t <= until),
                keyframes=tuple(k for k in window.keyframes if k.t <= until),
                gaps=tuple(g for g in window.gaps if g.t_end <= until),
                description="",
                entities=(),
                frames=default_frames(window.t_start, until, frame_interval_s),
            )


def _pace(clock: SystemClock, seconds: float) -> None:
    clock.wait(threading.Event(), max(0.0, seconds))
