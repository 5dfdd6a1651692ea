"""Things that are looked for or met again: where they were put, and what was done to them hours ago."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from edge.clock import US, local
from edge.memory.bounds import short
from edge.proactive.acts import doings
from edge.proactive.alerts import speak
from edge.proactive.experts import Screening, service
from edge.retrieval.words import content
from storage.records import Item, Service, Window
from storage.snapshot import Snapshot

RECENT_US = 180 * US  # put down so lately, it needs no memory
SAME_US = 3 * 3600 * US  # memory_recall up to here, memory_link beyond
LINK_FROM_US = 2 * 3600 * US
LINK_UNTIL_US = 72 * 3600 * US
LOOK_BACK_US = 14 * 24 * 3600 * US

_SEEKS = re.compile(
    r"^(?:look|looks|looking|search|searches|searching|hunt|hunts|hunting|rummage|rummages|check|checks|feel|feels|pat|pats|dig|digs)\b.{0,40}?\bfor (?:the |my |his |her |a |an )?(?P<thing>[a-z' -]{2,40})"
)
_ASKS = re.compile(
    r"\bwhere(?: did i (?:put|leave|lay|park|hide)| have i (?:put|left|parked)| is| are|'s) (?:my |the )(?P<a>[a-z' -]{2,30}?)(?= gone|[?.!,]|$)"
    r"|\bi (?:can't|cannot|can not|don't|do not) (?:find|see) (?:my |the )(?P<b>[a-z' -]{2,30}?)(?=[?.!,]|$)"
    r"|\bwhere (?:have|has|did) (?:my |the )(?P<g>[a-z' -]{2,30}?) (?:gone|got to|go)\b"
    r"|\bwhere (?:my |the )(?P<c>[a-z' -]{2,30}?) (?:is|are|went|got to)\b"
    r"|\b(?:have you|has anyone|did anyone|anybody|anyone) seen? (?:my |the )(?P<d>[a-z' -]{2,30}?)(?= anywhere| lately|[?.!,]|$)"
    r"|\bwhere i (?:put|left|laid) (?:my |the )(?P<e>[a-z' -]{2,30}?)(?=[?.!,]|$)"
    r"|\b(?:my |the )(?P<h>[a-z' -]{2,30}?) (?:must|has to|should) be (?:here )?(?:somewhere|around)\b"
    r"|\bi(?:'ve| have)? (?:lost|misplaced) (?:my |the )(?P<f>[a-z' -]{2,30}?)(?= again| somewhere|[?.!,]|$)"
)
_PUTS = re.compile(
    r"^(?:put|puts|place|places|set|sets|lay|lays|leave|leaves|hang|hangs|drop|drops|hide|hides|store|stores|"
    r"slip|slips|slide|slides|tuck|tucks|stick|sticks|stash|stashes|lean|leans|rest|rests|clip|clips|lock|locks|park|parks|pack|packs)\b"
)
_TAKES = re.compile(
    r"^(?:take|takes|pick|picks|grab|grabs|gets?(?! (?:out|in|into|off|on|up|down|back)\b)|fetch|fetches|wear|wears|carry|carries)\b"
)
_WHERE = re.compile(
    r"\b(?P<where>(?:on|onto|in|into|under|underneath|behind|beside|next to|by|at|inside|between|over) (?!on\b|off\b|place\b).+)$"
)
# What is put there is used up or on its way, not kept.
_FOOD_PLACE = re.compile(
    r"\b(?:pan|(?<!flower )(?<!plant )pot|bowl|plate|mug|glass|water|soup|mixture|blender|bin|oven|microwave|mouth|sauce|dough|tin)\b"
)
_TAIL = re.compile(r"\s+(?:on|in|under|at|from|of|near|behind)\b.*$")

# What is done to a thing that one wants to know of when one meets it again.
_DONE = {
    verb: done
    for done, verbs in {
        "bought it": "buy,buys,bought", "ordered it": "order,orders,ordered", "plugged it in": "plug in,plugs in,plugged in",
        "set it to charge": "charge,charges", "marinated it": "marinate,marinates", "put it to soak": "soak,soaks",
        "put it to thaw": "defrost,defrosts,thaw,thaws", "borrowed it": "borrow,borrows", "lent it": "lend,lends",
        "repaired it": "repair,repairs", "glued it": "glue,glues", "painted it": "paint,paints",
        "sharpened it": "sharpen,sharpens", "oiled it": "oil,oils", "froze it": "freeze,freezes", "printed it": "print,prints",
        "varnished it": "varnish,varnishes", "picked it up": "collect,collects", "lent it out": "loan,loans",
        "started it": "start,starts,switch on,switches on", "mended it": "mend,mends,fix,fixes", "patched it": "patch,patches",
        "sowed it": "sow,sows", "planted it": "plant,plants", "potted it": "pot,pots,repot,repots", "pickled it": "pickle,pickles",
        "sewed it": "sew,sews", "wrapped it": "wrap,wraps", "labelled it": "label,labels", "signed it": "sign,signs",
        "filled it in": "fill in,fills in", "pumped it up": "pump up,pumps up,inflate,inflates", "refuelled it": "refuel,refuels,fill up,fills up",
        "replaced it": "replace,replaces,exchange,exchanges", "tuned it": "tune,tunes", "calibrated it": "calibrate,calibrates",
        "waxed it": "wax,waxes", "greased it": "grease,greases", "plastered it": "plaster,plasters", "primed it": "prime,primes",
        "dyed it": "dye,dyes", "hung it up to dry": "hang up,hangs up", "rented it": "rent,rents", "reserved it": "reserve,reserves",
        "received it": "receive,receives", "found it": "find,finds", "damaged it": "damage,damages,crack,cracks,scratch,scratches,dent,dents",
        "promised it": "promise,promises", "kneaded it": "knead,kneads", "prepared it": "prepare,prepares", "baked it": "bake,bakes",
        "brewed it": "brew,brews", "set it to rise": "proof,proofs", "sealed it": "seal,seals", "unpacked it": "unpack,unpacks", "downloaded it": "download,downloads", "bandaged it": "bandage,bandages",
    }.items()
    for verb in verbs.split(",")
}  # fmt: skip
_VERBS = tuple(sorted((verb + " " for verb in _DONE), key=len, reverse=True))
_STARTED = re.compile(r"washing machine|dishwasher|dryer|slow cooker|bread (?:machine|maker)|printer|download|backup")
_PLUGS = re.compile(
    r"^(?:plug|plugs|connect|connects|hook|hooks)(?: up)? (?P<thing>.+?) (?:in|into|to|on) (?:the |a |its )?(?:\w+ )?(?:charger|socket|outlet|power|wall|charging station|usb port|dock)\b"
    r"|^(?:put|puts|place|places|set|sets) (?P<put>.+?) (?:in|into|on|onto|to) (?:the |a |its )?(?:charge|charger|charging (?:station|pad|dock|cradle))\b"
)
# Somebody hands it to the wearer.
_GIVES = re.compile(
    r"^(?:give|gives|hand|hands|lend|lends|pass|passes|bring|brings) (?:the )?(?:person|wearer|camera wearer|me|him|her|you|c) (?P<thing>(?:a|an|the|some|his|her) .+)$"
)
_MEETS = re.compile(
    r"^(?:drain|drains|print|prints|try on|tries on|install|installs|assemble|assembles|attach|attaches|hang|hangs|plant|plants|spread|spreads|cook|cooks|"
    r"fry|fries|grill|grills|bake|bakes|roll out|rolls out|shape|shapes|cut|cuts|slice|slices|serve|serves|taste|tastes|wrap|wraps|charge|charges|play|plays|switch on|switches on|turn on|turns on|"
    r"put on|puts on|fold|folds|scan|scans|fill in|fills in|send|sends|deliver|delivers|take|takes|pick up|picks up|grab|grabs|use|uses|unplug|unplugs|open|opens|empty|empties|eat|eats|unpack|unpacks|read|reads|"
    r"wear|wears|return|returns|unload|unloads|check|checks|inspect|inspects|lift|lifts|hold|holds|mount|mounts|ride|rides|water|waters|touch|touches|see|sees|notice|notices|look at|looks at|pass|passes|hand over|hands over|collect|collects|pay for|pays for)\b"
)


def sought(
    unit: Screening, window: Window, items: Sequence[Item], wearer: frozenset[str], snapshot: Snapshot
) -> list[Service]:
    """Where a thing was put that the wearer looks for or asks about, said once for each seeking."""
    for item in items:
        thing = _sought_in(item, wearer)
        keys = content(thing) if thing else ()
        if not keys:
            continue
        found = _last_put(keys, item, wearer, snapshot)
        if found is None:
            continue
        put, where = found[0], _spot(found[1])
        ago = item.t - put.t
        name = f"{'_'.join(keys)}@{put.t // US}"
        kind = "memory_recall" if ago <= SAME_US else "memory_link_contextual"
        if ago < RECENT_US or snapshot.services.with_key(kind, name):
            continue
        verb = "are" if thing.endswith("s") and not thing.endswith("ss") else "is"
        told = (
            f"Your {thing} {verb} {where}"
            if ago <= SAME_US
            else f"You put your {thing} {where} {_when(put.t, put.offset_s, item)}"
        )
        slot = {"what": told} if kind == "memory_recall" else {"link": told}
        refs = (f"o{put.id}", f"w{put.window_id}", f"o{item.id}", f"w{window.id}")
        return [service(kind, item.t, speak(kind, **slot), refs, name, unit, "C")]
    return []


@dataclass(frozen=True, slots=True)
class _Deed:
    """What was done to a thing that one may meet again."""

    t: int
    offset_s: int
    keys: tuple[str, ...]
    done: str
    refs: tuple[str, ...]


class Links:
    """What was done to things in the last days; read back from the store when it does not fit the unit."""

    def __init__(self, wearer: frozenset[str]) -> None:
        self._wearer = wearer
        self._deeds: list[_Deed] = []

    def reset(self, items: Sequence[Item]) -> None:
        """Begin anew from the items of the last days, in time order."""
        self._deeds = [d for item in items for d in self._of(item)]

    def follow(self, window: Window, items: Sequence[Item]) -> None:
        """Take in what a window shows."""
        edge = window.t_end - LINK_UNTIL_US
        self._deeds = [d for d in self._deeds if d.t > edge]
        self._deeds += [d for item in items for d in self._of(item)]

    def met(self, unit: Screening, window: Window, items: Sequence[Item], snapshot: Snapshot) -> list[Service]:
        """What was done hours or days ago to a thing that the wearer takes up now; at most one."""
        for item in items:
            for words, mine in doings(item, self._wearer):
                if not mine or not _MEETS.search(words):
                    continue
                thing = _noun(_MEETS.sub("", words))
                keys = content(thing)
                deed = (
                    next((d for d in reversed(self._deeds) if d.keys == keys and d.t < item.t), None) if keys else None
                )
                if deed is None or item.t - deed.t < LINK_FROM_US:
                    continue
                name = f"{'_'.join(keys)}@{deed.t // US}"
                if snapshot.services.with_key("memory_link_contextual", name):
                    continue
                several = thing.endswith("s") and not thing.endswith("ss")
                done = re.sub(r"\bit\b", "them", deed.done) if several else deed.done
                link = f"The {thing}: you {done} {_when(deed.t, deed.offset_s, item)}"
                refs = (*deed.refs, f"o{item.id}", f"w{window.id}")
                told = speak("memory_link_contextual", link=link)
                return [service("memory_link_contextual", item.t, told, refs, name, unit, "B")]
        return []

    def _of(self, item: Item) -> list[_Deed]:
        found = []
        refs = (f"o{item.id}", f"w{item.window_id}")
        for words, mine in doings(item, self._wearer):
            given = None if mine else _GIVES.search(words)
            plugged = _PLUGS.search(words) if mine else None
            if given is not None:
                found.append(_Deed(item.t, item.offset_s, content(_noun(given["thing"])), "got it", refs))
            if plugged is not None:
                thing = _noun(plugged["thing"] or plugged["put"])
                found.append(_Deed(item.t, item.offset_s, content(thing), "plugged it in", refs))
                continue
            verb = next((v for v in _VERBS if words.startswith(v)), "") if mine else ""
            keys = content(_noun(words[len(verb) :])) if verb else ()
            done = _DONE.get(verb.strip(), "")
            if keys and (done != "started it" or _STARTED.search(words)):
                found.append(_Deed(item.t, item.offset_s, keys, done, refs))
        return found


def _sought_in(item: Item, wearer: frozenset[str]) -> str:
    if item.kind == "speech":
        if item.speaker.lower() not in wearer:
            return ""
        asks = _ASKS.search(item.text.lower().replace("\u2019", "'"))
        return "" if asks is None else next(filter(None, asks.groups())).strip()
    for words, mine in doings(item, wearer):
        seeks = _SEEKS.search(words)
        if mine and seeks:
            return _TAIL.sub("", seeks["thing"]).strip()
    return ""


def _last_put(keys: tuple[str, ...], item: Item, wearer: frozenset[str], snapshot: Snapshot) -> tuple[Item, str] | None:
    """Where a thing lies as far as was seen: the newest act on it put it somewhere."""
    for earlier in _about(keys, item, item.t - LOOK_BACK_US, item.t, snapshot):
        for words, mine in doings(earlier, wearer):
            place = _WHERE.search(words)
            head = words[: place.start()] if place else words
            if not mine or not set(keys) <= set(content(head)):
                continue
            if _TAKES.search(words):
                return None
            if _PUTS.search(words) and place is not None:
                return None if _FOOD_PLACE.search(place["where"]) else (earlier, place["where"])
    return None


def _about(keys: tuple[str, ...], item: Item, start: int, end: int, snapshot: Snapshot) -> list[Item]:
    """Earlier events and captions that name a thing, newest first."""
    hits = snapshot.search("item", item.object or item.text, k=60, start=start, end=end)
    found = snapshot.trace.items_by_id([h.id for h in hits]).values()
    named = [
        i
        for i in map(short, found)
        if i.kind in ("event", "caption") and start <= i.t < end and set(keys) <= set(content(i.text))
    ]
    return sorted(named, key=lambda i: (-i.t, -i.id))


def _noun(words: str) -> str:
    text = re.sub(r"^\s*(?:up |in |on |out )?(?:the |a |an |my |his |her |some )?", "", words)
    return re.sub(r"\s+(?:out of|from|at|on|in|into|to|with|for)\b.*$", "", text).strip()


def _spot(where: str) -> str:
    """A place as it is spoken: "into cupboard" becomes "in the cupboard"."""
    how, _, place = where.replace("onto ", "on ", 1).replace("into ", "in ", 1).partition(" ")
    if how == "next":
        return where
    bare = not re.match(r"(?:the|a|an|my|your|his|her|its|to|top)\b", place)
    return f"{how} the {place}" if bare else f"{how} {place}"


def _when(t: int, offset_s: int, now: Item) -> str:
    then, here = local(t, offset_s), local(now.t, now.offset_s)
    days = (here.date() - then.date()).days
    if days == 0:
        return f"at {then:%H:%M}"
    return "yesterday" if days == 1 else f"on {then:%A}"
