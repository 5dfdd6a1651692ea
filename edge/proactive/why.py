"""Why something was said, or was not: the service, every decision on it, and what it rests on, in plain sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from edge.clock import iso, local
from edge.proactive.alerts import BY_TYPE
from storage.errors import NotFound
from storage.records import Decision, Service, Window
from storage.snapshot import Snapshot

# The first word of a decision's reason, for people.
_REASONS = {
    "clear": "nothing stood against it",
    "stale": "its moment had passed",
    "same": "you had been told, and nothing had changed",
    "merged": "it was part of what had just been said",
    "once a day": "you had been told today",
    "alike": "the same had just been said in other words",
    "frequency": "you asked for fewer alerts",
    "quiet hours": "it was quiet hours",
    "cooldown": "this kind of alert had just been given",
    "pause": "another alert had just been given",
    "budget": "enough had been said in that time",
    "daily cap": "enough had been said that day",
    "over": "it was no longer so",
    "waved away": "you had waved it away",
    "battery": "the battery had to last, and it could wait",
    "snoozed": "you had asked for silence about that",
    "do not disturb": "you had asked for silence",
    "busy": "somebody was talking",
    "repeat": "it could not be heard the first time",
}
_EXPERTS = {
    "A": "the expert for what is going on",
    "B": "the expert for habits",
    "C": "the expert for what was said and done before",
    "R": "the guide through the procedure under way",
    "arbiter": "what had been held back",
    "device": "the device itself",
}
_SHORT = 160


@dataclass(frozen=True, slots=True)
class Ground:
    """One piece of evidence, re-opened: its id, when it was, what it says; forgotten when it is no longer there."""

    ref: str
    kind: str
    t: int | None
    offset_s: int
    text: str

    @property
    def forgotten(self) -> bool:
        """The evidence has been erased since."""
        return self.t is None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything there is to say about one service."""

    service: Service
    decisions: tuple[Decision, ...]
    grounds: tuple[Ground, ...]

    @property
    def outcome(self) -> str:
        """deliver, defer or suppress; "open" when nothing has been decided yet."""
        return self.decisions[-1].decision if self.decisions else "open"

    def lines(self) -> list[str]:
        """The explanation as sentences, one a line."""
        s = self.service
        row = BY_TYPE.get(s.type)
        name = s.type.replace("_", " ")
        found = [
            f"a{s.id}: {name}{f', priority {row.priority} of 5' if row else ''}. {_EXPERTS.get(s.expert, s.expert)}."
        ]
        found.append(f"{_clock(s.t, s.offset_s)}: what was perceived then called for it.")
        for decision in self.decisions:
            when = _clock(decision.t, s.offset_s)
            code, _, detail = decision.reason.partition(": ")
            because = _REASONS.get(code, code)
            if detail and detail != because:
                because += f" ({detail})"
            found.append(f"{when}: {_VERBS[decision.decision]} \u201c{s.text}\u201d, because {because}.")
        if not self.decisions:
            found.append("Nothing has been decided about it yet.")
        if self.grounds:
            found.append("It rests on:")
        for g in self.grounds:
            at = "forgotten" if g.t is None else _clock(g.t, g.offset_s)
            found.append(f"  {g.ref} ({g.kind}, {at}): {g.text}" if g.t is not None else f"  {g.ref}: forgotten since.")
        return found

    def to_json(self) -> dict[str, Any]:
        """The explanation as plain values; times are ISO 8601 with the wearer's offset."""
        s = self.service
        return {
            "id": f"a{s.id}",
            "type": s.type,
            "text": s.text,
            "t": iso(s.t, s.offset_s),
            "key": s.key,
            "expert": s.expert,
            "made_by": s.made_by,
            "outcome": self.outcome,
            "decisions": [
                {"t": iso(d.t, s.offset_s), "decision": d.decision, "reason": d.reason} for d in self.decisions
            ],
            "evidence": [
                {
                    "id": g.ref,
                    "kind": g.kind,
                    "t": None if g.t is None else iso(g.t, g.offset_s),
                    "text": g.text,
                    "forgotten": g.forgotten,
                }
                for g in self.grounds
            ],
            "sentences": self.lines(),
        }


