"""Real descriptors: serial over a pty, TCP, reconnects, hot-plug, and Bluetooth by contract."""

from __future__ import annotations

import asyncio
import itertools
import os
import select
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from firmware_bridge import protocol as p
from firmware_bridge.endpoint import Endpoint
from firmware_bridge.errors import LinkError, LinkLost, LinkUnavailable, LinkUnsupported
from firmware_bridge.events import Deliver, Down, Restored, Up
from firmware_bridge.links import Backoff, BleLink, Link, PtyLink, SerialLink, TcpLink, TcpListener, open_url
from firmware_bridge.links import ble as ble_module
from firmware_bridge.scenario import parse
from firmware_bridge.session import Session
from firmware_bridge.simulator import Simulator


def now_us() -> int:
    return time.monotonic_ns() // 1_000


def wait_for(condition: Callable[[], object], seconds: float = 60.0) -> None:
    end = now_us() + seconds * 1e6
    pause = threading.Event()
    while not condition():
        assert now_us() < end, "it never happened"
        pause.wait(0.005)


def read_all(link: Link, size: int) -> bytes:
    data = b""
    while len(data) < size and select.select([link.fileno()], [], [], 60)[0]:
        data += link.read()
    return data


class Host:
    """An endpoint in a thread, with everything it told."""

    def __init__(self, link: Link, nonce: int = 5) -> None:
        self.got: list[Deliver] = []
        self.events: list[object] = []
        session = Session(p.Role.HOST, nonce=nonce, restored=Restored(6))
        self.endpoint = Endpoint(
            session, link, now_us, lambda item: self.got.append(item) is None, listener=self.events.append,
            backoff=Backoff(0.02, 0.1),
        )  # fmt: skip
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.endpoint.run, args=(self.stop,))
        self.thread.start()

    def count(self, kind: type) -> int:
        return sum(isinstance(event, kind) for event in self.events)

    def messages(self, kind: type) -> list:
        return [item.message for item in self.got if isinstance(item.message, kind)]

    def close(self) -> None:
        self.stop.set()
        self.endpoint.wake()
        self.thread.join(60)
        self.endpoint.dispose()
        assert not self.thread.is_alive()


class Glasses:
    """A simulator in a thread."""

    def __init__(self, link: Link, **scenario: object) -> None:
        self.sim = Simulator(parse(dict(scenario)), now_us)
        self.stop, self.open = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.sim.run, args=(link, self.stop, lambda _: self.open.set()))
        self.thread.start()

    def close(self) -> None:
        self.stop.set()
        self.thread.join(60)
        assert not self.thread.is_alive()


@pytest.fixture
def closing() -> Iterator[Callable]:
    made: list = []

    def keep(thing):
        made.append(thing)
        return thing

    yield keep
    for thing in reversed(made):
        thing.close()


def test_serial_over_a_pty_survives_unplugging(closing, tmp_path: Path) -> None:
    alias = tmp_path / "glasses"
    glasses = closing(Glasses(PtyLink(alias=alias), worn=True))
    assert glasses.open.wait(60)
    host = closing(Host(SerialLink(str(alias))))
    wait_for(lambda: host.messages(p.Worn))
    host.endpoint.send(p.SetLed(p.Led.RECORDING, p.LedMode.ON, 0))
    wait_for(lambda: len(host.messages(p.LedState)) == 2)
    glasses.sim.do("unplug")
    wait_for(lambda: host.count(Down))
    assert host.endpoint.session.peer is None
    glasses.sim.do("tap")  # while nobody listens
    wait_for(lambda: host.count(LinkUnavailable) > 1)
    glasses.sim.do("plug")
    wait_for(lambda: host.count(Up) >= 2)
    wait_for(lambda: host.messages(p.Gesture))
    assert len(host.messages(p.Wake)) == 1  # the glasses never restarted
    assert len(host.messages(p.Gesture)) == 1


def test_a_host_that_comes_back_finds_the_same_terminal(closing) -> None:
    link = PtyLink()
    glasses = closing(Glasses(link))
    assert glasses.open.wait(60)
    for nonce in (5, 900):
        host = Host(PtyLink(link.path), nonce)
        wait_for(lambda host=host: host.messages(p.Battery))
        host.close()


def test_tcp_reconnects_to_a_device_that_comes_late(closing) -> None:
    listener = TcpListener()
    port = listener.port
    listener.shut()
    host = closing(Host(TcpLink("127.0.0.1", port)))
    wait_for(lambda: host.count(LinkUnavailable) >= 2)
    listener = TcpListener(port=port)
    glasses = Glasses(listener)
    wait_for(lambda: host.messages(p.Battery))
    glasses.close()
    listener.shut()
    wait_for(lambda: host.count(LinkLost) or host.count(Down))


