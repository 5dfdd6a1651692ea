"""The thin loop around a session: a line, a journal if wanted, and the application's two callbacks.

Nothing here decides anything about the protocol. ``now`` is the caller's clock in microseconds (it must not go back);
waiting is done by ``poll`` and by the stop event.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol, TypeVar

from firmware_bridge import protocol as p
from firmware_bridge.errors import JournalError, LinkError, LinkLost, LinkUnsupported
from firmware_bridge.events import Deliver, Down, Output, Queued, Released, TimeSynced, Transmit, Up
from firmware_bridge.links.backoff import Backoff
from firmware_bridge.links.base import Link, wait_ready
from firmware_bridge.session import Session

STALLED_BYTES = 262_144

T = TypeVar("T")
Handler = Callable[[Deliver], bool]
"""Called for each message. True: dealt with. False: ``Endpoint.commit`` will be called once it is.

Without a journal that is when it is acknowledged. With one, a message is acknowledged when the journal has it, and
handed over again after a restart until it is dealt with; ``(item.stream, item.seq)`` tells a repeat.
"""

News = Up | Down | TimeSynced | LinkError | JournalError
Listener = Callable[[News], None]
"""Called for what happens to the link. A LinkError says why the line cannot be opened or ended; a JournalError (once)
that the journal fails: the link goes on, but what it carries no longer survives a restart."""


class Keeper(Protocol):
    """What the endpoint needs of a journal."""

    def queued(self, item: Queued) -> None:
        """Store one of our messages before it is sent."""

    def released(self, seq: int) -> None:
        """The peer has everything up to ``seq``."""

    def commit(self, item: Deliver) -> None:
        """Store a message of the peer for good; after this it is acknowledged."""

    def done(self, item: Deliver) -> None:
        """The application has dealt with a committed message."""

    def pending(self) -> list[Deliver]:
        """Committed messages that the application has not dealt with yet, oldest first."""


class Endpoint:
    """Runs one session over one line until told to stop; ``send`` and ``commit`` may be called from any thread."""

    def __init__(
        self,
        session: Session,
        link: Link,
        now: Callable[[], int],
        handler: Handler,
        *,
        listener: Listener | None = None,
        journal: Keeper | None = None,
        backoff: Backoff | None = None,
        each_pass: Callable[[], None] | None = None,
    ) -> None:
        self.session, self.link = session, link
        self._now, self._handler, self._listener = now, handler, listener
        self._journal = journal
        self._each_pass = each_pass  # called in the loop while the line is open, at least once a second
        self._backoff = backoff or Backoff()
        self._lock = threading.Lock()  # over the session, the journal and the bytes to write; never while calling back
        self._news: deque[Deliver | Up | Down | TimeSynced | JournalError] = deque()
        self._wake_out, self._wake_in = os.pipe()
        os.set_blocking(self._wake_out, False)
        os.set_blocking(self._wake_in, False)
        self._pending = bytearray()

    def send(self, message: p.Message) -> None:
        """Send from any thread; raises MessageError, OutboxFull, NotCapable (see ``Session.send``)."""
        with self._lock:
            self._absorb(self.session.send(self._now(), message))
        self.wake()

    def commit(self, item: Deliver) -> None:
        """The application dealt with ``item`` (the handler had returned False)."""
        if item.seq is not None:
            with self._lock:
                self._dealt_with(item, item.seq)
            self.wake()

    def run(self, stop: threading.Event) -> None:
        """Open, talk, reopen, until ``stop`` is set (call ``wake`` after setting it) or a callback raises."""
        if self._journal is not None:
            for item in self._journal.pending():
                if isinstance(item.message, p.Unknown) or self._handler(item):
                    with self._lock:
                        self._keep(self._journal.done if self._journal else None, item)
        while not stop.is_set():
            try:
                self.link.open()
            except LinkUnsupported:
                raise
            except LinkError as error:
                self._tell(error)
            else:
                self._talk(stop)
            if not stop.is_set():
                stop.wait(self._backoff.next_s())

    def wake(self) -> None:
        """Let a waiting ``run`` look around (after ``stop.set()``)."""
        try:
            os.write(self._wake_in, b"!")
        except BlockingIOError:
            return  # the pipe is full of wake-ups already

    def dispose(self) -> None:
        """Give the wake-up pipe back; the endpoint is of no use afterwards."""
        os.close(self._wake_out)
        os.close(self._wake_in)

    def _talk(self, stop: threading.Event) -> None:
        try:
            with self._lock:
                self._pending.clear()
                self._absorb(self.session.opened(self._now()))
            while not stop.is_set():
                self._once()
            with self._lock:
                self._absorb(self.session.bye(self._now(), p.ByeReason.SHUTDOWN))
                self._flush()
        except LinkLost as error:
            self._tell(error)
        finally:
            with self._lock:
                self._absorb(self.session.closed(self._now()))
            self.link.close()
        self._pass_on()

    def _once(self) -> None:
        with self._lock:
            deadline, writing = self.session.deadline(), bool(self._pending)
        wait = 1.0 if deadline is None else min(max(0, deadline - self._now()) / 1e6, 1.0)
        fd = self.link.fileno()
        readable = wait_ready([fd, self._wake_out], fd if writing else None, wait)
        if self._wake_out in readable:
            self._drain_wake()
        with self._lock:
            if fd in readable:
                self._absorb(self.session.feed(self._now(), self.link.read()))
            now, deadline = self._now(), self.session.deadline()
            if deadline is not None and now >= deadline:
                self._absorb(self.session.tick(now))
        self._pass_on()
        if self._each_pass is not None:
            self._each_pass()
        with self._lock:
            self._flush()

    def _absorb(self, outputs: list[Output]) -> None:
        """Under the lock: bytes and journal at once, in order; what concerns the application waits for ``_pass_on``."""
        for output in outputs:
            if isinstance(output, Transmit):
                self._pending += output.data
            elif isinstance(output, Queued):
                self._keep(self._journal.queued if self._journal else None, output)
            elif isinstance(output, Released):
                self._keep(self._journal.released if self._journal else None, output.seq)
            else:
                self._news.append(output)

    def _pass_on(self) -> None:
        """Without the lock, so that callbacks may send: hand everything new to the application."""
        while self._news:
            news = self._news.popleft()
            if isinstance(news, Deliver):
                self._deliver(news)
            else:
                if isinstance(news, Up):
                    self._backoff.reset()
                self._tell(news)

    def _deliver(self, item: Deliver) -> None:
        if item.seq is None:
            self._handler(item)
            return
        with self._lock:
            if self._keep(self._journal.commit if self._journal else None, item):
                self._absorb(self.session.commit(self._now(), item.stream, item.seq))
        # Nobody can read an unknown message; it only keeps the count in step.
        if isinstance(item.message, p.Unknown) or self._handler(item):
            with self._lock:
                self._dealt_with(item, item.seq)

    def _dealt_with(self, item: Deliver, seq: int) -> None:
        if not self._keep(self._journal.done if self._journal else None, item):
            self._absorb(self.session.commit(self._now(), item.stream, seq))  # a second commit changes nothing

    def _drain_wake(self) -> None:
        try:
            while os.read(self._wake_out, 4_096):
                pass
        except BlockingIOError:
            return

    def _flush(self) -> None:
        if self._pending:
            taken = self.link.write(bytes(self._pending[:65_536]))
            del self._pending[:taken]
        if len(self._pending) > STALLED_BYTES:
            raise LinkLost(f"{self.link.name}: it takes no more bytes")

    def _keep(self, write: Callable[[T], None] | None, what: T) -> bool:
        """Write to the journal, under the lock; False when there is none (any more)."""
        if write is None:
            return False
        try:
            write(what)
        except JournalError as error:  # a full disk must not cost the glasses: go on without, and say so
            self._journal = None
            self._news.append(error)
            return False
        return True

    def _tell(self, what: News) -> None:
        if self._listener is not None:
            self._listener(what)
