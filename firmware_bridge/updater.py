"""Firmware update on the host: a pure driver that turns the device's answers into the next messages."""

from __future__ import annotations

import hashlib

from firmware_bridge import protocol as p
from firmware_bridge.errors import UpdateError
from firmware_bridge.protocol import SlotState, UpdateReason, UpdateState
from firmware_bridge.update import CHUNK_MOST

_WHY = {
    UpdateReason.LOW_BATTERY: "the battery is below 30 %",
    UpdateReason.HOT: "the glasses are too hot",
    UpdateReason.TOO_LARGE: "the image does not fit",
    UpdateReason.WRONG_HASH: "the image arrived damaged",
    UpdateReason.ABORTED: "it was aborted",
    UpdateReason.FLASH: "the flash failed",
}


class Updater:
    """Drives one update. Send what ``connected``, ``on`` and ``more`` return; ``finished`` ends it, errors raise.

    ``number`` names the update on the wire (1 to 2**32 - 1). Call ``connected`` after every handshake: it resumes.
    """

    def __init__(self, image: bytes, version: str, number: int) -> None:
        self._image, self._version, self._number = image, version, number
        self._sha256 = hashlib.sha256(image).digest()
        self._offset: int | None = None
        self._booting = False
        self.finished = False

    @property
    def progress(self) -> float:
        """Share of the image that was handed to the session, 0 to 1."""
        return (self._offset or 0) / max(1, len(self._image))

    def connected(self) -> list[p.Message]:
        """The link is up, again or for the first time. After the reboot the device's Firmware message decides."""
        if self._booting or self.finished:
            return []
        self._offset = None
        return [p.UpdateBegin(self._number, len(self._image), self._sha256, self._version)]

    def more(self, room: int) -> list[p.Message]:
        """At most ``room`` next chunks, then the finish; call when the session's queue has drained somewhat."""
        out: list[p.Message] = []
        while self._offset is not None and len(out) < room and not self._booting:
            if self._offset >= len(self._image):
                out.append(p.UpdateFinish(self._number))
                self._offset = None
            else:
                data = self._image[self._offset : self._offset + CHUNK_MOST]
                out.append(p.UpdateChunk(self._number, self._offset, data))
                self._offset += len(data)
        return out

    def on(self, message: p.Message) -> list[p.Message]:
        """A message of the device; raises UpdateError when the update failed (the old firmware runs)."""
        if isinstance(message, p.UpdateStatus) and message.update == self._number and not self.finished:
            return self._on_status(message)
        if not isinstance(message, p.Firmware) or self.finished:
            return []
        if message.state == SlotState.TESTING and message.version == self._version:
            self._booting, self._offset = True, None  # also when the word that it reboots was lost
            return [p.UpdateConfirm(self._number)]
        if self._booting:
            if message.state == SlotState.CONFIRMED and message.version == self._version:
                self.finished = True  # the answer to our confirmation was lost in a reboot
                return []
            raise UpdateError(f"the new firmware did not start; {message.version} runs again")
        return []

    def _on_status(self, status: p.UpdateStatus) -> list[p.Message]:
        if status.state == UpdateState.RECEIVING:
            self._offset = min(status.offset, len(self._image))
        elif status.state == UpdateState.REBOOTING:
            self._booting, self._offset = True, None
        elif status.state == UpdateState.CONFIRMED:
            self.finished = True
        elif status.state == UpdateState.REFUSED and status.reason != UpdateReason.NOT_STARTED:
            raise UpdateError(f"update refused: {_WHY.get(status.reason, status.reason.name.lower())}")
        elif status.state == UpdateState.REVERTED and self._booting:
            raise UpdateError("the new firmware was taken back; the old one runs again")
        elif status.reason == UpdateReason.ABORTED:
            raise UpdateError("update aborted")
        return []
