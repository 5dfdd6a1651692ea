"""Screening: each committed window past the experts, what they ask for past the arbiter, all of it one transaction.

Everything is read through snapshots at the time the unit was known, so a window screened again from the store after a
crash gives the very rows an uninterrupted run gives.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from edge.clock import US, Clock, ReplayClock
from edge.config import Alerts
from edge.memory.bounds import bounded
from edge.messages import EpisodeClosed, Message, Say, ServiceAsked, ServiceDecided, WindowCommitted
from edge.power import MODES, Mode
from edge.proactive.alerts import alert
from edge.proactive.circumstances import around, experts_in
from edge.proactive.experts import UNIT_FALLBACK_US, UNIT_FLOOR_US, Expert, Screening
from edge.proactive.experts_a import PresentExpert
from edge.proactive.experts_b import LongTermExpert
from edge.proactive.experts_c import EpisodicExpert
from edge.proactive.experts_r import ProcedureExpert
from edge.proactive.model_experts import ModelExperts
from edge.proactive.notifier import At, State, after, decide, ranked, repeat, restore, still_told
from edge.proactive.patience import NOWHERE, Around, Wishes, wishes_of
from edge.proactive.patience_digest import digest
from edge.proactive.procedures import Procedure
from edge.proactive.slots import gather
from edge.proactive.unlisted import UnlistedExpert
from storage import Store
from storage.errors import NotFound
from storage.records import Decision, Episode, Service, Window
from storage.snapshot import Snapshot

STAGE = "proactive"
TAKEN = "taken"  # up to this window another memory was taken in: its closings are no occasion to speak
COALESCE = 10  # windows that wrote nothing may be screened again after a crash: up to so many share one cursor write
CHUNK = 256
PRESENT_US = 120 * US  # a unit known for longer is no longer judged by a model: it would speak of the past
LOOKBACK_US = 1200 * US


@dataclass(frozen=True, slots=True)
class _Unit:
    """What is to be screened: a window that was committed, or the episode of an idle closing."""

    window_id: int
    episode_id: int
    known: int


class Proactive:
    """Experts and arbiter over one memory; one call at a time, the others wait.

    `busy` says why nobody should be spoken to right now, "" when one may: the runtime knows, a recording does not.
    """

    def __init__(
        self,
        store: Store,
        alerts: Alerts,
        clock: Clock,
        owner: str = "",
        experts: Sequence[Expert] | None = None,
        procedures: Mapping[str, Procedure] | None = None,
    ) -> None:
        self._store, self._alerts, self._clock = store, alerts, clock
        wearer = frozenset({"wearer", "me", "i", "", owner.lower()})
        own: list[Expert] = [
            PresentExpert(wearer),
            LongTermExpert(wearer),
            EpisodicExpert(wearer),
            UnlistedExpert(wearer, self._eager, lambda: self.under_way),
        ]
        self._wearer = wearer
        self._experts = own if experts is None else list(experts)
        if experts is None:
            self.follow(procedures or {})
        self.thinker: ModelExperts | None = None  # experts by a model, beside those by rules
        self.busy: Callable[[], str] = lambda: ""
        self.mode: Mode | None = None  # the power mode between windows
        self._live = not isinstance(clock, ReplayClock)
        self._lock = threading.RLock()
        self._wishes: tuple[tuple[int, int], Wishes] | None = None
        self._around = NOWHERE
        self._talked_over: set[int] = set()  # deferred because somebody talked
        self._unheard: deque[int] = deque()
        self._unit: Screening | None = None
        self._state: State | None = None
        self._as_of: tuple[str, int] = ("", 0)
        self._newest = (0, 0)
        self._behind = 0

    def follow(self, procedures: Mapping[str, Procedure]) -> None:
        """These are the procedures that the wearer may follow from now on."""
        self._experts = [e for e in self._experts if not isinstance(e, ProcedureExpert)]
        if procedures:
            self._experts.append(ProcedureExpert(procedures, self._wearer))

    def _eager(self) -> bool:
        """Whether the wearer wants to hear everything."""
        return (self._alerts if self._wishes is None else self._wishes[1]).frequency == "high"

    @property
    def under_way(self) -> bool:
        """Whether a procedure is being followed, as of the last window screened."""
        return any(e.under_way for e in self._experts if isinstance(e, ProcedureExpert))

    @property
    def alerts(self) -> Alerts:
        """The wearer's settings in force."""
        return self._alerts

    @alerts.setter
    def alerts(self, alerts: Alerts) -> None:
        self._alerts, self._wishes = alerts, None

    def step(self, messages: list[Message]) -> list[Message]:
        """Screen what growth returned for one window: services asked for, decisions, and what to say.

        Raises StorageError when nothing could be stored; then nothing was, and the same call may be repeated.
        """
        windows = {m.window.id for m in messages if isinstance(m, WindowCommitted)}
        out: list[Message] = []
        with self._lock:
            for message in messages:
                if isinstance(message, WindowCommitted):
                    out += self._screen(_Unit(message.window.id, 0, message.window.known))
                elif isinstance(message, EpisodeClosed) and message.window_id not in windows:
                    out += self._screen(_Unit(0, message.episode.id, message.episode.known))
        return out

    def catch_up(self) -> list[Message]:
        """Screen from the store what growth had committed and screening had not finished with."""
        out: list[Message] = []
        with self._lock:
            for unit in self._unscreened():
                out += self._screen(unit)
        return out

    def announce(self, kind: str, key: str, t: int, text: str, evidence: tuple[str, ...] = ()) -> list[Message]:
        """Put an alert of the device about itself past the arbiter, at the clock's time."""
        with self._lock:
            now = max(self._clock.now(), t)
            at = self._at(now, self._clock.offset())
            with self._store.snapshot(now) as snapshot:
                state = self._current(snapshot, "", at)
            asked = Service(kind, t, at.offset_s, text, evidence, key, now, "device")
            return self._settle([asked], [], state, at, None, ("", now))

    def warn(self, key: str, t: int, text: str) -> list[Message]:
        """Danger seen in one frame at t, past the arbiter at once; its window is still going on."""
        with self._lock:
            now = max(self._clock.now(), t)
            at = self._at(now, self._clock.offset())
            with self._store.snapshot(now) as snapshot:
                state = self._current(snapshot, "", at)
            again = still_told("safety", key, at.mono, state)
            if again is not None:
                self._state = again
                return []  # no row for every frame that shows it
            asked = Service("safety", t, at.offset_s, text, (), key, now, "A", "light")
            return self._settle([asked], [], state, at, None, ("", now))

    def unheard(self, service_id: int) -> None:
        """A delivered alert cannot have been heard: the voice failed, or was cut off.  From any thread."""
        self._unheard.append(service_id)

    def tick(self) -> list[Message]:
        """Between windows, live: say what waited for somebody to stop talking, repeat once what is critical and unheard."""
        with self._lock:
            if self._state is None or not self._live:
                return []
            at = self._at(self._clock.now(), self._clock.offset())
            out = self._repeats(at)
            thought = [] if self.thinker is None else self.thinker.collect()
            if thought:
                out += self._settle(thought, [], self._state, at, None, self._as_of)
            if self._talked_over and not self.busy():
                waiting = [s for s in self._state.pending if s.id in self._talked_over]
                self._talked_over.clear()
                out += self._settle([], [(s, False) for s in waiting], self._state, at, None, self._as_of)
            return out

    def _repeats(self, at: At) -> list[Message]:
        out: list[Message] = []
        while self._unheard:
            number = self._unheard.popleft()
            with self._store.snapshot() as snapshot:
                service = snapshot.services.get(number)
            assert self._state is not None
            decision = repeat(service, at, self._state)
            if decision is not None:
                with self._store.transaction() as tx:
                    decision = replace(decision, id=tx.services.decide(decision))
                self._state = after(service, decision, at, self._state)
                out += [ServiceDecided(service, decision), _say(service, at)]
        return out

    def _unscreened(self) -> Iterator[_Unit]:
        with self._store.snapshot() as snapshot:
            cursor, taken = snapshot.services.cursor(STAGE), snapshot.services.cursor(TAKEN)
            ends = {w.id: w for w in map(snapshot.trace.last, snapshot.trace.recordings()) if w is not None}
        last = max(ends, default=0)
        if cursor in ends and cursor > taken:
            yield from self._ended(ends[cursor])
        for start in range(cursor + 1, last + 1, CHUNK):
            with self._store.snapshot() as snapshot:
                windows = snapshot.trace.span(start, min(start + CHUNK - 1, last))
            for window in windows:
                with self._store.snapshot(window.known) as snapshot:
                    closed = _closed_since(snapshot, window, _before(snapshot, window))
                idle = [e for e in closed if e.known < window.known]
                for episode in idle:
                    yield _Unit(0, episode.id, episode.known)
                yield _Unit(window.id, 0, window.known)
                if window.id in ends:
                    yield from self._ended(window)

    def _thought(self, unit: Screening, snapshot: Snapshot) -> list[Service]:
        """What the experts by a model ask for; live they judge in the background and `tick` brings what they found."""
        if self.thinker is None or unit.window is None:
            return []
        course = next((e.course for e in self._experts if isinstance(e, ProcedureExpert) and e.under_way), [])
        if not unit.whole and not course:  # of a procedure each window is a unit
            return []
        if "B" not in experts_in(unit.window):  # the power mode spares what is not urgent
            return []
        if not self._live:
            return self.thinker.ask(gather(unit, snapshot, course=course), unit.offset_s, unit.known)
        if self._clock.now() - unit.known < PRESENT_US:  # else it is being caught up with
            self.thinker.submit(gather(unit, snapshot, course=course), unit.offset_s, self._clock.now)
        return []

    def _ended(self, window: Window) -> Iterator[_Unit]:
        """The idle closing after the last window of a recording, if there was one."""
        with self._store.snapshot() as snapshot:
            episode = snapshot.episodes.last(window.recording)
        if episode is not None and episode.last_window == window.id and episode.known > window.known:
            yield _Unit(0, episode.id, episode.known)

    def _screen(self, todo: _Unit) -> list[Message]:
        with self._store.snapshot(todo.known) as snapshot:
            unit = _gather(todo, snapshot)
            at = self._at(unit.known, unit.offset_s)
            state = self._current(snapshot, unit.recording, at)
            asked: list[Service] = []
            if not _screened_before(unit, snapshot):
                for expert in self._experts:
                    if expert.name in experts_in(unit.window):
                        asked += expert.screen(unit, snapshot)
                asked += self._thought(unit, snapshot)
            waiting = state.pending if unit.window is not None else ()
            over = {s.id for s in waiting if not self._holds(s, unit, snapshot)}
            self._unit, self._around = unit, around(unit)
        if not asked and self._around.pause:
            asked = self._digest(unit, at, state)
        if unit.window is None:  # a continued recording takes back what cites its idle closing, and only that
            asked = [_citing(s, unit.closed) for s in asked]
        return self._settle(asked, [(s, s.id in over) for s in waiting], state, at, unit, (unit.recording, unit.known))

    def _settle(
        self,
        asked: Sequence[Service],
        waiting: Sequence[tuple[Service, bool]],
        state: State,
        at: At,
        unit: Screening | None,
        as_of: tuple[str, int],
    ) -> list[Message]:
        """Decide and store; `waiting` carries whether each deferred service's occasion is over."""
        decided: list[tuple[Service, Decision]] = []
        over = {s.id for s, is_over in waiting if is_over}
        trial = state
        wishes, now_around = self._in_force(at), replace(self._around, busy=self.busy())
        if unit is None and self.mode is not None:
            now_around = replace(now_around, mode=self.mode, least=MODES[self.mode].min_priority)
        if not asked and all(_unchanged(s, s.id in over, at, wishes, state, now_around) for s, _ in waiting):
            self._advance(unit)
            self._state, self._as_of = state, as_of
            return []
        newest = self._newest
        with self._store.transaction() as tx:
            stored = [replace(s, id=tx.services.add(s)) for s in asked]
            newest = max((newest, *((s.id, s.known) for s in stored)))
            pending = {s.id for s, _ in waiting}
            for service in ranked([*(s for s, _ in waiting), *stored]):
                if service.id in over:
                    decision = Decision(service.id, at.now, "suppress", "over: it no longer holds")
                    trial = after(service, decision, at, trial)
                else:
                    decision, trial = decide(service, at, wishes, trial, now_around)
                if decision.decision == "defer" and decision.reason.startswith("busy"):
                    self._talked_over.add(service.id)
                if decision.decision == "defer" and service.id in pending:
                    continue
                decided.append((service, replace(decision, id=tx.services.decide(decision))))
            if unit is not None and unit.window is not None:
                tx.services.advance(STAGE, unit.window.id)
        self._behind = 0
        self._state, self._as_of, self._newest = trial, as_of, newest
        out: list[Message] = [ServiceAsked(s) for s in stored]
        for service, decision in decided:
            out.append(ServiceDecided(service, decision))
            if decision.decision == "deliver":
                out.append(_say(service, at))
        return out

    def _digest(self, unit: Screening, at: At, state: State) -> list[Service]:
        """What was held back, told at a natural break, if nothing stands against telling it."""
        made = digest(state.shelf, unit.known, unit.offset_s)
        if made is None:
            return []
        trial, _ = decide(replace(made, id=-1), at, self._in_force(at), state, self._around)
        return [made] if trial.decision == "deliver" else []

    def _in_force(self, at: At) -> Wishes:
        """The wearer's wishes; read again when there are new ones.  A recording's time sees those of that time."""
        with self._store.snapshot(None if self._live else at.now) as snapshot:
            newest = snapshot.patience.newest()
            if self._wishes is None or self._wishes[0] != newest:
                self._wishes = (newest, wishes_of(snapshot, self._alerts, at.now, at.mono))
        return self._wishes[1]

    def _advance(self, unit: Screening | None) -> None:
        """Move the cursor over a window that wrote nothing, now and then, and at the end of a recording."""
        if unit is None:
            return
        window_id = unit.window.id if unit.window is not None else max((e.last_window for e in unit.closed), default=0)
        self._behind += unit.window is not None
        if window_id and self._behind and (self._behind >= COALESCE or unit.window is None):
            with self._store.transaction() as tx:
                tx.services.advance(STAGE, window_id)
            self._behind = 0

    def _current(self, snapshot: Snapshot, recording: str, at: At) -> State:
        """The arbiter's state: the one in hand while it fits, else read back from what is stored."""
        newest, known = self._newest
        fits = self._state is not None
        if fits and newest and known <= snapshot.until:
            fits = _exists(snapshot, newest)  # else a recording that went on took it back
        if fits and recording and recording != self._as_of[0] and at.now < self._as_of[1]:
            fits = False  # another recording, of an earlier time: as the memory was then
        if not fits or self._state is None:
            with self._store.snapshot(at.now) as stored:
                self._state = restore(stored, at)
            self._newest = (0, 0)
        return self._state

    def _holds(self, service: Service, unit: Screening, snapshot: Snapshot) -> bool:
        if service.made_by == "llm":
            return True  # until it is stale
        for expert in self._experts:
            if service.expert == expert.name:
                return expert.holds(service, unit, snapshot)
        return True

    def _at(self, known: int, offset_s: int) -> At:
        """The moment of a decision: never before what it rests on was known."""
        clock = self._clock.now()
        now = max(clock, known)
        return At(now, self._clock.mono() + now - clock, offset_s)


