"""The owner's corrections: "that was my sister's mug", "I did drink water at 3".

What the owner says stands above what was perceived.  It is read by rules into one of four kinds: words that replace
others, a doing that was missed, a denial, or a note beside a row; and laid over the row it is about and over those made
from it, for as long as it is not undone.  What it tells beyond the row (whose a thing is, who somebody is) becomes a fact.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from edge.clock import US
from edge.errors import InputError
from edge.memory import facts
from edge.memory.patterns import Embed
from edge.memory.text import content
from storage import Snapshot, Store, Transaction
from storage.context_records import Correction, CorrectionKind, Effect, Support
from storage.corrections import replaced
from storage.records import Window

NEAR_US = 15 * 60 * US  # how far from the time named a doing that is denied may lie
AROUND_US = 3600 * US  # how far the window may lie that stands for a doing nobody saw
REF = re.compile(r"(?P<kind>[owmefi])(?P<id>[0-9]{1,18})")

_A = r"(?:a |an |the |some )?"
_WHO = re.compile(
    r"^(?:that|this|it) (?:was|is) (?P<name>[A-Z][\w'\u2019-]+)(?: (?:speaking|talking|who said (?:that|it|this)))?$"
)
_NOT_BUT = re.compile(rf"^(?:(?:it|that|this) (?:was|is) )?not {_A}(?P<old>.+?),? but (?:rather )?(?P<new>.+)$", re.I)
_BUT_NOT = re.compile(rf"^(?:it|that|this|they) (?:was|is|were|are) (?P<new>.+?),? (?:and )?not {_A}(?P<old>.+)$", re.I)
_NAMED = re.compile(rf"^the (?P<old>.+?) (?:was|is) (?:actually|really|in fact) {_A}(?P<new>.+)$", re.I)
_WAS = re.compile(
    r"^(?:(?:no|actually),? )?(?:it|that|this|they|those) (?:was|is|were|are) (?:actually |really |in fact )?(?P<new>.+)$",
    re.I,
)
_WRONG = re.compile(
    r"^(?:no\b|(?:that|this|it)(?:'s| is| was)? (?:is |was )?(?:wrong|not true|untrue|false|not so|not right|a mistake)"
    r"|(?:that|this|it) (?:did not|didn't|never) happen(?:ed)?|i (?:never|did not|didn't) do (?:that|this|it))", re.I,
)  # fmt: skip
_DID_NOT = re.compile(r"^i (?:did not|didn't|never) (?P<what>.+)$", re.I)
_DID = re.compile(r"^(?:yes,? )?i (?:did |have |had |also |already |just )*(?P<what>.+)$", re.I)
_NO_DOING = frozenset("was were am is be been being could would should might must can will".split())
_PARTICLES = frozenset("off on up down out away in back over".split())
_PAST = {
    "drank": "drink", "drunk": "drink", "ate": "eat", "eaten": "eat", "took": "take", "taken": "take", "went": "go", "gave": "give",
    "bought": "buy", "brought": "bring", "put": "put", "left": "leave", "made": "make", "read": "read", "wrote": "write", "fed": "feed",
    "saw": "see", "met": "meet", "told": "tell", "said": "say", "got": "get", "lost": "lose", "found": "find", "ran": "run", "cut": "cut",
    "slept": "sleep", "shut": "shut", "sent": "send", "paid": "pay", "sold": "sell", "swam": "swim", "drove": "drive", "rode": "ride",
    "called": "call", "used": "use", "closed": "close", "moved": "move", "baked": "bake", "shaved": "shave", "had": "have", "taught": "teach",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """A correction on its way: the words, the row it is about ("" for none), the time named in them if any.

    `words` are the words without their time phrase; [start, end) is the time named, microseconds UTC.
    """

    text: str
    words: str
    ref: str = ""
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class _Target:
    """The row a correction is about: its text, its stretch of time, its windows, its speaker if somebody spoke."""

    ref: str
    text: str
    t: int
    offset_s: int
    windows: tuple[Window, ...]
    speaker: str = ""


def correct(store: Store, embed: Embed, asked: Asked, *, now: int, offset_s: int) -> Correction:
    """Store a correction with all it does.  Raises InputError when it cannot be told what it is about."""
    vector = embed([asked.text])[0]
    with store.transaction() as tx:
        snapshot = tx.snapshot()
        made = _read(snapshot, asked, now, offset_s)
        made = replace(made, id=tx.corrections.add(made, vector))
        _move(tx, snapshot, made, now, undone=False)
        support = Support(f"c{made.id}", made.t, made.offset_s, asked.text[:300], now, correction_id=made.id)
        facts.settle(tx, lambda: tx.snapshot(now), facts.stated(asked.text, support), embed, now)
    return made


def undo(store: Store, correction_id: int, *, now: int) -> Correction:
    """Take a correction back; what it did to rows and facts is over.  Raises NotFound, InputError when it is already."""
    with store.transaction() as tx:
        snapshot = tx.snapshot()
        made = snapshot.corrections.get(correction_id)
        if made.state == "undone":
            raise InputError(f"The correction c{correction_id} was undone already.")
        when = max(now, made.known)
        tx.corrections.move(correction_id, "undone", when)
        _move(tx, snapshot, made, when, undone=True)
        tx.facts.let_go(correction_id, when)
        return tx.snapshot().corrections.get(correction_id)


def _read(snapshot: Snapshot, asked: Asked, now: int, offset_s: int) -> Correction:
    """What the owner's words mean for which rows."""
    words = " ".join(asked.words.split()).strip(" .!\"'")
    if not content(words) and not _WRONG.match(words):
        raise InputError("A correction needs words: what was it really, or what did you do?")
    target = _target(snapshot, asked.ref) if asked.ref else None
    kind, effects, doing = _meaning(snapshot, words, target, asked)
    if target is None and kind in ("replace", "note"):
        raise InputError('Say what it is about: name a row, as in grove-edge correct m12 "that was my sister\'s mug".')
    if kind == "add" and target is None and asked.start is None:
        raise InputError('Say when it was, as in grove-edge correct "I did drink water at 3".')
    t = target.t if target is not None and asked.start is None else asked.start if asked.start is not None else now
    window = _window_at(snapshot, t)
    return Correction(
        asked.ref, asked.text, kind, t, window.offset_s if window is not None else offset_s, now,
        "wearer" if doing else "", doing[0] if doing else "", doing[1] if doing else "",
        None if window is None else window.id, tuple(effects),
    )  # fmt: skip


