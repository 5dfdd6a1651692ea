"""Replay: a recorded trace through the same memory, experts and arbiter as live, under the replay clock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from edge.clock import US, ReplayClock, SystemClock
from edge.config import Config
from edge.growing import Growing
from edge.memory.patterns import Embed
from edge.messages import Message
from edge.pipeline import Pipeline, Totals
from edge.proactive.model_experts import ModelExperts
from edge.recorder import Checked, Recorder, check_trace, default_frames, read_trace
from storage import Store
from storage.records import Window


@dataclass(slots=True)
class ReplayReport:
    """What a replay did: windows passed over, seconds it took, and what it added."""

    recording: str = ""
    skipped: int = 0
    seconds: float = 0.0
    totals: Totals = field(default_factory=Totals)


def replay(
    trace: Path,
    store: Store,
    embed: Embed,
    config: Config,
    *,
    checked: Checked | None = None,
    until: int | None = None,
    realtime: bool = False,
    record: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
    heard: Callable[[list[Message]], None] | None = None,
    growing: Growing | None = None,
    thinker: ModelExperts | None = None,
) -> ReplayReport:
    """Feed a trace into a memory; windows that the memory holds already are passed over, so a killed replay goes on.

    The whole file is checked first (unless `checked`, what check_trace returned, is given): nothing is stored of a trace
    that breaks the format.  `until` (microseconds) ends the recording there: of the window in progress only the dated
    items so far count, for nothing else was known yet.  `growing` is a language model's part, if it has one;
    `thinker` are experts by a model beside the rules.
    Raises InputError and StorageError subclasses.
    """
    constants = config.memory.growth(config.memory.profile)
    total = (checked or check_trace(trace)).windows
    system, clock = SystemClock(), ReplayClock()
    began = system.mono()
    pipeline = Pipeline(store, embed, config, clock, growing)
    pipeline.think(thinker)
    recorder = Recorder(record, constants.frame_interval_s) if record is not None else None
    if recorder is not None:
        with store.transaction() as tx:
            tx.erase.remember_file(str(recorder.path.resolve()), system.now())
    report = ReplayReport()
    report.totals.count(pipeline.catch_up())
    last_end: int | None = None
    going = ""
    with store.snapshot() as snapshot:
        stored = {name: w.t_end for name in snapshot.trace.recordings() if (w := snapshot.trace.last(name))}
    try:
        for number, whole in enumerate(
            _until(read_trace(trace, constants.frame_interval_s), until, constants.frame_interval_s), 1
        ):
            report.recording = whole.recording
            held = stored.get(whole.recording, whole.t_start)
            if whole.t_end <= held:
                report.skipped += 1
                if recorder is not None:
                    recorder.write(whole)
                continue
            # An earlier replay may have been told to end inside this window.
            window = _rest(whole, held, constants.frame_interval_s) if whole.t_start < held else whole
            if realtime and last_end is not None:
                _pace(system, (window.t_end - last_end) / US)
            # The recording before has ended, as it did when they came one by one.
            messages = pipeline.end() if going not in ("", window.recording) else []
            messages += pipeline.step(window)
            going, last_end = window.recording, window.t_end
            report.totals.count(messages)
            if recorder is not None:
                recorder.write(window)
            if heard is not None:
                heard(messages)
            if progress is not None:
                progress(number, total)
        messages = pipeline.end()
        report.totals.count(messages)
        if heard is not None:
            heard(messages)
    finally:
        if recorder is not None:
            recorder.close()
    report.seconds = round((system.mono() - began) / US, 3)
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


def _rest(window: Window, after: int, frame_interval_s: float) -> Window:
    """What of a window came after that time; what tells of it as a whole was not known before its end."""
    return replace(
        window,
        t_start=after,
        captions=tuple(c for c in window.captions if c.t > after),
        events=tuple(e for e in window.events if e.t > after),
        texts=tuple(x for x in window.texts if x.t > after),
        speech=tuple(s for s in window.speech if s.t > after),
        keyframes=tuple(k for k in window.keyframes if k.t > after),
        gaps=tuple(g for g in window.gaps if g.t_end > after),
        frames=default_frames(after, window.t_end, frame_interval_s),
    )


def _pace(clock: SystemClock, seconds: float) -> None:
    clock.wait(threading.Event(), max(0.0, seconds))
