"""From detections to things that may be stated: what the detector saw, less what it is known to get wrong.

A small COCO detector on first-person pictures takes the wearer's own arms for persons and textures for animals.  So a
frame is looked at twice, as it is and mirrored, and a box counts only when both looks agree and a closer look at it does
not object; rare classes need a higher score; and a person at the lower edge is not stated as a person but taken, with
skin-coloured pixels, as a hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edge.messages import Image
from edge.perception.looks import Box, colours_of, place_word, size_word, skin_mask
from models.roles import Detection, Detector

DETECTOR_SCORE = 0.3  # the least score a detector should be opened with: weak boxes tell that a thing has not left
SAME_BOX = 0.5  # overlap of a box with its twin in another look
CLOSER_MARGIN = 0.35  # of a box's size, seen around it in the closer look
CLOSER_SCORE = 0.3  # that the closer look must give
CLOSER_UP_TO = 0.4  # share of the frame up to which a closer look shows anything new
FILLS = 0.75  # share of the frame from which a box is seldom a thing in it
UNLIKELY_MARGIN = 0.20  # what a class needs above object_score where it is unlikely to be met
DOUBTFUL_MARGIN = 0.15  # and where plain shapes pass for it
SAME_PLACE = 0.65  # boxes of two classes that overlap more are one thing: the better score names it
OWN_BODY = 0.35  # a "person" that fills more of a worn camera's frame may be the wearer, or nothing
SURE_PERSON = 0.70  # unless it scores more: then somebody stands close by
EDGE = 0.04  # a box that comes this near to the frame's edge touches it
UPRIGHT = 1.6  # height by width of somebody standing or sitting opposite
HAND = "hand"
NEAR_HAND = "near a hand"
HAND_SCORE = (0.4, 0.65)  # of arms taken for a person
HAND_LEAST = 0.03  # share of the frame
HAND_SKIN = (0.12, 0.75)  # share of skin colour in a hand's box: less is no hand, more is a wall
NEAR_SKIN = 0.06  # share of a thing's box, a little widened, that is skin

# Indoors and on the street these are seldom met, and textures are often taken for them.
UNLIKELY = frozenset(
    "airplane train boat bird cat dog horse sheep cow elephant bear zebra giraffe frisbee skis snowboard kite surfboard "
    "skateboard bed cake pizza donut sandwich toothbrush scissors toilet banana carrot broccoli orange apple".split()
) | {"hot dog", "sports ball", "baseball bat", "baseball glove", "tennis racket", "teddy bear", "hair drier",
     "parking meter", "fire hydrant", "stop sign", "traffic light"}  # fmt: skip
# Dark or bright rectangles.
DOUBTFUL = frozenset(("cell phone", "tv", "remote", "refrigerator"))


@dataclass(frozen=True, slots=True)
class Thing:
    """One thing of one frame; the box is in pixels."""

    name: str
    score: float
    box: Box
    place: str
    attributes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sight:
    """What one look at a frame gives: things by falling score, names seen too weakly to state, the scene vector."""

    things: tuple[Thing, ...]
    weak: frozenset[str]
    vector: npt.NDArray[np.float32]


def look(detector: Detector, frame: Image, object_score: float, *, worn: bool = True) -> Sight:
    """Detect, check and describe the things of one frame.  `worn` is false for a camera that nobody wears."""
    height, width = frame.shape[:2]
    straight = detector.detect(frame)
    mirrored = detector.detect(np.ascontiguousarray(frame[:, ::-1]))
    agreed = agree(straight.detections, mirrored.detections, width)
    kept, hands = sort_out(agreed, frame, object_score, worn=worn)
    kept = [d for d in kept if _stands(detector, frame, d)]
    skin = skin_mask(frame) if hands else None
    things = [
        _thing(
            d, frame, width, height, near=skin is not None and d.label != "person" and _near_hand(d.box, hands, skin)
        )
        for d in kept
    ]
    things += [Thing(HAND, d.score, d.box, place_word(d.box, width, height), ()) for d in hands]
    weak = frozenset(d.label for d in straight.detections) - {t.name for t in things}
    return Sight(tuple(things), weak, straight.embedding)


def agree(straight: Sequence[Detection], mirrored: Sequence[Detection], width: int) -> list[Detection]:
    """Boxes that both looks found, with the mean of both scores, by falling score."""
    free = [Detection(d.label, d.score, (width - d.box[2], d.box[1], width - d.box[0], d.box[3])) for d in mirrored]
    found = []
    for d in straight:
        twins = [m for m in free if m.label == d.label and overlap(m.box, d.box) >= SAME_BOX]
        if twins:
            twin = max(twins, key=lambda m: overlap(m.box, d.box))
            free.remove(twin)
            found.append(Detection(d.label, (d.score + twin.score) / 2, d.box))
    return sorted(found, key=lambda d: -d.score)


def sort_out(
    detections: Sequence[Detection], frame: Image, object_score: float, *, worn: bool
) -> tuple[list[Detection], list[Detection]]:
    """Split agreed detections into things to state and the wearer's hands; the rest is dropped."""
    height, width = frame.shape[:2]
    kept: list[Detection] = []
    hands: list[Detection] = []
    for d in detections:
        share = _area(d.box) / (width * height)
        if worn and d.label == "person" and d.score < SURE_PERSON and _maybe_wearer(d.box, width, height):
            if not hands and HAND_SCORE[0] <= d.score <= HAND_SCORE[1] and _is_hand(d.box, frame):
                hands.append(d)
        elif d.score >= _least(d.label, object_score, share) and all(overlap(d.box, k.box) < SAME_PLACE for k in kept):
            kept.append(d)
    return kept, hands


