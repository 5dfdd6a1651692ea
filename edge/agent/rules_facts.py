"""Plain look-up: what was said about somebody, and anything else by the best matching words."""

from __future__ import annotations

import re

from edge.agent import heard
from edge.agent.draft import Draft, proof
from edge.agent.heard import Heard
from edge.agent.phrases import sentence, spoken_day, spoken_time
from edge.agent.question import Query
from edge.agent.scope import Scope
from edge.agent.spans import answer_words
from edge.agent.view import View
from edge.retrieval import timephrase, words
from edge.retrieval.evidence import Evidence
from edge.retrieval.skills import Skills
from edge.retrieval.zone import Span, Zone

SURE = 0.7  # trust from which what was said is taken as the answer
FAINT = 0.4  # covering less of the question than this, the words alone may have missed what was meant
SHOWN = 0.5  # a caption that holds no more of the question shows another thing
DATED = 0.45  # the same for dates: a wrong person is rarer there, and the date is the utterance's own


def lookup(view: View, q: Query) -> Draft:
    """What was said or shown that bears on the question; no value where the memory does not tell."""
    people = heard.people_in(view, q.text)
    scope = view.scope(q)
    found = heard.rank(view, q.text, scope, people) if words.content(q.text) else []
    if scope.named and people and (not found or found[0].coverage < 0.5):
        # What happened "last year" was not said last year: a time in a question about a life may be the story's own.
        found = heard.rank(view, q.text, Scope(), people)
    if not found:
        return Draft("text", None, "I don't know: nothing in the memory speaks of that.", _alike(view, q), 0.1)
    best, trust = _trusted(view, q, people, found)
    ranked = [best, *(h for h in found if h is not best)] if best else found
    evidence = _evidence(ranked)
    if found[0].coverage < FAINT:
        evidence = (*evidence[:3], *_alike(view, q)[:2], *evidence[3:])
    if _DATE.match(q.text):
        if best is not None and trust >= DATED:
            return _dated(view, q, best, evidence, trust)
    elif _WHETHER.match(q.text):
        asked = set(words.content(q.text)) - {words.key(p) for p in people} - {words.key("ever")}
        if best is not None and people and (yes := _yes(view, best, asked)) is not None:
            return yes
    elif best is not None and trust >= SURE:
        value = _extracted(q, best)
        if value:
            said = f'{sentence(value)}: "{_short(best.item.text)}", {spoken_time(view, best.item.t)}.'
            return Draft("text", value, said, evidence, min(0.9, trust / 1.5))
    nearest = ranked[0].item
    said = f'I don\'t know. The nearest I have is {spoken_time(view, nearest.t)}: "{_short(nearest.text)}"'
    return Draft("text", None, said, evidence, 0.2)


def own_words(view: View, q: Query) -> Draft | None:
    """The day of what was not seen, but of which the wearer told in words that hold most of the question's."""
    if not view.snap.lookup.speakers():
        return None
    found = lookup(view, q)
    return found if found.kind == "date" and found.value is not None and found.confidence >= SURE / 1.5 else None


def _yes(view: View, best: Heard, asked: set[str]) -> Draft | None:
    """Whether somebody did something: yes where their own words say all of it; a look-up knows no "no"."""
    if best.item.kind != "speech" or _share(asked, told(best.item.text)) < 1 or _DENIED.search(best.item.text):
        return None
    said = f'Yes: "{_short(best.item.text)}", {spoken_time(view, best.item.t)}.'
    return Draft("yes_no", "yes", said, _evidence([best]), 0.7)


def _names_held(q: Query, people: list[str], best: Heard) -> bool:
    """Are the names a question has ("Japan") in the words found, or in those around them?  Another place is no answer."""
    times = {w for s in q.spans for w in words.tokens(s.text)}
    names = {w for w in _NAME.findall(q.text) if w.lower().removesuffix("'s") not in (*people, *times)}
    texts = [best.item.text, *(i.text for i in (best.before, best.after) if i is not None)]
    held = {k for text in texts for k in words.keys(text)}
    return all(words.key(w) in held for w in names)


_OTHERS_OR_WHY = re.compile(
    r"^(?:why|who)\b|\b(?:did|does|has|had|was|is|will) (?:he|she|they|(?:some|any)(?:body|one)(?: else)?|(?:my|our) (?:wife|husband|partner|mother|father|mum|mom|dad|son|daughter|sister|brother|friend|neighbou?r|boss|flatmate|child|kids?|children|parents))\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[a-z,] )(?!I\b|I')[A-Z][a-z']+")
_SAYING = {words.key(w) for w in "say tell mention talk speak explain ask thing".split()}
_DATE = re.compile(r"(?:on |at |in )?(?:when|what (?:date|day)|which day)\b", re.IGNORECASE)
_DENIED = re.compile(r"\b(?:not|never|no|nobody|without|\w+n't)\b", re.IGNORECASE)
_WHETHER = re.compile(r"^(?:did|do|does|has|have|had|is|was|are|were|can|could|will|would)\b", re.IGNORECASE)


