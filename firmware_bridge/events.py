"""What goes into a session besides bytes and messages, and everything that comes out of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from firmware_bridge import protocol as p

MS = 1_000


@dataclass(frozen=True, slots=True)
class Settings:
    """Timing and limits of a session; times in microseconds."""

    keepalive_us: int = 1_000 * MS
    hello_first_us: int = 250 * MS
    hello_most_us: int = 2_000 * MS
    hello_refused_us: int = 10_000 * MS
    window: int = 32
    outbox: int = 1_024
    time_ping_us: int = 10_000 * MS
    """A host asks for the device's clock this often once it has four samples; four times a second before. 0: never."""


DEFAULTS = Settings()


@dataclass(frozen=True, slots=True)
class Restored:
    """What a journal kept of an earlier life: our queue (identity, next number, entries) and what we had committed."""

    stream: int
    next_seq: int = 1
    queued: tuple[tuple[int, int, bytes], ...] = ()
    """(sequence number, message number, payload), oldest first."""
    peer_stream: int = 0
    peer_committed: int = 0


class Transmit(NamedTuple):
    """Write these bytes to the line."""

    data: bytes


class Queued(NamedTuple):
    """An assured message got its number: write it to the journal before the Transmit that follows."""

    seq: int
    number: int
    payload: bytes


class Released(NamedTuple):
    """The peer has committed everything up to ``seq``: the journal may forget it."""

    seq: int


class Deliver(NamedTuple):
    """A message for the application. With a ``seq``, call ``commit(now, stream, seq)`` once it is stored."""

    message: p.Message
    stream: int = 0
    seq: int | None = None


class Up(NamedTuple):
    """The handshake is done; ``peer`` is the peer's greeting, ``version`` the one both speak."""

    peer: p.Hello
    version: int


class Down(NamedTuple):
    """The session ended: closed, silence, restarted, bye, version."""

    reason: str


class TimeSynced(NamedTuple):
    """peer clock = our clock + ``offset_us``, give or take half of ``rtt_us``; ``jump_us`` moved since the last one."""

    offset_us: int
    rtt_us: int
    jump_us: int


Output = Transmit | Queued | Released | Deliver | Up | Down | TimeSynced


@dataclass(slots=True)
class SessionStats:
    """Counts since the session object was made."""

    unknown: int = 0
    malformed: int = 0
    misdirected: int = 0
    duplicates: int = 0
    out_of_window: int = 0
    strays: int = 0
    lost_by_peer: int = 0
    resent: int = 0
    datagrams_lost: int = 0
    datagrams_dropped: int = 0
    handshakes: int = 0


def transmitted(outputs: Iterable[Output]) -> bytes:
    """All bytes to write that a list of outputs holds, in order."""
    return b"".join(o.data for o in outputs if isinstance(o, Transmit))