def overlap(a: Box, b: Box) -> float:
    """Intersection over union."""
    w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if w <= 0 or h <= 0:
        return 0.0
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - w * h
    return w * h / union if union > 0 else 0.0


def _stands(detector: Detector, frame: Image, d: Detection) -> bool:
    """Whether a closer look finds the same thing in the same place."""
    height, width = frame.shape[:2]
    if _area(d.box) > CLOSER_UP_TO * width * height:
        return True
    dx, dy = (d.box[2] - d.box[0]) * CLOSER_MARGIN, (d.box[3] - d.box[1]) * CLOSER_MARGIN
    left, top = max(0, round(d.box[0] - dx)), max(0, round(d.box[1] - dy))
    part = frame[top : round(d.box[3] + dy), left : round(d.box[2] + dx)]
    if part.size == 0:
        return False
    there = (d.box[0] - left, d.box[1] - top, d.box[2] - left, d.box[3] - top)
    return any(
        c.label == d.label and c.score >= CLOSER_SCORE and overlap(c.box, there) >= SAME_BOX
        for c in detector.detect(np.ascontiguousarray(part)).detections
    )


def _least(label: str, object_score: float, share: float) -> float:
    """The score a detection needs that covers such a share of the frame."""
    if label in UNLIKELY or share > FILLS:
        return object_score + UNLIKELY_MARGIN
    return object_score + (DOUBTFUL_MARGIN if label in DOUBTFUL else 0.0)


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _maybe_wearer(box: Box, width: int, height: int) -> bool:
    w, h = box[2] - box[0], box[3] - box[1]
    if _area(box) > OWN_BODY * width * height:
        return True
    at_edge = box[3] > (1 - EDGE) * height or box[0] < EDGE * width or box[2] > (1 - EDGE) * width
    return at_edge and h < UPRIGHT * w


def _is_hand(box: Box, frame: Image) -> bool:
    height, width = frame.shape[:2]
    if box[3] < (1 - EDGE) * height or not HAND_LEAST <= _area(box) / (width * height) < FILLS:
        return False
    x0, y0, x1, y1 = (round(v) for v in box)
    inside = skin_mask(frame[y0:y1, x0:x1])
    share = float(inside.mean()) if inside.size else 0.0
    return HAND_SKIN[0] <= share <= HAND_SKIN[1]


def _near_hand(box: Box, hands: Sequence[Detection], skin: npt.NDArray[np.bool_]) -> bool:
    dx, dy = (box[2] - box[0]) * 0.15, (box[3] - box[1]) * 0.15
    for hand in hands:
        x0, y0 = max(box[0] - dx, hand.box[0], 0), max(box[1] - dy, hand.box[1], 0)
        x1, y1 = min(box[2] + dx, hand.box[2]), min(box[3] + dy, hand.box[3])
        if x1 <= x0 or y1 <= y0:
            continue
        pixels = float(skin[round(y0) : round(y1), round(x0) : round(x1)].sum())
        if pixels >= NEAR_SKIN * (box[2] - box[0]) * (box[3] - box[1]):
            return True
    return False


def _thing(d: Detection, frame: Image, width: int, height: int, *, near: bool) -> Thing:
    # The colours inside a person's box are those of clothes, skin and background alike: none is stated.
    colours = () if d.label == "person" else colours_of(frame, d.box)
    size = size_word(d.box, width, height)
    attributes = (*colours, *((size,) if size else ()), *((NEAR_HAND,) if near else ()))
    return Thing(d.label, d.score, d.box, place_word(d.box, width, height), attributes)
