"""The arbiter: what is said, what waits, what is held back, and why.

`decide` is a pure function of the service, the moment, the wearer's settings and the state; the state is a fold over
stored services and decisions, so `restore` after a restart gives the state the running arbiter had.

A service passes, in this order: is it too old, is it the same thing still holding, is it the same situation as one
just told, was it told today already, does it say what was just said, was it waved away, does the wearer want such
alerts, does the battery allow them, is it snoozed, is it quiet, does its type still cool down, is the budget spent, is
somebody talking.  Cooldowns and budgets run on the monotonic clock and are spent by delivery alone: what was held back
costs nothing.  What cannot be said now but could be before it grows stale waits; what then still is of use lies on a
shelf for the next digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from edge.clock import US, local_day
from edge.config import Alerts
from edge.proactive.alerts import PATIENCE, PROCEDURE_SPANS, Alert, alert
from edge.proactive.experts import HANDS_ON, ROUTER
from edge.proactive.patience import NOWHERE, Around, Wishes, plain, snoozed
from edge.proactive.patience_digest import fresh, put, shelved, told_by
from edge.proactive.patience_learning import NEUTRAL
from edge.proactive.quiet import minutes, quiet_now
from edge.retrieval.words import content, overlap
from storage.records import Decision, DecisionKind, Service
from storage.snapshot import Snapshot

KEEP_US = 30 * 3600 * US  # longer than any span of the tables and than a local day
REACH_US = KEEP_US + 6 * 3600 * US  # how far back a trigger may lie of what was asked for within KEEP_US
ALIKE_US = 15 * 60 * US
ALIKE = 0.7  # F1 of content words from which two texts say the same


@dataclass(frozen=True, slots=True)
class At:
    """A moment: wall time and monotonic time in microseconds, the wearer's UTC offset in seconds."""

    now: int
    mono: int
    offset_s: int


@dataclass(frozen=True, slots=True)
class Told:
    """One delivery; `step` says that it belonged to a procedure the wearer follows."""

    service_id: int
    type: str
    key: str
    text: str
    mono: int
    day: int
    step: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    """When a thing (type and key) was last asked for, and whether it was told since it began."""

    mono: int
    told: bool


@dataclass(frozen=True, slots=True)
class State:
    """What the arbiter remembers; a value."""

    told: tuple[Told, ...] = ()
    held: Mapping[tuple[str, str], Held] = field(default_factory=dict)
    pending: tuple[Service, ...] = ()
    shelf: tuple[Service, ...] = ()  # held back, for the next digest


@dataclass(frozen=True, slots=True)
class _Verdict:
    decision: DecisionKind
    reason: str


def decide(
    service: Service, at: At, settings: Alerts | Wishes, state: State, around: Around = NOWHERE
) -> tuple[Decision, State]:
    """Decide on a stored service (its id is set), newly asked for or waiting.  Raises LookupError on a type unknown."""
    row = alert(service.type)
    held = _held(service, at.mono, state)
    told = held is not None and held.told
    verdict = _judge(service, row, at, plain(settings), state, around, held_told=told)
    decided = Decision(service.id, at.now, verdict.decision, verdict.reason)
    return decided, pruned(_after(service, decided, at.mono, local_day(at.now, at.offset_s), state), at)


def repeat(service: Service, at: At, state: State) -> Decision | None:
    """The second and last saying of a critical alert that nobody can have heard; None when there is to be none."""
    row = alert(service.type)
    times = sum(t.service_id == service.id for t in state.told)
    if not row.critical or times != 1 or at.now - service.t > row.staleness_s * US:
        return None
    return Decision(service.id, at.now, "deliver", "repeat: it was not heard")


def still_told(kind: str, key: str, mono: int, state: State) -> State | None:
    """The state when a thing that was told is met again and still holds, noted as such; None when it is to be told."""
    held = state.held.get((kind, key))
    if held is None or not held.told or mono - held.mono >= alert(kind).rearm_s * US:
        return None
    return replace(state, held={**state.held, (kind, key): replace(held, mono=mono)})


def after(service: Service, decision: Decision, at: At, state: State) -> State:
    """The state once a decision that was not made by `decide` (a repeat, one that is over) has been stored."""
    return pruned(_after(service, decision, at.mono, local_day(at.now, at.offset_s), state), at)


