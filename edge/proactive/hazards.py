"""Acute danger in what was just perceived (the next ten seconds), as one table of signs.

Each sign needs the danger and what makes it acute in one sentence; tools and heat by themselves are everyday life.
`warning` is a pure function of one text, so that every perceived frame can be checked at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from edge.proactive.alerts import speak
from edge.proactive.experts import Screening, service
from storage.records import Item, Service, Window

_SHARP = r"(?:knife|knives|blade|scissors|saw|razor|cleaver|grater|slicer|drill bit|axe)"
_HAND = r"(?:finger|fingers|fingertips|thumb|thumbs|hand|hands|palm|wrist|arm|sleeve|hair)"
_FINGER = r"(?:finger|fingers|fingertips|thumb|thumbs|palm|wrist)"
_FIRE = r"(?:flame|flames|fire|burner|burners|lit stove|hot stove|hot hob|gas flame|lit candle)"
_NEAR = r"(?:near|close to|next to|under|beneath|against|towards?|over|above|touch\w*|reach\w* (?:over|across|into)|on(?: top of)?|between)"
_CLOTH = r"(?:towel|tea towel|cloth|paper|napkin|curtain|plastic bag|cardboard|oven mitt)"
_CUTTING = r"(?:cut|chopp|slic|saw|carv|peel|drill|shav|mow)\w*"


@dataclass(frozen=True, slots=True)
class Hazard:
    """One kind of danger: its name, what tells of it, what takes the sting out of it, and what is said."""

    name: str
    sign: str
    unless: str
    say: str


TABLE: tuple[Hazard, ...] = (
    Hazard("blade", rf"{_FINGER}\b.{{0,40}}\b{_NEAR}\b.{{0,24}}\b{_SHARP}|{_SHARP}\b.{{0,24}}\b{_NEAR}\b.{{0,16}}\b{_FINGER}|"
           rf"\bhands?\b.{{0,24}}\b(?:under|beneath|close to|too near|touch\w*)\b.{{0,16}}\b{_SHARP}|"
           rf"(?:holds?|grabs?|grasps?|catch\w*)\b.{{0,20}}\bby the blade|{_CUTTING} towards? (?:the |his |her |my )?{_HAND}",
           r"\b(?:glove|wash\w*|rins\w*|put\w* (?:down|away)|dr(?:y|ies)|rack|block|drawer|handle)\b", "fingers near the blade"),
    Hazard("distraction", rf"(?:look\w*|star\w*|typ\w*|scroll\w*) (?:at|on|away|to)\b.{{0,24}}\bwhile (?:\w+ )?{_CUTTING}|"
           rf"{_CUTTING}\b.{{0,30}}\bwhile (?:look\w*|talk\w* on|scroll\w*|typ\w*)\b.{{0,16}}\b(?:phone|screen|away|tv|television)",
           r"\bpeel\w* (?:off )?(?:the )?(?:label|sticker)", "look at the blade"),
    Hazard("burn", rf"(?:bare|unprotected|ungloved) {_HAND}\b.{{0,40}}\b(?:oven|hot|stove|pan|pot|burner|grill|tray|kettle)|"
           r"(?:touch\w*|grab\w*|grasp\w*|reach\w* (?:in|for|over|across)\w*)\b.{0,30}\b(?:hot|boiling|glowing|red-hot|oven|steaming)\b.{0,40}"
           r"\b(?:bare|without (?:a |any )?(?:glove|mitt|cloth|protection))|"
           rf"{_HAND}\b.{{0,24}}\b{_NEAR}\b.{{0,16}}\b(?:{_FIRE}|boiling|hot oil|steam)",
           r"\b(?:with|wear\w*|using) (?:an? |the )?(?:oven |heat |thick )?(?:glove|mitt|cloth|towel)", "that is hot"),
    Hazard("fire", rf"{_CLOTH}\b.{{0,30}}\b{_NEAR}\b.{{0,24}}\b{_FIRE}|{_CLOTH}\b.{{0,20}}\b(?:catch\w* fire|on fire|burn\w*|smok(?:es|ing))|"
           r"\b(?:pan|oil|toaster|oven|grease)\b.{0,16}\b(?:on fire|in flames|catches fire|is burning|smok(?:es|ing) heavily)",
           r"\bfire ?place|\bfire alarm\b", "something may catch fire"),
    Hazard("slippery floor", r"(?:spill\w*|pour\w* out|leak\w*|drip\w*)\b.{0,40}\b(?:on|onto|over|across)\b.{0,16}\bfloor|"
           r"(?:walk\w*|step\w*|run\w*)\b.{0,24}\b(?:wet|slippery|icy|greasy|oily) (?:\w+ )?(?:floor|tiles?|pavement|stairs?|steps?|ground)|\bpuddle\b.{0,16}\bfloor",
           r"\b(?:wip|mopp|clean|dr(?:y|ies))\w*\b", "the floor is wet"),
    Hazard("broken glass", r"(?:broken|shattered|smashed|splinters? of|shards? of) (?:\w+ )?(?:glass|bottle|plate|jar|cup|mirror|bowl)|"
           r"(?:glass|bottle|jar|mirror|plate)\b.{0,16}\b(?:breaks|shatters|broke|shattered|smashes)|glass shards?",
           r"\b(?:sweep\w*|swept|bin|dustpan|throw\w* away|vacuum\w*)\b", "there is broken glass"),
    Hazard("fall", r"\b(?:ladder|stool|chair|scaffold)\b.{0,16}\b(?:wobbl|shak|slip|tip|tilt|slid)\w*|(?:los\w* (?:his |her |my |the )?balance|almost falls?|nearly falls?|stumbl\w*|trip\w* over)|"
           r"(?:stand\w*|climb\w*)\b.{0,20}\b(?:top (?:step|rung)|edge of (?:the )?(?:roof|table|chair|balcony)|swivel chair|unstable)",
           r"\b(?:toy|table leg)\b", "you may fall"),
    Hazard("traffic", r"(?:step\w*|walk\w*|cross\w*|run\w*)\b.{0,24}\b(?:road|street|crossing|junction|tracks)\b.{0,24}\b(?:while|without|looking (?:at|down)|on red|red light)|"
           r"(?:car|truck|bus|tram|bicycle|motorbike|van)\b.{0,24}\b(?:approach\w*|coming|heads?|speed\w*)\b.{0,24}\b(?:wearer|fast|towards?|straight)|"
           r"(?:texting|looking at (?:the |a )?phone)\b.{0,16}\bwhile driving|driv\w*\b.{0,24}\bwhile (?:texting|looking at)",
           r"\b(?:window|crosses at the green|waits?)\b", "watch the road"),
    Hazard("electricity", rf"wet {_HAND}|(?:knife|fork|spoon|screwdriver|{_HAND})\b.{{0,16}}\b(?:in|into|inside)\b.{{0,10}}\b(?:toaster|socket|outlet)|"
           r"(?:exposed|bare|frayed|damaged|sparking) (?:\w+ )?(?:wires?|cables?|cords?)|(?:hair ?dryer|radio|heater|phone charger)\b.{0,24}\b(?:bath ?tub|sink full|in the bath|near (?:the )?water)",
           r"\b(?:dr(?:y|ies|ying)|towel|shake\w*|wash\w*)\b(?!.*plug)", "wet hands and power"),
    Hazard("fumes", r"\bbleach\b.{0,40}\b(?:ammonia|vinegar|acid|drain cleaner|toilet cleaner|alcohol)|\b(?:ammonia|vinegar|acid)\b.{0,40}\bbleach\b",
           r"\b(?:shelf|cupboard|shop|store)\b", "never mix those cleaners"),
)  # fmt: skip
_COMPILED = tuple((h, re.compile(h.sign), re.compile(h.unless)) for h in TABLE)
_ELSEWHERE = re.compile(
    r"\b(?:on|in) (?:the |a )?(?:tv|television|screen|film|movie|video|photo|picture|poster|book|magazine|game)\b|\btoy\b"
)


@lru_cache(maxsize=8192)
def warning(text: str) -> Hazard | None:
    """The acute danger one perceived sentence tells of, if any."""
    low = text.lower().replace("\u2019", "'")
    if _ELSEWHERE.search(low):
        return None
    for hazard, sign, unless in _COMPILED:
        if sign.search(low) and not unless.search(low):
            return hazard
    return None


def warnings(unit: Screening, window: Window, items: Sequence[Item], wearer: frozenset[str]) -> list[Service]:
    """A safety service for each danger of a window, at the moment it was first perceived there."""
    found: dict[str, Service] = {}
    for item in items:
        if item.kind == "speech" or (item.kind == "event" and item.subject.lower() not in wearer):
            continue
        text = f"{item.action} {item.object}" if item.kind == "event" else item.text
        hazard = warning(text)
        if hazard is not None and hazard.name not in found:
            refs = (f"o{item.id}", f"w{window.id}")
            told = speak("safety", hazard=hazard.say)
            found[hazard.name] = service("safety", item.t, told, refs, hazard.name, unit, "A")
    return list(found.values())[:2]
