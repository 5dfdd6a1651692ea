"""Speech services behind an address, spoken to over a real socket."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models import ASR, TTS, Loader, Registry
from models.backends.wyoming import WyomingAsr, WyomingTts, WyomingWake
from models.errors import LoadError, ModelDownError, OutputError


def send(out: Any, kind: str, data: dict[str, Any] | None = None, payload: bytes = b"", *, apart: bool = True) -> None:
    """As the reference server writes: the data in a part of its own."""
    body = json.dumps(data or {}).encode()
    head: dict[str, Any] = {"type": kind, "version": "1.0"}
    if apart and data:
        head["data_length"] = len(body)
    elif data:
        head["data"] = data
    if payload:
        head["payload_length"] = len(payload)
    out.write(json.dumps(head).encode() + b"\n" + (body if apart and data else b"") + payload)
    out.flush()


def read(inp: Any) -> tuple[str, dict[str, Any], bytes]:
    head = json.loads(inp.readline())
    data = head.get("data", {}) | json.loads(inp.read(head.get("data_length", 0)) or b"{}")
    return head["type"], data, inp.read(head.get("payload_length", 0))


@contextmanager
def service(answer: Callable[[Any, Any], None]) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            try:
                while True:
                    connection, _ = server.accept()
                    with connection, connection.makefile("rb") as inp, connection.makefile("wb") as out:
                        answer(inp, out)
            except (OSError, ValueError):
                return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"wyoming://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
    thread.join(60)


def test_a_recogniser() -> None:
    heard: list[Any] = []

    def answer(inp: Any, out: Any) -> None:
        kind, data, payload = read(inp)
        sound = b""
        while kind != "audio-stop":
            heard.append((kind, data))
            sound += payload
            kind, data, payload = read(inp)
        heard.append(len(sound))
        send(out, "transcript", {"text": " Where are my keys? "})

    with service(answer) as address:
        asr = WyomingAsr(address)
        (segment,) = asr.transcribe(np.zeros(16_000, np.float32))
        assert segment.text == "Where are my keys?"
        assert segment.end_s == 1.0
    assert heard[0] == ("transcribe", {"language": "en"})
    assert heard[1] == ("audio-start", {"rate": 16_000, "width": 2, "channels": 1})
    assert heard[-1] == 32_000


@pytest.mark.parametrize("apart", [True, False])
def test_a_voice(apart: bool) -> None:
    def answer(inp: Any, out: Any) -> None:
        kind, data, _ = read(inp)
        assert kind == "synthesize"
        sound = {"rate": 22_050, "width": 2, "channels": 2}
        send(out, "audio-start", sound, apart=apart)
        pairs = np.repeat(np.arange(len(data["text"]), dtype="<i2"), 2)
        send(out, "audio-chunk", sound, pairs.tobytes(), apart=apart)
        send(out, "audio-stop")

    with service(answer) as address:
        chunks = list(WyomingTts(address).synthesize("One. Two is longer."))
    assert [len(c.pcm) for c in chunks] == [len("One."), len("Two is longer.")]
    assert chunks[0].rate == 22_050
    assert chunks[0].pcm.tolist() == [0, 1, 2, 3]


def test_a_wake_word() -> None:
    def answer(inp: Any, out: Any) -> None:
        while True:
            kind, _, payload = read(inp)
            if kind == "audio-chunk" and np.frombuffer(payload, "<i2").max() > 1000:
                send(out, "detection", {"name": "hey_jarvis"})

    with service(answer) as address:
        wake = WyomingWake(address)
        never = threading.Event()
        heard: list[str] = []
        for n in range(6000):
            found = wake.feed(np.full(512, 5000 if n == 5 else 0, np.int16))
            heard += [found] if found else []
            if heard:
                break
            never.wait(0.01)
        wake.close()
        assert wake.feed(np.zeros(512, np.int16)) is None
    assert heard == ["hey jarvis"]


def test_one_address_may_fill_several_roles(tmp_path: Path) -> None:
    loader = Loader(Registry(tmp_path / "store", tmp_path / "cache"))
    with service(lambda _inp, _out: None) as address:
        asr, tts = loader.load(ASR, address).model, loader.load(TTS, address).model
        assert (type(asr), type(tts)) == (WyomingAsr, WyomingTts)
        assert loader.load(ASR, address).model is asr
    loader.close()


def test_what_is_away_or_talks_nonsense_is_told() -> None:
    with pytest.raises(LoadError, match="HOST:PORT"):
        WyomingTts("wyoming://nowhere")
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    with pytest.raises(ModelDownError, match="start the service"):
        WyomingAsr(f"wyoming://127.0.0.1:{free}").transcribe(np.zeros(1600, np.float32))

    def nonsense(_: Any, out: Any) -> None:
        out.write(b"HTTP/1.1 400 Bad Request\n")
        out.flush()

    with service(nonsense) as address, pytest.raises((OutputError, ModelDownError)):
        list(WyomingTts(address).synthesize("One."))