def test_a_second_serial_owner_is_refused(closing) -> None:
    far = closing(PtyLink())
    far.open()
    first, second = closing(SerialLink(far.path)), SerialLink(far.path)
    first.open()
    with pytest.raises(LinkUnavailable):
        second.open()
    assert first.write(b"abc") == 3 and read_all(far, 3) == b"abc"


def test_reading_a_closed_peer_is_lost_and_silence_is_not(closing) -> None:
    listener = TcpListener()
    near = closing(TcpLink("127.0.0.1", listener.port))
    near.open()
    listener.open()
    assert near.read() == b""
    listener.shut()
    select.select([near.fileno()], [], [], 5)
    with pytest.raises(LinkLost):
        near.read()


def test_auto_finds_a_port_by_its_usb_numbers(monkeypatch) -> None:
    from serial.tools import list_ports

    ports = [
        SimpleNamespace(device="/dev/ttyS0", vid=None, pid=None),
        SimpleNamespace(device="/dev/ttyACM3", vid=0x303A, pid=1),
    ]
    monkeypatch.setattr(list_ports, "comports", lambda: ports)
    assert SerialLink("auto").find() == SerialLink("auto", vid=0x303A, pid=1).find() == "/dev/ttyACM3"
    with pytest.raises(LinkUnavailable):
        SerialLink("auto", vid=0x1234).open()


@pytest.mark.parametrize(
    ("url", "kind", "name"),
    [
        ("serial:/dev/ttyUSB0?baud=921600", SerialLink, "serial:/dev/ttyUSB0"),
        ("serial:auto?vid=303a", SerialLink, "serial:auto"),
        ("tcp:127.0.0.1:7070", TcpLink, "tcp:127.0.0.1:7070"),
        ("tcp:[::1]:7070", TcpLink, "tcp:::1:7070"),
        ("pty:/dev/pts/7", PtyLink, "pty:/dev/pts/7"),
        ("ble:AA:BB:CC:DD:EE:FF", BleLink, "ble:AA:BB:CC:DD:EE:FF"),
    ],
)
def test_links_by_url(url: str, kind: type, name: str) -> None:
    link = open_url(url)
    assert isinstance(link, kind) and link.name == name and link.fileno() == -1
    link.close()


@pytest.mark.parametrize("url", ["", "serial:", "tcp:host", "tcp:host:port", "usb:1", "serial:x?baud=fast"])
def test_wrong_urls_are_refused_with_advice(url: str) -> None:
    with pytest.raises(LinkUnavailable) as raised:
        open_url(url)
    assert raised.value.hint


def test_back_off_doubles_to_its_limit_and_starts_over() -> None:
    waits = Backoff(0.25, 10, spread=0.2, seed=4)
    seen = [waits.next_s() for _ in range(10)]
    bounds = [min(0.25 * 2**i, 10) for i in range(10)]
    assert all(0.8 * b <= s <= b for s, b in zip(seen, bounds, strict=True)) and len(set(seen)) == 10
    waits.reset()
    assert waits.next_s() <= 0.25


def test_a_line_that_takes_nothing_is_given_up(closing) -> None:
    class Full(PtyLink):
        def write(self, data: bytes) -> int:
            return 0

    session = Session(p.Role.HOST, nonce=1, restored=Restored(1))
    endpoint = Endpoint(session, Full(), now_us, lambda item: True)
    endpoint.link.open()
    endpoint._pending += bytes(300_000)
    with pytest.raises(LinkLost, match="takes no more"):
        endpoint._flush()
    endpoint.link.close()
    endpoint.dispose()


def test_a_handler_may_answer_and_may_commit_later(closing) -> None:
    listener = TcpListener()
    closing(SimpleNamespace(close=listener.shut))
    glasses = closing(Glasses(listener))
    session = Session(p.Role.HOST, nonce=1, restored=Restored(1))
    later: list[Deliver] = []

    def handler(item: Deliver) -> bool:
        if isinstance(item.message, p.Worn):
            endpoint.send(p.Haptic(p.Pattern.TICK, 50, 1))  # from inside the loop
        if item.seq is not None:
            later.append(item)
        return False

    endpoint = Endpoint(session, TcpLink("127.0.0.1", listener.port), now_us, handler)
    stop = threading.Event()
    thread = threading.Thread(target=endpoint.run, args=(stop,))
    thread.start()
    wait_for(lambda: glasses.sim.commands)
    wait_for(lambda: len(later) >= 6)
    assert len(glasses.sim.engine.memory.restored.queued) >= 6  # nothing was acknowledged yet
    for item in later:
        endpoint.commit(item)
    wait_for(lambda: len(glasses.sim.engine.memory.restored.queued) < 6)
    stop.set()
    endpoint.wake()
    thread.join(60)
    endpoint.dispose()


# -- Bluetooth ------------------------------------------------------------------------------------------------------


