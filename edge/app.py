"""The services of the device on one screen, and their supervisor.

Every service is a loop in a daemon thread of its own: a driver that never returns cannot hold the process, so `stop`
is always kept within seconds.  A service that dies is started again; one that dies too often stays down, loudly.
"""

from __future__ import annotations

import signal
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, TypeAlias

from edge import config as settings
from edge import forgetting, keeping, powering, senses, watching
from edge.answering import session_asker
from edge.bus import Bus
from edge.clock import US, Clock, ReplayClock, SystemClock
from edge.config import Config, ProfileName, private_dir
from edge.controls import control
from edge.engines import Engines
from edge.errors import ServiceDown, sentence_of
from edge.growing import growing
from edge.listening import listener
from edge.logs import Log
from edge.messages import Health
from edge.opening import OpenedLive, open_capture
from edge.perception.light import PRIME_WINDOWS
from edge.perception.vlm import VlmPerception
from edge.perception.watch import FrameWatch
from edge.pipeline import Pipeline
from edge.proactive.model_experts import experts_of
from edge.recorder import Recorder
from edge.runtime import Options, Runtime
from edge.server.control import control_path
from edge.server.http import serve_health, token_in
from edge.server.systemd import notify, watchdog_s
from edge.voice.own_marks import OwnMarks, TimedVoice
from edge.voice.player import open_player
from edge.voice.service import VoiceService
from storage import EmbeddingSpace, Store
from storage.keyframes import KeyframeFolder, folder_of

__all__ = ["SERVICES", "Supervisor", "build", "control_path", "serve"]

_log = Log("app")

When: TypeAlias = Callable[[Runtime], bool]
Run: TypeAlias = Callable[[Runtime, threading.Event], None]


def always(runtime: Runtime) -> bool:
    """From start to stop."""
    return not runtime.grown.is_set()


def not_paused(runtime: Runtime) -> bool:
    """While the source has more; a camera pauses by itself, a file's reading is stopped and taken up again."""
    return not runtime.captured.is_set() and (runtime.live or not runtime.paused.is_set())


def recorded(runtime: Runtime) -> bool:
    """With a file there is nothing to wait for once its reading has failed for good."""
    return not runtime.live


def perceiving(runtime: Runtime) -> bool:
    """While raw windows may come."""
    return not runtime.perceived.is_set()


def has_glasses(runtime: Runtime) -> bool:
    """When the owner has named the glasses' address."""
    return runtime.glasses is not None and not runtime.grown.is_set()


def run_glasses(runtime: Runtime, stop: threading.Event) -> None:
    """The link to the glasses."""
    if runtime.glasses is not None:
        runtime.glasses.run(stop)


def listening(runtime: Runtime) -> bool:
    """When there is somebody to talk to."""
    return runtime.listener is not None and not runtime.grown.is_set()


def powered(runtime: Runtime) -> bool:
    """With a live source; a recording was made on another device."""
    return runtime.live and not runtime.grown.is_set()


def consolidating(runtime: Runtime) -> bool:
    """When the settings name a language model; after a recording's end as long as there is work it can do."""
    growing = runtime.growing
    return growing is not None and growing.stage is not None and (not runtime.grown.is_set() or growing.busy)


def serving(runtime: Runtime) -> bool:
    """When the owner has set a port for /health."""
    return runtime.config.device.health_port > 0 and not runtime.grown.is_set()


def http(runtime: Runtime, stop: threading.Event) -> None:
    """/health over HTTP, behind the token in the runtime folder."""
    serve_health(runtime.config.device.health_port, runtime.health, token_in(settings.runtime_dir()), stop)


@dataclass(frozen=True, slots=True)
class Service:
    """One row: what runs, when, how often it may be started again within a minute, and when all rests on it."""

    name: str
    run: Run
    when: When
    restarts: int
    essential: When = lambda _: False


