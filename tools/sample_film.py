"""The sample's moving picture: from the story's looks to frames, and from frames and sound to an MP4 file.

While the camera rests, the same rendered picture is sent again with only the clock drawn anew, once a second: repeated
pictures cost a few bytes each. Frames are (720, 1280, 3) RGB uint8.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path

import av
import cv2
import numpy as np
from PIL import Image as PilImage
from PIL import ImageDraw

from tools.sample_paint import Line, text_on
from tools.sample_rooms import HEIGHT, WIDTH, Room, room
from tools.sample_speech import RATE, Sound
from tools.sample_story import LENGTH, LOOKS, START_LOCAL, START_UTC, Look
from tools.sample_world import Image, View

FPS = 10
WHIP_TURN = 24.0  # degrees that the head turns away, and then in, at a cut
SWAY = (0.55, 0.4, 0.5)  # degrees of yaw, pitch, roll that a hand-held camera wanders while it moves
CLOCK_BOX = (24, 20, 424, 72)  # pixels left, top, right, bottom of the clock's plate
# What the clock may change in a decoded frame: its plate, to whole 16-pixel blocks, and the filter at their edges.
CLOCK_AREA = (8, 8, 448, 88)
KEYFRAME_EVERY = 120 * FPS
QUALITY = "30"  # x264's constant rate factor


class Camera:
    """Pictures of the story by time. Rooms are built when first seen; the last resting picture is kept."""

    def __init__(self) -> None:
        self._rooms: dict[str, Room] = {}
        self._resting: tuple[int, Image] | None = None

    def picture(self, t: float) -> Image:
        """What the glasses see at t seconds, without the clock."""
        index = max(n for n, look in enumerate(LOOKS) if look.start <= t + 1e-6)
        look = LOOKS[index]
        share = (t - look.start) / look.move if look.move else 1.0
        if share >= 1 or index == 0:
            if self._resting is None or self._resting[0] != index:
                self._resting = (index, self._seen(look, self._view(look)))
            return self._resting[1]
        before = LOOKS[index - 1]
        return self._whip(before, look, share) if before.room != look.room else self._turn(before, look, t)

    def _turn(self, before: Look, look: Look, t: float) -> Image:
        """Between two views of a room: an eased move that sways, blurred over a part of the frame's time."""
        mixed = np.zeros((HEIGHT, WIDTH, 3), np.float32)
        shutter = (0.0, 0.0125, 0.025, 0.0375)
        for late in shutter:
            share = min((t + late - look.start) / look.move, 1.0)
            eased = share * share * (3 - 2 * share)
            still = math.sin(math.pi * share)  # no sway at either end, or the picture would jump when it rests
            sway = [
                size * still * (math.sin(2 * math.pi * rate * t + phase) + 0.5 * math.sin(2 * math.pi * rate * 2.3 * t))
                for size, rate, phase in zip(SWAY, (0.9, 1.7, 0.6), (0.3, 1.1, 2.0), strict=True)
            ]
            view = self._view(before).towards(self._view(look), eased).turned(*sway)
            mixed += self._seen(look, view)
        return (mixed / len(shutter)).astype(np.uint8)

    def _whip(self, before: Look, look: Look, share: float) -> Image:
        """From one place to another: the head turns away quickly, and into the new view."""
        leaving = share < 0.5
        speed = (share / 0.5) if leaving else (1 - share) / 0.5
        turn = WHIP_TURN * speed**2 * (1 if leaving else -1)
        shown = before if leaving else look
        picture = self._seen(shown, self._view(shown).turned(turn, 0, 0))
        return cv2.blur(picture, (1 + 2 * round(70 * speed), 1)).astype(np.uint8)

    def _view(self, look: Look) -> View:
        return self._room(look.room).views[look.view]

    def _seen(self, look: Look, view: View) -> Image:
        return self._room(look.room).picture(view)

    def _room(self, name: str) -> Room:
        if name not in self._rooms:
            self._rooms[name] = room(name)
        return self._rooms[name]


def with_clock(picture: Image, second: int) -> Image:
    """The picture with the glasses' clock: local date and time on a dark plate."""
    left, top, right, bottom = CLOCK_BOX
    plate = PilImage.new("L", (right - left, bottom - top), 0)
    ImageDraw.Draw(plate).rounded_rectangle((0, 0, right - left - 1, bottom - top - 1), 12, 205)
    share = np.array(plate, dtype=np.float32)[:, :, None] / 255
    shown = picture.copy()
    part = shown[top:bottom, left:right].astype(np.float32)
    shown[top:bottom, left:right] = (part * (1 - share) + np.array((16, 18, 22), np.float32) * share).astype(np.uint8)
    moment = datetime.fromisoformat(START_LOCAL) + timedelta(seconds=second)
    words = Line(moment.strftime("%Y-%m-%d  %H:%M:%S"), 36, (255, 255, 255))
    return text_on(shown, (left + right) / 2, (top + bottom) / 2, words, "mm")


def frames() -> Iterator[Image]:
    """All frames of the film in order, FPS a second."""
    camera = Camera()
    last: tuple[int, int, Image] | None = None  # identity of the picture, the second, the finished frame
    for number in range(round(LENGTH * FPS)):
        picture = camera.picture(number / FPS)
        second = number // FPS
        if last is None or last[:2] != (id(picture), second):
            last = (id(picture), second, with_clock(picture, second))
        yield last[2]


def write(path: Path, sound: Sound, title: str) -> None:
    """Encode frames and sound (mono, RATE) into an MP4 with H.264 and AAC whose creation time is the story's start."""
    with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart", "fflags": "+bitexact"}) as container:
        container.metadata.update({"creation_time": START_UTC, "title": title})
        video = container.add_stream("libx264", rate=FPS)
        video.width, video.height, video.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        # One thread, so that the same versions write the same bytes on every machine.
        video.options = {
            "crf": QUALITY,
            "preset": "fast",
            "g": str(KEYFRAME_EVERY),
            "threads": "1",
            "flags": "+bitexact",
        }
        audio = container.add_stream("aac", rate=RATE, layout="mono")
        audio.bit_rate = 40_000
        audio.options = {"flags": "+bitexact"}
        blocks = _blocks(sound)
        heard = 0
        shown: Image | None = None
        for number, picture in enumerate(frames()):
            if picture is not shown:
                shown = picture
                frame = av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(
                    format="yuv420p", dst_colorspace="ITU709"
                )
            frame.pts, frame.time_base = number, Fraction(1, FPS)
            container.mux(video.encode(frame))
            while heard < (number + 1) * RATE // FPS and (block := next(blocks, None)) is not None:
                heard += block.samples
                container.mux(audio.encode(block))
        for block in blocks:
            container.mux(audio.encode(block))
        container.mux(video.encode(None))
        container.mux(audio.encode(None))


def _blocks(sound: Sound) -> Iterator[av.AudioFrame]:
    size = 1024
    for start in range(0, len(sound), size):
        block = av.AudioFrame.from_ndarray(
            np.ascontiguousarray(sound[None, start : start + size]), format="fltp", layout="mono"
        )
        block.sample_rate, block.pts, block.time_base = RATE, start, Fraction(1, RATE)
        yield block
