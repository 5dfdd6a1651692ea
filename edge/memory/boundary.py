"""Who says whether an activity goes on: a model within a deadline, the rules whenever it does not answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from edge.errors import sentence_of
from edge.logs import Log
from edge.memory.consolidator import Consolidator
from models.errors import ModelError
from storage.records import Window

REST = 16  # windows at most that a model which failed is left alone
_log = Log("memory")


class Judge:
    """Asks a model for each window that may start an episode.  A failure costs one deadline, then ever fewer of them."""

    def __init__(self, mind: Callable[[], Consolidator | None]) -> None:
        self._mind = mind
        self._rest, self._failures = 0, 0
        self.by_model, self.by_rules = 0, 0
        self.fell_back = ""

    def goes_on(self, recent: Sequence[Window], arriving: Window, by_rules: bool) -> bool:
        """Whether the arriving window belongs to the open unit; `by_rules` is what the rules say.

        An answer that cannot be read means that it does (GROVE); no answer at all leaves it to the rules.
        """
        if self._rest > 0:
            self._rest -= 1
            self.by_rules += 1
            return by_rules
        try:
            mind = self._mind()
            said = by_rules if mind is None else mind.same_activity(recent, arriving)
        except ModelError as error:
            self._failures += 1
            self._rest = min(REST, 2**self._failures)
            self.by_rules += 1
            if not self.fell_back:
                _log.warning("rules_for_now", part="boundary", cause=error)
            self.fell_back = sentence_of(error)
            return by_rules
        if self.fell_back:
            _log.info("model_is_back", part="boundary")
        self._failures, self.fell_back = 0, ""
        self.by_model += 1
        return True if said is None else said

    def status(self) -> dict[str, Any]:
        """For /health."""
        return {"by_model": self.by_model, "by_rules": self.by_rules, "fell_back": self.fell_back}
