"""The sender's half of assured delivery: what was queued, what is on its way, what must be sent again when.

The wait before sending again adapts to the line as in RFC 6298 (smoothed round trip plus four deviations, doubled at
each expiry); a later message seen by the peer before an earlier one sends the earlier one again at once (RFC 6675 in
spirit). Only a commit removes an entry: "seen" merely spares the line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

WAIT_FIRST_US = 200_000
WAIT_LEAST_US = 30_000
WAIT_MOST_US = 2_000_000


def ahead(a: int, b: int) -> int:
    """How far sequence number ``a`` is after ``b`` (negative: before), on the circle of 2**32."""
    return ((a - b + 0x80000000) & 0xFFFFFFFF) - 0x80000000


@dataclass(slots=True)
class Entry:
    """One queued message. ``tries`` is 0 until it is sent in this session."""

    seq: int
    number: int
    payload: bytes
    tries: int = 0
    sent_us: int = 0
    seen: bool = False


class Outbox:
    """Assured messages in order, with the sending window and the timers."""

    def __init__(self, stream: int, next_seq: int, queued: Iterable[tuple[int, int, bytes]], limit: int) -> None:
        self.stream = stream
        self._next = next_seq
        self._limit = limit
        self._entries: dict[int, Entry] = {seq: Entry(seq, number, payload) for seq, number, payload in queued}
        self._window = 0
        self._flying: dict[int, Entry] = {}  # sent in this session, not committed: at most one window
        self._unsent = self.base()
        self._srtt = self._deviation = self._progress_us = 0
        self._wait = WAIT_FIRST_US
        self._fast: list[Entry] = []

    def __len__(self) -> int:
        return len(self._entries)

    def full(self) -> bool:
        """No more messages are taken."""
        return len(self._entries) >= self._limit

    def base(self) -> int:
        """Sequence number of the oldest entry, or the next one to be given out."""
        return next(iter(self._entries), self._next)

    def add(self, number: int, payload: bytes) -> int:
        """Queue a message; returns its sequence number."""
        seq = self._next
        self._entries[seq] = Entry(seq, number, payload)
        self._next = (seq + 1) & 0xFFFFFFFF
        return seq

    def acceptable(self, committed: int) -> bool:
        """Whether an acknowledgement can be true: not beyond what was given out, not absurdly old."""
        return ahead(committed, self._next) < 0 and ahead(committed, self.base()) >= -0x10000

    def rewind(self, window: int) -> None:
        """A session begins: everything queued is sent anew, at most ``window`` ahead of the peer's commits."""
        self._window = window
        self._flying, self._fast = {}, []
        self._wait = WAIT_FIRST_US
        self._srtt = self._deviation = 0
        self._unsent = self.base()
        for entry in self._entries.values():
            if not entry.tries and not entry.seen:
                break  # those after it were never sent either
            entry.tries, entry.seen = 0, False

    def acknowledge(self, now_us: int, committed: int, seen: int) -> bool:
        """Drop what the peer committed, mark what it has seen; True when something was dropped."""
        count = ahead(committed, self.base()) + 1
        dropped = count > 0 and len(self._entries) > 0
        for _ in range(max(0, min(count, len(self._entries)))):
            entry = self._entries.pop(self.base())
            self._flying.pop(entry.seq, None)
            self._progress_us = now_us
            if entry.tries == 1 and not entry.seen:  # after a second try nobody knows which one was answered (Karn)
                self._measure(now_us - entry.sent_us)
        if ahead(self.base(), self._unsent) > 0:
            self._unsent = self.base()
        newest: Entry | None = None
        while seen:
            bit = seen.bit_length() - 1
            seen ^= 1 << bit
            mark = self._flying.get((committed + 1 + bit) & 0xFFFFFFFF)
            if mark is not None:
                if mark.tries == 1 and not mark.seen:
                    self._measure(now_us - mark.sent_us)
                mark.seen = True
                newest = newest or mark
        if newest is not None:
            self._fast = [
                e
                for e in self._flying.values()
                if not e.seen and ahead(e.seq, newest.seq) < 0 and (e.tries == 1 or now_us - e.sent_us > self._srtt)
            ]
        return dropped

    def due(self, now_us: int) -> Iterator[tuple[Entry, bool]]:
        """Entries to send now, oldest first, each with whether it was sent before."""
        for entry in self._fast:
            if not entry.seen and entry.seq in self._flying:
                yield self._sent(entry, now_us), True
        self._fast = []
        expired = [e for e in self._flying.values() if (due := self._due_us(e)) is not None and now_us >= due]
        if expired:
            self._wait = min(2 * self._wait, WAIT_MOST_US)
        for entry in expired:
            yield self._sent(entry, now_us), True
        end = (self.base() + self._window) & 0xFFFFFFFF
        while self._unsent != self._next and ahead(self._unsent, end) < 0:
            entry = self._entries[self._unsent]
            self._flying[entry.seq] = entry
            self._unsent = (self._unsent + 1) & 0xFFFFFFFF
            yield self._sent(entry, now_us), False

    def deadline(self) -> int | None:
        """When ``due`` has something to send again; None when nothing is on its way."""
        return min((due for e in self._flying.values() if (due := self._due_us(e)) is not None), default=None)

    def _due_us(self, entry: Entry) -> int | None:
        """When an entry is sent again. Of those the peer has seen only the oldest is, to ask whether it is committed."""
        if not entry.seen:
            return entry.sent_us + self._wait
        return max(entry.sent_us, self._progress_us) + self._wait if entry.seq == self.base() else None

    def _sent(self, entry: Entry, now_us: int) -> Entry:
        entry.tries += 1
        entry.sent_us = now_us
        return entry

    def _measure(self, rtt: int) -> None:
        if self._srtt == 0:
            self._srtt, self._deviation = rtt, rtt // 2
        else:
            self._deviation += (abs(self._srtt - rtt) - self._deviation) // 4
            self._srtt += (rtt - self._srtt) // 8
        self._wait = max(WAIT_LEAST_US, min(self._srtt + 4 * self._deviation, WAIT_MOST_US))
