"""The grammar of time phrases: what a date, a clock, a stretch and a relative phrase look like in English."""

from __future__ import annotations

import re

MONTHS = "january february march april may june july august september october november december".split()
DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
NUMBERS = dict(
    zip(
        "a an one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty couple".split(),
        (1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 20, 30, 40, 50, 2),
        strict=True,
    )
)

_WD = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:tue|tues|thu|thur|thurs|fri)(?=[\s,.!?]|$))"
_MON = "(?:" + "|".join(MONTHS) + "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
_DATE = (
    rf"(?:(?:{_WD},? )?(?:the )?(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<m1>{_MON})\.?,?(?: (?P<y1>\d{{4}}))?"
    rf"|(?:{_WD},? )?(?P<m2>{_MON})\.? (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?!\d|:),?(?: (?P<y2>\d{{4}}))?"
    r"|(?P<iso>\d{4}-\d{2}-\d{2}))"
)
_CLOCK = (
    r"(?:(?P<h>\d{1,2})[:.](?P<mi>\d{2})(?:[:.](?P<s>\d{2})(?:\.\d+)?)?(?: ?(?P<ap>[ap])\.?m\b\.?)?"
    r"|(?P<h2>\d{1,2}) ?(?P<ap2>[ap])\.?m\b\.?|(?P<h3>\d{1,2}) o'?clock|\b(?P<word>noon|midday|midnight)\b"
    r"|(?:a )?(?P<frac>half|quarter) (?P<rel>past|to) (?P<h4>\w+))"
)
_RELDAY = rf"(?:today|yesterday|the day before yesterday|tonight|(?:(?:on|last|this|this past) )?{_WD}\b)"
_PART = r"(?:morning|afternoon|evening|night|lunchtime)"


def _named(pattern: str, tag: str) -> str:
    return re.sub(r"\(\?P<(\w+)>", lambda m: f"(?P<{tag}_{m.group(1)}>", pattern)


def _stamp(tag: str) -> str:
    """A clock with an optional day before or after it."""
    day = rf"(?:{_named(_DATE, tag + 'A')}|(?P<{tag}_relA>{_RELDAY}))"
    day2 = rf"(?:{_named(_DATE, tag + 'B')}|(?P<{tag}_relB>{_RELDAY}))"
    first, clock = _named(_CLOCK, tag + "X"), _named(_CLOCK, tag)
    return rf"(?:(?:on )?{day},? (?:at )?(?:about |around )?{first}|{clock}(?:,? (?:on )?{day2})?)"


_RE = re.IGNORECASE
_HOURS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
# A clock that is to come, with the bare hours that say nothing by themselves in a question: "at seven thirty", "at 5".
AT = re.compile(
    rf"\bat (?:{_named(_CLOCK, 'a')}|(?P<hour>\d{{1,2}}|{_HOURS})"
    rf"(?:[ -](?P<tens>twenty|thirty|forty|fifty|fifteen|ten)(?:[ -](?P<ones>five))?)?(?: ?o'?clock)?)"
    rf"(?: in the (?P<part>morning|afternoon|evening))?(?P<tomorrow> tomorrow)?(?=$|[ ,.])",
    _RE,
)
BETWEEN = re.compile(rf"\b(?:between|from) {_stamp('a')} (?:and|to|until|till|-) {_stamp('z')}", _RE)
POINT = re.compile(
    rf"\b(?P<rel>before|after|since|until|till|by|from)? ?(?:at |around |about |precisely |exactly )*{_stamp('a')}", _RE
)
HOURS = re.compile(
    r"\b(?:between|from) (?P<h1>\d{1,2})(?: ?(?P<ap1>[ap])\.?m\b\.?)? (?:and|to|until|till|-) (?P<h2>\d{1,2})(?: ?(?P<ap2>[ap])\.?m\b\.?| o'?clock)?"
    rf"(?: (?P<part>(?:in the|this) (?:morning|afternoon|evening)))?(?:,? (?P<day>{_RELDAY}))?(?=[ ,.?!]|$)",
    _RE,
)
DAY = re.compile(
    rf"(?:\b(?P<rel>before|after|since|until|till|by)\s)?(?:\b(?:on|the) )?\b(?:(?:the )?(?P<part>{_PART}) (?:of|on) )?"
    rf"{_named(_DATE, 'a')}(?:,? (?:in the )?(?P<part2>{_PART}))?",
    _RE,
)
_NUM = r"(?P<n>\d+|a|an|" + "|".join(k for k in NUMBERS if len(k) > 2) + r"|a couple of|a few|several|half an)"
AGO = re.compile(
    rf"\b(?:about |around |some )?{_NUM} (?P<u>second|minute|min|hour|day|week|month|year)s? (?:ago|earlier)\b", _RE
)
PAST = re.compile(
    rf"\b(?:in|over|during|within|for)? ?(?:the )?(?:last|past|previous) (?:{_NUM} )?(?P<u>second|minute|min|hour|day|week|month|year)s?\b",
    _RE,
)
REL = re.compile(
    rf"(?:\b(?P<rel>before|after|since|until|till|by)\s)?\b(?:(?P<this>earlier today|later today|today|tonight|this (?:morning|afternoon|evening)|last night|"
    rf"the day before yesterday|yesterday|tomorrow)(?: (?:in the )?(?P<part>{_PART}))?|(?:in )?the (?P<part3>morning|afternoon|evening)\b(?! of)|at (?P<part4>night|lunchtime|noon)|"
    rf"(?:on )?(?P<which>this|last|the last|this past|next)? ?(?P<wd>{_WD})s?(?: (?P<part2>{_PART}))?|"
    r"(?P<week>(?:in |during |over )?(?:this|the|last) (?:week|weekend|month|year))|(?:in )(?P<mon>"
    + _MON
    + r")(?: (?:of )?(?P<my>\d{4}))?)\b",
    _RE,
)
OF_MONTH = re.compile(r"\bon the (?P<d>\d{1,2})(?:st|nd|rd|th)\b(?! of)", _RE)
OF_DAY = re.compile(
    r"(?<!time )(?<!hour )(?<!part )(?<!end )(?<!rest )\bof the day\b", _RE
)  # "my first coffee of the day"
NOW = re.compile(
    r"(?<!up to )(?<!until )(?<!till )\b(?:just now|right now|a moment ago|at the moment|now(?=\W*$))\b", _RE
)
