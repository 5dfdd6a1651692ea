"""Serial port by pyserial: found again after it was unplugged, even under another number."""

from __future__ import annotations

import os
import termios
from typing import Any

import serial
from serial.tools import list_ports

from firmware_bridge.errors import LinkUnavailable
from firmware_bridge.links.base import DescriptorLink


class SerialLink(DescriptorLink):
    """A serial port. ``port`` is a device path, or ``auto`` for the first port whose USB vendor (and product) match.

    pyserial opens and configures the port; reading and writing go straight to its descriptor, which never blocks.
    ``reset_lines`` False keeps DTR and RTS low so that boards wired to reset on them do not restart at each connect.
    """

    def __init__(
        self,
        port: str,
        baud: int = 115_200,
        *,
        vid: int | None = None,
        pid: int | None = None,
        reset_lines: bool = False,
    ) -> None:
        super().__init__(f"serial:{port}")
        self._port, self._baud, self._vid, self._pid, self._reset_lines = port, baud, vid, pid, reset_lines
        self._serial: Any = None

    def open(self) -> None:
        """Open the port; raises LinkUnavailable when it is not there or taken."""
        self.close()
        try:
            opened = serial.Serial(None, self._baud, timeout=0, write_timeout=0, exclusive=True)
            if not self._reset_lines:
                opened.dtr = opened.rts = False
            opened.port = self.find()
            opened.open()
            opened.reset_input_buffer()
        except (OSError, ValueError, termios.error) as error:  # SerialException is an OSError
            raise LinkUnavailable(f"{self.name}: {error}") from error
        self._serial = opened
        self._fd = opened.fileno()
        os.set_blocking(self._fd, False)

    def find(self) -> str:
        """The path to open now; raises LinkUnavailable when no port matches."""
        if self._port != "auto":
            return self._port
        for found in list_ports.comports():
            if found.vid is not None and self._vid in (None, found.vid) and self._pid in (None, found.pid):
                return str(found.device)
        raise LinkUnavailable(f"{self.name}: no USB serial port matches")

    def close(self) -> None:
        """Close the port."""
        opened, self._serial, self._fd = self._serial, None, -1
        if opened is not None:
            opened.close()
