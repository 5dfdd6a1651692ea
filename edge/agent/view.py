"""What the rules look through: one snapshot with the wearer's zone, and clauses resolved to dated items of the trace."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from edge.agent import activities
from edge.agent.question import Clause, Query
from edge.agent.scope import Scope
from edge.agent.talks import talks
from edge.retrieval import sights, words
from edge.retrieval.zone import Us, Zone
from storage.lookup import Stretch, all_words, phrase
from storage.records import Item, ItemKind, SeenEntity
from storage.snapshot import Snapshot

if TYPE_CHECKING:
    from edge.agent.glance import Fresh, Glance
    from edge.retrieval.looking import Eyes

Embed: TypeAlias = Callable[[list[str]], NDArray[np.float32]]

DATED: tuple[ItemKind, ...] = ("event", "caption", "text", "speech")
SHORT_US = 4 * 3_600_000_000  # a stretch this short is read whole
WORDS = 24  # words of a long text that are looked up
OCCURRENCES = 1000  # of each
SEEING = frozenset(words.key(w) for w in "see spot notice".split())
_USING = frozenset(
    words.act(w) for w in ("use", "operate", "run", "touch", "handle", "go to", "be at", "was at", "use up")
)
_JOINED = re.compile(r",? (?:and|or) (?=\w)", re.IGNORECASE)
_LOOKING = frozenset(words.key(w) for w in "look see inspect watch notice spot".split())
_SELF = frozenset(("", "wearer", "i", "me", "we", "user", "camera wearer", "person wearing the camera"))
_BEGINS = frozenset(
    words.key(w) for w in "start begin begins do work make making cook prepare perform have activity".split()
)
_ENDS = frozenset(words.key(w) for w in "finish finished end ends stop complete completed".split())


class View:
    """A snapshot made answerable.  Counts its reads in `calls`; holds nothing longer than one question."""

    def __init__(
        self,
        snapshot: Snapshot,
        now: Us,
        offset_s: int,
        owner: str = "",
        embed: Embed | None = None,
        glance: Glance | None = None,
        eyes: Eyes | None = None,
    ) -> None:
        self.snap, self.now, self.owner, self.embed, self._glance = snapshot, now, owner, embed, glance
        self.eyes = eyes
        self.calls = 0
        offsets: dict[Us, int] = {}

        def offset_at(t: Us) -> int:
            hour = t // 3_600_000_000
            if hour not in offsets:
                found = snapshot.lookup.offset_at(t)
                offsets[hour] = offset_s if found is None or t >= now else found
            return offsets[hour]

        self.zone = Zone(now, offset_s, offset_at)
        self._objects: dict[str, list[str]] = {}
        self._actions: list[str] | None = None
        self._words: dict[tuple[object, ...], list[tuple[int, str]]] = {}
        self._around: dict[Us, list[Stretch]] = {}
        self._things: dict[int, list[SeenEntity]] = {}
        self._stretches: dict[tuple[object, ...], list[Item]] = {}
        self._named: dict[tuple[object, ...], list[Item]] = {}

    def look(self, question: str, *, read: bool, listen: bool) -> Fresh | None:
        """A fresh look through the camera of a running device; None where none runs or no frame comes."""
        return None if self._glance is None else self._glance.look(question, self.now, read=read, listen=listen)

    # -- scopes -------------------------------------------------------------------------------------------------

    def scope(self, q: Query) -> Scope:
        """The recording, activity and times a question names, as one stretch of time."""
        start, end, named = q.start, q.end, bool(q.spans)
        if q.recording is not None:
            run = self.run_at(q.recording.start, q.recording.end)
            if run is not None:
                inside = [s for s in q.spans if s.kind != "point"]
                low = max([run.t_start, *(s.start for s in inside)])
                return Scope(low, min([run.t_end + 1, *(s.end for s in inside)]), True)
            return Scope(q.recording.start, q.recording.end, True)
        if q.context:
            point = next((s for s in q.spans if s.kind == "point"), None)
            if point is not None:
                run = self.run_at(point.start, point.end)
                if run is not None:
                    return Scope(run.t_start, run.t_end + 1, True)
            found = self.activity(q.context, start, end)
            if found is not None:
                return found
        return Scope(start, end, named)

    def run_at(self, start: Us, end: Us) -> Stretch | None:
        """The recording that began in [start, end), else the one that was running then."""
        self.calls += 1
        day = 86_400_000_000
        runs = self.snap.lookup.stretches(start - day // 2, start + day)
        return next((r for r in runs if start <= r.t_start < end), None) or next(
            (r for r in runs if r.t_start <= start < r.t_end), None
        )

    def around(self, t: Us) -> list[Stretch]:
        """The recordings within half a day of a time (of the half day it lies in), cut there."""
        half = 43_200_000_000
        begin = t // half * half
        if begin not in self._around:
            self.calls += 1
            self._around[begin] = self.snap.lookup.stretches(begin - half // 2, begin + half + half // 2)
        return self._around[begin]

    def activity(self, phrase: str, start: Us | None, end: Us | None) -> Scope | None:
        """The last stretch in which an activity with that name went on: from its start to the next of its kind."""
        items = self.named(phrase, start, end, kinds=("event",)) or self.named(
            _bare(phrase), start, end, kinds=("event",)
        )
        begun = [i for i in items if words.key(i.action.split(" ")[0]) not in _ENDS]
        if not begun:
            return None
        item = begun[-1]
        runs = self.snap.lookup.stretches(item.t - 1, item.t + 86_400_000_000)
        stop = runs[0].t_end + 1 if runs else item.t + 3_600_000_000
        later = [i for i in self.snap.trace.events(item.action, item.t + 1, stop) if i.id != item.id]
        return Scope(item.t, later[0].t if later else stop, True)

    # -- items --------------------------------------------------------------------------------------------------

    def occurrences(self, clause: Clause, scope: Scope, lately: int | None = None) -> list[Item]:
        """When the wearer did what a clause says, in time order: events by act and thing, else captions by words.

        Of what is called by a name `lately` bounds how many of the newest are read.
        """
        self.calls += 1
        if clause.quote:
            for limit in (lately, None):
                events = self.named(clause.quote, scope.start, scope.end, kinds=("event",), limit=limit)
                if found := self.begun(events, clause):
                    return found
            return self.begun(self.named(clause.quote, scope.start, scope.end), clause)
        if (met := talks(self, clause, scope)) is not None:
            return met
        which = activities.meant(self, clause)
        if which is not None and (which.ends or activities.cooking(clause.acts, clause.thing)):
            return activities.occurrences(self, which, scope)
        terms = self.terms(clause)
        if which is not None and not any(_very(clause, action) for action, _ in terms):
            return activities.occurrences(self, which, scope)
        if terms:
            return self.mine(self.snap.lookup.events_of(terms, scope.start, scope.end))
        if seeing(clause) and (seen := self.glimpses(clause.thing, scope)):
            return seen
        named = self.named(_bare(clause.text), None, None, kinds=("event",), limit=lately) or self.named(
            clause.thing, None, None, kinds=("event",), only_begun=True, limit=lately
        )
        if named:
            return [i for i in self.begun(named, clause) if _within(i.t, scope)]
        return self.begun(self.described(clause.text, scope), clause)

    def glimpses(self, thing: str, scope: Scope) -> list[Item]:
        """One item for each sighting of a thing, in time order: from the things listed, else from the captions."""
        self.calls += 1
        runs = sights.sightings(sights.seen(self.snap, thing, scope.start, scope.end))
        if runs:
            return [sights.as_item(run.seen[0]) for run in runs]
        return sights.captioned(self.snap, thing, scope.start, scope.end)

    def things_in(self, item: Item) -> list[SeenEntity]:
        """The things listed in the window of an item."""
        if item.window_id not in self._things:
            found = self.snap.trace.entities(None, item.t, item.t + 1)
            self._things[item.window_id] = [e for e in found if e.window_id == item.window_id]
        return self._things[item.window_id]

    def terms(self, clause: Clause) -> list[tuple[str, str]]:
        """The (action, object) pairs of the memory that a clause means; [] when none fits.

        The very verb first; its near relatives only when the very verb never met this thing, or when the question
        lists several of them.  Things: the same, its kinds and its parts; a wider word only when no narrower fits.
        """
        asked = words.thing(clause.thing)
        if not asked or not clause.acts:
            return []
        wanted = {a for asked_act in clause.acts for a in (asked_act, *words.implied_by(asked_act))}
        literal = _literal(clause.thing)
        near = set().union(*(words.near_acts(a) for a in wanted))
        listed = len(wanted) > 1 and near
        for acts in (wanted | near,) if listed else (wanted, wanted | near):
            graded: list[tuple[int, tuple[str, str]]] = []
            for action in self.actions():
                done = words.act(action)
                if max(words.act_grade(a, done) for a in acts) < 2:
                    continue
                for thing in self.objects(action):
                    grade = words.thing_grade(asked, words.thing(thing))
                    if grade:
                        graded.append((grade, (action, thing)))
            if graded and (max(g for g, _ in graded) > 1 or _JOINED.search(clause.thing) is None):
                return _best_named(graded, literal, bare_counts=self._only_kind(asked, graded))
        if (parts := _JOINED.split(clause.thing)) and len(parts) > 1:
            return self._each(clause, parts)
        return self._handled(asked) if all(a in _USING for a in clause.acts) else []

    def _each(self, clause: Clause, parts: list[str]) -> list[tuple[str, str]]:
        """The pairs of each of several things; none where a part is another act or no thing that is known."""
        heads = {words.act(a)[0] for a in self.actions()}
        if any(words.key(p.split(" ")[0]) in heads for p in parts[1:] if p):
            return []
        found = [self.terms(replace(clause, thing=p)) for p in parts if p]
        return [pair for pairs in found for pair in pairs] if all(found) or " or " in clause.thing else []

    def _handled(self, asked: tuple[str, ...]) -> list[tuple[str, str]]:
        """Anything done with a thing but looking at it: to use a knife is to take it, to cut with it, to wash it."""
        return [
            (action, thing)
            for action in self.actions()
            if words.act(action)[0] not in _LOOKING and not activities.is_name(action)
            for thing in self.objects(action)
            if words.thing_grade(asked, words.thing(thing)) >= 3
        ]

    def _only_kind(self, asked: tuple[str, ...], graded: list[tuple[int, tuple[str, str]]]) -> bool:
        """Does a bare word ("board") mean the thing asked for ("chopping board")?  When there is no other kind of it."""
        if len(asked) < 2 or not any(grade == 1 for grade, _ in graded):
            return False
        every = {words.thing(o) for action in self.actions() for o in self.objects(action)}
        kinds = [t for t in every if len(t) > 1 and t[-1] == asked[-1]]
        return all(words.thing_grade(asked, kind) >= 3 for kind in kinds)

    def named(
        self,
        name: str,
        start: Us | None,
        end: Us | None,
        *,
        kinds: Sequence[ItemKind] = DATED,
        only_begun: bool = False,
        limit: int | None = None,
    ) -> list[Item]:
        """Items that are called exactly so: an event's object, a caption or sentence, or what follows its label.

        In time order; of many the newest `limit`.
        """
        wanted = words.plain(name)
        if not wanted:
            return []
        place = (name, start, end, tuple(kinds), only_begun, limit)
        if place not in self._named:
            self.calls += 1
            found = (i for i in self.snap.lookup.matches(phrase(name), kinds, start, end) if _called(i, wanted))
            if only_begun:
                found = (i for i in found if words.key(i.action.split(" ")[0]) in _BEGINS)
            self._named[place] = sorted(islice(found, limit), key=lambda i: (i.t, i.id))
        return self._named[place]

    def alike(
        self, text: str, scope: Scope, kinds: Sequence[ItemKind] = DATED, least: float = 0.5, limit: int = 120
    ) -> list[tuple[float, Item]]:
        """Items whose content words overlap a text's by at least `least` (F1), best first."""
        asked = words.content(text)
        if not asked:
            return []
        self.calls += 1
        found = self._sharing(text, scope, kinds, limit)
        graded = [(words.overlap(asked, words.content(_body(i))), i) for i in found]
        return sorted((g for g in graded if g[0] >= least), key=lambda g: (-g[0], g[1].t, g[1].id))

    def _sharing(self, text: str, scope: Scope, kinds: Sequence[ItemKind], limit: int) -> list[Item]:
        """Items that share words with a text: all of a short stretch, else those with the most of its words.

        Of a word that is everywhere only its newest occurrences are read, so that a year costs little more than a day.
        """
        if scope.start is not None and scope.end is not None and scope.end - scope.start <= SHORT_US:
            place = (tuple(kinds), scope.start, scope.end)
            if place not in self._stretches:
                self._stretches[place] = self.snap.trace.items(kinds, scope.start, scope.end)
            return self._stretches[place]
        shared: Counter[int] = Counter()
        for word in list(dict.fromkeys(w for w in words.tokens(text) if w not in words.STOPWORDS))[:WORDS]:
            shared.update(item_id for item_id, kind in self._of_word(word, scope) if kind in kinds)
        best = sorted(shared, key=lambda i: (-shared[i], -i))[:limit]
        return list(self.snap.trace.items_by_id(best).values())

    def _of_word(self, word: str, scope: Scope) -> list[tuple[int, str]]:
        """The newest occurrences of a word in a scope; the choices of a question share many words."""
        place = (word, scope.start, scope.end)
        if place not in self._words:
            hits = self.snap.lookup.times_of(word, scope.start, scope.end, OCCURRENCES)
            self._words[place] = [(item_id, kind) for _, item_id, kind in hits]
        return self._words[place]

    def described(self, text: str, scope: Scope) -> list[Item]:
        """Captions that hold all content words of a text, in time order."""
        asked = [w for w in words.tokens(words.same_phrases(text)) if w not in words.STOPWORDS]
        found = self.snap.lookup.matching(all_words(asked), ("caption", "event"), scope.start, scope.end)
        return sorted(self.mine(found), key=lambda i: (i.t, i.id)) if asked else []

    def actions(self) -> list[str]:
        if self._actions is None:
            self._actions = self.snap.lookup.actions()
        return self._actions

    def objects(self, action: str) -> list[str]:
        if action not in self._objects:
            self._objects[action] = self.snap.lookup.objects(action)
        return self._objects[action]

    def mine(self, items: Iterable[Item]) -> list[Item]:
        return [i for i in items if i.subject.lower() in _SELF or i.subject == self.owner]

    def begun(self, items: list[Item], clause: Clause) -> list[Item]:
        """Of an activity's items the ones a verb means: "start X" its beginnings, "finish X" its ends; events first."""
        ending = any(a[0] in _ENDS for a in clause.acts)
        kept = [i for i in items if (_first(i) in _ENDS) == ending]
        events = [i for i in kept if i.kind == "event"]
        return events or kept

    def days(self, items: Iterable[Item]) -> list[str]:
        """The local days of items, in order."""
        return sorted({day_of(i.t, i.offset_s) for i in items})


