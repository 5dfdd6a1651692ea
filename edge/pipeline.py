"""The memory side of the runtime as one deterministic pump: growth, then the experts and the arbiter.

Live, replay and the tests run this very code; only who sets the clock differs.
"""

from __future__ import annotations

from edge.clock import Clock, ReplayClock
from edge.config import Config
from edge.memory.growth import Growth
from edge.memory.patterns import Embed
from edge.messages import EpisodeClosed, Message
from edge.proactive.screening import Proactive
from storage import Store
from storage.records import Window


class Pipeline:
    """One memory, one owner.  With a ReplayClock it shows the recording's time to everything behind it."""

    def __init__(self, store: Store, embed: Embed, config: Config, clock: Clock) -> None:
        self._clock = clock
        self._replay = clock if isinstance(clock, ReplayClock) else None
        self.growth = Growth(store, embed, config.memory, config.owner.name)
        self.proactive = Proactive(store, config.alerts, clock)

    def catch_up(self) -> list[Message]:
        """What a killed run had grown but not yet screened."""
        return self.proactive.catch_up()

    def step(self, window: Window) -> list[Message]:
        """One perceived window through everything; returns what happened, in order."""
        happened = self.tick(window.t_start)
        self._show(window.known, window.offset_s)
        grown = self.growth.step(window)
        return happened + grown + self.proactive.step(grown)

    def tick(self, now: int) -> list[Message]:
        """Time passed without a window: an activity that stopped is closed."""
        return self._screened(self.growth.idle(now))

    def end(self) -> list[Message]:
        """The recording is over."""
        return self._screened(self.growth.end())

    def _screened(self, closed: list[Message]) -> list[Message]:
        for message in closed:
            if isinstance(message, EpisodeClosed):
                self._show(message.episode.known, message.episode.offset_s)
        return closed + (self.proactive.step(closed) if closed else [])

    def _show(self, t: int, offset_s: int) -> None:
        if self._replay is not None:
            self._replay.set(t, offset_s)
