"""One child process with its pipes: bytes out without ever blocking, frames in through a queue, its last words kept."""

from __future__ import annotations

import contextlib
import os
import queue
import select
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from models.child.memory import held_kb
from models.child.wire import Decoder, Packet, ProtocolError, pack
from models.errors import ModelDownError

_BLOCK = 1 << 16
_LAST_WORDS = 40  # lines of stderr
_JOIN_S = 2.0


class Child:
    """A started process.  `packets` gives its frames and, at the end of its output, None."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        """Raises ModelDownError when it cannot be started."""
        self.packets: queue.Queue[Packet | None] = queue.Queue()
        self.words: deque[str] = deque(maxlen=_LAST_WORDS)
        self.reason = ""  # why we ended it, when we did
        self.asked = self.unanswered = 0  # pings: when the last was sent (monotonic), how many got no answer
        self.heard = False  # whether it has sent anything: until then it is still starting, not hanging
        try:
            # A session of its own: Ctrl-C in the terminal is for the runtime, which ends its children in order.
            self._process = subprocess.Popen(
                list(argv), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env=None if env is None else dict(env), start_new_session=True, bufsize=0,
            )  # fmt: skip
        except OSError as error:
            raise ModelDownError(f"The model's process cannot be started ({error.strerror}).") from error
        assert self._process.stdin is not None
        self._in = self._process.stdin.fileno()
        os.set_blocking(self._in, False)
        self._write = threading.Lock()
        self._threads = [
            threading.Thread(target=self._read, name="model-frames", daemon=True),
            threading.Thread(target=self._listen, name="model-words", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs (stopped counts as running).

        A killed process gives up its memory a moment before it can be waited for: it answers nothing any more.
        """
        return self._process.poll() is None and held_kb(self._process.pid) is not None

    def send(self, header: dict[str, Any], blobs: Sequence[bytes] = (), *, wait_s: float) -> None:
        """Send a frame whole.  Raises ModelDownError when the child does not take it within `wait_s` of silence."""
        data = memoryview(pack(header, blobs))
        with self._write:
            while data:
                try:
                    data = data[os.write(self._in, data) :]
                except BlockingIOError:
                    _, ready, _ = select.select([], [self._in], [], wait_s)
                    if not ready:
                        raise ModelDownError("The model's process takes no more requests: it hangs.") from None
                except OSError as error:
                    raise ModelDownError(f"The model's process is gone ({error.strerror}).") from error

    def ping(self) -> None:
        """Ask for a sign of life; a full or broken pipe simply gets none."""
        with self._write, contextlib.suppress(OSError):
            os.write(self._in, pack({"op": "ping"}))  # smaller than PIPE_BUF: all of it or nothing

    def kill(self, reason: str = "") -> None:
        """End it at once."""
        self.reason = self.reason or reason
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    def close(self, seconds: float) -> None:
        """Let it end by itself, then not; frees everything."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        with self._write, contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for thread in self._threads:
            thread.join(_JOIN_S)
        self._process.stdout.close()
        self._process.stderr.close()

    def obituary(self) -> str:
        """How it ended, in words: the signal or status, and the last thing it said."""
        try:
            status = self._process.wait(_JOIN_S)
        except subprocess.TimeoutExpired:
            status = None
        else:
            self._threads[1].join(_JOIN_S)  # its last words may still be on their way
        how = self.reason or _how(status)
        last = next((w for w in reversed(self.words) if w.strip()), "")
        return f"{how}: {last}" if last else how

    def _read(self) -> None:
        assert self._process.stdout is not None
        decoder, stream = Decoder(), self._process.stdout.fileno()
        try:
            while data := os.read(stream, _BLOCK):
                for packet in decoder.feed(data):
                    self.packets.put(packet)
        except ProtocolError as error:
            self.kill(str(error))
        except OSError as error:
            self.kill(f"its output broke ({error.strerror})")
        self.packets.put(None)

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.words.append(line.decode("utf-8", "replace").strip()[:300])


def _how(status: int | None) -> str:
    if status is None:
        return "it does not end"
    if status >= 0:
        return f"it ended with status {status}"
    try:
        return f"it was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"it was ended by signal {-status}"
