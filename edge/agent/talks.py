"""Conversations: when the wearer talked with somebody, one item for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edge.agent.question import Clause
from edge.agent.scope import Scope
from edge.retrieval import words
from edge.retrieval.zone import Us
from storage.records import Item

if TYPE_CHECKING:
    from edge.agent.view import View

_TALKING = frozenset(words.key(w) for w in "talk speak chat converse".split())
PAUSE_US: Us = 600_000_000  # a longer silence ends a conversation
NEWEST = 5000


def talks(view: View, clause: Clause, scope: Scope) -> list[Item] | None:
    """The first words of each conversation with somebody, in time order; None when a clause is not about talking."""
    if not clause.acts or clause.acts[0][0] not in _TALKING or clause.acts[0][1] == "about":
        return None
    return conversations(view, clause.thing, scope)


def conversations(view: View, who: str, scope: Scope) -> list[Item] | None:
    """The first words of others in each conversation; with nobody named, with anybody.  None for a person never heard."""
    name = words.plain(who).removeprefix("to ").removeprefix("the ").removeprefix("my ")
    own = {"wearer", "i", "me", view.owner.lower()}
    others = [s for s in view.snap.lookup.speakers() if s.lower() not in own]
    if name and not any(name == s.lower() or name in s.lower().split() for s in others):
        return None
    view.calls += 1
    heard = view.snap.lookup.newest(("speech",), scope.start, scope.end, NEWEST)[::-1]
    found: list[Item] = []
    last: Us = -PAUSE_US
    for item in heard:
        speaker = item.speaker.lower()
        if speaker in own or (name and name != speaker and name not in speaker.split()):
            continue
        if item.t - last > PAUSE_US:
            found.append(item)
        last = item.t
    return found
