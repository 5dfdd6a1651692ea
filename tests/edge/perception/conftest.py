"""A painted world: rooms of noise with flat coloured rectangles, and a detector that truly looks for those colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import pytest

from edge.config import Perception
from edge.messages import Frame, RawWindow, Sound
from models.errors import OutputError
from models.roles import Detection, DetectorResult, SpeechSegment, TextLine

US = 1_000_000
T0 = 1_772_438_400 * US
WIDTH, HEIGHT = 320, 180
COLOURS = {"cup": (20, 20, 230), "book": (230, 30, 30), "chair": (30, 200, 30), "bird": (200, 30, 200)}  # BGR


class PaintDetector:
    """Finds flat rectangles of the known colours, in any picture: mirrored, cut out or whole."""

    id = "paint"
    embedding_dim = 48

    def __init__(self) -> None:
        self.score = 0.6
        self.broken = False
        self.looks = 0

    def detect(self, frame):
        self.looks += 1
        if self.broken:
            raise OutputError("The paint has run out.")
        found = []
        for label, colour in COLOURS.items():
            near = np.abs(frame.astype(int) - np.array(colour)).max(axis=2) < 40
            count, _, stats, _ = cv2.connectedComponentsWithStats(near.astype(np.uint8))
            for x, y, w, h, area in stats[1:count]:
                if area > 60:
                    found.append(Detection(label, self.score, (float(x), float(y), float(x + w), float(y + h))))
        small = cv2.resize(frame, (4, 4), interpolation=cv2.INTER_AREA).astype(np.float32).ravel() - 128
        return DetectorResult(tuple(found), small / (np.linalg.norm(small) + 1e-9))

    def close(self) -> None:
        pass


class ListOCR:
    """Reads what it was told is written on the next frames."""

    id = "list"

    def __init__(self, pages: Sequence[Sequence[str]] = ()) -> None:
        self.pages = list(pages)
        self.score = 0.95

    def read(self, frame):
        lines = self.pages.pop(0) if self.pages else ()
        return tuple(TextLine(text, self.score, (10.0, 20.0 * i, 90.0, 20.0 * i + 12)) for i, text in enumerate(lines))

    def close(self) -> None:
        pass


class LoudVAD:
    """Speech is where the sound is louder than a whisper."""

    id = "loud"

    def speech_spans(self, pcm):
        frames = np.abs(pcm[: len(pcm) // 160 * 160].reshape(-1, 160)).max(axis=1) > 0.004
        edges = np.flatnonzero(np.diff(np.concatenate([[0], frames.astype(int), [0]])))
        return tuple((a / 100, b / 100) for a, b in edges.reshape(-1, 2))

    def probability(self, samples):
        return float(np.abs(samples).max() > 0.004)

    def reset(self) -> None:
        pass

    def close(self) -> None:
        pass


@dataclass
class ListASR:
    """Hears what it was told is said in the next spans."""

    said: list[tuple[str, float]]
    id: str = "list"

    def transcribe(self, pcm):
        text, confidence = self.said.pop(0)
        return (SpeechSegment(0.0, len(pcm) / 16000, text, confidence),) if text else ()

    def close(self) -> None:
        pass


@pytest.fixture
def detector() -> PaintDetector:
    return PaintDetector()


@pytest.fixture
def settings() -> Perception:
    return Perception()


def room(seed: int = 1) -> np.ndarray:
    """A textured gray room; another seed is another room."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(90, 165, (9, 16)).astype(np.uint8)
    gray = cv2.resize(coarse, (WIDTH, HEIGHT), interpolation=cv2.INTER_NEAREST)
    return np.repeat(gray[:, :, None], 3, axis=2)


def paint(image: np.ndarray, label: str, x: int, y: int, w: int = 40, h: int = 40) -> np.ndarray:
    """The same room with a thing in it."""
    result = image.copy()
    result[y : y + h, x : x + w] = COLOURS[label]
    return result


def window(images, start_s: float = 0.0, *, step_s: float = 5.0, length_s: float = 30.0, sound=None, recording="r"):
    """A raw window of these frames, `step_s` apart."""
    t = T0 + round(start_s * US)
    frames = tuple(Frame(t + round(i * step_s * US), 3600, image, i) for i, image in enumerate(images))
    heard = None if sound is None else Sound(t, 3600, sound)
    return RawWindow(recording, t, t + round(length_s * US), 3600, frames, heard)


@pytest.fixture
def world():
    """room, paint, window and the stand-ins, for tests that cannot import a conftest."""

    class World:
        pass

    found = World()
    for thing in (room, paint, window, ListOCR, LoudVAD, ListASR, PaintDetector):
        setattr(found, thing.__name__, staticmethod(thing) if not isinstance(thing, type) else thing)
    found.T0, found.US = T0, US
    return found
