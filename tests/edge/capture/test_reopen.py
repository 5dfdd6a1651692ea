from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from edge.bus import Bus
from edge.capture.live import GRACE_S, LiveCapture
from edge.capture.reopen import LiveFeed, Reopen
from edge.capture.steady import SteadyTime
from edge.capture.windows import WindowMaker
from edge.clock import US, ReplayClock, parse_time
from edge.config import Capture, Growth
from edge.errors import CameraError
from edge.messages import Frame, RawWindow, Sound
from storage.records import Gap

SETTINGS = Capture()
T0 = parse_time("2026-03-02T09:00:00+01:00")[0]
IMAGE = np.zeros((4, 4, 3), dtype=np.uint8)


def s(seconds: float) -> int:
    return round(seconds * US)


def rule() -> Reopen:
    return Reopen(SETTINGS.stale_s, SETTINGS.backoff_s, SETTINGS.backoff_max_s)


def test_waits_double_from_two_to_thirty_two_seconds() -> None:
    made, now, waits = rule(), 0, []
    for _ in range(7):
        assert made.due(now)
        made.opened(now)
        made.died(now, "refused")
        start = now
        while not made.due(now):
            now += s(1)
        waits.append((now - start) // US)
    assert waits == [2, 4, 8, 16, 32, 32, 32]


def test_frames_that_flow_bring_the_first_wait_back_and_a_flash_does_not() -> None:
    made = rule()
    for _ in range(3):
        made.opened(0)
        made.died(0, "refused")
    made.opened(0)
    made.item(s(1))
    made.died(s(1.5), "lost")  # half a second of frames is no recovery
    assert not made.due(s(1.5 + 15)) and made.due(s(1.5 + 16))
    made.opened(s(20))
    made.item(s(20))
    made.item(s(22))
    made.died(s(30), "lost")
    assert not made.due(s(31.9)) and made.due(s(32))


def test_the_age_of_the_newest_item_tells_a_hang() -> None:
    made = rule()
    made.opened(s(100))
    assert not made.stale(s(109.9)) and made.stale(s(110))
    made.item(s(109))
    assert not made.stale(s(118.9)) and made.stale(s(119))


def test_the_state_is_said_in_words() -> None:
    made = rule()
    assert made.says(0) == "opening"
    made.opened(0)
    made.died(s(1), "no such camera.")
    assert made.says(s(1)) == "waiting for a camera: no such camera."
    made.opened(s(3))
    assert made.says(s(3)) == "opening: no such camera."
    made.item(s(4))
    assert made.says(s(5)) == "running"
    assert made.says(s(9)) == "running, nothing for 5 s"
    made.item(s(9))
    made.died(s(10), "unplugged.")
    assert made.says(s(10.5)) == "reopening in 2 s: unplugged."
    made.died(s(12), "still unplugged.")
    assert made.says(s(12)) == "reopening in 4 s: unplugged."


class Script:
    """A source that follows a script on a replay clock: `works(t)` says whether it gives frames `t` seconds from T0."""

    live = True

    def __init__(self, clock: ReplayClock, works: Callable[[float], object], every_s: float = 0.5) -> None:
        self._clock, self._works, self._every = clock, works, every_s
        self._fresh = False
        self.opened: list[float] = []

    def describe(self) -> str:
        return "scripted camera"

    def _now(self) -> float:
        return (self._clock.now() - T0) / US

    def open(self, stop: threading.Event) -> None:
        self.opened.append(round(self._now(), 2))
        if isinstance(self._works(self._now()), str):
            raise CameraError(str(self._works(self._now())))
        self._fresh = True

    def read(self, timeout_s: float) -> Frame | None:
        if timeout_s:  # waiting passes the time
            self._clock.set(self._clock.now() + s(min(timeout_s, self._every)))
            self._fresh = True
        state = self._works(self._now())
        if isinstance(state, str):
            raise CameraError(state)
        if not state or not self._fresh:
            return None
        self._fresh = False
        return Frame(self._clock.now(), 3600, IMAGE)

    def close(self) -> None:
        self._fresh = False


def feed(works: Callable[[float], object]) -> tuple[LiveFeed[Frame], ReplayClock, Script]:
    clock = ReplayClock(T0, 3600)
    source = Script(clock, works)
    return LiveFeed(source, SETTINGS, clock, SteadyTime(clock), "r"), clock, source


def run_until(made: LiveFeed[Frame], clock: ReplayClock, seconds: float) -> list[Frame | Gap]:
    out: list[Frame | Gap] = []
    while clock.now() < T0 + s(seconds):
        out += made.poll(threading.Event(), 0.5)
    return out


def gaps(items: list[Frame | Gap]) -> list[tuple[float, float, str]]:
    return [((g.t_start - T0) / US, (g.t_end - T0) / US, g.reason) for g in items if isinstance(g, Gap)]


def test_a_camera_that_dies_comes_back_with_its_gap_before_the_first_frame() -> None:
    made, clock, source = feed(lambda t: "unplugged." if 20 <= t < 80 else True)
    out = run_until(made, clock, 120)
    assert source.opened == [0, 22, 26, 34, 50, 82]
    assert gaps(out) == [(19.5, 82.5, "unplugged.")]
    at = next(i for i, item in enumerate(out) if isinstance(item, Gap))
    assert isinstance(out[at + 1], Frame)
    assert out[at + 1].t == out[at].t_end
    assert made.says() == "running"


def test_capture_begun_before_the_camera_exists_begins_when_it_appears() -> None:
    made, clock, _ = feed(lambda t: "There is no camera." if t < 30 else True)
    assert run_until(made, clock, 25) == []
    assert made.says() == "waiting for a camera: There is no camera."
    assert gaps(run_until(made, clock, 40)) == [(0, 30.5, "There is no camera.")]


def test_a_hang_is_given_up_by_frame_age() -> None:
    made, clock, source = feed(lambda t: not 20 <= t < 33)
    out = run_until(made, clock, 60)
    assert gaps(out) == [(19.5, 33, "scripted camera gave nothing for 10 s")] or gaps(out)[0][:2] == (19.5, 34)
    assert len(source.opened) >= 2


def test_a_slow_camera_is_no_dead_one() -> None:
    made, clock, source = feed(lambda t: t % 1 == 0)
    out = run_until(made, clock, 60)
    assert source.opened == [0]
    assert gaps(out) == []
    assert 59 <= len(out) <= 61


def test_opening_on_purpose_leaves_no_gap() -> None:
    made, clock, source = feed(lambda t: True)
    run_until(made, clock, 10)
    made.close()
    clock.set(T0 + s(100))
    assert gaps(run_until(made, clock, 110)) == []
    assert source.opened == [0, 100]


class Ears:
    """A microphone on the replay clock: a tenth of a second of tone whenever one has passed."""

    live = True

    def __init__(self, clock: ReplayClock) -> None:
        self._clock, self._at = clock, clock.now()

    def describe(self) -> str:
        return "ears"

    def open(self, stop: threading.Event) -> None:
        self._at = self._clock.now()

    def read(self, timeout_s: float) -> Sound | None:
        if self._clock.now() - self._at < s(0.1):
            self._clock.wait(threading.Event(), timeout_s)
        if self._clock.now() - self._at < s(0.1):
            return None
        self._at += s(0.1)
        return Sound(self._at - s(0.1), 3600, np.full(1600, 0.1, dtype=np.float32))

    def close(self) -> None:
        pass


@pytest.fixture
def capture() -> Iterator[Callable[..., tuple[LiveCapture, list[RawWindow]]]]:
    def made(
        works: Callable[[float], object],
        seconds: float,
        *,
        ears: bool = False,
        act: Callable[[float, LiveCapture], None] | None = None,
    ) -> tuple[LiveCapture, list[RawWindow]]:
        clock = ReplayClock(T0, 3600)
        bus = Bus()
        queue = bus.subscribe("raw_windows")
        source = Script(clock, works)
        maker = WindowMaker("r", Growth(), start=T0, offset_s=3600, grace_s=GRACE_S)
        live = LiveCapture(source, Ears(clock) if ears else None, maker, bus, clock, SETTINGS, duration_s=seconds)
        if act is not None:
            tell, wait = act, clock.wait
            clock.wait = lambda stop, sec: (tell((clock.now() - T0) / US, live), wait(stop, sec))[1]  # type: ignore[method-assign]
            inner = source.read
            source.read = lambda t: (tell((clock.now() - T0) / US, live), inner(t))[1]  # type: ignore[method-assign]
        live.run(threading.Event())
        out = []
        while isinstance(window := queue.get(0), RawWindow):
            out.append(window)
        return live, out

    yield made


def spans(windows: list[RawWindow]) -> list[tuple[float, float]]:
    return [(round((w.t_start - T0) / US, 1), round((w.t_end - T0) / US, 1)) for w in windows]


def test_live_windows_with_an_outage_in_the_middle(capture: Callable[..., tuple[LiveCapture, list[RawWindow]]]) -> None:
    live, out = capture(lambda t: "unplugged." if 40 <= t < 130 else True, 200)
    assert spans(out)[:2] == [(0, 30), (30, 45)]
    assert out[2].t_start == out[2].frames[0].t
    assert [g.reason for w in out for g in w.gaps] == ["unplugged."]
    assert out[2].gaps[0].t_end == out[2].t_start
    assert all(len(w.frames) <= 6 for w in out)
    assert live.health().state == "ended"
    assert [g.reason for g in live.health().gaps] == ["unplugged."]


def test_the_microphone_goes_on_while_the_camera_is_gone(
    capture: Callable[..., tuple[LiveCapture, list[RawWindow]]],
) -> None:
    _, out = capture(lambda t: "unplugged." if t >= 10 else True, 95, ears=True)
    assert spans(out) == [(0, 30), (30, 60), (60, 90), (90, 95)]
    assert all(w.sound is not None and np.count_nonzero(w.sound.pcm) > 0.99 * len(w.sound.pcm) for w in out[:3])
    assert [len(w.frames) for w in out[1:]] == [0, 0, 0]


def test_a_pause_is_blind_and_told(capture: Callable[..., tuple[LiveCapture, list[RawWindow]]]) -> None:
    def act(t: float, live: LiveCapture) -> None:
        if 12 <= t < 100:
            live.pause()
        elif t >= 100:
            live.resume()

    _, out = capture(lambda t: True, 110, ears=True, act=act)
    assert spans(out)[0][1] == pytest.approx(12, abs=0.2)
    assert spans(out)[1][0] == pytest.approx(100, abs=0.6)
    assert [g.reason for w in out for g in w.gaps] == ["paused by the wearer"]


def test_steady_time_waits_out_a_step_back_and_follows_a_step_forward() -> None:
    class Stepped(ReplayClock):
        shift = 0

        def now(self) -> int:
            return super().now() + self.shift

    clock = Stepped(T0)
    time = SteadyTime(clock)
    clock.shift = -s(3600)
    clock.set(ReplayClock.now(clock) + s(5))
    assert time.now() == T0 + s(5)
    assert time.ahead_s == 3600
    clock.shift = s(86_400)
    assert time.now() == T0 + s(5) + s(86_400)
    assert time.ahead_s == 0
    clock.shift -= s(0.3)
    assert time.now() == T0 + s(5) + s(86_400)
    assert SteadyTime(ReplayClock(T0, 3600)).offset() == 3600
    assert SteadyTime(ReplayClock(T0, 3600), "America/New_York").offset() == -18_000
