"""The device's firmware as a pure machine: session plus update. The C reference does the same; see ``reference_device``.

Times are the device's own clock, ``at_us`` since its boot.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

from firmware_bridge import protocol as p
from firmware_bridge.errors import OutboxFull
from firmware_bridge.events import Deliver, Down, Output, Queued, Released, Restored, Settings, Transmit, Up
from firmware_bridge.session import Session
from firmware_bridge.update import DeviceUpdate, Flash, Vitals

BOARD = "grove-sim"
REBOOT_GRACE_US = 500_000
DEVICE_SETTINGS = Settings(outbox=256, window=16)
UPDATES = (p.UpdateBegin, p.UpdateChunk, p.UpdateFinish, p.UpdateConfirm, p.UpdateAbort)


@dataclass(slots=True)
class Reaction:
    """What a step of the firmware asks of the simulator."""

    data: bytes = b""
    """Bytes for the line."""
    commands: list[p.Message] = field(default_factory=list)
    """Commands for the board, in order, each exactly once."""
    connected: bool = False
    """A handshake was done: greet."""
    lost: bool = False
    """The session ended."""
    restart: bool = False
    """The firmware wants to reboot now (update)."""


class Engine(Protocol):
    """A firmware that the simulator can drive: this one, or the compiled C reference."""

    vitals: Vitals
    """Set by the simulator before each call."""

    def boot(self, nonce: int, reason: p.Reason) -> Reaction:
        """Power on at device time 0; memory that survives power loss is the engine's own."""

    def opened(self, at_us: int) -> Reaction:
        """The line came up."""

    def closed(self, at_us: int) -> Reaction:
        """The line ended."""

    def feed(self, at_us: int, data: bytes) -> Reaction:
        """Bytes from the host."""

    def send(self, at_us: int, message: p.Message) -> Reaction:
        """The board has something to report."""

    def tick(self, at_us: int) -> Reaction:
        """Time passed."""

    def sleep(self, at_us: int) -> Reaction:
        """Say goodbye: the device sleeps."""

    def deadline(self) -> int | None:
        """When ``tick`` must be called at the latest."""


class Retained:
    """Memory that outlives a crash of the firmware (retained RAM or flash): the session's queue and position."""

    def __init__(self, stream: int) -> None:
        self.restored = Restored(stream)

    def queued(self, item: Queued) -> None:
        """One of our messages was queued."""
        queued = (*self.restored.queued, (item.seq, item.number, item.payload))
        self.restored = replace(self.restored, queued=queued, next_seq=(item.seq + 1) & 0xFFFFFFFF)

    def released(self, seq: int) -> None:
        """The host has everything up to ``seq``."""
        at = [entry[0] for entry in self.restored.queued]
        keep = at.index(seq) + 1 if seq in at else 0
        self.restored = replace(self.restored, queued=self.restored.queued[keep:])

    def reached(self, stream: int, committed: int) -> None:
        """Where we are in the host's queue: a message was carried out, or a handshake named another queue."""
        self.restored = replace(self.restored, peer_stream=stream, peer_committed=committed)


class PythonDevice:
    """The firmware in Python. ``flash`` and ``memory`` survive ``boot``; everything else is lost by it."""

    def __init__(
        self, flash: Flash, memory: Retained, capabilities: p.Capability = p.ALL_CAPABILITIES, board: str = BOARD
    ) -> None:
        self.flash, self.memory, self.capabilities, self.board = flash, memory, capabilities, board
        self.vitals = Vitals(None, None)
        self.dropped = 0
        """Messages that found the queue full."""

    def boot(self, nonce: int, reason: p.Reason) -> Reaction:
        """Power on; raises SessionError for a nonce of 0."""
        self.update = DeviceUpdate(self.flash, 0)
        self._restart_at: int | None = None
        self.session = Session(
            p.Role.DEVICE,
            nonce=nonce,
            restored=self.memory.restored,
            name=self.board,
            capabilities=self.capabilities,
            settings=DEVICE_SETTINGS,
        )
        return self.send(0, p.Wake(0, reason))

    def opened(self, at_us: int) -> Reaction:
        """The line came up."""
        return self._react(at_us, self.session.opened(at_us))

    def closed(self, at_us: int) -> Reaction:
        """The line ended."""
        return self._react(at_us, self.session.closed(at_us))

    def feed(self, at_us: int, data: bytes) -> Reaction:
        """Bytes from the host."""
        return self._react(at_us, self.session.feed(at_us, data))

    def send(self, at_us: int, message: p.Message) -> Reaction:
        """Report something; a full queue drops and counts it."""
        return self._react(at_us, self._queue(at_us, message))

    def tick(self, at_us: int) -> Reaction:
        """Time passed; the session and the update look at their timers."""
        self.update.tick(at_us)
        return self._react(at_us, self.session.tick(at_us))

    def sleep(self, at_us: int) -> Reaction:
        """Say goodbye."""
        return self._react(at_us, self.session.bye(at_us, p.ByeReason.SLEEP))

    def deadline(self) -> int | None:
        """When ``tick`` must be called at the latest."""
        times = [t for t in (self.session.deadline(), self.update.deadline(), self._restart_at) if t is not None]
        return min(times, default=None)

    def _queue(self, at_us: int, message: p.Message) -> list[Output]:
        try:
            return self.session.send(at_us, message)
        except OutboxFull:
            self.dropped += 1
            return []

    def _react(self, at_us: int, outputs: list[Output]) -> Reaction:
        reaction, work = Reaction(), list(outputs)
        for output in work:  # grows while we walk it
            if isinstance(output, Transmit):
                reaction.data += output.data
            elif isinstance(output, Queued):
                self.memory.queued(output)
            elif isinstance(output, Released):
                self.memory.released(output.seq)
            elif isinstance(output, Up):
                reaction.connected = True
                self.memory.reached(*self.session.position)
                work += self._queue(at_us, p.Firmware(at_us, self.update.state, self.update.version[:64], self.board))
                if self.flash.update or self.flash.reverted:
                    work += self._queue(at_us, self.update.status())
            elif isinstance(output, Down):
                reaction.lost = True
            elif isinstance(output, Deliver):
                self._obey(at_us, output, reaction, work)
        if self.update.reboot and self._restart_at is None:
            self._restart_at = at_us + REBOOT_GRACE_US
        # The answer that announces a reboot should arrive first; a host that does not listen cannot hold it up.
        if self._restart_at is not None and (at_us >= self._restart_at or not self.session.queued):
            reaction.restart = True
            reaction.data += b"".join(
                o.data for o in self.session.bye(at_us, p.ByeReason.REBOOT) if isinstance(o, Transmit)
            )
        return reaction

    def _obey(self, at_us: int, item: Deliver, reaction: Reaction, work: list[Output]) -> None:
        message = item.message
        if isinstance(message, UPDATES):
            answer = self.update.handle(message, self.vitals)
            if answer is not None:
                work += self._queue(at_us, answer)
        elif not isinstance(message, p.Unknown):
            reaction.commands.append(message)
        if item.seq is not None:
            self.memory.reached(item.stream, item.seq)
            work += self.session.commit(at_us, item.stream, item.seq)
