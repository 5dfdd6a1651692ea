"""The rooms of the sample: where the wearer goes, what stands there, and the views the camera takes of it.

`room(name)` gives a Room; its views are named, and `picture(view)` renders any view between them. Photographs fill the
whole view: there the x and y of a View are the middle of the crop (shares of the picture) and fov is its width (1 = all).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import cv2
import numpy as np

from tools import sample_things as things
from tools.sample_paint import (
    Line,
    enlarged,
    glow,
    label,
    photograph,
    plain,
    repeated,
    shaded,
    shadow,
    text_on,
    tiles,
    tinted,
    wood,
)
from tools.sample_world import Image, Quad, View, flat, front, left_side, render, right_side

WIDTH, HEIGHT = 1280, 720
RED, GREEN, BLUE = (176, 32, 30), (10, 112, 62), (28, 74, 168)


@dataclass(slots=True)
class Room:
    """A place: its quads, or one photograph, and its named views."""

    views: dict[str, View]
    quads: list[Quad] = field(default_factory=list)
    photo: Image | None = None

    def picture(self, view: View) -> Image:
        """What the camera sees, (720, 1280, 3) RGB uint8."""
        if self.photo is None:
            return render(self.quads, view, WIDTH, HEIGHT)
        height, width = self.photo.shape[:2]
        scale = WIDTH / (view.fov * width)
        turn = cv2.getRotationMatrix2D((view.x * width, view.y * height), -view.roll, scale)
        # A turned head moves the picture; a degree is about 1/60 of the width at the photograph's own angle of view.
        turn[:, 2] += (
            WIDTH / 2 - view.x * width - view.yaw * WIDTH / 60,
            HEIGHT / 2 - view.y * height + view.pitch * WIDTH / 60,
        )
        laid = cv2.warpAffine(self.photo, turn, (WIDTH, HEIGHT), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
        return laid.astype(np.uint8)


def room(name: str) -> Room:
    """Build a room. Raises KeyError for a name that ROOMS lacks."""
    return ROOMS[name]()


def _shell(
    wall: Image, floor: Image, half: float, depth: float, height: float, sides: tuple[int, int, int]
) -> list[Quad]:
    """Floor, ceiling, side walls and the end wall of a room of width 2 x half that the eye stands in."""
    ceiling = plain(400, 300, (226, 224, 218))
    side = glow(plain(700, 500, sides), 0.5, 0.45, 0.6, 0.10, 0.03)
    return [
        flat(-half, 0, -1.5, 2 * half, depth + 1.5, floor),
        flat(-half, height, -1.5, 2 * half, depth + 1.5, ceiling),
        left_side(-half, 0, -1.5, depth + 1.5, height, shaded(side, 0.86)),
        right_side(half, 0, -1.5, depth + 1.5, height, shaded(side, 0.8)),
        front(-half, 0, depth, 2 * half, height, wall),
        front(-half, 0, depth - 0.005, 2 * half, 0.09, plain(600, 16, (232, 230, 224))),
    ]


def _doors(width: int, height: int, count: int, colour: tuple[int, int, int], *, handle: float) -> Image:
    """Cupboard fronts side by side; the handles sit at a share of the height."""
    face = plain(width, height, colour, top=1.04, bottom=0.93)
    wide = width / count
    for n in range(count):
        x = round(n * wide)
        face[:, max(x - 2, 0) : x + 2] = shaded(face[:, max(x - 2, 0) : x + 2], 0.6)
        middle, row = round(x + wide / 2), round(height * handle)
        face[row : row + 8, middle - 34 : middle + 34] = (150, 152, 156)
        face[row + 8 : row + 13, middle - 32 : middle + 36] = shaded(
            face[row + 8 : row + 13, middle - 32 : middle + 36], 0.8
        )
    return face


def _oven() -> Image:
    """A built-in oven that is on: its panel says so, its window glows. 760 x 800."""
    body = plain(760, 800, (46, 48, 52), top=1.1, bottom=0.9)
    panel = label(720, 170, [Line("OVEN ON 180 C", 84, (255, 178, 60))], paper=(10, 10, 12))
    body[20:190, 20:740] = panel
    glass = plain(640, 430, (92, 52, 22), top=0.8, bottom=1.15)
    glass = glow(glass, 0.5, 0.55, 0.42, 1.5, 0.25)
    for row in (150, 290):
        glass[row : row + 5] = (36, 26, 22)
    glass[175:285, 190:450] = glow(plain(260, 110, (170, 108, 48)), 0.4, 0.2, 0.6, 0.35)
    body[310:740, 60:700] = glass
    body[232:262, 70:690] = glow(plain(620, 30, (196, 198, 204)), 0.5, 0.2, 0.7, 0.2)
    return body


def kitchen() -> Room:
    """A kitchen: fridge with a note, window over the counter, an oven at eye height that is on."""
    wall = glow(plain(1400, 700, (226, 214, 190)), 0.5, 0.5, 0.45, 0.12, 0.04)
    quads = _shell(wall, wood(900, 700, (150, 112, 78), 5, boards=9), 2.3, 3.0, 2.6, (222, 210, 188))
    steel = glow(plain(450, 1100, (190, 194, 200)), 0.3, 0.3, 0.4, 0.14)
    steel[436:444] = (96, 98, 104)
    for rows in (slice(300, 410), slice(470, 640)):
        steel[rows, 404:420] = (120, 122, 128)
    cabinet = plain(420, 1100, (236, 234, 226))
    quads += [
        front(-1.2, 0.9, 2.985, 2.1, 0.62, tiles(1680, 500, (214, 226, 224), 100)),
        front(-0.62, 1.2, 2.98, 1.25, 0.95, things.outdoors(1000, 760)),
        front(-1.2, 0.08, 2.42, 2.1, 0.8, _doors(1500, 560, 4, (92, 118, 122), handle=0.1)),
        flat(-1.2, 0.9, 2.36, 2.1, 0.64, wood(1500, 440, (186, 138, 92), 8)),
        front(-1.2, 0.86, 2.36, 2.1, 0.045, wood(1500, 30, (150, 108, 70), 9)),
        front(-1.2, 1.62, 2.66, 0.52, 0.7, _doors(400, 540, 1, (92, 118, 122), handle=0.9)),
        flat(-0.98, 0.903, 2.52, 0.32, 0.26, shadow(200, 160)),
        front(-0.96, 0.91, 2.66, 0.27, 0.28, things.kettle()),
        flat(0.33, 0.903, 2.56, 0.38, 0.18, shadow(200, 120)),
        front(0.36, 0.91, 2.68, 0.12, 0.40, things.bottle((52, 96, 52), (196, 160, 60), (240, 234, 214))),
        front(0.55, 0.91, 2.66, 0.12, 0.40, things.bottle((122, 36, 36), (40, 40, 42), (236, 226, 196))),
        flat(-0.42, 0.903, 2.52, 0.22, 0.16, shadow(160, 120)),
        front(-0.40, 0.91, 2.6, 0.14, 0.133, things.mug((186, 52, 44))),
        front(0.08, 1.22, 2.93, 0.28, 0.40, things.plant(6)),
        left_side(-1.2, 0.02, 2.3, 0.7, 1.92, shaded(steel, 0.72)),
        front(-2.0, 0.02, 2.3, 0.8, 1.92, steel),
        front(-1.74, 1.33, 2.295, 0.5, 0.36, label(500, 360, [Line("BUY MILK", 80, RED), Line("AND EGGS", 80, RED)])),
        front(-1.52, 1.66, 2.29, 0.06, 0.06, things.mouse()),
        right_side(0.9, 0.02, 2.36, 0.64, 2.3, shaded(cabinet, 0.76)),
        front(0.9, 0.02, 2.36, 0.9, 2.3, cabinet),
        front(0.97, 0.86, 2.35, 0.76, 0.8, _oven()),
    ]
    views = {
        "door": View(-0.3, 1.62, -1.2, -10, -7),
        "wide": View(-0.02, 1.62, -0.7, 0, -9, fov=63),
        "oven": View(1.0, 1.5, 1.0, 3, -5),
        "note": View(-1.3, 1.55, 1.05, -9, -2),
    }
    return Room(views, quads)


def study() -> Room:
    """A desk with a screen, a keyboard, keys and a folder; a cork board with a note about a meeting."""
    wall = glow(plain(1400, 800, (176, 190, 184)), 0.46, 0.55, 0.4, 0.16, 0.05)
    quads = _shell(wall, wood(900, 700, (124, 92, 66), 15, boards=8), 2.0, 2.1, 2.6, (182, 194, 188))
    cork = tinted(enlarged(photograph("gravel.png"), 900)[:640], (190, 146, 98), contrast=0.28)
    cork = cv2.copyMakeBorder(cork[20:-20, 20:-20], 20, 20, 20, 20, cv2.BORDER_CONSTANT, value=(112, 78, 50)).astype(
        np.uint8
    )
    note = label(
        390, 420, [Line("MEETING", 66, BLUE), Line("ROOM 4", 80), Line("FRIDAY", 66, BLUE)], paper=(252, 236, 150)
    )
    cork[110:530, 60:450] = note
    print_of_camera = things.framed(photograph("camera.png"), 340, [Line("PHOTO CLUB", 42)])
    cork[80 : 80 + print_of_camera.shape[0], 500 : 500 + print_of_camera.shape[1]] = print_of_camera
    shown = things.screen(
        photograph("rocket.jpg"), 1000, 590, [Line("LAUNCH REVIEW", 62, (255, 255, 255))], (22, 40, 76)
    )
    shelf = things.books(800, 300, 2)
    quads += [
        front(-1.42, 1.14, 2.085, 0.9, 0.64, cork),
        front(0.62, 1.32, 2.0, 0.8, 0.30, shelf),
        flat(0.58, 1.32, 1.84, 0.88, 0.24, wood(500, 120, (150, 106, 68), 21)),
        front(0.58, 1.29, 1.84, 0.88, 0.035, wood(500, 24, (128, 88, 56), 22)),
        front(0.66, 1.33, 1.86, 0.76, 0.26, shelf),
        front(-1.14, 0, 1.9, 0.08, 0.7, wood(60, 400, (140, 100, 66), 33)),
        front(1.16, 0, 1.9, 0.08, 0.7, wood(60, 400, (140, 100, 66), 34)),
        front(-1.14, 0, 1.16, 0.08, 0.7, wood(60, 400, (158, 116, 76), 35)),
        front(1.16, 0, 1.16, 0.08, 0.7, wood(60, 400, (158, 116, 76), 36)),
        flat(-1.2, 0.74, 1.1, 2.5, 0.98, wood(1700, 660, (196, 152, 104), 31)),
        front(-1.2, 0.69, 1.1, 2.5, 0.05, wood(1700, 34, (158, 116, 76), 32)),
        flat(-0.3, 0.743, 1.72, 0.6, 0.24, shadow(260, 110)),
        front(-0.12, 0.745, 1.84, 0.24, 0.1, plain(120, 60, (40, 42, 46))),
        flat(-0.19, 0.746, 1.76, 0.38, 0.17, plain(190, 80, (52, 54, 60))),
        front(-0.4, 0.83, 1.82, 0.8, 0.472, shown),
        flat(-0.98, 0.743, 1.58, 0.34, 0.2, shadow(180, 120)),
        front(-0.98, 0.745, 1.68, 0.34, 0.49, things.plant(9)),
        flat(0.44, 0.743, 1.56, 0.22, 0.16, shadow(160, 120)),
        front(0.46, 0.745, 1.64, 0.13, 0.124, things.mug((46, 92, 150))),
        flat(-0.27, 0.743, 1.27, 0.54, 0.22, shadow(300, 120, 0.35)),
        flat(-0.24, 0.752, 1.3, 0.48, 0.167, things.keyboard()),
        flat(0.29, 0.743, 1.31, 0.10, 0.15, shadow(90, 120, 0.4)),
        flat(0.30, 0.755, 1.33, 0.07, 0.115, things.mouse()),
        flat(-0.45, 0.743, 1.28, 0.18, 0.16, shadow(150, 130, 0.3)),
        flat(-0.45, 0.75, 1.3, 0.17, 0.142, things.keys()),
        flat(0.50, 0.743, 1.18, 0.36, 0.42, shadow(200, 240, 0.35)),
        flat(0.52, 0.75, 1.21, 0.30, 0.37, things.folder((44, 92, 176), "CONTRACT")),
    ]
    views = {
        "door": View(0.35, 1.6, -0.7, 14, -8),
        "desk": View(0.2, 1.32, 0.12, 0, -13),
        "keys": View(-0.08, 1.35, 0.8, 0, -48),
        "folder": View(0.5, 1.25, 0.80, 8, -40),
        "board": View(-0.9, 1.44, 1.0, -3, 0),
    }
    return Room(views, quads)


def living() -> Room:
    """A living room: a television, a wall clock, a poster of a person, books, a plant."""
    wall = glow(plain(1500, 800, (206, 172, 148)), 0.5, 0.45, 0.45, 0.15, 0.05)
    quads = _shell(wall, wood(900, 700, (134, 98, 70), 41, boards=9), 2.4, 3.1, 2.6, (204, 174, 152))
    poster = things.framed(
        photograph("astronaut.png"), 460, [Line("SPACE MUSEUM", 50, BLUE), Line("OPEN DAY 14 MARCH", 36)]
    )
    shown = things.screen(
        photograph("rocket.jpg"), 1100, 640, [Line("LAUNCH AT 15:03", 70, (255, 255, 255))], (150, 26, 30)
    )
    rug = tinted(repeated(photograph("grass.png"), 2, 1), (150, 60, 56), contrast=0.35)
    quads += [
        flat(-1.3, 0.004, 0.9, 2.6, 1.3, rug),
        front(-1.62, 1.02, 3.09, 0.62, 0.62 * poster.shape[0] / poster.shape[1], poster),
        front(1.05, 1.5, 3.085, 0.44, 0.44, things.clock_face(9, 4)),
        flat(-0.85, 0.5, 2.62, 1.7, 0.46, wood(1100, 300, (112, 76, 50), 51)),
        front(-0.85, 0.06, 2.62, 1.7, 0.44, _doors(1100, 290, 3, (126, 88, 58), handle=0.16)),
        flat(-0.5, 0.503, 2.68, 1.0, 0.2, shadow(300, 80)),
        front(-0.14, 0.5, 2.8, 0.28, 0.12, plain(120, 50, (34, 36, 40))),
        front(-0.62, 0.6, 2.78, 1.24, 0.72, shown),
        front(1.0, 0.1, 2.72, 0.95, 0.42, things.books(700, 320, 5)),
        front(1.0, 0.62, 2.72, 0.95, 0.42, things.books(700, 320, 8)),
        flat(0.98, 0.52, 2.68, 1.0, 0.1, wood(500, 50, (120, 82, 54), 61)),
        front(0.98, 0.52, 2.66, 1.0, 0.1, wood(500, 50, (138, 96, 64), 62)),
        front(0.98, 1.04, 2.66, 1.0, 0.05, wood(500, 30, (138, 96, 64), 63)),
        flat(-1.25, 0.006, 2.5, 0.5, 0.3, shadow(160, 100)),
        front(-1.3, 0.0, 2.6, 0.62, 0.9, things.plant(14)),
    ]
    views = {
        "door": View(-0.3, 1.6, -0.9, 20, -8),
        "wide": View(0.05, 1.5, 0.0, 1, -9),
        "tv": View(0.25, 1.35, 0.8, 4, -8),
        "poster": View(-1.2, 1.45, 1.7, -4, -1),
        "clock": View(1.12, 1.6, 1.75, 4, -2),
    }
    return Room(views, quads)


def hall() -> Room:
    """The hall: coat and umbrella on hooks, a door with its number and a note."""
    wall = glow(plain(700, 800, (212, 200, 168)), 0.5, 0.3, 0.5, 0.12, 0.05)
    quads = _shell(wall, tinted(tiles(700, 900, (160, 150, 140), 90), (158, 142, 126)), 0.95, 3.3, 2.5, (208, 198, 170))
    door = plain(540, 1230, (120, 58, 40), top=1.08, bottom=0.9)
    for rows in (slice(110, 520), slice(640, 1130)):
        for columns in (slice(60, 250), slice(290, 480)):
            door[rows, columns] = shaded(door[rows, columns], 0.84)
            inside = (slice(rows.start + 14, rows.stop), slice(columns.start + 14, columns.stop))
            door[inside] = shaded(door[inside], 1.12)
    door[560:640, 474:508] = (206, 170, 90)
    mat = tinted(photograph("gravel.png")[:240], (92, 70, 50), contrast=0.5)
    mat = text_on(mat, 256, 122, Line("WELCOME", 88, (236, 222, 190)), "mm")
    rail = wood(700, 70, (128, 88, 56), 71)
    quads += [
        front(-0.5, 0, 3.29, 1.0, 2.1, plain(300, 630, (236, 232, 222))),
        front(-0.45, 0, 3.28, 0.9, 2.05, door),
        front(-0.12, 1.74, 3.27, 0.24, 0.13, label(240, 130, [Line("12", 84)], paper=(214, 178, 96))),
        front(
            -0.25,
            1.2,
            3.265,
            0.5,
            0.36,
            label(500, 360, [Line("BINS GO OUT", 62, GREEN), Line("ON MONDAY", 66, GREEN)]),
        ),
        flat(-0.42, 0.004, 2.62, 0.84, 0.42, mat),
        right_side(0.945, 1.72, 1.5, 1.35, 0.12, rail),
        right_side(0.925, 0.72, 2.1, 0.52, 1.06, things.coat((44, 66, 104))),
        right_side(0.92, 0.78, 1.72, 0.18, 0.98, things.umbrella((188, 44, 52))),
        left_side(-0.945, 1.0, 1.8, 0.75, 0.95, things.framed(photograph("rocket.jpg"), 420, [Line("FLORIDA", 44)])),
    ]
    views = {
        "start": View(0.0, 1.62, -0.9, 6, -9),
        "door": View(0.0, 1.62, 0.35, 0, -9),
        "coat": View(-0.55, 1.5, 1.35, 54, -6),
        "note": View(0.0, 1.55, 2.25, 0, -6),
    }
    return Room(views, quads)


def stairwell() -> Room:
    """The stairwell of the house: brick walls, a lift out of order, the door under an exit sign."""
    bricks = np.rot90(photograph("brick.png")).copy()
    wall = glow(tinted(repeated(bricks, 2, 1), (176, 104, 82), contrast=0.9), 0.5, 0.3, 0.5, 0.25, 0.04)
    floor = tinted(repeated(photograph("gravel.png"), 2, 2), (140, 138, 134), contrast=0.3)
    quads = _shell(wall, floor, 1.5, 3.6, 2.7, (176, 110, 90))
    long_wall = tinted(repeated(bricks, 3, 1), (176, 104, 82), contrast=0.9)
    quads[2] = left_side(-1.5, 0, -1.5, 5.1, 2.7, shaded(glow(long_wall, 0.6, 0.4, 0.4, 0.2), 0.8))
    quads[3] = right_side(1.5, 0, -1.5, 5.1, 2.7, shaded(glow(long_wall, 0.4, 0.4, 0.4, 0.2), 0.74))
    door = plain(520, 1050, (88, 104, 116), top=1.06, bottom=0.9)
    door[150:520, 150:370] = things.outdoors(220, 370)
    door[600:640, 60:460] = (190, 194, 198)
    lift = label(640, 460, [Line("LIFT OUT", 96, RED), Line("OF ORDER", 96, RED), Line("UNTIL SUNDAY", 60)], frame=RED)
    sign = label(640, 230, [Line("EXIT", 170, (255, 255, 255))], paper=(0, 128, 72), frame=(255, 255, 255))
    quads += [
        front(-0.52, 0, 3.59, 1.04, 2.12, plain(260, 530, (62, 66, 70))),
        front(-0.47, 0, 3.58, 0.94, 2.07, door),
        front(-0.36, 2.2, 3.5, 0.72, 0.26, sign),
        front(-1.38, 1.22, 3.58, 0.7, 0.5, lift),
        front(
            0.72,
            1.5,
            3.58,
            0.56,
            0.34,
            label(560, 340, [Line("GROUND", 100), Line("FLOOR", 100)], paper=(236, 206, 70)),
        ),
        flat(0.86, 0.004, 3.3, 0.28, 0.2, shadow(140, 100)),
        front(0.9, 0.02, 3.45, 0.2, 0.53, things.extinguisher()),
    ]
    views = {
        "start": View(0.2, 1.62, -0.9, -8, -2),
        "wide": View(0.0, 1.62, 0.5, 0, 2),
        "lift": View(-0.95, 1.58, 2.1, -4, -4),
        "exit": View(0.0, 1.68, 2.3, 0, 14),
        "door": View(0.0, 1.6, 2.75, 0, -4),
    }
    return Room(views, quads)


def coffee() -> Room:
    """The photograph of a cup of coffee, as seen when looking down at the table."""
    views = {
        "near": View(0.5, 0.45, 0, roll=-3, fov=0.95),
        "nearer": View(0.5, 0.45, 0, roll=-1, fov=0.89),
        "again": View(0.5, 0.44, 0, fov=1.0),
    }
    return Room(views, photo=enlarged(photograph("coffee.png"), 1500))


def cat() -> Room:
    """The photograph of a cat, close to the camera."""
    views = {"near": View(0.46, 0.66, 0, fov=0.79), "nearer": View(0.49, 0.7, 0, roll=-1, fov=0.7)}
    return Room(views, photo=enlarged(photograph("chelsea.png"), 1500))


ROOMS: dict[str, Callable[[], Room]] = {
    "kitchen": kitchen,
    "study": study,
    "living": living,
    "hall": hall,
    "stairwell": stairwell,
    "coffee": coffee,
    "cat": cat,
}
