"""The things that stand in the sample's rooms, each drawn as a texture with a clear ground (RGBA) or filled (RGB)."""

from __future__ import annotations

import math

import cv2
import numpy as np

from tools.sample_paint import (
    INK,
    RESAMPLE,
    WHITE,
    Colour,
    Line,
    drawing,
    enlarged,
    finished,
    label,
    photograph,
    plain,
    repeated,
    rounded,
    shaded,
    tinted,
)
from tools.sample_world import Image


def _scaled(*numbers: float) -> tuple[float, ...]:
    return tuple(n * RESAMPLE for n in numbers)


def bottle(glass: Colour, cap: Colour, paper: Colour) -> Image:
    """A bottle with a label, 120 x 400."""
    sheet, pen = drawing(120, 400)
    pen.rounded_rectangle(_scaled(14, 130, 106, 398), _scaled(18)[0], (*glass, 255))
    pen.polygon([_scaled(14, 150), _scaled(44, 78), _scaled(76, 78), _scaled(106, 150)], (*glass, 255))
    pen.rectangle(_scaled(44, 26, 76, 90), (*glass, 255))
    pen.rounded_rectangle(_scaled(40, 4, 80, 34), _scaled(5)[0], (*cap, 255))
    pen.rectangle(_scaled(14, 210, 106, 320), (*paper, 255))
    pen.ellipse(_scaled(38, 236, 82, 292), (*glass, 255))
    return rounded(finished(sheet))


def mug(colour: Colour) -> Image:
    """A mug with a handle, 200 x 190."""
    sheet, pen = drawing(200, 190)
    pen.ellipse(_scaled(128, 50, 196, 140), (*colour, 255))
    pen.ellipse(_scaled(144, 68, 178, 122), (0, 0, 0, 0))
    pen.rounded_rectangle(_scaled(8, 20, 150, 188), _scaled(22)[0], (*colour, 255))
    body = rounded(finished(sheet))
    sheet, pen = drawing(200, 190)
    pen.ellipse(_scaled(8, 4, 150, 38), (*(min(255, c + 18) for c in colour), 255))
    pen.ellipse(_scaled(18, 9, 140, 34), (74, 46, 30, 255))
    return _over(body, finished(sheet))


def kettle() -> Image:
    """A steel kettle, 320 x 330."""
    sheet, pen = drawing(320, 330)
    pen.arc(_scaled(70, 6, 250, 190), 180, 360, (40, 40, 44, 255), RESAMPLE * 20)
    pen.polygon([_scaled(236, 170), _scaled(314, 110), _scaled(318, 134), _scaled(250, 230)], (176, 180, 186, 255))
    pen.rounded_rectangle(_scaled(44, 100, 268, 326), _scaled(64)[0], (196, 200, 206, 255))
    pen.rectangle(_scaled(44, 300, 268, 328), (58, 60, 66, 255))
    pen.rounded_rectangle(_scaled(134, 82, 178, 106), _scaled(8)[0], (40, 40, 44, 255))
    return rounded(finished(sheet))


def plant(seed: int = 4) -> Image:
    """A plant in a pot, 360 x 520."""
    rng = np.random.default_rng(seed)
    sheet, pen = drawing(360, 520)
    for n in range(30):
        angle = math.radians(rng.uniform(200, 340))
        reach, bend = rng.uniform(150, 300), rng.uniform(-40, 40)
        tip = (180 + reach * math.cos(angle) * 0.62, 350 + reach * math.sin(angle))
        middle = ((180 + tip[0]) / 2 + bend, (350 + tip[1]) / 2)
        green = (int(rng.uniform(38, 86)), int(rng.uniform(104, 160)), int(rng.uniform(44, 80)), 255)
        wide = 17 + (n % 3) * 5
        across = (-math.sin(angle) * wide, math.cos(angle) * wide)
        leaf = [
            (180, 360),
            (middle[0] + across[0], middle[1] + across[1]),
            tip,
            (middle[0] - across[0], middle[1] - across[1]),
        ]
        pen.polygon([_scaled(*p) for p in leaf], green)
        pen.line([_scaled(180, 360), _scaled(*middle), _scaled(*tip)], (30, 86, 40, 255), RESAMPLE * 2)
    leaves = finished(sheet)
    sheet, pen = drawing(360, 520)
    pen.polygon([_scaled(96, 350), _scaled(264, 350), _scaled(238, 516), _scaled(122, 516)], (176, 92, 62, 255))
    pen.rectangle(_scaled(86, 340, 274, 376), (190, 104, 72, 255))
    return _over(leaves, rounded(finished(sheet)))


