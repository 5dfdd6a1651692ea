"""How long to wait before the line is tried again."""

from __future__ import annotations


class Backoff:
    """Doubling waits with a deterministic spread, so that two programs that lost the same hub do not march in step.

    ``first_s`` and ``most_s`` bound the wait; ``spread`` (0 to 1) shortens waits by up to that share.
    """

    def __init__(self, first_s: float = 0.25, most_s: float = 10.0, spread: float = 0.2, seed: int = 0) -> None:
        self.first_s, self.most_s, self.spread = first_s, most_s, spread
        self._state = seed & 0xFFFFFFFF
        self._wait = first_s

    def next_s(self) -> float:
        """Seconds to wait now; the next answer is twice as long."""
        wait = self._wait
        self._wait = min(2 * wait, self.most_s)
        self._state = (self._state * 1_664_525 + 1_013_904_223) & 0xFFFFFFFF  # Numerical Recipes' generator
        return wait * (1 - self.spread * self._state / 2**32)

    def reset(self) -> None:
        """The line proved good: start from the shortest wait."""
        self._wait = self.first_s
