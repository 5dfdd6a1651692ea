"""What was told: when something is, where, how long, who said it, and what the wearer still has to do.

Answers come from statements, spoken or written, never from acts seen; the words that answer are given as they were said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from edge.agent import appointments, heard
from edge.agent.draft import Draft, proof
from edge.agent.phrases import clock_of, sentence, spoken_day, spoken_time, to_you
from edge.agent.question import Query
from edge.agent.scope import Scope
from edge.agent.statements import Statement, spoken, topic_of, written
from edge.agent.view import View
from edge.retrieval import words
from edge.retrieval.evidence import INSTANT_US, Evidence
from edge.retrieval.zone import Zone
from storage.records import Intention

_PLACE = re.compile(
    r"\b(?P<p>next to|in front of|on top of|opposite|in|at|on|near|under|behind|inside|beside|by|outside) "
    r"(?P<l>(?!(?:order|time|case|fact|general|it|that|this|me|you|least|all|first|last)\b)[\w' -]+?)"
    r"(?=[,.;!?]|$| (?:on|at|from|until|till|for|and|but|because|before|after|when|this|tomorrow|today|tonight|since|with|so)\b)",
    re.IGNORECASE,
)
_GENERIC = frozenset(
    words.key(w) for w in "do remember forget anything something everything left open thing task".split()
)
PROOFS = 5


def schedule(view: View, q: Query) -> Draft | None:
    """When something is or was, by what was said or written of it; `q.unit` "time" asks for the clock."""
    found = ((s, a) for s in _about(view, q) if (a := appointments.read(s.text, Zone(s.item.t, s.item.offset_s))))
    first = next(found, None)
    if first is None:
        return None
    told, when = first
    day = f" ({spoken_day(view, when.day).removeprefix('on ')})" if when.day else ""
    said = f"{sentence(when.phrase)}{day}: {_quoted(view, told)}"
    evidence = _proof(told)
    if when.day is not None and (q.unit != "time" or when.minute is None):
        return Draft("date", when.day.isoformat(), said, evidence, 0.85)
    if when.minute is not None:
        return Draft("clock", clock_of(when.minute), said, evidence, 0.85)
    return Draft("text", when.phrase, said, evidence, 0.8)


def which_place(view: View, q: Query) -> Draft | None:
    """In which room, on which platform, at which place something is: by the named kind of place, else by any place."""
    unit = "" if q.unit in ("place", "location", "spot") else re.escape(q.unit)
    numbered = re.compile(
        rf"\b{unit}s?\.? (?:number |no\.? )?(?P<n>\d+\w?|[A-Z]\b|[a-z]+(?=[ ,.;!?]|$))", re.IGNORECASE
    )
    for told in _about(view, q):
        text = told.text
        if unit and (m := numbered.search(text)) and m.group("n").lower() not in words.STOPWORDS:
            value = m.group(0)
        elif (place := _place_in(text, topic_of(q.clause.text))) and (not unit or q.unit in place.lower()):
            value = place
        else:
            continue
        return Draft("text", value, f"{sentence(value)}: {_quoted(view, told)}", _proof(told), 0.85)
    return None


def where(view: View, q: Query) -> Draft | None:
    """Where a thing or a meeting is, by what was said of its place; else what was last said of it, without a place."""
    topic = topic_of(q.clause.thing)
    people = [p for p in heard.people_in(view, q.text) if p not in heard.people_in(view, "I")]
    if not topic or people:
        return None
    mentions = list(spoken(view, topic, view.scope(q)))
    for told in chain(mentions, written(view, topic, view.scope(q))):
        place = _place_in(told.text, topic)
        if place and re.search(
            r"\b(?:is|are|was|were|'s|put|left|hang|hangs|lie|lies|stands?|kept?|will be)\b", told.text, re.I
        ):
            return Draft("text", place, f"{sentence(place)}: {_quoted(view, told)}", _proof(told), 0.75)
    if not mentions:
        return None
    told = max(mentions, key=lambda s: s.item.t)
    said = f"I don't know where: I did not see it put down. It was last spoken of like this: {_quoted(view, told)}"
    return Draft("text", None, said, _proof(told), 0.3)


def until(view: View, q: Query) -> Draft | None:
    """How long something stays so: "until Sunday", "for two weeks"."""
    for told in _about(view, q):
        m = appointments.UNTIL.search(told.text)
        if m is not None:
            value = m.group(0)
            day = (
                appointments.day_of(value, Zone(told.item.t, told.item.offset_s)) if value[:1].lower() in "ut" else None
            )
            end = f" ({spoken_day(view, day).removeprefix('on ')})" if day else ""
            return Draft("text", value, f"{sentence(value)}{end}: {_quoted(view, told)}", _proof(told), 0.85)
    return None


def who_said(view: View, q: Query) -> Draft | None:
    """Who, other than the wearer, said something about a topic."""
    own = set(heard.people_in(view, "I"))
    for told in spoken(view, topic_of(q.clause.text), view.scope(q), questions=q.unit == "ask"):
        if heard.person_key(view, told.item.speaker) not in own:
            name = told.item.speaker
            who = "Somebody else" if name == "other" else sentence(name)
            return Draft("text", name, f"{who}: {_quoted(view, told)}", _proof(told), 0.8)
    return None


def is_so(view: View, thing: str, states: tuple[str, ...], opposites: tuple[str, ...], q: Query) -> Draft | None:
    """Is a thing in a state, by the newest statement that says so or the opposite ("The oven is on", "OVEN ON")?"""
    topic = topic_of(thing)
    if not topic:
        return None
    scope = view.scope(q)
    best: tuple[int, bool, Statement] | None = None
    for told in chain(spoken(view, topic, scope), written(view, topic, scope)):
        for names, so in ((states, True), (opposites, False)):
            pattern = rf"\b(?:{'|'.join(topic)})\w*(?: (?:is|are|was|still|now|already))* (?:{'|'.join(names)})\b(?! (?:the|a|my))"
            if told.covered == 1 and re.search(pattern, told.text, re.I) and (best is None or told.item.t > best[0]):
                best = (told.item.t, so, told)
    if best is None:
        return None
    _, so, told = best
    return Draft(
        "yes_no",
        "yes" if so else "no",
        f"{'Yes' if so else 'No'}, as far as I know: {_quoted(view, told)}",
        _proof(told),
        0.7,
    )


def todo(view: View, q: Query) -> Draft | None:
    """What the wearer said that should happen and has not: open intentions, those that share the question's words."""
    view.calls += 1
    open_ones = view.snap.intentions.all("open")
    past = [i for i in open_ones if q.start is not None and q.start <= i.t < (q.end or view.now)]
    open_ones = past or open_ones
    asked = {k for k in words.content(q.clause.text) if k not in _GENERIC}
    if asked:
        graded = [(len(asked & _acts_of(f"{i.what} {i.due}")) / len(asked), i) for i in open_ones]
        best = max((g for g, _ in graded), default=0.0)
        open_ones = [i for g, i in graded if g == best] if best >= 0.5 else []
        if not open_ones:
            return _note(view, q)
    if not open_ones:
        return Draft("text_list", [], "Nothing that I know of.", confidence=0.6)
    newest = open_ones[::-1]
    told = "; ".join(f"{to_you(i.what)}{' ' + to_you(i.due) if i.due else ''}" for i in newest[:4])
    more = f"; and {len(newest) - 4} more" if len(newest) > 4 else ""
    said = f"You said that you have to {told}{more} ({spoken_time(view, newest[0].t)})."
    evidence = tuple(_of_intention(i) for i in newest[:PROOFS])
    if asked and len(newest) == 1:
        return Draft("text", _object(newest[0].what, asked), said, evidence, 0.9)
    return Draft("text_list", [to_you(i.what) for i in newest], said, evidence, 0.9)


