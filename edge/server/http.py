"""/health and /metrics over HTTP, on loopback and behind a token (the `server` extra).

The token lies in a file that only the owner can read (0600); every request carries it as `Authorization: Bearer ...`.
`/health` answers 200, or 503 when the snapshot's `state` is `down`.  `/metrics` gives the snapshot's numbers in the
text form that Prometheus reads.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from edge.config import private_dir
from edge.errors import ConfigError
from edge.logs import Log

HOST = "127.0.0.1"
TOKEN_NAME = "token"  # noqa: S105  # the file's name
_STATES = {"ok": 0, "degraded": 1, "down": 2}

_log = Log("http")


def token_in(folder: Path) -> str:
    """The token of this folder, made on first use.  Raises ConfigError when it cannot be read or others can read it."""
    path = private_dir(folder) / TOKEN_NAME
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
    except FileExistsError:
        pass  # made by an earlier run
    except OSError as error:
        raise ConfigError(f"The token file {path} cannot be made ({error.strerror}): check the folder.") from error
    try:
        if path.stat().st_mode & 0o077:
            raise ConfigError(f"The token file {path} can be read by others: delete it, a new one is made.")
        token = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The token file {path} cannot be read: delete it, a new one is made.") from error
    if len(token) < 32:
        raise ConfigError(f"The token file {path} holds no token: delete it, a new one is made.")
    return token


def serve_health(port: int, snapshot: Callable[[], dict[str, Any]], token: str | None, stop: threading.Event) -> None:
    """Answer until `stop`.  Port 0 takes a free one.

    Raises ConfigError when there is no token, the port is taken, or the `server` extra is not installed.
    """
    listener = listen(port, token)
    serve(listener, snapshot, token or "", stop)


def listen(port: int, token: str | None) -> socket.socket:
    """The bound socket, so that a taken port is known before a thread is started; see `serve_health`."""
    if not token:
        raise ConfigError("Nothing is served without a token: give one, or set device.health_port to 0.")
    try:
        import starlette  # noqa: F401, PLC0415
        import uvicorn  # noqa: F401, PLC0415
    except ImportError as error:
        raise ConfigError(
            "device.health_port needs the server extra: pip install -e '.[server]', or set it to 0."
        ) from error
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen(64)  # who calls before the server is up waits instead of being refused
    except OSError as error:
        listener.close()
        raise ConfigError(
            f"Port {port} cannot be used ({error.strerror}): set device.health_port to another."
        ) from error
    return listener


def serve(listener: socket.socket, snapshot: Callable[[], dict[str, Any]], token: str, stop: threading.Event) -> None:
    """Answer on a bound socket until `stop`, then close it."""
    import uvicorn  # noqa: PLC0415  # the server extra

    server = uvicorn.Server(
        uvicorn.Config(application(snapshot, token), log_config=None, access_log=False, timeout_graceful_shutdown=2)
    )

    def end() -> None:
        stop.wait()
        server.should_exit = True

    threading.Thread(target=end, name="http-stop", daemon=True).start()
    _log.info("listening", address=f"http://{HOST}:{listener.getsockname()[1]}")
    with listener:
        server.run(sockets=[listener])


def application(snapshot: Callable[[], dict[str, Any]], token: str) -> Any:
    """The ASGI application, for a server of one's own or a test."""
    from starlette.applications import Starlette  # noqa: PLC0415  # the server extra
    from starlette.requests import Request  # noqa: PLC0415
    from starlette.responses import Response  # noqa: PLC0415
    from starlette.routing import Route  # noqa: PLC0415

    wanted = f"Bearer {token}".encode()

    def answer(body: object, status: int = 200) -> Response:
        headers = {"Cache-Control": "no-store"}
        return Response(json.dumps(body, default=str) + "\n", status, headers, media_type="application/json")

    def guarded(page: Callable[[dict[str, Any]], Response]) -> Callable[[Request], Response]:
        def route(request: Request) -> Response:  # not async: Starlette runs it beside the loop, the snapshot may wait
            given = request.headers.get("authorization", "").encode("utf-8", "replace")
            if not hmac.compare_digest(given, wanted):
                sentence = f"Send the token of the file {TOKEN_NAME!r} as Authorization: Bearer."
                return answer({"error": {"code": "http.token", "sentence": sentence}}, 401)
            try:
                return page(snapshot())
            except Exception as error:  # noqa: BLE001  # health must answer, above all when something is broken
                _log.error("snapshot_failed", cause=error)
                sentence = f"The state cannot be told ({type(error).__name__}): the log says why."
                return answer({"error": {"code": "internal", "sentence": sentence}}, 500)

        return route

    def health(state: dict[str, Any]) -> Response:
        return answer(state, 503 if state.get("state") == "down" else 200)

    def metrics(state: dict[str, Any]) -> Response:
        return Response(metrics_text(state), media_type="text/plain; version=0.0.4")

    return Starlette(routes=[Route("/health", guarded(health)), Route("/metrics", guarded(metrics))])


def metrics_text(state: dict[str, Any]) -> str:
    """Every number of a nested snapshot as a line; states become 0 ok, 1 degraded, 2 down; other texts are left out."""
    return "".join(f"{name} {value}\n" for name, value in _numbers(state, "grove_edge"))


def _numbers(value: object, name: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _numbers(inner, f"{name}_{re.sub('[^a-zA-Z0-9]+', '_', str(key)).lower()}")
    elif isinstance(value, (bool, int, float)):
        yield name, int(value) if isinstance(value, bool) else value
    elif isinstance(value, str) and value in _STATES and name.endswith("state"):
        yield name, _STATES[value]
