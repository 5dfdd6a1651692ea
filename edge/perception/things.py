"""From detections to things that may be stated: what the detector saw, less what it is known to get wrong.

A small COCO detector on first-person pictures takes the wearer's own arms for persons and textures for animals.  So a
frame is looked at twice, as it is and mirrored, and a box counts only when both looks agree and a closer look at it does
not object; rare classes need a higher score; and a person at the edge of a worn camera's frame is not stated as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edge.messages import Image
from edge.perception.hands import EDGE, HAND, NEAR_HAND, hands_of, near_hand
from edge.perception.looks import Box, colours_of, place_word, size_word, skin_mask
from models.roles import Detection, Detector

DETECTOR_SCORE = 0.25  # the least score a detector should be opened with: weak boxes tell that a thing has not left
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
PERSON = "person"
UPRIGHT = 1.6  # height by width of somebody standing or sitting opposite

# Indoors and on the street these are seldom met, and textures are often taken for them.
UNLIKELY = frozenset(
    "airplane train boat bird cat dog horse sheep cow elephant bear zebra giraffe frisbee skis snowboard kite surfboard "
    "skateboard bed cake pizza donut sandwich toothbrush scissors toilet banana carrot broccoli orange apple".split()
) | {"hot dog", "sports ball", "baseball bat", "baseball glove", "tennis racket", "teddy bear", "hair drier",
     "parking meter", "fire hydrant", "stop sign", "traffic light"}  # fmt: skip
# Dark or bright rectangles, and glints.
DOUBTFUL = frozenset(("cell phone", "tv", "remote", "refrigerator", "wine glass"))


@dataclass(frozen=True, slots=True)
class Thing:
    """One thing of one frame; the box is in pixels, the place "" where it is not sure."""

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
    back = unmirror(mirrored.detections, width)
    kept, bodies = sort_out(agree(straight.detections, back), width, height, object_score, worn=worn)
    kept = [d for d in kept if _stands(detector, frame, d)]
    hands = _hands(frame, [*straight.detections, *back], kept, bodies) if worn else []
    skin = skin_mask(frame) if hands else None
    things = []
    for d in kept:
        near = skin is not None and d.label != PERSON and near_hand(d.box, hands, skin)
        things.append(_thing(d, frame, width, height, near=near))
    # Two arms often show as one stretch of skin and one arm as two: how many hands there are, and where, is not stated.
    things += [Thing(HAND, d.score, d.box, "", ()) for d in hands[:1]]
    weak = frozenset(d.label for d in straight.detections) - {t.name for t in things}
    return Sight(tuple(things), weak, straight.embedding)


def unmirror(mirrored: Sequence[Detection], width: int) -> list[Detection]:
    """Detections of a mirrored frame, as they lie in the frame itself."""
    return [Detection(d.label, d.score, (width - d.box[2], d.box[1], width - d.box[0], d.box[3])) for d in mirrored]


def agree(one: Sequence[Detection], other: Sequence[Detection]) -> list[Detection]:
    """Boxes that both looks found, with the mean of both scores, by falling score."""
    free = list(other)
    found = []
    for d in one:
        twins = [m for m in free if m.label == d.label and overlap(m.box, d.box) >= SAME_BOX]
        if twins:
            twin = max(twins, key=lambda m: overlap(m.box, d.box))
            free.remove(twin)
            found.append(Detection(d.label, (d.score + twin.score) / 2, d.box))
    return sorted(found, key=lambda d: -d.score)


def sort_out(
    detections: Sequence[Detection], width: int, height: int, object_score: float, *, worn: bool
) -> tuple[list[Detection], list[Detection]]:
    """Split agreed detections into things to state and persons that may be the wearer; the rest is dropped."""
    kept: list[Detection] = []
    bodies: list[Detection] = []
    for d in detections:
        share = _area(d.box) / (width * height)
        if worn and d.label == PERSON and d.score < SURE_PERSON and _maybe_wearer(d.box, width, height):
            bodies.append(d)
        elif d.score >= _least(d.label, object_score, share) and all(overlap(d.box, k.box) < SAME_PLACE for k in kept):
            kept.append(d)
    return kept, bodies


def overlap(a: Box, b: Box) -> float:
    """Intersection over union."""
    w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if w <= 0 or h <= 0:
        return 0.0
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - w * h
    return w * h / union if union > 0 else 0.0


def _hands(
    frame: Image, seen: Sequence[Detection], kept: Sequence[Detection], bodies: Sequence[Detection]
) -> list[Detection]:
    """Hands, looked for only where no stated person is."""
    others = [k.box for k in kept if k.label == PERSON]
    suspected = [d for d in seen if d.label == PERSON and all(overlap(d.box, box) < SAME_BOX for box in others)]
    return hands_of(frame, suspected, bodies)


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


def _thing(d: Detection, frame: Image, width: int, height: int, *, near: bool) -> Thing:
    # The colours inside a person's box are those of clothes, skin and background alike: none is stated.
    colours = () if d.label == PERSON else colours_of(frame, d.box)
    size = size_word(d.box, width, height)
    attributes = (*colours, *((size,) if size else ()), *((NEAR_HAND,) if near else ()))
    return Thing(d.label, d.score, d.box, place_word(d.box, width, height), attributes)
