from __future__ import annotations

import random
import threading
import wave
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import av
import numpy as np
import pytest

from edge.capture.audio import FileSound
from edge.capture.base import EndOfStream
from edge.capture.files import VideoFile
from edge.clock import US
from edge.errors import GroveError
from edge.messages import Pcm, Sound

T0 = 1_700_000_000 * US


def joined(chunks: list[Sound]) -> Pcm:
    """The sound of chunks that must follow each other without a seam."""
    for a, b in zip(chunks, chunks[1:], strict=False):
        assert abs(b.t - a.t - len(a.pcm) * US / 16_000) <= 1
    return np.concatenate([c.pcm for c in chunks])


def write_sound(path: Path, pcm: np.ndarray, rate: int) -> Path:
    """`pcm`: (channels, samples) float -> a 16-bit WAV file."""
    with wave.open(str(path), "wb") as out:
        out.setnchannels(len(pcm))
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(np.round(pcm.T * 32_767).astype("<i2").tobytes())
    return path


def write_stream(path: Path, pcm: np.ndarray, rate: int) -> Path:
    """A transport stream with an MPEG sound track."""
    with av.open(str(path), "w", format="mpegts") as out:
        stream = out.add_stream("mp2", rate=rate, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.round(pcm * 32_767).astype(np.int16)[None], format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = rate, 0, Fraction(1, rate)
        out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return path


def tone(hertz: float, seconds: float, rate: int, level: float = 0.5) -> np.ndarray:
    return level * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)


def test_sound_is_taken_by_time_in_short_chunks(tmp_path: Path, media: ModuleType) -> None:
    ramp = (np.arange(48_000) / 96_000).tolist()
    sound = FileSound(media.write_wav(tmp_path / "x.wav", ramp, rate=16_000), T0, 3600)
    first, nothing, rest = sound.until(T0 + 250_000), sound.until(T0 + 250_000), sound.until(T0 + 60 * US)
    assert [len(c.pcm) for c in first] == [1600, 1600, 800]
    assert nothing == []
    assert first[0].t == T0
    assert rest[0].t == T0 + 250_000
    np.testing.assert_allclose(joined(first + rest), ramp, atol=1 / 32_000)
    assert sound.t_end == T0 + 3 * US
    assert {c.offset_s for c in rest} == {3600}


@pytest.mark.parametrize("rate", [8_000, 22_050, 44_100, 48_000])
def test_every_rate_becomes_16_khz(tmp_path: Path, rate: int) -> None:
    path = write_sound(tmp_path / "x.wav", tone(1000, 2, rate)[None], rate)
    pcm = joined(FileSound(path, T0, 0).until(T0 + 10 * US))
    assert abs(len(pcm) - 32_000) <= 16
    assert int(np.abs(np.fft.rfft(pcm[:16_000])).argmax()) == 1000
    assert float(np.abs(pcm[1000:-1000]).max()) == pytest.approx(0.5, abs=0.02)


def test_channels_are_averaged(tmp_path: Path) -> None:
    both = np.stack([tone(440, 1, 16_000), np.zeros(16_000)])
    path = write_sound(tmp_path / "x.wav", both, 16_000)
    pcm = joined(FileSound(path, T0, 0).until(T0 + 2 * US))
    np.testing.assert_allclose(pcm, both[0] / 2, atol=1e-3)


def test_a_track_that_begins_late_keeps_its_place(tmp_path: Path, media: ModuleType) -> None:
    mixed = media.write_steps(tmp_path / "x.mkv", 4, tone_s=1.0, tone_at_s=1.5)
    sound = FileSound(mixed, T0, 0)
    pcm = joined(sound.until(T0 + 10 * US))
    heard = np.flatnonzero(np.abs(pcm) > 0.01)
    assert heard[0] / 16_000 == pytest.approx(1.5, abs=0.02)


@pytest.mark.parametrize("skip_s", [0.0, 0.7, 2.999, 3.0, 9.0])
def test_skipping_gives_the_same_samples(tmp_path: Path, skip_s: float) -> None:
    path = write_sound(tmp_path / "x.wav", tone(333, 3, 44_100)[None], 44_100)
    whole = joined(FileSound(path, T0, 0).until(T0 + 10 * US))
    sound = FileSound(path, T0, 0)
    sound.skip_to(T0 + round(skip_s * US))
    rest = sound.until(T0 + 10 * US)
    at = round(skip_s * 16_000)
    np.testing.assert_array_equal(joined(rest) if rest else np.zeros(0, dtype=np.float32), whole[at:])


def test_a_track_that_changes_its_rate_goes_on(tmp_path: Path) -> None:
    """Two transport streams one after the other, as recorders that were restarted leave them."""
    parts = [write_stream(tmp_path / f"{rate}.ts", tone(500, 2, rate), rate).read_bytes() for rate in (48_000, 32_000)]
    path = tmp_path / "both.ts"
    path.write_bytes(b"".join(parts))
    pcm = np.concatenate([c.pcm for c in FileSound(path, T0, 0).until(T0 + 60 * US)])
    assert len(pcm) >= 1.9 * 16_000
    assert int(np.abs(np.fft.rfft(pcm[-16_000:])).argmax()) == pytest.approx(500, abs=2)


def test_damaged_media_end_in_a_sentence_or_in_pictures_never_otherwise(tmp_path: Path, media: ModuleType) -> None:
    """Bytes changed, cut out and cut off at random, the same each time."""
    chance = random.Random(3)
    bases = [
        media.write_steps(tmp_path / "b.mp4", 3, fps=25, tone_s=3.0),
        media.write_steps(tmp_path / "b.mkv", 3, fps=25, tone_s=3.0),
        media.write_steps(tmp_path / "b.ts", 3, fps=25, codec="mpeg2video"),
    ]
    whole = 0
    for _ in range(60):
        base = chance.choice(bases)
        data = bytearray(base.read_bytes())
        kind = chance.choice(("change", "cut off", "cut out"))
        at = chance.randrange(len(data))
        if kind == "change":
            for _ in range(chance.choice((1, 20, 200))):
                data[chance.randrange(len(data))] = chance.randrange(256)
        elif kind == "cut off":
            del data[at:]
        else:
            del data[at : at + chance.randrange(2000)]
        path = tmp_path / f"x{base.suffix}"
        path.write_bytes(data)
        video = VideoFile(path, limit=(640, 480), start=(T0, 0))
        try:
            video.open(threading.Event())
            video.sample_every(0.7)
            if video.has_sound:
                sound = FileSound(path, T0, 0)
                sound.until(T0 + 6 * US)
                sound.close()
            for _ in range(1000):
                assert video.read(0).image.shape[2] == 3
        except EndOfStream:
            whole += 1
        except GroveError as error:
            assert str(error).endswith(".")
        video.close()
    assert whole >= 30