def ranked(services: Iterable[Service]) -> list[Service]:
    """The order in which services that meet are decided on: highest priority first, then the oldest trigger."""
    return sorted(services, key=lambda s: (-alert(s.type).priority, s.t, s.id))


def restore(snapshot: Snapshot, at: At) -> State:
    """The state as it was known at the snapshot's time, from what was stored.

    Monotonic times do not survive a restart: each is taken to lie as long ago as the wall clock says, but never in
    the future, so that a clock set back cannot silence the device for longer than one cooldown.
    """
    asked = {s.id: s for s in snapshot.services.between(at.now - REACH_US)}
    decisions = [d for number in asked for d in snapshot.services.decisions(number)]
    state = State()
    for decision in sorted(decisions, key=lambda d: d.id):
        service = asked[decision.service_id]
        mono = at.mono - max(0, at.now - decision.t)
        state = _after(service, decision, mono, local_day(decision.t, service.offset_s), state)
    return pruned(state, at)


def _held(service: Service, mono: int, state: State) -> Held | None:
    """What is remembered of the thing a service is about, unless it had ended and this is a new occurrence."""
    held = state.held.get((service.type, service.key))
    if held is None or any(p.id == service.id for p in state.pending):
        return held
    row = alert(service.type)
    rearm_s = row.step_s if _step(service) else row.rearm_s
    return held if mono - held.mono < rearm_s * US else None


def _after(service: Service, decision: Decision, mono: int, day: int, state: State) -> State:
    """The state once a decision has been made."""
    held = _held(service, mono, state)
    waited = any(p.id == service.id for p in state.pending)
    told = decision.decision == "deliver"
    now_held = Held(
        held.mono if waited and held is not None else mono,
        told or (held is not None and held.told),
    )
    pending = tuple(p for p in state.pending if p.id != service.id)
    if decision.decision == "defer":
        pending = tuple(sorted((*pending, service), key=lambda s: s.id))
    said, shelf = state.told, state.shelf
    if told:
        said = (*said, Told(service.id, service.type, service.key, service.text, mono, day, _step(service)))
        shelf = told_by(shelf, service)
    elif decision.decision == "suppress" and not _step(service) and shelved(service, decision.reason, waited=waited):
        shelf = put(shelf, service)
    return State(said, {**state.held, (service.type, service.key): now_held}, pending, shelf)


def _judge(
    service: Service, row: Alert, at: At, wishes: Wishes, state: State, around: Around, *, held_told: bool
) -> _Verdict:
    left = service.t + row.staleness_s * US - at.now
    if left < 0:
        return _Verdict("suppress", f"stale: {minutes(at.now - service.t)} after its trigger")
    if held_told:
        return _Verdict("suppress", "same: it was told already and still holds")
    if _step(service):
        return _step_verdict(service, row, at, wishes, state, left, around)
    merge_us = row.merge_s * US
    for told in reversed(state.told):
        ago = at.mono - told.mono
        same = told.key == service.key or not row.critical  # two dangers at once are two
        if told.type == service.type and same and not told.step and ago < merge_us:
            return _Verdict("suppress", f"merged: with a{told.service_id}, {minutes(ago)} before")
    today = local_day(at.now, at.offset_s)
    if row.once_a_day:
        for told in state.told:
            if (told.type, told.key) == (service.type, service.key) and told.day == today:
                return _Verdict("suppress", f"once a day: told today as a{told.service_id}")
    if not (row.critical or row.asked):
        said = content(service.text)
        for told in reversed(state.told):
            if not told.step and at.mono - told.mono < ALIKE_US and overlap(said, content(told.text)) >= ALIKE:
                return _Verdict("suppress", f"alike: a{told.service_id} said so")
        if at.mono < wishes.waved.get((service.type, service.key), at.mono):
            return _Verdict("suppress", "waved away: you dismissed it")
    wait, reason = _blocked(service, row, at, wishes, state, today, around)
    if not reason:
        return _Verdict("deliver", "clear: nothing stood against it")
    if wait is not None and wait <= left:
        return _Verdict("defer", reason)
    return _Verdict("suppress", reason)


def _step(service: Service) -> bool:
    return service.expert in (ROUTER, HANDS_ON)


