"""Signs that the wearer goes: out of the house, to bed, out of a room; and other turning points of a day.

Single signs are weak (keys are picked up for many reasons), so they add up over three minutes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from edge.clock import US
from edge.proactive.acts import doings
from storage.records import Item, Window

Goes: TypeAlias = Literal["out", "bed", "room"]

SPAN_US = 180 * US
SCENE = 1000  # the kind of sign a change of scene is
ENOUGH = 1.0

# (weight, where to, words of an event or caption)
_ACT_WORDS: tuple[tuple[float, Goes, str], ...] = (
        (1.0, "out", r"\b(?:leav\w*|exit\w*|(?:walk\w*|go(?:es)?|step\w*|head\w*|run\w*|hurr\w*) out of) (?:the |my |your |a )?(?:\w+ )?(?:house|home|flat|apartment|building|office|cafe|café|cafeteria|canteen|shop|store|supermarket|bakery|market|restaurant|hotel|gym|library|museum|cinema|theatre|theater|church|hall|bar|pub|clinic|surgery|practice|hospital|pharmacy|bank|salon|laundrette|launderette|studio|school|classroom|lecture hall|(?:meeting|waiting|changing|locker|fitting|conference|break|hotel|seminar|treatment|consulting) room|train|bus|tram|plane|ferry|coach|taxi|metro|subway|carriage|workshop|warehouse|factory|site|court|pitch|pool|beach|campsite|room for the day)\b"),
        (1.0, "out", r"\bget(?:s|ting)? off (?:the |a )?(?:train|bus|tram|plane|ferry|metro|subway|coach)\b|\b(?:get(?:s|ting)?|climb\w*|step\w*) out of (?:the |a |his |her )?(?:car|van|truck|lorry|taxi|cab|boat)\b|\b(?:checks?|checking) out of (?:the )?(?:hotel|room|hostel)\b"),
        (1.0, "out", r"^(?:start activity |starts?:? |begins? )?(?:leaving(?: house| home)?|leaves(?: house| home)?|leave house|going out\b.*|go out\b.*)$"),
        (1.0, "out", r"\b(?:go(?:es)?|walk\w*|step\w*|head\w*) (?:out of the (?:house|door|flat|building|office)|outside|out the (?:front )?door)\b"),
        (1.0, "out", r"\block\w* (?:the |up the )?(?:front |main |house |apartment |flat |entrance )?(?:door|house)\b"),
        (1.0, "out", r"\b(?:get|gets|got|climb\w*|sit\w*) (?:in|into) (?:the |a |his |her )?(?:car|taxi|cab|bus)\b|\benter\w* (?:the |a )?(?:car|taxi|bus|train)\b|\bstart\w* (?:the )?car\b|\bdrive\w* (?:off|away)\b"),
        (1.0, "out", r"\bclos\w* (?:the )?(?:front|main|entrance|apartment) door behind\b"),
        (0.6, "out", r"\b(?:put\w*|pull\w*|slip\w*) on (?:the |a |his |her |my )?(?:\w+ )?(?:coat|jacket|raincoat|helmet|backpack)\b|\bwear\w* (?:the |a )?(?:coat|jacket)\b"),
        (0.5, "out", r"\b(?:put\w*|pull\w*|slip\w*) on (?:the |a |his |her |my )?(?:\w+ )?(?:shoes?|boots?|sneakers|trainers)\b|\btie\w* (?:the )?(?:shoe)?laces\b"),
        (0.5, "out", r"\b(?:take|takes|grab\w*|pick\w*(?: up)?|get|gets) (?:up )?(?:the |his |her |my )?(?:house |car |bike )?keys?\b"),
        (0.4, "out", r"\b(?:take|takes|grab\w*|pick\w*(?: up)?|shoulder\w*) (?:up )?(?:the |his |her |my )?(?:backpack|rucksack|handbag|briefcase|suitcase|umbrella|purse|(?:sports|gym|tool|shoulder|school) ?bag)\b"),
        (0.5, "out", r"\bopen\w* (?:the )?(?:front|main|entrance|apartment) ?door\b"),
        (1.0, "bed", r"^(?:start activity |starts?:? )?(?:sleeping|sleeps|go to bed|going to bed|sleep)$|\b(?:go\w*|get\w*|climb\w*|lie\w*|lay\w*)(?: down)? (?:to|in|into|on) (?:the )?bed\b"),
        (1.0, "room", r"\b(?:leav\w*|exit\w*|walk\w* out of|go(?:es)? out of) (?:the )?(?:kitchen|bathroom|bedroom|room|living room|study|garage|laundry room|toilet|basement|cellar|attic|greenhouse|shed|stable|lab|laboratory|ward)\b"),
        (1.0, "room", r"\b(?:enter\w*|walk\w* (?:in)?to|go(?:es)? (?:in)?to) (?:the )?(?:kitchen|bathroom|bedroom|living room|study|hallway|garage|office|dining room|garden)\b"),
)  # fmt: skip
_SPEECH_WORDS: tuple[tuple[float, Goes, str], ...] = (
        (0.7, "out", r"\b(?:i'm|i am|we're|we are) (?:leaving|heading out|going out|off(?: to\b| now|[.!]|$)|on my way)|\b(?:time to|let's|let us|have to|gotta) (?:go|leave|head out)(?: now)?[.!]?$|\bi'm (?:out of here|about to leave)"),
        (0.5, "out", r"\bsee you (?:later|tonight|tomorrow|this evening)\b|^(?:bye|goodbye)\b|\bbye[- ]bye\b"),
        (1.0, "bed", r"\bgood ?night\b|\b(?:i'm|i am) going to (?:bed|sleep)\b"),
)  # fmt: skip
_ACT_SIGNS = tuple((weight, goes, re.compile(words)) for weight, goes, words in _ACT_WORDS)
_SPEECH_SIGNS = tuple((weight, goes, re.compile(words)) for weight, goes, words in _SPEECH_WORDS)

_ENTERS = re.compile(
    r"\b(?:enter\w*|walk\w* (?:in)?to|go(?:es)? (?:in)?to|head\w* (?:in)?to|return\w* to|come\w* (?:in)?to|move\w* to|"
    r"(?:is |stand\w* |sit\w* |(?:sit\w* |lie\w* )down )?in) (?:the |her |his |my )?"
    r"(?P<room>kitchen|bathroom|bedroom|living room|study|hallway|garage|office|dining room|garden|street|cafe|shop|car)\b"
)
_HOME = re.compile(
    r"kitchen|living|bed ?room|bath|(?<!lecture )(?<!concert )(?<!sports )(?<!town )(?<!market )(?<!exhibition )hall|corridor|study|home|dining|toilet|laundry|lounge|utility|nursery|basement|attic|pantry|closet|house|apartment|flat"
)
_OUTDOOR = re.compile(
    r"street|road|outdoor|outside|pavement|sidewalk|park\b|parking|car\b|bus|train|station|forest|field|driveway|garden path|bicycle|tram|subway"
)


@dataclass(frozen=True, slots=True)
class Sign:
    """One sign of going, at the time it was perceived."""

    t: int
    goes: Goes
    weight: float
    kind: int
    text: str
    ref: str


@dataclass(frozen=True, slots=True)
class Going:
    """The wearer is going: `t` is the sign that made it certain."""

    t: int
    goes: Goes
    text: str
    refs: tuple[str, ...]


def signs(window: Window, items: Sequence[Item], previous: Window | None, wearer: frozenset[str]) -> list[Sign]:
    """The signs of a window, in time order."""
    found: list[Sign] = []
    for item in items:
        if item.kind == "speech":
            if item.speaker.lower() not in wearer:
                continue
            said = item.text.lower().replace("\u2019", "'")
            found += [
                Sign(item.t, g, w, -1 - n, item.text, f"o{item.id}")
                for n, (w, g, p) in enumerate(_SPEECH_SIGNS)
                if p.search(said)
            ]
            continue
        for low, mine in doings(item, wearer):
            if mine:
                found += [
                    Sign(item.t, g, w, n, low, f"o{item.id}") for n, (w, g, p) in enumerate(_ACT_SIGNS) if p.search(low)
                ]
    if previous is not None and window.scene and previous.scene and window.scene != previous.scene:
        at = items[0].t if items else window.t_start
        outdoors = bool(_HOME.search(previous.scene.lower())) and bool(_OUTDOOR.search(window.scene.lower()))
        goes: Goes = "out" if outdoors else "room"
        found.append(Sign(at, goes, 1.0, SCENE, f"from {previous.scene} to {window.scene}", f"w{window.id}"))
    return sorted(found, key=lambda s: s.t)


def going(recent: Iterable[Sign], since: int) -> list[Going]:
    """Where the signs of the last minutes add up, at a sign later than or at `since`; at most one for each way to go.

    One kind of sign counts once, so that a thing perceived as an event and as a caption does not count double.
    """
    ordered = sorted(recent, key=lambda s: s.t)
    found: dict[Goes, Going] = {}
    for i, sign in enumerate(ordered):
        if sign.t < since or sign.goes in found:
            continue
        around = [s for s in ordered[: i + 1] if s.goes == sign.goes and sign.t - s.t <= SPAN_US]
        kinds = {s.kind: s for s in around}
        if sum(s.weight for s in kinds.values()) >= ENOUGH:
            found[sign.goes] = Going(sign.t, sign.goes, sign.text, tuple(s.ref for s in kinds.values()))
    return list(found.values())


def places(window: Window, items: Sequence[Item], wearer: frozenset[str]) -> list[tuple[int, str]]:
    """Where the wearer is from when on, as far as a window tells: its scene, else rooms that are entered or named."""
    if window.scene:
        return [(window.t_start, window.scene)]
    found: list[tuple[int, str]] = []
    for item in items:
        for low, mine in doings(item, wearer):
            room = _ENTERS.search(low) if mine else None
            if room:
                found.append((item.t, room["room"]))
    return found


def at_home(scene: str) -> bool:
    """Whether a scene is a room of a home; unknown scenes are taken for one."""
    return not scene or bool(_HOME.search(scene.lower()))
