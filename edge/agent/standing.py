"""Standing questions at work: every window that comes in is held against what still waits (GROVE, A.2).

Present evidence alone decides: the items of the window at hand that came after the asking.  What was known before may
word the answer, it never triggers one.  Two answers to one question lie at least its gap apart, and a thing that stays in
view is told once.  What fires goes past the arbiter like any alert.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from edge.agent.phrases import sentence, to_you
from edge.agent.wishes import Condition, condition, wish
from edge.errors import QuestionError
from edge.messages import Message, WindowCommitted
from edge.retrieval import kinds, words
from edge.retrieval.zone import Us, Zone
from storage import Store
from storage.records import Window
from storage.snapshot import Snapshot
from storage.standing import Standing

ALERT = "standing"
MOST_OPEN = 50

Announce = Callable[[str, str, int, str, tuple[str, ...]], list[Message]]


@dataclass(frozen=True, slots=True)
class Met:
    """When a condition was met, and the words that show it."""

    t: Us
    text: str


# -- by hand -------------------------------------------------------------------------------------------------------


def add(store: Store, text: str, *, now: Us, offset_s: int) -> Standing:
    """Take down what the wearer wants to be told.  Raises QuestionError when it cannot be watched for, StorageError."""
    made = wish(text, Zone(now, offset_s))
    with store.transaction() as tx:
        before = tx.snapshot(now).standing.open()
        same = next((s for s in before if words.plain(s.text) == words.plain(made.text) and made.due is None), None)
        if same is not None:
            return same
        if len(before) >= MOST_OPEN:
            raise QuestionError(f"{MOST_OPEN} standing questions wait already: cancel one first.")
        return replace(made, id=tx.standing.add(made))


def cancel(store: Store, which: str, *, now: Us) -> list[Standing]:
    """Take back by id ("q3"), "all", or words of it; returns what was taken back.  Raises QuestionError when none fits."""
    with store.transaction() as tx:
        waiting = tx.snapshot(now).standing.open()
        chosen = _chosen(waiting, which)
        for standing in chosen:
            tx.standing.note(standing.id, "cancelled", now, now)
        return chosen


def _chosen(waiting: list[Standing], which: str) -> list[Standing]:
    text = " ".join(which.split()).strip(" .!?").lower()
    if text in ("all", "everything", "all of them"):
        return waiting
    if (m := re.fullmatch(r"q(\d{1,9})", text)) is not None:
        found = [s for s in waiting if s.id == int(m.group(1))]
    elif text in ("it", "that", "the last one", "the last"):
        found = waiting[-1:]
    else:
        asked = set(words.content(text))
        graded = [(len(asked & set(words.content(s.text))), s) for s in waiting]
        best = max((g for g, _ in graded), default=0)
        found = [s for g, s in graded if g == best and g > 0]
    if not found:
        raise QuestionError(f"No standing question fits {which[:40]!r}: see `grove-edge standing list`.")
    if len(found) > 1:
        raise QuestionError(f"{len(found)} standing questions fit: name one of {', '.join(f'q{s.id}' for s in found)}.")
    return found


def described(standing: Standing, zone: Zone) -> str:
    """A standing question in a spoken sentence."""
    often = "every time " if standing.repeats and standing.trigger else ""
    if standing.due is not None:
        at = zone.local(standing.due)
        return f"At {at:%H:%M} I remind you: {to_you(standing.what)}."
    if not standing.trigger:
        return "I tell you every step."
    head = f"I remind you to {to_you(standing.what)}" if standing.kind == "remind" else "I tell you"
    watched = re.sub(r"^you\b", "I", standing.trigger, flags=re.IGNORECASE)  # who watches
    return f"{head} {often or 'when '}{watched if watched != standing.trigger else to_you(watched)}."


# -- at work -------------------------------------------------------------------------------------------------------


class StandingWatch:
    """Holds windows against what waits.  `announce` puts an alert past the arbiter and returns what came of it."""

    def __init__(self, store: Store, announce: Announce, owner: str = "") -> None:
        self._store, self._announce = store, announce
        self._self = frozenset({"wearer", "me", "i", "we", "user", "", owner.lower()})

    def step(self, messages: list[Message]) -> list[Message]:
        """What windows set off.  Raises StorageError; the same call may then be made again."""
        out: list[Message] = []
        for message in messages:
            if isinstance(message, WindowCommitted):
                out += self._window(message.window)
        return out

    def tick(self, now: Us) -> list[Message]:
        """What is due by the clock."""
        with self._store.snapshot(now) as snapshot:
            due = [s for s in snapshot.standing.open() if s.due is not None and s.due <= now]
        return [m for s in due for m in self._fire(s, [Met(now, "")], now, ())]

    def _window(self, window: Window) -> list[Message]:
        fired: list[tuple[Standing, list[Met]]] = []
        with self._store.snapshot(window.known) as snapshot:
            for standing in snapshot.standing.open():
                if standing.due is None:
                    fired.append((standing, self._due(standing, window, snapshot)))
                elif standing.due <= window.known:
                    fired.append((standing, [Met(window.known, "")]))
        return [
            m for standing, met in fired if met for m in self._fire(standing, met, window.known, (f"w{window.id}",))
        ]

    def _due(self, standing: Standing, window: Window, snapshot: Snapshot) -> list[Met]:
        """The times a window meets a question, its gap kept; a sight that goes on from the window before is not new."""
        try:
            wanted = condition(standing.trigger)
        except QuestionError:  # taken down by another version of this program
            return []
        met = [m for m in meets(wanted, window, self._self) if m.t >= standing.known]
        if met and wanted.looks in ("see", "text", "state"):
            before = snapshot.trace.before(window.recording, window.id - 1, 1)
            near = [w for w in before if window.t_start - w.t_end < window.t_end - window.t_start]
            if any(m.t >= standing.known for w in near for m in meets(wanted, w, self._self)):
                return []
            met = met[:1]
        last, kept = standing.last, list[Met]()
        for m in sorted(met, key=lambda m: m.t):
            if last is None or m.t - last >= standing.gap_us:
                kept.append(m)
                last = m.t
        return kept if standing.repeats else kept[:1]

    def _fire(self, standing: Standing, met: list[Met], known: Us, evidence: tuple[str, ...]) -> list[Message]:
        """Say it once for a window, however often it was met there; every time is noted."""
        t = met[-1].t
        out = self._announce(ALERT, f"q{standing.id}:{t}", t, worded(standing, met), evidence)
        with self._store.transaction() as tx:
            for m in met:
                tx.standing.note(standing.id, "fired", m.t, known, evidence)
            if not standing.repeats:
                tx.standing.note(standing.id, "done", t, known, evidence)
        return out


def worded(standing: Standing, met: list[Met]) -> str:
    """What is said when it happens."""
    shown = met[-1].text
    if standing.kind == "remind":
        return f"Reminder: {to_you(standing.what)}."
    if not standing.trigger:
        return f"{sentence('; '.join(m.text for m in met))}."
    wanted = condition(standing.trigger)
    if wanted.looks in ("said", "text") and shown:
        return f'{"I hear" if wanted.looks == "said" else "I read"}: "{shown[:80]}".'
    if wanted.looks == "see":
        return f"I see {_with_article(wanted.thing)}."
    return f"{sentence(to_you(standing.trigger))}."


def _with_article(thing: str) -> str:
    return thing if re.match(r"(?:a|an|the|my|any|some|another|one)\b", thing, re.I) else f"the {thing}"


def meets(wanted: Condition, window: Window, wearer: frozenset[str]) -> list[Met]:
    """Every time a window shows what is wanted, in the order it is found: exact acts first, then words."""
    if wanted.looks == "said":
        who, keys = wanted.who, wanted.keys
        return [
            Met(s.t, s.text)
            for s in window.speech
            if (not who or who in s.speaker.lower())
            and (who or s.speaker.lower() not in wearer)
            and keys <= set(words.content(s.text))
        ]
    if wanted.looks == "text":
        return [Met(x.t, x.text) for x in window.texts if wanted.keys <= set(words.content(x.text))]
    if wanted.looks == "step":
        return [Met(e.t, f"{e.action} {e.object}") for e in window.events if e.subject.lower() in wearer]
    if wanted.looks == "see":
        return _seen(wanted, window)
    if wanted.looks == "act":
        acted = [
            Met(e.t, f"{e.action} {e.object}")
            for e in window.events
            if e.subject.lower() in wearer and _does(wanted, e.action, e.object)
        ]
        return acted or [Met(c.t, c.text) for c in window.captions if _tells(wanted, c.text)]
    told = [Met(c.t, c.text) for c in window.captions if wanted.keys <= _keys(c.text)]
    told += [
        Met(e.t, f"{e.subject} {e.action} {e.object}")
        for e in window.events
        if wanted.keys <= _keys(f"{e.subject} {e.action} {e.object}")
    ]
    return told or ([Met(window.t_end, window.description)] if wanted.keys <= _keys(window.description) else [])


def _seen(wanted: Condition, window: Window) -> list[Met]:
    names = kinds.named(wanted.thing, [e.name for e in window.entities])
    if names:
        shown = [c.t for c in window.captions if any(set(words.keys(n)) <= set(words.keys(c.text)) for n in names)]
        return [Met(shown[0] if shown else window.t_end, names[0])]
    return [
        Met(c.t, c.text)
        for c in window.captions
        if wanted.keys and wanted.keys <= _keys(c.text.partition("; text reads ")[0])
    ]


def _does(wanted: Condition, action: str, thing: str) -> bool:
    """Is an event the act that is waited for: the verb or a near one, the thing or a kind of it."""
    done = words.act(action)
    acts = set(wanted.acts).union(*(words.near_acts(a) for a in wanted.acts)) if wanted.acts else set()
    if not any(words.act_grade(a, done) >= 2 for a in acts):
        return False
    asked = words.thing(wanted.thing)
    return not asked or words.thing_grade(asked, words.thing(thing)) >= 2 or kinds.grade(wanted.thing, thing) >= 2


def _tells(wanted: Condition, text: str) -> bool:
    """Does a sentence tell of the act: one of its verbs or a near one, and all words of its thing?"""
    held = _keys(text)
    thing = set(words.content(wanted.thing))
    verbs = {a for act in wanted.acts for a, _ in (act, *words.near_acts(act))}
    return bool(verbs & held) and thing <= held if thing else wanted.keys <= held


def _keys(text: str) -> frozenset[str]:
    return frozenset(words.content(text))
