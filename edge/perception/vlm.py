"""Dual perception by a vision-language model, with light perception standing in whenever it cannot.

Light perception runs in any case: it finds the keyframes, reads text, hears speech, and is the window if the model is
off, down, too slow or writes nonsense; `made_by` says which it was.  The window never waits longer than its own length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from edge.clock import US, local
from edge.config import Domain, Llm
from edge.errors import sentence_of
from edge.messages import Frame, Observation, RawWindow
from edge.perception.light import LightPerception
from edge.perception.vlm_prompts import prompt_for, schema_for
from edge.perception.vlm_trace import MADE_BY, window_of
from models.breaker import Breaker
from models.errors import ModelCancelledError, ModelError
from models.roles import CallOptions, VisionLanguage
from storage.records import Window

SHARE_OF_WINDOW = 0.8  # of a window's length, for the model, when the settings name no patience
LEAST_S = 1.0  # less is not worth a call
SLOW_IN_A_ROW = 3
ALMOST_ONE = 0.98  # three thirds, as a table writes them
REST_S = 120.0  # after so many failures, before the model is tried again
MOMENTS_MAX = 61  # seconds of a window that an event may be dated at; longer windows: the frames' times alone


@dataclass
class VisionHealth:
    """Counts since the start.  `stood_in`: windows that light perception made, by the code of the reason."""

    described: int = 0
    frames: int = 0
    rejected_times: int = 0
    rejected_form: int = 0
    stood_in: dict[str, int] = field(default_factory=dict)


class VlmPerception(LightPerception):
    """Light perception that asks `vision` for more.  The model belongs to the caller.

    `exact_times` lets the schema name every time an event may have: for models under a grammar.  `behind` says whether
    windows wait already: then this one is not described.  `stopping` takes a call under way back.
    """

    def __init__(
        self,
        light: LightPerception,
        vision: VisionLanguage,
        settings: Llm,
        *,
        mono: Callable[[], int],
        domain: Domain = "daily",
        exact_times: bool = True,
        behind: Callable[[], bool] | None = None,
        stopping: Callable[[], bool] | None = None,
    ) -> None:
        self.__dict__.update(light.__dict__)  # the same models, gates and counts: it is that stage, with eyes
        self._vision, self._llm, self._domain = vision, settings, domain
        self._exact, self._behind, self._stopping = exact_times, behind, stopping
        self._ticks = mono
        self._breaker = Breaker("The vision model", mono=mono, failures=SLOW_IN_A_ROW, rest_s=REST_S)
        self.vision = VisionHealth()
        self._resting: Callable[[], bool] = lambda: False
        self._on_rest: Callable[[], None] = lambda: None
        self._rests = False
        self._share: Callable[[], float] = lambda: 1.0
        self._due = 1.0  # a window is described when it has come to one

    def rest_when(self, resting: Callable[[], bool], on_rest: Callable[[], None]) -> None:
        """Ask nothing of the model while `resting` (a power mode says so); `on_rest` is called once as that begins."""
        self._resting, self._on_rest = resting, on_rest

    def describe_some(self, share: Callable[[], float]) -> None:
        """Describe only so large a share of the windows (a power mode says how large), spread evenly."""
        self._share = share

    def prime(self, windows: Sequence[Window]) -> None:
        """Go on after these stored windows; those a model described name things otherwise than the detector does."""
        super().prime(windows)
        self._recent = type(self._recent)((w for w in self._recent if w.made_by != MADE_BY), self._recent.maxlen)

    def step(self, raw: RawWindow) -> list[Observation]:
        """Perceive one window."""
        began = self._ticks()
        (seen,) = super().step(raw)
        described = self._described(raw, seen.window, began)
        if described is None:
            return [seen]
        self._recent.pop()  # what light perception would carry on from, as after a restart
        return [Observation(described)]

    def _described(self, raw: RawWindow, light: Window, began: int) -> Window | None:
        frames = self._chosen(raw)
        if self._resting():
            if not self._rests:
                self._on_rest()
            self._rests = True
            self._stand_in("resting", "The power mode rests the vision model; light perception works.")
            return None
        self._rests = False
        if not frames:
            return None
        self._due = min(1.0, self._due + self._share())
        if self._due < ALMOST_ONE:
            self._stand_in("spared", "The power mode has some windows described; light perception works in between.")
            return None
        self._due = 0.0
        length = (raw.t_end - raw.t_start) / US
        patience = self._llm.vision_timeout_s or SHARE_OF_WINDOW * length
        left = patience - (self._ticks() - began) / US
        if self._behind is not None and self._behind():
            self._stand_in("behind", "Windows wait already: they are perceived without the vision model.")
            return None
        if left < min(LEAST_S, patience):
            self._stand_in("late", "Light perception took all of the time that a window has.")
            return None
        try:
            self._breaker.enter()
        except ModelError as error:
            self._stand_in(error.code, sentence_of(error))
            return None
        try:
            with self._timed("vision"):
                window = self._ask(raw, light, frames, left)
        except ModelCancelledError as error:
            self._breaker.left()
            self._stand_in(error.code, sentence_of(error))
            return None
        except ModelError as error:
            self._breaker.failed(sentence_of(error))
            self._stand_in(error.code, sentence_of(error))
            return None
        self._breaker.passed()
        self.health.fell_back.pop("vision", None)
        return window

    def _ask(self, raw: RawWindow, light: Window, frames: Sequence[Frame], seconds: float) -> Window:
        times = {_clock(f.t, raw.offset_s): f.t for f in frames}
        moments = _moments(raw, times)
        prompt = prompt_for(
            self._domain, list(times), [x.text for x in light.texts], [f"{u.speaker}: {u.text}" for u in light.speech]
        )
        schema = schema_for(list(times), list(moments), exact=self._exact)
        options = CallOptions(max_tokens=self._llm.vision_tokens, timeout_s=seconds, cancelled=self._stopping)
        pictures: list[Any] = [f.image if self._faces is None else self._faces.blur(f.image) for f in frames]
        said = self._vision.describe(pictures, prompt, schema, options)
        window, rejected = window_of(said, light, times, moments)
        counts = self.vision
        counts.described += 1
        counts.frames += len(frames)
        counts.rejected_times += rejected.times
        counts.rejected_form += rejected.form
        return window

    def _chosen(self, raw: RawWindow) -> list[Frame]:
        """The frames that were perceived anew, one a second at most, thinned out evenly to what the settings allow."""
        fresh = {v.t for v in self.views}
        by_second: dict[int, Frame] = {}
        for frame in raw.frames:
            if frame.t in fresh:
                by_second.setdefault(frame.t // US, frame)
        frames = list(by_second.values())
        most = self._llm.vision_frames
        if len(frames) <= most:
            return frames
        step = (len(frames) - 1) / max(1, most - 1)
        return [frames[round(i * step)] for i in range(most)]

    def _stand_in(self, code: str, told: str) -> None:
        counts = self.vision.stood_in
        counts[code] = counts.get(code, 0) + 1
        self.health.fell_back["vision"] = told


def _clock(t: int, offset_s: int) -> str:
    return local(t, offset_s).strftime("%H:%M:%S")


def _moments(raw: RawWindow, frames: dict[str, int]) -> dict[str, int]:
    """Local times an event of the window may have, in order; a frame's own time is exact, the others are whole seconds."""
    made = dict(frames)
    if (raw.t_end - raw.t_start) // US < MOMENTS_MAX:
        first = -(-raw.t_start // US)
        for second in range(first, -(-raw.t_end // US)):
            made.setdefault(_clock(second * US, raw.offset_s), second * US)
    return dict(sorted(made.items(), key=lambda item: item[1]))
