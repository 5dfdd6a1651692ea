"""Measure the glasses' link over a pseudo-terminal: throughput, latency, and a soak on a bad line.

    python tools/bench_link.py            throughput unpaced; latency paced at 115200 baud, clean and with faults
    python tools/bench_link.py --soak     10,000 messages each way, 5 % of the frames corrupted, others dropped, doubled,
                                          reordered, noise between: each must arrive exactly once and in order

Both ends run in this process, one thread each; latency is from ``send`` to the other side's handler.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from edge.clock import SystemClock  # noqa: E402
from firmware_bridge import protocol as p  # noqa: E402
from firmware_bridge.endpoint import Endpoint  # noqa: E402
from firmware_bridge.errors import LinkLost  # noqa: E402
from firmware_bridge.events import Deliver, Restored, Settings, Up  # noqa: E402
from firmware_bridge.faults import CLEAN, BadLine, LineRates  # noqa: E402
from firmware_bridge.links import Link, PtyLink, SerialLink  # noqa: E402
from firmware_bridge.session import Session  # noqa: E402

SOAK = LineRates(corrupt=0.05, drop=0.02, duplicate=0.02, reorder=0.02, noise=0.02, lose_acks=0.02)
BYTES_PER_S = 115_200 / 10
F_SETPIPE_SZ = 1031
now = SystemClock().mono


class Hurt:
    """A link whose writes pass through a bad line, and at a UART's speed when ``paced``."""

    def __init__(self, link: Link, rates: LineRates, seed: int, *, paced: bool) -> None:
        self.link, self.bad = link, BadLine(rates, seed)
        self._left = b""
        self._pipe: tuple[int, int] | None = None
        self._paced = paced

    @property
    def name(self) -> str:
        """The link's own name."""
        return self.link.name

    def open(self) -> None:
        """Open the link and, when paced, the thread that lets the bytes out at the UART's speed."""
        self.link.open()
        if self._paced:
            self._pipe = os.pipe()
            fcntl.fcntl(self._pipe[1], F_SETPIPE_SZ, 4096)  # as much as a serial driver buffers
            os.set_blocking(self._pipe[1], False)
            self._thread = threading.Thread(target=self._trickle, args=(self._pipe[0],))
            self._thread.start()

    def fileno(self) -> int:
        """The link's descriptor."""
        return self.link.fileno()

    def read(self) -> bytes:
        """What has arrived."""
        return self.link.read()

    def write(self, data: bytes) -> int:
        """Hurt the bytes, then pass on what fits; the rest goes first next time."""
        self._left += self.bad.send(data)
        try:
            taken = os.write(self._pipe[1], self._left) if self._pipe else self.link.write(self._left)
        except BlockingIOError:
            taken = 0
        self._left = self._left[taken:]
        return len(data)

    def close(self) -> None:
        """Close everything."""
        if self._pipe is not None:
            os.close(self._pipe[1])
            self._pipe = None
            self._thread.join()  # it lets out what is left
        self.link.close()

    def _trickle(self, fd: int) -> None:
        pause, due = threading.Event(), 0.0
        while data := os.read(fd, 16):
            due = max(due, now()) + 1e6 * len(data) / BYTES_PER_S
            pause.wait(max(0.0, due - now()) / 1e6)
            try:
                self.link.write(data)
            except LinkLost:  # the other end is gone: nobody misses the rest
                break
        os.close(fd)


@dataclass
class End:
    """One side: its endpoint and what reached its application."""

    endpoint: Endpoint
    make: Callable[[int], p.Message]
    got: list[int] = field(default_factory=list)
    sent_us: dict[int, int] = field(default_factory=dict)
    waits_us: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Result:
    """One run. Latencies in milliseconds, one way, over both directions."""

    messages: int
    exactly_once_in_order: bool
    seconds: float
    per_s: float
    p50_ms: float
    p99_ms: float
    most_ms: float
    resent: int
    hurt_frames: int
    corrupt_seen: int
    duplicates_seen: int


