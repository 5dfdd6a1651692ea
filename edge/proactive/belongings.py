"""Things the wearer carries: put down somewhere, and left behind when the wearer goes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from edge.clock import US
from edge.proactive.acts import doings
from edge.proactive.alerts import speak
from edge.proactive.experts import Screening, items_of, service
from edge.proactive.leaving import Going, at_home
from storage.records import Item, Service, Window

REACH_US = 2 * 3600 * US

_ALWAYS = "phone|mobile phone|keys?|car keys?|house keys?|wallet|purse"
_AWAY = (
    _ALWAYS
    + "|umbrella|bag|handbag|backpack|rucksack|briefcase|laptop|tablet|notebook|book|passport|ticket|headphones|"
    "camera|jacket|coat|scarf|hat|cap|helmet|gloves|glasses|sunglasses|water bottle|thermos|lunch box|suitcase|shopping bag|shopping|"
    "badge|id card|access card|key card|card|charger|power bank|headset|earbuds|hearing aids?|folder|documents|papers|clipboard|envelope|parcel|"
    "watch|wristwatch|ring|necklace|earrings|bracelet|lanyard|racket|goggles|towel|pacifier|teddy(?: bear)?|tape measure|measuring tape|drone|medicine|pills|inhaler|insulin|epipen|walking stick|cane|crutch(?:es)?|stethoscope|tool ?box|tool ?bag|tripod|e-?reader|flowers|present"
)
_THING = r"(?:the |a |an |my |his |her |their )?(?:\w+ )?(?P<thing>{})\b"
_PUT = (
    r"^(?:put|puts|place|places|set|sets|lay|lays|leave|leaves|hang|hangs|drop|drops|rest|rests|lean|leans|prop|props|stand|stands|"
    r"insert|inserts)(?: down| up)? "
)
_TAKE = (
    r"^(?:take|takes|pick|picks|grab|grabs|get|gets|fetch|fetches|collect|collects|hold|holds|carry|carries|"
    r"pack|packs|sling|slings|shoulder|shoulders|strap|straps|swing|swings|throw|throws|clip|clips|slip|slips|stuff|stuffs|put on|puts on|wear|wears|use|uses|look at|looks at|answer|answers)(?: up| out)? "
)
_INTO = re.compile(  # it goes along: carried in something, or worn
    r"\b(?:over|on|onto|around|round) (?:the |my |his |her )?(?:\w+ )?(?:shoulders?|neck|wrist|waist|finger|head|back|belt)\b|"
    r"\b(?:in|into) (?:the |a |my |his |her )?(?:\w+ )?(?:\w+ )?(?:bag|pockets?|backpack|handbag|purse|rucksack|briefcase|suitcase|holster|pouch|satchel|trolley|basket)\b"
)
_WHERE = re.compile(r"\b(?P<where>(?:on|onto|in|into|under|beside|next to|by|at|against|behind|over) .+)$")
_KEEPS = re.compile(r"\b(?:cash (?:machine|dispenser)|atm|ticket machine|(?:card|bank|into the|in the) machine)\b")
_PUT_AWAY = re.compile(_PUT + _THING.format(_AWAY))
_TAKE_AWAY = re.compile(_TAKE + _THING.format(_AWAY))
_SEVERAL = ("keys", "glasses", "phones", "gloves", "goggles", "rings", "buds", "pills", "papers", "documents")
_HOME_TOO = re.compile(rf"^(?:{_ALWAYS})$")


@dataclass(frozen=True, slots=True)
class Lying:
    """A thing where it was put down."""

    thing: str
    t: int
    where: str
    home: bool
    refs: tuple[str, ...]

    @property
    def key(self) -> str:
        """Names this very putting down."""
        return f"{self.thing}@{self.t // US}"


class Belongings:
    """Follows what was put down and taken up again in the last two hours of a recording."""

    def __init__(self, wearer: frozenset[str]) -> None:
        self._wearer = wearer
        self._lying: dict[str, Lying] = {}

    def reset(self, windows: Sequence[Window]) -> None:
        """Begin anew from the windows of the last hours, in order."""
        self._lying = {}
        for window in windows:
            self.follow(window, items_of(window))

    def follow(self, window: Window, items: Sequence[Item]) -> None:
        """Take in what a window shows."""
        for item in items:
            for text, mine in doings(item, self._wearer):
                if mine:
                    self._note(text, item, window)
        edge = window.t_end - REACH_US
        self._lying = {name: thing for name, thing in self._lying.items() if thing.t > edge}

    def _note(self, text: str, item: Item, window: Window) -> None:
        if _INTO.search(text):  # whatever the verb: it goes along
            for name in [n for n in self._lying if re.search(rf"\b{n}\b", text)]:
                del self._lying[name]
        put, taken = _PUT_AWAY.match(text), _TAKE_AWAY.match(text)
        if put and text.startswith("insert") and not _KEEPS.search(text):
            return  # a plug, a key or a card that is used where it is put in
        if put and not _INTO.search(text) and not text.startswith(("put on ", "puts on ")):
            place = _WHERE.search(text[put.end("thing") :])
            refs = (f"o{item.id}", f"w{window.id}")
            where = place["where"] if place else ""
            self._lying[put["thing"]] = Lying(put["thing"], item.t, where, at_home(window.scene), refs)
        elif put:
            self._lying.pop(put["thing"], None)
        elif taken:
            self._lying.pop(taken["thing"], None)

    def lies(self, key: str) -> bool:
        """Whether the thing of that putting down still lies there."""
        return any(thing.key == key for thing in self._lying.values())

    def left_behind(self, unit: Screening, leaves: Sequence[Going]) -> list[Service]:
        """A reminder of what lies behind when the wearer goes out (at home: phone, keys and wallet alone)."""
        leave = next((g for g in leaves if g.goes == "out"), None)
        if leave is None or unit.window is None:
            return []
        lying = [t for t in self._lying.values() if t.t < leave.t and (not t.home or _HOME_TOO.match(t.thing))]
        if not lying:
            return []
        thing = min(lying, key=lambda t: t.t)
        verb = "are" if thing.thing.endswith(_SEVERAL) else "is"
        state = f"{verb} still {thing.where}" if thing.where else f"{verb} not with you"
        text = speak("resource_reminder", thing=f"Your {thing.thing}", state=state)
        evidence = (*thing.refs, *leave.refs, f"w{unit.window.id}")
        return [service("resource_reminder", leave.t, text, evidence, f"{thing.key}:behind", unit, "A")]
