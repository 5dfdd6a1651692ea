"""What the models cost, by role and day: calls, failures, tokens, pictures, seconds, bytes that left, estimated joules.

Joules are seconds times the power the board draws while it computes (or waits): an estimate, named so wherever it shows.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from models.roles import Usage

log = logging.getLogger(__name__)

DAYS_KEPT = 62
_SAVE_EVERY = 20  # calls


@dataclass(slots=True)
class Cost:
    """Sums of one role, place (local, remote) and model on one day."""

    calls: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    images: int = 0
    seconds: float = 0.0
    bytes_sent: int = 0
    joules_estimated: float = 0.0


class Meter:
    """Thread-safe.  `day` gives the local day as YYYY-MM-DD; `path` None: nothing is kept across runs."""

    def __init__(self, path: Path | None, day: Callable[[], str]) -> None:
        self._path, self._day = path, day
        self._lock = threading.Lock()
        self._days: dict[str, dict[str, Cost]] = {}
        self._unsaved = 0
        if path is not None and path.is_file():
            try:
                stored = json.loads(path.read_text(encoding="utf-8"))
                self._days = {d: {k: Cost(**c) for k, c in costs.items()} for d, costs in stored.items()}
            except (OSError, ValueError, TypeError, AttributeError) as error:
                log.warning("The costs of earlier days in %s are unreadable and begin anew: %s", path, error)

    def enter(
        self, role: str, where: str, model: str, costs: Sequence[Usage], *, failed: bool, watts: float = 0.0
    ) -> None:
        """Add one call; a repaired answer cost several requests."""
        with self._lock:
            day = self._days.setdefault(self._day(), {})
            sums = day.setdefault(f"{role}/{where}/{model}", Cost())
            sums.calls += 1
            sums.failed += failed
            for cost in costs:
                sums.prompt_tokens += cost.prompt_tokens
                sums.completion_tokens += cost.completion_tokens
                sums.images += cost.images
                sums.seconds = round(sums.seconds + cost.seconds, 3)
                sums.bytes_sent += cost.bytes_sent
                sums.joules_estimated = round(sums.joules_estimated + cost.seconds * watts, 1)
            for old in sorted(self._days)[:-DAYS_KEPT]:
                del self._days[old]
            self._unsaved += 1
            if self._unsaved >= _SAVE_EVERY:
                self._save()

    def rows(self) -> list[dict[str, Any]]:
        """One row for each day, role, place and model, the newest day first."""
        with self._lock:
            return [
                {"day": day, "role": role, "where": where, "model": model, **asdict(cost)}
                for day in sorted(self._days, reverse=True)
                for key, cost in sorted(self._days[day].items())
                for role, where, model in [key.split("/", 2)]
            ]

    def close(self) -> None:
        """Keep what was counted."""
        with self._lock:
            if self._unsaved:
                self._save()

    def _save(self) -> None:
        self._unsaved = 0
        if self._path is None:
            return
        stored = {d: {k: asdict(c) for k, c in costs.items()} for d, costs in self._days.items()}
        part = self._path.with_suffix(".part")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            part.write_text(json.dumps(stored), encoding="utf-8")
            part.chmod(0o600)
            part.replace(self._path)
        except OSError as error:
            log.warning("The costs of the models cannot be saved: %s", error)