def _note(view: View, q: Query) -> Draft | None:
    """A written note that begins with the act asked for: "BUY MILK AND EGGS"."""
    verb = next(iter(words.content(q.clause.text)), "")
    for told in written(view, topic_of(q.clause.text), view.scope(q)):
        first, _, rest = told.text.partition(" ")
        if rest and words.key(first) == verb:
            return Draft("text", rest, f"A note says: {_quoted(view, told)}", _proof(told), 0.7)
    return None


_BRING = frozenset(words.key(w) for w in "bring take carry pack fetch".split())


def _acts_of(what: str) -> set[str]:
    """The keys of an intention; what is to be taken along is to be brought too."""
    keys = set(words.content(what))
    return keys | _BRING if keys & _BRING else keys


# -- shared ----------------------------------------------------------------------------------------------------------


def _about(view: View, q: Query) -> Iterator[Statement]:
    """Statements on the question's topic, spoken before written; none for a question about somebody by name."""
    topic = topic_of(q.clause.text)
    own = heard.people_in(view, "I")
    if not topic or any(p not in own for p in heard.people_in(view, q.text)):
        return iter(())
    scope = (
        view.scope(q) if q.recording or q.context else Scope()
    )  # a time named is the appointment's, not the saying's
    return chain(spoken(view, topic, scope), written(view, topic, scope))


def _place_in(text: str, topic: tuple[str, ...]) -> str:
    """The first phrase of place in a sentence that is no time and not the topic itself."""
    keys = {words.key(w) for w in topic}
    position = 0
    while (m := _PLACE.search(text, position)) is not None:
        position = m.start("l")  # a phrase of time may hold the phrase of place that follows it
        place = m.group("l").strip()
        if (
            appointments.PHRASE.match(m.group(0))
            or appointments.PHRASE.fullmatch(place)
            or keys & set(words.keys(place))
        ):
            continue
        if len(place.split()) <= 6:
            return f"{m.group('p').lower()} {place}"
    return ""


def _quoted(view: View, told: Statement) -> str:
    item = told.item
    if item.kind != "speech":
        return f'"{told.text}" stood written, {spoken_time(view, item.t)}.'
    who = "you" if heard.person_key(view, item.speaker) in heard.people_in(view, "I") else item.speaker
    who = "somebody" if who == "other" else who
    return f'"{told.text}" {who} said {spoken_time(view, item.t)}.'


def _proof(told: Statement) -> tuple[Evidence, ...]:
    return proof([told.item])


def _of_intention(i: Intention) -> Evidence:
    return Evidence("window", f"w{i.window_id}", i.t, i.t + INSTANT_US, i.quote)


def _object(what: str, asked: set[str]) -> str:
    """What an act is done to, when the question names the act: "take the blue folder with me" -> "the blue folder"."""
    head, _, rest = what.partition(" ")
    if not rest or not asked & _acts_of(head):
        return to_you(what)
    return to_you(re.sub(r" (?:with|for|to) (?:me|us)$", "", rest))
