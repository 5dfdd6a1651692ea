"""The line that a setting names."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs

from firmware_bridge.errors import LinkUnavailable
from firmware_bridge.links.base import Link
from firmware_bridge.links.ble import BleLink
from firmware_bridge.links.pty import PtyLink
from firmware_bridge.links.serial import SerialLink
from firmware_bridge.links.tcp import TcpLink

Options = dict[str, str]


def open_url(url: str) -> Link:
    """The link that a setting names; it is not opened yet.

    ``serial:/dev/ttyACM0?baud=115200``, ``serial:auto?vid=303a`` (first port that matches), ``ble:NAME_OR_ADDRESS``,
    ``tcp:HOST:PORT``, ``pty:/dev/pts/7`` (a simulator's terminal). Raises LinkUnavailable for anything else.
    """
    scheme, _, rest = url.partition(":")
    place, _, query = rest.partition("?")
    options = {key: values[-1] for key, values in parse_qs(query).items()}
    make = _SCHEMES.get(scheme)
    if make is None or not place:
        raise LinkUnavailable(f"{url}: a link is serial:PORT, ble:NAME, tcp:HOST:PORT or pty:PATH")
    try:
        return make(place, options)
    except ValueError as error:
        raise LinkUnavailable(f"{url}: {error}") from error


def _serial(place: str, options: Options) -> Link:
    vid, pid = options.get("vid"), options.get("pid")
    return SerialLink(
        place,
        int(options.get("baud", "115200")),
        vid=None if vid is None else int(vid, 16),
        pid=None if pid is None else int(pid, 16),
        reset_lines=options.get("reset") == "1",
    )


def _tcp(place: str, options: Options) -> Link:
    host, _, port = place.rpartition(":")
    return TcpLink(host.strip("[]") or "127.0.0.1", int(port), float(options.get("timeout_s", "3")))


_SCHEMES: dict[str, Callable[[str, Options], Link]] = {
    "serial": _serial,
    "tcp": _tcp,
    "pty": lambda place, _: PtyLink(place),
    "ble": lambda place, _: BleLink(place),
}
