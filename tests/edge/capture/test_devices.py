"""Cameras that are not here: the drivers against stand-ins with the part of the libraries' interface they use."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import TimeoutError as FutureTimeout
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from edge.capture.camera import AnyCamera, FrameStamp, is_live, open_live
from edge.capture.picam import TAKE_S, PiCameraDriver, library
from edge.capture.steady import SteadyTime
from edge.capture.v4l2 import V4l2Driver, check_device, devices
from edge.clock import US, ReplayClock, SystemClock
from edge.config import Config
from edge.errors import CameraError

LIMIT = (640, 480)
OPEN = threading.Event()
ROOT = Path(__file__).parents[3]


class OpenCv:
    """cv2.VideoCapture of a camera with 1280x720 pictures; `pictures` of them, then it is gone."""

    def __init__(self, pictures: int = 1000, *, opened: bool = True) -> None:
        self.left, self.good, self.set_to, self.released, self.unpacked = pictures, opened, {}, False, 0

    def isOpened(self) -> bool:
        return self.good

    def set(self, key: int, value: float) -> bool:
        self.set_to[key] = value
        return True

    def grab(self) -> bool:
        self.left -= 1
        return self.left >= 0

    def retrieve(self) -> tuple[bool, np.ndarray]:
        self.unpacked += 1
        return True, np.full((720, 1280, 3), 7, dtype=np.uint8)

    def release(self) -> None:
        self.released = True


def v4l2(cv: OpenCv, clock: ReplayClock | None = None) -> V4l2Driver:
    return V4l2Driver(Path("/dev/null"), clock or ReplayClock(), limit=LIMIT, every_s=0.5, capture=lambda path: cv)


def test_v4l2_bounds_pictures_and_unpacks_only_those_wanted() -> None:
    cv, clock = OpenCv(), ReplayClock(10 * US)
    driver = v4l2(cv, clock)
    driver.open(OPEN)
    shapes = []
    for _ in range(60):  # two seconds at 30 pictures a second
        image = driver.take(OPEN)
        if image is not None:
            shapes.append(image.shape)
        clock.set(clock.now() + US // 30)
    assert set(shapes) == {(360, 640, 3)}
    assert 4 <= len(shapes) == cv.unpacked <= 6
    driver.release()
    assert cv.released


def test_v4l2_says_when_the_camera_is_lost_or_taken() -> None:
    driver = v4l2(OpenCv(pictures=1))
    driver.open(OPEN)
    driver.take(OPEN)
    with pytest.raises(CameraError, match="stopped giving pictures: plug the camera in again"):
        driver.take(OPEN)
    with pytest.raises(CameraError, match="used by another program"):
        v4l2(OpenCv(opened=False)).open(OPEN)


def test_bad_device_nodes_are_one_clear_sentence(tmp_path: Path) -> None:
    (tmp_path / "video0").write_text("no camera")
    for path, words in (
        (tmp_path / "video9", "There is no camera at"),
        (tmp_path / "video0", "is not a camera"),
        (tmp_path, "is not a camera"),
    ):
        with pytest.raises(CameraError, match=words) as caught:
            check_device(path)
        assert str(caught.value).endswith(".")


def test_no_permission_names_the_group() -> None:
    """As an ordinary user, on a device that only root may use."""
    code = (
        "import os, pathlib, sys\n"
        "from edge.capture.v4l2 import check_device\n"
        "if os.getuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "try: check_device(pathlib.Path(sys.argv[1]))\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    node = next(
        p for p in ("/dev/mem", "/dev/kmsg", "/dev/loop-control", "/dev/ppp", "/etc/shadow") if Path(p).exists()
    )
    done = subprocess.run([sys.executable, "-c", code, node], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"CameraError No permission to use {node}: run sudo usermod -aG video")


def test_devices_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("video10", "video2", "video0", "videodev", "audio0"):
        (tmp_path / name).touch()
    assert [p.name for p in devices(tmp_path)] == ["video0", "video2", "video10"]


class Pi:
    """The part of picamera2 that the driver relies on: capture_array(name, wait=seconds) times out with a future's."""

    infos: ClassVar[list[dict[str, object]]] = [{"Model": "imx708", "Num": 0}]

    def __init__(self) -> None:
        self.calls: list[object] = []
        self.dead = False

    @classmethod
    def global_camera_info(cls) -> list[dict[str, object]]:
        return cls.infos

    def create_video_configuration(self, main: dict[str, object]) -> dict[str, object]:
        return {"main": main}

    def configure(self, config: dict[str, object]) -> None:
        self.calls.append(config)

    def start(self) -> None:
        self.calls.append("start")

    def capture_array(self, name: str, wait: float) -> np.ndarray:
        self.calls.append((name, wait))
        if self.dead:
            raise FutureTimeout
        return np.full((480, 640, 3), (1, 2, 3), dtype=np.uint8)

    def stop(self) -> None:
        self.calls.append("stop")

    def close(self) -> None:
        self.calls.append("close")


