"""The whole device on a sound server, started and stopped over and over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from edge.server.control import ControlClient, ControlError

pytestmark = [pytest.mark.audio, pytest.mark.realtime, pytest.mark.slow]
TIMES = 50
PATIENCE_S = 180
NEVER = threading.Event()


def left_on_the_server() -> str:
    """Streams that are still open at the sound server."""
    said = [subprocess.run(["pactl", "list", "short", kind], capture_output=True, text=True, check=True, timeout=120).stdout
            for kind in ("source-outputs", "sink-inputs")]  # fmt: skip
    return "".join(said)


def group(number: int) -> list[str]:
    """Processes of a group that still live."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == number and fields[0] != "Z":
            found.append(status.parent.name)
    return found


def listening(client: ControlClient) -> bool:
    try:
        told = client.call("health")
        return bool(told["capture"]["sound"] == "microphone default: running" and told["listening"]["state"] == "ok")
    except (ControlError, KeyError, TypeError):
        return False


def test_fifty_starts_and_stops_leave_nothing(virtual_audio: object, tmp_path: Path) -> None:
    assert virtual_audio
    own = left_on_the_server()  # the virtual microphone is a stream itself
    with tempfile.TemporaryDirectory(prefix="ge-") as short:
        places = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("DATA", "CONFIG", "CACHE", "STATE")}
        environment = {**os.environ, **places, "XDG_RUNTIME_DIR": short}
        command = [str(Path(sys.executable).with_name("grove-edge")), "run", "--source", "camera", "--mic", "default",
                   "--speaker", "default", "--db", str(tmp_path / "m.db")]  # fmt: skip
        client = ControlClient(Path(short) / "grove-edge" / "control.sock", timeout_s=30.0)
        for n in range(TIMES):
            device = subprocess.Popen(
                command,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
            try:
                if n % 3 != 2:  # every third is stopped before it is up
                    for _ in range(PATIENCE_S * 10):
                        if device.poll() is not None or listening(client):
                            break
                        NEVER.wait(0.1)
                    assert device.poll() is None, device.communicate()[0]
                else:
                    NEVER.wait(n % 7 * 0.7)
                device.send_signal(signal.SIGTERM if n % 2 else signal.SIGINT)
                said, _ = device.communicate(timeout=PATIENCE_S)
            finally:
                if device.poll() is None:
                    os.killpg(device.pid, signal.SIGKILL)
                    device.wait()
            if n % 3 != 2:
                assert device.returncode == 0, (n, said)
            else:  # too early to be told, or in time
                assert device.returncode in (0, -signal.SIGTERM, -signal.SIGINT, 130, 143), (n, said)
            assert group(device.pid) == []
            for _ in range(600):  # a starved sound server takes its time to see that somebody went
                if left_on_the_server() == own:
                    break
                NEVER.wait(0.1)
            assert left_on_the_server() == own
