"""Everyday questions: is it still on, what did I wash, who was there, how was the day."""

from __future__ import annotations

import re

from edge.agent import activities, rules_told
from edge.agent.draft import Draft, proof, spread
from edge.agent.phrases import sentence, spoken_time
from edge.agent.question import Clause, Query, verbs_of
from edge.agent.rules_sessions import MEALS
from edge.agent.scope import Scope
from edge.agent.view import View, label_of
from edge.retrieval import words
from edge.retrieval.evidence import of_episode
from storage.lookup import all_words
from storage.records import Item

# A state, the acts that bring it about, and its opposite.
_STATES: dict[str, tuple[tuple[str, ...], str]] = {
    "on": (("turn on", "switch on", "light", "power on", "plug in"), "off"),
    "off": (("turn off", "switch off", "power off", "unplug"), "on"),
    "open": (("open", "open up"), "closed"),
    "closed": (("close",), "open"),
    "locked": (("lock",), "unlocked"),
    "unlocked": (("unlock",), "locked"),
}
_SAME_STATE = {
    "opened": "open", "shut": "closed", "close": "closed", "running": "on", "burning": "on", "lit": "on",
    "plugged in": "on", "unplugged": "off", "lock": "locked", "turn off": "off", "switch off": "off", "turn on": "on",
}  # fmt: skip


def state(view: View, q: Query) -> Draft | None:
    """Is a thing on, off, open, closed: by the last act that set it one way or the other.

    `q.unit` is the state asked about.  "Did I leave it on" and "is it on" are the same; "did I forget to close it" asks
    whether it is open.
    """
    asked = _SAME_STATE.get(q.unit, q.unit)
    if asked not in _STATES:
        return rules_told.is_so(view, q.clause.thing, (asked,), (f"not {asked}",), q)
    scope = view.scope(q)
    acts, opposite = _STATES[asked]
    into = _events(view, acts, q.clause.thing, scope)
    out_of = _events(view, _STATES[opposite][0], q.clause.thing, scope)
    last = max([*into, *out_of], key=lambda i: (i.t, i.id), default=None)
    if last is None:
        return rules_told.is_so(view, q.clause.thing, _words_for(asked), _words_for(opposite), q) or Draft(
            "yes_no", None, f"I don't know: I have not seen {q.clause.thing} turned or moved.", confidence=0.2
        )
    now_so = any(i.id == last.id for i in into)
    said = f"{'Yes' if now_so else 'No'}: it has been {asked if now_so else opposite} since {spoken_time(view, last.t)}, as far as I saw."
    return Draft("yes_no", "yes" if now_so else "no", said, proof([last]), 0.85)


def _words_for(state: str) -> tuple[str, ...]:
    return (state, *(said for said, same in _SAME_STATE.items() if same == state))


def _events(view: View, acts: tuple[str, ...], thing: str, scope: Scope) -> list[Item]:
    clause = Clause(tuple(words.act(a) for a in acts), thing, "", f"{acts[0]} {thing}")
    return view.snap.lookup.events_of(view.terms(clause), scope.start, scope.end)


def objects(view: View, q: Query) -> Draft | None:
    """What the wearer did something to: "what did I wash today", "what did I put in the fridge", "what did I cut last"."""
    scope = view.scope(q)
    clause = q.clause
    if not clause.acts:
        return None
    made = _made(view, clause, scope)
    if made is not None and not q.ordinal:
        names = list(dict.fromkeys(i.object for i in made))
        said = f"{', '.join(names[:8])}{f' and {len(names) - 8} others' if len(names) > 8 else ''}."
        return Draft("text_list", names[:40], sentence(said), proof(spread(made)), 0.85)
    found = _with_place(view, clause, scope) if clause.thing else _acted_on(view, clause, scope)
    if not found:
        return None
    if q.ordinal in ("last", "first"):
        name, item = found[-1] if q.ordinal == "last" else found[0]
        return Draft("text", name, f"{sentence(name)}, {spoken_time(view, item.t)}.", proof([item]), 0.85)
    names = list(dict.fromkeys(n for n, _ in found))
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} other things" if len(names) > 8 else "")
    return Draft("text_list", names[:40], f"{sentence(shown)}.", proof(spread([i for _, i in found])), 0.8)


_MEAL = re.compile(
    r"^(?P<vp>.+?) (?:for|at|as) (?:a |my |our |the )?(?P<meal>breakfast|lunch|dinner|supper)$", re.IGNORECASE
)


