"""Acute danger (the next ten seconds) and bad technique in what was just perceived, as two tables of signs.

Each sign needs the danger and what makes it acute in one sentence; tools and heat by themselves are everyday life.
`warning` and `advice` are pure functions of one text, so that every perceived frame can be checked at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from edge.proactive.acts import doings
from edge.proactive.alerts import speak
from edge.proactive.experts import Screening, service
from storage.records import Item, Service, Window

_SHARP = r"(?:knife|knives|blades?|scissors|\w*saw|razor|cleaver|grater|slicer|mandoline?|drill bit|axe|hatchet|chisel|scalpel|shears|secateurs|hedge trimmer|mower|(?:grinder|cutting|spinning) disc|grinder|lathe|router bit|sander|needle)"
_HAND = r"(?:finger|fingers|fingertips|thumb|thumbs|hand|hands|palm|wrist|arm|sleeve|hair)"
_FINGER = r"(?:finger|fingers|fingertips|thumb|thumbs|palm|wrist)"
_FIRE = r"(?:flame|flames|fire|burner|burners|lit stove|hot stove|hot hob|gas flame|lit candle)"
_NEAR = r"(?:near|close to|next to|under|beneath|against|towards?|over|above|touch\w*|reach\w* (?:over|across|into)|on(?: top of)?|between)"
_CLOTH = r"(?:towel|tea towel|cloth|paper|napkin|curtain|plastic bag|cardboard|oven mitt)"
_CUTTING = r"(?:cut|chopp|slic|saw|carv|peel|drill|shav|mow)\w*"


@dataclass(frozen=True, slots=True)
class Hazard:
    """One kind of danger or slip: its name, what tells of it, what takes the sting out of it, and what is said."""

    name: str
    sign: str
    unless: str
    say: str


TABLE: tuple[Hazard, ...] = (
    Hazard("blade", rf"{_FINGER}\b.{{0,40}}\b{_NEAR}\b.{{0,24}}\b{_SHARP}|{_SHARP}\b.{{0,24}}\b{_NEAR}\b.{{0,16}}\b{_FINGER}|"
           rf"\bhands?\b.{{0,24}}\b(?:under|beneath|close to|too near|touch\w*)\b.{{0,16}}\b{_SHARP}|"
           rf"(?:holds?|grabs?|grasps?|catch\w*)\b.{{0,20}}\bby the blade|{_CUTTING} towards? (?:the |his |her |my )?{_HAND}|"
           rf"(?:push|press|driv|pull|mov|stab)\w* (?:the |a )?(?:\w+ )?{_SHARP} towards? (?:the |his |her |my )?(?:other |left |right |own )?{_HAND}|"
           rf"(?:sleeve|scarf|necklace|long hair|loose hair|tie|cord)\b.{{0,30}}\b(?:caught|near|close to|into|in|touch\w*)\b.{{0,16}}\b(?:{_SHARP}|spinning|rotating|drill|mixer|shredder|belt)",
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
    Hazard("fall", r"\b(?:ladder|stool|chair|scaffold\w*|step ?ladder|trestle)\b.{0,16}\b(?:wobbl|shak|slip|tip|tilt|slid|sway|give|sink)\w*|(?:los\w* (?:his |her |my |the )?balance|almost falls?|nearly falls?|stumbl\w*|trip\w* over)|"
           r"(?:stand\w*|climb\w*)\b.{0,20}\b(?:top (?:step|rung)|edge of (?:the )?(?:roof|table|chair|balcony)|swivel chair|unstable)",
           r"\b(?:toy|table leg)\b", "you may fall"),
    Hazard("traffic", r"(?:step\w*|walk\w*|cross\w*|run\w*)\b.{0,24}\b(?:road|street|crossing|junction|tracks)\b.{0,24}\b(?:while|without|looking (?:at|down)|on red|red light)|"
           r"(?:car|truck|bus|tram|bicycle|motorbike|van)\b.{0,24}\b(?:approach\w*|coming|heads?|speed\w*)\b.{0,24}\b(?:wearer|fast|towards?|straight)|"
           r"(?:texting|looking at (?:the |a )?phone)\b.{0,16}\bwhile driving|driv\w*\b.{0,24}\bwhile (?:texting|looking at)",
           r"\b(?:window|crosses at the green|waits?)\b", "watch the road"),
    Hazard("electricity", rf"wet {_HAND}|(?:knife|fork|spoon|screwdriver|{_HAND})\b.{{0,16}}\b(?:in|into|inside)\b.{{0,10}}\b(?:toaster|socket|outlet)|"
           r"(?:exposed|bare|frayed|damaged|sparking) (?:\w+ )?(?:wires?|cables?|cords?)|(?:hair ?dryer|radio|heater|phone charger)\b.{0,24}\b(?:bath ?tub|sink full|in the bath|near (?:the )?water)",
           r"\b(?:dr(?:y|ies|ying)|towel|shake\w*|wash\w*)\b(?!.*plug)", "wet hands and power"),
    Hazard("child", r"\b(?:toddler|child|baby|infant|little (?:boy|girl)|kid|grandchild)\b.{0,40}\b(?:reach\w*|grab\w*|pull\w*|crawl\w*|climb\w*|run\w*|lean\w*|put\w*)\b.{0,40}"
           r"\b(?:hot|stove|hob|oven|pan handle|kettle|iron|candle|fire|knife|scissors|socket|outlet|plug|stairs|balcony|window ?sill|road|street|pool|pond|pills?|bleach|cleaner|battery)\b",
           r"\b(?:helps?|held by|holding (?:his|her|the) hand|barrier|toy|away from)\b", "the child"),
    Hazard("dose", r"\b(?:takes?|swallow\w*|gives?|inject\w*|pours?)\b.{0,40}\b(?:second|double|twice the|another|two|too many)\b.{0,16}\b(?:dose|doses)\b|"
           r"\b(?:pills?|tablets?|medicine|painkillers?|sleeping pills?)\b.{0,24}\bwith (?:a |some |the )?(?:glass of )?(?:wine|beer|whisky|whiskey|vodka|alcohol)",
           r"\b(?:as prescribed|next week|does not|doesn't)\b", "check the dose"),
    Hazard("gas", r"\b(?:smell\w*|hiss\w*|leak\w*|escap\w*)\b.{0,16}\bgas\b|\bgas\b.{0,16}\b(?:leak\w*|hiss\w*|escap\w*)|"
           r"\b(?:engine|generator|barbecue|charcoal|car)\b.{0,24}\b(?:runs?|running|burns?|burning|glow\w*)\b.{0,24}\b(?:closed|indoors|in the tent|inside the tent)",
           r"\b(?:stops?|stopped|no|tea|petrol station)\b", "gas or fumes, get air"),
    Hazard("fumes", r"\bbleach\b.{0,40}\b(?:ammonia|vinegar|acid|drain cleaner|toilet cleaner|alcohol)|\b(?:ammonia|vinegar|acid)\b.{0,40}\bbleach\b",
           r"\b(?:shelf|cupboard|shop|store)\b", "never mix those cleaners"),
)  # fmt: skip
_TOOL = r"(?:tool|hammer|drill|saw|screwdriver|wrench|spanner|pliers|brush|knife|pen|racket|spatula|scissors|iron|mop|shovel|camera)"
# Technique that a small change of grip, angle or force mends; dangers stand above, wrong steps are no technique.
TECHNIQUES: tuple[Hazard, ...] = (
    Hazard("shaky hold", r"(?:film|record|photograph|hold|shoot)\w*\b.{0,30}\b(?:phone|camera|glass|tray)\b.{0,24}\b(?:one|single) (?:\w+ )?hand\b.{0,16}(?:shak|wobbl|trembl|unstead)|"
           r"\b(?:one|a single) (?:shaky|shaking|trembling|unsteady|wobbly) hand|\b(?:phone|camera)\b.{0,16}\b(?:shakes|wobbles|trembles)",
           r"\bboth hands|tripod\b", "use both hands"),
    Hazard("too hard", r"(?:squeez|press|push|grip|pull|hammer|tighten|twist|rub|scrub)\w*\b.{0,40}\b(?:too (?:hard|tight\w*|forcefully|strongly)|with too much force|very hard)|overtighten\w*",
           r"\b(?:avoid|not too)\b", "use less force"),
    Hazard("slipping", rf"\b{_TOOL}\b.{{0,16}}\b(?:slips|keeps slipping|slid(?:es)? off|jams|sticks)\b",
           r"\bpocket|drawer|floor\b", "press straight, turn slowly"),
    Hazard("short grip", r"(?:hold|grip|grasp)\w*\b.{0,24}\b(?:hammer|axe|racket|broom|brush|mallet)\b.{0,24}\b(?:close to|near|at|by) (?:its|the) (?:head|top|bristles)",
           r"\binstead of\b", "hold it at the end"),
    Hazard("tilted", r"(?:hold|us|driv|push|keep)\w*\b.{0,24}\b(?:drill|screwdriver|saw|chisel|planer?|needle|nail)\b.{0,30}\b(?:at an angle|tilted|crooked|askew|slanted)|"
           r"\bdrill\w* (?:at an angle|crooked)",
           r"\b(?:correct|straighten|lies|mitre|miter|on purpose)\w*\b", "hold it straight"),
    Hazard("bent back", r"(?:lift|pick|carr)\w*\b.{0,40}\b(?:bent|rounded|curved|hunched|twisted) back",
           r"\bstretch", "lift from your knees"),
    Hazard("wrong tool", r"(?:us\w*|with) (?:a |the |his |her )?(?:knife|coin|fingernail|teeth|scissors|fork)\b.{0,20}\b(?:as|instead of|like) (?:a |an |the )?(?:screwdriver|chisel|lever|opener|hammer|wrench)|"
           r"(?:screwdriver|bit|wrench|spanner|socket|blade)\b.{0,24}\b(?:too (?:small|large|big)|wrong size|does not fit)",
           r"\bnot\b(?! fit)", "take the tool that fits"),
)  # fmt: skip
_COMPILED = tuple((h, re.compile(h.sign), re.compile(h.unless)) for h in TABLE)
_TECHNIQUES = tuple((h, re.compile(h.sign), re.compile(h.unless)) for h in TECHNIQUES)
_ELSEWHERE = re.compile(
    r"\b(?:on|in) (?:the |a )?(?:tv|television|screen|film|movie|video|photo|picture|poster|book|magazine|game)\b|\btoy\b"
)


@lru_cache(maxsize=8192)
def warning(text: str) -> Hazard | None:
    """The acute danger one perceived sentence tells of, if any."""
    return _find(text, _COMPILED)


@lru_cache(maxsize=8192)
def advice(text: str) -> Hazard | None:
    """The bad technique one perceived sentence tells of, if any."""
    return _find(text, _TECHNIQUES)


def warnings(unit: Screening, window: Window, items: Sequence[Item], wearer: frozenset[str]) -> list[Service]:
    """A safety service for each danger of a window, at the moment it was first perceived there; and one tool_use for
    the first slip of technique, where there is no danger.
    """
    found: dict[str, Service] = {}
    slips: list[Service] = []
    for item in items:
        if item.kind == "speech" or (item.kind == "event" and item.subject.lower() not in wearer):
            continue
        text = f"{item.action} {item.object}" if item.kind == "event" else item.text
        refs = (f"o{item.id}", f"w{window.id}")
        hazard = warning(text)
        if hazard is not None and hazard.name not in found:
            told = speak("safety", hazard=hazard.say)
            found[hazard.name] = service("safety", item.t, told, refs, hazard.name, unit, "A")
        slip = advice(text) if all(mine for _, mine in doings(item, wearer)) else None
        if slip is not None:
            told = speak("tool_use", advice=slip.say[0].upper() + slip.say[1:])
            slips.append(service("tool_use", item.t, told, refs, slip.name, unit, "A"))
    return list(found.values())[:2] or slips[:1]


def _find(text: str, table: tuple[tuple[Hazard, re.Pattern[str], re.Pattern[str]], ...]) -> Hazard | None:
    low = text.lower().replace("\u2019", "'")
    if _ELSEWHERE.search(low):
        return None
    return next((h for h, sign, unless in table if sign.search(low) and not unless.search(low)), None)
