"""The senses and the voice of a session, made from the settings; what cannot be had is told and done without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edge import config as settings
from edge.ahead import soon
from edge.capture.device import GlassesLink
from edge.clock import Clock
from edge.config import Config, private_dir
from edge.engines import Engines
from edge.errors import sentence_of
from edge.logs import Log
from edge.perception.light import LightPerception
from edge.perception.vlm import VlmPerception
from edge.runtime import Options
from models.errors import ModelError
from storage.keyframes import KeyframeFolder

_log = Log("app")


def light(config: Config, engines: Engines, frames: KeyframeFolder, clock: Clock, *, sound: bool) -> LightPerception:
    """Light perception with what can be loaded; the detector must be, text and speech are told when they cannot."""
    missing: dict[str, str] = {}

    def optional(name: str, load: Callable[[], Any], wanted: bool) -> Any:
        if not wanted:
            return None
        try:
            return load()
        except ModelError as error:
            missing[name] = sentence_of(error)
            _log.warning("fell_back", part=name, cause=error)
            return None

    hear = config.perception.speech and sound
    light = LightPerception(
        engines.detector(),
        config.perception,
        ocr=optional("text", engines.ocr, True),
        asr=optional("speech", engines.asr, hear),
        vad=optional("speech", engines.vad, hear),
        keyframes=frames,
        mono=clock.mono,
        worn=config.memory.domain != "third-person",
    )
    if not hear:
        light.health.fell_back.pop("speech", None)
    light.health.fell_back.update(missing)
    return light


def seeing(
    light: LightPerception, config: Config, engines: Engines, clock: Clock, behind: Callable[[], bool]
) -> LightPerception:
    """Light perception with a vision-language model on top, if one can be had; else light, and told."""
    try:
        vision = engines.vision()
    except ModelError as error:
        light.health.fell_back["vision"] = sentence_of(error)
        _log.warning("fell_back", part="vision", cause=error)
        return light
    assert vision is not None
    exact = engines.thinkers.exact_vision
    return VlmPerception(
        light, vision, config.llm, mono=clock.mono, domain=config.memory.domain, exact_times=exact, behind=behind
    )


def glasses(config: Config, clock: Clock) -> GlassesLink | None:
    """The link to the glasses, if the owner named them.  Raises BridgeError when the address cannot be used."""
    if not config.device.glasses:
        return None
    journal = private_dir(settings.state_dir()) / "glasses.journal"
    return GlassesLink(config.device.glasses, clock, journal=journal, need_light=config.device.need_light)


def voice(engines: Engines, options: Options) -> Any:
    """The voice, or None when there is nothing to speak into or no voice can be had (told by the voice service)."""
    if options.speaker == "none":
        return None
    try:
        with soon():  # so are the threads it computes with
            return engines.voice_tts()
    except ModelError as error:
        _log.warning("fell_back", part="voice", cause=error)
        return None
