from __future__ import annotations

import http.client
import json
import socket
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from edge.errors import ConfigError
from edge.server import http as server
from edge.server.http import listen, metrics_text, serve, serve_health, token_in

TOKEN = "t" * 43


@contextmanager
def serving(snapshot: Any) -> Iterator[int]:
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    stop, listener = threading.Event(), listen(0, TOKEN)
    port = listener.getsockname()[1]
    thread = threading.Thread(target=serve, args=(listener, snapshot, TOKEN, stop))
    thread.start()
    try:
        yield port
    finally:
        stop.set()
        thread.join(60)
        assert not thread.is_alive()


def get(port: int, path: str, token: str | None = TOKEN, method: str = "GET") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, headers={} if token is None else {"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_health_and_metrics_answer_with_the_token_and_only_with_it() -> None:
    state: dict[str, Any] = {"state": "ok", "voice": {"spoken": 3, "detail": "fine", "down": False}, "lag_s": 0.5}
    with serving(lambda: state) as port:
        status, body = get(port, "/health")
        assert (status, json.loads(body)) == (200, state)
        assert get(port, "/metrics") == (
            200,
            "grove_edge_state 0\ngrove_edge_voice_spoken 3\ngrove_edge_voice_down 0\ngrove_edge_lag_s 0.5\n",
        )
        for path in ("/health", "/metrics"):
            for wrong in (None, "", "wrong", TOKEN[:-1], TOKEN + "t", "\u00fc"):
                status, body = get(port, path, wrong)
                assert status == 401
                assert "spoken" not in body
        assert get(port, "/")[0] == 404
        assert get(port, "/health", method="POST")[0] == 405
        state["state"] = "down"
        assert get(port, "/health")[0] == 503


def test_a_snapshot_that_fails_is_an_answer_and_says_no_more_than_its_kind() -> None:
    def broken() -> dict[str, Any]:
        raise KeyError("what was said")

    with serving(broken) as port:
        status, body = get(port, "/health")
        assert status == 500
        assert "KeyError" in body
        assert "what was said" not in body


def test_it_listens_on_loopback_alone() -> None:
    with serving(dict) as port:
        with pytest.raises(OSError):  # bound to every address it would answer here too
            socket.create_connection(("127.0.0.2", port), 2).close()
        assert get(port, "/health")[0] == 200


def test_nothing_is_served_without_a_token_or_on_a_taken_port() -> None:
    for token in (None, ""):
        with pytest.raises(ConfigError, match="without a token"):
            serve_health(0, dict, token, threading.Event())
    pytest.importorskip("uvicorn")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ConfigError, match="to another"):
            serve_health(taken.getsockname()[1], dict, TOKEN, threading.Event())


def test_without_the_extra_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(ConfigError, match=r"\[server\]"):
        listen(0, TOKEN)


def test_the_token_is_made_once_and_kept_from_others(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    token = token_in(folder)
    assert len(token) >= 40
    assert token_in(folder) == token
    assert stat.S_IMODE((folder / server.TOKEN_NAME).stat().st_mode) == 0o600
    (folder / server.TOKEN_NAME).chmod(0o644)
    with pytest.raises(ConfigError, match="read by others"):
        token_in(folder)
    (folder / server.TOKEN_NAME).chmod(0o600)
    (folder / server.TOKEN_NAME).write_text("\n")
    with pytest.raises(ConfigError, match="holds no token"):
        token_in(folder)
    assert token_in(tmp_path / "other") != token


def test_only_numbers_and_states_become_metrics() -> None:
    assert metrics_text(
        {"a b": {"c-d": 1}, "text": "ok", "none": None, "list": [1], "part": {"state": "degraded"}}
    ) == ("grove_edge_a_b_c_d 1\ngrove_edge_part_state 1\n")