SERVICES: tuple[Service, ...] = (
    Service("capture", lambda r, stop: r.run_capture(stop), when=not_paused, restarts=5, essential=recorded),
    Service(
        "perception", lambda r, stop: r.run_perception(stop), when=perceiving, restarts=5, essential=lambda _: True
    ),
    Service("memory", lambda r, stop: r.run_memory(stop), when=always, restarts=5, essential=lambda _: True),
    Service("consolidation", lambda r, stop: r.run_consolidation(stop), when=consolidating, restarts=5),
    Service("voice", lambda r, stop: r.voice.run(stop), when=always, restarts=5),
    Service("listening", lambda r, stop: r.run_listening(stop), when=listening, restarts=5),
    Service("control", lambda r, stop: r.control.run(stop), when=always, restarts=5),
    Service("glasses", run_glasses, when=has_glasses, restarts=5),
    Service("device", lambda r, stop: r.run_device(stop), when=has_glasses, restarts=5),
    Service("power", powering.run, when=powered, restarts=5),
    Service("watch", watching.run, when=powered, restarts=5),
    Service("http", http, when=serving, restarts=3),
    Service("health", lambda r, stop: r.run_health(stop), when=always, restarts=5),
    Service("retention", keeping.run, when=always, restarts=5),
)

RESTART_WINDOW_US = 60 * US
LOOK_S = 0.1
STOP_S = 4.0  # how long stages may finish what they have in hand after a stop
VOICE_S = 20.0  # how long the voice may finish when a recording has ended by itself


@dataclass(slots=True)
class Running:
    """A service in flight."""

    service: Service
    thread: threading.Thread | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None
    deaths: deque[int] = field(default_factory=deque)
    state: str = "waiting"
    again_at: int = 0

    def report(self) -> dict[str, Any]:
        """For /health."""
        return {
            "state": self.state,
            "restarts": len(self.deaths),
            "last_error": "" if self.error is None else sentence_of(self.error),
        }


class Supervisor:
    """Starts, watches and restarts the services of a runtime; `step` is called ten times a second by `serve`."""

    def __init__(self, runtime: Runtime, clock: Clock, services: tuple[Service, ...] = SERVICES) -> None:
        self._runtime, self._clock = runtime, clock
        self._all = [Running(s) for s in services]
        self.failed: BaseException | None = None

    def step(self) -> None:
        """Look at every service once."""
        for running in self._all:
            self._look(running)
            self._runtime.states[running.service.name] = running.report()

    def ask(self, name: str) -> None:
        """Ask one service to stop."""
        for running in self._all:
            if running.service.name == name:
                running.stop.set()

    def stop(self, seconds: float) -> list[str]:
        """Ask every service to stop; returns the names of those that did not within the time and were left behind."""
        for running in self._all:
            running.stop.set()
        self._runtime.bus.close()
        until = self._clock.mono() + round(seconds * US)
        for running in self._all:
            if running.thread is not None:
                running.thread.join(max(0.0, (until - self._clock.mono()) / US))
        return [r.service.name for r in self._all if r.thread is not None and r.thread.is_alive()]

    def _look(self, running: Running) -> None:
        wanted = running.service.when(self._runtime)
        alive = running.thread is not None and running.thread.is_alive()
        if alive:
            if not wanted:
                running.stop.set()
            running.state = "running" if wanted else "stopping"
            return
        if running.state == "down":
            return
        if running.thread is not None:  # it has ended since the last look
            running.thread = None
            if running.error is not None and not self._died(running):
                return
        if not wanted:
            running.state = "ended" if running.state != "waiting" else "waiting"
        elif self._clock.mono() >= running.again_at:
            self._start(running)

    def _start(self, running: Running) -> None:
        running.stop = threading.Event()
        running.error = None
        running.state = "running"

        def body(stop: threading.Event = running.stop) -> None:
            try:
                running.service.run(self._runtime, stop)
            except BaseException as error:  # noqa: BLE001  # whatever ended it is told, counted and acted on
                running.error = error

        running.thread = threading.Thread(target=body, name=running.service.name, daemon=True)
        running.thread.start()

    def _died(self, running: Running) -> bool:
        """Note a death; true when the service may be started again."""
        now, name, error = self._clock.mono(), running.service.name, running.error
        running.deaths.append(now)
        while running.deaths and now - running.deaths[0] > RESTART_WINDOW_US:
            running.deaths.popleft()
        _log.error("service_died", service=name, deaths=len(running.deaths), cause=error)
        if len(running.deaths) <= running.service.restarts:
            running.again_at = now + min(8, 2 ** (len(running.deaths) - 1)) * US // 2
            running.state = "restarting"
            return True
        running.state = "down"
        why = sentence_of(error) if error is not None else ""
        self._runtime.bus.publish(Health(self._clock.now(), name, "down", why))
        if running.service.essential(self._runtime):
            self.failed = ServiceDown(
                f"{name} failed {len(running.deaths)} times within a minute ({why}): see the log."
            )
        return False


