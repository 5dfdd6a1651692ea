"""Against the protocol's own package: a server of its classes that recognises, speaks and listens for a wake word."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.backends.wyoming import AGAIN, WyomingAsr, WyomingTts, WyomingWake
from models.errors import ModelDownError

SERVICE = Path(__file__).with_name("wyoming_service.py")
NEVER = threading.Event()
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("wyoming") is None, reason="the wyoming package is not installed: pip install wyoming"
)


@contextmanager
def serving(port: int) -> Iterator[None]:
    """The service, until the end of the block; then it is killed."""
    process = subprocess.Popen([sys.executable, "-W", "ignore", str(SERVICE), str(port)])
    try:
        for _ in range(1200):
            assert process.poll() is None
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            NEVER.wait(0.05)
        yield
    finally:
        process.kill()
        process.wait(120)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_recogniser_and_voice_of_the_protocols_own_server() -> None:
    port = free_port()
    address = f"wyoming://127.0.0.1:{port}"
    with serving(port):
        (segment,) = WyomingAsr(address).transcribe(np.zeros(48_000, np.float32))
        assert segment.text == "3 seconds."
        chunks = list(WyomingTts(address).synthesize("One. Two is longer."))
    assert [len(c.pcm) for c in chunks] == [len("One."), len("Two is longer.")]
    assert set(chunks[0].pcm) == {7}
    with pytest.raises(ModelDownError):
        WyomingAsr(address).transcribe(np.zeros(1600, np.float32))


def test_a_wake_word_service_that_goes_is_told_and_taken_up_again_when_it_is_back() -> None:
    port = free_port()
    wake = WyomingWake(f"wyoming://127.0.0.1:{port}")
    assert "start the service" in wake.problem

    def listen(until: Any, loud: bool = False) -> list[str]:
        heard = []
        for _ in range(12_000):
            found = wake.feed(np.full(512, 5000 if loud else 0, np.int16))
            heard += [found] if found else []
            if until(heard):
                return heard
            NEVER.wait(0.01)
        raise AssertionError("it did not come true")

    for _ in range(2):  # it comes, goes, and comes again on the same port
        with serving(port):
            listen(lambda _: not wake.problem)
            assert listen(len, loud=True)[0] == "okay nabu"
            wake.reset()  # the sound had a hole
            assert listen(len, loud=True)[0] == "okay nabu"
        listen(lambda _: wake.problem)
        assert str(port) in wake.problem
    wake.close()
    assert wake.feed(np.zeros(AGAIN * 16_000, np.int16)) is None
