"""What the wearer says should happen, and whether it has happened since.

By rules: a first-person statement of an obligation, plan or request for a reminder, taken from what the wearer says;
done when a later event or caption shows the act with its object, or the wearer says it is; dropped when the wearer says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from edge.memory.bounds import MOST, bounded
from edge.memory.text import content, lemma
from storage.records import Intention, IntentionState, Utterance, Window

IntentionSort: TypeAlias = Literal["request", "promise", "reminder", "plan"]
DueSort: TypeAlias = Literal["time", "object", "place", "activity", ""]

_OPENERS = re.compile(
    r"\b(?:"
    r"remind me(?P<when>(?: (?:at|on|in|after|before|when|tomorrow|tonight|this|next)\b(?: (?!to\b)[\w:']+){0,5})?) to"
    r"|remind me (?:that i (?:have|need) to|about)"
    r"|(?:do not|don't|dont) let me forget(?: to| about)?"
    r"|let me not forget(?: to| about)?"
    r"|i (?:really |still |also )?(?:have|need|want|ought|plan|intend) to"
    r"|i (?:really |still |also )?(?:promise|promised)(?: (?!to\b)\w+)? to"
    r"|i(?:'ve| have)? (?:really |still |also )?got to"
    r"|i (?:mustn't|must not|can't|cannot|shouldn't|should not) forget(?: to| about)?"
    r"|i (?:must|should)(?: remember to)?(?! (?:not|have)\b)"
    r"|i(?:'d| had) better(?! not\b)|i(?:'m| am| was) supposed to"
    r"|i(?:'m| am) (?:planning|hoping) to"
    r"|i(?:'ll| will| am going to|'m going to|'m gonna| gotta)(?: need to| have to| remember to)?"
    r"|(?:we|you and i) (?:have to|need to|should(?! have\b))"
    r"|(?:note|reminder) to self[:,]?(?: to)?"
    r")\s+(?P<what>[^.!?;]+)",
    re.IGNORECASE,
)
# Not the wearer's own now: asked, supposed, reported, of the past
_ELSEWHERE = re.compile(
    r"\b(?:did|do|does|if|unless|whether|that|says?|said|thinks?|thought|used to)\s+$", re.IGNORECASE
)
# Figures of speech that announce nothing to be done
_IDLE = re.compile(
    r"^(?:admit|say|agree|confess|be honest|tell you|ask|know|thank you|be|have|think|get (?:over|used)|do (?:that|this|it)$"
    r"|go now$|try(?: it| that)?$|love|like|feel|see(?:$| (?:if|what|how|that|about|you)\b)|wait(?: and)? see|going to bed|believe|understand|guess|hope|wonder)\b",
    re.IGNORECASE,
)
_DROP = re.compile(
    r"\b(?:never mind|forget (?:it|that|about it)|i (?:don't|do not) (?:have|need) to)\b\s*(?P<what>[^.!?;]*)", re.I
)
# What the wearer says is done already
_PAST = {
    form: lemma(verb)
    for verb, form in (
        pair.split()
        for pair in "buy bought,pay paid,send sent,take took,bring brought,write wrote,make made,get got,tell told,feed fed,give gave,find found"
        .split(",")
    )
}  # fmt: skip
_DID = re.compile(
    rf"\bi(?:'ve| have)? (?:just |already |finally )?(?P<verb>\w{{2,}}ed|{'|'.join(_PAST)})(?! to\b)\b(?P<rest>[^.!?;]*)",
    re.IGNORECASE,
)
# Where the act ends and something else begins
_REST = re.compile(r",? (?:and|but|so) (?:i|we|he|she|they|it)\b|,? because\b|, (?:but|so)\b", re.IGNORECASE)
_CLOCK = r"(?:\d|noon|midnight|night|half|quarter|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_WHEN = (
    r"(?:before|after|when|once|until|as soon as|by (?!hand\b|car\b|bus\b|train\b|bike\b|foot\b)|tonight|tomorrow|later|today"
    rf"|at (?:{_CLOCK}|home|work|school|lunch|dinner|breakfast|the)\b|on (?:\w+day|the way|my way)\b"
    rf"|in (?:the (?:morning|afternoon|evening)|an?\b|\d|half|{_CLOCK})\b"
    r"|(?:this|next) (?:morning|afternoon|evening|week|weekend|month|year|time|\w+day)\b)"
)
_CONDITION = re.compile(rf"(?<!look )(?<!looking )\b(?P<due>{_WHEN}.*)$", re.IGNORECASE)
_LEAD = re.compile(
    rf"^\W*(?:oh|so|and|ok|okay|well|please)?\W*(?P<due>{_WHEN}[^,.!?;]*?)(?:,? please)?,?\s*$", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"[.!?;:]\s")
_TAIL = re.compile(r",? (?:i promise|please|okay|ok|right)$", re.IGNORECASE)
_AGAIN = re.compile(r"^(?:remember to|not forget to|(?:to|about))\s+", re.IGNORECASE)
_GOING = re.compile(r"\bgoing to\s*$", re.IGNORECASE)
_PLACE = re.compile(r"(?:an?|the|my|our|your|his|her|their|some|this|that)\b", re.IGNORECASE)
_STRONG = re.compile(
    r"^(?:remind|don't let|do not let|dont let|note to|reminder to)|\b(?:have|need|got|promised?|must(?:n't)?|gotta|better|supposed|forget)\b",
    re.I,
)


# How an intention was meant, and what its condition waits for; the first that fits
_SORTS: tuple[tuple[IntentionSort, re.Pattern[str]], ...] = (
    ("request", re.compile(r"\b(?:remind me|(?:don't|do not|dont) let me forget)\b", re.I)),
    ("promise", re.compile(r"\b(?:promised?|i(?:'ll| will)|you and i)\b", re.I)),
    (
        "reminder",
        re.compile(r"\b(?:to self|remember|not forget|(?:mustn't|must not|can't|cannot|shouldn't) forget)\b", re.I),
    ),
)
_WAITS: tuple[tuple[DueSort, re.Pattern[str]], ...] = (
    (
        "time",
        re.compile(
            rf"\b(?:tonight|tomorrow|today|later|noon|midnight|night|morning|afternoon|evening|weekend|week|month|year|\w+day"
            rf"|minutes?|hours?|days?|o'clock|a\.?m|p\.?m|(?:at|by|before|after|until) {_CLOCK})\b"
            r"|\b(?:at|by|before|after|until) \d",
            re.I,
        ),
    ),
    (
        "object",
        re.compile(
            r"\b(?:see|find|use|touch|open|hold|pick up|take|have|get|reach for|run out of) (?:the|my|a|an|some|his|her|our|their)\b",
            re.I,
        ),
    ),
    (
        "place",
        re.compile(
            r"\b(?:(?:at|in|to|into|by|past|on) (?:the|my|our|his|her|their|a)|(?:get|got|come|am|are|arrive|back|at|go) (?:back )?"
            r"(?:at |to )?(?:home|work|school|there)|on (?:the|my) way|here|downtown)\b",
            re.I,
        ),
    ),
)


def sort_of(intention: Intention) -> IntentionSort:
    """How it was meant: a request to be reminded, a promise, a reminder to oneself, else a plan."""
    return next((sort for sort, said in _SORTS if said.search(intention.quote)), "plan")


def waits_for(intention: Intention) -> DueSort:
    """What its condition names: a time, a thing, a place, else something that goes on; "" without a condition."""
    if not intention.due:
        return ""
    return next((sort for sort, told in _WAITS if told.search(intention.due)), "activity")


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
    found: list[Intention] = []
    for match in _OPENERS.finditer(said.text):
        opener = said.text[match.start() : match.start("what")]
        if _ELSEWHERE.search(said.text[: match.start()]):
            continue
        what = _TAIL.sub("", " ".join(match["what"].split()).strip(" ,"))
        what = _AGAIN.sub("", _REST.split(what)[0])
        if _GOING.search(opener) and _PLACE.match(what):  # going somewhere, not about to do something
            what = f"go to {what}"
        condition = _CONDITION.search(what)
        lead = _lead(said.text[: match.start()]) or (match["when"] or "").strip()
        # a wish or a plan without a when is talk
        firm = _STRONG.search(opener) or lead or (condition and condition.start() > 0)
        if len(content(what)) < 1 or len(what) < 3 or _IDLE.match(what) or not firm:
            continue
        due = condition["due"].strip() if condition and condition.start() > 0 else lead
        act = what[: condition.start()].strip(" ,") if condition and condition.start() > 0 else what
        if not content(act):
            act = what
        if any(i.what == act for i in found):  # said twice in one breath
            continue
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


def _lead(before: str) -> str:
    """The condition that stands before a statement in its sentence; "" for none."""
    start = max((m.end() for m in _SENTENCE_END.finditer(before)), default=0)
    found = _LEAD.match(before[start:])
    return found["due"].strip() if found else ""


def resolved(
    window: Window, open_ones: Sequence[Intention], wearer: frozenset[str]
) -> list[tuple[Intention, IntentionState]]:
    """Open intentions that this window shows done, or that the wearer drops in it: (intention, new state)."""
    if not open_ones:
        return []
    deeds = [(e.t, set(content(f"{e.action} {e.object}"))) for e in window.events if e.subject in ("wearer", "")]
    deeds += [(c.t, set(content(c.text))) for c in window.captions]
    deeds += [
        (s.t, {_PAST.get(m["verb"].lower(), lemma(m["verb"])), *content(m["rest"])})
        for s in window.speech
        if s.speaker.lower() in wearer
        for m in _DID.finditer(s.text[:MOST])
    ]
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
