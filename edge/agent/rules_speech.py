"""Words: who said what and when, what the reply was, what a text in view said."""

from __future__ import annotations

import re

from edge.agent import rules_facts
from edge.agent.draft import Draft, proof
from edge.agent.phrases import sentence, spoken_time
from edge.agent.question import Query
from edge.agent.scope import Scope
from edge.agent.statements import COVERED, spoken, topic_of
from edge.agent.talks import PAUSE_US, conversations
from edge.agent.view import View
from edge.retrieval import words
from edge.retrieval.evidence import of_episode
from storage.records import Item

CLEAR = 0.75  # share of a topic's words in what was said from which it was that topic
_ANYONE = frozenset(
    ("someone", "somebody", "anyone", "anybody", "they", "people", "it", "he", "she", "the other person")
)
_OTHERS = frozenset("person other man woman guy lady voice stranger".split())
_WEARER = frozenset(("i", "me", "my", "we", "our", "wearer"))


def _by(view: View, item: Item, who: str) -> bool:
    """Was it said by them?  "the instructor" is the speaker "instructor"; nobody in particular is anybody."""
    name = words.plain(who)
    for article in ("the ", "my ", "our "):
        name = name.removeprefix(article)
    speaker = item.speaker.lower()
    if not name or name in _ANYONE:
        return True
    if name.split(" ")[-1] in _OTHERS and not any(name == s.lower() for s in view.snap.lookup.speakers()):
        return speaker not in ("wearer", view.owner.lower())
    if name in _WEARER or name == view.owner.lower():
        return speaker in ("wearer", view.owner.lower())
    return speaker == name or name in speaker.split() or speaker in name.split()


def known_speaker(view: View, who: str) -> bool:
    """Was anybody of that name heard?  "the other person" is the speaker "other"."""
    name = words.plain(who).removeprefix("the ").removeprefix("my ")
    return (
        not name
        or name in _ANYONE
        or name in _WEARER
        or name.split(" ")[-1] in _OTHERS
        or any(
            name == s.lower() or name in s.lower().split() or s.lower() in name.split()
            for s in view.snap.lookup.speakers()
        )
    )


def _said(view: View, quote: str, scope: Scope) -> list[Item]:
    exact = view.named(quote, scope.start, scope.end, kinds=("speech",))
    if exact:
        return [i for i in exact if i.text == quote] or exact
    graded = view.alike(quote, scope, ("speech",), least=0.6)
    return [i for g, i in graded if g >= graded[0][0] - 0.01] if graded else []


def said_when(view: View, q: Query) -> Draft | None:
    """When somebody said these words."""
    scope = view.scope(q)
    found = _said(view, q.clause.quote, scope) if q.clause.quote else []
    theirs = [i for i in found if _by(view, i, q.speaker)] or found
    if not q.clause.quote:
        if not known_speaker(view, q.speaker):
            return None
        told = [s for asking in (False, True) for s in spoken(view, topic_of(q.clause.text), scope, questions=asking)]
        most = max((s.covered for s in told if _by(view, s.item, q.speaker)), default=0.0)
        theirs = sorted((s.item for s in told if s.covered == most and _by(view, s.item, q.speaker)), key=lambda i: i.t)
        if theirs and (most < CLEAR or len({i.id for i in theirs}) > 8):
            return None
    if not theirs:
        return Draft("time", None, "I don't know: I have not heard that.", confidence=0.4)
    item = theirs[0] if q.ordinal == "first" else theirs[-1]
    said = f"{sentence(item.speaker)} said that {spoken_time(view, item.t)}."
    return Draft("time", view.zone.iso(item.t), said, proof([item, *(i for i in theirs if i is not item)][:5]), 0.95)


def reply(view: View, q: Query) -> Draft | None:
    """What somebody answered to these words: their next words after them."""
    scope = view.scope(q)
    asked = _said(view, q.clause.quote, scope)
    best: tuple[int, Item, Item] | None = None
    for item in asked[::-1]:
        _, later = view.snap.trace.neighbours(item, ("speech",), 6)
        for rank, other in enumerate(later):
            if other.speaker != item.speaker and _by(view, other, q.speaker):
                if best is None or rank < best[0]:
                    best = (rank, item, other)
                break
    if best is None:
        return Draft("text", None, "I don't know: I heard no answer to that.", proof(asked[:5]), 0.3)
    _, item, other = best
    value = other.text
    if q.choices:
        value = max(
            q.choices,
            key=lambda c: (
                words.plain(c) == words.plain(other.text),
                words.overlap(words.content(c), words.content(other.text)),
            ),
        )
    return Draft("text", value, f'{sentence(other.speaker)} answered: "{other.text}"', proof([other, item]), 0.9)


