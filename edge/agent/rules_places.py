"""Places: where a thing was put, where it came from, where it was last seen."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from edge.agent import rules_seen, rules_told
from edge.agent.draft import Draft, proof
from edge.agent.phrases import sentence, spoken_time, to_you
from edge.agent.question import Query
from edge.agent.scope import Scope
from edge.agent.view import View
from edge.retrieval import words
from storage.lookup import all_words, any_words
from storage.records import Item

_PUT = re.compile(
    r"(?:wearer |i |you |he |she |the person |person )?(?:puts?|placed?s?|places|leaves?|left|returns?|returned|hangs?|hung|sets?|lays?|laid|"
    r"stores?|stored|keeps?|kept|drops?|dropped|stows?|parks?|parked|hides?|hid|putting|placing|leaving|setting|hanging)(?: down| back| away)? (?P<o>.+?) "
    r"(?P<p>back into|back in|back on|back onto|on top of|next to|in front of|in between|into|onto|inside|in|on|under|"
    r"underneath|behind|beside|near|at|by|over|to|with) (?P<l>.+)",
    re.IGNORECASE,
)
_TAKEN = re.compile(
    r".*?\b(?:up|out|take|takes|took|taken|grab|grabs|get|gets|fetch|remove|removes) ?(?P<o>.*?) (?:up )?(?:from|out of|off) (?P<l>.+)",
    re.I,
)
_TOLD, _TOLD_YOU = (  # "I've just put ...", and "you left ..." from somebody else
    re.compile(
        rf"\b{who}(?:'ve|'d| have| had)?(?: (?:just|already|also|only|always))* "
        r"(?P<put>(?:put|left|placed|hung|parked|hid|stored|dropped|set|laid|keep|kept) [^.!?;]+)",
        re.IGNORECASE,
    )
    for who in ("(?:i|we)", "you")
)
_CLAUSE_END = re.compile(
    r",| (?:and|but|so|because|before|after|when|while|this morning|today|yesterday|just now|again)\b", re.I
)
_PUTTING = (  # the verbs of the patterns; the index knows their regular inflections
    "put puts putting place leave left leaving return hang hung hanging set sets setting lay laid store drop stow park hide hid keep kept"
).split()
NEWEST = 1000  # of a thing that is everywhere, only so many of its newest mentions are read for its last place
_FORMS = {
    "back in": "in",
    "back into": "in",
    "into": "in",
    "inside": "in",
    "onto": "on",
    "back on": "on",
    "back onto": "on",
    "underneath": "under",
}


@dataclass(frozen=True, slots=True)
class Put:
    """A thing put somewhere."""

    item: Item
    thing: str
    place: str


_OWNED = re.compile(r"\b(the|my|our) [\w-]+'s ", re.IGNORECASE)


def put_of(item: Item) -> Put | None:
    """Read "put the keys back in the drawer" -> ("the keys", "in the drawer")."""
    text = item.text.strip().rstrip(".").lower()
    if "put back" in text or "puts back" in text:
        text = re.sub(r"\b(puts?) back\b", r"\1", text)
    m = _PUT.match(text)
    if m is None:
        return None
    preposition = m.group("p").lower()
    return Put(item, m.group("o"), f"{_FORMS.get(preposition, preposition)} {m.group('l')}")


def _puts(view: View, thing: str, scope: Scope, *, first: bool = False) -> list[Put]:
    """All puts of a thing in time order; those of exactly that thing when there are any, else of its kinds."""
    asked = words.thing(thing)
    view.calls += 1
    newest = None if scope.named or first else NEWEST
    found = view.snap.lookup.matching(_put_with(_tokens(thing)), ("caption", "event"), scope.start, scope.end, newest)
    if not found:
        found = view.snap.lookup.matching(_put_with(words.tokens(thing)), ("caption",), scope.start, scope.end)
    puts = [p for p in (put_of(i) for i in found) if p is not None]
    puts += _said(view, thing, scope, newest)
    literal = words.plain(re.sub(r"^(?:the|a|an|my|our) ", "", thing, flags=re.IGNORECASE))
    graded = [(5 if words.plain(p.thing) == literal else _grade(asked, p.thing), p) for p in puts]
    best = max((g for g, _ in graded), default=0)
    kept = [p for g, p in graded if g == best] if best >= 4 else [p for g, p in graded if g > 1]
    return sorted(kept, key=lambda p: (p.item.t, p.item.id))


def _put_with(tokens: list[str]) -> str:
    """An expression for texts that name a thing and an act of putting: what else names it is not read."""
    named = all_words(tokens)
    return f"{named} AND ({any_words(_PUTTING)})" if named else ""


def _said(view: View, thing: str, scope: Scope, newest: int | None) -> list[Put]:
    """Puts that were told of: the wearer's "I put my keys next to the keyboard", another's "you left them on the chair"."""
    spoken = view.snap.lookup.matching(_put_with(_tokens(thing)), ("speech",), scope.start, scope.end, newest)
    found = []
    for item in spoken:
        own = item.speaker.lower() in ("wearer", "i", "me", view.owner.lower())
        for m in (_TOLD if own else _TOLD_YOU).finditer(item.text):
            put = put_of(replace(item, text=_CLAUSE_END.split(m.group("put"))[0]))
            found += [Put(item, put.thing, put.place)] if put is not None else []
    return found


def _tokens(thing: str) -> list[str]:
    return [w for w in words.tokens(words.same_phrases(thing)) if w not in words.STOPWORDS] or words.tokens(thing)


def _grade(asked: tuple[str, ...], thing: str) -> int:
    return words.thing_grade(asked, words.thing(thing))


def put(view: View, q: Query) -> Draft | None:
    """Where a thing was put last (first, or at the time named); else where it was last seen."""
    thing = q.clause.thing
    point = next((s for s in q.spans if s.kind == "point"), None)
    if point is not None:
        moved = _moved(view, thing, point.start, forward=True)
        if moved is not None:
            return _placed(view, q, moved, thing)
    scope = view.scope(q)
    puts = _puts(view, thing, scope, first=q.ordinal == "first")
    if puts:
        chosen = puts[0] if q.ordinal == "first" else puts[-1]
        return _placed(view, q, chosen, thing, puts)
    found = rules_seen.last_seen(view, q, scope) or rules_told.where(view, q)
    if found is None and (owned := _OWNED.sub(r"\1 ", thing)) != thing:
        # "the dog's leash" was likely called the leash when it was put.
        puts = _puts(view, owned, scope, first=q.ordinal == "first")
        return _placed(view, q, puts[0] if q.ordinal == "first" else puts[-1], owned, puts) if puts else None
    return found


def _placed(view: View, q: Query, chosen: Put, thing: str, others: list[Put] | None = None) -> Draft:
    value: str = chosen.place
    if q.choices:
        value = max(q.choices, key=lambda c: _place_match(c, chosen.place))
        if _place_match(value, chosen.place) < 0.3:
            value = chosen.place
    items = [chosen.item, *(p.item for p in (others or [])[::-1] if p is not chosen)]
    own = chosen.item.speaker.lower() in ("wearer", "i", "me", view.owner.lower())
    told = (
        ""
        if chosen.item.kind != "speech"
        else "You said that "
        if own
        else f"{sentence(chosen.item.speaker)} said that "
    )
    said = (
        f"{told or ''}{'you' if told else 'You'} put {to_you(thing)} {chosen.place} {spoken_time(view, chosen.item.t)}."
    )
    return Draft("text", value, said, proof(items[:5]), 0.95)


def _place_match(choice: str, place: str) -> float:
    return words.overlap(words.keys(choice), [w for w in words.keys(place) if w not in ("at", "in", "on", "from")])


def _moved(view: View, thing: str, t: int, *, forward: bool) -> Put | None:
    """The put next after a time (a thing picked up then), or the taking next before it (a thing put down then)."""
    reach = 3 * 3_600_000_000
    scope = Scope(t - 2_000_000, t + reach) if forward else Scope(t - reach, t + 2_000_000)
    if forward:
        lifted = [i.t for i in _lifts(view, thing, Scope(t - 500_000, t + 1_500_000))]
        since = min(lifted, key=lambda at: abs(at - t - 500_000), default=t)
        puts = [p for p in _puts(view, thing, scope) if p.item.t >= since]
        return puts[0] if puts else None
    found = view.snap.lookup.matching(all_words(_tokens(thing)), ("caption",), scope.start, scope.end)
    asked = words.thing(thing)
    for item in found:  # newest first
        m = _TAKEN.match(item.text)
        if m is not None and _grade(asked, m.group("o")) >= 3:
            return Put(item, m.group("o"), f"from {m.group('l')}")
    return None


def _lifts(view: View, thing: str, scope: Scope) -> list[Item]:
    """Captions of a thing being picked up."""
    found = view.snap.lookup.matching(all_words(_tokens(thing)), ("caption",), scope.start, scope.end)
    return [i for i in found if re.match(r"(?:\w+ )?(?:pick|take|grab|get|lift)", i.text, re.IGNORECASE)]


def taken_from(view: View, q: Query) -> Draft | None:
    """Where a thing was taken from, the last time or before the time named."""
    thing = q.clause.thing
    point = next((s for s in q.spans if s.kind == "point"), None)
    scope = view.scope(q)
    t = point.start if point is not None else scope.end or view.now
    moved = _moved(view, thing, t, forward=False)
    if moved is None:
        puts = [
            p for p in _puts(view, thing, Scope(scope.start if scope.named else None, t - 2_000_000)) if p.item.t < t
        ]
        return _placed(view, q, puts[-1], thing) if puts else None
    draft = _placed(view, q, moved, thing)
    return Draft(
        "text",
        draft.value,
        f"You took {to_you(thing)} {moved.place} {spoken_time(view, moved.item.t)}.",
        draft.evidence,
        0.95,
    )
