"""What perceived acts say about the state of things: opened, closed, switched on, switched off.

Perception speaks in many ways ("turns off the hob", "turn | the stove off", "someone shuts the fridge door", "takes the
milk and closes the fridge"), so acts are read from the words: a verb, a particle, and the thing the clause is about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from edge.retrieval.words import key, same_phrases, tokens
from storage.records import Item

Way: TypeAlias = Literal["open", "power", "unsaved"]

# Words before the verb of a clause.
_LEAD = frozenset(
    """the a an wearer camera-wearer person i he she they we it you and then now again also who is was are were be been
    has have had just still finally quickly slowly carefully starts begins started began continues to her his their my
    left right hand c""".split()
)
# Where the phrase about the thing itself ends.
_TAIL = frozenset(
    "from in into on onto with to at under above below behind near next for and while then so because by using when".split()
)
_BARE = frozenset("the a an my our your his her their its this that water".split())
_CLAUSE = re.compile(r"[.;,!?]\s+|\s+(?:and(?: then)?|then|while|before|after which|as) ")
# A caption about somebody else: "Anna closes the fridge", "a man opens the door".
_OTHER = re.compile(
    r"(?:(?:[Aa] |[Tt]he |[Aa]nother )(?:\w+ )?(?:man|woman|child|boy|girl|colleague|friend|visitor|partner|neighbou?r|courier|postman|mail carrier|delivery driver|waiter|waitress|cashier|clerk|customer|"
    r"teacher|doctor|coach|driver|guest|passenger|baby|toddler|kid|student|patient|grandmother|grandfather|mother|father|mom|dad|son|daughter|wife|husband|sister|brother|shopkeeper|police officer)"
    r"|[Ss]ome(?:one|body)(?: else)?"
    r"|(?!The |A |An |She |He |I |They |Wearer |C |Paint |Glue |Water |Smoke |Steam |Oil |Milk |Ink |Blood |Gas |Fire |Light )[A-Z][a-z]+(?= (?:\w+s) ))\s+"
)

_OPEN = frozenset(key(w) for w in ("open", "unlock"))
_CLOSE = frozenset(key(w) for w in ("close", "shut", "lock"))
_TURN = key("turn")  # "switch" shares its key
_PUT = frozenset(key(w) for w in ("put", "flip", "click", "leave", "set"))
_IGNITE = frozenset(key(w) for w in ("light", "ignite", "kindle"))
_RUN = frozenset(key(w) for w in ("run", "start", "activate", "fill", "draw", "preheat", "enable"))
_HALT = frozenset(
    key(w) for w in ("stop", "extinguish", "snuff", "unplug", "deactivate", "turnoff", "kill", "douse", "disable")
)
_MOVE = frozenset(key(w) for w in ("pull", "push", "slam", "swing", "slide", "roll", "wind", "prop", "kick"))
_SHUT = frozenset(("shut", "closed", "to", "up"))
_PLUG = re.compile(
    r"^(?:pulls?|takes?|draws?|removes?|yanks?) (?:out )?(?:the |its )?(?:(?:plug|cord|cable) (?:of|from) (?P<of>.+?)(?: out\b.*| from\b.*)?"
    r"|(?P<its>.+?)(?:'s)? (?:plug|cord|cable) (?:out|from)\b.*|(?P<wall>.+?) (?:from|out of) (?:the )?(?:wall|socket|outlet|mains))$"
)
_ZERO = re.compile(
    r"^(?:twists?|turns?|rotates?|sets?|dials?|moves?|flips?|puts?) (?:the )?(?:(?:knob|dial|switch|control|lever|handle) (?:of|for|on) (?:the )?(?P<of>.+?)"
    r"|(?P<its>.+?)(?: (?:knob|dial|switch|control|lever))?) (?:back )?to (?:zero|0|off|(?:the )?off position)$"
)
_UNSAVED = re.compile(r"\b(?:not (?:yet )?(?:been )?saved|unsaved)\b")
_SAVES = re.compile(
    r"^saves?\b|^press(?:es)? (?:ctrl|control|command|cmd)[ +-]*s\b|\b(?:click\w*|press\w*|tap\w*) (?:on )?(?:the )?save\b|\b(?:is|was|are) saved\b"
)


@dataclass(frozen=True, slots=True)
class Act:
    """A thing brought into (`begins`) or out of a state.  `thing` as perceived, without article."""

    way: Way
    begins: bool
    thing: str


@lru_cache(maxsize=16384)
def clauses(text: str) -> tuple[str, ...]:
    """The doings a caption tells of one after the other, each from its verb on, in lower case.

    "The wearer takes the milk and closes the fridge." gives "takes the milk" and "closes the fridge".
    """
    found = []
    for part in _CLAUSE.split(text.lower().replace("\u2019", "'")):
        words = part.strip(' .!"').split()
        while len(words) > 1 and words[0].strip(",:") in _LEAD:
            words.pop(0)
        if words and not (len(words) > 1 and _NAMED.match(words[1])):
            words[0] = _as_does(words[0])
        if words:
            found.append(" ".join(words))
    return tuple(found)


@lru_cache(maxsize=2048)
def _as_does(word: str) -> str:
    """A verb in its progressive form as "does": "eating" becomes "eats", "taking" becomes "takes"; else the word."""
    if not _DOING.match(word):
        return word
    stem = word[:-3]
    if _DROPS_E.search(stem):
        stem += "e"
    elif len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "lsfz":
        stem = stem[:-1]
    if stem in ("ly", "ty", "dy"):
        return stem[0] + "ies"
    if stem.endswith("y") and len(stem) > 2 and stem[-2] not in "aeou":
        return stem[:-1] + "ies"
    return stem + ("es" if stem.endswith(("s", "sh", "ch", "x", "z", "go", "do")) else "s")


_DOING = re.compile(
    r"^(?!(?:any|every|no|some|du)\w*thing|during|morning|evening|ceiling|building|string|spring|lightning|clothing)\w*[aeiouy]\w*ing$"
)
# What a thing is for is no doing: baking powder, a cutting board, the washing machine.
_NAMED = re.compile(
    r"^(?:powder|soda|tray|sheet|paper|boards?|machine|pan|bags?|shoes?|table|room|pools?|pad|cream|stick|glass(?:es)?|liquid|line|iron|oil|knife|needle|can|suit|lot|area|stone|tape|spoons?|cups?|jug|bowl|tool|hall|station|desk|light|rod|wheel)\b"
)
# Stems that end on a letter no verb ends on, or that belong to a common verb with a silent e.
_DROPS_E = re.compile(
    r"(?:[cvu]|[dnr]g(?<!^hang)(?<!^bring)(?<!^sing)(?<!^bang)(?<!^swing)|"
    r"(?:^|[^aeiou])(?:at|iz|ipp?l)(?<!^pat)(?<!^chat)(?<!^eat)|ckl|ddl|ttl|bbl|nkl|zzl|mbl|ndl|"
    r"^(?:re|un|over)?(?:tak|mak|us|clos|writ|slid|hid|rid|driv|wip|plac|typ|fil|til|bak|wak|shak|rak|smok|pok|strok|strik|hik|com|tim|"
    r"dic|grat|past|tast|wast|crat|inflat|operat|creat|decorat|separat|rotat|hydrat|navigat|translat|calculat|vaccinat|dat|combin|lin|shin|din|tun|prun|fin|min|hop|wrap+e|scrap|shap|tap+e|prepar|shar|star|stor|car|wir|fir|rins|"
    r"eras|rais|chas|brows|rais|nurs|exercis|bath|breath|invit|unit|not|vot|quot|complet|delet|cut+e|measur|pour+e|assembl|handl|squeez|fre+z|gaz|siz|glu|tie))$"
)


def doings(item: Item, wearer: frozenset[str]) -> tuple[tuple[str, bool], ...]:
    """What an event or caption says is done: (words from the verb on, whether the wearer does it)."""
    if item.kind == "event":
        return ((f"{item.action} {item.object}".lower().strip(), item.subject.lower() in wearer),)
    if item.kind != "caption":
        return ()
    other = _OTHER.match(item.text)
    if other is None:
        return tuple((clause, True) for clause in clauses(item.text))
    return tuple((clause, False) for clause in clauses(item.text[other.end() :]))


@lru_cache(maxsize=16384)
def read(text: str) -> Act | None:
    """The opening, closing or switching one clause tells of, if any."""
    if _UNSAVED.search(text):
        return Act("unsaved", True, "work")
    if _SAVES.search(text):
        return Act("unsaved", False, "work")
    pulled = _PLUG.match(text)
    if pulled is not None:
        return _power(tokens(pulled["of"] or pulled["its"] or pulled["wall"]), begins=False)
    zero = _ZERO.match(text)
    if zero is not None:
        return _power(tokens(zero["of"] or zero["its"]), begins=False)
    words = tokens(same_phrases(text))
    while words and words[0] in _LEAD and len(words) > 1:
        words.pop(0)
    if len(words) < 2:
        return None
    verb, rest = key(words[0]), words[1:]
    if verb == key("power") or (verb in (key("shut"), key("fire"), key("boot")) and rest[0] in ("off", "down", "up")):
        begins = not {"off", "down"} & set(rest[:1] + rest[-1:])
        return _power([w for w in rest if w not in ("on", "off", "up", "down")], begins=begins)
    if verb in _MOVE and rest[-1] in ("open", "down", *_SHUT):
        thing = _thing(rest[:-1])
        return Act("open", rest[-1] not in _SHUT, thing) if thing else None
    if verb in _MOVE and rest[0] in ("up", "down", "shut", "open"):
        thing = _thing(rest[1:])
        return Act("open", rest[0] in ("down", "open"), thing) if thing else None
    if verb in _OPEN | _CLOSE:
        thing = _thing(rest[1:] if rest[0] in ("up", "down", "off") else rest)
        if verb == key("lock") and thing in ("it", "them", "car", "car door"):
            return None  # a car that is locked may have a window down
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

    "I turned off the stove" and "the stove is off" end a worry; "leave the window open" makes it deliberate, and
    "can you watch the soup?" or "could you close the door?" hand it over.
    """
    low = text.lower().replace("\u2019", "'")
    found = [("stay", m["thing"] or m["watched"]) for m in _DELEGATED.finditer(low)]
    if not found and not _MEANT.search(low):
        found += [("stay", m["thing"]) for m in _STAY.finditer(low)]
        found += [("off", m["thing"] or m["state"]) for m in _DONE.finditer(low)]
    things = [(kind, _thing(tokens(words))) for kind, words in found]
    return tuple((kind, thing) for kind, thing in things if thing)


