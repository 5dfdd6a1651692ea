"""The ears of a running session: the listener with its models, and the mind it talks to."""

from __future__ import annotations

from edge.config import Voice
from edge.conversation import Conversation
from edge.runtime import Runtime
from edge.voice.echo import OwnVoice
from edge.voice.endpoint import Patience
from edge.voice.listener import Listener, Settings
from edge.voice.own_marks import OwnMarks

SAVING = ("saver", "critical")


def listener(runtime: Runtime, own: OwnVoice, marks: OwnMarks) -> Listener:
    """A listener on the runtime's bus; its models are loaded when it runs."""
    config, engines, wall = runtime.config, runtime.engines, runtime.wall
    assert runtime.asker is not None
    mind = Conversation(runtime.store, runtime.asker, runtime, wall)
    hearing = engines.hearing(lambda: runtime.power.mode in SAVING)
    return Listener(runtime.bus, runtime.voice, mind, hearing, wall, settings_of(config.voice), own, marks)


def settings_of(voice: Voice) -> Settings:
    """The settings file's section as the listener wants it."""
    return Settings(
        patience=Patience(
            voice.silence_s, voice.pause_s, max(voice.pause_s, voice.open_s), voice.wait_s, voice.longest_s
        ),
        chimes=voice.earcons,
        over_speech=voice.interrupt == "speech",
        volume=voice.volume,
        adapt_volume=voice.follow_noise,
    )
