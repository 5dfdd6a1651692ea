"""A wake word that is listened for elsewhere, and goes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from voice_support import Mind

from edge.bus import Bus
from edge.clock import ReplayClock
from edge.messages import Health, Sound
from edge.voice.hearing import Hearing
from edge.voice.listener import Listener, Settings
from edge.voice.player import NullPlayer
from edge.voice.service import VoiceService


def test_its_absence_shows_in_the_health_and_is_told_once() -> None:
    wake = SimpleNamespace(problem="Nothing answers there: start the service.", feed=lambda _: None, reset=lambda: None)
    vad = SimpleNamespace(probability=lambda _: 0.0, reset=lambda: None, transcribe=lambda _: ())
    bus, clock = Bus(), ReplayClock(10**12)
    told = bus.subscribe("health")
    hearing = Hearing(lambda: [wake], list, lambda: vad, lambda: vad)  # type: ignore[list-item,return-value]
    hearing.load()
    listener = Listener(bus, VoiceService(bus, None, NullPlayer(), clock), Mind(), hearing, clock, Settings())
    states = []
    for n in range(6):
        wake.problem = "" if n >= 3 else wake.problem
        listener.hear(Sound(10**12 + n * 32_000, 0, np.zeros(512, np.float32)))
        states.append(listener.health()["state"])
    assert states == ["down"] * 3 + ["ok"] * 3
    parts = [(m.part, m.state) for _ in range(told.backlog()) if isinstance(m := told.get(0), Health)]
    assert parts == [("wake word", "down"), ("wake word", "ok")]
