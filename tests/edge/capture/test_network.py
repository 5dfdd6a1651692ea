"""Real servers on loopback, broken in every way: capture must live through all of it and tell the truth meanwhile."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import pytest

from edge.bus import Bus
from edge.capture.camera import open_live
from edge.capture.live import GRACE_S, LiveCapture
from edge.capture.network import StreamDriver, is_url, without_password
from edge.capture.steady import SteadyTime
from edge.capture.windows import WindowMaker
from edge.clock import US, SystemClock
from edge.config import Capture, Config, Growth
from edge.errors import CameraError
from edge.messages import RawWindow

ROOT = Path(__file__).parents[3]
PATIENCE_S = 180
KINDS = ("rtsp", "mjpeg", "ts")
URLS = {"rtsp": "rtsp://127.0.0.1:{}/cam", "mjpeg": "http://127.0.0.1:{}/cam", "ts": "tcp://127.0.0.1:{}"}
GROWTH = Growth(window_s=2.0, frame_interval_s=0.5, gap_s=4.0)
CLOCK = SystemClock()


def _rtsp_python() -> str | None:
    """The system's Python has GStreamer's bindings, the virtual environment has not."""
    probe = "import gi; gi.require_version('GstRtspServer', '1.0'); from gi.repository import GstRtspServer"
    for python in ("/usr/bin/python3", sys.executable):
        if (
            Path(python).exists()
            and subprocess.run([python, "-c", probe], check=False, capture_output=True).returncode == 0
        ):
            return python
    return None


RTSP_PYTHON = _rtsp_python()


class Camera:
    """A server process on a port of its own that can be killed and started again."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self.url = URLS[kind].format(self.port)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, fault: str = "none", fps: int = 15) -> None:
        python = RTSP_PYTHON if self.kind == "rtsp" and fault != "hang" else sys.executable
        if python is None:
            pytest.skip("GStreamer's RTSP server for Python (python3-gi, gir1.2-gst-rtsp-server-1.0) is not installed")
        command = [python, str(ROOT / "tools/camera_servers.py"), self.kind, str(self.port)]
        self._process = subprocess.Popen([*command, "--fault", fault, "--fps", str(fps)], stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


class Running:
    """A live capture in a thread, watched through its health."""

    def __init__(self, url: str, **settings: float) -> None:
        values = {"stale_s": 3.0, "backoff_s": 0.3, "backoff_max_s": 1.0} | settings
        config = Config(capture=Capture(**values))  # type: ignore[arg-type]
        time = SteadyTime(CLOCK)
        self.bus = Bus()
        self.queue = self.bus.subscribe("raw_windows")
        maker = WindowMaker("r", GROWTH, start=time.now(), grace_s=GRACE_S)
        source = open_live(url, config, CLOCK, time)
        self.capture = LiveCapture(source, None, maker, self.bus, CLOCK, config.capture, time=time)
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.capture.run, args=(self.stop,))
        self.thread.start()

    def wait(self, wanted: Callable[[], bool]) -> None:
        end = CLOCK.mono() + PATIENCE_S * US
        while not wanted():
            assert CLOCK.mono() < end, self.capture.health()
            assert self.thread.is_alive()
            self.stop.wait(0.02)

    def flows(self) -> None:
        """Wait until frames come, a few of them."""
        before = self.capture.health().frames
        self.wait(lambda: self.capture.health().frames >= before + 3 and self.state == "running")

    @property
    def state(self) -> str:
        return self.capture.health().state

    @property
    def reasons(self) -> list[str]:
        return [g.reason for g in self.capture.health().gaps]

    def end(self) -> list[RawWindow]:
        self.stop.set()
        self.thread.join(60)
        assert not self.thread.is_alive()
        out = []
        while isinstance(window := self.queue.get(0), RawWindow):
            out.append(window)
        return out


@pytest.fixture(params=KINDS)
def camera(request: pytest.FixtureRequest) -> Iterator[Camera]:
    made = Camera(request.param)
    yield made
    made.kill()


@pytest.fixture
def run() -> Iterator[Callable[..., Running]]:
    made: list[Running] = []

    def start(url: str, **settings: float) -> Running:
        made.append(Running(url, **settings))
        return made[-1]

    yield start
    for running in made:
        running.stop.set()
        running.thread.join(60)


