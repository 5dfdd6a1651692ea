"""A pair of glasses in about 60 lines of code, written from docs/firmware.md alone: greets, reports, obeys, acknowledges.

Listens on a TCP port (argument, default 7070) for one host, prints what it is told and reports a tap every second.
"""

from __future__ import annotations

import secrets
import select
import socket
import struct
import sys
import time
import zlib

from cobs import cobs

HELLO, ACK, KEEP_ALIVE, TIME_PING, TIME_PONG, WORN, GESTURE = 1, 2, 3, 4, 5, 0x11, 0x12
HELLO_FIELDS = "<BBBBIIIIIIIHB"  # up to window; the name follows as text


class Glasses:
    def __init__(self, line: socket.socket) -> None:
        self.line, self.up, self.queue, self.next_seq = line, False, [(1, WORN, struct.pack("<QB", 0, 1))], 2
        self.nonce, self.stream = secrets.randbelow(2**32 - 1) + 1, secrets.randbelow(2**32 - 1) + 1
        self.peer = self.peer_stream = self.committed = 0
        self.hello()

    def now_us(self) -> int:
        return round(time.monotonic() * 1e6)  # noqa: TID251 (a stranger brings a clock of his own)

    def send(self, kind: int, payload: bytes, seq: int = 0, flags: int = 0) -> None:
        body = struct.pack("<BBHI", kind, flags, self.nonce & 0xFFFF, seq) + payload
        self.line.sendall(b"\0" + cobs.encode(body + struct.pack("<I", zlib.crc32(body))) + b"\0")

    def hello(self) -> None:
        base = self.queue[0][0] if self.queue else self.next_seq
        ids = (self.nonce, self.peer, self.stream, base, self.peer_stream, self.committed)
        can = 0x0084  # gestures and a light
        self.send(HELLO, struct.pack(HELLO_FIELDS, 1, 1, 2, not self.up, *ids, can, 1000, 1) + b"\x07example")

    def handle(self, kind: int, flags: int, session: int, seq: int, payload: bytes) -> None:
        if kind == HELLO:
            _, _, _, reply, peer, echo, stream, base, _, done, *_ = struct.unpack_from(HELLO_FIELDS, payload)
            was_up, self.up, self.peer = self.up and peer == self.peer, echo == self.nonce, peer
            if self.up and not was_up:
                if stream != self.peer_stream or base > self.committed:
                    self.peer_stream, self.committed = stream, base - 1
                self.queue = [entry for entry in self.queue if entry[0] > done]
                print("connected", flush=True)
            if reply:
                self.hello()
        elif not self.up or session != self.peer & 0xFFFF:
            self.hello()
        elif flags & 1:  # assured: what comes next is carried out and committed, anything else only acknowledged
            if seq == self.committed + 1:
                print(f"told 0x{kind:02x} {payload.hex()}", flush=True)
                self.committed = seq
            self.send(ACK, struct.pack("<II", self.committed, 0))
        elif kind == ACK:
            self.queue = [entry for entry in self.queue if entry[0] > struct.unpack_from("<I", payload)[0]]
        elif kind == TIME_PING:
            self.send(TIME_PONG, payload[:8] + struct.pack("<QQ", self.now_us(), self.now_us()))

    def twice_a_second(self, tick: int) -> None:
        if tick % 2:
            self.queue.append((self.next_seq, GESTURE, struct.pack("<QBBH", self.now_us(), 1, 1, 90)))  # touch, tap
            self.next_seq += 1
        if not self.up:
            self.hello()
        elif self.queue:  # window 1: the oldest, again until it is acknowledged
            self.send(self.queue[0][1], self.queue[0][2], self.queue[0][0], flags=1)
        else:
            self.send(KEEP_ALIVE, struct.pack("<I", self.now_us() // 1000 & 0xFFFFFFFF))

    def serve(self) -> None:
        rest, ticks, due = b"", 0, self.now_us()
        while True:
            if self.now_us() >= due:
                ticks, due = ticks + 1, due + 500_000
                self.twice_a_second(ticks)
            if not select.select([self.line], [], [], max(0, due - self.now_us()) / 1e6)[0]:
                continue
            if not (data := self.line.recv(4096)):
                return
            *pieces, rest = (rest + data).split(b"\0")
            for piece in filter(None, pieces):
                try:
                    body = cobs.decode(piece)
                except cobs.DecodeError:
                    continue
                if len(body) >= 12 and zlib.crc32(body[:-4]) == struct.unpack("<I", body[-4:])[0]:
                    self.handle(*struct.unpack_from("<BBHI", body), body[8:-4])


if __name__ == "__main__":
    with socket.create_server(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 7070)) as server:
        print(f"listening on {server.getsockname()[1]}", flush=True)
        Glasses(server.accept()[0]).serve()
