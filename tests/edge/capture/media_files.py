"""Small media made for the tests: every picture tells its own time, so that a wrong one is noticed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np

SIZE = (64, 48)


def picture(level: int, size: tuple[int, int] = SIZE) -> np.ndarray:
    """A plain picture whose gray level is `level`."""
    return np.full((size[1], size[0], 3), level, dtype=np.uint8)


def write_video(
    path: Path,
    times_ms: list[int],
    levels: list[int],
    *,
    codec: str = "libx264",
    tone_s: float = 0.0,
    tone_at_s: float = 0.0,
    gop: int = 12,
    size: tuple[int, int] = SIZE,
    metadata: dict[str, str] | None = None,
) -> Path:
    """A video with one plain picture at each time; `tone_s` > 0 adds that much of a 440 Hz tone at `tone_at_s`."""
    with av.open(str(path), "w") as out:
        out.metadata.update(metadata or {})
        stream = out.add_stream(codec, rate=25)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p" if codec != "mjpeg" else "yuvj420p"
        if codec != "mpeg2video":  # which knows whole frame rates only
            stream.codec_context.time_base = Fraction(1, 1000)
        stream.codec_context.gop_size = gop
        sound = out.add_stream("aac", rate=48_000, layout="mono") if tone_s else None
        for t, level in zip(times_ms, levels, strict=True):
            frame = av.VideoFrame.from_ndarray(picture(level, size), format="bgr24")
            frame.pts, frame.time_base = t, Fraction(1, 1000)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
        if sound is not None:
            wave = 0.3 * np.sin(2 * np.pi * 440 * np.arange(round(48_000 * tone_s)) / 48_000)
            frame = av.AudioFrame.from_ndarray(wave.astype(np.float32)[None], format="fltp", layout="mono")
            frame.sample_rate, frame.time_base = 48_000, Fraction(1, 48_000)
            frame.pts = round(48_000 * tone_at_s)
            out.mux(sound.encode(frame))
            out.mux(sound.encode(None))
    return path


def write_steps(path: Path, seconds: int, *, fps: int = 10, **more: object) -> Path:
    """A video whose gray level rises by 8 each second, beginning at 16."""
    count = seconds * fps
    times = [i * 1000 // fps for i in range(count)]
    return write_video(path, times, [16 + 8 * (i // fps) for i in range(count)], **more)  # type: ignore[arg-type]


def write_wav(path: Path, samples: list[float], *, rate: int) -> Path:
    """A mono 16-bit sound file."""
    with av.open(str(path), "w", format="wav") as out:
        stream = out.add_stream("pcm_s16le", rate=rate, layout="mono")
        data = np.round(np.asarray(samples) * 32_767).astype(np.int16)[None]
        frame = av.AudioFrame.from_ndarray(data, format="s16", layout="mono")
        frame.sample_rate = rate
        out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return path
