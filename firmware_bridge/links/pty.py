"""Pseudo-terminal: a simulated device that any program can open like a serial port."""

from __future__ import annotations

import os
import pty
import termios
import tty
from pathlib import Path

from firmware_bridge.errors import LinkUnavailable
from firmware_bridge.links.base import DescriptorLink


class PtyLink(DescriptorLink):
    """Without a path: the device's side of a new terminal, whose ``path`` the runtime opens. With one: that side.

    The device's side survives a runtime that comes and goes: this process keeps the far end open too, so the kernel
    neither hangs up nor drops the terminal. ``alias`` is a symbolic link kept on it, so that its name stays the same.
    """

    def __init__(self, path: str | None = None, *, alias: Path | None = None) -> None:
        super().__init__(f"pty:{path or 'new'}")
        self._far = -1
        self._given, self._alias = path, alias
        self.path = path or ""

    def open(self) -> None:
        """Open or make the terminal in raw mode; raises LinkUnavailable."""
        self.close()
        try:
            if self._given is None:
                self._fd, self._far = pty.openpty()
                tty.setraw(self._far)
                self.path = os.ttyname(self._far)
                self._name = f"pty:{self.path}"
                if self._alias is not None:
                    self._alias.unlink(missing_ok=True)
                    self._alias.symlink_to(self.path)
            else:
                self._fd = os.open(self._given, os.O_RDWR | os.O_NOCTTY)
                tty.setraw(self._fd)
                termios.tcflush(self._fd, termios.TCIOFLUSH)
        except (OSError, termios.error) as error:
            self.close()
            raise LinkUnavailable(f"{self.name}: {error}") from error
        os.set_blocking(self._fd, False)

    def close(self) -> None:
        """Close both ends that this process holds."""
        super().close()
        far, self._far = self._far, -1
        if far >= 0:
            os.close(far)
            if self._alias is not None:
                self._alias.unlink(missing_ok=True)
