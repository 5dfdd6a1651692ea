"""Firmware update on the device: two slots, a hash, one trial boot, and the way back. Pure but for the flash it is given.

The running image is never touched. Chunks go to the other slot; Finish checks the hash and marks it for one trial boot;
the trial image keeps its place only when the host confirms it over the link. Power loss, a crash or silence at any
point leaves the old image in charge. Both the begin and the swap are refused under 30 % battery or above 45 degrees.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from firmware_bridge import protocol as p
from firmware_bridge.protocol import SlotState, UpdateReason, UpdateState

BATTERY_LEAST = 30
TEMP_MOST_DC = 450
CONFIRM_US = 60_000_000
SLOT_BYTES = 1 << 20
CHUNK_MOST = 192


@dataclass(slots=True)
class Image:
    """One slot's content."""

    version: str
    data: bytes


@dataclass(slots=True)
class Flash:
    """What survives power loss. Every assignment to a field stands for one atomic write of the boot record."""

    slots: list[Image] = field(default_factory=lambda: [Image("1.0.0", b"factory"), Image("", b"")])
    active: int = 0
    trial: bool = False
    """The other slot holds a checked image that may boot once."""
    tried: bool = False
    reverted: bool = False
    """The last trial failed; told to the host until the next update begins."""
    update: int = 0
    size: int = 0
    sha256: bytes = b""
    version: str = ""
    staged: bytearray = field(default_factory=bytearray)


def boot(flash: Flash) -> tuple[int, SlotState]:
    """The boot loader: which slot runs now, and in what state. A trial that was not confirmed before is taken back."""
    if flash.trial and not flash.tried:
        flash.tried = True
        return 1 - flash.active, SlotState.TESTING
    if flash.trial:
        flash.trial = flash.tried = False
        flash.reverted = True
    return flash.active, SlotState.REVERTED if flash.reverted else SlotState.CONFIRMED


@dataclass(frozen=True, slots=True)
class Vitals:
    """What decides whether an update may go on; None: not measured."""

    percent: int | None
    temp_dc: int | None


class DeviceUpdate:
    """The update's state machine from one boot to the next."""

    def __init__(self, flash: Flash, now_us: int) -> None:
        self.flash = flash
        self.running, self.state = boot(flash)
        self._booted_us = now_us
        self.reboot = False
        """Set when the device must restart now (trial boot, or back to the old image)."""

    @property
    def version(self) -> str:
        """Version of the running image."""
        return self.flash.slots[self.running].version

    def status(self) -> p.UpdateStatus:
        """Where the update stands, as told after a handshake."""
        state = {SlotState.TESTING: UpdateState.TESTING, SlotState.REVERTED: UpdateState.REVERTED}.get(
            self.state, UpdateState.RECEIVING if self.flash.update else UpdateState.IDLE
        )
        return self._status(state, UpdateReason.NONE)

    def handle(self, message: p.Message, vitals: Vitals) -> p.UpdateStatus | None:
        """Carry out an update message; the answer, None for a chunk that fits. Repeats change nothing."""
        if isinstance(message, p.UpdateBegin):
            return self._begin(message, vitals)
        flash = self.flash
        if isinstance(message, p.UpdateConfirm):
            if self.state == SlotState.TESTING and message.update == flash.update:
                flash.active, flash.trial, flash.tried = self.running, False, False
                flash.update = 0
                self.state = SlotState.CONFIRMED
            done = self.state == SlotState.CONFIRMED
            return p.UpdateStatus(
                message.update,
                UpdateState.CONFIRMED if done else UpdateState.REFUSED,
                UpdateReason.NONE if done else UpdateReason.NOT_STARTED,
                0,
            )
        if message.update != flash.update or flash.update == 0 or self.state == SlotState.TESTING:
            return p.UpdateStatus(message.update, UpdateState.REFUSED, UpdateReason.NOT_STARTED, 0)
        if isinstance(message, p.UpdateChunk):
            return self._chunk(message)
        if isinstance(message, p.UpdateAbort):
            answer = self._status(UpdateState.IDLE, UpdateReason.ABORTED)
            flash.update = 0
            return answer
        return self._finish(vitals)

    def tick(self, now_us: int) -> None:
        """A trial that nobody confirmed in time asks for the reboot that takes it back."""
        if self.state == SlotState.TESTING and now_us - self._booted_us >= CONFIRM_US:
            self.reboot = True

    def deadline(self) -> int | None:
        """When ``tick`` matters."""
        return self._booted_us + CONFIRM_US if self.state == SlotState.TESTING and not self.reboot else None

    def _begin(self, message: p.UpdateBegin, vitals: Vitals) -> p.UpdateStatus:
        flash = self.flash
        reason = _unfit(vitals)
        if reason == UpdateReason.NONE and (message.size > SLOT_BYTES or message.size == 0):
            reason = UpdateReason.TOO_LARGE
        if reason == UpdateReason.NONE and (self.state == SlotState.TESTING or message.update == 0):
            reason = UpdateReason.NOT_STARTED
        if reason != UpdateReason.NONE:
            return p.UpdateStatus(message.update, UpdateState.REFUSED, reason, 0)
        if flash.update == 0 or (message.sha256, message.size) != (flash.sha256, flash.size):
            flash.staged = bytearray()
        flash.sha256, flash.size, flash.version = message.sha256, message.size, message.version
        flash.update = message.update
        flash.reverted = False
        self.state = SlotState.CONFIRMED
        return self._status(UpdateState.RECEIVING, UpdateReason.NONE)

    def _chunk(self, message: p.UpdateChunk) -> p.UpdateStatus | None:
        flash, have = self.flash, len(self.flash.staged)
        end = message.offset + len(message.data)
        if message.offset > have or end > flash.size:
            return self._status(UpdateState.RECEIVING, UpdateReason.WRONG_OFFSET)
        if end > have:
            flash.staged += message.data[have - message.offset :]
        return None

    def _finish(self, vitals: Vitals) -> p.UpdateStatus:
        flash = self.flash
        reason = _unfit(vitals)
        if reason != UpdateReason.NONE:
            return self._status(UpdateState.REFUSED, reason)
        if len(flash.staged) != flash.size:
            return self._status(UpdateState.RECEIVING, UpdateReason.WRONG_OFFSET)
        image = bytes(flash.staged)
        if hashlib.sha256(image).digest() != flash.sha256:
            answer = self._status(UpdateState.REFUSED, UpdateReason.WRONG_HASH)
            flash.update, flash.staged = 0, bytearray()
            return answer
        flash.slots[1 - flash.active] = Image(flash.version, image)
        flash.tried, flash.trial = False, True
        self.reboot = True
        return self._status(UpdateState.REBOOTING, UpdateReason.NONE)

    def _status(self, state: UpdateState, reason: UpdateReason) -> p.UpdateStatus:
        return p.UpdateStatus(self.flash.update, state, reason, len(self.flash.staged) if self.flash.update else 0)


def _unfit(vitals: Vitals) -> UpdateReason:
    """Why the device must not be updated now. An unknown battery counts as empty; an unmeasured heat cannot refuse."""
    if vitals.percent is None or vitals.percent < BATTERY_LEAST:
        return UpdateReason.LOW_BATTERY
    if vitals.temp_dc is not None and vitals.temp_dc > TEMP_MOST_DC:
        return UpdateReason.HOT
    return UpdateReason.NONE
