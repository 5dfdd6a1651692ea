from __future__ import annotations

import threading
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from edge.bus import Bus, Subscription
from edge.capture.camera import file_sound, open_recorded, profile_for
from edge.capture.recorded import RecordedCapture
from edge.capture.windows import WindowMaker
from edge.clock import US, ReplayClock, SystemClock, parse_time
from edge.config import Config, Owner
from edge.errors import MediaError, MissingFile
from edge.messages import RawWindow, Sound

START = parse_time("2026-03-02T09:00:00+01:00")
CONFIG = Config()


def drain(queue: Subscription) -> list[RawWindow]:
    out = []
    while isinstance(message := queue.get(0), RawWindow):
        out.append(message)
    return out


def capture(path: Path, bus: Bus, *, mic: str = "default", start: int | None = None, **more: object) -> RecordedCapture:
    source = open_recorded(str(path), CONFIG, start=START)
    source.open(threading.Event())
    maker = WindowMaker(source.recording, CONFIG.memory.clip, start=start or source.t_start, offset_s=source.offset_s)
    clock = more.pop("clock", ReplayClock(START[0]))
    return RecordedCapture(source, file_sound(mic, source), maker, bus, clock, **more)  # type: ignore[arg-type]


def run(path: Path, **more: object) -> list[RawWindow]:
    bus = Bus()
    queue = bus.subscribe("raw_windows")
    service = capture(path, bus, **more)  # type: ignore[arg-type]
    service.run(threading.Event())
    assert service.health().state == "ended"
    service.close()
    return drain(queue)


def same(a: list[RawWindow], b: list[RawWindow]) -> None:
    assert [(w.t_start, w.t_end, [f.t for f in w.frames]) for w in a] == [
        (w.t_start, w.t_end, [f.t for f in w.frames]) for w in b
    ]
    for x, y in zip(a, b, strict=True):
        for f, g in zip(x.frames, y.frames, strict=True):
            np.testing.assert_array_equal(f.image, g.image)
        assert (x.sound is None) == (y.sound is None)
        if x.sound is not None and y.sound is not None:
            np.testing.assert_array_equal(x.sound.pcm, y.sound.pcm)


@pytest.fixture
def clip(tmp_path: Path, media: ModuleType) -> Path:
    return media.write_steps(tmp_path / "clip.mp4", 25, fps=25, gop=40, tone_s=25.0)


def test_a_video_becomes_windows_with_frames_and_their_own_sound(clip: Path) -> None:
    windows = run(clip)
    assert [((w.t_start - START[0]) / US, len(w.frames)) for w in windows] == [(0, 5), (10, 5), (20, 3)]
    for window in windows:
        assert window.sound is not None
        spectrum = np.abs(np.fft.rfft(window.sound.pcm[: 2 * 16_000]))
        assert abs(int(spectrum.argmax()) / 2 - 440) <= 1
        assert 0.15 < float(np.sqrt(np.mean(window.sound.pcm[:16_000] ** 2))) < 0.25


def test_a_run_goes_on_after_the_last_committed_window(clip: Path) -> None:
    whole = run(clip)
    same(run(clip, start=whole[0].t_end), whole[1:])


def test_the_same_file_gives_the_same_windows(clip: Path) -> None:
    same(run(clip), run(clip))


def test_real_time_gives_the_same_windows_and_takes_the_recordings_time(clip: Path) -> None:
    clock = ReplayClock(START[0])
    same(run(clip, speed="realtime", clock=clock), run(clip))
    assert clock.mono() - START[0] == pytest.approx(25 * US, abs=0.1 * US)


def test_sound_can_come_from_another_file_or_be_left_out(clip: Path, tmp_path: Path, media: ModuleType) -> None:
    wav = media.write_wav(tmp_path / "x.wav", [0.0] * 16_000 + [0.5] * 16_000, rate=16_000)
    first = run(clip, mic=str(wav))[0]
    assert first.sound is not None
    assert np.flatnonzero(first.sound.pcm)[[0, -1]].tolist() == [16_000, 31_999]
    assert [w.sound for w in run(clip, mic="none")] == [None] * 3


def test_sound_longer_than_the_pictures_is_heard_to_its_end(tmp_path: Path, media: ModuleType) -> None:
    video = media.write_steps(tmp_path / "v.mp4", 5)
    wav = media.write_wav(tmp_path / "x.wav", [0.25] * (16 * 22_050), rate=22_050)
    windows = run(video, mic=str(wav))
    assert [((w.t_start - START[0]) / US, (w.t_end - START[0]) / US) for w in windows] == [(0, 10), (10, 16)]
    assert [len(w.frames) for w in windows] == [3, 0]