def _meaning(
    snapshot: Snapshot, words: str, target: _Target | None, asked: Asked
) -> tuple[CorrectionKind, list[Effect], tuple[str, str] | None]:
    """The kind of a correction, its effects, and the doing it adds."""
    if target is not None:
        spoke = _WHO.match(words)
        if spoke and target.speaker and target.speaker != "wearer":
            return "replace", _renamed(target, spoke["name"]), None
        for pattern in (_NOT_BUT, _BUT_NOT, _NAMED):
            if (match := pattern.match(words)) and replaced(target.text, match["old"], "\0") != target.text:
                return "replace", _swapped(snapshot, target, match["old"], _bare(match["new"])), None
        was = _WAS.match(words)
        if was and not _WRONG.match(words):
            new = _bare(was["new"])
            old = _head(new, target)
            if old:
                return "replace", _swapped(snapshot, target, old, new), None
            return "note", [Effect(target.ref, "note", "", words)], None
        if _WRONG.match(words) or _DID_NOT.match(words):
            return "deny", _denied(snapshot, target, words), None
    elif denied := _DID_NOT.match(words):
        return "deny", _missed(snapshot, denied["what"], asked), None
    done = _DID.match(words)
    if done and (doing := _doing(done["what"])):
        return "add", [], doing
    return "note", [] if target is None else [Effect(target.ref, "note", "", words)], None


