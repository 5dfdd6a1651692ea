"""Speaking one text now, outside a running session: for `ask --speak` and for trying a voice."""

from __future__ import annotations

import threading

from edge.config import Config
from edge.engines import Engines
from edge.errors import AudioError, sentence_of
from edge.voice.maker import SpeechMaker
from edge.voice.player import open_player
from edge.voice.spoken import sentences, speakable
from models.errors import ModelError


def speak_now(text: str, config: Config, speaker: str | None = None) -> list[str]:
    """Speak a text to its end; returns what went wrong, in sentences (empty: it was spoken)."""
    player = open_player(speaker or config.voice.speaker)
    if player.silent:
        return [player.problem or "The speaker is set to none: nothing was spoken."]
    engines = Engines(config)
    never = threading.Event()
    try:
        maker = SpeechMaker(engines.tts())
        chunks = (chunk for _, chunk in maker.chunks(sentences(speakable(text)), never))
        player.play(chunks, never)
        return [p for role in engines.status() for p in role.problems]
    except (AudioError, ModelError) as error:
        return [sentence_of(error)]
    finally:
        player.close()
        engines.close()
