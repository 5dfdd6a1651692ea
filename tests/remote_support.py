"""An OpenAI-compatible server with faults to order, for tests of the remote client.  Loopback only."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from edge.clock import SystemClock

Fault = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Plays the next of the server's script; the last one goes on for ever."""

    protocol_version = "HTTP/1.1"
    server: FaultServer

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        self.body: dict[str, Any] = json.loads(self.rfile.read(length) or b"{}")
        self.server.requests.append(self.body)
        script = self.server.script
        step = script.pop(0) if len(script) > 1 else script[0]
        try:
            step(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        pass

    def stream(self, pieces: list[str], *, finish: str | None = "stop", usage: dict[str, int] | None = None) -> None:
        """Server-sent events of a chat completion; without `finish` it breaks off."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for i, piece in enumerate(pieces):
            delta = {"content": piece, **({"role": "assistant"} if i == 0 else {})}
            self.event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        if finish is not None:
            self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
            if usage:
                self.event({"choices": [], "usage": usage})
            self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def event(self, more: dict[str, Any]) -> None:
        chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", **more}
        self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        self.wfile.flush()

    def status(self, code: int, body: bytes = b"{}", headers: dict[str, str] | None = None) -> None:
        self.send_response(code)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class FaultServer(ThreadingHTTPServer):
    """`script`: what the next requests get.  `requests`: what was asked."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, script: list[Fault], port: int = 0) -> None:
        self.script, self.requests = script, []
        self.hold = threading.Event()
        super().__init__(("127.0.0.1", port), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is what these tests are about."""


@contextmanager
def serving(*script: Fault, port: int = 0) -> Iterator[FaultServer]:
    server = FaultServer(list(script), port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.hold.set()
        server.shutdown()
        server.server_close()
        thread.join()


def says(text: str, size: int = 7, **more: Any) -> Fault:
    """Answers with a text in pieces."""
    return lambda h: h.stream([text[i : i + size] for i in range(0, len(text), size)], **more)


def fails(code: int, body: bytes = b'{"error": {"message": "no"}}', headers: dict[str, str] | None = None) -> Fault:
    """Answers with a status."""
    return lambda h: h.status(code, body, headers)


def hangs(h: Handler) -> None:
    """Accepts and says nothing."""
    h.server.hold.wait(120)


def cuts(h: Handler) -> None:
    """Breaks off in the middle of the stream."""
    h.stream(['{"name": "c', "up"], finish=None)


def garbage(h: Handler) -> None:
    """Sends something that is no HTTP answer."""
    h.wfile.write(b"\x00\xff\x13garbage\r\n\r\n" * 10)
    h.close_connection = True


def page(h: Handler) -> None:
    """A web page with status 200."""
    h.status(200, b"<!DOCTYPE html><html>Welcome</html>", {"Content-Type": "text/html"})


def endless(h: Handler) -> None:
    """Sends one line without end."""
    h.send_response(200)
    h.send_header("Content-Type", "text/event-stream")
    h.send_header("Connection", "close")
    h.end_headers()
    h.wfile.write(b"data: ")
    while not h.server.hold.is_set():
        h.wfile.write(b"x" * 65536)


def drips(h: Handler) -> None:
    """A byte of a header now and then, never an answer."""
    h.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not h.server.hold.wait(0.05):
        h.wfile.write(b"z")


def echoes(h: Handler) -> None:
    """Sends the schema back, as small models do."""
    form = h.body.get("response_format", {})
    schema = form.get("json_schema", {}).get("schema") or form.get("schema") or {"type": "object"}
    h.stream([json.dumps(schema)])


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@contextmanager
def real_server(model: Path, port: int, *, context: int = 2048, patience_s: int = 180) -> Iterator[str]:
    """llama-cpp-python's own server on loopback, with its address, once it answers; killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "llama_cpp.server", "--model", str(model), "--host", "127.0.0.1", "--port", str(port),
         "--n_ctx", str(context), "--n_threads", "1"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    mono = SystemClock().mono
    try:
        until, never = mono() + patience_s * 1_000_000, threading.Event()
        while True:
            assert process.poll() is None, "the server did not start"
            assert mono() < until, "the server did not answer"
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=20).close()
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                never.wait(0.2)
            else:
                break
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()
