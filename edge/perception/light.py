"""Light perception: a window's frames and sound to an observation, without a language model.

It states what detectors saw, never more.  `step` is pure in the sense that matters: equal windows after equal stored
windows give equal rows, so a run can stop after any window and go on from the store with `prime`.  A model that fails
costs its part of the window, never the window; `health` tells.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from edge.config import Perception
from edge.errors import sentence_of
from edge.messages import Frame, Image, Observation, RawWindow, Sound
from edge.perception import registry, words
from edge.perception.faces import FaceBlur
from edge.perception.gate import HISTORY, FrameGate, KeyframeGate, Verdict, sharpness, thumbnail
from edge.perception.looks import light_of
from edge.perception.pixels import decode, encode, fitted
from edge.perception.registry import Carry, View, carry_of, confirm
from edge.perception.speech import hear, hear_whole, unfinished
from edge.perception.text import reading
from edge.perception.things import Sight, look
from edge.power import TIERS, TierRow
from models.errors import ModelError
from models.roles import ASR, OCR, SPEECH_RATE, VAD, Detector
from storage.errors import StorageError, StoreUnwritable
from storage.keyframes import KeyframeFolder
from storage.records import Caption, Keyframe, MadeBy, Utterance, Window

MADE_BY: MadeBy = "light"
GLANCES = 16  # frames looked at ahead of their window that are remembered
PRIME_WINDOWS = HISTORY  # stored windows that `prime` wants: each has a keyframe


@dataclass
class PerceptionHealth:
    """Counts since the start; `fell_back` says per part why it is not what it should be; `ms` per stage of the last window."""

    windows: int = 0
    frames: int = 0
    blurred: int = 0
    perceived: int = 0
    keyframes: int = 0
    fell_back: dict[str, str] = field(default_factory=dict)
    ms: dict[str, float] = field(default_factory=dict)

    @property
    def share_perceived(self) -> float:
        """Perceived anew, of all frames."""
        return self.perceived / self.frames if self.frames else 0.0

    @property
    def share_kept(self) -> float:
        """Stored as keyframes, of all frames."""
        return self.keyframes / self.frames if self.frames else 0.0


class LightPerception:
    """The perception stage.  Not for several threads at once; the models belong to the caller.

    `mono` gives monotonic microseconds, for `health.ms`.  `worn` is false for a camera that nobody wears: then
    a person at the frame's edge is a person and no hand is looked for.
    """

    def __init__(
        self,
        detector: Detector,
        settings: Perception,
        *,
        ocr: OCR | None = None,
        asr: ASR | None = None,
        vad: VAD | None = None,
        keyframes: KeyframeFolder | None = None,
        mono: Callable[[], int] | None = None,
        worn: bool = True,
    ) -> None:
        """Raises ConfigError when faces are to be blurred and there is no way to find them."""
        self._detector, self._ocr, self._asr, self._vad = detector, ocr, asr, vad
        self._settings, self._folder, self._mono, self._worn = settings, keyframes, mono, worn
        self._gate = FrameGate(settings.blur_min, settings.change_min, settings.ssim_max)
        self._keyframe_gate = KeyframeGate()
        self._faces = FaceBlur() if settings.blur_faces else None
        self._recent: deque[Window] = deque(maxlen=registry.CARRY_WINDOWS)
        self._glanced: dict[int, tuple[Sight | None, tuple[str, ...] | None]] = {}  # by time: seen before the window
        self.tier: TierRow = TIERS["full"]  # how much is looked for: the power mode sets it between windows
        self.hears = True  # whether speech is transcribed now
        self.others: Callable[[Sound], Sound] = lambda sound: sound  # takes the device's own voice out of a sound
        self._held: tuple[str, int, Sound] | None = None  # recording, end, a sentence that goes on there
        self.small_asr: ASR | None = None  # stands in for the chosen one while power is short
        self.views: tuple[View, ...] = ()  # of the last window, with boxes: for checks and screens
        self.health = PerceptionHealth()
        if ocr is None:
            self.health.fell_back["text"] = "There is no model that reads text."
        if settings.speech and (asr is None or vad is None):
            self.health.fell_back["speech"] = "There is no model that transcribes speech."

    def prime(self, windows: Sequence[Window]) -> None:
        """Go on after these stored windows (the newest PRIME_WINDOWS are enough), oldest first."""
        self._recent.clear()
        self._recent.extend(windows)
        self._held = None
        self._keyframe_gate.reset([])
        folder = self._folder
        if folder is None:
            return
        for keyframe in [k for w in windows for k in w.keyframes][-HISTORY:]:
            try:
                jpeg = folder.read(keyframe)
            except StorageError as error:  # forgotten or damaged: the gate knows one keyframe less
                self.health.fell_back["keyframes"] = sentence_of(error)
                continue
            self._remember(jpeg)

    def step(self, raw: RawWindow) -> list[Observation]:
        """Perceive one window."""
        self.health.ms = {}
        carry = carry_of(tuple(self._recent), raw.recording, raw.t_start)
        with self._timed("gate"):
            verdicts = self._gate.judge([f.image for f in raw.frames])
        chosen = _spread([i for i, v in enumerate(verdicts) if v.source == i], self.tier.frames)
        verdicts = [v if v.source in chosen else replace(v, source=None) for v in verdicts]
        read = set(_spread(chosen, self.tier.texts))
        seen = {i: self._seen(raw.frames[i]) for i in chosen}
        sights = {i: sight for i, (sight, _) in seen.items()}
        views = [self._view(raw.frames[i], sights[i], self._text(raw.frames[i], seen[i][1], i in read)) for i in chosen]
        views = confirm(views, carry, self._settings.object_score)
        self.views = tuple(views)
        window = self._compose(raw, verdicts, dict(zip(chosen, views, strict=True)), carry)
        with self._timed("keyframes"):
            keyframes = self._keep(raw, chosen, sights)
        window = replace(window, keyframes=keyframes, speech=self._speech(raw))
        self._recent.append(window)
        health = self.health
        health.windows += 1
        health.frames += len(raw.frames)
        health.blurred += sum(v.source is None for v in verdicts)
        health.perceived += len(chosen)
        health.keyframes += len(keyframes)
        return [Observation(window)]

    @property
    def detector(self) -> Detector:
        """What finds objects, for a quick look beside the windows."""
        return self._detector

    def glance(self, frame: Frame) -> View | None:
        """Look at a frame before its window is over, for danger; the window finds what was seen and does it once.

        None when the frame is too blurred to say anything of.  From one thread beside that of `step`.
        """
        if sharpness(frame.image) < self._settings.blur_min:
            return None
        lines = self._glanced.get(frame.t, (None, None))[1]
        sight = self._sight(frame)
        self._remember_glance(frame, sight, lines)
        return self._view(frame, sight, lines or ())

    def glance_text(self, frame: Frame) -> tuple[str, ...]:
        """The text of a frame before its window is over; nothing where the tier reads none."""
        if not self.tier.texts or sharpness(frame.image) < self._settings.blur_min:
            return ()
        lines = self._lines(frame.image)
        self._remember_glance(frame, self._glanced.get(frame.t, (None, None))[0], lines)
        return lines

    def _remember_glance(self, frame: Frame, sight: Sight | None, lines: tuple[str, ...] | None) -> None:
        while len(self._glanced) >= GLANCES and frame.t not in self._glanced:
            self._glanced.pop(next(iter(self._glanced)), None)
        self._glanced[frame.t] = (sight, lines)

    def caption_of(self, view: View) -> str:
        """The sentence a frame is told in."""
        return words.caption(view, text=False)

    def _seen(self, frame: Frame) -> tuple[Sight | None, tuple[str, ...] | None]:
        """What one frame shows, and its text where a glance has read it already."""
        sight, lines = self._glanced.pop(frame.t, (None, None))
        return (self._sight(frame), lines) if sight is None else (sight, lines)

    def _sight(self, frame: Frame) -> Sight | None:
        with self._timed("objects"):
            try:
                sight = look(self._detector, frame.image, self._settings.object_score, worn=self._worn)
            except ModelError as error:
                self.health.fell_back["objects"] = sentence_of(error)
                return None
        self.health.fell_back.pop("objects", None)
        return sight

    def _view(self, frame: Frame, sight: Sight | None, lines: tuple[str, ...]) -> View:
        height, width = frame.image.shape[:2]
        return View(
            frame.t,
            width,
            height,
            sight.things if sight else (),
            sight.weak if sight else frozenset(),
            lines,
            light_of(frame.image),
            thumbnail(frame.image),
            sight is not None,
        )

    def _text(self, frame: Frame, known: tuple[str, ...] | None, wanted: bool) -> tuple[str, ...]:
        """The text of a frame: as read at a glance, or read now where the tier wants it."""
        if not wanted:
            return ()
        return self._lines(frame.image) if known is None else known

    def _lines(self, image: Image) -> tuple[str, ...]:
        if self._ocr is None:
            return ()
        with self._timed("text"):
            try:
                found = self._ocr.read(image)
            except ModelError as error:
                self.health.fell_back["text"] = sentence_of(error)
                return ()
        self.health.fell_back.pop("text", None)
        return reading(found, self._settings.text_score)

    def _speech(self, raw: RawWindow) -> tuple[Utterance, ...]:
        asr, vad = self.small_asr or self._asr, self._vad
        held, self._held = self._held, None
        if not (self._settings.speech and self.hears) or asr is None or vad is None:
            return ()
        if raw.sound is None and held is None:
            return ()
        keep, found = self._settings.bystanders == "keep", list[Utterance]()
        with self._timed("speech"):
            try:
                if held is not None and (held[:2] != (raw.recording, raw.t_start) or raw.sound is None):
                    found += hear(held[2], vad, asr, raw.t_start, raw.t_end, bystanders=keep)  # it did not go on
                    held = None
                if raw.sound is not None:
                    sound = _after(None if held is None else held[2], self.others(raw.sound))
                    if held is None and raw.lead is not None:
                        sound = self._taken_up(raw.lead, sound)
                    said, rest = hear_whole(
                        sound, vad, asr, raw.t_start, raw.t_end, bystanders=keep, goes_on=raw.goes_on
                    )
                    found += said
                    self._held = None if rest is None else (raw.recording, raw.t_end, rest)
            except ModelError as error:
                self.health.fell_back["speech"] = sentence_of(error)
                return ()
        self.health.fell_back.pop("speech", None)
        return tuple(found)

    def _taken_up(self, lead: Sound, sound: Sound) -> Sound:
        """A window's sound after a restart, with the sentence that began in the window before, if one goes on."""
        assert self._vad is not None
        begun = unfinished(lead, self._vad)
        if begun is None:
            return sound
        whole = _after(begun, sound)
        spans = self._vad.speech_spans(whole.pcm)
        goes_on = bool(spans) and spans[0][1] > len(begun.pcm) / SPEECH_RATE
        return whole if goes_on else sound  # what ended there is in the window before

    def _compose(self, raw: RawWindow, verdicts: Sequence[Verdict], views: dict[int, View], carry: Carry) -> Window:
        ordered = list(views.values())
        captions = [
            Caption(raw.frames[i].t, words.caption(views[v.source], text=v.source == i))
            for i, v in enumerate(verdicts)
            if v.source is not None
        ]
        entities = registry.entities_of(ordered)
        events = registry.events_of(ordered, carry)
        texts = registry.texts_of(ordered)
        return Window(
            raw.recording,
            raw.t_start,
            raw.t_end,
            raw.offset_s,
            captions=tuple(captions),
            description=words.description(entities, events, [x.text for x in texts], ordered),
            entities=entities,
            events=events,
            texts=texts,
            scene=words.scene([v.light for v in ordered], [v.names for v in ordered]),
            made_by=MADE_BY,
            frames=len(raw.frames),
            gaps=raw.gaps,
        )

    def _keep(self, raw: RawWindow, chosen: Sequence[int], sights: dict[int, Sight | None]) -> tuple[Keyframe, ...]:
        if self._folder is None:
            return ()
        kept: list[Keyframe] = []
        for i in chosen:
            sight = sights[i]
            if kept and (sight is None or not self._keyframe_gate.is_new(sight.vector)):
                continue
            image = fitted(raw.frames[i].image, self._settings.keyframe_side_px)
            if self._faces is not None:
                image = self._faces.blur(image)
            jpeg = encode(image, self._settings.keyframe_quality)
            try:
                saved = self._folder.save(raw.frames[i].t, jpeg, image.shape[1], image.shape[0])
            except StoreUnwritable as error:  # a full disk: what was seen is told all the same, without its picture
                self.health.fell_back["keyframes"] = sentence_of(error)
                return tuple(kept)
            self.health.fell_back.pop("keyframes", None)
            seen = self._remember(jpeg)
            kept.append(saved if seen is None else replace(saved, look=seen))
        return tuple(kept)

    def _remember(self, jpeg: bytes) -> tuple[str, bytes] | None:
        """Tell the keyframe gate of a stored frame, by its stored bytes: a restart has nothing else.

        Returns how it looks, for the store: the model's id and its embedding.
        """
        try:
            vector = self._detector.detect(decode(jpeg)).embedding
        except ModelError as error:
            self.health.fell_back["objects"] = sentence_of(error)
            return None
        self._keyframe_gate.add(vector)
        return self._detector.id, np.asarray(vector, dtype="<f4").tobytes()

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        start = self._mono() if self._mono else 0
        try:
            yield
        finally:
            if self._mono:
                self.health.ms[stage] = self.health.ms.get(stage, 0.0) + (self._mono() - start) / 1000


def _after(first: Sound | None, then: Sound) -> Sound:
    """Two sounds as one; the second begins where the first ends."""
    return then if first is None else Sound(first.t, then.offset_s, np.concatenate([first.pcm, then.pcm]))


def _spread(indices: Sequence[int], most: int) -> list[int]:
    """At most so many of them, the first and the last among them, evenly in between."""
    if len(indices) <= most:
        return list(indices)
    if most <= 1:
        return list(indices[:most])
    return [indices[round(k * (len(indices) - 1) / (most - 1))] for k in range(most)]
