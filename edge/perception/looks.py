"""What can be measured of a thing or a picture without a model: main colours, size, place in the frame, light."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from edge.messages import Image
from edge.perception.pixels import gray_of, scaled

Box = tuple[float, float, float, float]

# Upper ends of OpenCV's hue (0-179) and the plain word for the stretch below each.
_HUES = (
    (8, "red"),
    (20, "orange"),
    (33, "yellow"),
    (85, "green"),
    (128, "blue"),
    (150, "purple"),
    (168, "pink"),
    (180, "red"),
)
_WORDS = ("black", "gray", "white", "brown", "red", "orange", "yellow", "green", "blue", "purple", "pink")
_NUMBER = {word: i for i, word in enumerate(_WORDS)}

MAIN_SHARE = 0.45  # of the pixels inside a box, for its first colour
SECOND_SHARE = 0.30
LARGE = 0.20  # share of the frame's area
SMALL = 0.006
DARK, BRIGHT = 60.0, 150.0  # mean gray


@dataclass(frozen=True, slots=True)
class Light:
    """Mean gray 0-255 of a picture, and its main colour ("" when none stands out)."""

    level: float
    colour: str

    @property
    def word(self) -> str:
        """dark, bright, or "" in between."""
        return "dark" if self.level < DARK else "bright" if self.level > BRIGHT else ""


def light_of(frame: Image) -> Light:
    """Light and main colour of a whole frame."""
    small = scaled(frame, 64, 36)
    found = _main(small, MAIN_SHARE)
    return Light(float(gray_of(small).mean()), found[0] if found else "")


def colours_of(frame: Image, box: Box) -> tuple[str, ...]:
    """One or two colours that fill the middle of a box, the larger first; none when it is a mixture."""
    x0, y0, x1, y1 = box
    dx, dy = (x1 - x0) * 0.2, (y1 - y0) * 0.2
    inner = frame[round(y0 + dy) : max(round(y0 + dy) + 1, round(y1 - dy)), round(x0 + dx) : round(x1 - dx)]
    if inner.size == 0:
        return ()
    return _main(scaled(inner, 24, 24), SECOND_SHARE)


def size_word(box: Box, width: int, height: int) -> str:
    """How much of the view a box takes, in words; "" when unremarkable."""
    share = (box[2] - box[0]) * (box[3] - box[1]) / (width * height)
    return "large in view" if share >= LARGE else "small in view" if share <= SMALL else ""


def place_word(box: Box, width: int, height: int) -> str:
    """Where the middle of a box lies: centre, left, upper right, ..."""
    x, y = (box[0] + box[2]) / 2 / width, (box[1] + box[3]) / 2 / height
    across = "left" if x < 1 / 3 else "right" if x > 2 / 3 else ""
    down = "upper" if y < 1 / 3 else "lower" if y > 2 / 3 else ""
    if across and down:
        return f"{down} {across}"
    return across or {"upper": "top", "lower": "bottom", "": "centre"}[down]


def at_place(place: str) -> str:
    """A place as it stands in a sentence."""
    if place == "centre":
        return "in the centre"
    return f"at the {place}" if place in ("top", "bottom") or " " in place else f"on the {place}"


def skin_mask(frame: Image) -> npt.NDArray[np.bool_]:
    """Pixels of the colour of skin in YCrCb (Chai and Ngan 1999): wood and cardboard pass too, so alone it says nothing."""
    ycc = cv2.cvtColor(frame, cv2.COLOR_BGR2YCrCb)
    cr, cb = ycc[..., 1], ycc[..., 2]
    mask: npt.NDArray[np.bool_] = (cr >= 136) & (cr <= 173) & (cb >= 77) & (cb <= 127) & (ycc[..., 0] >= 50)
    return mask


def _main(pixels: Image, second: float) -> tuple[str, ...]:
    named = _named(pixels)
    share = np.bincount(named.ravel(), minlength=len(_WORDS)) / named.size
    first, next_ = (int(i) for i in np.argsort(-share, kind="stable")[:2])
    if share[first] < MAIN_SHARE:
        return ()
    return (_WORDS[first], _WORDS[next_]) if share[next_] >= second else (_WORDS[first],)


def _named(pixels: Image) -> npt.NDArray[np.int64]:
    """A number of _WORDS for every pixel."""
    h, s, v = (x.astype(np.int64) for x in cv2.split(cv2.cvtColor(pixels, cv2.COLOR_BGR2HSV)))
    hue = np.digitize(h, [end for end, _ in _HUES[:-1]], right=True)
    named: npt.NDArray[np.int64] = np.array([_NUMBER[word] for _, word in _HUES], np.int64)[hue]
    # Brown is dark orange; a dark red is still called red unless it is pale.
    orange = (h > 6) & (h <= 28) & (v < 150) & (s < 200)
    named[orange | ((named == _NUMBER["red"]) & (v < 150) & (s < 110))] = _NUMBER["brown"]
    plain = s < 50
    named[plain & (v >= 170)] = _NUMBER["white"]
    named[plain & (v < 170)] = _NUMBER["gray"]
    named[(v < 45) | (plain & (v < 60))] = _NUMBER["black"]
    return named
