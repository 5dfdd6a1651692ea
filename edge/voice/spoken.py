"""Text made speakable: what a voice would stumble over is written out in words.  Pure.

Written for the ear, and for any voice: times ("14:05" is "two oh five p m"), dates, numbers, units, money and ranges
become words; citations, links, markup and record ids go.  Speaking twice changes nothing: speakable(speakable(x)) is
speakable(x).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety".split()
SCALES = ((10**9, "billion"), (10**6, "million"), (10**3, "thousand"), (100, "hundred"))
ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip
MONTHS = (
    "January February March April May June July August September October November December"
).split()  # fmt: skip
MONTH_WORD = r"(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec)(?:\.|[a-z]{1,6})?"

# unit: (one, several); a unit is read only right after a number.
UNITS: dict[str, tuple[str, str]] = {
    "%": ("percent", "percent"),
    "°C": ("degree Celsius", "degrees Celsius"),
    "°F": ("degree Fahrenheit", "degrees Fahrenheit"),
    "°": ("degree", "degrees"),
    "km/h": ("kilometer per hour", "kilometers per hour"),
    "mph": ("mile per hour", "miles per hour"),
    "m/s": ("meter per second", "meters per second"),
    "km": ("kilometer", "kilometers"),
    "cm": ("centimeter", "centimeters"),
    "mm": ("millimeter", "millimeters"),
    "m": ("meter", "meters"),
    "ft": ("foot", "feet"),
    "kg": ("kilogram", "kilograms"),
    "mg": ("milligram", "milligrams"),
    "g": ("gram", "grams"),
    "lb": ("pound", "pounds"),
    "lbs": ("pound", "pounds"),
    "oz": ("ounce", "ounces"),
    "ml": ("milliliter", "milliliters"),
    "mL": ("milliliter", "milliliters"),
    "dl": ("deciliter", "deciliters"),
    "cl": ("centiliter", "centiliters"),
    "l": ("liter", "liters"),
    "L": ("liter", "liters"),
    "h": ("hour", "hours"),
    "hr": ("hour", "hours"),
    "hrs": ("hour", "hours"),
    "min": ("minute", "minutes"),
    "mins": ("minute", "minutes"),
    "s": ("second", "seconds"),
    "sec": ("second", "seconds"),
    "secs": ("second", "seconds"),
    "ms": ("millisecond", "milliseconds"),
    "kcal": ("kilocalorie", "kilocalories"),
    "kWh": ("kilowatt hour", "kilowatt hours"),
    "W": ("watt", "watts"),
    "V": ("volt", "volts"),
    "mV": ("millivolt", "millivolts"),
    "mA": ("milliamp", "milliamps"),
    "mAh": ("milliamp hour", "milliamp hours"),
    "MB": ("megabyte", "megabytes"),
    "GB": ("gigabyte", "gigabytes"),
    "x": ("time", "times"),
}
MONEY = {"$": ("dollar", "dollars"), "€": ("euro", "euros"), "£": ("pound", "pounds")}
SHORT = {
    "e.g.": "for example", "i.e.": "that is", "etc.": "and so on", "approx.": "about", "vs.": "versus", "Dr.": "Doctor",
    "Mr.": "Mister", "Mrs.": "Missis", "St.": "Saint",
}  # fmt: skip
SIGNS = {"&": " and ", "→": " to ", "≈": " about ", "±": " plus or minus ", "=": " equals ", "+": " plus ", "@": " at "}

_UNIT = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"


def speakable(text: str) -> str:
    """Words for the ear, one line, with the punctuation that makes a voice pause."""
    for pattern, make in _RULES:
        text = pattern.sub(make, text)
    text = re.sub(r"\s+([,.;:!?])", r"\1", text)
    text = re.sub(r"([,;:])(?:\s*[,;:])+", r"\1", text)
    return " ".join(text.split())


def sentences(text: str, longest: int = 140, first: int = 48) -> list[str]:
    """Cut speakable text where a voice may pause: at sentence ends, and long sentences at a comma or colon.

    The first sound is heard once the first part is made, so that part is at most `first` characters long and any other
    at most `longest`, where there is a place to cut.  Joining the parts with spaces gives the text back.
    """
    parts: list[str] = []
    for sentence in re.split(r"(?<=[.!?])\s+", text.strip()):
        rest = sentence
        while len(rest) > (limit := longest if parts else first):
            places = [found.end() for found in re.finditer(r"[,;:](?=\s)", rest)]
            fits = [place for place in places if 8 <= place <= limit]
            place = fits[-1] if fits else next((place for place in places if place > limit), len(rest))
            parts.append(rest[:place])
            rest = rest[place:].strip()
        if rest:
            parts.append(rest)
    return parts


def number_words(value: int) -> str:
    """Zero to just under a trillion; beyond that digit by digit."""
    if value < 0:
        return "minus " + number_words(-value)
    if value >= 10**12:
        return digit_words(str(value))
    if value < 20:
        return ONES[value]
    if value < 100:
        return TENS[value // 10] + ("" if value % 10 == 0 else " " + ONES[value % 10])
    for size, name in SCALES:
        if value >= size:
            head = f"{number_words(value // size)} {name}"
            return head if value % size == 0 else f"{head} {number_words(value % size)}"
    raise AssertionError("unreachable")


def ordinal_words(value: int) -> str:
    """first, twenty first, thirtieth."""
    *head, last = number_words(value).split()
    last = ORDINALS.get(last) or (last[:-1] + "ieth" if last.endswith("y") else last + "th")
    return " ".join([*head, last])


def digit_words(digits: str) -> str:
    """Digit by digit, for what is no quantity: telephone numbers, codes."""
    return " ".join(ONES[int(digit)] for digit in digits)


def year_words(year: int) -> str:
    """1984 is nineteen eighty four, 2007 is two thousand seven, 2026 is twenty twenty six."""
    head, tail = divmod(year, 100)
    if not 1100 <= year < 2100 or 2000 <= year < 2010:
        return number_words(year)
    if tail == 0:
        return f"{number_words(head)} hundred"
    return f"{number_words(head)} {'oh ' if tail < 10 else ''}{number_words(tail)}"


def time_words(hour: int, minute: int, second: int | None = None, half: str = "") -> str:
    """A time of day that cannot be mistaken: with a m or p m, noon, midnight.  `half` is am, pm, or empty for 24 h."""
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    tail = f" and {_count(second, 'second', 'seconds')}" if second else ""
    if minute == 0 and hour in (0, 12) and not second:
        return "midnight" if hour == 0 else "noon"
    said = number_words(hour % 12 or 12)
    if minute:
        said += f" {'oh ' if minute < 10 else ''}{number_words(minute)}"
    return f"{said} {'a m' if hour < 12 else 'p m'}{tail}"


def date_words(year: int | None, month: int, day: int) -> str:
    """March second, twenty twenty six."""
    said = f"{MONTHS[month - 1]} {ordinal_words(day)}"
    return said if year is None else f"{said}, {year_words(year)}"


def _count(value: int, one: str, several: str) -> str:
    return f"{number_words(value)} {one if value == 1 else several}"


def _quantity(number: str) -> str:
    """A number as it stands in a text."""
    whole, _, part = number.replace(",", "").partition(".")
    if part:
        return f"{number_words(int(whole))} point {digit_words(part)}"
    if (len(whole) > 1 and whole[0] == "0") or len(whole) > 12:
        return digit_words(whole)
    return number_words(int(whole))


def _iso_date(found: re.Match[str]) -> str:
    year, month, day = (int(found[group]) for group in ("y", "mo", "d"))
    try:
        date(year, month, day)
    except ValueError:
        return found[0]
    said = date_words(year, month, day)
    if found["h"] is None:
        return said
    second = int(found["s"]) if found["s"] else None
    return f"{said}, {_time(int(found['h']), int(found['mi']), second, '') or found[0]}"


def _time(hour: int, minute: int, second: int | None, half: str) -> str | None:
    if hour > 23 or minute > 59 or (second or 0) > 59 or (half and not 1 <= hour <= 12):
        return None
    return time_words(hour, minute, second, half)


def _clock(found: re.Match[str]) -> str:
    second = int(found["s"]) if found["s"] else None
    half = re.sub(r"[^apm]", "", (found["half"] or "").lower())
    return _time(int(found["h"]), int(found["m"]), second, half) or found[0]


def _full_hour(found: re.Match[str]) -> str:
    return _time(int(found[1]), 0, None, re.sub(r"[^apm]", "", found[2].lower())) or found[0]


def _month_day(found: re.Match[str]) -> str:
    day, year = int(found["d1"] or found["d2"]), found["y1"] or found["y2"]
    month = next(index for index, name in enumerate(MONTHS, 1) if name.startswith((found["m1"] or found["m2"])[:3]))
    return date_words(int(year) if year else None, month, day) if 1 <= day <= 31 else found[0]


def _money(found: re.Match[str]) -> str:
    one, several = MONEY[found["sign"]]
    whole, _, cents = found["n"].replace(",", "").partition(".")
    said = _count(int(whole), one, several)
    return f"{said} {number_words(int(cents))}" if len(cents) == 2 and int(cents) else said


def _with_unit(found: re.Match[str]) -> str:
    one, several = UNITS[found["u"]]
    sign = "minus " if found["sign"] else ""
    return f"{sign}{_quantity(found['n'])} {one if found['n'] == '1' else several}"


def _year(found: re.Match[str]) -> str:
    return f"{found[1]} {year_words(int(found[2]))}"


_RULES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = tuple(
    (re.compile(pattern), make)
    for pattern, make in (
        # what is not for the ear
        (r"```.*?```", " "),
        (r"!?\[([^\]]*)\]\((?:[^)]*)\)", r"\1"),
        (r"\b(?:https?|rtsp|ftp)://\S+[^\s.,;:!?)]|\bwww\.\S+[^\s.,;:!?)]", "a link"),
        (
            r"\s*[\[(](?:(?:window|moment|episode|pattern|frame|service|intention|fact|[wmepfsi])?s?[ :#_-]?#?\d+(?:\s*[,;]\s*|(?=[\])])))+[\])]",
            "",
        ),
        (
            r"\s*#\d+\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{12,}\b",
            "",
        ),
        (r"(?m)^\s*(?:[-*•]|#{1,6})\s+", ""),
        (r"[*_`~]{1,3}(?=\S)|(?<=\S)[*_`~]{1,3}", ""),
        (r"[\u2600-\u27bf\ufe0f\u200d\U0001f000-\U0001faff]", " "),
        (r"[“”\"«»]", ""),
        (r"[\u2019\u2018]", "'"),
        (r"(?<=\w)\s*…|\.\.\.", "."),
        (r"(?<!\w)(?:" + "|".join(re.escape(short) for short in SHORT) + ")", lambda found: SHORT[found[0]]),
        # dates and times
        (
            r"\b(?P<y>\d{4})-(?P<mo>\d\d)-(?P<d>\d\d)(?:[T ](?P<h>\d\d):(?P<mi>\d\d)(?::(?P<s>\d\d)(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b",
            _iso_date,
        ),
        (r"(?<=\d)\s?[-\u2013]\s?(?=\d{1,2}:\d\d)", " to "),
        (
            r"(?<![\d:.])(?P<h>\d{1,2}):(?P<m>\d\d)(?::(?P<s>\d\d))?(?:\s?(?P<half>[ap]\.?m\b(?:\.(?!\s+[A-Z]|\s*$))?|[AP]\.?M\b(?:\.(?!\s+[A-Z]|\s*$))?))?(?![\d:])",
            _clock,
        ),
        (r"\b(\d{1,2})\s?([ap]\.?m\b(?:\.(?!\s+[A-Z]|\s*$))?|[AP]\.?M\b(?:\.(?!\s+[A-Z]|\s*$))?)", _full_hour),
        (
            r"\b(?:(?:the )?(?P<d1>\d{1,2})(?:st|nd|rd|th)?(?: of)? "
            + MONTH_WORD.replace("(Jan", "(?P<m1>Jan", 1)
            + r"(?:,? (?P<y1>\d{4}))?"
            r"|"
            + MONTH_WORD.replace("(Jan", "(?P<m2>Jan", 1)
            + r" (?P<d2>\d{1,2})(?:st|nd|rd|th)?(?:,? (?P<y2>\d{4}))?)\b",
            _month_day,
        ),
        # quantities
        (r"(?P<sign>[$€£])\s?(?P<n>" + _NUMBER + r")", _money),
        (r"(?<![\w.,])(?P<n>" + _NUMBER + r")\s?(?P<sign>[$€£])", _money),
        (r"(?<=\d)\s?[-\u2013]\s?(?=\d+(?:\.\d+)?\s?(?:" + _UNIT + r")?(?![\w-]))(?<!\d-\d)", " to "),
        (
            r"(?P<sign>(?<![\w)])[-\u2212])?(?<![\w.,])(?P<n>" + _NUMBER + r")\s?(?P<u>" + _UNIT + r")(?![\w/])",
            _with_unit,
        ),
        (r"\b(\d+)(?:st|nd|rd|th)\b", lambda found: ordinal_words(int(found[1]))),
        (
            r"\b(in|of|since|until|year|from|by|before|after|January|February|March|April|May|June|July|August|September|October|November|December) (1[1-9]\d\d|20\d\d)\b(?![.,]\d)",
            _year,
        ),
        (r"\b\d+(?:\.\d+){2,}\b", lambda found: " point ".join(map(_quantity, found[0].split(".")))),
        (r"\b\d{7,}\b|\b\d{2,5}(?: \d{2,4}){2,}\b", lambda found: digit_words(re.sub(r"\D", "", found[0]))),
        (r"(?<![\w)])[-\u2212](?=\d)", "minus "),
        (r"(?<=\d):(?=\d)", " to "),
        (r"(?<=\d)/(?=\d)", " slash "),
        (r"(?<![A-Za-z.,\d])(?:" + _NUMBER + r")(?!\w)", lambda found: _quantity(found[0])),
        (r"\d+", lambda found: f" {_quantity(found[0])} "),
        # signs
        (r"[&→≈±=+@]", lambda found: SIGNS[found[0]]),
        (r"\s*[\u2013\u2014]\s*|\s+-+\s+", ", "),
        (r"(?<=[a-z])/(?=[a-z])", " or "),
        (r"(?<=\w) ?/ ?(?=\w)", " slash "),
        (r"[|\\<>{}\[\]()^]", " "),
    )
)