def keys() -> Image:
    """A ring with two keys and a red tag seen from above, 240 x 200."""
    sheet, pen = drawing(240, 200)
    pen.rounded_rectangle(_scaled(4, 20, 92, 84), _scaled(16)[0], (178, 40, 38, 255))
    pen.ellipse(_around(_scaled(80, 70), 7 * RESAMPLE), (60, 60, 64, 255))
    for degrees, colour in ((12, (206, 170, 84)), (48, (178, 182, 190))):
        cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))

        def at(along: float, across: float, c: float = cosine, s: float = sine) -> tuple[float, ...]:
            return _scaled(84 + along * c - across * s, 82 + along * s + across * c)

        pen.rounded_rectangle(_around(at(26, 0), 23 * RESAMPLE), 14 * RESAMPLE, (*colour, 255))
        pen.polygon([at(40, -8), at(138, -8), at(146, 0), at(138, 8), at(40, 8)], (*colour, 255))
        for tooth, deep in ((92, 20), (106, 15), (120, 19)):
            pen.polygon([at(tooth, 6), at(tooth + 10, 6), at(tooth + 10, deep), at(tooth, deep)], (*colour, 255))
        pen.ellipse(_around(at(16, 0), 6 * RESAMPLE), (60, 60, 64, 255))
    pen.ellipse(_scaled(62, 52, 118, 108), None, (150, 154, 160, 255), RESAMPLE * 6)
    return finished(sheet)


def _around(point: tuple[float, ...], radius: float) -> tuple[float, float, float, float]:
    return (point[0] - radius, point[1] - radius, point[0] + radius, point[1] + radius)


def keyboard() -> Image:
    """A keyboard from above, 920 x 320."""
    sheet, pen = drawing(920, 320)
    pen.rounded_rectangle(_scaled(0, 0, 920, 320), _scaled(22)[0], (46, 48, 54, 255))
    for row, (count, start) in enumerate(((15, 22), (14, 22), (13, 36), (12, 52))):
        wide = (920 - 2 * start) / count
        for n in range(count):
            x = start + n * wide
            pen.rounded_rectangle(_scaled(x + 3, 22 + row * 56, x + wide - 3, 70 + row * 56), 12, (226, 228, 230, 255))
    pen.rounded_rectangle(_scaled(230, 248, 640, 296), 12, (226, 228, 230, 255))
    for x in (24, 92, 160, 652, 722, 792, 858):
        pen.rounded_rectangle(_scaled(x, 248, x + (60 if x < 858 else 40), 296), 12, (226, 228, 230, 255))
    return finished(sheet)


def mouse() -> Image:
    """A computer mouse from above, 120 x 200."""
    sheet, pen = drawing(120, 200)
    pen.rounded_rectangle(_scaled(8, 4, 112, 196), _scaled(50)[0], (38, 40, 46, 255))
    pen.line([_scaled(60, 4), _scaled(60, 84)], (90, 92, 98, 255), RESAMPLE * 3)
    pen.rounded_rectangle(_scaled(52, 28, 68, 66), _scaled(8)[0], (120, 124, 130, 255))
    return rounded(finished(sheet))


def folder(colour: Colour, name: str) -> Image:
    """A closed folder from above with a label, 520 x 700."""
    sheet, pen = drawing(520, 700)
    dark = tuple(int(c * 0.8) for c in colour)
    pen.rounded_rectangle(_scaled(300, 0, 480, 60), _scaled(14)[0], (*dark, 255))
    pen.rounded_rectangle(_scaled(4, 26, 516, 696), _scaled(16)[0], (*colour, 255))
    pen.line([_scaled(40, 30), _scaled(40, 694)], (*dark, 255), RESAMPLE * 4)
    cover = finished(sheet)
    paper = label(400, 150, [Line(name, 62)], frame=(120, 120, 124))
    cover[150:300, 76:476, :3] = paper
    return cover


