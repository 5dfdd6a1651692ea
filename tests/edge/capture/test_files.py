from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path
from types import ModuleType

import av
import cv2
import numpy as np
import pytest
from PIL import Image as Photo

from edge.capture.base import EndOfStream
from edge.capture.camera import open_recorded
from edge.capture.files import ImageFolder, VideoFile
from edge.clock import US, parse_time
from edge.config import Config
from edge.errors import MediaError, MissingFile
from edge.messages import Frame

LIMIT = (1280, 720)
START = parse_time("2026-03-02T09:00:00+01:00")
STOP = threading.Event()
SHARED = Path(__file__).parents[4] / "shared" / "data" / "media"


def opened(path: Path, interval_s: float = 2.0, **more: object) -> VideoFile:
    source = VideoFile(path, limit=LIMIT, start=START, **more)  # type: ignore[arg-type]
    source.open(STOP)
    source.sample_every(interval_s)
    return source


def drain(source: VideoFile | ImageFolder) -> list[Frame]:
    frames = []
    while True:
        try:
            frames.append(source.read(0))
        except EndOfStream:
            return frames


def levels(frames: list[Frame]) -> list[int]:
    return [round(float(f.image.mean())) for f in frames]


def near(found: list[int], wanted: list[int]) -> bool:
    return len(found) == len(wanted) and all(abs(a - b) <= 4 for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize(
    ("suffix", "codec"), [("mp4", "libx264"), ("mkv", "libx264"), ("avi", "mjpeg"), ("ts", "mpeg2video")]
)
@pytest.mark.parametrize("gop", [5, 1000])
def test_the_picture_on_display_is_given(tmp_path: Path, media: ModuleType, suffix: str, codec: str, gop: int) -> None:
    path = tmp_path / f"steps.{suffix}"
    media.write_steps(path, 12, fps=25 if suffix in {"ts", "avi"} else 10, codec=codec, gop=gop)
    frames = drain(opened(path, 2.0))
    assert near(levels(frames), [16, 32, 48, 64, 80, 96])
    assert [f.t - START[0] for f in frames] == [s * US for s in range(0, 12, 2)]
    assert [f.seq for f in frames] == [1, 2, 3, 4, 5, 6]
    assert {f.offset_s for f in frames} == {3600}


def test_a_still_picture_is_shown_again_as_long_as_it_lasts(tmp_path: Path, media: ModuleType) -> None:
    path = media.write_video(tmp_path / "still.mp4", [0, 4000, 20_000, 20_500], [40, 80, 120, 160])
    frames = drain(opened(path, 5.0))
    assert near(levels(frames), [40, 80, 80, 80, 120])


def test_every_interval_gives_what_a_player_shows(tmp_path: Path, media: ModuleType) -> None:
    """Against plain decoding of every picture, with B-frames and key frames at odd places."""
    path = media.write_steps(tmp_path / "x.mp4", 20, fps=25, gop=37)
    truth = []
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        truth = [(round(f.pts * f.time_base * US), f.to_ndarray(format="bgr24")) for f in container.decode(stream)]
    frames = drain(opened(path, 0.73))
    assert len(frames) == 28
    for frame in frames:
        shown = [image for t, image in truth if t <= frame.t - START[0]][-1]
        np.testing.assert_array_equal(frame.image, shown)


@pytest.mark.parametrize(
    ("suffix", "codec"), [("mp4", "libx264"), ("mkv", "libx264"), ("ts", "mpeg2video"), ("avi", "mjpeg")]
)
@pytest.mark.parametrize("at_s", [0.0, 3.9, 4.0, 11.0, 12.0])
def test_skipping_gives_the_same_frames_as_reading_through(
    tmp_path: Path, media: ModuleType, at_s: float, suffix: str, codec: str
) -> None:
    path = media.write_steps(tmp_path / f"x.{suffix}", 12, fps=25, gop=30, codec=codec)
    whole = drain(opened(path))
    source = opened(path)
    source.skip_to(START[0] + round(at_s * US))
    rest = drain(source)
    wanted = [f for f in whole if f.t >= START[0] + round(at_s * US)]
    assert [f.t for f in rest] == [f.t for f in wanted]
    for a, b in zip(rest, wanted, strict=True):
        np.testing.assert_array_equal(a.image, b.image)


def test_a_pause_of_the_recording_shows_nothing(tmp_path: Path, media: ModuleType) -> None:
    """A camera that was off for an hour is no still picture of an hour."""
    path = media.write_video(tmp_path / "pause.mp4", [0, 2000, 3_600_000, 3_602_000], [40, 80, 120, 160])
    frames = drain(opened(path, 100.0))
    assert [(f.t - START[0]) // US for f in frames] == [0, 100, 200, 300, 400, 500, 600, 3600]
    assert near(levels(frames), [40, 80, 80, 80, 80, 80, 80, 120])


def test_large_pictures_are_bounded_and_portrait_turns_the_bound(tmp_path: Path, media: ModuleType) -> None:
    wide = media.write_video(tmp_path / "w.mp4", [0, 40], [50, 50], size=(1920, 800))
    tall = media.write_video(tmp_path / "t.mp4", [0, 40], [50, 50], size=(800, 1920))
    assert drain(opened(wide, 1))[0].image.shape == (533, 1280, 3)
    assert drain(opened(tall, 1))[0].image.shape == (1280, 533, 3)


def test_a_file_cut_off_ends_where_its_pictures_end(tmp_path: Path, media: ModuleType) -> None:
    path = media.write_steps(tmp_path / "x.ts", 12, fps=25, codec="mpeg2video", gop=10)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    source = opened(path, 1.0)
    frames = drain(source)
    assert 3 <= len(frames) <= 9
    assert near(levels(frames), [16 + 8 * i for i in range(len(frames))])


def test_damage_in_the_middle_is_passed_over(tmp_path: Path, media: ModuleType) -> None:
    path = media.write_steps(tmp_path / "x.ts", 12, fps=25, codec="mpeg2video", gop=10)
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 4000] = os.urandom(4000)
    path.write_bytes(bytes(data))
    frames = drain(opened(path, 1.0))
    assert near(levels(frames)[:4], [16, 24, 32, 40])
    assert near(levels(frames)[-2:], [96, 104])


def test_the_time_is_the_asked_one_else_the_containers_else_the_files(tmp_path: Path, media: ModuleType) -> None:
    stamped = media.write_video(
        tmp_path / "a.mp4", [0, 40], [9, 9], metadata={"creation_time": "2024-07-01T10:00:00.000000Z"}
    )
    plain = media.write_video(tmp_path / "b.mp4", [0, 40], [9, 9])
    os.utime(plain, (1_700_000_000, 1_700_000_000))
    found = {}
    for name, path, start in (("asked", stamped, START), ("stamp", stamped, None), ("mtime", plain, None)):
        source = VideoFile(path, limit=LIMIT, start=start, zone="Europe/Zurich")
        source.open(STOP)
        found[name] = (source.t_start, source.offset_s, source.read(0).offset_s)
    assert found == {
        "asked": (*START, 3600),
        "stamp": (parse_time("2024-07-01T10:00:00Z")[0], 7200, 7200),
        "mtime": (1_700_000_000 * US, 3600, 3600),
    }


def test_the_offset_follows_the_zone_through_a_change_of_clocks(tmp_path: Path, media: ModuleType) -> None:
    path = media.write_video(
        tmp_path / "a.mp4", [0, 4000], [9, 9], metadata={"creation_time": "2026-03-29T00:59:58.000000Z"}
    )
    source = VideoFile(path, limit=LIMIT, zone="Europe/Zurich")
    source.open(STOP)
    source.sample_every(1)
    assert [f.offset_s for f in drain(source)] == [3600, 3600, 7200, 7200, 7200]


def test_the_recording_is_known_by_its_content(tmp_path: Path, media: ModuleType) -> None:
    path = media.write_steps(tmp_path / "x.mp4", 3)
    again = tmp_path / "other name.mp4"
    again.write_bytes(path.read_bytes())
    assert opened(path).recording == opened(again).recording == hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def photo(path: Path, level: int, exif: dict[int, str] | None = None) -> None:
    image = Photo.new("RGB", (40, 30), (level, level, level))
    tags = Photo.Exif()
    tags.get_ifd(0x8769).update(exif or {})
    image.save(path, exif=tags)


def test_a_folder_shows_its_images_by_name_one_each_interval(tmp_path: Path) -> None:
    for i, name in enumerate(["b.png", "a.jpg", "c.JPG"]):
        photo(tmp_path / name, 40 + 40 * i, {0x9003: "2025:08:01 12:00:00"})
    (tmp_path / "notes.txt").write_text("not a picture")
    (tmp_path / "bad.jpg").write_bytes(b"\xff\xd8 damaged")
    source = ImageFolder(tmp_path, limit=LIMIT, zone="Europe/Zurich")
    source.open(STOP)
    source.sample_every(5)
    frames = drain(source)
    begin = parse_time("2025-08-01T12:00:00+02:00")[0]
    assert near(levels(frames), [80, 40, 120])
    assert [(f.t - begin) / US for f in frames] == [0, 5, 15]  # bad.jpg keeps its place and shows nothing
    assert source.unreadable == ["bad.jpg"]
    assert source.duration_s == 20


def test_the_offset_a_photograph_names_wins(tmp_path: Path) -> None:
    photo(tmp_path / "a.jpg", 9, {0x9003: "2025:08:01 12:00:00", 0x9011: "-03:00"})
    source = ImageFolder(tmp_path, limit=LIMIT, zone="Europe/Zurich")
    source.open(STOP)
    assert (source.t_start, source.offset_s) == parse_time("2025-08-01T12:00:00-03:00")


def test_a_single_image_is_a_source_too(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "a.png"), np.full((20, 20, 3), 77, dtype=np.uint8))
    source = open_recorded(str(tmp_path / "a.png"), Config())
    source.open(STOP)
    assert levels([source.read(0)]) == [77]
    with pytest.raises(EndOfStream):
        source.read(0)


