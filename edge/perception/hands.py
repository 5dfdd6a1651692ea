"""The wearer's hands: skin that enters the picture at its edge as an arm does, where the detector suspects a person.

Neither tells alone: wood, cardboard and evening light have the colour of skin, and the detector takes arms, sleeves and
bowls for persons.  Together they were wrong in none of the photographs without hands that were tried.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
import numpy.typing as npt

from edge.messages import Image
from edge.perception.looks import Box, skin_mask
from edge.perception.pixels import fitted
from models.roles import Detection

HAND = "hand"
NEAR_HAND = "near a hand"
SURE_HAND = 0.4  # a hand of less score must be seen in two frames
EDGE = 0.04  # a box that comes this near to the frame's edge touches it
SIDE_PX = 160  # longer side at which arms are looked for
WALL = 0.5  # share of the frame from which "skin" is a wall or the light
ARM_AREA = (0.012, 0.35)  # share of the frame
ARM_LENGTH = 0.18  # least share of the frame's height
ARM_REACH = 0.25  # it must come up so far from the lower edge
AT_BOTTOM = (0.02, 0.4)  # share of the lower edge an arm covers
AT_SIDE = (0.04, 0.5)  # share of the left or right edge, below the upper third
SIDE_REACH = 0.3  # of the frame's width, for an arm that enters at a side
SUPPORT = 0.5  # of an arm's box inside a suspected person
BODY_SCORE = (0.4, 0.65)  # of the wearer's arms when both looks take them for a person
BODY_AREA = (0.03, 0.75)  # share of the frame
BODY_SKIN = (0.12, 0.75)  # share of skin in such a box: less is no hand, more is a wall
NEAR_SKIN = 0.06  # share of a thing's box, a little widened, that is skin


def hands_of(frame: Image, suspected: Sequence[Detection], bodies: Sequence[Detection]) -> list[Detection]:
    """The wearer's hands, each with the score of the person it was taken for.

    `suspected` are persons of any score from any look; `bodies` those both looks agree on that may be the wearer.
    """
    found = []
    for box in arms(frame) if suspected else ():
        support = max((p.score for p in suspected if _inside(box, p.box) >= SUPPORT), default=0.0)
        if support:
            found.append(Detection(HAND, support, box))
    if found:
        return sorted(found, key=lambda d: -d.score)[:2]
    return [Detection(HAND, d.score, d.box) for d in bodies if _is_body(d, frame)][:1]


def arms(frame: Image) -> list[Box]:
    """Boxes of stretches of skin colour that enter at the lower or a side edge and reach into the picture."""
    small = fitted(frame, SIDE_PX)
    height, width = small.shape[:2]
    scale = frame.shape[1] / width
    mask = skin_mask(small).astype(np.uint8)
    if mask.mean() > WALL:
        return []
    mask = np.asarray(cv2.morphologyEx(mask, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8)), np.uint8)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask)
    found: list[Box] = []
    for i in range(1, count):
        x, y, w, h, area = (int(v) for v in stats[i])
        if not ARM_AREA[0] <= area / (height * width) <= ARM_AREA[1] or h < ARM_LENGTH * height:
            continue
        part = labels == i
        bottom = float(part[-2:].any(axis=0).mean())
        low = part[height // 3 :]
        side = max(float(low[:, :2].any(axis=1).sum()), float(low[:, -2:].any(axis=1).sum())) / height
        from_below = AT_BOTTOM[0] <= bottom <= AT_BOTTOM[1] and y <= (1 - ARM_REACH) * height
        from_side = AT_SIDE[0] <= side <= AT_SIDE[1] and w >= SIDE_REACH * width
        if from_below or from_side:
            found.append((x * scale, y * scale, (x + w) * scale, (y + h) * scale))
    return found


def near_hand(box: Box, hands: Sequence[Detection], skin: npt.NDArray[np.bool_]) -> bool:
    """Whether skin of a hand touches a thing's box; `skin` is the mask of the whole frame."""
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


def _is_body(d: Detection, frame: Image) -> bool:
    height, width = frame.shape[:2]
    share = (d.box[2] - d.box[0]) * (d.box[3] - d.box[1]) / (width * height)
    if not BODY_SCORE[0] <= d.score <= BODY_SCORE[1] or not BODY_AREA[0] <= share <= BODY_AREA[1]:
        return False
    x0, y0, x1, y1 = (round(v) for v in d.box)
    inside = skin_mask(frame[y0:y1, x0:x1])
    return d.box[3] >= (1 - EDGE) * height and BODY_SKIN[0] <= float(inside.mean()) <= BODY_SKIN[1]


def _inside(box: Box, other: Box) -> float:
    """Share of `box` that lies in `other`."""
    w, h = min(box[2], other[2]) - max(box[0], other[0]), min(box[3], other[3]) - max(box[1], other[1])
    area = (box[2] - box[0]) * (box[3] - box[1])
    return w * h / area if w > 0 and h > 0 and area > 0 else 0.0
