"""Times told by what happened: "since I came home", "before lunch", "after I fed the dog".

Such a phrase at the end of a question that is whole without it becomes a time of the clock: that of the newest occurrence,
for a meal that was not seen its usual hour.  What was taken is said with the answer, since it is a guess of what was meant.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from edge.agent import activities
from edge.agent.phrases import spoken_time, to_you
from edge.agent.question import Clause, understand, verbs_of
from edge.agent.scope import Scope
from edge.agent.view import View
from edge.memory.hours import told
from edge.retrieval.timegrammar import MONTHS
from edge.retrieval.zone import Span, Zone
from storage.records import Item

# Minutes after midnight at which a day's fixed points lie, where none was seen.
_USUAL = {
    "breakfast": 8 * 60, "brunch": 11 * 60, "lunch": 12 * 60 + 30, "dinner": 19 * 60, "supper": 19 * 60, "bed": 22 * 60 + 30,
    "bedtime": 22 * 60 + 30, "work": 9 * 60, "school": 8 * 60, "tea": 16 * 60,
}  # fmt: skip
_POINT = "|".join(
    (*_USUAL, "the meeting", "the lesson", "my shower", "the shower", "my nap", "the walk", "my walk", "training")
)
_PHRASE = re.compile(
    rf",? \b(?P<rel>since|after|before|until|till)\s+(?P<x>(?:i|we) (?:last |had |have )?[a-z][\w' -]*|(?:having |eating |my |the )?(?:{_POINT}))\s*[?.!]*$",
    re.IGNORECASE,
)
_WHOLE = frozenset((
    "when", "did", "count", "count_days", "days_with", "duration", "put", "said_what", "there", "seen_which", "how_many",
    "text", "objects", "who", "looks",
))  # fmt: skip
_ORDER = frozenset(("before_than", "order", "next", "previous", "usual_next", "taken_from"))
# What coming and going is called where nobody says "home".
_HOME = {
    "come": ("come home", "get home", "arrive home", "return home", "enter home", "enter house", "enter flat", "enter apartment", "open front door"),
    "leave": ("leave home", "leave house", "leave flat", "go out", "close front door", "lock front door"),
}  # fmt: skip
_COMES = re.compile(
    r"^(?:came|come|got|get|arrived|arrive|returned|return|was|am|were)(?: back)? home$|^(?:came|got|was) back$", re.I
)
_LEAVES = re.compile(r"^(?:left|leave)(?: (?:home|the house|the flat))?$|^went out$", re.I)


@dataclass(frozen=True, slots=True)
class Told:
    """The question with a clock time in place of the phrase, and what is to be said of it ("" where nothing was guessed)."""

    text: str
    note: str = ""


def resolve(view: View, text: str) -> Told:
    """The question with its anchored time read; as it was when there is none, or nothing it could mean was found."""
    m = _PHRASE.search(text)
    if m is None or "\u00a7" in text or '"' in text:
        return Told(text)
    if re.match(r"(?:i|we) ", m.group("x"), re.I) and understand(text, view.zone).form in _ORDER:
        return Told(text)
    before = text[: m.start()].strip(" ,")
    query = understand(before, view.zone)
    if query.form not in _WHOLE or (not query.clause.text and query.form not in ("who", "seen_which", "text")):
        return Told(text)
    phrase = re.sub(r"^(?:having |eating |my |the )", "", m.group("x"), flags=re.I)
    low, high = query.start, query.end
    item = _occurrence(view, phrase, Scope(low, high, low is not None))
    if item is not None:
        at, note = item.t, f"taking {to_you(m.group('x'))} as {spoken_time(view, item.t)}"
    else:
        usual = _USUAL.get(phrase.lower())
        if usual is None:
            return Told(text)
        day = view.zone.today if low is None or low < -(2**60) else view.zone.local(low).date()
        at = view.zone.day(day)[0] + usual * 60_000_000
        note = f"taking {phrase.lower()} as {told(usual)}, since I did not see it"
    local = view.zone.local(at)
    clock, date = f"{local:%H:%M:%S}", f"{local.day} {local:%B} {local.year}"
    rel = m.group("rel").lower()
    if rel in ("before", "until", "till"):
        span = f"between 00:00 and {clock} on {date}"
    else:
        span = (
            f"between {clock} and 23:59:59 on {date}"
            if low is not None and low > -(2**60)
            else f"since {clock} on {date}"
        )
    for named in query.spans:  # the day was named too: the anchor lies in it and says it all
        before = before.replace(named.text, " ")
    return Told(f"{' '.join(before.split())} {span}?", note)


_CLOCK = re.compile(
    r"\d{1,2}[:.]\d{2}|\d ?[ap]\.?m\b|o'?clock|\bnoon\b|\bmidday\b|\bmidnight\b|\b(?:half|quarter) (?:past|to)\b", re.I
)
_MONTH = re.compile(r"\b(?:" + "|".join(MONTHS) + r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b", re.I)
_DAY = re.compile(r"\b(?:to|yester)day\b|\b\w+day\b|\btonight\b|\d{4}|\b(?:this|last) \w+|\bthe day\b", re.I)
_OF_MONTH = re.compile(r"\bon the \d{1,2}(?:st|nd|rd|th)\b", re.I)


def guessed(spans: Sequence[Span], zone: Zone) -> str:
    """What was taken of a phrase that may mean several times: the day of a bare clock, the year of a bare month."""
    for span in spans:
        at = span.start if span.start > -(2**60) else span.end
        when = zone.local(at)
        named = bool(_DAY.search(span.text))
        if _MONTH.search(span.text):
            if not named and when.year != zone.today.year:
                return f"taking {span.text} as {when:%B %Y}"
        elif _OF_MONTH.search(span.text) and when.month != zone.today.month:
            return f"taking {span.text} as {when.day} {when:%B}"
        elif (
            _CLOCK.search(span.text) and not named and len(spans) == 1 and when.date() == zone.today - timedelta(days=1)
        ):
            return f"taking {span.text} as yesterday's"
    return ""


def _occurrence(view: View, phrase: str, scope: Scope) -> Item | None:
    """The newest time something happened within a scope: today's before an earlier one's."""
    bare = re.sub(r"^(?:i|we) (?:last |had |have )?", "", phrase, flags=re.I).strip()
    wordings: tuple[str, ...] = (bare,)
    if _COMES.match(bare):
        wordings = _HOME["come"]
    elif _LEAVES.match(bare):
        wordings = _HOME["leave"]
    elif " " not in bare:
        wordings = (bare, f"eat {bare}", f"have {bare}", f"start {bare}")
    start, end = view.zone.day(view.zone.today)
    scopes = (scope,) if scope.named else (Scope(start, end, True), Scope())
    if _COMES.match(bare) or _LEAVES.match(bare):
        acts, thing = verbs_of(wordings[0])
        if activities.meant(view, Clause(acts, thing, "", wordings[0])) is not None:
            wordings = wordings[:1]  # being out has a name here: a door tells less
    for where in scopes:
        for wording in wordings:
            acts, thing = verbs_of(wording)
            clause = Clause(acts, thing, "", wording)
            found = view.occurrences(clause, where) if acts else []
            if found:
                return found[-1]
    return None
