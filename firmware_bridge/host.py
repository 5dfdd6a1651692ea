"""The runtime's side, ready to run: endpoint, journal, view, time of day and updates behind one small face.

glasses = Glasses(open_url(url), now, wall, handler, journal=path)
glasses.run(stop)                     # a service's whole work, in its own thread
glasses.send(protocol.SetLed(...))    # from any thread
glasses.state()                       # what is known now, nothing stale
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from pathlib import Path

from firmware_bridge import protocol as p
from firmware_bridge.endpoint import Endpoint, Handler, Listener, News
from firmware_bridge.errors import NotCapable, OutboxFull, UpdateError
from firmware_bridge.events import DEFAULTS, Deliver, Down, Restored, Settings, TimeSynced, Up
from firmware_bridge.journal import Journal
from firmware_bridge.links.base import Link
from firmware_bridge.session import Session
from firmware_bridge.updater import Updater
from firmware_bridge.view import DeviceState, DeviceView

CLOCK_STEP_US = 500_000
UPDATE_ROOM = 64
Wall = Callable[[], tuple[int, int]]
"""Time of day: microseconds UTC, and minutes of the wearer's local time ahead of UTC."""


class Glasses:
    """One pair of glasses. ``handler`` gets every message (see ``endpoint.Handler``), after the view has seen it.

    Without ``journal`` what was queued or received is not remembered across a restart of the runtime.
    """

    def __init__(
        self,
        link: Link,
        now: Callable[[], int],
        wall: Wall,
        handler: Handler,
        *,
        listener: Listener | None = None,
        journal: Path | None = None,
        settings: Settings = DEFAULTS,
    ) -> None:
        self._now, self._wall, self._handler, self._listener = now, wall, handler, listener
        self._journal = None if journal is None else Journal(journal, _identity())
        restored = Restored(_identity()) if self._journal is None else self._journal.restored
        self.session = Session(p.Role.HOST, nonce=_identity(), restored=restored, settings=settings)
        self._endpoint = Endpoint(
            self.session,
            link,
            now,
            self._on_message,
            listener=self._on_event,
            journal=self._journal,
            each_pass=self._feed_update,
        )
        self._view = DeviceView()
        self._lock = threading.Lock()  # over the view and the update
        self._told_wall: int | None = None
        self._updater: Updater | None = None
        self._update_error: UpdateError | None = None

    def run(self, stop: threading.Event) -> None:
        """Keep the link until ``stop`` (call ``wake`` after setting it); a handler that raises ends it."""
        self._endpoint.run(stop)

    def wake(self) -> None:
        """Let ``run`` notice that ``stop`` was set."""
        self._endpoint.wake()

    def close(self) -> None:
        """Release the journal and the wake-up pipe, after ``run`` has ended."""
        self._endpoint.dispose()
        if self._journal is not None:
            self._journal.close()

    def send(self, message: p.Message) -> None:
        """Send from any thread; raises MessageError, OutboxFull, NotCapable."""
        self._endpoint.send(message)

    def commit(self, item: Deliver) -> None:
        """The handler returned False for ``item`` and has dealt with it now."""
        self._endpoint.commit(item)

    def state(self) -> DeviceState:
        """The glasses now."""
        with self._lock:
            return self._view.state(self._now())

    def notice(self) -> bool:
        """True once per outage: tell the wearer that the glasses are out of reach. Ask every second or so."""
        with self._lock:
            return self._view.notice(self._now())

    def gauge(self, percent: int) -> None:
        """What the standard Bluetooth battery service says (pass this as ``BleLink(on_battery=...)``)."""
        with self._lock:
            self._view.gauge(self._now(), percent)

    def at(self, at_us: int) -> int | None:
        """A device time of this session on our clock ``now``; None while the offset is not known."""
        offset = self.session.offset_us
        return None if offset is None else at_us - offset

    def clock_changed(self) -> None:
        """The time of day may have been set: tell the glasses if it moved. Also looked at every few seconds by itself."""
        self._tell_clock()

    def update(self, image: bytes, version: str) -> None:
        """Begin a firmware update (or begin it anew); raises UpdateError while one runs. See ``update_progress``."""
        with self._lock:
            if self._updater is not None and not self._updater.finished and self._update_error is None:
                raise UpdateError("an update is running already")
            self._updater, self._update_error = Updater(image, version, _identity()), None
            first = self._updater.connected() if self.session.up else []
        self._send_all(first)

    def update_progress(self) -> tuple[float, bool]:
        """(share handed over, finished) of the last update; raises the UpdateError that ended it."""
        with self._lock:
            if self._update_error is not None:
                raise self._update_error
            return (0.0, False) if self._updater is None else (self._updater.progress, self._updater.finished)

    # -- called by the endpoint's loop -------------------------------------------------------------------------------

    def _on_message(self, item: Deliver) -> bool:
        with self._lock:
            self._view.message(self._now(), item.message)
            more = self._drive_update(item.message)
        self._send_all(more)
        return self._handler(item)

    def _on_event(self, event: News) -> None:
        if isinstance(event, Up | Down):
            with self._lock:
                self._view.link(self._now(), event)
                self._told_wall = None
                updating = self._updater if isinstance(event, Up) and self._update_error is None else None
                more = updating.connected() if updating is not None else []
            self._send_all(more)
        elif isinstance(event, TimeSynced):
            self._tell_clock()
        if self._listener is not None:
            self._listener(event)

    def _tell_clock(self) -> None:
        """Send ClockSet when the device does not know the time of day or ours was stepped."""
        peer, offset = self.session.peer, self.session.offset_us
        if not self.session.up or peer is None or offset is None or not peer.capabilities & p.Capability.CLOCK:
            return
        now = self._now()
        utc_us, offset_min = self._wall()
        with self._lock:
            moved = self._told_wall is None or abs(utc_us - now - self._told_wall) >= CLOCK_STEP_US
            self._told_wall = utc_us - now if moved else self._told_wall
        if moved:
            self._send_all([p.ClockSet(now + offset, utc_us, offset_min)])

    def _drive_update(self, message: p.Message) -> list[p.Message]:
        updater = self._updater
        if updater is None or updater.finished or self._update_error is not None:
            return []
        try:
            return updater.on(message)
        except UpdateError as error:
            self._update_error = error
            return []

    def _send_all(self, messages: list[p.Message]) -> None:
        """Send the bridge's own messages; one that cannot be sent ends the update it belongs to, never the loop."""
        for message in messages:
            try:
                self.send(message)
            except (NotCapable, OutboxFull) as error:
                with self._lock:
                    self._told_wall = None  # the time of day is told at the next chance
                    if self._updater is not None and not self._updater.finished:
                        self._update_error = UpdateError(f"the update cannot be sent: {error.args[0]}")
                return

    def _feed_update(self) -> None:
        """Hand over more of the image as the queue drains."""
        room = UPDATE_ROOM - self.session.queued
        with self._lock:
            running = self._updater is not None and self._update_error is None and self.session.up and room > 0
            more = self._updater.more(room) if running and self._updater is not None else []
        self._send_all(more)


def _identity() -> int:
    """A random number for a nonce, a queue or an update, never 0."""
    return secrets.randbelow(2**32 - 1) + 1
