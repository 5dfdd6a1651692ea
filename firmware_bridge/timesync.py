"""The peer's clock against ours, from pings: the clock filter of NTP (RFC 5905, section 10), cut down to one peer."""

from __future__ import annotations

from collections import deque

from firmware_bridge.events import TimeSynced
from firmware_bridge.protocol import TimePong

RTT_MOST_US = 2_000_000
STEP_US = 500_000


class ClockFilter:
    """Keeps the last eight samples and believes the quickest: the one that waited least was disturbed least."""

    def __init__(self) -> None:
        self.offset_us: int | None = None
        """Peer's clock minus ours; None until the first answer."""
        self._samples: deque[tuple[int, int]] = deque(maxlen=8)

    @property
    def samples(self) -> int:
        """How many samples the present offset rests on."""
        return len(self._samples)

    def pong(self, now_us: int, pong: TimePong) -> TimeSynced | None:
        """An answer that arrived at ``now_us``; None when its times cannot be true."""
        rtt = (now_us - pong.ping_us) - (pong.sent_us - pong.received_us)
        if not 0 <= rtt <= RTT_MOST_US or pong.ping_us > now_us:
            return None
        offset = (pong.received_us + pong.sent_us - pong.ping_us - now_us) // 2
        if self.offset_us is not None and abs(offset - self.offset_us) > STEP_US + rtt:
            self._samples.clear()  # one of the clocks was set: older samples are about another clock
        self._samples.append((rtt, offset))
        best_rtt, best = min(self._samples)
        jump = 0 if self.offset_us is None else best - self.offset_us
        self.offset_us = best
        return TimeSynced(best, best_rtt, jump)