def _target(snapshot: Snapshot, ref: str) -> _Target:
    """The row of an id.  Raises NotFound, InputError."""
    match = REF.fullmatch(ref)
    if match is None:
        raise InputError(
            f"{ref!r} cannot be corrected: name a moment, episode, window, item, fact or intention, as in m12."
        )
    kind, number = match["kind"], int(match["id"])
    if kind == "o":
        item = snapshot.trace.items_by_id([number]).get(number)
        if item is None:
            raise InputError(f"There is no item {ref}.")
        windows: tuple[Window, ...] = (snapshot.trace.window(item.window_id),) if item.window_id else ()
        return _Target(ref, item.text, item.t, item.offset_s, windows, item.speaker if item.kind == "speech" else "")
    if kind == "w":
        window = snapshot.trace.window(number)
        return _Target(ref, _told(window), window.t_start, window.offset_s, (window,))
    if kind == "m":
        moment = snapshot.moments.get(number)
        window = snapshot.trace.window(moment.window_id)
        speaker = next((s.speaker for s in window.speech if s.t == moment.t and s.text in moment.text), "")
        return _Target(ref, moment.text, moment.t, moment.offset_s, (window,), speaker)
    if kind == "e":
        e = snapshot.episodes.get(number)
        windows = tuple(w for w in snapshot.trace.span(e.first_window, e.last_window) if w.recording == e.recording)
        return _Target(ref, f"{e.subject} {e.summary} {e.description}", e.t_start, e.offset_s, windows)
    if kind == "f":
        fact = snapshot.facts.get(number)
        return _Target(ref, fact.text, fact.t_last, 0, ())
    intention = snapshot.intentions.get(number)
    return _Target(ref, intention.what, intention.t, intention.offset_s, ())


def _told(window: Window) -> str:
    said = [
        *(c.text for c in window.captions),
        *(f"{e.action} {e.object}" for e in window.events),
        *(e.name for e in window.entities),
    ]
    return " ".join((window.description, *said, *(s.text for s in window.speech), *(x.text for x in window.texts)))


def _swapped(snapshot: Snapshot, target: _Target, old: str, new: str) -> list[Effect]:
    """Other words in the row, in what it was made from, and a note beside the episode."""
    effects = [Effect(target.ref, "replace", old, new)]
    whole = target.ref[0] in "we"
    for window in target.windows:
        for item_id, t, text in _items(window):
            if (whole or abs(t - target.t) <= US) and replaced(text, old, "\0") != text:
                effects.append(Effect(f"o{item_id}", "replace", old, new))
        effects += [Effect(f"w{window.id}", "replace", e.name, replaced(e.name, old, new)) for e in window.entities
                    if replaced(e.name, old, "\0") != e.name]  # fmt: skip
        if replaced(window.description, old, "\0") != window.description:
            effects.append(Effect(f"w{window.id}", "replace", old, new))
        effects += _in_moments(snapshot, window, target, whole, old, new)
    return list(dict.fromkeys([*effects, *_beside(snapshot, target, f"{old}: {new}")]))


def _in_moments(snapshot: Snapshot, window: Window, target: _Target, whole: bool, old: str, new: str) -> list[Effect]:
    return [
        Effect(f"m{m.id}", "replace", old, new)
        for m in snapshot.moments.between(window.t_start, window.t_end + 1)
        if m.window_id == window.id and (whole or abs(m.t - target.t) <= US) and replaced(m.text, old, "\0") != m.text
    ]


def _renamed(target: _Target, name: str) -> list[Effect]:
    """Somebody who was not known has a name: who spoke is called by it in all that was said in that window."""
    old = target.speaker
    effects = [Effect(target.ref, "replace", f"{old} said", f"{name} said")] if target.ref[0] == "m" else []
    for window in target.windows:
        effects += [Effect(f"o{s.id}", "replace", old, name) for s in window.speech if s.speaker == old]
    return list(dict.fromkeys(effects))


def _denied(snapshot: Snapshot, target: _Target, words: str) -> list[Effect]:
    """The row and what it was made from were not so; an episode or window keeps its place and gets a note."""
    if target.ref[0] in "ew":
        return [Effect(target.ref, "note", "", words)]
    effects = [Effect(target.ref, "deny")]
    for window in target.windows if target.ref[0] in "mo" else ():
        for item_id, t, text in _items(window):
            if abs(t - target.t) <= US and (set(content(text)) & set(content(target.text))):
                effects.append(Effect(f"o{item_id}", "deny"))
        effects += [
            Effect(f"m{m.id}", "deny")
            for m in snapshot.moments.between(target.t - US, target.t + US)
            if set(content(m.text)) & set(content(target.text))
        ]
    return list(dict.fromkeys([*effects, *_beside(snapshot, target, words)]))


