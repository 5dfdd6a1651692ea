"""A small renderer of flat things in space: what the sample's rooms are made of.

A room is a list of textured rectangles (Quad) in paint order, far to near; a camera (View) looks at them. Each quad is
clipped at the eye's plane, its texture is laid by a homography, its outline is filled with smooth edges. No light is
computed here: textures arrive shaded. Lengths are metres, x to the right, y up, z away from the first look; angles are
degrees.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]  # (h, w, 3) RGB or (h, w, 4) RGBA
Vector = tuple[float, float, float]

NEAR = 0.05  # metres in front of the eye where a quad is cut off
SUBPIXEL_BITS = 4


@dataclass(frozen=True, slots=True)
class View:
    """Where the eye is and looks: yaw to the right, pitch up, roll clockwise, fov across the width."""

    x: float
    y: float
    z: float
    yaw: float = 0.0
    pitch: float = 0.0
    roll: float = 0.0
    fov: float = 62.0

    def towards(self, other: View, share: float) -> View:
        """The view `share` (0-1) of the way to another one."""
        mixed = [a + (b - a) * share for a, b in zip(self.values(), other.values(), strict=True)]
        return View(*mixed)

    def turned(self, yaw: float, pitch: float, roll: float) -> View:
        """The same place, the head turned by some degrees more."""
        return View(self.x, self.y, self.z, self.yaw + yaw, self.pitch + pitch, self.roll + roll, self.fov)

    def values(self) -> tuple[float, float, float, float, float, float, float]:
        """The seven numbers of the view, in the order of its fields."""
        return (self.x, self.y, self.z, self.yaw, self.pitch, self.roll, self.fov)


@dataclass(slots=True)
class Quad:
    """A textured rectangle: its top left corner, the vectors along its top and its left edge, its picture."""

    corner: Vector
    along: Vector
    down: Vector
    texture: Image
    levels: list[Image] = field(default_factory=list)

    def level(self, shrink: float) -> Image:
        """The texture, halved until one of its pixels is about one on screen; RGB premultiplied by alpha."""
        if not self.levels:
            texture = self.texture
            if texture.shape[2] == 4:
                texture = texture.copy()
                texture[:, :, :3] = (
                    texture[:, :, :3].astype(np.float32) * (texture[:, :, 3:] / np.float32(255))
                ).astype(np.uint8)
            self.levels.append(np.ascontiguousarray(texture))
        wanted = max(0, round(math.log2(max(shrink, 1.0))))
        while len(self.levels) <= wanted:
            last = self.levels[-1]
            height, width = last.shape[:2]
            if min(height, width) < 4:
                break
            halved = cv2.resize(last, (width // 2, height // 2), interpolation=cv2.INTER_AREA)
            self.levels.append(halved.astype(np.uint8))
        return self.levels[min(wanted, len(self.levels) - 1)]


def front(x: float, y: float, z: float, width: float, height: float, texture: Image) -> Quad:
    """A quad that faces the first look, its lower left corner at (x, y, z)."""
    return Quad((x, y + height, z), (width, 0, 0), (0, -height, 0), texture)


def flat(x: float, y: float, z: float, width: float, depth: float, texture: Image) -> Quad:
    """A quad that lies, its near left corner at (x, y, z); the texture's lower edge is near the viewer."""
    return Quad((x, y, z + depth), (width, 0, 0), (0, 0, -depth), texture)


def left_side(x: float, y: float, z: float, depth: float, height: float, texture: Image) -> Quad:
    """A wall on the left hand: it faces right; the texture's left edge is near the viewer."""
    return Quad((x, y + height, z), (0, 0, depth), (0, -height, 0), texture)


def right_side(x: float, y: float, z: float, depth: float, height: float, texture: Image) -> Quad:
    """A wall on the right hand: it faces left; the texture's left edge is far from the viewer."""
    return Quad((x, y + height, z + depth), (0, 0, -depth), (0, -height, 0), texture)


def render(quads: Iterable[Quad], view: View, width: int, height: int) -> Image:
    """The picture (height, width, 3) RGB uint8 of the quads, painted in their order."""
    canvas = np.zeros((height, width, 3), np.uint8)
    turn = _rotation(view)
    focal = width / 2 / math.tan(math.radians(view.fov) / 2)
    eye = np.array([view.x, view.y, view.z])
    for quad in quads:
        _paint(canvas, quad, turn, eye, focal)
    return canvas


