"""TCP: the line for tests and for simulators on another machine."""

from __future__ import annotations

import os
import socket

from firmware_bridge.errors import LinkUnavailable
from firmware_bridge.links.base import DescriptorLink


class TcpLink(DescriptorLink):
    """Connects to a device (or simulator) that listens on ``host``:``port``."""

    def __init__(self, host: str, port: int, timeout_s: float = 3.0) -> None:
        super().__init__(f"tcp:{host}:{port}")
        self._address, self._timeout_s = (host, port), timeout_s

    def open(self) -> None:
        """Connect; raises LinkUnavailable."""
        self.close()
        try:
            with socket.create_connection(self._address, timeout=self._timeout_s) as connected:
                self._fd = _adopt(connected)
        except OSError as error:
            raise LinkUnavailable(f"{self.name}: {error}") from error


class TcpListener(DescriptorLink):
    """The device's side: ``open`` takes the next caller. ``port`` 0 lets the system choose; see ``port`` after."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0, timeout_s: float = 0.2) -> None:
        super().__init__(f"tcp:{host}:{port}")
        self._timeout_s = timeout_s
        try:
            self._server = socket.create_server((host, port))
        except OSError as error:
            raise LinkUnavailable(f"{self.name}: {error}") from error
        self.port: int = self._server.getsockname()[1]
        self._name = f"tcp:{host}:{self.port}"

    def open(self) -> None:
        """Wait ``timeout_s`` for a caller; raises LinkUnavailable when none came."""
        self.close()
        self._server.settimeout(self._timeout_s)
        try:
            connected, _ = self._server.accept()
        except OSError as error:
            raise LinkUnavailable(f"{self.name}: no caller") from error
        with connected:
            self._fd = _adopt(connected)

    def shut(self) -> None:
        """Close the listening socket too."""
        self.close()
        self._server.close()


def _adopt(connected: socket.socket) -> int:
    """A non-blocking descriptor of our own for the connection; small frames must not wait for Nagle."""
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    fd = os.dup(connected.fileno())
    os.set_blocking(fd, False)
    return fd
