"""What perceived acts say about the state of things: opened, closed, switched on, switched off.

Perception speaks in many ways ("turns off the hob", "turn | the stove off", "someone shuts the fridge door"), so acts
are read from the words: a verb, a particle, and the thing the phrase is about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from edge.retrieval.words import key, same_phrases, tokens
from storage.records import Item

Way: TypeAlias = Literal["open", "power"]

# Words before the verb of a caption.
_LEAD = frozenset(
    """the a an wearer camera-wearer person man woman someone somebody i he she they we it you and then now again also
    who is was are were be been has have had just still finally quickly slowly carefully starts begins started began
    continues to her his their my left right hand c""".split()
)
# Where the phrase about the thing itself ends.
_TAIL = frozenset(
    "from in into on onto with to at under above below behind near next for and while then so because by using".split()
)
_BARE = frozenset("the a an my our your his her their its this that water".split())

_OPEN = frozenset(key(w) for w in ("open", "unlock"))
_CLOSE = frozenset(key(w) for w in ("close", "shut", "lock"))
_TURN = key("turn")  # "switch" shares its key
_PUT = frozenset(key(w) for w in ("put", "flip", "click", "leave", "set"))
_IGNITE = frozenset(key(w) for w in ("light", "ignite", "kindle"))
_RUN = frozenset(key(w) for w in ("run", "start", "activate"))
_HALT = frozenset(key(w) for w in ("stop", "extinguish", "snuff", "unplug", "deactivate", "turnoff"))


@dataclass(frozen=True, slots=True)
class Act:
    """A thing brought into (`begins`) or out of a state.  `thing` as perceived, without article."""

    way: Way
    begins: bool
    thing: str


@lru_cache(maxsize=16384)
def read(text: str) -> Act | None:
    """The opening, closing or switching a short text tells of, if any."""
    words = tokens(same_phrases(text))
    while words and words[0] in _LEAD and len(words) > 1:
        words.pop(0)
    if len(words) < 2:
        return None
    verb, rest = key(words[0]), words[1:]
    if verb in _OPEN | _CLOSE:
        thing = _thing(rest[1:] if rest[0] in ("up", "down", "off") else rest)
        return Act("open", verb in _OPEN, thing) if thing else None
    if verb == _TURN:
        return _switched(rest)
    if verb in _PUT and rest[-1] in ("on", "off"):  # "put the oven on", never "put the pan on the hob"
        return _switched(rest)
    if verb == key("put") and rest[0] == "out":
        return _power(rest[1:], begins=False)
    if verb == key("blow") and rest[0] == "out":
        return _power(rest[1:], begins=False)
    if verb == key("plug") and "in" in rest[:1] + rest[-1:]:
        return _power([w for w in rest if w != "in"], begins=True)
    if verb in _IGNITE | _RUN:
        return _power(rest, begins=True)
    if verb in _HALT:
        return _power(rest, begins=False)
    return None


@lru_cache(maxsize=4096)
def told(text: str) -> tuple[tuple[str, str], ...]:
    """What somebody says about the state of things: ("off" | "stay", thing).

    "I turned off the stove" and "the stove is off" end a worry; "leave the window open" makes it deliberate.
    """
    found: list[tuple[str, str]] = []
    low = text.lower().replace("\u2019", "'")
    if re.search(
        r"\b(?:should|can|could|have to|need to|remember|forget|must|will|i'll|gonna|going to)\b.{0,40}\b(?:turn|switch|close|shut)",
        low,
    ):
        return ()
    found += [("stay", _thing(tokens(m["thing"]))) for m in _STAY.finditer(low)]
    found += [("off", _thing(tokens(m["thing"] or m["thing2"]))) for m in _DONE.finditer(low)]
    return tuple((kind, thing) for kind, thing in found if thing)


_STAY = re.compile(
    r"\b(?:leav(?:e|ing)|keep(?:ing)?|left) (?P<thing>(?:the |my |that |this )?[a-z' -]{2,24}?) (?:open|on|running|lit)\b"
)
_DONE = re.compile(
    r"\b(?:turned|switched|closed|shut|locked|unplugged)(?: off| out)? (?P<thing>(?:the |my |that )?[a-z' -]{2,24}?)(?: off)?(?=[,.!?;]|$| and| before| already)"
    r"|\b(?P<thing2>(?:the |my )[a-z' -]{2,24}?)(?:'s| is| are) (?:already |now )?(?:off|closed|shut|locked|out)\b"
)


def text_of(item: Item) -> str:
    """The words of an event or caption in which an act is read."""
    return f"{item.action} {item.object}" if item.kind == "event" else item.text


def _switched(rest: list[str]) -> Act | None:
    if rest[0] in ("on", "off"):
        return _power(rest[1:], begins=rest[0] == "on")
    for i, word in enumerate(rest[1:4], 1):
        if word in ("on", "off"):
            return _power(rest[:i], begins=word == "on")
    return None


def _power(rest: list[str], *, begins: bool) -> Act | None:
    thing = _thing(rest)
    return Act("power", begins, thing) if thing else None


def _thing(words: list[str]) -> str:
    """The noun phrase at the beginning of some words, without articles."""
    kept: list[str] = []
    for word in words:
        if word in _TAIL and kept:
            break
        if word not in _BARE or (word == "water" and len(words) == 1):
            kept.append(word)
    return " ".join(kept[:5])
