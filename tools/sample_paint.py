"""Textures for the sample's rooms: plain and grained surfaces, labels with exact text, shadows, photographs.

All pictures are RGB or RGBA uint8 arrays; sizes are pixels. Every random number comes from a fixed seed. The letters are
Pillow's built-in face (Aileron, CC0), so that no font of the machine matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image as PilImage
from PIL import ImageDraw, ImageFont

from tools.sample_world import Image

Colour = tuple[int, int, int]
INK: Colour = (28, 30, 34)
WHITE: Colour = (250, 250, 248)
RESAMPLE = 2  # pictures drawn with outlines are drawn this much larger first


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a label: its words, letter height in pixels, colour, and whether the strokes are thick."""

    text: str
    size: int
    colour: Colour = INK
    bold: bool = True


def photograph(name: str) -> Image:
    """A photograph of scikit-image's wheel as RGB. Raises FileNotFoundError with the remedy when it is not there."""
    spec = find_spec("skimage")
    where = Path(spec.origin).parent / "data" / name if spec and spec.origin else Path(name)
    picture = cv2.imread(str(where), cv2.IMREAD_COLOR)
    if picture is None:
        raise FileNotFoundError(f"{name} is not in scikit-image's data folder: pip install scikit-image")
    return cv2.cvtColor(picture, cv2.COLOR_BGR2RGB).astype(np.uint8)


def enlarged(picture: Image, width: int) -> Image:
    """The picture scaled to a width, with its edges drawn a little sharper so that it does not look soft."""
    height = round(picture.shape[0] * width / picture.shape[1])
    big = cv2.resize(picture, (width, height), interpolation=cv2.INTER_CUBIC).astype(np.float32)
    soft = cv2.GaussianBlur(big, (0, 0), 2.2)
    return np.clip(big + 0.7 * (big - soft), 0, 255).astype(np.uint8)


def plain(
    width: int, height: int, colour: Colour, *, top: float = 1.06, bottom: float = 0.9, grain: float = 0.7
) -> Image:
    """A painted surface: brighter above than below, with a fine unmoving grain."""
    ramp = np.linspace(top, bottom, height, dtype=np.float32)[:, None, None]
    noise = np.random.default_rng(width * 31 + height).normal(0, grain, (height, width, 1)).astype(np.float32)
    return np.clip(np.array(colour, np.float32) * ramp + noise, 0, 255).astype(np.uint8)


