"""What every line offers, and the common part of those that are a file descriptor."""

from __future__ import annotations

import errno
import os
import select
from typing import Protocol

from firmware_bridge.errors import LinkLost

READ = 65_536
_LATER = (errno.EAGAIN, errno.EWOULDBLOCK, errno.EINTR)


class Link(Protocol):
    """A line of bytes that can be opened again and again. Nothing here blocks, but ``open`` may for its timeout."""

    @property
    def name(self) -> str:
        """What the user calls it, for logs and notices."""

    def open(self) -> None:
        """Open the line; raises LinkUnavailable when it cannot be now, LinkUnsupported when it never can."""

    def fileno(self) -> int:
        """A descriptor that ``select`` reports readable when ``read`` has something."""

    def read(self) -> bytes:
        """What has arrived, ``b""`` when nothing; raises LinkLost when the line ended."""

    def write(self, data: bytes) -> int:
        """Take as many of the bytes as fit now and return how many; raises LinkLost when the line ended."""

    def close(self) -> None:
        """Close the line; closing a closed line is fine."""


def wait_ready(fds: list[int], writing: int | None, timeout_s: float) -> set[int]:
    """Those of ``fds`` that can be read or have ended; returns early when ``writing`` takes bytes. Any descriptor works."""
    poll = select.poll()  # select.select fails above descriptor 1023, which a long-lived runtime may reach
    for fd in fds:
        poll.register(fd, select.POLLIN | (select.POLLOUT if fd == writing else 0))
    return {fd for fd, event in poll.poll(max(0, round(timeout_s * 1000))) if event & ~select.POLLOUT}


class DescriptorLink:
    """A link over a non-blocking file descriptor in ``_fd`` (-1: closed)."""

    _fd = -1
    _lost_on_empty = True

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        """What the user calls the line."""
        return self._name

    def fileno(self) -> int:
        """The descriptor, -1 when closed."""
        return self._fd

    def read(self) -> bytes:
        """What has arrived, ``b""`` when nothing; raises LinkLost when the line ended."""
        try:
            data = os.read(self._fd, READ)
        except OSError as error:
            if error.errno in _LATER:
                return b""
            raise LinkLost(f"{self.name}: {error.strerror}") from error
        if not data and self._lost_on_empty:
            raise LinkLost(f"{self.name}: the other side closed it")
        return data

    def write(self, data: bytes) -> int:
        """Take what fits now and return how many bytes that was; raises LinkLost when the line ended."""
        try:
            return os.write(self._fd, data)
        except OSError as error:
            if error.errno in _LATER:
                return 0
            raise LinkLost(f"{self.name}: {error.strerror}") from error

    def close(self) -> None:
        """Close the descriptor."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
