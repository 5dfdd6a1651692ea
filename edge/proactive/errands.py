"""The same errand for the third time in a day (a search: in days), other things in between: it could be done in one go."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from edge.clock import US
from edge.proactive.acts import doings
from edge.proactive.alerts import speak
from edge.proactive.experts import Screening, service
from edge.retrieval.words import content
from storage.records import Item, Service, Window
from storage.snapshot import Snapshot

DAY_US = 86_400 * US
DAYS_US = 3 * DAY_US  # what is searched for is counted over days
APART_US = 6 * 60 * US  # closer together they are one errand
TIMES = 3

# Errands, and no everyday doings: a way that is walked for something, or something that is searched for.
_FETCH = re.compile(
    r"^(?:fetch|fetches|collect|collects|bring|brings|carry|carries|deliver|delivers|refill|refills|restock|restocks) (?!to\b|.*\b(?:boil|simmer)\b)(?P<thing>.+)$"
)
_GO = re.compile(
    r"^(?:walk|walks|go|goes|run|runs|climb|climbs|drive|drives) (?:back |over |down |up |out )*(?:to|into) (?:the |a |my )?"
    r"(?P<place>printer|copier|cellar|basement|attic|garage|shed|shop|store|supermarket|mail ?box|letter box|post office|storeroom|car|bins?|"
    r"loft|warehouse|front desk|reception|workshop|copy room|mail ?room|laundry room|stock ?room|supply (?:room|cabinet|closet)|linen (?:room|cupboard)|"
    r"medicine (?:room|cabinet)|pharmacy|drug ?store|vending machine|coffee machine|well|pump|tap|barn|stable|greenhouse|pantry|cold room|freezer room|tool room|laboratory|lab|wardrobe|gate|roof|compost|skip|container|tool (?:shed|box|crib|cabinet)|van|truck|archive)\b"
)  # fmt: skip
_PICK = re.compile(
    r"^(?:pick|picks)(?: up)? (?P<thing>(?:(?:the|a|an|another|some|his|her) )?(?:\w+ )?(?:deliver(?:y|ies)|parcels?|packages?|orders?|mail|post|takeaway|take-?out|prescriptions?|shipments?)\b.*)$"
    r"|^(?:fill|fills)(?: up)? (?P<can>(?:(?:the|a|an|another|his|her) )?(?:watering can|bucket|canister|jerry ?can|wheelbarrow|coal scuttle|log basket)\b.*)$"
)
_BY_HAND = re.compile(
    r"^(?:copy|copies|type|types|enter|enters|retype|retypes|transfer|transfers|key|keys|write|writes|paste|pastes)(?: in| over)? (?P<thing>.+? (?:into|in|to) (?:the |a |an |his |her )?(?:\w+ )?"
    r"(?:spreadsheet|table|form|system|list|sheet|database|register|log|template|calendar|report))\b"
)
_SEEK = re.compile(r"^(?:look|looks|search|searches)(?:ing)? for (?P<thing>.+)$")
_CUT = re.compile(
    r"\s+(?:from|at|on|in|into|to|for|with|upstairs|downstairs)\b.*$|^(?:the|a|an|my|his|her|some|more)\s+"
)


@dataclass(frozen=True, slots=True)
class Errand:
    """One errand: what it was for, when, and where it was seen."""

    t: int
    keys: tuple[str, ...]
    thing: str
    kind: str
    ref: str


class Errands:
    """The errands of the last days; read back from the store when they do not fit the unit."""

    def __init__(self, wearer: frozenset[str]) -> None:
        self._wearer = wearer
        self._done: list[Errand] = []

    def reset(self, items: Sequence[Item]) -> None:
        """Begin anew from the items of the last days, in time order."""
        self._done = [e for item in items for e in self._of(item)]

    def follow(self, window: Window, items: Sequence[Item]) -> None:
        """Take in what a window shows."""
        self._done = [e for e in self._done if e.t > window.t_end - DAYS_US] + [e for i in items for e in self._of(i)]

    def again(self, unit: Screening, window: Window, snapshot: Snapshot) -> list[Service]:
        """An offer at the third errand of one kind in a local day, or the third search within days; at most one."""
        for now in (e for e in self._done if e.t >= window.t_start):
            day = (now.t + window.offset_s * US) // DAY_US
            same = [
                e for e in self._done
                if (e.kind, e.keys) == (now.kind, now.keys) and e.t <= now.t
                and ((e.t + window.offset_s * US) // DAY_US == day or (e.kind == "seek" and e.t > now.t - DAYS_US))
            ]  # fmt: skip
            trips: list[Errand] = []
            for errand in same:
                if not trips or errand.t - trips[-1].t >= APART_US:
                    trips.append(errand)
            key = f"{now.kind}:{'_'.join(now.keys)}:{day}"
            if len(trips) < TIMES or trips[-1].t != now.t or snapshot.services.with_key("routine_optimization", key):
                continue
            offer = {
                "fetch": f"{_ORDINAL.get(len(trips), 'Again')} {now.thing} today: take all at once",
                "go": f"{_ORDINAL.get(len(trips), 'Again')} trip to the {now.thing}: plan one for all",
                "seek": f"The {now.thing} again: give it a fixed place",
                "hand": f"{_ORDINAL.get(len(trips), 'Again')} time {now.thing} by hand: let a template do it",
            }[now.kind]
            told = speak("routine_optimization", offer=offer)
            refs = (*(e.ref for e in trips), f"w{window.id}")
            return [service("routine_optimization", now.t, told, refs, key, unit, "B")]
        return []

    def _of(self, item: Item) -> list[Errand]:
        found = []
        for words, mine in doings(item, self._wearer):
            for kind, pattern, group in (
                ("fetch", _FETCH, "thing"),
                ("go", _GO, "place"),
                ("seek", _SEEK, "thing"),
                ("fetch", _PICK, "thing"),
                ("hand", _BY_HAND, "thing"),
            ):
                match = pattern.search(words) if mine else None
                thing = _CUT.sub("", match[group] or match[match.lastgroup or group]).strip() if match else ""
                if content(thing):
                    found.append(Errand(item.t, content(thing), thing, kind, f"o{item.id}"))
        return found


_ORDINAL = {3: "Third", 4: "Fourth", 5: "Fifth"}