def _gather(todo: _Unit, snapshot: Snapshot) -> Screening:
    """The evidence slots of a unit, as known at its time."""
    if todo.episode_id:
        episode = snapshot.episodes.get(todo.episode_id)
        return Screening(
            episode.known, episode.offset_s, episode.recording, None, None, (episode,),
            tuple(snapshot.intentions.all("open")), whole=True,
        )  # fmt: skip
    window = bounded(snapshot.trace.window(todo.window_id))
    previous = _before(snapshot, window)
    closed = tuple(e for e in _closed_since(snapshot, window, previous) if e.known == window.known)
    last = snapshot.episodes.last(window.recording)
    since = last.t_end if last is not None else 0
    long = (window.t_end - since) // UNIT_FALLBACK_US > (window.t_start - since) // UNIT_FALLBACK_US
    whole = long or any(e.t_end - e.t_start >= UNIT_FLOOR_US for e in closed)
    intentions = tuple(snapshot.intentions.all("open"))
    return Screening(window.known, window.offset_s, window.recording, window, previous, closed, intentions, whole)


def _exists(snapshot: Snapshot, service_id: int) -> bool:
    try:
        snapshot.services.get(service_id)
    except NotFound:
        return False
    return True


def _before(snapshot: Snapshot, window: Window) -> Window | None:
    """The window before in the same recording; most often it has the id before, which is quick to read."""
    near = snapshot.trace.span(window.id - 1, window.id - 1)
    found = near if near and near[0].recording == window.recording else None
    if found is None:
        found = snapshot.trace.before(window.recording, window.id - 1, 1)
    return bounded(found[-1]) if found else None


