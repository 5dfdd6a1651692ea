"""A model in a supervised process: started when first needed, one request at a time, ended when it hangs, leaks or idles.

What can happen and what the caller gets:
    the process dies              ModelDownError at once; the next request starts it anew, after a growing pause
    five deaths within a minute   ModelDownError without a start until `rest_s` is over; `state` is "down"
    it hangs (no sign of life)    it is killed: ModelDownError
    the deadline passes           ModelTimeoutError; it is told to stop, and a later request waits for that
    the caller takes it back      ModelCancelledError; likewise
    it holds too much memory      it is killed: ModelDownError; slow growth: a planned restart between requests
    too many wait                 ModelBusyError
"""

from __future__ import annotations

import logging
import queue
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from models.child.line import Line
from models.child.memory import held_kb
from models.child.process import Child
from models.child.wire import Packet
from models.errors import (
    EngineMissingError,
    InputError,
    LoadError,
    ModelCancelledError,
    ModelDownError,
    ModelError,
    ModelTimeoutError,
    OutputError,
)
from models.grammar import GrammarError

log = logging.getLogger(__name__)

US = 1_000_000
Mono = Callable[[], int]  # monotonic microseconds
State = Literal["idle", "up", "restarting", "down", "closed"]

_POLL_S = 0.05
_REFUSALS: dict[str, type[ModelError]] = {
    e.code: e for e in (InputError, OutputError, LoadError, EngineMissingError, GrammarError, ModelCancelledError)
}


@dataclass(frozen=True, slots=True)
class Limits:
    """Patience and memory of one child.  `memory_mb`: killed beyond it (0: no limit); `idle_s`: unloaded after (0: never)."""

    load_s: float = 120.0
    grace_s: float = 2.0  # to obey a cancellation before the caller is let go
    stale_s: float = 30.0  # to obey it before it is killed
    ping_s: float = 1.0
    pings: int = 8  # unanswered in a row: it hangs
    deaths: int = 5
    within_s: float = 60.0
    rest_s: float = 300.0
    pause_s: float = 0.5  # before the second restart, doubled with each
    pause_max_s: float = 8.0
    memory_mb: int = 0
    creep_mb: int = 256  # above what it held after `warm` requests
    warm: int = 10
    idle_s: float = 0.0
    waiting: int = 8
    look_s: float = 0.25


