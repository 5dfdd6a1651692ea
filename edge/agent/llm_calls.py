"""The calls a language model may make, each with one line of use; how a phrase of time and a query become arguments.

A small model fills in two texts, what it looks for and when; the when is read by the same time grammar as questions are,
so "yesterday evening" means to the model what it means to the wearer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from edge.agent.llm_actions import Call
from edge.agent.notebook import Notebook
from edge.agent.question import verbs_of
from edge.agent.view import View
from edge.retrieval import anchors, timephrase, words
from edge.retrieval.evidence import Evidence, of_item
from edge.retrieval.skills import Count, Skills
from edge.retrieval.zone import SECOND, Us
from storage.errors import NotFound

SHOWN = 8  # pieces of one call that become notes
IN_RANGE = 15
DAY_US: Us = 86_400_000_000
LOOK_US: Us = 15_000_000  # around a note whose pictures are opened


@dataclass(frozen=True, slots=True)
class Request:
    """A call understood: what it looks for, and the stretch of time it is held to (None: open)."""

    query: str
    start: Us | None
    end: Us | None
    note: Evidence | None = None  # the note that it names by number


Run: TypeAlias = Callable[[Skills, Request, View], list[Evidence]]


def _span(request: Request, view: View) -> tuple[Us, Us]:
    """The stretch of a call that needs one: the last day where none was named."""
    end = view.now + 1 if request.end is None else request.end
    return (end - DAY_US if request.start is None else request.start), end


def _count(skills: Skills, request: Request, view: View) -> list[Evidence]:
    acts, thing = verbs_of(request.query.strip())
    verb = request.query.split(" ")[0] if acts else ""
    found: Count = skills.count_events(verb, thing or request.query, request.start, request.end)
    newest = found.items[-1:]
    if not newest:
        return []
    item = newest[0]
    told = f'counted {found.n} times "{request.query}" (last: {view.zone.local(item.t):%a %d %b %H:%M:%S})'
    return [
        Evidence("window", f"w{item.window_id}", item.t, item.t + SECOND, told),
        *map(of_item, found.items[-3:]),
    ]


def _inside(skills: Skills, request: Request, view: View) -> list[Evidence]:
    return skills.moments_in_range(*_span(request, view), IN_RANGE)


def _events(skills: Skills, request: Request, view: View) -> list[Evidence]:
    del view
    return skills.search_events(request.query, request.start, request.end, SHOWN)


def _episode(skills: Skills, request: Request, view: View) -> list[Evidence]:
    """The moments of the episode that a note names or lies in, else of the one that fits best."""
    del view
    note = request.note
    if note is not None and note.kind == "episode":
        number = int(note.id[1:])
    else:
        low, high = (request.start, request.end) if note is None else (note.t_start, note.t_end + 1)
        found = skills.search_episodes(request.query, low, high, 1)
        number = int(found[0].id[1:]) if found else 0
    try:
        return skills.episode_moments(number)[:IN_RANGE] if number else []
    except NotFound:
        return []


def _traverse(skills: Skills, request: Request, view: View) -> list[Evidence]:
    del view
    found: list[Evidence] = []
    for branch in skills.traverse(request.query, (2, 3, 3)):
        found.append(branch.pattern)
        for episode, moments in branch.episodes:
            found += [episode, *moments]
    return found


def _summary(skills: Skills, request: Request, view: View) -> list[Evidence]:
    return list(skills.summarize(*_span(request, view), IN_RANGE).lines)


def _anchor(skills: Skills, request: Request, view: View) -> list[Evidence]:
    """The occurrence a phrase names, and the hour before or after it: "third time open fridge", "before the visitor came"."""
    number, rest = anchors.ordinal(request.query)
    side: anchors.Side = "around"
    m = re.match(r"(?:right |just )?(?P<s>before|after)\b", rest, re.IGNORECASE)
    if m is not None:
        side = "before" if m.group("s").lower() == "before" else "after"
        rest = rest[m.end() :].strip()
    found = skills.anchor(rest, side, number, start=request.start, end=request.end)
    if found is None:
        return []
    nearest = skills.moments_in_range(found.start, min(found.end, view.now + 1), 10_000)
    kept = nearest[-SHOWN:] if side == "before" else nearest[:SHOWN]
    told = replace(found.evidence, text=f"number {found.number} of {found.total}: {found.evidence.text}")
    return [told, *kept]


def _readout(skills: Skills, request: Request, view: View) -> list[Evidence]:
    del view
    found = skills.readout(request.query, request.start, request.end)
    return [*(a.evidence for a in found.anchors), *found.facts]


def _look(skills: Skills, request: Request, view: View) -> list[Evidence]:
    """What stored frames show, around a note or in a stretch of time."""
    note = request.note
    if note is not None:
        low, high = note.t_start - LOOK_US, note.t_end + LOOK_US
    else:
        low, high = _span(request, view)
    return skills.look(request.query, low, high, SHOWN)


# name: (what it is for, how it is run)
CALLS: dict[str, tuple[str, Run]] = {
    "search_moments": ("single happenings with their second, by words or meaning",
        lambda s, r, _: s.search_moments(r.query, r.start, r.end, SHOWN)),
    "moments_in_range": ("all happenings of a stretch of time, in order; needs `when`", _inside),
    "search_episodes": ("whole activities, minutes long: to find where in time something belongs",
        lambda s, r, _: s.search_episodes(r.query, r.start, r.end, SHOWN)),
    "episode_moments": ("what happened inside an activity; query: its words, or the number of its note", _episode),
    "recent_episodes": ("the latest activities", lambda s, *_: s.recent_episodes(5)),
    "search_patterns": ("habits and undertakings that recur over days",
        lambda s, r, _: s.search_patterns(r.query, SHOWN)),
    "traverse": ("from habits down to their activities and happenings; for broad questions", _traverse),
    "search_events": ("acts, captions and spoken words, exact", _events),
    "count_events": ('how often, exact; query: verb and thing, as in "open fridge"', _count),
    "search_entities": ("things seen: how many, which colour, where",
        lambda s, r, _: s.search_entities(r.query, r.start, r.end, SHOWN)),
    "search_text": ("printed words and screens, verbatim",
        lambda s, r, _: s.search_text(r.query, r.start, r.end, SHOWN)),
    "text_in_range": ("all printed words of a stretch of time",
        lambda s, r, v: s.text_in_range(*_span(r, v), IN_RANGE)),
    "recent_captions": ("what the camera sees now and saw in the last ten seconds",
        lambda s, *_: s.recent_captions(10, SHOWN)),
    "summarize": ("what a stretch of time held, in order; needs `when`", _summary),
    "anchor": ('time before or after something, or a certain time of many: "before the visitor came", "third time open fridge"',
        _anchor),
    "readout": ("the best evidence for a whole question, from everything at once; query: the question", _readout),
    "search_facts": ("what holds in general: habits, likes, who is who, what belongs to whom",
        lambda s, r, _: s.search_facts(r.query, SHOWN)),
    "look": ("open stored pictures again; query: the number of a note, or what to look for, with `when`", _look),
    "global_captions": ("half-minute descriptions, by words or meaning",
        lambda s, r, _: s.global_captions(r.query, r.start, r.end, SHOWN)),
}  # fmt: skip
LIVE = ("recent_captions", "search_text", "search_entities", "search_moments", "recent_episodes", "look")


def understood(call: Call, view: View, book: Notebook | None = None) -> Request:
    """What a call asks for; a time left in the query counts too, and a `when` that is no time is one more word."""
    found = timephrase.extract(call.when.strip(), view.zone) if call.when.strip() else timephrase.Found("", ())
    query = call.query.strip()
    if not found.spans:
        inner = timephrase.extract(query, view.zone)
        if inner.spans:
            found, query = inner, inner.rest
    start, end = found.window
    if start is not None and end is not None and start >= end:
        start = end = None
    number = re.match(r"(?:note )?\[?(\d{1,3})\]?$", query)
    note = book.get(int(number.group(1))) if number is not None and book is not None else None
    return Request(" ".join(query.split()), start, end, note)


def run(skills: Skills, call: Call, view: View, book: Notebook | None = None) -> list[Evidence]:
    """The evidence of one call, best or first in time first; a query may name a note of the book by its number.

    Small models like to make a time up: what finds nothing in it is looked for without it.
    """
    request = understood(call, view, book)
    _, read = CALLS[call.tool]
    found = read(skills, request, view)
    if found or request.start is None or not request.query:
        return found
    return read(skills, replace(request, start=None, end=None), view)


def permissive(skills: Skills, question: str, start: Us | None, end: Us | None) -> list[Evidence]:
    """What stands in when a model writes no usable action: the question's own words in moments, acts and activities."""
    query = question if words.content(question) else ""
    found = [*skills.search_moments(query, start, end, 6), *skills.search_events(query, start, end, 6)]
    return [*found, *skills.search_episodes(query, start, end, 3)]


def manual(names: tuple[str, ...] | list[str]) -> str:
    """The calls as the model reads them."""
    return "\n".join(f"{name}: {CALLS[name][0]}" for name in names)