def _very(clause: Clause, action: str) -> bool:
    """Is an action the very act a clause names, and not the beginning of an activity?"""
    done = words.act(action)
    return not activities.is_name(action) and any(
        words.act_grade(a, done) >= 2 for asked in clause.acts for a in (asked, *words.implied_by(asked))
    )


def seeing(clause: Clause) -> bool:
    """Is a clause about seeing a thing ("see a cat", "spot the bus")?"""
    return bool(clause.acts) and bool(clause.thing) and all(act in SEEING for act, _ in clause.acts)


def day_of(t: Us, offset_s: int) -> str:
    """The local day of a time, YYYY-MM-DD."""
    return (date(1970, 1, 1) + timedelta(days=(t + offset_s * 1_000_000) // 86_400_000_000)).isoformat()


def _literal(thing: str) -> str:
    """The words of a thing as they stood, without one leading article."""
    return re.sub(r"^(?:the|a|an|my|our) ", "", words.plain(thing))


def _best_named(graded: list[tuple[int, tuple[str, str]]], literal: str, *, bare_counts: bool) -> list[tuple[str, str]]:
    """Of the pairs that fit: the same thing (spelled just so, if it ever was), its kinds and parts; else wider words."""
    same = [pair for grade, pair in graded if grade == 4]
    if any(words.plain(thing) == literal for _, thing in same):
        # "another plate" is not "plate" where both were named; but "refrigerator" stays the fridge.
        bare = words.bare(literal)
        same = [pair for pair in same if words.plain(pair[1]) == literal or words.bare(pair[1]) != bare]
    narrower = [pair for grade, pair in graded if grade in (2, 3) or (grade == 1 and bare_counts)]
    return same + narrower or [pair for _, pair in graded]


def _within(t: Us, scope: Scope) -> bool:
    return (scope.start is None or t >= scope.start) and (scope.end is None or t < scope.end)


def _first(item: Item) -> str:
    return words.key((item.action or item.text).split(" ")[0].strip(":"))


def label_of(text: str) -> tuple[str, str]:
    """A caption's label and body: "finished: peel it" -> ("finished", "peel it"); no label -> ("", text)."""
    head, colon, body = text.partition(": ")
    return (head, body) if colon and len(head) <= 60 and body else ("", text)


def _body(item: Item) -> str:
    return item.object if item.kind == "event" and len(item.object.split()) > 3 else label_of(item.text)[1]


def _called(item: Item, wanted: str) -> bool:
    if words.plain(item.text) == wanted or (item.kind == "event" and words.plain(item.object) == wanted):
        return True
    return words.plain(label_of(item.text)[1]) == wanted


def _bare(phrase: str) -> str:
    """A verb phrase without its leading auxiliary verb of doing: "made ramen" -> "ramen"."""
    head, _, rest = phrase.strip().partition(" ")
    if rest and words.key(head) in _BEGINS:
        inner, _, after = rest.partition(" ")
        return after if after and words.key(inner) in _BEGINS else rest
    return phrase