_VERBS = {"deliver": "I said", "defer": "I waited with", "suppress": "I did not say"}


def why(snapshot: Snapshot, service_id: int) -> Explanation:
    """Explain one service as known at the snapshot's time.  Raises NotFound when there is none."""
    service = snapshot.services.get(service_id)
    decisions = tuple(snapshot.services.decisions(service_id))
    refs = service.evidence
    if not refs and service.made_by == "light":  # a warning from one frame: its window was still going on
        refs = tuple(f"w{w.id}" for w in snapshot.trace.windows(service.t, service.t + 1))
    return Explanation(service, decisions, tuple(ground(snapshot, ref) for ref in refs))


def ground(snapshot: Snapshot, ref: str) -> Ground:
    """Re-open one piece of evidence by its id: e12, m3, w40, o77 (a single observation), i2, p5, a9."""
    letter, number = ref[:1], ref[1:]
    kind = _KINDS.get(letter, "evidence")
    if letter not in _KINDS or not number.isdigit():
        return Ground(ref, kind, None, 0, "")
    try:
        t, offset_s, text = _OPEN[letter](snapshot, int(number))
    except NotFound:
        return Ground(ref, kind, None, 0, "")
    text = " ".join(text.split())
    return Ground(ref, kind, t, offset_s, text if len(text) <= _SHORT else text[: _SHORT - 1].rstrip() + "\u2026")


def _window(snapshot: Snapshot, number: int) -> tuple[int, int, str]:
    window = snapshot.trace.window(number)
    pruned = snapshot.retention.behind(f"w{number}")
    return window.t_start, window.offset_s, _told(window) if pruned is None else f"pruned: {pruned.why}"


def _observation(snapshot: Snapshot, number: int) -> tuple[int, int, str]:
    item = snapshot.trace.items_by_id([number]).get(number)
    if item is None:
        raise NotFound(f"There is no observation o{number} at that time.")
    if item.kind == "speech":
        return item.t, item.offset_s, f"{item.speaker}: {item.text}"
    text = f"{item.subject} {item.action} {item.object}" if item.kind == "event" else item.text
    return item.t, item.offset_s, text


def _episode(snapshot: Snapshot, number: int) -> tuple[int, int, str]:
    episode = snapshot.episodes.get(number)
    return episode.t_start, episode.offset_s, episode.subject


def _moment(snapshot: Snapshot, number: int) -> tuple[int, int, str]:
    moment = snapshot.moments.get(number)
    return moment.t, moment.offset_s, moment.text


def _intention(snapshot: Snapshot, number: int) -> tuple[int, int, str]:
    intention = snapshot.intentions.get(number)
    return intention.t, intention.offset_s, f"{intention.who} said: {intention.quote} (now {intention.state})"


def _pattern(snapshot: Snapshot, number: int) -> tuple[int, int, str]:
    pattern = snapshot.patterns.get(number)
    return pattern.known, 0, f"{pattern.title} ({pattern.recurrence} times on {pattern.days} days)"


def _alert(snapshot: Snapshot, number: int) -> tuple[int, int, str]:
    service = snapshot.services.get(number)
    return service.t, service.offset_s, service.text


_KINDS = {
    "w": "window",
    "o": "observation",
    "e": "episode",
    "m": "moment",
    "i": "intention",
    "p": "pattern",
    "a": "alert",
}
_OPEN = {
    "w": _window,
    "o": _observation,
    "e": _episode,
    "m": _moment,
    "i": _intention,
    "p": _pattern,
    "a": _alert,
}


def _told(window: Window) -> str:
    said = "; ".join(f"{s.speaker}: {s.text}" for s in window.speech)
    seen = window.description or "; ".join(c.text for c in window.captions)
    return ". ".join(part for part in (seen, said) if part) or "nothing was perceived"


def _clock(t: int, offset_s: int) -> str:
    moment = local(t, offset_s)
    return f"{moment:%A} {moment.day} {moment:%B %H:%M:%S}"