class FakeRadio:
    """What bleak's client offers, in front of a simulated device; MTU 23 unless told."""

    def __init__(self, mtu: int = 23, *, battery: bytes | None = None) -> None:
        self.mtu, self.battery = mtu, battery
        self.sim = Simulator(parse({"worn": True}), now_us)
        self.sizes: list[int] = []
        self.clients: list[FakeClient] = []
        self.reachable = True

    def client(self, found: object, gone: Callable, timeout: float) -> FakeClient:
        self.clients.append(FakeClient(self, gone))
        return self.clients[-1]

    async def find(self, target: str, timeout_s: float) -> object:
        return target if self.reachable else None


class FakeClient:
    def __init__(self, radio: FakeRadio, gone: Callable) -> None:
        self.radio, self.gone, self.notify = radio, gone, {}
        known = {ble_module.TO_DEVICE: SimpleNamespace(max_write_without_response_size=radio.mtu - 3)}
        if radio.battery is not None:
            known[ble_module.BATTERY_LEVEL] = SimpleNamespace()
        self.services = SimpleNamespace(get_characteristic=known.get)

    async def __aenter__(self) -> FakeClient:
        self.loop = asyncio.get_running_loop()
        self.radio.sim.line_opened()
        self.task = asyncio.ensure_future(self.life())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.task.cancel()
        self.radio.sim.line_closed()

    async def life(self) -> None:
        while True:
            self.tell(self.radio.sim.step())
            await asyncio.sleep(0.005)

    def tell(self, data: bytes) -> None:
        for piece in ble_module.chunks(data, self.radio.mtu - 3):
            self.notify[ble_module.TO_HOST](None, bytearray(piece))

    async def start_notify(self, uuid: str, callback: Callable) -> None:
        self.notify[uuid] = callback

    async def read_gatt_char(self, uuid: str) -> bytes:
        assert uuid == ble_module.BATTERY_LEVEL
        return self.radio.battery

    async def write_gatt_char(self, uuid: str, data: bytes, response: bool) -> None:
        assert uuid == ble_module.TO_DEVICE and response is False
        self.radio.sizes.append(len(data))
        self.tell(self.radio.sim.step(bytes(data)))


def test_bluetooth_carries_a_session_in_pieces_and_comes_back(closing) -> None:
    radio = FakeRadio(mtu=23, battery=bytes((55,)))
    levels: list[int] = []
    link = BleLink("glasses", on_battery=levels.append, client=radio.client, find=radio.find)
    host = closing(Host(link))
    wait_for(lambda: host.messages(p.Battery))
    host.endpoint.send(p.Display(0, 0, "a line of text that needs more than one packet"))
    wait_for(lambda: radio.sim.board.shown)
    assert max(radio.sizes) == 20 and levels == [55]
    first = radio.clients[0]
    first.loop.call_soon_threadsafe(first.notify[ble_module.BATTERY_LEVEL], None, bytearray((54,)))
    first.loop.call_soon_threadsafe(first.notify[ble_module.BATTERY_LEVEL], None, bytearray((200,)))
    wait_for(lambda: levels == [55, 54])
    radio.reachable = False
    first.loop.call_soon_threadsafe(first.gone, first)
    wait_for(lambda: host.count(Down))
    wait_for(lambda: host.count(LinkUnavailable))
    radio.reachable = True
    wait_for(lambda: host.count(Up) >= 2)


def test_bluetooth_without_a_battery_service_is_fine(closing) -> None:
    radio = FakeRadio(mtu=185)
    levels: list[int] = []
    link = BleLink("glasses", on_battery=levels.append, client=radio.client, find=radio.find)
    host = closing(Host(link))
    wait_for(lambda: host.messages(p.Battery))
    assert levels == []


def test_bluetooth_out_of_range_or_broken_is_unavailable() -> None:
    radio = FakeRadio()
    radio.reachable = False
    with pytest.raises(LinkUnavailable, match="not in range"):
        BleLink("glasses", client=radio.client, find=radio.find).open()

    async def broken(target: str, timeout_s: float) -> object:
        raise OSError("adapter is off")

    with pytest.raises(LinkUnavailable, match="adapter is off"):
        BleLink("glasses", client=radio.client, find=broken).open()


def test_bluetooth_without_bleak_is_unsupported(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "bleak", None)
    with pytest.raises(LinkUnsupported, match="bleak"):
        BleLink("glasses").open()


def test_pieces_fit_the_mtu() -> None:
    for most, size in itertools.product((0, 20, 21, 244), (0, 1, 20, 21, 255)):
        data = os.urandom(size)
        pieces = ble_module.chunks(data, most)
        assert b"".join(pieces) == data and all(len(x) <= max(most, 20) for x in pieces)


def test_link_errors_are_one_family() -> None:
    assert {e.code for e in (LinkError, LinkLost, LinkUnavailable, LinkUnsupported)} == {
        "bridge.link", "bridge.link_lost", "bridge.link_unavailable", "bridge.link_unsupported",
    }  # fmt: skip
