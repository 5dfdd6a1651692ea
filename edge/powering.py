"""Power in a running session: readings into a mode, every column of the mode's row into effect, and the log of it.

`APPLY` is the table of what each column does; a test sweeps it against the columns of `ModeRow`.  What a column does to
a window (experts, least priority) travels with the window's own power mode, so that a replay honours it too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from edge.capture.live import LiveCapture
from edge.capture.power_sources import open_power
from edge.clock import US
from edge.errors import sentence_of
from edge.logs import Log
from edge.power import TIERS, ModeRow, PowerState, announcements, step
from edge.proactive.alerts import alert
from edge.wishing import Wishing, chosen_mode, paused, said_last
from models.errors import ModelError
from storage.errors import StorageError
from storage.patience import PowerEvent

if TYPE_CHECKING:
    from edge.runtime import Runtime

_log = Log("power")
LOOK_S = 1.0
READ_S = 5.0  # between two readings of a source of our own
TAP_S = 20.0  # an alert said longer ago is not what a tap is about
SILENCE_S = 1800.0  # of a double tap that answers no alert
TYPE_SILENCE_S = 3600.0  # of a double tap that answers one
RESTORE_US = 24 * 3600 * US  # an older power log tells nothing of the present discharge


def begin(runtime: Runtime) -> None:
    """Take up what the memory keeps of the session before: a pause, the chosen mode, the levels already warned of."""
    with runtime.store.snapshot() as snapshot:
        left_s = paused(snapshot, runtime.wall.now())
        runtime.choice, last = chosen_mode(snapshot), snapshot.patience.last_power()
    still = left_s is not None
    if last is not None and last.warned and 0 <= runtime.wall.now() - last.t <= RESTORE_US:
        runtime.power = replace(runtime.power, warned=frozenset(map(int, last.warned.split())))
    if runtime.glasses is not None:
        runtime.glasses.companion = replace(runtime.glasses.companion, power=runtime.power, paused=still)
    if left_s is not None:
        runtime.awake_at = None if left_s == 0 else runtime.wall.mono() + round(left_s * US)
        runtime.hold(True)


def run(runtime: Runtime, stop: threading.Event) -> None:
    """Read, decide, apply and log until `stop`."""
    source = open_power(runtime.config.device.power) if runtime.glasses is None else None
    read_at: int | None = None
    applied: ModeRow | None = None
    logged: PowerState | None = None
    while not stop.is_set():
        now = runtime.wall.mono()
        if source is not None and (read_at is None or now - read_at >= READ_S * US):
            read_at, before = now, runtime.power
            runtime.power = step(before, replace(source.read(), choice=runtime.choice), now)
            for kind, key, slots in announcements(before, runtime.power):
                runtime.told.append((kind, key, alert(kind).template.format(**dict(slots))))
        state = runtime.power
        if applied != state.row:
            apply(runtime, state.row)
            applied = state.row
        if not runtime.paused.is_set() and (logged is None or _worth_a_line(logged, state)):
            logged = state if _keep(runtime, state) else logged
        if runtime.wall.wait(stop, LOOK_S):
            return


def apply(runtime: Runtime, row: ModeRow) -> None:
    """Put every column of a row into effect."""
    for column, put in APPLY.items():
        try:
            put(runtime, row)
        except ModelError as error:  # the smaller model is not here: the chosen one goes on
            _log.warning("mode_not_applied", column=column, cause=error)
    _log.info("power_mode", mode=runtime.power.mode, interval=row.interval, tier=row.tier)


def told(runtime: Runtime) -> dict[str, Any]:
    """For /health."""
    state = runtime.power
    left = state.hours_left
    return {
        "mode": state.mode,
        "chosen": runtime.choice,
        "battery": state.battery,
        "charging": state.charging,
        "temperature_c": state.temperature_c,
        "watts": state.watts,
        "hours_left": None if left is None else round(left, 1),
        "work_waits": state.row.sync == "later",
    }


def may_tidy(runtime: Runtime) -> bool:
    """Whether work that can wait may be done now: consolidation by a model, deferred requests, tidying of the memory."""
    return runtime.power.row.sync == "now"


def pause(runtime: Runtime, still: bool) -> None:
    """The wearer's pause: at once, and kept for the next start.  Callable from any thread."""
    if not still:
        runtime.hold(False)
    awake = runtime.awake_at if still else None
    seconds = None if awake is None else max(1.0, (awake - runtime.wall.mono()) / US)
    try:
        Wishing(runtime.store, runtime.wall).pause(still, seconds)
    except StorageError as error:  # it holds all the same, until a restart
        _log.error("pause_not_kept", cause=error)
    if still:
        runtime.hold(True)
    if runtime.glasses is not None:
        runtime.glasses.companion = replace(runtime.glasses.companion, paused=still)