def build(config: Config, options: Options, profile: ProfileName | None) -> Runtime:
    """Open everything a session needs, the source first, so that a wrong path leaves nothing behind.

    Raises InputError, DeviceError, ConfigError, StorageError or ModelError, each with one sentence.
    """
    wall = SystemClock()
    opened = open_capture(config, options.source, options.mic, profile=profile, start=options.start, clock=wall)
    engines = Engines(config)
    made: list[Runtime] = []
    server = control(lambda: made[0])
    store: Store | None = None
    recorder: Recorder | None = None
    try:
        server.bind()  # one runtime at a time: the spool and uncommitted keyframes of another are not ours to clear
        bus = Bus(private_dir(settings.state_dir()) / "spool")
        raw = bus.subscribe("raw_windows")
        memory = config.memory.model_copy(update={"profile": opened.profile})
        config = config.model_copy(update={"memory": memory})
        constants = memory.growth(memory.profile)
        if options.record is not None:
            recorder = Recorder(options.record, constants.frame_interval_s)
        text = engines.text_embedding()
        space = EmbeddingSpace(text.id, text.dim)
        store = Store.open(options.db, space=space, own=True, synchronous=memory.synchronous)
        forgetting.resume(store, text.embed, config)
        if recorder is not None:
            with store.transaction() as tx:
                tx.erase.remember_file(str(recorder.path.resolve()), wall.now())
        with store.snapshot() as snapshot:
            if isinstance(opened, OpenedLive):
                opened.go_on_after(snapshot.trace.last())
            first, last = snapshot.trace.first(opened.recording), snapshot.trace.last(opened.recording)
            earlier = [] if last is None else snapshot.trace.before(opened.recording, last.id, PRIME_WINDOWS)
            kept = {k.file for k in snapshot.trace.keyframes()}
            if recorder is not None:  # what a killed run had committed and not written
                for window in snapshot.trace.after(opened.recording, 0):
                    recorder.write(window)
        frames = KeyframeFolder(folder_of(options.db))
        frames.sweep(kept)  # of windows that never committed
        light = senses.light(config, engines, frames, wall, sound=opened.has_sound)
        if config.llm.vision != "off":
            # A recording can wait for its windows, a camera cannot.
            light = senses.seeing(light, config, engines, wall, lambda: opened.live and raw.backlog() > 1)
        light.prime(earlier)
        clock: Clock = wall if opened.live else ReplayClock()
        model = growing(engines.thinkers, store, text.embed, config, options.db)
        pipeline = Pipeline(store, text.embed, config, clock, model)
        pipeline.think(experts_of(engines.thinkers))
        hears = config.voice.listen and opened.has_sound and (opened.live or options.speed == "realtime")
        own = TimedVoice()
        marks = OwnMarks(own, wall)
        light.others = marks.clean
        player = open_player(options.speaker, wall if hears else None)
        voice = VoiceService(bus, senses.voice(engines, options), player, wall, own=own)
        glasses = senses.glasses(config, wall)
        capture = opened.capture(bus, raw, speed=options.speed, first=first, last=last, duration_s=options.duration_s)
    except BaseException:
        opened.close()
        engines.close()
        server.close()
        if recorder is not None:
            recorder.close()
        if store is not None:
            store.close()
        raise
    runtime = Runtime(
        config=config, options=options, clock=clock, bus=bus, store=store, engines=engines, capture=capture,
        live=opened.live, light=light, pipeline=pipeline, voice=voice, raw=raw, recording=opened.recording,
        recorder=recorder, control=server, glasses=glasses, growing=model,
    )  # fmt: skip
    runtime.asker = session_asker(config, engines, bus, wall, text.embed, options.db, live=opened.live)
    made.append(runtime)
    if hears:
        runtime.listener = listener(runtime, own, marks)
    if model is not None:
        model.minds.resting = lambda: not powering.may_tidy(runtime)  # what waits is done at the charger
    if isinstance(light, VlmPerception):
        light.rest_when(lambda: not runtime.power.row.vlm, engines.thinkers.unload)
        light.describe_some(lambda: runtime.power.row.vlm)
    pipeline.proactive.busy = lambda: voice.busy
    if opened.live:
        runtime.watch = FrameWatch(light, mono=wall.mono)
        powering.begin(runtime)
    return runtime