_NOUN = r"(?:the |my |that |this )?[a-z' -]{2,24}?"
_STAY = re.compile(rf"\b(?:leav(?:e|ing)|keep(?:ing)?|left) (?P<thing>{_NOUN}) (?:open|on|running|lit)\b")
_DONE = re.compile(
    rf"\b(?:turned|switched|closed|shut|locked|unplugged)(?: off| out)? (?P<thing>{_NOUN})(?: off)?(?=[,.!?;]|$| and| before| already)"
    r"|\b(?P<state>(?:the |my )[a-z' -]{2,24}?)(?:'s| is| are) (?:already |now )?(?:off|closed|shut|locked|out)\b"
)
_MEANT = re.compile(
    r"\b(?:should|can|could|have to|need to|remember|forget|must|will you|gonna|going to)\b.{0,40}\b(?:turn|switch|close|shut|lock)\b"
)
_DELEGATED = re.compile(
    rf"\b(?:can|could|would|will) you (?:please )?(?:turn|switch|close|shut|lock)(?: off| out)? (?P<thing>{_NOUN})(?: off)?"
    r"(?=[,.!?;]|$| for| when| in| please)"
    rf"|\b(?:keep an eye on|watch|mind|look after) (?P<watched>{_NOUN})(?=[,.!?;]|$| for| while| please| until)"
)


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
