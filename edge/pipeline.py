"""The memory side of the runtime as one deterministic pump: growth, then the experts and the arbiter.

Live, replay and the tests run this very code; only who sets the clock differs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from edge.clock import US, Clock, ReplayClock
from edge.config import Config
from edge.memory.growth import Growth
from edge.memory.patterns import Embed
from edge.messages import EpisodeClosed, Message, PatternChanged, ServiceAsked, ServiceDecided, WindowCommitted
from edge.proactive.screening import Proactive
from storage import Store
from storage.records import Window


@dataclass(slots=True)
class Totals:
    """What a session added to the memory; `recorded_s` is how much worn time its windows cover, seconds."""

    windows: int = 0
    episodes: int = 0
    moments: int = 0
    patterns: int = 0
    services: int = 0
    delivered: int = 0
    recorded_s: float = 0.0
    services_by_type: dict[str, int] = field(default_factory=dict)

    def count(self, messages: list[Message]) -> None:
        """Add what one step did."""
        for message in messages:
            if isinstance(message, WindowCommitted):
                self.windows += 1
                self.recorded_s = round(self.recorded_s + (message.window.t_end - message.window.t_start) / US, 3)
            elif isinstance(message, EpisodeClosed):
                self.episodes += 1
                self.moments += message.moments
            elif isinstance(message, PatternChanged):
                self.patterns += message.new
            elif isinstance(message, ServiceAsked):
                self.services += 1
                kind = message.service.type
                self.services_by_type[kind] = self.services_by_type.get(kind, 0) + 1
            elif isinstance(message, ServiceDecided):
                self.delivered += message.decision.decision == "deliver"


class Pipeline:
    """One memory, one owner.  With a ReplayClock it shows the recording's time to everything behind it."""

    def __init__(self, store: Store, embed: Embed, config: Config, clock: Clock) -> None:
        self._clock = clock
        self._profile = config.memory.profile
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
        grown = self.growth.step(replace(window, profile=self._profile))
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
