"""The wearer's state as far as it was seen, and the habits that pass a threshold (GROVE, appendix: its thresholds).

Nothing is claimed of what was not watched: a timer runs only while the device is worn without a break, and drinking
counts as missing only where drinking has been seen before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from edge.clock import US, local
from edge.proactive.acts import doings
from edge.proactive.alerts import speak
from edge.proactive.experts import Screening, items_of, seen_doings, service
from storage.records import Item, Service, Window
from storage.snapshot import Snapshot

MIN_US = 60 * US
WATER_US = 120 * MIN_US
SITTING_US = 60 * MIN_US
BREAK_US = 10 * MIN_US  # longer without a window: not watched
PHONE_US = 8 * MIN_US
PHONE_FROM = 21 * 60 + 50  # minutes after local midnight
SWEETS_FROM = 21 * 60 + 30
NIGHT_UNTIL = 4 * 60
MEALS = (  # named, from when on it counts as eaten, from when on it is late, until when it is talked about
    ("lunch", 11 * 60, 13 * 60 + 15, 16 * 60 + 30),
    ("dinner", 17 * 60, 20 * 60 + 45, 23 * 60),
)
WATCHED = 30  # minutes before a meal is late from which the wearer was watched, to say that none was had
COMPANY_US = 8 * MIN_US
COMPANY_PHONE_US = 3 * MIN_US
REACH_US = 3 * 3600 * US
SEEN_US = 3 * 24 * 3600 * US  # how far back drinking must have been seen once

_DRINK = re.compile(
    r"^(?:drink|drinks|drank|sip|sips|gulp|gulps)\b|\b(?:drinks?|sips?) (?:from|some|a|the|water|tea|coffee|juice)\b"
)
_MOMENT = re.compile(
    r"^(?:take|takes|grab|grabs|pick up|picks up|eat|eats|get|gets) (?:a |an |the |some )?(?:\w+ )?(?:biscuit|cookie|snack|sandwich|apple|banana|glass|cup|"
    r"bottle|mug|food|lunch|bread|cake|crisps|chips|fruit)\b|^(?:sit|sits) down\b|^(?:open|opens) (?:the )?(?:fridge|refrigerator)\b"
)
_SIT = re.compile(r"^(?:sit|sits|sat)(?: down)?\b|\bsits? (?:down|at|on|in)\b")
_RISE = re.compile(
    r"^(?:stand|stands|get|gets|rise|rises)(?: back)? up\b|^(?:stand|stands)\b|^(?:walk|walks|go|goes|leave|leaves|enter|enters|run|runs|climb|climbs)\b|"
    r"^(?:lie|lies) down\b|^(?:cook|cooks|wash|washes|chop|chops|fetch|fetches)\b"
)
_PHONE = re.compile(
    r"\b(?:scroll\w*|browse\w*|look\w* at|us\w*|tap\w*|watch\w*|swip\w*|type\w* on|hold\w*)\b.{0,20}\b(?:phone|smartphone|social media|feed)\b|^(?:scroll|scrolls)\b"
)
_EAT = re.compile(
    r"^(?:eat|eats|ate|chew|chews|bite|bites)\b|^(?:has|have|having|start activity) (?:a |the |late |his |her )?(?:lunch|dinner|supper|meal)\b"
)
_NO_MEAL = re.compile(
    r"\b(?:apple|banana|fruit|grapes?|nuts?|biscuits?|cookies?|cake|chocolate|candy|sweets?|gum|ice cream|snacks?|bar|crisps|chips|breakfast|cereal|nails?|lip)\b"
)
_TABLE = re.compile(r"\b(?:eats?|dinner|lunch|meal|restaurant|friends?|guests?|family|party|plates?|wine|beer)\b")
_SWEET = re.compile(
    r"^(?:eat|eats|nibble|nibbles|bite|bites|snack|snacks)\b.{0,24}\b(?:chocolate|candy|candies|sweets?|cookies?|biscuits?|cake|ice cream|donut|"
    r"doughnut|gummy|gummies|pastry|brownie|pudding)\b"
)


@dataclass(frozen=True, slots=True)
class _Seen:
    t: int
    words: str
    ref: str


class Habits:
    """Watches the hours of one recording at a stretch; read back from the store when they do not fit the unit."""

    def __init__(self, wearer: frozenset[str]) -> None:
        self._wearer = wearer
        self._since = 0  # since when the device has been worn without a break
        self._seen: list[_Seen] = []
        self._sat: _Seen | None = None
        self._others: list[int] = []  # when somebody else spoke of late

    def reset(self, windows: Sequence[Window]) -> None:
        """Begin anew from the windows of the last hours, in order."""
        self._since, self._seen, self._sat, self._others = 0, [], None, []
        previous: Window | None = None
        for window in windows:
            self.follow(window, items_of(window), previous)
            previous = window

    def follow(self, window: Window, items: Sequence[Item], previous: Window | None) -> None:
        """Take in what a window shows."""
        if previous is None or window.t_start - previous.t_end > BREAK_US:
            self._since, self._sat = window.t_start, None
        for item in items:
            for words, mine in doings(item, self._wearer):
                if not mine:
                    continue
                seen = _Seen(item.t, words, f"o{item.id}")
                if _SIT.search(words):
                    self._sat = self._sat or seen
                elif _RISE.search(words):
                    self._sat = None
                if any(p.search(words) for p in (_DRINK, _PHONE, _TABLE)):
                    self._seen.append(seen)
            if item.kind == "speech" and item.speaker and item.speaker.lower() not in self._wearer:
                self._others.append(item.t)
        self._others = [t for t in self._others if t > window.t_end - COMPANY_US]
        self._since = max(self._since, window.t_end - REACH_US)
        self._seen = [s for s in self._seen if s.t > window.t_end - REACH_US]
        if self._sat is not None and self._sat.t <= window.t_end - REACH_US:
            self._sat = None

    def coach(self, unit: Screening, window: Window, items: Sequence[Item], snapshot: Snapshot) -> list[Service]:
        """What a window calls for; at most one, and each habit once a local day."""
        day = (window.t_end + window.offset_s * US) // (86_400 * US)
        for name, t, text, refs in self._due(window, items, snapshot):
            key = f"{name}:{day}"
            if snapshot.services.with_key("habit_coaching", key):
                continue
            told = speak("habit_coaching", advice=text)
            return [service("habit_coaching", t, told, (*refs, f"w{window.id}"), key, unit, "B")]
        return []

    def _due(
        self, window: Window, items: Sequence[Item], snapshot: Snapshot
    ) -> list[tuple[str, int, str, tuple[str, ...]]]:
        found: list[tuple[str, int, str, tuple[str, ...]]] = []
        mine = [_Seen(i.t, words, f"o{i.id}") for i in items for words, own in doings(i, self._wearer) if own]
        moment = local(window.t_start, window.offset_s)
        minute = moment.hour * 60 + moment.minute
        for seen in mine:
            if (minute >= SWEETS_FROM or minute < NIGHT_UNTIL) and _SWEET.search(seen.words):
                found.append(("sweets", seen.t, "Sweets this late may cost you sleep", (seen.ref,)))
            if _MOMENT.search(seen.words) and seen.t - self._since >= WATER_US and not _DRINK.search(seen.words):
                drunk = [s.t for s in self._seen if _DRINK.search(s.words) and s.t <= seen.t]
                if seen.t - max(drunk, default=self._since) >= WATER_US and self._was_seen(
                    _DRINK.search, "drink drinks sip", window.t_end - SEEN_US, window.t_end, snapshot
                ):
                    found.append(("water", seen.t, "Two hours without water: have a glass", (seen.ref,)))
            meal = self._late_meal(seen, minute, snapshot)
            if meal:
                found.append((meal, seen.t, f"A late {meal}: try to eat earlier", (seen.ref,)))
        found += self._in_company(window)
        if mine and (minute >= PHONE_FROM or minute < NIGHT_UNTIL):
            scrolls = [s for s in self._seen if _PHONE.search(s.words) and s.t > window.t_end - 2 * PHONE_US]
            if (
                scrolls
                and scrolls[-1].t >= window.t_start
                and scrolls[-1].t - scrolls[0].t >= PHONE_US
                and len(scrolls) >= 4
            ):
                refs = (scrolls[0].ref, scrolls[-1].ref)
                found.append(("phone", scrolls[-1].t, "It is late: put the phone away", refs))
        if mine and self._sat is not None and mine[-1].t - self._sat.t >= SITTING_US:
            found.append(
                ("sitting", mine[-1].t, "An hour in the chair: stand up a moment", (self._sat.ref, mine[-1].ref))
            )
        return found

    def _late_meal(self, seen: _Seen, minute: int, snapshot: Snapshot) -> str:
        """The meal that is eaten late just now, none having been seen in its time; "" when there is none."""
        for name, start, late, until in MEALS:
            if not late <= minute < until or not _meal(seen.words):
                continue
            begun = seen.t - (minute - start) * MIN_US
            watched = self._since <= seen.t - (minute - late + WATCHED) * MIN_US
            if watched and not self._was_seen(_meal, "eat eats lunch dinner meal", begun, seen.t, snapshot):
                return name
        return ""

    def _in_company(self, window: Window) -> list[tuple[str, int, str, tuple[str, ...]]]:
        """The phone in hand again and again while others at the table talk."""
        phone = [s for s in self._seen if s.t > window.t_end - COMPANY_US and _PHONE.search(s.words)]
        if len(phone) < 4 or phone[-1].t < window.t_start or phone[-1].t - phone[0].t < COMPANY_PHONE_US:
            return []
        table = any(_TABLE.search(s.words) for s in self._seen if s.t > window.t_end - 2 * COMPANY_US)
        if len(self._others) < 2 or not table:
            return []
        return [("company", phone[-1].t, "You have company: put the phone away", (phone[0].ref, phone[-1].ref))]

    def _was_seen(self, kind: Callable[[str], object], query: str, start: int, end: int, snapshot: Snapshot) -> bool:
        """Whether a doing of some kind was seen between two times."""
        return any(kind(words) for _, words, _ in seen_doings(snapshot, query, start, end, self._wearer))


def _meal(words: str) -> bool:
    return bool(_EAT.search(words)) and not _NO_MEAL.search(words)
