"""The link over a real pseudo-terminal on a bad line, and the stranger's client; the long soak is marked slow."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from firmware_bridge import protocol as p
from firmware_bridge.endpoint import Endpoint
from firmware_bridge.events import Down, Restored, TimeSynced, Up
from firmware_bridge.links import TcpLink
from firmware_bridge.session import Session
from tools import bench_link

ROOT = Path(__file__).resolve().parents[2]


def test_each_message_once_and_in_order_over_a_bad_pty() -> None:
    result = bench_link.run(800, bench_link.SOAK, paced=False)
    assert result.exactly_once_in_order
    assert result.resent > 20 and result.corrupt_seen > 20 and result.duplicates_seen > 5


@pytest.mark.slow
def test_ten_thousand_messages_each_way_over_a_bad_pty() -> None:
    assert bench_link.run(10_000, bench_link.SOAK, paced=False).exactly_once_in_order


def test_a_uart_s_pace_changes_nothing_but_time() -> None:
    result = bench_link.run(60, bench_link.SOAK, paced=True)
    assert result.exactly_once_in_order and result.seconds > 60 * 2 * 20 / bench_link.BYTES_PER_S / 2


def test_the_example_client_handshakes_reports_and_obeys() -> None:
    tool = [sys.executable, "-u", str(ROOT / "tools" / "link_client_example.py"), "0"]
    with subprocess.Popen(tool, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        port = int(client.stdout.readline().split()[-1])
        got, events, stop = [], [], threading.Event()
        session = Session(p.Role.HOST, nonce=5, restored=Restored(6))
        link = TcpLink("127.0.0.1", port)
        endpoint = Endpoint(
            session, link, lambda: time.monotonic_ns() // 1_000, lambda item: got.append(item.message) is None,
            listener=events.append,
        )  # fmt: skip
        thread = threading.Thread(target=endpoint.run, args=(stop,))
        thread.start()
        try:
            assert client.stdout.readline() == "connected\n"
            endpoint.send(p.SetLed(p.Led.RECORDING, p.LedMode.ON, 0))
            endpoint.send(p.SetLed(p.Led.RECORDING, p.LedMode.OFF, 0))
            assert [client.stdout.readline() for _ in range(2)] == ["told 0x40 01020000\n", "told 0x40 01010000\n"]
            for _ in range(12_000):
                if any(isinstance(m, p.Gesture) for m in got) and session.offset_us is not None:
                    break
                stop.wait(0.01)
        finally:
            stop.set()
            endpoint.wake()
            thread.join(60)
            endpoint.dispose()
            client.kill()
    assert got[0] == p.Worn(0, True) and got[1].kind == p.GestureKind.TAP
    assert sum(isinstance(e, Up) for e in events) == 1 and [e.reason for e in events if isinstance(e, Down)] == ["bye"]
    assert any(isinstance(e, TimeSynced) for e in events)
    assert session.stats.malformed == session.stats.unknown == 0
