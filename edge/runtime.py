"""One running session: what is open, how the stages hand on, how it fares.

The stages meet on the bus: capture -> raw windows -> perception -> observations -> memory -> alerts -> voice.
Each loop here is thin: it takes a message, calls a pure step, publishes what came out.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from edge import logs, powering
from edge.agent.asking import Asker
from edge.bus import Bus, Subscription
from edge.capture.base import Speed
from edge.capture.device import GlassesLink
from edge.capture.live import LiveCapture
from edge.capture.sink import CaptureHealth
from edge.clock import US, Clock, SystemClock
from edge.config import Config
from edge.engines import Engines
from edge.errands import Errands
from edge.errors import sentence_of
from edge.growing import Growing
from edge.logs import Log
from edge.losing import Losses
from edge.memory.forget import Wish, last
from edge.messages import (
    Health,
    Message,
    Observation,
    RawWindow,
    Say,
    ServiceDecided,
    WindowCommitted,
)
from edge.perception.light import LightPerception
from edge.perception.watch import FrameWatch
from edge.pipeline import Pipeline, Totals
from edge.power import Mode, PowerState
from edge.proactive.alerts import alert
from edge.recorder import Recorder
from edge.server.control import ControlServer
from edge.voice.listener import Listener
from edge.voice.queue import ALERT, CRITICAL, NOTICE, URGENT
from edge.voice.service import VoiceService
from storage import Store
from storage.errors import StoreLocked, StoreUnwritable
from storage.health import HealthEvent
from storage.records import Device, Gap, Window

_log = Log("runtime")
_WAIT_S = 0.2
_TRIES = 2  # how often a window is perceived before it is given up
WEARER, GLASSES = "wearer", "glasses"  # who may want nothing recorded
VOICE_PRIORITY = (NOTICE, NOTICE, ALERT, ALERT, URGENT, CRITICAL)  # of an alert of priority 0 to 5
STUCK = "I cannot store anything new right now. I keep what I notice until there is room."
_THINK_AGAIN_S = 15.0  # between looks for a language model that was away
_RETRY_S = 2.0  # between tries to store what could not be stored


@dataclass(frozen=True, slots=True)
class Options:
    """What a run was asked for."""

    db: Path
    source: str = "camera"
    mic: str = "default"
    speaker: str = "default"
    speed: Speed = "max"
    start: tuple[int, int] | None = None
    duration_s: float | None = None
    record: Path | None = None


class Capture(Protocol):
    """The capture of a recording or of a live source."""

    def run(self, stop: threading.Event) -> None:
        """Fill the bus until the end or until `stop`."""

    def health(self) -> CaptureHealth:
        """How it fares."""

    def close(self) -> None:
        """Let go of the source."""


@dataclass(slots=True)
class Runtime:
    """Everything one session has open; made by edge.app.build, closed by `close`."""

    config: Config
    options: Options
    clock: Clock
    bus: Bus
    store: Store
    engines: Engines
    capture: Capture
    live: bool
    light: LightPerception
    pipeline: Pipeline
    voice: VoiceService
    raw: Subscription
    recording: str
    control: ControlServer
    recorder: Recorder | None = None
    glasses: GlassesLink | None = None
    growing: Growing | None = None
    asker: Asker | None = None
    listener: Listener | None = None
    wall: SystemClock = field(default_factory=SystemClock)
    stopping: threading.Event = field(default_factory=threading.Event)
    paused: threading.Event = field(default_factory=threading.Event)
    captured: threading.Event = field(default_factory=threading.Event)
    perceived: threading.Event = field(default_factory=threading.Event)
    grown: threading.Event = field(default_factory=threading.Event)
    totals: Totals = field(default_factory=Totals)
    states: dict[str, dict[str, Any]] = field(default_factory=dict)
    began: int = 0
    power: PowerState = field(default_factory=PowerState)
    choice: Mode | None = None  # the power mode the wearer chose
    watch: FrameWatch | None = None
    tidy: threading.Event = field(default_factory=threading.Event)  # work that can wait may be done now
    quiet_by: set[str] = field(default_factory=set)  # who wants nothing recorded: the wearer, the glasses
    awake_at: int | None = None  # monotonic time at which a pause ends by itself
    told: deque[tuple[str, str, str]] = field(default_factory=deque)
    thought: deque[Message] = field(default_factory=deque)
    errands: Errands = field(default_factory=Errands)
    losses: Losses = field(default_factory=Losses)
    kept: dict[str, Any] = field(default_factory=dict)
    _observations: Subscription | None = None
    _in_hand: RawWindow | None = None
    _tries: int = 0
    _observed: Observation | None = None
    _last_commit: int | None = None
    _frame_at: int | None = None
    _sound_at: int | None = None
    _stuck: str = ""

    def __post_init__(self) -> None:
        self.began = self.wall.mono()
        self._observations = self.bus.subscribe("observations")

    def run_capture(self, stop: threading.Event) -> None:
        """The capture until it ends, is stopped or is paused."""
        self.capture.run(stop)
        if not self.paused.is_set():
            self.captured.set()

    def run_perception(self, stop: threading.Event) -> None:
        """Raw windows into observations, one at a time.

        A window at which perception died is tried once more when it is started again; if that fails too, it is
        remembered as one in which nothing could be perceived.
        """
        while not stop.is_set():
            raw = self._in_hand or self.raw.get(_WAIT_S)
            self.errands.prime(self)
            if isinstance(raw, RawWindow):
                self._note(raw)
                self._in_hand, self._tries = raw, self._tries + 1
                seen = self.light.step(raw) if self._tries <= _TRIES else [_blind(raw)]
                self.bus.publish([self._powered(o) for o in seen])
                self._in_hand, self._tries = None, 0
            elif self.captured.is_set() and not self.raw.backlog():
                self.perceived.set()
                return

    def run_memory(self, stop: threading.Event) -> None:
        """Observations into the memory, then the experts and the arbiter; the recording's end closes what is open.

        While nothing can be written, an observation waits, and so do those behind it.
        """
        caught_up = False
        while not (stop.is_set() or self.grown.is_set()):
            try:
                if not caught_up:
                    self.happened(self.pipeline.catch_up())
                    caught_up = True
                self._grow_on()
            except (StoreUnwritable, StoreLocked) as error:
                if not self._stuck:
                    self._stuck = sentence_of(error)
                    _log.error("memory_stuck", cause=error)
                    self.bus.publish(Health(self.wall.now(), "memory", "stuck", self._stuck))
                    self.bus.publish(Say(STUCK, ALERT, "memory"))  # past the arbiter, which could not store it
                self.wall.wait(stop, _RETRY_S)
                continue
            if self._stuck:
                self._stuck = ""
                self.bus.publish(Health(self.wall.now(), "memory", "ok", "written again"))

    def run_consolidation(self, stop: threading.Event) -> None:
        """A language model over what was closed, in order; while it is away the work waits, and asks now and then."""
        stage = None if self.growing is None else self.growing.stage
        while stage is not None and not stop.is_set():
            try:
                self.thought.extend(stage.work(stop.is_set))
            except (StoreUnwritable, StoreLocked) as error:
                _log.error("consolidation_not_stored", cause=error)
            if self.grown.is_set():
                self._thought()
                if not (self.growing and self.growing.busy):
                    return
            self.wall.wait(stop, _THINK_AGAIN_S if stage.health.waiting_for else _WAIT_S)

    def _thought(self) -> None:
        """What the language model changed, told like everything else that happened."""
        while self.thought:
            self.happened([self.thought.popleft()])

    def _grow_on(self) -> None:
        """Take in what has come; what raises here is done again, from where it was."""
        assert self._observations is not None
        message = self._observed or self._observations.get(_WAIT_S)
        if isinstance(message, Observation):
            self._observed = message  # in hand until it is stored, whatever happens meanwhile
            window = self.errands.left_of(self, message.window)
            if window is not None:
                self.happened(self.pipeline.step(window))
            self._observed = None
        elif self.perceived.is_set() and not self._observations.backlog():
            self.happened(self.pipeline.end())
            self.grown.set()
        elif self.live:
            self.happened(self.pipeline.tick(self.clock.now()))
        if self.live:
            self.happened(self.pipeline.proactive.tick())
        self._thought()
        while self.told and WEARER not in self.quiet_by:
            self.happened(self.pipeline.announce(*self.told[0]))
            self.told.popleft()
        self.errands.run()

    def forget(self, wish: Wish) -> dict[str, Any]:
        """Forget while running; returns the report.  From any thread; raises StorageError, ControlError."""
        return self.errands.forget(self, wish)

    def hold(self, still: bool, who: str = WEARER) -> None:
        """Close camera and microphone, or open them again once nobody wants them closed any more."""
        (self.quiet_by.add if still else self.quiet_by.discard)(who)
        logs.mute(WEARER in self.quiet_by)
        if bool(self.quiet_by) == self.paused.is_set():
            return
        (self.paused.set if self.quiet_by else self.paused.clear)()
        if isinstance(self.capture, LiveCapture):
            (self.capture.pause if self.quiet_by else self.capture.resume)()

    def rest(self, seconds: float | None) -> None:
        """Pause for so many seconds, 0: until told otherwise; None: go on at once.  Callable from any thread."""
        self.awake_at = None if not seconds else self.wall.mono() + round(seconds * US)
        powering.pause(self, seconds is not None)

    def erase(self, seconds: float) -> None:
        """Forget the newest stretch of time for good.  Raises StorageError, ControlError."""
        self.forget(last(seconds, self.clock.now()))

    def run_listening(self, stop: threading.Event) -> None:
        """The ears, and the end of a pause that was asked for by its length."""
        if self.listener is not None:
            self.listener.run(stop)

    def run_device(self, stop: threading.Event) -> None:
        """What the glasses show into power, pause and alerts; what is delivered into a touch."""
        glasses = self.glasses
        if glasses is None:
            return
        alerts = self.bus.subscribe("decisions")
        recording = True
        while not self.wall.wait(stop, _WAIT_S):
            paused, glasses.choice = glasses.companion.paused, self.choice
            now = glasses.step()
            self.power = now.power
            if now.paused != paused:
                powering.pause(self, now.paused)
            if now.recording != recording:
                recording = now.recording
                self.hold(not recording and not now.paused, GLASSES)
            powering.tapped(self, now.taps, now.double_taps)
            for kind, key, slots in now.announce:
                self.told.append((kind, key, alert(kind).template.format(**dict(slots))))
            while alerts.backlog():
                message = alerts.get(0.0)
                if isinstance(message, ServiceDecided) and message.decision.decision == "deliver":
                    glasses.nudge(alert(message.service.type).priority >= 4)

    def run_health(self, stop: threading.Event) -> None:
        """Changes of state into the store and the log; a lost camera or microphone is told."""
        changes = self.bus.subscribe("health")
        while not stop.is_set():
            message = changes.get(_WAIT_S)
            if self.awake_at is not None and self.wall.mono() >= self.awake_at:
                self.rest(None)
            if isinstance(self.capture, LiveCapture) and not self.paused.is_set():
                self.told.extend(self.losses.step(self.capture.flows(), self.wall.mono()))
            if isinstance(message, Health) and WEARER not in self.quiet_by:  # paused: no row and no word in the log
                _log.warning("health", part=message.part, state=message.state, detail=message.detail)
                try:
                    with self.store.transaction() as tx:
                        tx.health.add(HealthEvent(message.t, message.part, message.state, message.detail))
                except (StoreUnwritable, StoreLocked) as error:  # the log has it
                    _log.error("health_not_stored", cause=error)

    def health(self) -> dict[str, Any]:
        """The whole truth for /health: ages of the last frame, sound and commit, backlog, what fell back."""
        now = self.wall.now()
        seen = self.capture.health()
        fell_back = [f"{role.role}: {p}" for role in self.engines.status() for p in role.problems]
        fell_back += [f"{name}: {text}" for name, text in self.light.health.fell_back.items()]
        voice = self.voice.health()
        listening = None if self.listener is None else self.listener.health()
        if listening is not None and listening["detail"]:
            fell_back.append(f"listening: {listening['detail']}")
        fell_back += [] if self.growing is None else self.growing.fell_back()
        if self._stuck:
            fell_back.append(f"memory: {self._stuck}")
        if self.kept.get("short"):
            fell_back.append(f"disk: {self.kept['short']}")
        if voice["detail"]:
            fell_back.append(f"voice: {voice['detail']}")
        down = [name for name, s in self.states.items() if s["state"] == "down"]
        frame_t, sound_t = (seen.last_frame_t, seen.last_sound_t) if self.live else (self._frame_at, self._sound_at)
        frame_age = self._age(now, frame_t)
        stale = (
            self.live and not self.paused.is_set() and (frame_age is None or frame_age > self.config.capture.stale_s)
        )
        return {
            "state": "down" if down else "degraded" if fell_back or stale else "ok",
            "paused": self.paused.is_set(),
            "recording": self.recording,
            "db": str(self.options.db),
            "uptime_s": round((self.wall.mono() - self.began) / US, 1),
            "last_frame_age_s": frame_age,
            "last_sound_age_s": self._age(now, sound_t),
            "last_commit_age_s": self._age(now, self._last_commit),
            "capture": {
                "state": seen.state,
                "source": seen.source,
                "sound": seen.sound,
                "frames": seen.frames,
                "windows": seen.windows,
                "gaps": len(seen.gaps),
            },
            "perception": {
                "share_perceived": round(self.light.health.share_perceived, 3),
                "share_kept": round(self.light.health.share_kept, 3),
                "ms": dict(self.light.health.ms),
            },
            "backlog": self.bus.backlog(),
            "dropped": self.bus.dropped(),
            "voice": voice,
            "listening": listening,
            "power": powering.told(self),
            "glasses": self._glasses_told(),
            "language_models": self.engines.language_health(),
            "growing": None if self.growing is None else self.growing.health(),
            "fell_back": fell_back,
            "services": self.states,
            "totals": asdict(self.totals),
            "retention": self.kept,
        }

    def close(self) -> None:
        """Let go of everything; what is committed is safe at any moment before."""
        logs.mute(False)
        self.bus.close()
        self.capture.close()
        self.control.close()
        if self.recorder is not None:
            self.recorder.close()
        self.pipeline.think(None)
        self.store.close()
        self.engines.close()

    def happened(self, messages: list[Message]) -> None:
        """Count what the memory did, write it down where it is recorded, and tell the others."""
        for message in messages:
            if isinstance(message, WindowCommitted):
                self._last_commit = self.wall.now()
                if self.recorder is not None:
                    self.recorder.write(message.window)
        self.totals.count(messages)
        self.bus.publish([self._timed(m) if isinstance(m, Say) else m for m in messages])

    def _glasses_told(self) -> dict[str, Any] | None:
        if self.glasses is None:
            return None
        seen = self.glasses.glasses.state()
        return {
            "connected": seen.connected,
            "battery": seen.percent,
            "worn": seen.worn,
            "activity": None if seen.activity is None else seen.activity.name.lower(),
            "muted": seen.muted,
            "led": None if seen.led is None else seen.led.mode.name.lower(),
            "notices": self.glasses.notices,
            "last_error": self.glasses.last_error,
        }

    def _powered(self, observation: Observation) -> Observation:
        """A live window carries the device's state at its end; a recording was made on another device."""
        if not self.live:
            return observation
        level = None if self.power.battery is None else round(self.power.battery)
        device = Device(battery=level, charging=self.power.charging, mode=self.power.mode)
        return Observation(replace(observation.window, device=device))

    def _timed(self, say: Say) -> Say:
        """An alert on the voice's scales: its priority beside answers, its time left on the machine's clock.

        The arbiter's clock may be the recording's, so the time left is what counts.
        """
        say = replace(say, priority=VOICE_PRIORITY[say.priority])
        if say.deadline is None or self.clock is self.wall:
            return say
        return replace(say, deadline=self.wall.mono() + max(0, say.deadline - self.clock.mono()))

    def _note(self, raw: RawWindow) -> None:
        """When a recording's frames and sound last came: its own times say nothing of how it fares now."""
        now = self.wall.now()
        if raw.frames:
            self._frame_at = now
        if raw.sound is not None:
            self._sound_at = now

    def _age(self, now: int, then: int | None) -> float | None:
        """Seconds since then."""
        return None if then is None else round((now - then) / US, 1)


def _blind(raw: RawWindow) -> Observation:
    """A window in which nothing could be perceived, and why it is empty."""
    gap = Gap(raw.recording, raw.t_start, raw.t_end, "perception failed")
    _log.error("window_not_perceived", recording=raw.recording, t_start=raw.t_start)
    window = Window(
        raw.recording, raw.t_start, raw.t_end, raw.offset_s, made_by="light", frames=max(1, len(raw.frames)),
        gaps=(*raw.gaps, gap),
    )  # fmt: skip
    return Observation(window)