def mentioned(view: View, q: Query) -> Draft | None:
    """Did somebody speak of something: yes with their words, or no where they were heard at all."""
    if not known_speaker(view, q.speaker):
        return None
    scope, topic = view.scope(q), topic_of(q.clause.text)
    for asking in (False, True):
        for told in spoken(view, topic, scope, questions=asking):
            if _by(view, told.item, q.speaker) and told.covered >= CLEAR:
                said = f'Yes, {spoken_time(view, told.item.t)}: "{told.text}"'
                return Draft("yes_no", "yes", said, proof([told.item]), 0.8)
    return Draft("yes_no", "no", "No, not in what I have heard.", confidence=0.6)


def _nameless(who: str) -> bool:
    name = words.plain(who).removeprefix("the ")
    return name in _ANYONE | _WEARER or name.split(" ")[-1] in _OTHERS


def _said_about(view: View, q: Query) -> Draft | None:
    """What somebody said about something: the statement of theirs that speaks of it most, of equals the newest."""
    asking = re.search(r"\bask", q.text, re.IGNORECASE) is not None
    for told in spoken(view, topic_of(q.clause.text), view.scope(q), questions=asking):
        if _by(view, told.item, q.speaker) and (told.covered >= COVERED or _nameless(q.speaker)):
            said = f'"{told.item.text}", {spoken_time(view, told.item.t)}.'
            return Draft("text", told.item.text, said, proof([told.item]), 0.8)
    return None


def said_what(view: View, q: Query) -> Draft | None:
    """What somebody said (about something, at a time)."""
    if not known_speaker(view, q.speaker):
        return None
    scope = view.scope(q)
    about = q.clause.text
    if words.content(about) and (not q.speaker or _nameless(q.speaker)):
        return _said_about(view, q)
    if words.content(about):  # a look-up reads it better: it weighs rare words and the speaker
        found = rules_facts.lookup(view, q)
        return found if found.value is not None else _said_about(view, q) or found
    point = next((s for s in q.spans if s.kind == "point"), None)
    low, high = (point.start - 5_000_000, point.end + 30_000_000) if point else (scope.start, scope.end)
    heard = [i for i in view.snap.lookup.newest(("speech",), low, high, 2000)[::-1] if _by(view, i, q.speaker)]
    view.calls += 1
    if not heard:
        return Draft("text", None, "I don't know: I heard nothing then.", confidence=0.3)
    item = heard[0] if point or q.ordinal == "first" else heard[-1]
    return Draft(
        "text",
        item.text,
        f'{sentence(item.speaker)} said {spoken_time(view, item.t)}: "{item.text}"',
        proof([item]),
        0.8,
    )


def talked_about(view: View, q: Query) -> Draft | None:
    """What a conversation was about: the subjects of its episodes; of several the last (or, when asked, the first)."""
    found = conversations(view, q.speaker, view.scope(q))
    if not found:
        return None
    item = found[0] if q.ordinal == "first" else found[-1]
    view.calls += 1
    episodes = [e for e in view.snap.episodes.between(item.t, item.t + PAUSE_US, 20) if e.subject]
    if not episodes:  # the episode is still under way: how it went on so far
        spoken_then = view.snap.trace.items(("speech",), item.t, item.t + PAUSE_US, 400)
        told = [i for i in spoken_then if len(words.content(i.text)) > 4][:2]
        said = f"{sentence(spoken_time(view, item.t))}, it went like this: " + " ".join(f'"{i.text}"' for i in told)
        return Draft("text", " ".join(i.text for i in told), said, proof(told), 0.5) if told else None
    subjects = list(dict.fromkeys(e.subject for e in episodes))
    said = f"{sentence(spoken_time(view, item.t))}: {'; '.join(subjects[:3])}."
    return Draft("text", "; ".join(subjects[:3]), said, tuple(of_episode(e) for e in episodes[:5]), 0.7)