def test_a_camera_killed_and_back_leaves_a_gap_and_goes_on(camera: Camera, run: Callable[..., Running]) -> None:
    camera.start()
    running = run(camera.url, stale_s=20.0)  # a busy machine's camera is silent for seconds
    running.flows()
    camera.kill()
    running.wait(lambda: running.state.startswith(("reopening in", "opening: ")))
    camera.start()
    running.flows()
    windows = running.end()
    assert len(running.reasons) == 1
    assert "The camera at " in running.reasons[0] or "gave nothing" in running.reasons[0]
    gap = running.capture.health().gaps[0]
    times = [f.t for w in windows for f in w.frames]
    assert any(t <= gap.t_start for t in times)
    assert gap.t_end in times
    assert not any(gap.t_start < t < gap.t_end for t in times)
    assert [g for w in windows for g in w.gaps] == [gap]
    assert {f.image.shape for w in windows for f in w.frames} == {(240, 320, 3)}


def test_capture_waits_for_a_camera_that_starts_late(camera: Camera, run: Callable[..., Running]) -> None:
    running = run(camera.url, stale_s=20.0)
    running.wait(lambda: running.state.startswith("waiting for a camera: "))
    assert "refuses the connection: switch it on" in running.state
    camera.start()
    running.flows()
    assert len(running.reasons) == 1
    assert "refuses the connection" in running.reasons[0]
    assert running.end()[0].gaps[0].reason == running.reasons[0]


@pytest.mark.slow
def test_one_picture_a_second_is_enough(camera: Camera, run: Callable[..., Running]) -> None:
    camera.start(fps=1)
    running = run(camera.url, stale_s=8.0)
    running.flows()
    running.wait(lambda: running.capture.health().windows >= 2)
    assert running.reasons == []
    assert all(len(w.frames) >= 1 for w in running.end())


def test_a_camera_that_accepts_and_never_answers_is_left_and_found_again(
    camera: Camera, run: Callable[..., Running]
) -> None:
    camera.start("hang")
    running = run(camera.url)
    running.wait(lambda: running.state.startswith("waiting for a camera: "))
    assert "does not answer" in running.state or "gave nothing for 3 s" in running.state
    camera.kill()
    camera.start()
    running.flows()
    assert running.reasons
    assert len(running.end()) >= 1


@pytest.mark.slow
def test_a_picture_that_freezes_counts_as_dead(camera: Camera, run: Callable[..., Running]) -> None:
    camera.start("freeze")
    running = run(camera.url, stale_s=1.5)
    running.flows()
    running.wait(lambda: running.state.startswith(("reopening in", "opening: ")))
    assert "gave nothing for" in running.state or "does not answer" in running.state or "ended" in running.state
    camera.kill()
    camera.start()
    running.flows()
    assert len(running.reasons) >= 1


def test_pictures_that_cannot_be_decoded_are_said_and_the_rest_keeps_running(
    camera: Camera, run: Callable[..., Running]
) -> None:
    camera.start("wrong", fps=60)
    running = run(camera.url)
    running.wait(lambda: running.state.startswith("waiting for a camera: "))
    assert any(
        words in running.state
        for words in (
            "sends no pictures",
            "no picture that can be decoded",
            "nothing that is video",
            "gave nothing",
            "does not answer",
        )
    )
    assert running.capture.health().frames == 0
    camera.kill()
    camera.start()
    running.flows()
    assert len(running.end()) >= 1


def test_stop_is_quick_while_a_driver_hangs(camera: Camera, run: Callable[..., Running]) -> None:
    camera.start("hang")
    running = run(camera.url, stale_s=60.0)
    running.wait(lambda: running.state == "opening")
    assert running.end() == []


def test_passwords_stay_out_of_every_sentence() -> None:
    driver = StreamDriver(
        "rtsp://me:secret@127.0.0.1:1/cam?token=secret", CLOCK, limit=(640, 480), every_s=1, timeout_s=2
    )
    with pytest.raises(CameraError, match=r"The camera at rtsp://127.0.0.1:1/cam refuses") as caught:
        driver.open(threading.Event())
    driver.release()
    assert "secret" not in str(caught.value) + driver.describe()


@pytest.mark.parametrize(
    ("url", "known"),
    [
        ("rtsp://h/x", True),
        ("http://h:80/x", True),
        ("tcp://h:1", True),
        ("file:///etc/passwd", False),
        ("x.mp4", False),
    ],
)
def test_urls_that_can_be_streamed(url: str, known: bool) -> None:
    assert is_url(url) is known
    assert without_password("http://a:b@h:1/p?q=1") == "http://h:1/p"


def test_a_recording_behind_a_url_is_refused(tmp_path: Path, media: ModuleType) -> None:
    """Played as a camera it would begin anew after each end."""
    media.write_steps(tmp_path / "clip.mp4", 3)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/clip.mp4"
        for path, words in (
            (url, "sends a recording: download it"),
            (url + "x", "has no such stream: correct the path"),
        ):
            driver = StreamDriver(path, CLOCK, limit=(640, 480), every_s=1, timeout_s=5)
            with pytest.raises(CameraError, match=words):
                driver.open(threading.Event())
            driver.release()
        server.shutdown()
