"""Painted pictures of danger for benchmarks: a road with a car that comes closer, and warning signs on a wall.

The detector knows the painted car as one, the text reader reads the signs.  BGR uint8.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import cv2
import numpy as np

Picture: TypeAlias = Any  # (height, width, 3) BGR uint8
WIDTH, HEIGHT = 960, 540
HORIZON = round(0.42 * HEIGHT)
_FINE = 4  # the car is drawn so much larger first
_HOUSES = ((0, 180, 0.18), (190, 330, 0.25), (640, 780, 0.24), (800, 960, 0.15))


def road() -> Picture:
    """An empty road between houses."""
    rng = np.random.default_rng(1)
    picture = np.zeros((HEIGHT, WIDTH, 3), np.float32)
    picture[:HORIZON] = np.linspace([235, 215, 190], [245, 238, 228], HORIZON)[:, None]
    picture[HORIZON:] = np.linspace([110, 112, 112], [86, 88, 88], HEIGHT - HORIZON)[:, None]
    low = round(0.95 * HEIGHT)
    for verge in ([[0, HORIZON], [442, HORIZON], [0, low]], [[WIDTH, HORIZON], [518, HORIZON], [WIDTH, low]]):
        cv2.fillPoly(picture, [np.array(verge, np.int32)], (70, 130, 80))
    for left, right, top in _HOUSES:
        roof = round(top * HEIGHT)
        cv2.rectangle(picture, (left, roof), (right, HORIZON), (125, 145, 175), -1)
        for x in range(left + 20, right - 20, 45):
            cv2.rectangle(picture, (x, roof + 25), (x + 20, roof + 55), (80, 70, 60), -1)
    cv2.line(picture, (WIDTH // 2, HORIZON), (WIDTH // 2, HEIGHT), (230, 230, 230), 3)
    picture = cv2.GaussianBlur(picture + rng.normal(0, 4, picture.shape).astype(np.float32), (0, 0), 0.8)
    return np.clip(picture, 0, 255).astype(np.uint8)


def road_with_car(width: int) -> Picture:
    """The road with a car that fills so many pixels of its width: the wider, the nearer."""
    picture = road()
    car = _car(width)
    height = car.shape[0]
    left, bottom = (WIDTH - width) // 2, round(HORIZON + 60 + 0.62 * height)
    shade = picture.copy()
    cv2.ellipse(
        shade, (WIDTH // 2, bottom - height // 20), (round(0.55 * width), height // 10), 0, 0, 360, (40, 40, 40), -1
    )
    picture = cv2.addWeighted(cv2.GaussianBlur(shade, (0, 0), 0.03 * width), 0.6, picture, 0.4, 0)
    top, end = bottom - height, min(HEIGHT, bottom)
    part, alpha = car[: end - top, :, :3], car[: end - top, :, 3:] / 255
    below = picture[top:end, left : left + width]
    picture[top:end, left : left + width] = np.clip(part * alpha + below * (1 - alpha), 0, 255).astype(np.uint8)
    return picture


def sign(*lines: str) -> Picture:
    """A yellow sign with black letters on a plain wall."""
    rng = np.random.default_rng(3)
    wall = np.full((HEIGHT, WIDTH, 3), (205, 212, 216), np.float32) + rng.normal(0, 3, (HEIGHT, WIDTH, 1))
    picture = np.clip(wall, 0, 255).astype(np.uint8)
    cv2.rectangle(picture, (180, 110), (780, 430), (30, 30, 30), -1)
    cv2.rectangle(picture, (190, 120), (770, 420), (40, 210, 250), -1)
    step = 290 // (len(lines) + 1)
    for n, text in enumerate(lines, 1):
        size = min(2.4, 500 / cv2.getTextSize(text, cv2.FONT_HERSHEY_DUPLEX, 1.0, 2)[0][0])
        (wide, high), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_DUPLEX, size, 4)
        at = (480 - wide // 2, 125 + n * step + high // 2)
        cv2.putText(picture, text, at, cv2.FONT_HERSHEY_DUPLEX, size, (20, 20, 20), 4, cv2.LINE_AA)
    return picture


def wall() -> Picture:
    """A plain wall with a picture frame: nothing to warn of."""
    picture = sign(" ")
    cv2.rectangle(picture, (190, 120), (770, 420), (120, 150, 120), -1)
    cv2.circle(picture, (480, 270), 90, (90, 110, 160), -1)
    return picture


def tagged(picture: Picture, number: int) -> Picture:
    """The picture with a number in its corner, so that a frame of it can be told apart: ten bits as bright and dark."""
    marked = picture.copy()
    for bit in range(10):
        value = 255 if number >> bit & 1 else 0
        marked[4:20, 4 + 16 * bit : 20 + 16 * bit] = value
    return marked


def tag_of(picture: Picture) -> int:
    """The number in the corner of a picture of the same size."""
    return sum((int(picture[8:16, 8 + 16 * bit : 16 + 16 * bit].mean()) > 127) << bit for bit in range(10))


def _car(width: int) -> Any:
    """A car from the front, BGRA float32."""
    height = round(0.78 * width)
    layer = np.zeros((height * _FINE, width * _FINE, 4), np.float32)
    scale = np.array([width * _FINE, height * _FINE], np.float32)

    def shape(points: list[tuple[float, float]], colour: tuple[int, int, int]) -> None:
        cv2.fillPoly(layer, [(np.array(points, np.float32) * scale).astype(np.int32)], (*colour, 255), cv2.LINE_AA)

    def disc(x: float, y: float, rx: float, ry: float, colour: tuple[int, int, int]) -> None:
        centre = (int(x * scale[0]), int(y * scale[1]))
        cv2.ellipse(layer, centre, (int(rx * scale[0]), int(ry * scale[1])), 0, 0, 360, (*colour, 255), -1, cv2.LINE_AA)

    red, dark, bright = (40, 40, 180), (24, 24, 108), (70, 70, 245)
    for x in (0.06, 0.80):
        shape([(x, 0.72), (x + 0.14, 0.72), (x + 0.14, 1.0), (x, 1.0)], (22, 22, 22))
    shape([(0.02, 0.50), (0.06, 0.40), (0.94, 0.40), (0.98, 0.50), (0.98, 0.88), (0.02, 0.88)], red)
    shape([(0.08, 0.42), (0.16, 0.33), (0.84, 0.33), (0.92, 0.42)], bright)
    shape([(0.16, 0.35), (0.26, 0.03), (0.74, 0.03), (0.84, 0.35)], red)
    shape([(0.20, 0.33), (0.28, 0.08), (0.72, 0.08), (0.80, 0.33)], (70, 62, 52))
    shape([(0.24, 0.31), (0.31, 0.10), (0.45, 0.10), (0.34, 0.31)], (120, 112, 100))
    shape([(0.26, 0.03), (0.30, 0.0), (0.70, 0.0), (0.74, 0.03)], dark)
    for x in (0.13, 0.87):
        disc(x, 0.30, 0.035, 0.035, dark)
    for x in (0.11, 0.89):
        disc(x, 0.52, 0.075, 0.05, (235, 240, 245))
        disc(x, 0.52, 0.04, 0.03, (255, 255, 255))
    shape([(0.26, 0.48), (0.74, 0.48), (0.70, 0.60), (0.30, 0.60)], (25, 25, 25))
    for y in (0.51, 0.54, 0.57):
        shape([(0.28, y), (0.72, y), (0.72, y + 0.008), (0.28, y + 0.008)], (150, 150, 150))
    shape([(0.10, 0.70), (0.90, 0.70), (0.86, 0.82), (0.14, 0.82)], dark)
    shape([(0.40, 0.66), (0.60, 0.66), (0.60, 0.73), (0.40, 0.73)], (235, 235, 235))
    return cv2.resize(layer, (width, height), interpolation=cv2.INTER_AREA)