def _unwanted(service: Service, row: Alert, at: At, wishes: Wishes, around: Around) -> tuple[int | None, str]:
    """What the wearer or the battery does not want, and for how long (None: for good); no reason when it is wanted."""
    if row.critical:
        return 0, ""
    if wishes.leaning.get(row.type, NEUTRAL).priority(row.priority) < PATIENCE[wishes.frequency].min_priority:
        return None, f"frequency: {wishes.frequency} leaves out what matters less"
    if row.priority < around.least and service.expert != "device":  # what the device says of itself is about power
        return None, f"battery: {around.mode} leaves out what matters less"
    snooze = snoozed(service, wishes, around, at.mono)
    if snooze is not None:
        return None, f"snoozed: the {snooze.kind} {snooze.what}"
    if wishes.hush_mono is not None and at.mono < wishes.hush_mono:
        return wishes.hush_mono - at.mono, "do not disturb: you asked for silence"
    quiet = quiet_now(wishes.quiet, at.now, at.offset_s)
    if quiet.quiet:
        return quiet.left_us, f"quiet hours: until {quiet.until}"
    return 0, ""


def _step_verdict(
    service: Service, row: Alert, at: At, wishes: Wishes, state: State, left: int, around: Around
) -> _Verdict:
    """Inside a procedure: no merging and caps of its own, but what the wearer does not want binds there too."""
    _, unwanted = _unwanted(service, row, at, wishes, around)
    if unwanted:
        return _Verdict("suppress", unwanted)
    steps = [t for t in state.told if t.step]
    wait, reason = 0, ""
    last = max((t.mono for t in steps if t.type == service.type), default=None)
    if last is not None and at.mono - last < row.step_s * US:
        wait, reason = last + row.step_s * US - at.mono, "cooldown"
    for seconds, count in PROCEDURE_SPANS:
        recent = [t.mono for t in steps if at.mono - t.mono < seconds * US]
        if len(recent) >= count:
            wait, reason = max(wait, recent[-count] + seconds * US - at.mono), "budget"
    if not reason and around.busy:
        return _Verdict("defer", f"busy: {around.busy}")
    if not reason:
        return _Verdict("deliver", "clear: nothing stood against it")
    return _Verdict("defer" if wait <= left else "suppress", f"{reason}: {minutes(wait)} left")


def _blocked(
    service: Service, row: Alert, at: At, wishes: Wishes, state: State, today: int, around: Around
) -> tuple[int | None, str]:
    """What stands in the way and for how long in microseconds (None: for good); no reason when nothing does."""
    patience = PATIENCE[wishes.frequency]
    wait, unwanted = _unwanted(service, row, at, wishes, around)
    if unwanted:
        return wait, unwanted
    same = [t.mono for t in state.told if t.type == service.type and not t.step and _shares(t, service, row)]
    last = max(same, default=None)
    cooldown_us = row.cooldown_s * US
    if not row.critical:
        cooldown_us = round(wishes.leaning.get(row.type, NEUTRAL).cooldown_s(row.cooldown_s) * US)
    if last is not None and at.mono - last < cooldown_us:
        left = last + cooldown_us - at.mono
        return left, f"cooldown: {minutes(left)} left"
    if row.critical:
        return 0, ""
    talk = f"busy: {around.busy}" if around.busy else ""
    if row.asked or row.unbudgeted:
        return 0, talk
    budgeted = [t for t in state.told if alert(t.type).budgeted and not t.step]
    if budgeted:
        left = budgeted[-1].mono + patience.gap_s * US - at.mono
        if left > 0:
            return left, f"pause: {minutes(left)} left"
    for seconds, count in patience.spans:
        recent = [t.mono for t in budgeted if at.mono - t.mono < seconds * US]
        if len(recent) >= count:
            left = recent[-count] + seconds * US - at.mono
            return left, f"budget: {count} in {minutes(seconds * US)} are spent"
    if sum(1 for t in budgeted if t.day == today) >= patience.daily:
        return None, f"daily cap: {patience.daily} today"
    return 0, talk


def _shares(told: Told, service: Service, row: Alert) -> bool:
    """Critical types cool down for each thing by itself: a second danger is told at once."""
    return not row.critical or told.key == service.key


def pruned(state: State, at: At) -> State:
    """Without what no rule can reach any more."""
    edge = at.mono - KEEP_US
    told = tuple(t for t in state.told if t.mono > edge)
    held = {thing: h for thing, h in state.held.items() if h.mono > edge}
    return State(told, held, state.pending, fresh(state.shelf, at.now))