def _trusted(view: View, q: Query, people: list[str], found: list[Heard]) -> tuple[Heard | None, float]:
    """The best passage from the person asked about, and how far to trust it.

    Trust is the share of the question's words in the passage, half as much for the turn before it, less the share that
    somebody else's words about themselves hold: a thing the other one did is no answer.
    """
    asked = set(words.content(q.text)) - {words.key(p) for p in people}
    asked -= _SAYING if q.form == "said_what" else set()
    if not asked:
        return None, 0.0
    person = people[0] if people else ""
    own = [h for h in found if not person or heard.about(view, h.item) == person]
    other = [h for h in found if person and heard.about(view, h.item) != person]
    if not own:
        return None, 0.0
    best = max(own[:4], key=lambda h: h.score * (0.4 + _share(asked, told(h.item.text))))
    if best.item.kind == "caption" and not _DATE.match(q.text) and _share(asked, best.item.text) <= SHOWN:
        return best, 0.0  # what was shown answers only what it shows
    if best.item.kind == "caption" and _OTHERS_OR_WHY.search(q.text):
        return best, 0.0  # what the wearer did says nothing of somebody else, nor why
    if not _names_held(q, people, best):
        return best, 0.0
    trust = _share(asked, told(best.item.text)) + 0.5 * _share(
        asked, best.item.text, best.before.text if best.before else ""
    )
    if other and other[0].item.kind == "speech":
        trust -= max(_share(asked, told(h.item.text)) for h in other[:2])
    return best, trust


_FIRST_PERSON = re.compile(r"\b(?:i|me|my|we|us|our|i'm|i've|i'd|i'll|we're|we've|mine)\b", re.IGNORECASE)
_SECOND_PERSON = re.compile(r"\b(?:you|your|you're|you've|you'd|yours)\b", re.IGNORECASE)


def told(text: str) -> str:
    """The sentences in which a speaker tells of themself: no questions, nothing that is only about "you"."""
    kept = []
    for said in re.findall(r"[^.!?]+[.!?]*", text):
        if said.rstrip().endswith("?"):
            continue
        if _SECOND_PERSON.search(said) and not _FIRST_PERSON.search(said):
            continue
        kept.append(said)
    return " ".join(kept)


def _share(asked: set[str], *texts: str) -> float:
    held: set[str] = set()
    for text in texts:
        held |= set(words.content(text))
    return len(asked & held) / len(asked)


def _alike(view: View, q: Query) -> tuple[Evidence, ...]:
    """Moments that mean something alike, where an embedder is at hand: words may differ from those of the question."""
    if view.embed is None:
        return ()
    view.calls += 1
    return tuple(Skills(view.snap, view.embed).search_moments(q.text, q.start, q.end, 5))


def _evidence(ranked: list[Heard]) -> tuple[Evidence, ...]:
    return proof([h.item for h in ranked[:8]])


def _extracted(q: Query, best: Heard) -> str:
    text = best.item.text
    if best.item.kind == "caption":
        m = re.search(r"\bshows? (?:a |an )?(?:photo|photograph|photography|picture|image)? ?(?:of )?(.+)", text)
        return m.group(1) if m else text
    value = answer_words(q.text, text)
    if not value and best.after is not None and text.rstrip().endswith("?"):
        value = answer_words(q.text, best.after.text)
    return value


def _dated(view: View, q: Query, best: Heard, evidence: tuple[Evidence, ...], trust: float) -> Draft:
    """The day something happened: a time phrase in the words, read from the day they were said, else that day."""
    item = best.item
    zone = Zone(item.t, item.offset_s)
    said_by = [
        h for h in (item, best.before, best.after) if h is not None and heard.about(view, h) == heard.about(view, item)
    ]
    texts = [_nearest_sentence(q.text, item.text), *(i.text for i in said_by)]
    spans = next((found for text in texts if (found := _times(text, zone))), [])
    day = zone.local(spans[0].start).date() if spans else zone.today
    said = f'{sentence(spoken_day(view, day))}: "{_short(item.text)}".'
    return Draft("date", day.isoformat(), said, evidence, min(0.85, trust / 1.5))


def _times(text: str, zone: Zone) -> list[Span]:
    return [
        s for s in timephrase.extract(text, zone).spans if s.start > -(2**60) and s.text.lower() not in ("now", "today")
    ]


def _nearest_sentence(question: str, text: str) -> str:
    asked = set(words.content(question))
    sentences = re.split(r"(?<=[.!?])\s+", text)
    return max(sentences, key=lambda s: len(asked & set(words.content(s))))


def _short(text: str, width: int = 140) -> str:
    return text if len(text) <= width else text[: text.rfind(" ", 0, width)] + " ..."