def test_picamera2_contract() -> None:
    pi, clock = Pi(), ReplayClock(10 * US)
    module = SimpleNamespace(Picamera2=lambda: pi)
    module.Picamera2.global_camera_info = Pi.global_camera_info  # type: ignore[attr-defined]
    driver = PiCameraDriver(module, clock, limit=LIMIT, every_s=0.5)
    driver.open(OPEN)
    first = driver.take(OPEN)
    assert first is not None and first[0, 0].tolist() == [1, 2, 3]
    assert driver.take(OPEN) is not None
    assert clock.now() == 10.5 * US  # the second picture was waited for, not taken at the sensor's rate
    pi.dead = True
    with pytest.raises(CameraError, match="gave no picture for 2 s"):
        driver.take(OPEN)
    driver.release()
    assert pi.calls == [
        {"main": {"size": LIMIT, "format": "RGB888"}},
        "start",
        ("main", TAKE_S),
        ("main", TAKE_S),
        ("main", TAKE_S),
        "stop",
        "close",
    ]


def test_picamera2_that_is_absent_or_busy_is_said() -> None:
    def busy() -> Pi:
        raise RuntimeError("Failed to acquire camera: Device or resource busy")

    busy.global_camera_info = lambda: [{}]  # type: ignore[attr-defined]
    with pytest.raises(CameraError, match="used by another program"):
        PiCameraDriver(SimpleNamespace(Picamera2=busy), ReplayClock(), limit=LIMIT, every_s=1).open(OPEN)
    none = SimpleNamespace(Picamera2=SimpleNamespace(global_camera_info=list))
    with pytest.raises(CameraError, match="sees no camera"):
        PiCameraDriver(none, ReplayClock(), limit=LIMIT, every_s=1).open(OPEN)


def test_the_library_is_optional() -> None:
    module = library()
    assert module is None or hasattr(module, "Picamera2")


def test_any_camera_finds_the_pis_first_and_says_when_there_is_none(tmp_path: Path) -> None:
    module = SimpleNamespace(Picamera2=Pi)
    driver = AnyCamera(ReplayClock(), limit=LIMIT, every_s=0.5, library=lambda: module, folder=tmp_path)
    driver.open(OPEN)
    assert driver.describe() == "Raspberry Pi camera"
    assert driver.take(OPEN) is not None
    driver.release()
    nothing = AnyCamera(ReplayClock(), limit=LIMIT, every_s=0.5, library=lambda: None, folder=tmp_path)
    with pytest.raises(CameraError, match="There is no camera: plug one in"):
        nothing.open(OPEN)
    nothing.release()
    (tmp_path / "video0").write_text("not one")
    with pytest.raises(CameraError, match="video0 is not a camera"):
        nothing.open(OPEN)


def test_a_missing_camera_is_told_by_reading_the_source() -> None:
    clock = SystemClock()
    source = open_live("/dev/video77", Config(), clock, SteadyTime(clock))
    source.open(threading.Event())
    with pytest.raises(CameraError, match="There is no camera at /dev/video77: plug it in"):
        source.read(5)
    source.close()


@pytest.mark.parametrize(
    ("spec", "live"),
    [
        ("camera", True),
        ("/dev/video0", True),
        ("rtsp://u:p@h/x", True),
        ("tcp://h:1", True),
        ("a.mp4", False),
        ("c:x", False),
    ],
)
def test_what_counts_as_live(spec: str, live: bool) -> None:
    assert is_live(spec) is live


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="there is no /dev/shm to write to")
def test_a_recording_kept_in_memory_is_a_recording() -> None:
    with tempfile.NamedTemporaryFile(dir="/dev/shm", suffix=".mp4") as file:
        assert not is_live(file.name)
        assert not is_live("/dev/shm")
    assert not is_live(file.name), "one that is not there is not waited for either"


def test_frames_of_a_live_source_carry_the_capture_time() -> None:
    clock = ReplayClock(5 * US, 3600)
    stamp = FrameStamp(SteadyTime(clock))
    image = np.zeros((2, 2, 3), dtype=np.uint8)
    first = stamp.stamp(image)
    clock.set(6 * US, 7200)
    second = stamp.stamp(image)
    assert [(f.t, f.offset_s, f.seq) for f in (first, second)] == [(5 * US, 3600, 1), (6 * US, 7200, 2)]
