from __future__ import annotations

import configparser
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from edge.server.systemd import notify, watchdog_s

UNIT = Path(__file__).parents[3] / "tools" / "grove-edge.service"


@pytest.mark.parametrize("abstract", [False, True])
def test_what_is_told_arrives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, abstract: bool) -> None:
    address = f"grove-edge-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.settimeout(60)
        manager.bind("\0" + address if abstract else address)
        monkeypatch.setenv("NOTIFY_SOCKET", "@" + address if abstract else address)
        assert notify("READY=1", "STATUS=remembering\nERRNO=5")
        assert manager.recv(1_000) == b"READY=1\nSTATUS=remembering ERRNO=5"
        assert notify("WATCHDOG=1")
        assert manager.recv(1_000) == b"WATCHDOG=1"


def test_outside_systemd_nothing_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    assert not notify("READY=1")
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    assert not notify("READY=1")
    monkeypatch.setenv("NOTIFY_SOCKET", "vsock:2:1234")
    assert not notify("READY=1")


@pytest.mark.parametrize(
    ("microseconds", "process", "seconds"),
    [
        ("60000000", "", 30.0),
        ("60000000", "own", 30.0),
        ("60000000", "1", None),
        ("", "", None),
        ("0", "", None),
        ("x", "", None),
    ],
)
def test_the_watchdog_is_fed_twice_as_often_as_asked(
    monkeypatch: pytest.MonkeyPatch, microseconds: str, process: str, seconds: float | None
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", microseconds)
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()) if process == "own" else process)
    assert watchdog_s() == seconds


def test_the_unit_restarts_watches_and_confines() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(UNIT)
    service = unit["Service"]
    assert service["ExecStart"].endswith("grove-edge run")
    assert (service["Type"], service["NotifyAccess"], service["Restart"]) == ("notify", "main", "always")
    assert int(service["WatchdogSec"]) >= 30
    assert service["UMask"] == "0077"
    for key in ("NoNewPrivileges", "PrivateTmp", "RestrictSUIDSGID", "ProtectKernelTunables", "LockPersonality"):
        assert service[key] == "yes"
    assert (service["RestrictRealtime"], service["LimitRTPRIO"], service["LimitNICE"]) == ("no", "1", "-10")
    assert service["ProtectSystem"] == "strict"
    assert "%h" in service["ReadWritePaths"]
    for key in ("PrivateDevices", "DevicePolicy", "DeviceAllow", "ProtectClock"):  # the camera is a device
        assert key not in service


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_finds_no_fault_in_the_unit(tmp_path: Path) -> None:
    said = subprocess.run(
        ["systemd-analyze", "--user", "--man=no", "verify", str(UNIT)],
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)},
        check=False,
    )
    assert (said.returncode, said.stderr) == (0, "")