def test_the_reader_sets_the_pace(clip: Path) -> None:
    bus = Bus()
    queue = bus.subscribe("raw_windows")
    maker = WindowMaker("r", CONFIG.memory.clip.model_copy(update={"window_s": 1.0, "frame_interval_s": 0.5}))
    source = open_recorded(str(clip), CONFIG, start=START)
    source.open(threading.Event())
    service = RecordedCapture(source, None, maker, bus, SystemClock(), raw_windows=queue)
    thread = threading.Thread(target=service.run, args=(threading.Event(),))
    thread.start()
    most, got = 0, 0
    while thread.is_alive() or queue.backlog():
        most = max(most, queue.backlog())
        got += queue.get(0.2) is not None
    thread.join()
    assert (got, most <= queue.topic.capacity) == (25, True)


def test_stop_ends_a_waiting_service_and_keeps_what_was_begun(clip: Path) -> None:
    bus = Bus()
    queue = bus.subscribe("raw_windows")
    service = capture(clip, bus, speed="realtime", clock=SystemClock())
    stop = threading.Event()
    thread = threading.Thread(target=service.run, args=(stop,))
    thread.start()
    while service.health().last_sound_t is None:
        assert thread.is_alive()
    stop.set()
    thread.join(60)
    assert not thread.is_alive()
    (window,) = drain(queue)
    assert 1 <= len(window.frames) < 5, "five are a whole window"


def test_until_ends_the_run_there(clip: Path) -> None:
    windows = run(clip, until_t=START[0] + 13 * US)
    assert [((w.t_start - START[0]) / US, (w.t_end - START[0]) / US) for w in windows] == [(0, 10), (10, 13)]


def test_frames_sound_and_health_are_published(clip: Path) -> None:
    bus = Bus()
    sound = bus.subscribe("sound")
    frames = bus.subscribe("frames")
    service = capture(clip, bus)
    service.run(threading.Event())
    health = service.health()
    assert (health.frames, health.windows, health.gaps) == (13, 3, ())
    assert health.last_frame_t == START[0] + 24 * US
    assert health.last_sound_t is not None
    assert service.progress() == 1.0
    assert isinstance(sound.get(0), Sound)
    assert frames.get(0) is not None


@pytest.mark.parametrize(
    ("mic", "error", "words"),
    [("none.wav", MissingFile, "There is no file"), ("clip.txt", MediaError, "cannot be read as video or sound")],
)
def test_a_bad_sound_file_is_one_clear_sentence(
    clip: Path, mic: str, error: type[Exception], words: str, tmp_path: Path
) -> None:
    (tmp_path / "clip.txt").write_text("words " * 500)
    with pytest.raises(error, match=words):
        run(clip, mic=str(tmp_path / mic))


def test_a_video_without_a_track_is_silent_and_short_ones_are_clips(tmp_path: Path, media: ModuleType) -> None:
    path = media.write_steps(tmp_path / "v.mp4", 5)
    source = open_recorded(str(path), CONFIG)
    source.open(threading.Event())
    assert file_sound("default", source) is None
    assert (profile_for(source, None, CONFIG), profile_for(source, "wear", CONFIG)) == ("clip", "wear")
    with pytest.raises(MediaError, match="holds no sound"):
        file_sound(str(path), source)


def test_windows_carry_the_offset_that_held_then(tmp_path: Path, media: ModuleType) -> None:
    """Summer time begins ten seconds into the recording."""
    clip = media.write_video(
        tmp_path / "a.mp4", [0, 24_000], [9, 9], tone_s=25.0, metadata={"creation_time": "2026-03-29T00:59:50.000000Z"}
    )
    config = Config(owner=Owner(zone="Europe/Zurich"))
    source = open_recorded(str(clip), config)
    source.open(threading.Event())
    bus = Bus()
    queue = bus.subscribe("raw_windows")
    maker = WindowMaker("r", CONFIG.memory.clip, start=source.t_start, offset_s=source.offset_s)
    RecordedCapture(source, file_sound("default", source), maker, bus, ReplayClock(START[0])).run(threading.Event())
    assert [w.offset_s for w in drain(queue)] == [3600, 7200, 7200]