def run(count: int, rates: LineRates, *, paced: bool, gap_us: int = 0, limit_s: float = 300) -> Result:
    """Send ``count`` messages each way, one per ``gap_us`` (0: as fast as the queues take them)."""
    near = PtyLink()
    near.open()
    path = near.path
    near.open = lambda: None  # type: ignore[method-assign]  # it is open, and its path known
    links = [Hurt(near, rates, 1, paced=paced), Hurt(SerialLink(path), rates, 2, paced=paced)]
    stop, ups = threading.Event(), []
    ends = [
        _end(p.Role.DEVICE, links[0], ups, lambda i: p.Worn(i, worn=True)),
        _end(p.Role.HOST, links[1], ups, lambda i: p.ClockSet(i, 0, 0)),
    ]
    for end, other in zip(ends, ends[::-1], strict=True):
        end.endpoint._handler = _handler(end, other)  # noqa: SLF001 (each end times the other's messages)
    threads = [threading.Thread(target=end.endpoint.run, args=(stop,)) for end in ends]
    for thread in threads:
        thread.start()
    pause = threading.Event()
    while len(ups) < 2:
        pause.wait(0.01)
    began = now()
    for i in range(count):
        for end in ends:
            while end.endpoint.session.queued >= 1_000:
                pause.wait(0.001)
            end.sent_us[i] = now()
            end.endpoint.send(end.make(i))
        if gap_us:
            pause.wait(max(0, began + (i + 1) * gap_us - now()) / 1e6)
    while any(end.endpoint.session.queued for end in ends) and now() - began < limit_s * 1e6:
        pause.wait(0.002)
    seconds = (now() - began) / 1e6
    pause.wait(0.1)  # anything doubled would arrive now
    stop.set()
    for end, thread in zip(ends, threads, strict=True):
        end.endpoint.wake()
        thread.join()
        end.endpoint.dispose()
    waits = sorted(ends[0].waits_us + ends[1].waits_us)
    sessions = [end.endpoint.session for end in ends]
    return Result(
        messages=2 * count,
        exactly_once_in_order=all(end.got == list(range(count)) for end in ends),
        seconds=round(seconds, 3),
        per_s=round(2 * count / seconds, 1),
        p50_ms=round(waits[len(waits) // 2] / 1000, 3),
        p99_ms=round(waits[min(len(waits) * 99 // 100, len(waits) - 1)] / 1000, 3),
        most_ms=round(waits[-1] / 1000, 3),
        resent=sum(s.stats.resent for s in sessions),
        hurt_frames=sum(link.bad.hurt for link in links),
        corrupt_seen=sum(s.decoder.stats.corrupt for s in sessions),
        duplicates_seen=sum(s.stats.duplicates for s in sessions),
    )


def _end(role: p.Role, link: Link, ups: list[Up], make: Callable[[int], p.Message]) -> End:
    session = Session(role, nonce=int(role), restored=Restored(int(role)), settings=Settings(time_ping_us=0))

    def listener(event: object) -> None:
        if isinstance(event, Up):
            ups.append(event)

    return End(Endpoint(session, link, now, lambda _: True, listener=listener), make)


def _handler(end: End, other: End) -> Callable[[Deliver], bool]:
    def handle(item: Deliver) -> bool:
        message = item.message
        i = message.at_us if isinstance(message, p.Worn) else message.device_us
        end.got.append(i)
        end.waits_us.append(now() - other.sent_us[i])
        return True

    return handle


def main() -> int:
    """Measure and print; exit code 1 when a message was lost, doubled or out of order."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--soak", action="store_true", help="the long run on the bad line")
    parser.add_argument("--count", type=int, default=10_000, help="messages each way")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    results: dict[str, Result] = {}
    if options.soak:
        results["soak, unpaced"] = run(options.count, SOAK, paced=False)
    else:
        few = max(1, options.count // 10)
        results["throughput, clean, unpaced"] = run(options.count, CLEAN, paced=False)
        results["latency, clean, 115200 baud, 100/s each way"] = run(few, CLEAN, paced=True, gap_us=10_000)
        results["latency, bad line, 115200 baud, 100/s each way"] = run(few, SOAK, paced=True, gap_us=10_000)
    if options.json:
        print(json.dumps({name: asdict(result) for name, result in results.items()}))
    else:
        for name, result in results.items():
            print(name)
            for key, value in asdict(result).items():
                print(f"  {key:22} {value}")
    return 0 if all(result.exactly_once_in_order for result in results.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
