from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from edge.errors import ControlError, QuestionError
from edge.server import control
from edge.server.control import ControlClient, ControlServer, NotRunning, Refused, alive


@contextmanager
def serving(path: Path, **handlers: Any) -> Iterator[ControlServer]:
    server, stop = ControlServer(path, handlers), threading.Event()
    server.bind()
    thread = threading.Thread(target=server.run, args=(stop,))
    thread.start()
    try:
        yield server
    finally:
        stop.set()
        thread.join(60)
        assert not thread.is_alive()


@contextmanager
def raw(path: Path) -> Iterator[Any]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(path))
        with connection.makefile("rwb") as stream:
            yield stream


def exchange(stream: Any, data: bytes) -> dict[str, Any]:
    stream.write(data)
    stream.flush()
    answer: dict[str, Any] = json.loads(stream.readline())
    return answer


def test_a_call_and_its_answer(tmp_path: Path) -> None:
    path = tmp_path / "run" / "control.sock"
    with serving(path, add=lambda args: {"sum": args["a"] + args["b"], "said": "grüezi"}):
        client = ControlClient(path)
        assert client.call("add", a=2, b=3) == {"sum": 5, "said": "grüezi"}
        assert client.call("ping") == {"pid": os.getpid(), "commands": ["add", "ping"]}
        assert alive(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not path.exists()
    assert not alive(path)


def test_many_requests_on_one_connection(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    with serving(path, echo=lambda args: args), raw(path) as stream:
        stream.write(b"".join(b'{"call": "echo", "args": {"n": %d}}\n' % n for n in range(50)))
        stream.flush()
        assert [json.loads(stream.readline())["result"]["n"] for _ in range(50)] == list(range(50))


def test_errors_carry_code_and_sentence(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"

    def ask(args: dict[str, Any]) -> dict[str, Any]:
        raise QuestionError("The question is empty: ask something.")

    def broken(args: dict[str, Any]) -> dict[str, Any]:
        raise ZeroDivisionError(args["secret"])

    with serving(path, ask=ask, broken=broken, odd=lambda args: {"set": {1}}):
        client = ControlClient(path)
        for name, code, part in (
            ("ask", "input.question", "ask something"),
            ("broken", "internal", "ZeroDivisionError"),
            ("odd", "internal", "TypeError"),
            ("nonsense", "control.unknown", "known are ping, ask, broken, odd"),
        ):
            with pytest.raises(Refused, match=part) as caught:
                client.call(name, secret="what was said")
            assert caught.value.remote_code == code
            assert "what was said" not in str(caught.value)
        assert client.call("ping")["pid"] == os.getpid()


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"nonsense",
        b"[]",
        b"{}",
        b"null",
        b'{"call": 3}',
        b'{"call": "ping", "args": []}',
        b"\xff\xfe",
        b"[" * 5_000,
    ],
)
def test_what_is_no_request_is_refused_and_the_connection_lives(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "control.sock"
    with serving(path), raw(path) as stream:
        assert exchange(stream, line + b"\n")["error"]["code"] == "control.request"
        assert "result" in exchange(stream, b'{"call": "ping"}\n')


def test_a_line_without_end_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "MAX_LINE", 1_000)
    path = tmp_path / "control.sock"
    with serving(path):
        for data in (b"x" * 1_001, b"x" * 1_001 + b"\n"):
            with raw(path) as stream:
                assert exchange(stream, data)["error"]["code"] == "control.request"
                assert stream.read() == b""
        assert alive(path)


def test_a_slow_command_does_not_hold_up_the_others(tmp_path: Path) -> None:
    path, release = tmp_path / "control.sock", threading.Event()

    def slow(args: dict[str, Any]) -> dict[str, Any]:
        return {"released": release.wait(60)}

    with serving(path, slow=slow), raw(path) as stream:
        stream.write(b'{"call": "slow"}\n')
        stream.flush()
        assert alive(path)
        release.set()
        assert json.loads(stream.readline())["result"] == {"released": True}


def test_too_many_at_once_are_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "MAX_CLIENTS", 2)
    path = tmp_path / "control.sock"
    with serving(path):
        with raw(path) as one, raw(path) as two:
            assert "result" in exchange(one, b'{"call": "ping"}\n')
            assert "result" in exchange(two, b'{"call": "ping"}\n')
            with raw(path) as three:
                assert exchange(three, b'{"call": "ping"}\n')["error"]["code"] == "control.busy"
        for _ in range(1200):  # the two have left
            if alive(path):
                break
            threading.Event().wait(0.05)
        assert alive(path)


def test_a_client_that_leaves_in_the_middle_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    with serving(path, big=lambda args: {"data": "x" * 500_000}):
        for data in (b'{"call": "big"}\n' * 5, b'{"call": "pi', b""):
            with raw(path) as stream:
                stream.write(data)
                stream.flush()
        assert alive(path)


def test_a_second_runtime_is_refused_and_the_first_keeps_its_socket(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    with serving(path):
        with pytest.raises(ControlError, match=f"running already .process {os.getpid()}"):
            ControlServer(path, {}).bind()
        assert alive(path)
    with serving(path):  # and after it ended, the next may have it
        assert alive(path)


def test_a_killed_runtime_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    code = (
        "import sys, threading; from pathlib import Path; from edge.server.control import ControlServer\n"
        "server = ControlServer(Path(sys.argv[1]), {}); server.bind(); print(flush=True); server.run(threading.Event())"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": "."}
    )
    assert child.stdout is not None
    child.stdout.readline()
    assert alive(path)
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert path.exists()
    with pytest.raises(NotRunning, match="grove-edge run"):
        ControlClient(path).call("ping")
    with serving(path):
        assert ControlClient(path).call("ping")["pid"] == os.getpid()


def test_a_runtime_that_does_not_answer_is_an_error_in_time(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        with pytest.raises(ControlError, match="not answered ping"):
            ControlClient(path, timeout_s=0.1).call("ping")
        accepted, _ = listener.accept()
        accepted.close()

        def hang_up(answer: bytes) -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(100)
                connection.sendall(answer)

        for answer in (b"", b"not json\n", b'{"neither": 1}\n', b'{"result": 3}\n'):
            other = threading.Thread(target=hang_up, args=(answer,))
            other.start()
            with pytest.raises(ControlError, match="broke off"):
                ControlClient(path, timeout_s=60).call("ping")
            other.join()


def test_a_path_no_socket_can_have_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ControlError, match="too long"):
        ControlServer(tmp_path / ("x" * 120) / "control.sock", {}).bind()
    (tmp_path / "control.sock").mkdir()
    with pytest.raises(ControlError, match="cannot be made"):
        ControlServer(tmp_path / "control.sock", {}).bind()


@pytest.mark.skipif(os.getuid() != 0, reason="needs to become another user")
def test_another_user_is_refused_even_where_the_file_modes_would_let_them(tmp_path_factory: Any) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run" / "control.sock"
        with serving(path):
            Path(folder).chmod(0o755)
            path.parent.chmod(0o755)
            path.chmod(0o666)
            code = (
                "import os, socket, sys; os.setuid(65534); s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
                's.sendall(b\'{"call": "ping"}\\n\'); print(s.makefile().readline())'
            )
            said = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
            assert json.loads(said.stdout)["error"]["code"] == "control.user"
            assert alive(path)