def _text(path: Path) -> Path:
    path.write_text("this is only text\n" * 200)
    return path


def _empty(path: Path) -> Path:
    path.touch()
    return path


def _sound_only(path: Path) -> Path:
    with av.open(str(path), "w", format="wav") as out:
        stream = out.add_stream("pcm_s16le", rate=16_000, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1600), dtype=np.int16), format="s16", layout="mono")
        frame.sample_rate = 16_000
        out.mux(stream.encode(frame))
    return path


def _undecodable(path: Path, media: ModuleType) -> Path:
    """A whole container whose pictures are noise: packed as video, nothing of it decodes."""
    media.write_steps(path, 2, codec="mjpeg")
    data = bytearray(path.read_bytes())
    at = data.find(b"mdat") + 4
    end = data.find(b"moov")
    end = len(data) if end < at else end - 4
    data[at:end] = bytes(len(data[at:end]))
    path.write_bytes(bytes(data))
    return path


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda p, m: p / "none.mp4", MissingFile, "There is no file"),
        (lambda p, m: _text(p / "text.mp4"), MediaError, "cannot be read as video"),
        (lambda p, m: _text(p / "text.txt"), MediaError, "is a text file"),
        (lambda p, m: _empty(p / "empty.mp4"), MediaError, "is empty"),
        (lambda p, m: _sound_only(p / "sound.mp4"), MediaError, "no pictures"),
        (lambda p, m: _undecodable(p / "noise.mp4", m), MediaError, "no picture that can be decoded"),
        (lambda p, m: p, MediaError, "holds no images"),
        (lambda p, m: _text(p / "text.png"), MediaError, "no image that can be decoded"),
        (lambda p, m: _empty(p / "empty.jpg"), MediaError, "no image that can be decoded"),
    ],
)
def test_bad_input_is_one_clear_sentence(
    tmp_path: Path, media: ModuleType, make: object, error: type[Exception], words: str
) -> None:
    path = make(tmp_path, media)  # type: ignore[operator]
    with pytest.raises(error, match=words) as caught:
        open_recorded(str(path), Config()).open(STOP)
    sentence = str(caught.value)
    assert str(path) in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert "Errno" not in sentence


@pytest.mark.skipif(not SHARED.is_dir(), reason="the private test clips (../shared/data/media) are not here")
def test_real_clips_give_the_pictures_a_player_shows() -> None:
    for name in ("egolife_clock.mp4", "egolife_glasses_1.mp4", "epicwall_r2c1.mp4", "opencv_cup.mp4"):
        with av.open(str(SHARED / name)) as container:
            stream = container.streams.video[0]
            stream.thread_type = "AUTO"
            wanted: dict[int, np.ndarray] = {}
            for f in container.decode(stream):
                t = round(f.pts * f.time_base * US)
                if t < 9 * US:
                    wanted[t] = f.to_ndarray(format="bgr24")
        frames = [f for f in drain(opened(SHARED / name, 2.3)) if f.t - START[0] < 8 * US]
        assert len(frames) >= 3
        for frame in frames:
            shown = wanted[max(t for t in wanted if t <= frame.t - START[0])]
            np.testing.assert_array_equal(frame.image, shown)