def _made(view: View, clause: Clause, scope: Scope) -> list[Item] | None:
    """What was cooked or made by name, at the hours of a meal where one was said; None where nothing was."""
    m = _MEAL.match(clause.text)
    text = m.group("vp") if m else clause.text
    if m is not None and text.lower() in ("eat", "have", "get"):
        text = "cook"  # what a meal was is told by what was made for it
        if scope.start is not None and scope.end is not None and scope.end - scope.start < activities.LONGEST:
            low, high = view.zone.day(view.zone.local(scope.start).date())  # "dinner last night" may be early
            scope = Scope(min(low, scope.start), max(high, scope.end), True)
    acts, thing = verbs_of(text)
    plain = Clause(
        acts, thing or "meal", "", text
    )  # "what did I make" asks for what was cooked where dishes have names
    which = activities.meant(view, plain) if activities.cooking(acts, thing) else None
    dishes = activities.dishes(view)  # "prepare breakfast" says nothing of what it was
    names = tuple(n for n in which.names if n in dishes) if which is not None else ()
    if not names:
        return None
    items = activities.occurrences(view, activities.Meant(names), scope)
    if m is not None:
        low, high = MEALS[words.key(m.group("meal"))]
        items = [i for i in items if low <= view.zone.local(i.t).hour < high]
    return items or None


def _acted_on(view: View, clause: Clause, scope: Scope) -> list[tuple[str, Item]]:
    wanted = set(clause.acts)
    for acts in (wanted, set().union(*(words.near_acts(a) for a in wanted))):
        terms = [
            (action, thing)
            for action in view.actions()
            if any(words.act_grade(a, words.act(action)) >= 2 for a in acts)
            for thing in view.objects(action)
            if thing
        ]
        items = view.mine(view.snap.lookup.events_of(terms, scope.start, scope.end)) if terms else []
        if items:
            return [(i.object, i) for i in items]
    return []


_OF_PLACE = re.compile(
    r" (?:back )?(?:in|into|on|onto|from|out of|to|off|under|inside|at)(?: the| a| my)? ", re.IGNORECASE
)


def _with_place(view: View, clause: Clause, scope: Scope) -> list[tuple[str, Item]]:
    """Captions of the act that name the place: "put the olives into the fridge" -> "the olives"."""
    place = [w for w in words.tokens(words.same_phrases(clause.thing)) if w not in words.STOPWORDS]
    acts = {a[0] for a in clause.acts}
    found = []
    for item in view.snap.lookup.matching(all_words(place), ("caption",), scope.start, scope.end)[::-1]:
        tokens = label_of(item.text)[1].split()
        at = next((n for n, w in enumerate(tokens[:3]) if words.key(w) in acts), None)
        if at is None:
            continue
        rest = " ".join(w for n, w in enumerate(tokens[at + 1 :]) if n or w.lower() not in words.PARTICLES)
        thing, *where = _OF_PLACE.split(f"{rest}", maxsplit=1)
        if where and set(words.keys(" ".join(place))) <= set(words.keys(where[0])):
            found.append((thing, item))
    return found


def who(view: View, q: Query) -> Draft | None:
    """Who was heard, besides the wearer."""
    scope = view.scope(q)
    items = [i for i in view.snap.lookup.newest(("speech",), scope.start, scope.end, 3000) if i.speaker]
    view.calls += 1
    own = {"wearer", "i", "me", view.owner.lower()}
    newest: dict[str, Item] = {}
    for item in items:
        if item.speaker.lower() not in own:
            newest.setdefault(item.speaker, item)
    if not newest:
        return Draft("text_list", None, "I don't know: I heard nobody.", confidence=0.3)
    names = list(newest)
    told = ", ".join(f"{n} ({spoken_time(view, newest[n].t)})" for n in names[:5])
    return Draft("text_list", names, f"{sentence(told)}.", proof(newest.values()), 0.7)


def day(view: View, q: Query) -> Draft | None:
    """How a stretch of time went: its episodes by their subjects, in order."""
    start, end = q.start, q.end
    if start is None:
        start, end = view.zone.day(view.zone.today)
    episodes = view.snap.episodes.between(start, end, 200)
    view.calls += 1
    if not episodes:
        return None
    subjects = list(dict.fromkeys(e.subject for e in episodes if e.subject))
    shown = [subjects[round(i * (len(subjects) - 1) / 5)] for i in range(6)] if len(subjects) > 6 else subjects
    said = f"{len(episodes)} episode{'s' if len(episodes) > 1 else ''}: {'; '.join(shown)}."
    evidence = tuple(of_episode(e) for e in spread(episodes))
    return Draft("text_list", subjects[:40], said, evidence, 0.7)
