"""Looking at single frames as they come, for danger alone: quickly, and in plain sentences.

A window is perceived when it is over; danger cannot wait for that.  Each frame that goes into a window is looked at the
moment it is taken (and what was seen is kept for the window, so that nothing is done twice), and between them one pass
of the detector tells what comes closer.  What the sentences mean is for the table of hazards to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from edge.clock import US
from edge.messages import Frame
from edge.perception.gate import compare, thumbnail
from edge.perception.light import LightPerception
from edge.perception.pixels import Gray
from edge.perception.things import overlap
from models.errors import ModelError
from models.roles import Detection

EVERY_S = 0.5
JITTER = 0.8  # share of that time after which a frame may be looked at: frames do not come like clockwork
VEHICLES = {
    "car": "car",
    "bus": "bus",
    "truck": "truck",
    "motorcycle": "motorbike",
    "bicycle": "bicycle",
    "train": "tram",
}
VEHICLE_SCORE = 0.45
LOOK_APART_US = (US // 10, 5 * US // 2)  # two looks between which growth tells a speed
GROWTH = 1.3  # of the box's longer side between them: nearer by a quarter
TALL = 0.25  # share of the frame's height from which a vehicle is close enough to matter
MIDDLE = (0.2, 0.8)  # where its centre lies when it comes our way
TOUCHES = 0.1  # overlap of the boxes of one vehicle in two looks, at least
CHANGED = 14.0  # gray levels by which some block must differ for a quick look to be worth it


@dataclass(frozen=True, slots=True)
class Look:
    """Vehicles of one frame."""

    t: int
    width: int
    height: int
    vehicles: tuple[Detection, ...]


class FrameWatch:
    """One thread looks; the power mode sets `every_s`, seconds between quick looks, 0: none."""

    def __init__(self, light: LightPerception, *, mono: Callable[[], int]) -> None:
        self._light, self._mono = light, mono
        self.every_s = EVERY_S
        self.looks = 0
        self._last_at: int | None = None
        self._thumb: Gray | None = None
        self._before: Look | None = None
        self._sampled: Gray | None = None
        self._fresh = 0  # time of the newest sampled frame that showed something new

    def quick(self, frame: Frame) -> list[str]:
        """One pass of the detector, when it is time for one and something changed: what comes closer."""
        now = self._mono()
        if not self.every_s or (self._last_at is not None and now - self._last_at < JITTER * self.every_s * US):
            return []
        thumb = thumbnail(frame.image)
        same = self._thumb is not None and thumb.shape == self._thumb.shape
        if same and self._thumb is not None and compare(thumb, self._thumb).block_change < CHANGED:
            if self._before is not None:  # what was there is there still
                self._before = replace(self._before, t=frame.t)
            return []
        self._last_at, self._thumb = now, thumb
        return self._vehicles(frame)

    def read(self, frame: Frame) -> tuple[str, ...]:
        """The lines of text in a frame that goes into a window: signs first, for they need nothing else."""
        if not self._new(frame):
            return ()
        return self._light.glance_text(frame)

    def whole(self, frame: Frame) -> list[str]:
        """A frame that goes into a window, in sentences.  What comes closer is told by `quick`, before this costs its time."""
        if frame.t != self._fresh:
            return []
        view = self._light.glance(frame)
        return [] if view is None else [self._light.caption_of(view)]

    def _new(self, frame: Frame) -> bool:
        """Whether a sampled frame shows something new; the gate of the window will pass over one that does not."""
        thumb = thumbnail(frame.image)
        last, same = self._sampled, self._sampled is not None and self._sampled.shape == thumb.shape
        if same and last is not None and compare(thumb, last).block_change < CHANGED:
            return False
        self._sampled, self._fresh = thumb, frame.t
        return True

    def _vehicles(self, frame: Frame) -> list[str]:
        self.looks += 1
        try:
            found = self._light.detector.detect(frame.image).detections
        except ModelError:  # perception tells of it when the window is perceived
            return []
        height, width = frame.image.shape[:2]
        now = Look(frame.t, width, height, tuple(d for d in found if d.label in VEHICLES and d.score >= VEHICLE_SCORE))
        before, self._before = self._before, now
        return looming(before, now) if before is not None else []


def looming(before: Look, now: Look) -> list[str]:
    """Sentences of vehicles that came straight closer between two looks.  Pure."""
    if not LOOK_APART_US[0] <= now.t - before.t <= LOOK_APART_US[1]:
        return []
    told = []
    for d in now.vehicles:
        middle = (d.box[0] + d.box[2]) / 2 / now.width
        if d.box[3] - d.box[1] < TALL * now.height or not MIDDLE[0] <= middle <= MIDDLE[1]:
            continue
        twins = [b for b in before.vehicles if b.label == d.label and overlap(b.box, d.box) >= TOUCHES]
        if twins and _longer(d) >= GROWTH * max(map(_longer, twins)):
            told.append(f"a {VEHICLES[d.label]} is coming straight at the wearer")
    return told


def _longer(d: Detection) -> float:
    box: Sequence[float] = d.box
    return max(box[2] - box[0], box[3] - box[1])