def serve(runtime: Runtime, each: Callable[[Runtime], None] | None = None) -> None:
    """Run a session to its end, a signal or `stop`; closes everything.  `each` is called at every look.

    Raises ServiceDown when something all rests on failed for good.
    """
    supervisor = Supervisor(runtime, runtime.wall)
    patted, every = runtime.wall.mono(), watchdog_s()
    asked = threading.Event()
    restore = _signals(asked)
    limit = None if not runtime.live else runtime.options.duration_s
    try:
        notify("READY=1", f"STATUS=recording {runtime.recording}")
        while not (asked.is_set() or runtime.stopping.is_set() or runtime.grown.is_set()):
            supervisor.step()
            if supervisor.failed is not None:
                raise supervisor.failed
            if every is not None and _progressing(runtime) and runtime.wall.mono() - patted >= every * US:
                patted = runtime.wall.mono()
                notify("WATCHDOG=1")
            if each is not None:
                each(runtime)
            if limit is not None and runtime.wall.mono() - runtime.began >= limit * US:
                break
            runtime.wall.wait(asked, LOOK_S)
        _finish(runtime, supervisor, each, asked)
    finally:
        notify("STOPPING=1")
        left = supervisor.stop(STOP_S)
        if left:
            _log.warning("left_behind", services=left)
        runtime.close()
        restore()


def _finish(
    runtime: Runtime, supervisor: Supervisor, each: Callable[[Runtime], None] | None, asked: threading.Event
) -> None:
    """Let the stages finish: all of a recording that ended; after a stop what is in hand, within STOP_S."""
    ended = runtime.grown.is_set()
    if not ended:
        supervisor.ask("capture")
        until = runtime.wall.mono() + round(STOP_S * US)
        runtime.stopping.set()
        runtime.paused.clear()
        while not runtime.grown.is_set() and runtime.wall.mono() < until:
            supervisor.step()
            runtime.wall.wait(threading.Event(), LOOK_S)
    while ended and consolidating(runtime) and not (asked.is_set() or runtime.stopping.is_set()):
        supervisor.step()
        runtime.wall.wait(asked, LOOK_S)
    if each is not None:
        each(runtime)
    if runtime.listener is not None:
        runtime.listener.drain(VOICE_S if ended else 0.0)
    runtime.voice.drain(VOICE_S if ended else 1.0)


def _progressing(runtime: Runtime) -> bool:
    """Whether the stages all rests on are alive: then systemd's watchdog is told so."""
    return all(runtime.states.get(name, {}).get("state") != "down" for name in ("perception", "memory"))


def _signals(asked: threading.Event) -> Callable[[], None]:
    """SIGINT and SIGTERM ask for a clean stop; returns what puts the old handlers back."""
    if threading.current_thread() is not threading.main_thread():
        return lambda: None

    def note(_signal: int, _frame: FrameType | None) -> None:
        asked.set()

    old = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, before in old.items():
            signal.signal(number, before)

    return restore
