"""The main program of the model's process: frames of models/child/wire.py on stdin and stdout, llama.cpp in between.

    python -m models.backends.llama_child

A thread reads, so that a ping is answered and a cancellation noticed while llama.cpp computes; when the runtime is
gone (end of input) the process ends at once, whatever it is doing.
"""

from __future__ import annotations

import contextlib
import os
import queue
import resource
import sys
import threading
from typing import Any

from models.backends.llama_engine import Engine
from models.child.wire import Decoder, Packet, ProtocolError, pack
from models.errors import LoadError, ModelError, OutputError

_BLOCK = 1 << 16
_FIRST_TO_DIE = "800"  # for the kernel's out-of-memory killer: this process rather than the runtime


class Pipe:
    """Our side of the frames.  Anything that prints goes to stderr instead of into them."""

    def __init__(self) -> None:
        self._in, self._out = os.dup(0), os.dup(1)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
        self._lock = threading.Lock()
        self._left: set[int] = set()
        self.requests: queue.Queue[Packet] = queue.Queue()

    def listen(self) -> None:
        """Read until the runtime is gone."""
        decoder = Decoder()
        try:
            while data := os.read(self._in, _BLOCK):
                for packet in decoder.feed(data):
                    if packet.op == "ping":
                        self.send({"op": "pong"})
                    elif packet.op == "cancel":
                        self._left.add(int(packet.header["id"]))
                    else:
                        self.requests.put(packet)
        except ProtocolError as error:
            print(error, file=sys.stderr)
        os._exit(0)  # llama.cpp may be deep in a computation: nothing waits for it

    def send(self, header: dict[str, Any]) -> None:
        """Write a frame whole; a runtime that is gone ends us."""
        data = memoryview(pack(header))
        with self._lock:
            try:
                while data:
                    data = data[os.write(self._out, data) :]
            except OSError:
                os._exit(0)

    def left(self, number: int) -> bool:
        """Whether the runtime no longer wants this request."""
        return number in self._left

    def forget(self, number: int) -> None:
        """A request is over."""
        self._left.discard(number)


def main() -> None:
    """Load what the first frame names, answer the others."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as adjust:
        adjust.write(_FIRST_TO_DIE)
    with contextlib.suppress(OSError):  # whoever started us may be in a hurry: minutes of computing must not be
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    pipe = Pipe()
    threading.Thread(target=pipe.listen, daemon=True).start()
    engine: Engine | None = None
    while True:
        packet = pipe.requests.get()
        number = int(packet.header.get("id", 0))
        try:
            if packet.op == "load":
                _limit(int(packet.header.get("data_limit_mb", 0)))
                engine = Engine(packet.header)
                answer: dict[str, Any] = {"vision": engine.vision}
            elif engine is None:
                raise LoadError("No model is loaded in this process.")
            else:
                answer = _answer(pipe, engine, packet, number)
            pipe.send({"op": "done", "id": number, **answer})
        except ModelError as error:
            pipe.send({"op": "failed", "id": number, "code": error.code, "message": str(error)})
        except MemoryError:
            os._exit(12)  # what is left of the process is not to be trusted
        except Exception as error:  # noqa: BLE001  # the library's own: an error of this request, told to its caller
            told = f"llama.cpp failed: {type(error).__name__}: {error}"
            pipe.send({"op": "failed", "id": number, "code": OutputError.code, "message": told})
        pipe.forget(number)


def _answer(pipe: Pipe, engine: Engine, packet: Packet, number: int) -> dict[str, Any]:
    def emit(text: str) -> None:
        pipe.send({"op": "piece", "id": number, "text": text})

    streaming = bool(packet.header.get("stream"))
    return engine.answer(packet.header, packet.blobs, lambda: pipe.left(number), emit if streaming else None)


def _limit(megabytes: int) -> None:
    """A ceiling for private memory: an allocation that runs away fails here and not on the whole machine."""
    if megabytes:
        size = megabytes << 20
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))


if __name__ == "__main__":
    main()
