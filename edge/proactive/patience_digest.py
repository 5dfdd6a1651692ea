"""The digest: what was held back is told in one sentence at a natural break, instead of one by one or never.

What had to give way to quiet hours, a snooze of everything, a full budget or somebody talking lies on a shelf for as
long as its row of the alert table says it is still of use.  At a break the most important of it is named, the rest is
counted; the digest passes the arbiter like any other alert.
"""

from __future__ import annotations

from collections.abc import Iterable

from edge.clock import US
from edge.proactive.alerts import alert, speak
from storage.records import Service

TYPE = "digest"
EXPERT = "arbiter"
# First words of reasons that hold back what was worth saying.
HELD_BACK = frozenset({"quiet hours", "do not disturb", "cooldown", "pause", "budget", "daily cap", "busy"})
MOST = 12  # more than so many are not kept: the oldest go


def shelved(service: Service, reason: str, *, waited: bool) -> bool:
    """Whether a service that was suppressed belongs on the shelf: held back, or grown stale while it had to wait."""
    if not alert(service.type).digest_s:
        return False
    word = reason.partition(":")[0]
    return word in HELD_BACK or (word == "stale" and waited)


def put(shelf: tuple[Service, ...], service: Service) -> tuple[Service, ...]:
    """The shelf with one more thing; the same thing (type and key) lies there once, as it was last asked for."""
    kept = tuple(s for s in shelf if (s.type, s.key) != (service.type, service.key))
    return (*kept, service)[-MOST:]


def fresh(shelf: Iterable[Service], now: int) -> tuple[Service, ...]:
    """What of the shelf is still of use at `now`."""
    return tuple(s for s in shelf if now - s.t <= alert(s.type).digest_s * US)


def told_by(shelf: tuple[Service, ...], service: Service) -> tuple[Service, ...]:
    """The shelf after a service was delivered: without it, and, if it was a digest, without what it told."""
    told = set(service.evidence) if service.type == TYPE else set()
    thing = (service.type, service.key)
    return tuple(s for s in shelf if f"a{s.id}" not in told and (s.type, s.key) != thing)


def digest(shelf: tuple[Service, ...], now: int, offset_s: int) -> Service | None:
    """The digest of what lies on the shelf at `now`; None when nothing does.  It triggers now and is known now."""
    lying = sorted(fresh(shelf, now), key=lambda s: (-alert(s.type).priority, -s.t, s.id))
    if not lying:
        return None
    first, *others = lying
    what = first.text.rstrip(".!?")
    more = f", and {len(others)} more" if others else ""
    text = speak(TYPE, what=what, more=more)
    key = ",".join(f"a{s.id}" for s in lying)
    return Service(TYPE, now, offset_s, text, tuple(f"a{s.id}" for s in lying), key, now, EXPERT)
