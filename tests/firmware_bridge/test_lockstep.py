"""The C firmware against the Python one, step by step: same input, same bytes, same commands, same deadlines."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from firmware_bridge import protocol as p
from firmware_bridge.device import PythonDevice, Reaction, Retained
from firmware_bridge.frames import ASSURED, Frame, FrameDecoder, encode_frame
from firmware_bridge.reference_device import ReferenceDevice
from firmware_bridge.update import Flash, Vitals

STREAM = 0xC0FFEE
IMAGE = bytes(range(256)) * 3


@pytest.fixture
def c_device(reference_binary: Path) -> Iterator[ReferenceDevice]:
    device = ReferenceDevice(reference_binary)
    yield device
    assert device.close() == 0, "the sanitizers found something"


class Script:
    """A host that says whatever it likes, mostly sensible things, out of a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.nonce, self.peer, self.seq, self.datagram, self.base = 0x51, 0, 1, 1, 1

    def frame(self, message: p.Message, *, seq: int = 0, flags: int = 0, session: int | None = None) -> bytes:
        number, payload = p.pack(message)
        tag = self.nonce & 0xFFFF if session is None else session
        return encode_frame(Frame(number, flags, tag, seq, payload))

    def hello(self, *, echo: bool = True) -> bytes:
        rng = self.rng
        return self.frame(
            p.Hello(
                rng.choice((1, 1, 1, 1, 1, 1, 2)),
                rng.choice((1, 3)),
                p.Role.HOST,
                rng.random() < 0.5,
                self.nonce,
                self.peer if echo else 0,
                0xAB,
                max(1, self.base),
                STREAM if rng.random() < 0.8 else 3,
                rng.randrange(6),
                0,
                rng.choice((300, 1_000)),
                rng.choice((0, 1, 5, 16, 32)),
                "host",
            )
        )

    def command(self) -> p.Message:
        rng = self.rng
        digest = hashlib.sha256(IMAGE if rng.random() < 0.7 else b"other").digest()
        offset = rng.choice((0, 0, 192, 384, 576))
        return rng.choice(
            (
                p.Tone(rng.randrange(9_000), 1, 1),
                p.SetLed(p.Led.RECORDING, p.LedMode.BLINK, 200),
                p.Display(5, 0, "grün"),
                p.UpdateBegin(rng.choice((0, 1, 1)), rng.choice((0, 768, 768, 768, 1 << 21)), digest, "2.0"),
                p.UpdateChunk(1, offset, IMAGE[offset : offset + rng.choice((0, 100, 192, 192, 192))]),
                p.UpdateFinish(1),
                p.UpdateConfirm(1),
                p.UpdateAbort(rng.choice((1, 1, 2))),
                p.Unknown(0x7F, b"later"),
                p.Unknown(0x50, b"short"),
                p.Unknown(0x10, bytes(18)),
                p.Unknown(0x02, bytes(8)),
            )
        )

    def next(self) -> bytes:
        rng = self.rng
        kind = rng.random()
        if kind < 0.5:
            message, self.seq = self.command(), self.seq + 1
            return self.frame(message, seq=self.seq - 1, flags=ASSURED)
        if kind < 0.58:
            return self.frame(self.command(), seq=max(0, self.seq - rng.randrange(4)), flags=ASSURED | 2)
        if kind < 0.64:
            return self.frame(self.command(), seq=self.seq + rng.choice((1, 2, 3, 40)), flags=ASSURED)
        if kind < 0.72:
            return self.frame(p.Ack(rng.randrange(40), rng.choice((0, 0, 1, 2, 5, 0xFFFFFFFF))))
        if kind < 0.77:
            return self.frame(p.TimePing(rng.randrange(10**9)))
        if kind < 0.81:
            self.datagram += rng.randrange(3)
            return self.frame(p.Unknown(rng.choice((0x7E, 0x41)), bytes(3)), seq=self.datagram)
        if kind < 0.85:
            return self.frame(p.KeepAlive(1), session=rng.choice((None, 0x1234)))
        if kind < 0.88:
            return rng.randbytes(30) + b"\0"
        if kind < 0.90:
            return self.frame(p.Bye(p.ByeReason.SLEEP))
        if kind < 0.93:
            self.nonce, self.base = rng.choice((self.nonce, self.nonce + 1)), rng.choice((self.base, self.seq))
        return self.hello(echo=rng.random() < 0.9)


def said(data: bytes) -> list[object]:
    frames = FrameDecoder().feed(data)
    return [(p.unpack(f.number, f.payload), f.seq, f.flags, f.session) for f in frames]


def both(python: Reaction, c: Reaction) -> Reaction:
    if c.data != python.data:
        assert said(c.data) == said(python.data)
    assert c.commands == python.commands
    assert (c.connected, c.restart) == (python.connected, python.restart)
    return python


@pytest.mark.parametrize("seed", range(30))
def test_two_firmwares_one_behaviour(c_device: ReferenceDevice, seed: int) -> None:
    script, rng = Script(seed), random.Random(seed + 1_000)
    python = PythonDevice(Flash(), Retained(STREAM))
    at = boots = handshakes = 0
    # The first nonce names the C device's queue, so both firmwares start with the same stream.
    reaction = both(python.boot(STREAM, p.Reason.POWER_ON), c_device.boot(STREAM, p.Reason.POWER_ON))
    reaction = both(python.opened(at), c_device.opened(at))
    for _ in range(400):
        script.peer = python.session._nonce
        roll = rng.random()
        at += rng.choice((0, 500, 5_000, 40_000, 400_000, 3_000_000)) if roll < 0.5 else 100
        python.vitals = c_device.vitals = Vitals(
            rng.choice((None, 10, 60, 60, 60, 60)), rng.choice((None, 250, 250, 480))
        )
        if roll < 0.62:
            data = script.next()
            reaction = both(python.feed(at, data), c_device.feed(at, data))
        elif roll < 0.80:
            reaction = both(python.tick(at), c_device.tick(at))
        elif roll < 0.95:
            report = rng.choice(
                (p.Worn(at, True), p.Light(at, 3), p.Log(at, p.Level.INFO, "line"), p.Unknown(0x70, b"x"))
            )
            reaction = both(python.send(at, report), c_device.send(at, report))
        elif roll < 0.97:
            both(python.closed(at), c_device.closed(at))
            reaction = both(python.opened(at), c_device.opened(at))
        if reaction.restart or roll > 0.985:
            handshakes += python.session.stats.handshakes
            boots, at = boots + 1, 0
            nonce = 10_000 + boots
            both(python.boot(nonce, p.Reason.UPDATE), c_device.boot(nonce, p.Reason.UPDATE))
            reaction = both(python.opened(at), c_device.opened(at))
        assert c_device.deadline() == python.deadline()
    assert handshakes + python.session.stats.handshakes > 0  # it was not all strangers