def _missed(snapshot: Snapshot, what: str, asked: Asked) -> list[Effect]:
    """Doings near the time named that the owner says were not."""
    if asked.start is None or asked.end is None:
        raise InputError('Say when it was, as in grove-edge correct "I did not drink water at 3".')
    doing = set(content(what))
    point = asked.end - asked.start <= 120 * US  # a time, not a part of the day: people round
    low, high = (asked.start - NEAR_US, asked.end + NEAR_US) if point else (asked.start, asked.end)
    found = [i for i in snapshot.trace.items(("event", "caption"), low, high) if doing <= set(content(i.text))]
    if not found:
        raise InputError("Nothing like that was seen around that time: there is nothing to correct.")
    effects = [Effect(f"o{i.id}", "deny") for i in found]
    effects += [
        Effect(f"m{m.id}", "deny") for m in snapshot.moments.between(low, high) if doing <= set(content(m.text))
    ]
    return list(dict.fromkeys(effects))


def _beside(snapshot: Snapshot, target: _Target, words: str) -> list[Effect]:
    """A note beside the episode a corrected row lies in; an episode's own words are changed where they stand."""
    if target.ref[0] in "efi" or not target.windows:
        return []
    episode = snapshot.episodes.of_window(target.windows[0].id)
    return [] if episode is None else [Effect(f"e{episode.id}", "note", "", words)]


def _items(window: Window) -> list[tuple[int, int, str]]:
    """(id, time, text) of what a window holds that can be corrected."""
    found = [(c.id, c.t, c.text) for c in window.captions] + [(x.id, x.t, x.text) for x in window.texts]
    found += [(e.id, e.t, f"{e.subject} {e.action} {e.object}") for e in window.events]
    return found + [(s.id, s.t, s.text) for s in window.speech]


def _move(tx: Transaction, snapshot: Snapshot, made: Correction, now: int, *, undone: bool) -> None:
    """A correction of a fact or an intention moves its state, and back."""
    match = REF.fullmatch(made.ref)
    if match is None or made.kind == "note":
        return
    number = int(match["id"])
    if match["kind"] == "f" and made.kind == "deny":
        before = [f for f in snapshot.facts.versions(number) if not f.reason.startswith("the owner")]
        state = before[-1].state if undone and before else "retired"
        tx.facts.move(number, state, now, "" if undone else "the owner says that it is not so")
    elif match["kind"] == "i":
        state_ = "open" if undone else "done" if made.kind == "add" else "dropped"
        tx.intentions.move(number, state_, now, (*snapshot.intentions.get(number).evidence, f"c{made.id}"))  # type: ignore[arg-type]


def _window_at(snapshot: Snapshot, t: int) -> Window | None:
    """The window a time lies in, else the nearest one within an hour."""
    near = snapshot.trace.windows(t - AROUND_US, t + AROUND_US)
    return min(near, key=lambda w: max(0, w.t_start - t, t - w.t_end), default=None)


def _bare(text: str) -> str:
    """What something is called, without its article."""
    return re.sub(r"^(?:a|an|the|some)\s+", "", text.strip(" .!\"'"), flags=re.I)


def _head(new: str, target: _Target) -> str:
    """The word of the row that a longer name says more exactly: "mug" for "my sister's mug"; "" for none."""
    for word in reversed(new.split()):
        if content(word) and replaced(target.text, word, "\0") != target.text:
            return word
    return ""


def _doing(what: str) -> tuple[str, str] | None:
    """Act and thing of "drank water", "did turn off the stove"; None when it is no doing."""
    words = what.strip(" .!\"'").split()
    if not words or words[0].lower() in _NO_DOING:
        return None
    verb = words[0].lower()
    verb = _PAST.get(verb) or (_base(verb) if verb.endswith("ed") and len(verb) > 4 else verb)
    rest: Sequence[str] = words[1:]
    if rest and rest[0].lower() in _PARTICLES:
        verb, rest = f"{verb} {rest[0].lower()}", rest[1:]
    elif len(rest) > 1 and rest[-1].lower() in _PARTICLES:
        verb, rest = f"{verb} {rest[-1].lower()}", rest[:-1]
    thing = re.sub(r"^(?:my|a|an|the|some)\s+", "", " ".join(rest), flags=re.I)
    return (verb, thing) if thing or len(words) == 1 else None


def _base(past: str) -> str:
    """The plain form of a regular past: "watered" -> "water", "stirred" -> "stir", "carried" -> "carry"."""
    stem = past[:-2]
    if stem.endswith("i"):
        return stem[:-1] + "y"
    if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "sl":
        return stem[:-1]
    return (
        stem + "e"
        if re.search(r"(?:[^aeiou][aiou][vczsgk]|[^aeiou]i[lnprtd]|[aou]s|at|dg|rg|ng|ur|ar|iv)$", stem)
        else stem
    )
