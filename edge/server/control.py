"""The control socket: how the command line talks to the runtime that is running.

A Unix socket (0600) in the user's runtime folder (0700).  A request is one line `{"call": name, "args": {...}}`, its
answer one line `{"result": {...}}` or `{"error": {"code", "sentence"}}`; a connection may carry many, one at a time.
Only the same user (or root) is served.  A lock file beside the socket says who runs: it is the kernel's to release,
so a socket left by a killed run is told from a living one without asking.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from edge.config import private_dir, runtime_dir
from edge.errors import ControlError, code_of, sentence_of
from edge.logs import Log

Handler = Callable[[dict[str, Any]], dict[str, Any]]

MAX_LINE = 1 << 20  # bytes of a request or an answer
MAX_CLIENTS = 16
IDLE_S = 60.0  # a connection that says nothing for so long is closed
_TICK_S = 0.2  # how late a stop can be noticed

_log = Log("control")


def control_path() -> Path:
    """Where the control socket lies."""
    return private_dir(runtime_dir()) / "control.sock"


class ControlServer:
    """Serves `handlers` by name.  A handler runs in the thread of its connection, so several may run at once.

    `ping` is always there.  What a handler raises is answered as an error: one of ours with its code and sentence,
    any other as `internal`, its traceback in the log.
    """

    def __init__(self, path: Path, handlers: Mapping[str, Handler]) -> None:
        self.path = path
        self._handlers: dict[str, Handler] = {"ping": self._ping, **handlers}
        self._socket: socket.socket | None = None
        self._lock: int | None = None
        self._clients: set[threading.Thread] = set()

    def bind(self) -> None:
        """Take the socket.  Raises ControlError when another runtime has it; `run` binds if this was not called."""
        if self._socket is not None:
            return
        if len(os.fsencode(self.path)) > 100:  # what the kernel's address can hold, with room for the end
            raise ControlError(f"The path {self.path} is too long for a socket: set XDG_RUNTIME_DIR to a shorter one.")
        folder = private_dir(self.path.parent)
        try:
            if folder.stat().st_uid != os.getuid():
                raise ControlError(f"The folder {folder} belongs to another user: set XDG_RUNTIME_DIR to one of yours.")
            folder.chmod(0o700)
            self._lock = _lock(self.path.with_suffix(".lock"))
            self.path.unlink(missing_ok=True)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listener.bind(str(self.path))
            self.path.chmod(0o600)
            listener.listen(MAX_CLIENTS)
            listener.settimeout(_TICK_S)
        except OSError as error:
            self._unlock()
            raise ControlError(
                f"The control socket {self.path} cannot be made ({error.strerror}): check the folder."
            ) from error
        except ControlError:
            self._unlock()
            raise
        self._socket = listener

    def run(self, stop: threading.Event) -> None:
        """Serve until `stop`, then remove the socket."""
        self.bind()
        assert self._socket is not None
        try:
            while not stop.is_set():
                try:
                    connection, _ = self._socket.accept()
                except TimeoutError:
                    continue
                except OSError as error:  # too many open files: the next may fare better
                    _log.warning("accept_failed", cause=error)
                    stop.wait(_TICK_S)
                    continue
                self._clients = {client for client in self._clients if client.is_alive()}
                client = threading.Thread(
                    target=self._serve, args=(connection, stop), name="control-client", daemon=True
                )
                self._clients.add(client)
                client.start()
        finally:
            self.close()

    def close(self) -> None:
        """Remove the socket; may be called twice.  Answers under way get two seconds."""
        if self._socket is None:
            return
        self._socket.close()
        self._socket = None
        self.path.unlink(missing_ok=True)
        for client in self._clients:
            client.join(2.0)
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)  # which releases it
            self._lock = None

    def _serve(self, connection: socket.socket, stop: threading.Event) -> None:
        with connection:
            try:
                refusal = self._refusal(connection)
                for line in _lines(connection, stop):
                    _send(connection, refusal or self._answer(line))
                    if refusal is not None:
                        return
            except _TooLong:
                with suppress(OSError):
                    _send(connection, _error("control.request", f"A request is at most {MAX_LINE} bytes long."))
            except OSError as error:  # the other side went away
                _log.debug("client_lost", reason=str(error))

    def _refusal(self, connection: socket.socket) -> dict[str, Any] | None:
        """Why this connection is not served; said in answer to its first request, so that it is read."""
        if len(self._clients) > MAX_CLIENTS:
            return _error("control.busy", "Too many commands at once: try again in a moment.")
        uid = _peer_uid(connection)
        if uid not in (os.getuid(), 0):
            _log.warning("stranger_refused", uid=uid)
            return _error("control.user", "grove-edge runs as another user: use that account.")
        return None

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
            name, args = request["call"], request.get("args", {})
            if not (isinstance(name, str) and isinstance(args, dict)):
                raise TypeError
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return _error("control.request", 'A request is one line like {"call": "ping", "args": {}}.')
        handler = self._handlers.get(name)
        if handler is None:
            return _error("control.unknown", f"There is no command {name!r}: known are {', '.join(self._handlers)}.")
        try:
            result = handler(args)
            json.dumps(result)
        except Exception as error:  # noqa: BLE001  # a failing command must not end the connection or the runtime
            code = code_of(error)
            if code is not None:
                return _error(code, sentence_of(error))
            _log.error("command_failed", cause=error, command=name)
            return _error("internal", f"The command {name} failed ({type(error).__name__}): the log says where.")
        return {"result": result}

    def _ping(self, args: dict[str, Any]) -> dict[str, Any]:
        del args
        return {"pid": os.getpid(), "commands": sorted(self._handlers)}


class ControlClient:
    """Calls a running runtime; each call is a connection of its own."""

    def __init__(self, path: Path, timeout_s: float = 60.0) -> None:
        self._path = path
        self._timeout_s = timeout_s

    def call(self, name: str, /, **args: Any) -> dict[str, Any]:
        """The result of a command.

        Raises NotRunning when nothing listens, Refused with the runtime's code and sentence, ControlError when it
        does not answer in time.
        """
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(self._timeout_s)
            try:
                connection.connect(str(self._path))
            except OSError as error:
                raise NotRunning("grove-edge is not running: start it with `grove-edge run`.") from error
            try:
                _send(connection, {"call": name, "args": args})
                line = next(_lines(connection, None), None)
                answer = json.loads(line) if line else None
            except TimeoutError as error:
                raise ControlError(
                    f"grove-edge has not answered {name} within {self._timeout_s:.0f} s: see its log."
                ) from error
            except (OSError, ValueError, _TooLong) as error:
                raise ControlError(f"grove-edge broke off while answering {name}: see its log.") from error
        if isinstance(answer, dict) and isinstance(answer.get("result"), dict):
            result: dict[str, Any] = answer["result"]
            return result
        if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
            raise Refused(str(answer["error"].get("sentence", "")), str(answer["error"].get("code", "")))
        raise ControlError(f"grove-edge broke off while answering {name}: see its log.")


class NotRunning(ControlError):
    """Nothing listens: commands go straight to the database."""

    code = "control.none"


class Refused(ControlError):
    """The runtime answered with an error; `remote_code` is the code it gave."""

    code = "control.refused"

    def __init__(self, sentence: str, remote_code: str) -> None:
        super().__init__(sentence)
        self.remote_code = remote_code


def alive(path: Path) -> bool:
    """Whether a runtime answers on this socket."""
    try:
        ControlClient(path, 2.0).call("ping")
    except ControlError:
        return False
    return True


class _TooLong(Exception):
    """A line beyond MAX_LINE."""


def _lines(connection: socket.socket, stop: threading.Event | None) -> Iterator[bytes]:
    """Lines as they come, until the other side closes, falls silent for IDLE_S, or `stop` is set."""
    if stop is not None:
        connection.settimeout(_TICK_S)
    buffer = bytearray()
    idle = 0.0
    while stop is None or not stop.is_set():
        try:
            more = connection.recv(65_536)
        except TimeoutError:
            idle += _TICK_S
            if stop is None:
                raise
            if idle >= IDLE_S:
                return
            continue
        if not more:
            return
        idle = 0.0
        buffer += more
        while (end := buffer.find(b"\n")) >= 0:
            if end > MAX_LINE:
                raise _TooLong
            yield bytes(buffer[:end])
            del buffer[: end + 1]
        if len(buffer) > MAX_LINE:
            raise _TooLong


def _send(connection: socket.socket, message: dict[str, Any]) -> None:
    patience = connection.gettimeout()
    connection.settimeout(max(patience or 0.0, 10.0))
    connection.sendall(json.dumps(message, ensure_ascii=False).encode() + b"\n")
    connection.settimeout(patience)


def _error(code: str, sentence: str) -> dict[str, Any]:
    return {"error": {"code": code, "sentence": sentence}}


def _peer_uid(connection: socket.socket) -> int:
    """Who is at the other end, as the kernel knows it."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, uid, _ = struct.unpack("3i", credentials)
    return int(uid)


def _lock(path: Path) -> int:
    """Hold the lock file for the life of the process.  Raises ControlError naming the runtime that holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.read(descriptor, 32).decode("ascii", "replace").strip()
        os.close(descriptor)
        raise ControlError(
            f"grove-edge is running already (process {holder}): use it, or end it with `grove-edge stop`."
        ) from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor
