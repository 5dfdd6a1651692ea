"""Where the time of a turn goes: from the end of speech to the first sound.  Milliseconds, for the last turn and /health."""

from __future__ import annotations

from collections import deque


class Timing:
    """Stamps in monotonic microseconds, from the threads of the voice."""

    def __init__(self) -> None:
        self.turns = 0
        self.last: dict[str, int] = {}
        self.history: deque[dict[str, int]] = deque(maxlen=256)
        self._now: dict[str, int] = {}
        self._voiced = 0
        self._woke = 0

    def woke(self, spoken: int, noticed: int) -> None:
        """The wake word was completed by sound that ended at `spoken`."""
        self._woke = spoken
        self._now = {"wake_noticed": (noticed - spoken) // 1000}

    def barged(self, mono: int) -> None:
        """Somebody spoke over the device."""
        self._woke = mono

    def opened(self, kind: str) -> None:
        """A turn began."""
        self.turns += 1
        self._voiced = 0
        self._now = self._now if kind == "wake" else {}

    def voiced(self, mono: int) -> None:
        """Speech until here."""
        self._voiced = mono

    def decoded(self, took: int) -> None:
        """One decoding."""
        self._now["asr"] = took // 1000

    def ended(self, mono: int) -> None:
        """The turn's end was decided."""
        if self._voiced:
            self._now["endpoint"] = (mono - self._voiced) // 1000

    def thought(self, took: int) -> None:
        """The first sentence of the answer was there after so long."""
        self._now["answer"] = took // 1000

    def made(self, took: int) -> None:
        """The first sound of it."""
        self._now["tts"] = took // 1000

    def said(self, mono: int) -> None:
        """The answer was handed to the voice."""
        if self._voiced:
            self._now["to_voice"] = (mono - self._voiced) // 1000
        self.last = dict(self._now)
        self.history.append(self.last)