class Supervised:
    """One child and the rules above.  Thread-safe; calls queue in order of arrival."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        load: Mapping[str, Any],
        *,
        mono: Mono,
        limits: Limits | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.requests = self.restarts = self.planned = 0
        self._argv, self._load, self._env = tuple(argv), dict(load), env
        self._mono, self._limits = mono, limits or Limits()
        self._line = Line(name, self._limits.waiting)
        self._child: Child | None = None
        self._deaths: deque[int] = deque()
        self._again_at = self._down_until = self._used = 0
        self._last_error = ""
        self._stale: tuple[int, int] | None = None  # request told to stop, and when
        self._served = 0  # by this child
        self._base_kb: int | None = None
        self._closed = threading.Event()
        self._monitor: threading.Thread | None = None

    # --- for callers --------------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """idle: not loaded, ready to be."""
        if self._closed.is_set():
            return "closed"
        if self._mono() < self._down_until:
            return "down"
        if self._child is not None:
            return "up"
        return "restarting" if self._mono() < self._again_at else "idle"

    def health(self) -> dict[str, Any]:
        """For /health: state, deaths within the window, held memory in MB, the last error."""
        child = self._child
        held = held_kb(child.pid) if child is not None else None
        return {
            "state": self.state, "requests": self.requests, "restarts": self.restarts, "planned_restarts": self.planned,
            "waiting": self._line.waiting, "held_mb": None if held is None else round(held / 1024, 1),
            "last_error": self._last_error,
        }  # fmt: skip

    @property
    def pid(self) -> int | None:
        """Of the running child."""
        child = self._child
        return None if child is None else child.pid

    def request(
        self,
        header: dict[str, Any],
        blobs: Sequence[bytes] = (),
        *,
        timeout_s: float,
        cancelled: Callable[[], bool] | None = None,
        on_piece: Callable[[str], None] | None = None,
    ) -> dict[str, Any]:
        """Send one request and give the header of its answer.  Raises what the page's head lists, and what it refuses."""
        deadline = self._mono() + round(timeout_s * US)
        with self._line.turn(lambda: self._check(deadline, cancelled)):
            self.requests += 1
            number = self.requests
            child = self._ready(deadline, cancelled)
            try:
                child.send({**header, "id": number}, blobs, wait_s=self._limits.pings * self._limits.ping_s)
                answer = self._answer(child, number, deadline, cancelled, on_piece)
            except ModelDownError as error:
                raise self._died(child, str(error)) from None
            finally:
                self._used = self._mono()
            self._served += 1
            self._look_for_creep(child)
            return answer

    def warm(self, timeout_s: float) -> None:
        """Load it now.  Raises like `request`."""
        deadline = self._mono() + round(timeout_s * US)
        with self._line.turn(lambda: self._check(deadline, None)):
            self._ready(deadline, None)
            self._used = self._mono()

    def unload(self) -> None:
        """Let the process go and its memory with it; the next request loads anew.  Waits for a request under way."""
        deadline = self._mono() + round(self._limits.stale_s * US)
        with self._line.turn(lambda: self._check(deadline, None)):
            self._end("unloaded")

    def close(self) -> None:
        """End the process for good, a request under way with it; may be called twice."""
        self._closed.set()
        child = self._child
        if child is not None:
            child.kill("the runtime closed it")
        if self._monitor is not None and self._monitor is not threading.current_thread():
            self._monitor.join(5.0)
        if self._line.empty:
            self._end("closed")

    # --- the life of the child ----------------------------------------------------------------------------------------

    def _ready(self, deadline: int, cancelled: Callable[[], bool] | None) -> Child:
        child = self._child
        if child is not None and not child.alive:  # between requests
            error = self._died(child, "")
            log.warning("%s", error)
            child = None
        if child is None:
            child = self._start(deadline, cancelled)
        if self._stale is not None:
            self._settle(child, deadline, cancelled)
        return child

    def _start(self, deadline: int, cancelled: Callable[[], bool] | None) -> Child:
        while (now := self._mono()) < self._again_at:
            if now < self._down_until:
                raise ModelDownError(f"The model {self.name} failed too often and rests: {self._last_error}")
            self._check(deadline, cancelled)
            self._closed.wait(min(_POLL_S, (self._again_at - now) / US))
        self._check(deadline, cancelled)
        child = Child(self._argv, self._env)
        self._child, self._stale, self._served, self._base_kb = child, None, 0, None
        self._watch()
        limit = self._mono() + round(self._limits.load_s * US)
        try:
            child.send({"op": "load", "id": 0, **self._load}, wait_s=self._limits.load_s)
            self._answer(child, 0, min(deadline, limit), cancelled, None)
        except (ModelTimeoutError, ModelCancelledError):
            if self._mono() >= limit:
                raise self._died(child, f"it did not load within {self._limits.load_s:.0f} s") from None
            self._end("loading was given up")  # the caller's patience, not the child's fault
            raise
        except ModelDownError as error:
            raise self._died(child, str(error)) from None
        except ModelError as error:
            self._end("it could not be loaded")
            self._last_error = str(error)
            raise
        return child

    def _answer(
        self,
        child: Child,
        number: int,
        deadline: int,
        cancelled: Callable[[], bool] | None,
        on_piece: Callable[[str], None] | None,
    ) -> dict[str, Any]:
        while True:
            packet, ended = self._take(child)
            if ended:
                raise ModelDownError("")
            if packet is not None and packet.header.get("id") == number:
                if packet.op == "done":
                    return packet.header
                if packet.op == "failed":
                    raise _refusal(packet)
                if packet.op == "piece" and on_piece is not None:
                    on_piece(str(packet.header.get("text", "")))
            if self._closed.is_set():
                raise ModelDownError("the runtime closed it")
            late, back = self._mono() >= deadline, cancelled is not None and cancelled()
            if late or back:
                if number:
                    try:
                        self._stop(child, number)
                    except ModelDownError as error:
                        log.warning("%s", self._died(child, str(error)))
                if back:
                    raise ModelCancelledError("The request was taken back.")
                raise ModelTimeoutError(f"The model {self.name} did not answer in time.")

    def _take(self, child: Child) -> tuple[Packet | None, bool]:
        """The next frame, if one comes within a moment, and whether the output has ended.

        A child that hangs is killed here.  What counts are unanswered pings, not seconds: a runtime that was itself
        suspended wakes up to a late clock and a healthy child.
        """
        try:
            packet = child.packets.get(timeout=_POLL_S)
        except queue.Empty:
            now = self._mono()
            if child.heard and now - child.asked >= self._limits.ping_s * US:
                if child.unanswered >= self._limits.pings:
                    child.kill("it hung and was ended")
                    raise ModelDownError("it hung") from None
                child.ping()
                child.asked, child.unanswered = now, child.unanswered + 1
            return None, False
        child.unanswered, child.heard = 0, True
        return packet, packet is None

    def _stop(self, child: Child, number: int) -> None:
        """Tell the child to leave a request, and give it a moment to obey."""
        self._stale = (number, self._mono())
        child.send({"op": "cancel", "id": number}, wait_s=self._limits.grace_s)
        self._drain(child, self._mono() + round(self._limits.grace_s * US), None)

    def _settle(self, child: Child, deadline: int, cancelled: Callable[[], bool] | None) -> None:
        """Wait until the child has left what it was told to leave; it is killed when it never does."""
        assert self._stale is not None
        limit = self._stale[1] + round(self._limits.stale_s * US)
        try:
            if self._drain(child, min(deadline, limit), cancelled):
                return
        except ModelDownError as error:
            raise self._died(child, str(error)) from None
        if self._mono() >= limit or not child.alive:
            child.kill("it did not leave a request and was ended")
            raise self._died(child, "it did not leave a request")
        self._check(deadline, cancelled)

    def _drain(self, child: Child, until: int, cancelled: Callable[[], bool] | None) -> bool:
        assert self._stale is not None
        while True:
            packet, ended = self._take(child)
            if packet is not None and packet.header.get("id") == self._stale[0] and packet.op in ("done", "failed"):
                self._stale = None
                return True
            if ended or self._closed.is_set() or (packet is None and self._mono() >= until):
                return False
            if cancelled is not None and cancelled():
                raise ModelCancelledError("The request was taken back.")

    def _check(self, deadline: int, cancelled: Callable[[], bool] | None) -> None:
        if self._closed.is_set():
            raise ModelDownError(f"The model {self.name} is closed.")
        if cancelled is not None and cancelled():
            raise ModelCancelledError("The request was taken back.")
        if self._mono() >= deadline:
            raise ModelTimeoutError(f"The model {self.name} did not answer in time.")

    def _died(self, child: Child, detail: str) -> ModelDownError:
        """Count a death, bury the child, say how it ended and when the next may start."""
        if child.alive:
            child.kill(detail)
        how = child.obituary()
        self._child, self._stale = None, None
        child.close(0.0)
        if self._closed.is_set():
            return ModelDownError(f"The model {self.name} is closed.")
        now, limits = self._mono(), self._limits
        self._deaths.append(now)
        while now - self._deaths[0] > limits.within_s * US:
            self._deaths.popleft()
        self.restarts += 1
        self._last_error = how
        count = len(self._deaths)
        if count >= limits.deaths:
            self._again_at = self._down_until = now + round(limits.rest_s * US)
            self._deaths.clear()
            log.error(
                "The model %s is down: %d deaths within %.0f s, the last: %s", self.name, count, limits.within_s, how
            )
        else:
            pause = 0.0 if count == 1 else min(limits.pause_max_s, limits.pause_s * 2 ** (count - 2))
            self._again_at = now + round(pause * US)
            log.warning("The process of model %s ended: %s", self.name, how)
        return ModelDownError(f"The process of the model {self.name} ended ({how}); it is started again when needed.")

    def _end(self, why: str) -> None:
        """A planned end."""
        child, self._child, self._stale = self._child, None, None
        if child is not None:
            log.info("The process of model %s is let go: %s", self.name, why)
            child.close(0.0 if self._closed.is_set() else self._limits.grace_s)

    # --- watching -----------------------------------------------------------------------------------------------------

    def _look_for_creep(self, child: Child) -> None:
        held = held_kb(child.pid)
        if held is None or self._served < self._limits.warm:
            return
        if self._base_kb is None:
            self._base_kb = held
        elif held - self._base_kb > self._limits.creep_mb * 1024:
            self.planned += 1
            self._end(f"it grew by {(held - self._base_kb) // 1024} MB in {self._served} requests")

    def _watch(self) -> None:
        if self._monitor is None or not self._monitor.is_alive():
            self._monitor = threading.Thread(target=self._look, name="model-monitor", daemon=True)
            self._monitor.start()

    def _look(self) -> None:
        limits = self._limits
        while not self._closed.wait(limits.look_s):
            child = self._child
            if child is None:
                continue
            held = held_kb(child.pid) if limits.memory_mb else None
            if held is not None and held > limits.memory_mb * 1024:
                child.kill(f"it held {held // 1024} MB, more than the {limits.memory_mb} MB it may")
            if limits.idle_s and self._mono() - self._used > limits.idle_s * US:
                self._unload_if_idle(child)

    def _unload_if_idle(self, child: Child) -> None:
        if not self._line.empty:
            return
        with self._line.turn(lambda: None):
            if self._child is child and self._mono() - self._used > self._limits.idle_s * US:
                self._end("nothing was asked of it")


def _refusal(packet: Packet) -> ModelError:
    """What a child refused, as the error its code names."""
    kind = _REFUSALS.get(str(packet.header.get("code")), OutputError)
    return kind(str(packet.header.get("message", "The model refused the request.")))