def choose(runtime: Runtime, given: dict[str, Any]) -> dict[str, Any]:
    """The wearer chooses a power mode, None: by the battery."""
    done = Wishing(runtime.store, runtime.wall).mode(given.get("mode"))
    runtime.choice = given.get("mode")
    return done


def tapped(runtime: Runtime, taps: int, double_taps: int) -> None:
    """Taps on the glasses: after an alert one is thanks and two wave it away and silence its kind for an hour; without an
    alert one is for the voice, as the wake word is, and two ask for silence, which two more end.
    """
    if not (taps or double_taps) or runtime.paused.is_set():
        return
    wishing, now = Wishing(runtime.store, runtime.wall), runtime.wall.now()
    with runtime.store.snapshot() as snapshot:
        number = said_last(snapshot, now, TAP_S)
        kind = None if number is None else snapshot.services.get(number).type
        hush = snapshot.patience.wish("do-not-disturb")
    try:
        if number is not None and kind is not None:
            wishing.feedback("dismissed" if double_taps else "thanked", "tap", number)
            if double_taps and not alert(kind).critical:
                wishing.snooze("type", kind, TYPE_SILENCE_S)
        elif taps and not double_taps and runtime.listener is not None:
            runtime.listener.tap()
        elif double_taps:
            on = hush is not None and hush.value == "on" and hush.until is not None and hush.until > now
            wishing.hush(None if on else SILENCE_S)
    except StorageError as error:
        _log.error("tap_not_kept", cause=error, reason=sentence_of(error))


def _worth_a_line(before: PowerState, now: PowerState) -> bool:
    return (before.mode, before.charging, before.warned) != (now.mode, now.charging, now.warned)


def _keep(runtime: Runtime, state: PowerState) -> bool:
    left = state.hours_left
    event = PowerEvent(
        runtime.wall.now(), state.mode, None if state.battery is None else round(state.battery, 1), state.charging,
        state.temperature_c, None if state.watts is None else round(state.watts, 3),
        None if left is None else round(left, 2), " ".join(map(str, sorted(state.warned, reverse=True))),
    )  # fmt: skip
    try:
        with runtime.store.transaction() as tx:
            tx.patience.power(event)
    except StorageError as error:  # tried again at the next look
        _log.error("power_not_kept", cause=error)
        return False
    return True


def _interval(runtime: Runtime, row: ModeRow) -> None:
    if isinstance(runtime.capture, LiveCapture):
        growth = runtime.config.memory.growth(runtime.config.memory.profile)
        runtime.capture.sample_every(growth.frame_interval_s * row.interval)


def _glance(runtime: Runtime, row: ModeRow) -> None:
    if runtime.watch is not None:
        runtime.watch.every_s = row.glance_s


def _tier(runtime: Runtime, row: ModeRow) -> None:
    runtime.light.tier = TIERS[row.tier]


def _vlm(runtime: Runtime, row: ModeRow) -> None:
    if not row.vlm:  # perception asks the state itself before each window; the memory is given back here
        runtime.engines.thinkers.unload()


def _offload(runtime: Runtime, row: ModeRow) -> None:
    runtime.engines.thinkers.offload = row.offload


def _proactive(runtime: Runtime, row: ModeRow) -> None:
    del row
    runtime.pipeline.proactive.mode = runtime.power.mode


def _tts(runtime: Runtime, row: ModeRow) -> None:
    runtime.voice.use(runtime.engines.small_tts() if row.tts == "small" else None)


def _asr(runtime: Runtime, row: ModeRow) -> None:
    runtime.light.hears = row.asr != "off"
    runtime.light.small_asr = runtime.engines.small_asr() if row.asr == "small" else None


def _sync(runtime: Runtime, row: ModeRow) -> None:
    (runtime.tidy.set if row.sync == "now" else runtime.tidy.clear)()


APPLY: dict[str, Callable[[Runtime, ModeRow], None]] = {
    "interval": _interval,
    "glance_s": _glance,
    "tier": _tier,
    "vlm": _vlm,
    "offload": _offload,
    "experts": _proactive,
    "min_priority": _proactive,
    "tts": _tts,
    "asr": _asr,
    "sync": _sync,
}
