"""A Wyoming service on a port of this machine: all three kinds in one, made of the protocol's own classes.

It hears how long the sound was, speaks a tone as long as the text, and wakes on what is loud.
"""

from __future__ import annotations

import asyncio
import sys

import numpy as np
from wyoming.asr import Transcribe, Transcript
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.event import Event
from wyoming.server import AsyncEventHandler, AsyncServer
from wyoming.tts import Synthesize
from wyoming.wake import Detect, Detection


class Handler(AsyncEventHandler):
    """One connection."""

    sound, wakes = b"", False

    async def handle_event(self, event: Event) -> bool:
        if Transcribe.is_type(event.type):
            assert Transcribe.from_event(event).language == "en"
        elif Detect.is_type(event.type):
            self.wakes = True
        elif AudioChunk.is_type(event.type):
            chunk = AudioChunk.from_event(event)
            assert (chunk.rate, chunk.width, chunk.channels) == (16_000, 2, 1)
            self.sound += chunk.audio
            if self.wakes and int(np.frombuffer(chunk.audio, "<i2").max()) > 1000:
                await self.write_event(Detection(name="okay_nabu").event())
        elif AudioStop.is_type(event.type) and not self.wakes:
            await self.write_event(Transcript(text=f" {len(self.sound) // 32_000} seconds. ").event())
        elif Synthesize.is_type(event.type):
            text = Synthesize.from_event(event).text
            await self.write_event(AudioStart(rate=22_050, width=2, channels=1).event())
            sound = np.full(len(text), 7, "<i2").tobytes()
            await self.write_event(AudioChunk(rate=22_050, width=2, channels=1, audio=sound).event())
            await self.write_event(AudioStop().event())
        return True


if __name__ == "__main__":
    asyncio.run(AsyncServer.from_uri(f"tcp://127.0.0.1:{sys.argv[1]}").run(Handler))
