"""Telling systemd how the service is (sd_notify): ready, alive, what it does.  Nothing happens outside systemd."""

from __future__ import annotations

import os
import socket

from edge.logs import Log

_log = Log("systemd")


def notify(*lines: str) -> bool:
    """Send lines such as READY=1, WATCHDOG=1, STATUS=..., STOPPING=1; false when nobody listens.

    A line break inside a line would start another assignment, so it is replaced.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return False
    if address.startswith("@"):
        address = "\0" + address[1:]  # the abstract name space
    message = "\n".join(" ".join(line.split()) for line in lines).encode()
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            sender.settimeout(1.0)
            sender.connect(address)
            sender.sendall(message)
    except OSError as error:
        _log.warning("notify_failed", cause=error)
        return False
    return True


def watchdog_s() -> float | None:
    """How often WATCHDOG=1 is to be sent, seconds: half of what the unit allows; None when it asks for none."""
    allowed = os.environ.get("WATCHDOG_USEC", "")
    meant = os.environ.get("WATCHDOG_PID", "")
    if not allowed.isdigit() or int(allowed) == 0 or (meant and meant != str(os.getpid())):
        return None
    return int(allowed) / 2_000_000
