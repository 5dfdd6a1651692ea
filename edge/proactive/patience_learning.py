"""Learning from how alerts are taken: a type that is waved away gets rarer, one that is thanked for less so.

Each dismissal counts one, each thanks takes one back, and both fade with a half-life, so that nothing is held against
a type for ever.  What is critical is never made rarer: its cooldown is its floor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from edge.clock import US
from storage.patience import Feedback

HALF_LIFE_US = 14 * 86_400 * US
MOST, LEAST = 4.0, -1.0  # how far a type may lean
WAVED_US = 12 * 3600 * US  # a thing that was waved away is not told again for so long
FELT = 0.25  # dismissals that have faded below this no longer tell
FIRST_COOLDOWN_S = 900  # from which a type that was waved away starts to stretch its cooldown


@dataclass(frozen=True, slots=True)
class Leaning:
    """How one type is taken: dismissals less thanks, faded; 0 is neutral, more is less welcome."""

    net: float = 0.0

    def cooldown_s(self, base_s: int) -> float:
        """The type's cooldown: doubled by each dismissal from a quarter of an hour on, at best halved by thanks."""
        if self.net >= FELT:
            return float(max(base_s, FIRST_COOLDOWN_S) * 2.0**self.net)
        return float(base_s * 2.0 ** min(0.0, self.net))

    def priority(self, base: int) -> int:
        """What the type weighs against the chosen frequency: a grade less from two dismissals on."""
        return base - 1 if self.net >= 2 else base


NEUTRAL = Leaning()


def leanings(feedback: Iterable[Feedback], now: int) -> Mapping[str, Leaning]:
    """What was learned up to `now`, by type, from feedback in the order it was given."""
    net: dict[str, float] = {}
    at: dict[str, int] = {}
    for given in feedback:
        before = _faded(net.get(given.type, 0.0), given.t - at.get(given.type, given.t))
        step = 1.0 if given.kind == "dismissed" else -1.0
        net[given.type] = min(MOST, max(LEAST, before + step))
        at[given.type] = given.t
    return {kind: Leaning(_faded(value, now - at[kind])) for kind, value in net.items()}


def waved_away(feedback: Iterable[Feedback]) -> dict[tuple[str, str], int]:
    """(type, key) -> until when (microseconds UTC) a thing stays waved away; thanks for it take that back."""
    found: dict[tuple[str, str], int] = {}
    for given in feedback:
        if given.kind == "dismissed":
            found[(given.type, given.key)] = given.t + WAVED_US
        else:
            found.pop((given.type, given.key), None)
    return found


def _faded(value: float, age_us: int) -> float:
    return float(value * 0.5 ** (max(0, age_us) / HALF_LIFE_US))
