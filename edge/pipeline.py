"""The memory side of the runtime as one deterministic pump: growth, then the experts and the arbiter.

Live, replay and the tests run this very code; only who sets the clock differs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from edge.agent.standing import StandingWatch
from edge.clock import US, Clock, ReplayClock
from edge.config import Alerts, Config
from edge.growing import Growing
from edge.logs import Log
from edge.memory.growth import Growth
from edge.memory.patterns import Embed
from edge.messages import EpisodeClosed, Message, PatternChanged, ServiceAsked, ServiceDecided, WindowCommitted
from edge.proactive.alerts import speak
from edge.proactive.library import stored, under_way
from edge.proactive.model_experts import ModelExperts
from edge.proactive.screening import Proactive
from storage import Store
from storage.errors import BadRecord, StorageError
from storage.records import Window

_log = Log("memory")
Changed = TypeVar("Changed")


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
    """One memory, one owner.  With a ReplayClock it shows the recording's time to everything behind it.

    When the store cannot be written, `step` and `tick` raise StorageError and may be called again with the same
    argument: nothing is taken in twice and nothing is left out.
    """

    def __init__(
        self, store: Store, embed: Embed, config: Config, clock: Clock, growing: Growing | None = None
    ) -> None:
        """`growing` is a language model's part in the growth, whose stage somebody else works off unless it is inline."""
        self._clock, self._store, self._owner = clock, store, config.owner.name
        self._profile = config.memory.profile
        self._replay = clock if isinstance(clock, ReplayClock) else None
        self._growing = growing
        self._grow: Callable[[], Growth] = partial(
            Growth, store, embed, config.memory, config.owner.name, None if growing is None else growing.judge,
            match=growing is None or not growing.minds.matches,
        )  # fmt: skip
        self.growth = self._grow()
        self._expert: Callable[[Alerts], Proactive] = lambda alerts: Proactive(store, alerts, clock, config.owner.name)
        self.proactive = self._expert(config.alerts)
        self.standing = StandingWatch(store, self._asked_for, config.owner.name)
        self._unscreened: list[Message] = []  # grown and stored, not yet past the experts
        self._unwatched: list[Message] = []  # past the experts, not yet held against standing questions
        self._happened: list[Message] = []  # all of it done, not yet told
        self._taken = ("", 0)  # the window stored last: its recording and start
        self._stale = False  # whether a failed write may have left the growth ahead of the store
        self._library = -1  # which state of the stored procedures is followed
        self._hands_on = ""  # the recording in which a procedure is under way
        self._follow()

    def think(self, experts: ModelExperts | None) -> None:
        """Let experts by a model offer services beside the rules; None: no longer."""
        if self.proactive.thinker is not None:
            self.proactive.thinker.close()
        self.proactive.thinker = experts

    def catch_up(self) -> list[Message]:
        """What a killed run had grown but not yet screened."""
        if self._growing is not None and self._growing.stage is not None:
            self._growing.stage.catch_up()
        return self.proactive.catch_up()

    def step(self, window: Window) -> list[Message]:
        """One perceived window through everything; returns what happened, in order."""
        self._screen()
        self._follow()
        if self._taken != (window.recording, window.t_start):
            self._close(lambda growth: growth.idle(window.t_start))
            self._show(window.known, window.offset_s)
            try:
                self._unscreened += self._grown(lambda growth: growth.step(replace(window, profile=self._profile)))
            except BadRecord as error:  # it never can be stored, and must not hold up all after it
                _log.warning("window_left_out", recording=window.recording, t_start=window.t_start, cause=error)
            self._taken = (window.recording, window.t_start)
            self._screen()
            self._hands_on = window.recording if self.proactive.under_way else ""
            self.growth.follow(self._hands_on)
        return self._tell()

    def announce(self, kind: str, key: str, text: str) -> list[Message]:
        """An alert of the device about itself, past the arbiter."""
        return self.proactive.announce(kind, key, self._clock.now(), text)

    def tick(self, now: int) -> list[Message]:
        """Time passed without a window: an activity that stopped is closed."""
        self._close(lambda growth: growth.idle(now))
        self._happened += self.standing.tick(now)
        return self._tell()

    def end(self) -> list[Message]:
        """The recording is over."""
        self._close(lambda growth: growth.end())
        if self._growing is not None:
            self._happened += self._growing.finish()
        return self._tell()

    def settled(self) -> list[Message]:
        """Finish what a failed step may have left half done; returns what happened."""
        self._screen()
        return self._tell()

    def renewed(self, change: Callable[[], Changed]) -> Changed:
        """Change what is stored between two steps; afterwards nothing held in memory tells of what was before.

        To be called after `settled`.  What `change` raises is raised; then the memory is read again all the same.
        """
        stage = None if self._growing is None else self._growing.stage
        try:
            if stage is not None:
                stage.renew()
            return change()
        finally:
            if stage is not None:
                stage.renew()
            self._stale, self._library = True, -1
            before, self.proactive = self.proactive, self._expert(self.proactive.alerts)
            self.proactive.busy, self.proactive.mode = before.busy, before.mode
            self.proactive.thinker = before.thinker

    def _follow(self) -> None:
        """Take up the procedures that are stored now, if they are not the ones that were."""
        with self._store.snapshot() as snapshot:
            state = snapshot.procedures.stamp()
            if state != self._library:
                self.proactive.follow(stored(snapshot))
                self._library, self._hands_on = state, under_way(snapshot, self._owner)
                self.growth.follow(self._hands_on)

    def _close(self, close: Callable[[Growth], list[Message]]) -> None:
        self._screen()
        for message in self._grown(close):
            if isinstance(message, EpisodeClosed):
                self._show(message.episode.known, message.episode.offset_s)
            self._unscreened.append(message)
        self._screen()

    def _grown(self, change: Callable[[Growth], list[Message]]) -> list[Message]:
        if self._stale:
            self.growth, self._stale = self._grow(), False
            self.growth.follow(self._hands_on)
        try:
            return change(self.growth)
        except StorageError:
            self._stale = True
            raise

    def _screen(self) -> None:
        """What was grown past the experts and the arbiter."""
        grown = self._unscreened
        if grown:
            self._happened += [*grown, *self.proactive.step(grown)]
            self._unscreened, self._unwatched = [], [*self._unwatched, *grown]
            if self._growing is not None:
                self._happened += self._growing.grown(grown)
        if self._unwatched:
            self._happened += self.standing.step(self._unwatched)
            self._unwatched = []

    def _asked_for(self, kind: str, key: str, t: int, text: str, evidence: tuple[str, ...]) -> list[Message]:
        return self.proactive.announce(kind, key, t, speak(kind, text=text), evidence)

    def _tell(self) -> list[Message]:
        happened, self._happened = self._happened, []
        return happened

    def _show(self, t: int, offset_s: int) -> None:
        if self._replay is not None:
            self._replay.set(t, offset_s)