def _rotation(view: View) -> NDArray[np.float64]:
    """World to camera (x right, y down, z forward)."""
    yaw, pitch, roll = (math.radians(a) for a in (view.yaw, view.pitch, view.roll))
    around_y = np.array([[math.cos(yaw), 0, -math.sin(yaw)], [0, 1, 0], [math.sin(yaw), 0, math.cos(yaw)]])
    around_x = np.array([[1, 0, 0], [0, math.cos(pitch), -math.sin(pitch)], [0, math.sin(pitch), math.cos(pitch)]])
    around_z = np.array([[math.cos(roll), -math.sin(roll), 0], [math.sin(roll), math.cos(roll), 0], [0, 0, 1]])
    turned: NDArray[np.float64] = np.diag([1.0, -1.0, 1.0]) @ around_z @ around_x @ around_y
    return turned


def _paint(canvas: Image, quad: Quad, turn: NDArray[np.float64], eye: Any, focal: float) -> None:
    height, width = canvas.shape[:2]
    corner = turn @ (np.array(quad.corner) - eye)
    along, down = turn @ np.array(quad.along), turn @ np.array(quad.down)
    outline = _clipped([corner, corner + along, corner + along + down, corner + down])
    if len(outline) < 3:
        return
    points = np.array([[focal * p[0] / p[2] + width / 2, focal * p[1] / p[2] + height / 2] for p in outline])
    left, top = np.maximum(np.floor(points.min(0)).astype(int) - 1, 0)
    right, bottom = np.minimum(np.ceil(points.max(0)).astype(int) + 2, (width, height))
    if right <= left or bottom <= top:
        return
    tex_height, tex_width = quad.texture.shape[:2]
    drawn = math.sqrt(max(abs(_area(points)), 1.0))
    level = quad.level(math.sqrt(tex_width * tex_height) / drawn)
    rows, columns = level.shape[:2]
    # Texture pixel (u, v, 1) to camera space, then to the pixels of the part of the canvas that it can touch.
    to_camera = np.stack([along / columns, down / rows, corner], axis=1)
    lens = np.array([[focal, 0, width / 2 - left], [0, focal, height / 2 - top], [0, 0, 1]])
    homography = lens @ to_camera
    size = (int(right - left), int(bottom - top))
    laid = cv2.warpPerspective(level, homography, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    cover = np.zeros((size[1], size[0]), np.uint8)
    fixed = np.round((points - (left, top)) * (1 << SUBPIXEL_BITS)).astype(np.int32)
    cv2.fillConvexPoly(cover, fixed, 255, cv2.LINE_AA, SUBPIXEL_BITS)
    patch = canvas[top:bottom, left:right]
    if laid.shape[2] == 3:  # opaque: copy what is covered whole, blend only the pixels of the outline
        cv2.copyTo(laid, (cover == 255).astype(np.uint8), patch)
        at_row, at_column = np.nonzero((cover > 0) & (cover < 255))
        share = cover[at_row, at_column, None].astype(np.float32) / 255
        mixed = patch[at_row, at_column] * (1 - share) + laid[at_row, at_column] * share
        patch[at_row, at_column] = (mixed + 0.5).astype(np.uint8)
        return
    share = cover[:, :, None].astype(np.float32) / 255
    mixed = patch * (1 - laid[:, :, 3:] * (share / 255)) + laid[:, :, :3] * share
    patch[:] = np.clip(mixed + 0.5, 0, 255).astype(np.uint8)


def _clipped(corners: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """The polygon's part in front of the eye (Sutherland-Hodgman against one plane)."""
    kept: list[NDArray[np.float64]] = []
    for here, there in zip(corners, corners[1:] + corners[:1], strict=True):
        if here[2] >= NEAR:
            kept.append(here)
        if (here[2] >= NEAR) != (there[2] >= NEAR):
            share = (NEAR - here[2]) / (there[2] - here[2])
            kept.append(here + share * (there - here))
    return kept


def _area(points: NDArray[np.float64]) -> float:
    x, y = points[:, 0], points[:, 1]
    return float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2