def wood(width: int, height: int, colour: Colour, seed: int = 1, *, boards: int = 0) -> Image:
    """Wood with its grain along the width; `boards` draws that many seams across the height."""
    rng = np.random.default_rng(seed)
    coarse = rng.normal(0, 1, (max(8, height // 5), max(3, width // 160))).astype(np.float32)
    fine = rng.normal(0, 1, (height, max(4, width // 40))).astype(np.float32)
    grain = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC) * 9
    grain += cv2.GaussianBlur(cv2.resize(fine, (width, height), interpolation=cv2.INTER_CUBIC), (0, 0), 0.8) * 5
    picture = np.array(colour, np.float32) + grain[:, :, None] * np.array([1, 0.85, 0.65], np.float32)
    for n in range(boards):
        row = round((n + 1) * height / boards) - 1
        picture[max(row - 2, 0) : row + 1] *= 0.72
        picture[round(n * height / boards) : row] *= 1 + rng.uniform(-0.06, 0.06)
    return np.clip(picture, 0, 255).astype(np.uint8)


def tiles(width: int, height: int, colour: Colour, side: int, *, joint: int = 3, seed: int = 3) -> Image:
    """Square wall tiles with joints, each a shade of its own."""
    rng = np.random.default_rng(seed)
    rows, columns = -(-height // side), -(-width // side)
    shades = np.kron(rng.uniform(0.955, 1.03, (rows, columns)), np.ones((side, side)))[:height, :width]
    picture = np.array(colour, np.float32) * shades[:, :, None].astype(np.float32)
    for start in range(0, max(width, height), side):
        picture[start : start + joint] *= 0.84
        picture[:, start : start + joint] *= 0.84
    return np.clip(picture, 0, 255).astype(np.uint8)


def tinted(picture: Image, colour: Colour, *, contrast: float = 1.0) -> Image:
    """A grey photograph of a texture in a colour; contrast below 1 calms it."""
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float32)
    relative = 1 + (grey / max(float(grey.mean()), 1.0) - 1) * contrast
    return np.clip(np.array(colour, np.float32) * relative[:, :, None], 0, 255).astype(np.uint8)


def repeated(picture: Image, across: int, down: int) -> Image:
    """The picture tiled, each second copy mirrored so that no seam shows."""
    row = np.concatenate([picture if n % 2 == 0 else picture[:, ::-1] for n in range(across)], axis=1)
    return np.concatenate([row if n % 2 == 0 else row[::-1] for n in range(down)], axis=0)


def glow(picture: Image, x: float, y: float, reach: float, strength: float, warm: float = 0.0) -> Image:
    """Light that falls on a surface: x, y, reach as shares of its width and height; strength darkens when negative."""
    height, width = picture.shape[:2]
    columns = (np.arange(width, dtype=np.float32) / width - x) / reach
    rows = (np.arange(height, dtype=np.float32) / height - y) / reach
    fall = np.exp(-(columns[None, :] ** 2 + rows[:, None] ** 2))[:, :, None]
    gain = 1 + strength * fall * np.array([1 + warm, 1, 1 - warm], np.float32)
    lit = picture.copy()
    lit[:, :, :3] = np.clip(picture[:, :, :3] * gain, 0, 255).astype(np.uint8)
    return lit


def shaded(picture: Image, share: float) -> Image:
    """The same surface in less (or more) light."""
    dim = picture.copy()
    dim[:, :, :3] = np.clip(picture[:, :, :3].astype(np.float32) * share, 0, 255).astype(np.uint8)
    return dim


def shadow(width: int, height: int, darkness: float = 0.45) -> Image:
    """A soft oval shadow as RGBA, for what stands or lies on a surface."""
    columns = np.linspace(-1, 1, width, dtype=np.float32)[None, :]
    rows = np.linspace(-1, 1, height, dtype=np.float32)[:, None]
    fall = np.clip(1 - columns**4 - rows**4, 0, 1) * darkness
    picture = np.zeros((height, width, 4), np.uint8)
    picture[:, :, 3] = (fall * 255).astype(np.uint8)
    return picture


def label(
    width: int, height: int, lines: list[Line], *, paper: Colour = WHITE, frame: Colour | None = None, margin: int = 14
) -> Image:
    """A sign: its lines centred on paper, the block centred in the height; a frame is drawn when its colour is given."""
    sheet = PilImage.new("RGB", (width, height), paper)
    pen = ImageDraw.Draw(sheet)
    if frame:
        pen.rectangle(
            (margin // 2, margin // 2, width - 1 - margin // 2, height - 1 - margin // 2), outline=frame, width=4
        )
    gap = 0.42
    block = sum(line.size for line in lines) + sum(gap * line.size for line in lines[1:])
    y = (height - block) / 2
    for place, line in enumerate(lines):
        face = _face(line.size)
        stroke = max(1, line.size // 26) if line.bold else 0
        y += gap * line.size if place else 0
        middle = y + line.size / 2
        spaced = line.text.replace(" ", "  ")  # thick strokes eat into the gaps between words
        pen.text((width / 2, middle), spaced, font=face, fill=line.colour, anchor="mm", stroke_width=stroke)
        y += line.size
    return np.array(sheet, dtype=np.uint8)


def text_on(picture: Image, x: float, y: float, line: Line, anchor: str = "lm") -> Image:
    """The picture with a line of text at pixel (x, y); anchors as in Pillow."""
    sheet = PilImage.fromarray(picture)
    stroke = max(1, line.size // 26) if line.bold else 0
    fill = (*line.colour, 255) if picture.shape[2] == 4 else line.colour
    ImageDraw.Draw(sheet).text((x, y), line.text, font=_face(line.size), fill=fill, anchor=anchor, stroke_width=stroke)
    return np.array(sheet, dtype=np.uint8)


def drawing(width: int, height: int) -> tuple[PilImage.Image, ImageDraw.ImageDraw]:
    """A clear sheet to draw on, RESAMPLE times as large as wished, and its pen; `finished` gives the texture."""
    sheet = PilImage.new("RGBA", (width * RESAMPLE, height * RESAMPLE), (0, 0, 0, 0))
    return sheet, ImageDraw.Draw(sheet)


def finished(sheet: PilImage.Image) -> Image:
    """The drawing at its proper size with smooth edges."""
    small = sheet.resize((sheet.width // RESAMPLE, sheet.height // RESAMPLE), PilImage.Resampling.LANCZOS)
    return np.array(small, dtype=np.uint8)


def rounded(picture: Image) -> Image:
    """A drawing of something round, lit from the left: bright left of its middle, dark at its edges."""
    across = np.linspace(0, 1, picture.shape[1], dtype=np.float32)
    light: NDArray[np.float32] = 0.62 + 0.55 * np.exp(-(((across - 0.36) / 0.30) ** 2))
    lit = picture.copy()
    lit[:, :, :3] = np.clip(picture[:, :, :3] * light[None, :, None], 0, 255).astype(np.uint8)
    return lit


def _face(size: int) -> ImageFont.FreeTypeFont:
    face = ImageFont.load_default(size)
    if not isinstance(face, ImageFont.FreeTypeFont):
        raise TypeError("Pillow was built without FreeType: install its wheel from the registry")
    return face
