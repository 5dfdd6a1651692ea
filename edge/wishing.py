"""The wearer's words about alerts and recording, kept in the memory: commands, taps and the voice all come here.

A running device and a command that finds none use the same code; the arbiter sees a new wish at its next decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from edge.clock import US, Clock, iso
from edge.config import Alerts, Frequency, Quiet
from edge.errors import InputError
from edge.power import MODES, Mode
from edge.proactive.alerts import BY_TYPE
from edge.proactive.patience import quiet_in, quiet_out
from edge.proactive.patience_learning import leanings
from storage import Store
from storage.patience import Feedback, FeedbackKind, Wish, WishKind
from storage.snapshot import Snapshot

Sleeper: TypeAlias = Literal["type", "person", "place"]
CHOICES: tuple[Mode, ...] = ("performance", "balanced", "saver")  # what a wearer may choose; the rest follows by itself
LONGEST_S = 400 * 86_400.0
RECENT_S = 120.0  # an alert said longer ago is not what a tap or a "thanks" is about


@dataclass(slots=True)
class Wishing:
    """Writes wishes and feedback at the clock's time."""

    store: Store
    clock: Clock

    def frequency(self, level: Frequency | None) -> dict[str, Any]:
        """How often alerts may come; None: as the settings say."""
        self._wish("frequency", value=level or "")
        return {"frequency": level}

    def quiet(self, quiet: Quiet | None) -> dict[str, Any]:
        """Quiet hours; None: as the settings say."""
        self._wish("quiet", value="" if quiet is None else quiet_out(quiet))
        return {"quiet": None if quiet is None else quiet.model_dump()}

    def hush(self, seconds: float | None) -> dict[str, Any]:
        """Say nothing but what is critical for so long; None: speak again."""
        until = self._wish("do-not-disturb", value="" if seconds is None else "on", seconds=seconds)
        return {"do_not_disturb": seconds is not None, "until": self._shown(until)}

    def snooze(self, kind: Sleeper, what: str, seconds: float | None) -> dict[str, Any]:
        """Silence one type, person or place for so long; None: take it back.  Raises InputError."""
        name = " ".join(what.lower().split())
        if not name:
            raise InputError("Say what to snooze: a type of alert, a person or a place.")
        if kind == "type" and name not in BY_TYPE:
            raise InputError(f"There is no type {name!r}: types are {', '.join(BY_TYPE)}.")
        if kind == "type" and BY_TYPE[name].critical and seconds is not None:
            raise InputError(f"{name} cannot be snoozed: it warns of danger.")
        until = self._wish("snooze", f"{kind}:{name}", "" if seconds is None else "on", seconds)
        return {"snooze": f"{kind}:{name}", "on": seconds is not None, "until": self._shown(until)}

    def pause(self, still: bool, seconds: float | None = None) -> dict[str, Any]:
        """Record nothing for so long (None: until told otherwise), also after a restart."""
        self._wish("pause", value="on" if still else "", seconds=seconds if still else None)
        return {"paused": still}

    def mode(self, mode: Mode | None) -> dict[str, Any]:
        """Choose a power mode; None: by the battery.  Raises InputError."""
        if mode is not None and mode not in CHOICES:
            raise InputError(f"{mode!r} cannot be chosen: choose {', '.join(CHOICES)} or auto.")
        self._wish("mode", value=mode or "")
        return {"mode": mode}

    def feedback(self, kind: FeedbackKind, how: str, service_id: int | None = None) -> dict[str, Any]:
        """How an alert was taken; without its id the one said last, if that was just now.  Raises InputError, NotFound."""
        number = service_id
        if number is None:
            with self.store.snapshot() as snapshot:
                number = said_last(snapshot, self.clock.now())
        if number is None:
            raise InputError("Nothing was said just now: name the alert, as in a12.")
        with self.store.transaction() as tx:
            tx.patience.feedback(Feedback(self.clock.now(), number, kind, how))
        return {"id": f"a{number}", "feedback": kind}

    def _wish(self, kind: WishKind, target: str = "", value: str = "", seconds: float | None = None) -> int | None:
        """Store a wish for so long (None: for good); returns when it ends."""
        if seconds is not None and not 0 < seconds <= LONGEST_S:
            raise InputError("That is no length of time to be silent for: give 1 minute to 400 days.")
        now = self.clock.now()
        until = None if seconds is None else now + round(seconds * US)
        with self.store.transaction() as tx:
            tx.patience.wish(Wish(now, kind, target, value, until))
        return until

    def _shown(self, t: int | None) -> str | None:
        return None if t is None else iso(t, self.clock.offset())


def said_last(snapshot: Snapshot, now: int, within_s: float = RECENT_S) -> int | None:
    """Id of the alert said last, if it was said within so many seconds."""
    said = [d for d in snapshot.services.decisions() if d.decision == "deliver" and 0 <= now - d.t <= within_s * US]
    return max(said, key=lambda d: (d.t, d.id)).service_id if said else None


def paused(snapshot: Snapshot, now: int) -> float | None:
    """Seconds for which nothing is to be recorded: 0 until told otherwise, None when the wearer's last word was to go on."""
    wish = snapshot.patience.wish("pause")
    if wish is None or wish.value != "on":
        return None
    if wish.until is None:
        return 0.0
    left = min(wish.until - now, wish.until - wish.t) / US
    return left if left > 0 else None


def chosen_mode(snapshot: Snapshot) -> Mode | None:
    """The power mode the wearer chose, if any."""
    wish = snapshot.patience.wish("mode")
    return next((mode for mode in MODES if wish is not None and wish.value == mode), None)


def in_force(snapshot: Snapshot, settings: Alerts, now: int, offset_s: int) -> dict[str, Any]:
    """Everything that is in force now, as plain values; times are ISO 8601."""
    wishes = snapshot.patience.wishes()
    newest = {(w.kind, w.target): w for w in wishes if w.value and (w.until is None or w.until > now)}
    level = newest.get(("frequency", ""))
    known = level is not None and level.value in get_args(Frequency)
    quiet = newest.get(("quiet", ""))
    hush = newest.get(("do-not-disturb", ""))
    found: Mapping[str, Any] = {
        "frequency": level.value if level is not None and known else settings.frequency,
        "quiet": (quiet_in(quiet.value) if quiet is not None else settings.quiet).model_dump(),
        "do_not_disturb_until": iso(hush.until, offset_s) if hush is not None and hush.until is not None else None,
        "snoozes": [
            {"what": target, "until": None if w.until is None else iso(w.until, offset_s)}
            for (kind, target), w in newest.items()
            if kind == "snooze"
        ],
        "paused": paused(snapshot, now) is not None,
        "mode": chosen_mode(snapshot) or "auto",
        "learned": {
            kind: round(leaning.net, 2)
            for kind, leaning in leanings(snapshot.patience.feedback(), now).items()
            if round(leaning.net, 2)
        },
    }
    return dict(found)