def _closed_since(snapshot: Snapshot, window: Window, previous: Window | None) -> list[Episode]:
    """Episodes of the window's recording that became known after the window before it, up to this one, in order."""
    if previous is None:
        return []
    found = [
        e
        for e in snapshot.episodes.between(previous.t_start - 1, window.t_end + 1)
        if e.recording == window.recording and previous.known < e.known <= window.known
    ]
    return sorted(found, key=lambda e: (e.known, e.id))


def _screened_before(unit: Screening, snapshot: Snapshot) -> bool:
    """Whether an idle closing has been screened already: its services say so."""
    if unit.window is not None:
        return False
    refs = {f"e{e.id}" for e in unit.closed}
    start = min((e.t_start for e in unit.closed), default=unit.known)
    return any(s.known == unit.known and refs & set(s.evidence) for s in snapshot.services.between(start))


def _citing(service: Service, closed: Iterable[Episode]) -> Service:
    refs = tuple(f"e{e.id}" for e in closed)
    return replace(service, evidence=tuple(dict.fromkeys((*service.evidence, *refs))))


def _unchanged(service: Service, over: bool, at: At, wishes: Wishes, state: State, here: Around) -> bool:
    """Whether a deferred service goes on waiting, so that there is nothing to write."""
    return not over and decide(service, at, wishes, state, here)[0].decision == "defer"


def _say(service: Service, at: At) -> Say:
    row = alert(service.type)
    left = service.t + row.staleness_s * US - at.now
    return Say(service.text, row.priority, f"a{service.id}", at.mono + max(left, 0))
