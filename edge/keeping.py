"""Retention while the device runs, and for the command: when a pass is made, and who is told what went."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edge.clock import US, SystemClock
from edge.config import Config
from edge.errors import ControlError
from edge.logs import Log
from edge.memory.retention import Pass, Retention, Trust
from edge.messages import Health
from edge.powering import may_tidy
from edge.proactive.alerts import speak
from storage import Store
from storage.erase_finish import tidy
from storage.errors import StorageError
from storage.health import HealthEvent
from storage.keyframes import KeyframeFolder, folder_of

if TYPE_CHECKING:
    from edge.runtime import Runtime

_log = Log("retention")

FIRST_S = 60.0  # after a start the senses come first
LOOK_S = 10.0  # how often the free space is looked at between passes
AGAIN_S = 60.0  # least time between passes that a lack of room calls for


def run(runtime: Runtime, stop: threading.Event) -> None:
    """The service: a pass now and then, and at once when the disk fills up; it never works while capture waits for it.

    A recording's pictures are of another day than today: their tiers wait until the memory is grown on live, or are
    made by the command.
    """
    keeper = Retention(runtime.store, KeyframeFolder(folder_of(runtime.options.db)), runtime.config.retention)
    trust, clock = Trust(), runtime.wall
    begun = clock.mono()
    due, earliest = begun + round(FIRST_S * US), begun
    while not clock.wait(stop, LOOK_S):
        now, mono = clock.now(), clock.mono()
        trusted = trust.step(now, mono)
        short = keeper.short_of_room() > 0
        if mono < due and not (short and mono >= earliest):
            continue
        due, earliest = mono + round(runtime.config.retention.every_s * US), mono + round(AGAIN_S * US)
        try:
            if runtime.store.erasures():
                runtime.errands.finish(runtime)
            done = keeper.step(now, trusted=trusted, tiered=runtime.live and may_tidy(runtime))
        except (
            StorageError,
            ControlError,
        ) as error:  # told by the memory service already; the next pass may fare better
            _log.warning("retention_failed", cause=error)
            continue
        _note(runtime, done, now)
        _write_anew(runtime)


def _write_anew(runtime: Runtime) -> None:
    """What an erasure put off: the file written anew, while there is power for it."""
    if not may_tidy(runtime):
        return
    try:
        after = tidy(runtime.store)
    except StorageError as error:  # no room: the next pass may have made some
        _log.warning("not_written_anew", cause=error)
        return
    if after:
        _log.info("written_anew", erasures=after)


def prune(path: Path, config: Config) -> Pass:
    """One pass over a memory that no device runs on.  Raises StorageError."""
    now = SystemClock().now()
    with Store.open(path, create=False, own=True, synchronous=config.memory.synchronous) as store:
        done = Retention(store, KeyframeFolder(folder_of(path)), config.retention).step(now)
        tidy(store)
        if done.anything:
            with store.transaction() as tx:
                tx.health.add(HealthEvent(now, "retention", "pruned", done.told()))
    return done


def _note(runtime: Runtime, done: Pass, now: int) -> None:
    """Nothing goes in silence: the log, /health and the memory's health events have it."""
    kept: dict[str, Any] = dict(runtime.kept)
    for name, count in (("removed", done.removed), ("smaller", done.smaller), ("windows", done.windows)):
        kept[name] = kept.get(name, 0) + count
    kept["freed_mb"] = round(kept.get("freed_mb", 0.0) + done.freed / 1e6, 2)
    was_short, kept["short"] = kept.get("short", ""), done.short
    if done.anything:
        kept["last"] = done.told()
        _log.info("pruned", removed=done.removed, smaller=done.smaller, windows=done.windows, why="; ".join(done.why))
        runtime.bus.publish(Health(now, "retention", "pruned", done.told()))
    if done.short and not was_short:
        runtime.told.append(("storage_low", "disk", speak("storage_low")))
        runtime.bus.publish(Health(now, "disk", "short", done.short))
    runtime.kept = kept
