"""A language model in the growth of the memory, as the settings choose it: who judges what, and the stage it works in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from edge.config import Config
from edge.logs import Log
from edge.memory.boundary import Judge
from edge.memory.consolidation import Consolidation, status
from edge.memory.consolidator import Consolidator
from edge.memory.patterns import Embed
from edge.messages import Message
from edge.thinkers import Thinkers, ThinkingRole
from models.disk_queue import DiskQueue
from models.errors import ModelDownError, ModelError
from models.roles import CallOptions
from storage import Store

ROLES: tuple[ThinkingRole, ...] = ("consolidation", "matching", "boundary")
SUFFIX = ".waiting"  # the folder beside the database where episodes wait for their model
REST = 32  # windows at most that a model which is away is not asked
BOUNDARY_SHARE = 0.5  # of a window: longer a boundary is not waited for
_log = Log("memory")


class Minds:
    """Who judges what now.  `resting` says that no model is to be asked (power is short)."""

    def __init__(self, thinkers: Thinkers, config: Config) -> None:
        self._thinkers, self._llm, self._memory = thinkers, config.llm, config.memory
        self._made: dict[ThinkingRole, Consolidator] = {}
        self.resting: Callable[[], bool] = lambda: False

    @property
    def consolidates(self) -> bool:
        """Whether the settings name a model for texts or matches."""
        return self._llm.consolidation != "rules" or self._llm.matching != "rules"

    @property
    def matches(self) -> bool:
        """Whether the settings name a model for matches."""
        return self._llm.matching != "rules"

    def consolidator(self) -> Consolidator | None:
        """Who writes episodes, moments, patterns and facts; None when rules do.  Raises ModelError, ConfigError."""
        return self._mind("consolidation", self._llm.thinking_timeout_s)

    def matcher(self) -> Consolidator | None:
        """Who matches episodes to patterns; None when rules do.  Raises ModelError, ConfigError."""
        return self._mind("matching", self._llm.thinking_timeout_s)

    def judge(self) -> Judge | None:
        """Who ends episodes in place of the rules; None when they do."""
        if self._llm.boundary == "rules":
            return None
        own = self._memory.growth(self._memory.profile)
        patience = self._llm.boundary_timeout_s or BOUNDARY_SHARE * own.window_s
        return Judge(lambda: self._mind("boundary", patience))

    def check(self) -> None:
        """Whether the settings make sense.  Raises ConfigError; a model that is merely away is none of its business."""
        for role in ROLES:
            try:
                self._mind(role, 1.0) if getattr(self._llm, role) != "rules" else None
            except ModelError as error:
                _log.warning("rules_for_now", part=role, cause=error)
        self._made.clear()

    def health(self) -> dict[str, Any]:
        """For /health: answers used and not used, by role."""
        return {role: dict(_counts(mind)) for role, mind in self._made.items()}

    def _mind(self, role: ThinkingRole, timeout_s: float) -> Consolidator | None:
        if self.resting() and getattr(self._llm, role) != "rules":
            raise ModelDownError("Power is short: the language model rests, and rules do its work.")
        if role not in self._made:
            model = self._thinkers.language(role)
            if model is None:
                return None
            self._made[role] = Consolidator(model, CallOptions(timeout_s=timeout_s), self._memory.domain)
        return self._made[role]


class Growing:
    """What of the growth a model does in one session: the judge of boundaries and the stage behind the episodes."""

    def __init__(self, minds: Minds, stage: Consolidation | None, judge: Judge | None, *, inline: bool) -> None:
        self.minds, self.stage, self.judge, self._inline = minds, stage, judge, inline
        self._rest = self._failures = 0

    def grown(self, messages: list[Message]) -> list[Message]:
        """What was grown takes its place in the line; inline it is worked off at once, and what changed is returned."""
        if self.stage is None:
            return []
        self.stage.take(messages)
        return self._work() if self._inline and messages else []

    def finish(self) -> list[Message]:
        """A recording is over: inline, what waits is tried once more."""
        if self.stage is None or not self._inline:
            return []
        self._rest = 0
        return self._work()

    def _work(self) -> list[Message]:
        """Work off the line; a model that is away is asked ever less often, for each asking may cost its patience."""
        stage = self.stage
        assert stage is not None
        if self._rest > 0:
            self._rest -= 1
            return stage.work(lambda: False, ask=False)
        changed = stage.work(lambda: False)
        self._failures = self._failures + 1 if stage.health.waiting_for else 0
        self._rest = min(REST, 2**self._failures) if self._failures else 0
        return changed

    @property
    def busy(self) -> bool:
        """Whether work waits that can be done now."""
        stage = self.stage
        return stage is not None and not stage.health.waiting_for and stage.queue.counts()["waiting"] > 0

    def health(self) -> dict[str, Any]:
        """For /health: what waits, who did how much, why somebody fell back."""
        return {
            "answers": self.minds.health(),
            "boundary": None if self.judge is None else self.judge.status(),
            "consolidation": None if self.stage is None else status(self.stage),
        }

    def fell_back(self) -> list[str]:
        """In words, why rules do what a model was named for."""
        told = [] if self.judge is None else [self.judge.fell_back]
        told += [] if self.stage is None else [self.stage.health.waiting_for]
        return [f"growth: {t}" for t in told if t]


def growing(
    thinkers: Thinkers, store: Store, embed: Embed, config: Config, db: Path, *, inline: bool = False
) -> Growing | None:
    """The model's part in the growth of a memory; None when the settings leave all of it to the rules.

    `inline`: a recording is replayed, and each episode is consolidated before the next window is taken in.
    Raises ConfigError when the settings name a model that they do not say how to reach.
    """
    minds = Minds(thinkers, config)
    judge = minds.judge()
    if judge is None and not minds.consolidates:
        return None
    minds.check()
    stage = None
    if minds.consolidates:
        queue = DiskQueue(db.with_name(db.name + SUFFIX))
        stage = Consolidation(store, embed, config.memory, minds, queue, upgrade=config.llm.upgrade)
    return Growing(minds, stage, judge, inline=inline)


def _counts(mind: Consolidator) -> list[tuple[str, int]]:
    return [(name, getattr(mind.health, name)) for name in mind.health.__dataclass_fields__]
