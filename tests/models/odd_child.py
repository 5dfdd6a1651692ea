"""A child for tests of the supervisor: speaks the frames and misbehaves on request.  No engine."""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from typing import Any

from models.child.wire import Decoder, Packet, pack

requests: queue.Queue[Packet] = queue.Queue()
left: set[int] = set()
pongs = threading.Event()
pongs.set()
out = os.dup(1)
os.dup2(2, 1)
lock = threading.Lock()


def send(header: dict[str, Any]) -> None:
    with lock:
        os.write(out, pack(header))


def listen() -> None:
    decoder = Decoder()
    while data := os.read(0, 1 << 16):
        for packet in decoder.feed(data):
            if packet.op == "ping":
                if pongs.is_set():
                    send({"op": "pong"})
            elif packet.op == "cancel":
                left.add(packet.header["id"])
            else:
                requests.put(packet)
    os._exit(0)


def main() -> None:
    threading.Thread(target=listen, daemon=True).start()
    kept: list[bytes] = []
    while True:
        packet = requests.get()
        number, what = packet.header["id"], packet.header.get("do", packet.op)
        if what == "refuse":
            send({"op": "failed", "id": number, "code": "model.input", "message": "No."})
            continue
        if what == "sleep":  # until it is told to leave
            while number not in left:
                threading.Event().wait(0.01)
            send({"op": "failed", "id": number, "code": "model.cancelled", "message": "left"})
            continue
        if what == "stubborn":
            threading.Event().wait(60)
        if what == "mute":
            pongs.clear()
            threading.Event().wait(60)
        if what == "abort":
            print("GGML_ASSERT(false) failed", file=sys.stderr, flush=True)
            os.abort()
        if what == "exit":
            os._exit(3)
        if what == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        if what == "garbage":
            with lock:
                os.write(out, b"Hello, I am not a frame at all.")
            threading.Event().wait(60)
        if what == "bomb":
            while True:
                kept.append(os.urandom(1 << 20) * 8)
        if what == "leak":
            kept.append(os.urandom(1 << 20) * int(packet.header["mb"]))
        send({"op": "piece", "id": number, "text": "a"})
        send(
            {
                "op": "done",
                "id": number,
                "text": str(packet.header.get("say", "")),
                "blobs": [len(b) for b in packet.blobs],
            }
        )


if __name__ == "__main__":
    main()
