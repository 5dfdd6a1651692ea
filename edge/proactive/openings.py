"""What was opened or switched on and not closed or switched off since, and how far that can be believed.

One table says which things matter and when.  The rest is a fold over acts.  Perception misses small acts, so "no
closing was seen" means little where closings are often missed: how often a thing was found opened anew without having
been seen closed tells how far to trust it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from edge.clock import US
from edge.proactive.acts import Act, Way, doings, read, told
from edge.proactive.leaving import Goes
from storage.records import Item

MIN = 60
WAYS: tuple[Way, ...] = ("open", "power", "unsaved")


@dataclass(frozen=True, slots=True)
class Closure:
    """A kind of thing worth a reminder.

    words: how it is called.  on_going: the ways of going at which it is told.  away_s: told after so many seconds in
    another place or with other things (0: never by time alone).  memory_s: after so long nothing is claimed any more.
    hazard: 3 fire or flood, 2 waste or spoilage, 1 a nuisance; a greater hazard is told on weaker grounds.
    kin: words of the doings that go with it; where no place is known, only their absence shows that the wearer has
    turned to something else (none: only a place shows it).
    """

    name: str
    way: Way
    words: str
    on_going: tuple[Goes, ...]
    away_s: int
    memory_s: int
    hazard: int
    kin: str = ""


# fmt: off
CLOSURES: tuple[Closure, ...] = (
    Closure("cooker", "power", r"hob|stove|stovetop|cooker|burner|gas ring|gas|heat|hot ?plate|cooktop|flame|fryer|griddle|bunsen burner",
            ("out", "bed"), 20 * MIN, 180 * MIN, 3,
            "hob pan pot wok kettle lid spatula ladle stir cook fry boil simmer sauce soup stew food taste season egg meat chicken pasta "
            "rice onion vegetable potato chop cut slice peel recipe kitchen oven plate serve"),
    Closure("oven", "power", r"oven|grill", ("out", "bed"), 0, 180 * MIN, 3),
    Closure("hot tool", "power", r"iron|straighteners?|curling (?:wand|tongs)|glue gun|heat gun|hot air gun|waffle maker|sandwich maker|heat press|blowtorch|welder",
            ("out", "bed", "room"), 5 * MIN, 120 * MIN, 3, "iron shirt trousers dress blouse sheet hair glue solder waffle sandwich weld"),
    Closure("heater", "power", r"heater|electric blanket|heat lamp|heating pad", ("out",), 0, 600 * MIN, 3),
    Closure("fire", "power", r"candles?|tea ?lights?|fire ?place|fire|bonfire|incense|barbecue|bbq|lantern|oil lamp", ("out", "bed"), 15 * MIN, 240 * MIN, 3),
    Closure("tap", "power", r"(?:tap|faucet)(?: water)?|shower|hose(?:pipe)?|sprinkler|spigot|standpipe",
            ("out", "bed", "room"), 0, 40 * MIN, 3),
    Closure("bath", "power", r"bath|(?:bath ?)?tub|pool|bucket|water tank|pond", ("out", "bed"), 10 * MIN, 60 * MIN, 3, "bath tub water pool towel"),
    Closure("fridge", "open", r"fridge|refrigerator|freezer|cold room|cool ?box", ("out", "bed", "room"), 3 * MIN, 30 * MIN, 2, "fridge freezer"),
    Closure("safe", "open", r"safe|strongbox|cash ?(?:box|drawer|register|desk)|till|register|locker|display (?:case|cabinet)|key cabinet|medicine (?:cabinet|cupboard|chest|trolley)|drug (?:cabinet|cupboard|trolley)|gun cabinet",
            ("out", "bed", "room"), 5 * MIN, 45 * MIN, 2, "safe money cash coin note till locker medicine drug pill dose cabinet trolley"),
    Closure("work", "unsaved", r"work", ("out", "bed", "room"), 0, 120 * MIN, 2),
    Closure("outer door", "open", r"(?:front|main|entrance|apartment|house|back|patio|balcony|garden|garage|cellar|shed|barn|stable|greenhouse|terrace|coop|van) ?door|garage|gate|shed|barn|coop|hutch|kennel|cage",
            ("bed",), 3 * MIN, 45 * MIN, 2, "door garage gate"),
    Closure("car", "open", r"car (?:door|boot|trunk)|trunk of the car|boot of the car|tailgate", ("room",), 3 * MIN, 45 * MIN, 2, "car trunk boot"),
    Closure("window", "open", r"(?:car )?windows?|skylight|roof window|sun ?roof", ("out",), 0, 600 * MIN, 1),
    Closure("light", "power", r"lights?|lamp|flash ?light|headlights?|torch|floodlight", ("out",), 0, 360 * MIN, 1),
    Closure("machine", "power", r"vacuum(?: cleaner)?|hoover|drill|\w*saw|sander|lathe|grinder|milling machine|compressor|pump|generator|engine|motor|(?:lawn ?)?mower|projector|extractor|fan|mixer|blender",
            ("out",), 0, 120 * MIN, 2),
)
# fmt: on
_PATTERNS = tuple((c, re.compile(rf"^(?:{c.words})$")) for c in CLOSURES)
# What cooks stands for what it cooks on: "can you watch the soup?"
_FOOD = re.compile(r"^.*\b(?:soup|pan|pot|food|sauce|rice|pasta|dinner|lunch|stew|potatoes|milk)$")
_HEAD = re.compile(r"^(?P<thing>.+?) (?:door|knob|switch|valve|button|dial)$")

BARE = frozenset(("door", "it", "them", "lid", "knob", "switch", "machine"))
EVERYTHING = frozenset(("everything", "all", "both", "all lights"))

TRUST_AFTER_US = 3 * 24 * 3600 * US  # acts older than this teach nothing about what perception misses
TRUST_ACTS = 400
LOST_US = 30 * 60 * US  # an opening without a closing for so long was most likely closed unseen


@dataclass(frozen=True, slots=True)
class Seen:
    """One act at its time: an opening or switching by the wearer, or a closing by anybody, or words about it."""

    t: int
    act: Act
    mine: bool
    ref: str
    window_id: int
    stays: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """A thing that is open or on as far as was seen."""

    closure: Closure
    thing: str
    t: int
    ref: str
    window_id: int


@dataclass(slots=True)
class Books:
    """The outcome of a fold: what stands, and how often closings were missed, for each way."""

    standing: dict[str, Standing] = field(default_factory=dict)
    begun: dict[Way, int] = field(default_factory=lambda: dict.fromkeys(WAYS, 0))
    missed: dict[Way, int] = field(default_factory=lambda: dict.fromkeys(WAYS, 0))

    def trusted(self, standing: Standing, *, going: bool) -> bool:
        """Whether an unseen closing is unlikely enough to speak up: more is forgiven where the hazard is great."""
        way = standing.closure.way
        missed, begun = self.missed[way], self.begun[way] - 1
        if missed <= 1:
            return True
        allowed = 0.4 if going and standing.closure.hazard == 3 else 0.1
        return missed / max(begun, 1) <= allowed


@lru_cache(maxsize=4096)
def closure_of(way: Way, thing: str) -> Closure | None:
    """The row of the table a thing belongs to."""
    bare = _HEAD.sub(lambda m: m["thing"], thing) if way == "power" or "door" in thing else thing
    words = bare.split()
    shorter = [" ".join(words[n:]) for n in range(1, len(words))]  # "garden hose" is a hose
    for name in dict.fromkeys((thing, bare, *shorter)):
        for closure, pattern in _PATTERNS:
            if closure.way == way and pattern.match(name):
                return closure
    return None


def seen_in(items: Sequence[Item], wearer: frozenset[str]) -> list[Seen]:
    """The acts of some items, in time order."""
    found: list[Seen] = []
    for item in items:
        ref = f"o{item.id}"
        if item.kind == "speech":
            for kind, thing in told(item.text):
                for way in WAYS:
                    said = Act(way, kind == "stay", "stove" if _FOOD.match(thing) else thing)
                    found.append(
                        Seen(item.t, said, mine=False, ref=ref, window_id=item.window_id, stays=kind == "stay")
                    )
            continue
        for words, mine in doings(item, wearer):
            act = read(words)
            if act is not None:
                found.append(Seen(item.t, act, mine=mine, ref=ref, window_id=item.window_id))
    return found


def fold(acts: Sequence[Seen], until: int) -> Books:
    """What stands open or on at `until`, from acts in time order."""
    books = Books()
    open_since: dict[tuple[Way, str], int] = {}
    for seen in acts:
        act = seen.act
        closure = closure_of(act.way, act.thing)
        name = closure.name if closure else act.thing
        place = (act.way, name)
        if act.begins and not seen.stays:
            before = open_since.get(place)
            if before is not None and (seen.t - before < 3 * US or act.way == "unsaved"):
                continue  # the same act, or the same state, perceived twice
            books.begun[act.way] += 1
            if before is not None:
                books.missed[act.way] += 1
            if not seen.mine:
                continue
            open_since[place] = seen.t
            if closure is not None:
                books.standing[name] = Standing(closure, act.thing, seen.t, seen.ref, seen.window_id)
        elif act.begins:
            books.standing.pop(name, None)  # left so on purpose
        elif act.thing in EVERYTHING:
            books.standing = {n: s for n, s in books.standing.items() if s.closure.way != act.way}
        else:
            if closure is None and act.thing in BARE:  # "close door": of what was opened last
                name = max(
                    (n for n, s in books.standing.items() if s.closure.way == act.way),
                    key=lambda n: books.standing[n].t,
                    default=name,
                )
            open_since.pop((act.way, name), None)
            books.standing.pop(name, None)
    for (way, _), since in open_since.items():
        if until - since >= LOST_US:
            books.missed[way] += 1
    books.standing = {n: s for n, s in books.standing.items() if until - s.t <= s.closure.memory_s * US}
    return books
