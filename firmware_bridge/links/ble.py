"""Bluetooth LE by bleak: a stream of bytes over two characteristics, plus the standard battery service.

A thread of its own runs bleak's event loop and pumps between the radio and a socket pair; to the rest of the bridge the
link is a descriptor like any other, with the socket's buffer as back-pressure. Frames are cut to what the negotiated
MTU allows and need no marks of their own: COBS finds them again.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import Any

from firmware_bridge.errors import LinkUnavailable, LinkUnsupported
from firmware_bridge.links.base import DescriptorLink

SERVICE = "6b1d0001-5a0e-4c55-9c2b-67726f766521"
TO_DEVICE = "6b1d0002-5a0e-4c55-9c2b-67726f766521"
TO_HOST = "6b1d0003-5a0e-4c55-9c2b-67726f766521"
BATTERY_SERVICE = "0000180f-0000-1000-8000-00805f9b34fb"
BATTERY_LEVEL = "00002a19-0000-1000-8000-00805f9b34fb"
WRITE_LEAST = 20
"""What any connection takes in one write: the smallest MTU, 23, less the header of 3."""


class BleLink(DescriptorLink):
    """Glasses by name or address. ``on_battery(percent)`` is called from the link's thread for the standard service.

    ``client`` and ``find`` stand for ``bleak.BleakClient`` and a scan; tests pass their own.
    """

    def __init__(
        self,
        target: str,
        *,
        on_battery: Callable[[int], None] | None = None,
        timeout_s: float = 15.0,
        client: Callable[..., Any] | None = None,
        find: Callable[[str, float], Any] | None = None,
    ) -> None:
        super().__init__(f"ble:{target}")
        self._target, self._on_battery, self._timeout_s = target, on_battery, timeout_s
        self._client, self._find = client, find
        self._thread: threading.Thread | None = None
        self._near: socket.socket | None = None

    def open(self) -> None:
        """Scan, connect and subscribe; raises LinkUnavailable, or LinkUnsupported without bleak."""
        self.close()
        client, find = self._client, self._find
        if client is None or find is None:
            try:
                import bleak  # noqa: PLC0415 (an extra; without it every other kind of link works)
            except ImportError as error:
                raise LinkUnsupported(f"{self.name}: bleak is not installed") from error
            client, find = client or bleak.BleakClient, find or _scan
        near, far = socket.socketpair()
        near.setblocking(False)
        far.setblocking(False)
        ready = threading.Event()
        failure: list[BaseException] = []
        self._thread = threading.Thread(
            target=lambda: _thread(self._session(client, find, far, ready), far, ready, failure),
            name="glasses-ble",
            daemon=True,
        )
        self._near = near
        self._thread.start()
        if not ready.wait(2 * self._timeout_s + 5) or failure:
            self.close()
            reason = failure[0] if failure else "no answer"
            raise LinkUnavailable(f"{self.name}: {reason}") from (failure[0] if failure else None)
        self._fd = near.fileno()

    def close(self) -> None:
        """Disconnect and end the thread."""
        self._fd = -1
        near, self._near = self._near, None
        if near is not None:
            near.close()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(self._timeout_s)

    async def _session(self, client: Any, find: Any, far: socket.socket, ready: threading.Event) -> None:
        loop = asyncio.get_running_loop()
        found = await find(self._target, self._timeout_s)
        if found is None:
            raise LinkUnavailable(f"{self.name}: not in range")
        ended = asyncio.Event()
        async with client(found, lambda _: loop.call_soon_threadsafe(ended.set), timeout=self._timeout_s) as connected:
            await connected.start_notify(TO_HOST, lambda _, data: _pass_on(far, bytes(data), ended))
            await self._battery(connected)
            ready.set()
            pump = asyncio.ensure_future(_outgoing(loop, connected, far))
            gone = asyncio.ensure_future(ended.wait())
            done, pending = await asyncio.wait({pump, gone}, return_when=asyncio.FIRST_COMPLETED)
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)
            for task in done:
                task.result()

    async def _battery(self, connected: Any) -> None:
        """Read and watch the standard battery level, when the glasses have it and somebody listens."""
        tell = self._on_battery
        if tell is None or connected.services.get_characteristic(BATTERY_LEVEL) is None:
            return

        def level(_: Any, data: bytes | bytearray) -> None:
            if data and data[0] <= 100:  # other values are reserved: unknown, not a level
                tell(data[0])

        level(None, await connected.read_gatt_char(BATTERY_LEVEL))
        await connected.start_notify(BATTERY_LEVEL, level)


def chunks(data: bytes, size: int) -> list[bytes]:
    """The pieces in which ``data`` goes over a connection that takes ``size`` bytes in one write."""
    size = max(size, WRITE_LEAST)
    return [data[i : i + size] for i in range(0, len(data), size)]


async def _scan(target: str, timeout_s: float) -> Any:
    from bleak import BleakScanner  # noqa: PLC0415 (an extra)

    return await BleakScanner.find_device_by_filter(
        lambda device, advertised: target in (device.address, device.name, advertised.local_name), timeout=timeout_s
    )


async def _outgoing(loop: asyncio.AbstractEventLoop, connected: Any, far: socket.socket) -> None:
    """Carry bytes from our socket to the glasses until our side closes."""
    target = connected.services.get_characteristic(TO_DEVICE)
    if target is None:
        raise LinkUnavailable("the glasses lack the link's characteristic")
    while data := await loop.sock_recv(far, 4_096):
        # Asked anew each time: the MTU grows while a connection settles.
        for piece in chunks(data, target.max_write_without_response_size):
            await connected.write_gatt_char(TO_DEVICE, piece, response=False)


def _pass_on(far: socket.socket, data: bytes, ended: asyncio.Event) -> None:
    """Hand notified bytes to the reader. A full buffer loses them, which the session's re-sending mends."""
    try:
        far.send(data)
    except BlockingIOError:
        return
    except OSError:  # our side closed: the session is over
        ended.set()


def _thread(session: Any, far: socket.socket, ready: threading.Event, failure: list[BaseException]) -> None:
    try:
        asyncio.run(session)
    except Exception as error:  # noqa: BLE001 (whatever ends the radio ends the link: open() or the reader reports it)
        failure.append(error)
    finally:
        far.close()
        ready.set()
