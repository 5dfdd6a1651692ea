"""What the wearer says should happen, and whether it has happened since.

By rules: a first-person statement of an obligation, plan or request for a reminder, taken from what the wearer says;
done when a later event or caption shows the act with its object; dropped when the wearer says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from edge.memory.bounds import bounded
from edge.memory.text import content
from storage.records import Intention, IntentionState, Utterance, Window

_OPENERS = re.compile(
    r"\b(?:"
    r"remind me (?:to|that i (?:have|need) to|about)"
    r"|(?:do not|don't|dont) let me forget (?:to|about)"
    r"|i (?:really |still |also )?(?:have|need|want|ought|plan|intend|promise|promised) to"
    r"|i've (?:really |still |also )?got to"
    r"|i (?:must|should)(?: not forget to| remember to)?"
    r"|i(?:'ll| will| am going to|'m going to|'m gonna| gotta)(?: need to| have to| remember to)?"
    r"|(?:we|you and i) (?:have|need) to"
    r"|(?:note|reminder) to self:?(?: to)?"
    r")\s+(?P<what>[^.!?;]+)",
    re.IGNORECASE,
)
# Figures of speech that announce nothing to be done
_IDLE = re.compile(
    r"^(?:admit|say|agree|confess|be honest|tell you|ask|know|thank|see|be|have|think|get (?:over|used)|do (?:that|this|it)$"
    r"|go now$|try(?: it| that)?$|love|like|feel|wait(?: and)? see|believe|understand|guess|hope|wonder)\b",
    re.IGNORECASE,
)
_DROP = re.compile(
    r"\b(?:never mind|forget (?:it|that|about it)|i (?:don't|do not) (?:have|need) to)\b\s*(?P<what>[^.!?;]*)", re.I
)
# Where the act ends and something else begins
_REST = re.compile(r",? (?:and|but|so) (?:i|we|he|she|they|it)\b|,? because\b|, (?:but|so)\b", re.IGNORECASE)
_CONDITION = re.compile(
    r"\b(?P<due>(?:before|after|when|once|until|by|at|on|in|as soon as|tonight|tomorrow|later|this (?:morning|afternoon|evening)"
    r"|next)\b.*)$",
    re.IGNORECASE,
)
_STRONG = re.compile(
    r"^(?:remind|don't let|do not let|dont let|note to|reminder to)|\b(?:have|need|got|promised?|must|gotta)\b", re.I
)


def heard(window: Window, wearer: frozenset[str]) -> list[Intention]:
    """The intentions stated in a window by the wearer (whose names are given), in the order they were said."""
    window = bounded(window)
    found = []
    for said in window.speech:
        if said.speaker.lower() not in wearer:
            continue
        found += _of(said, window)
    return found


def _of(said: Utterance, window: Window) -> list[Intention]:
    found = []
    for match in _OPENERS.finditer(said.text):
        opener = said.text[match.start() : match.start("what")]
        what = " ".join(match["what"].split()).strip(" ,")
        what = _REST.split(what)[0]
        condition = _CONDITION.search(what)
        firm = _STRONG.search(opener) or (
            condition and condition.start() > 0
        )  # a wish or a plan without a when is talk
        if len(content(what)) < 1 or len(what) < 3 or _IDLE.match(what) or not firm:
            continue
        due = condition["due"].strip() if condition else ""
        act = what[: condition.start()].strip(" ,") if condition and condition.start() > 0 else what
        if not content(act):
            act = what
        found.append(
            Intention(
                who="wearer",
                quote=said.text.strip(),
                what=act,
                t=said.t,
                offset_s=window.offset_s,
                window_id=window.id,
                due=due,
                state="open",
                known=window.known,
                evidence=(f"w{window.id}",),
            )
        )
    return found


def resolved(
    window: Window, open_ones: Sequence[Intention], wearer: frozenset[str]
) -> list[tuple[Intention, IntentionState]]:
    """Open intentions that this window shows done, or that the wearer drops in it: (intention, new state)."""
    if not open_ones:
        return []
    deeds = [(e.t, set(content(f"{e.action} {e.object}"))) for e in window.events if e.subject in ("wearer", "")]
    deeds += [(c.t, set(content(c.text))) for c in window.captions]
    dropped = [
        (s.t, set(content(m["what"])))
        for s in window.speech
        if s.speaker.lower() in wearer
        for m in _DROP.finditer(s.text)
    ]
    changes: list[tuple[Intention, IntentionState]] = []
    for intention in open_ones:
        act = content(intention.what)
        verb, objects = act[0], set(act[1:])
        if any(t > intention.t and verb in deed and (not objects or objects & deed) for t, deed in deeds):
            changes.append((intention, "done"))
        elif any(t > intention.t and (not what or what & {verb, *objects}) for t, what in dropped):
            changes.append((intention, "dropped"))
    return changes