def books(width: int, height: int, seed: int) -> Image:
    """A row of book spines, each with two bands where its title would be: words so small would only be misread."""
    rng = np.random.default_rng(seed)
    shades: list[Colour] = [(146, 48, 44), (38, 84, 120), (206, 164, 72), (52, 98, 72), (92, 60, 104), (214, 206, 190)]
    row = plain(width, height, (52, 38, 30))
    x, n = 6, 0
    while x < width - 40:
        wide = min(int(rng.uniform(0.12, 0.19) * height), width - x - 4)
        tall = int(rng.uniform(0.78, 0.97) * height)
        shade = shades[(n + seed) % len(shades)]
        spine = plain(wide, tall, shade, top=1.0, bottom=0.84)
        for share in (0.16, 0.22, 0.8):
            band = slice(int(tall * share), int(tall * share) + max(3, tall // 60))
            spine[band] = shaded(spine[band], 0.6 if sum(shade) > 420 else 1.6)
        row[height - tall :, x : x + wide] = spine
        x += wide + int(rng.uniform(1, 5))
        n += 1
    return row


def clock_face(hour: int, minute: int) -> Image:
    """A wall clock that shows a time, 360 x 360."""
    sheet, pen = drawing(360, 360)
    pen.ellipse(_scaled(2, 2, 358, 358), (36, 38, 44, 255))
    pen.ellipse(_scaled(18, 18, 342, 342), (250, 249, 244, 255))
    for n in range(60):
        angle = math.radians(n * 6)
        inner = 132 if n % 5 == 0 else 146
        ends = [(180 + r * math.sin(angle), 180 - r * math.cos(angle)) for r in (inner, 154)]
        pen.line([_scaled(*p) for p in ends], (*INK, 255), RESAMPLE * (6 if n % 5 == 0 else 2))
    for turn, reach, thick in ((hour % 12 / 12 + minute / 720, 84, 12), (minute / 60, 130, 8)):
        angle = turn * 2 * math.pi
        tip = (180 + reach * math.sin(angle), 180 - reach * math.cos(angle))
        pen.line([_scaled(180, 180), _scaled(*tip)], (*INK, 255), RESAMPLE * thick)
    pen.ellipse(_scaled(168, 168, 192, 192), (190, 44, 40, 255))
    return finished(sheet)


def coat(colour: Colour) -> Image:
    """A coat on a hook, 420 x 900."""
    sheet, pen = drawing(420, 900)
    dark = tuple(int(c * 0.72) for c in colour)
    pen.polygon([_scaled(*p) for p in ((60, 170), (14, 690), (84, 700), (130, 300))], (*dark, 255))
    pen.polygon([_scaled(*p) for p in ((360, 170), (406, 690), (336, 700), (290, 300))], (*dark, 255))
    body = ((150, 60), (270, 60), (362, 170), (380, 880), (40, 880), (58, 170))
    pen.polygon([_scaled(*p) for p in body], (*colour, 255))
    pen.polygon([_scaled(*p) for p in ((150, 60), (210, 190), (270, 60), (210, 96))], (*dark, 255))
    pen.line([_scaled(210, 190), _scaled(210, 876)], (*dark, 255), RESAMPLE * 5)
    for y in (250, 370, 490, 610):
        pen.ellipse(_around(_scaled(232, y), 10 * RESAMPLE), (230, 214, 170, 255))
    for x in (86, 262):
        pen.rounded_rectangle(_scaled(x, 560, x + 72, 584), 12, (*dark, 255))
    pen.arc(_scaled(190, 20, 230, 80), 160, 380, (190, 190, 196, 255), RESAMPLE * 6)
    return rounded(finished(sheet))


def umbrella(colour: Colour) -> Image:
    """A folded umbrella that hangs by its handle, 130 x 800."""
    sheet, pen = drawing(130, 800)
    pen.arc(_scaled(34, 4, 112, 104), 180, 370, (112, 70, 40, 255), RESAMPLE * 16)
    pen.rectangle(_scaled(34, 54, 50, 214), (112, 70, 40, 255))
    pen.polygon(
        [_scaled(*p) for p in ((20, 210), (66, 210), (88, 330), (48, 740), (36, 740), (0, 330))], (*colour, 255)
    )
    pen.rectangle(_scaled(38, 736, 46, 796), (150, 152, 158, 255))
    for x in (20, 42, 62):
        pen.line([_scaled(x, 214), _scaled(42, 736)], tuple(int(c * 0.7) for c in colour), RESAMPLE * 3)
    return rounded(finished(sheet))


def extinguisher() -> Image:
    """A fire extinguisher, 160 x 420."""
    sheet, pen = drawing(160, 420)
    pen.rounded_rectangle(_scaled(24, 86, 136, 416), _scaled(40)[0], (206, 38, 34, 255))
    pen.rectangle(_scaled(64, 50, 96, 100), (40, 42, 46, 255))
    pen.polygon([_scaled(*p) for p in ((30, 20), (126, 40), (126, 58), (30, 46))], (40, 42, 46, 255))
    pen.arc(_scaled(2, 50, 80, 320), 120, 260, (30, 32, 36, 255), RESAMPLE * 9)
    pen.rectangle(_scaled(24, 190, 136, 290), (246, 244, 238, 255))
    return rounded(finished(sheet))


def screen(picture: Image, width: int, height: int, words: list[Line], band: Colour) -> Image:
    """A lit screen in a black frame: a picture and a band of words below it."""
    frame = plain(width, height, (20, 21, 24), grain=0.5)
    edge = max(8, width // 60)
    foot = sum(line.size for line in words) + 34
    inner = (width - 2 * edge, height - 2 * edge)
    shown = enlarged(picture, inner[0])[: inner[1] - foot]
    frame[edge : edge + shown.shape[0], edge : edge + inner[0]] = shown
    frame[height - edge - foot : height - edge, edge : edge + inner[0]] = label(inner[0], foot, words, paper=band)
    return frame


def framed(picture: Image, width: int, words: list[Line], *, paper: Colour = WHITE) -> Image:
    """A poster: the picture above, words below, in a thin dark frame."""
    shown = enlarged(picture, width - 40)
    foot = sum(round(line.size * 1.5) for line in words) + 26
    poster = plain(width, shown.shape[0] + 34 + foot, paper, top=1, bottom=0.96, grain=0.5)
    poster[20 : 20 + shown.shape[0], 20:-20] = shown
    poster[-foot - 6 : -6, 20:-20] = label(width - 40, foot, words, paper=paper)
    return cv2.copyMakeBorder(poster, 9, 9, 9, 9, cv2.BORDER_CONSTANT, value=(38, 34, 32)).astype(np.uint8)


def outdoors(width: int, height: int) -> Image:
    """What a window shows: a morning sky over grass, behind a white frame with a bar."""
    sky = np.linspace(0, 1, height, dtype=np.float32)[:, None, None]
    blue, pale = np.array((118, 170, 222), np.float32), np.array((236, 240, 240), np.float32)
    view = np.broadcast_to(blue * (1 - sky) + pale * sky, (height, width, 3)).astype(np.uint8).copy()
    blades = cv2.resize(repeated(photograph("grass.png"), 2, 3), (width, height), interpolation=cv2.INTER_AREA)
    meadow = tinted(cv2.blur(blades, (9, 3)).astype(np.uint8), (112, 152, 78), contrast=0.45)
    horizon = round(height * 0.62)
    view[horizon:] = meadow[: height - horizon]
    columns = np.arange(width)
    crest = horizon * (0.90 - 0.05 * np.sin(columns / width * 7) - 0.03 * np.sin(columns / width * 17))
    hills = np.arange(horizon)[:, None] >= crest[None, :]
    view[:horizon][hills] = (92, 124, 104)
    bar = max(10, width // 30)
    for edge in (slice(0, bar), slice(height - bar, height)):
        view[edge] = (244, 243, 238)
    for edge in (slice(0, bar), slice(width - bar, width), slice((width - bar) // 2, (width + bar) // 2)):
        view[:, edge] = (240, 239, 234)
    return view


def _over(below: Image, above: Image) -> Image:
    share = above[:, :, 3:].astype(np.float32) / 255
    mixed = below.astype(np.float32)
    mixed[:, :, :3] = mixed[:, :, :3] * (1 - share) + above[:, :, :3] * share
    mixed[:, :, 3:] = np.maximum(mixed[:, :, 3:], above[:, :, 3:])
    return mixed.astype(np.uint8)
