"""Time language: "yesterday evening", "between 16:04:10 and 16:05 on Friday 2 February 2024", "two hours ago".

Phrases are read in the wearer's zone and day and leave the sentence, so that what remains can be understood without
them.  Of a phrase that may mean two times the one nearest before the asking is taken, and `note` says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from edge.retrieval.timegrammar import (
    AGO,
    AT,
    BETWEEN,
    DAY,
    DAYS,
    HOURS,
    MONTHS,
    NOW,
    NUMBERS,
    OF_DAY,
    OF_MONTH,
    PAST,
    POINT,
    REL,
)
from edge.retrieval.zone import SECOND, Span, Us, Zone, midnight

_FROM_TO = re.compile(r"\b(?:between|from)\s{2,}(?:and|to|until|till|through)(?=\s{2,})", re.IGNORECASE)
PARTS = {  # hours of the local day; a part that ends after 24 runs into the next day
    "morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (20, 29), "lunchtime": (11, 14),
    "noon": (11, 13),
}  # fmt: skip
_UNIT_S = {"second": 1, "minute": 60, "min": 60, "hour": 3600, "day": 86400, "week": 604800}


@dataclass(frozen=True, slots=True)
class Found:
    """What is left of a sentence and the spans that were in it, in the order they stood there."""

    rest: str
    spans: tuple[Span, ...]

    @property
    def window(self) -> tuple[Us | None, Us | None]:
        """The stretch all spans agree on; (None, None) without a span."""
        if not self.spans:
            return None, None
        return max(s.start for s in self.spans), min(s.end for s in self.spans)


def extract(text: str, zone: Zone) -> Found:
    """Take every time phrase out of a sentence.  Never raises: what is not understood stays in the sentence."""
    spans: list[tuple[int, Span]] = []
    for pattern, read in (
        (BETWEEN, _between),
        (HOURS, _hours),
        (POINT, _point),
        (DAY, _day),
        (OF_MONTH, _of_month),
        (AGO, _ago),
        (PAST, _past),
        (REL, _relative),
        (NOW, _now),
        (OF_DAY, lambda m, z: _of_day(z.today, None, m.group(0), z)),
    ):
        position = 0
        while (m := pattern.search(text, position)) is not None:
            span = read(m, zone) if m.end() > m.start() else None
            if span is None:
                position = max(m.end(), m.start() + 1)
                continue
            spans.append((m.start(), span))
            # Blanks keep the positions of what follows, so that the spans stay in the order of the sentence.
            text = text[: m.start()] + " " * (m.end() - m.start()) + text[m.end() :]
            position = m.end()
    if (m := _FROM_TO.search(text)) is not None and len(spans) == 2 and all(s.kind == "day" for _, s in spans):
        (at, a), (_, b) = sorted(spans, key=lambda p: p[0])
        if a.start >= b.start:  # "from Monday to Friday" asked on a Saturday is one week
            a = replace(a, start=a.start - 7 * 86_400 * SECOND)
        spans = [(at, Span("range", a.start, b.end, f"{a.text} to {b.text}"))]
        text = text[: m.start()] + text[m.end() :]
    rest = re.sub(r"\s+([,.?!:;])", r"\1", re.sub(r"\s+", " ", text)).strip()
    return Found(rest, _merge_days([s for _, s in sorted(spans, key=lambda p: p[0])], zone))


def _merge_days(spans: list[Span], zone: Zone) -> tuple[Span, ...]:
    """Join a part and its day: "in the morning" beside "on Friday" means Friday's morning: a part of no day takes the day that was named."""
    parts = [s for s in spans if s.note == "part"]
    days = [s for s in spans if s.kind == "day" and s.note != "part"]
    if days and any(s.note == "clock" for s in spans):
        spans = [_on_day(s, days[0], zone) if s.note == "clock" else s for s in spans]
    if not parts or not days:
        return tuple(spans)
    day, part = days[0], parts[0]
    start = zone.local(day.start)
    offset = zone.local(part.start) - midnight(zone.local(part.start).date())
    low = zone.utc(midnight(start.date()) + offset)
    merged = Span("range", low, low + part.end - part.start, f"{day.text} {part.text}")
    return tuple(merged if s is day else s for s in spans if s is not part)


def _on_day(bound: Span, day: Span, zone: Zone) -> Span:
    """A bound of the clock on the day named beside it: "before noon" with "yesterday" is yesterday's noon, and lies within that day."""
    early = bound.start < -(2**60)
    clock = zone.local(bound.end if early else bound.start)
    at = zone.utc(midnight(zone.local(day.start).date()) + (clock - midnight(clock.date())))
    return Span("range", day.start, at, bound.text) if early else Span("range", at, day.end, bound.text)


def _int(word: str) -> int:
    word = word.lower().strip()
    if word.isdigit():
        return int(word)
    if word.startswith("a couple"):
        return 2
    if word in ("a few", "several"):
        return 3
    return NUMBERS.get(word, 1)


def _calendar(g: dict[str, str | None], tag: str, zone: Zone) -> date | None:
    """The date of a match; without a year the last such day not after today."""
    p = tag + "_"
    if g.get(p + "iso"):
        try:
            return date.fromisoformat(str(g[p + "iso"]))
        except ValueError:
            return None
    for n in "12":
        if g.get(f"{p}d{n}") and g.get(f"{p}m{n}"):
            month = next(i for i, m in enumerate(MONTHS, 1) if m.startswith(str(g[f"{p}m{n}"]).lower()[:3]))
            given = g.get(f"{p}y{n}")
            for year in [int(given)] if given else [zone.today.year, zone.today.year - 1]:
                try:
                    found = date(year, month, int(str(g[f"{p}d{n}"])))
                except ValueError:
                    return None
                if given or found <= zone.today:
                    return found
            return found
    return None


def _clock(g: dict[str, str | None], tag: str) -> tuple[int, int, int, bool] | None:
    """(hour, minute, second, to the second) of a match."""
    p = tag + "_"
    if g.get(p + "word"):
        return (0 if g[p + "word"] == "midnight" else 12), 0, 0, False
    if g.get(p + "frac"):
        h = _int(str(g[p + "h4"]))
        minutes = 30 if str(g[p + "frac"]).lower() == "half" else 15
        total = h * 60 + (minutes if str(g[p + "rel"]).lower() == "past" else -minutes)
        return total // 60 % 24, total % 60, 0, False
    hour = g.get(p + "h") or g.get(p + "h2") or g.get(p + "h3")
    if hour is None:
        return None
    h, ap = int(hour), (g.get(p + "ap") or g.get(p + "ap2") or "").lower()
    if ap:
        h = h % 12 + (12 if ap == "p" else 0)
    mi, s = int(g.get(p + "mi") or 0), int(g.get(p + "s") or 0)
    return (h, mi, s, g.get(p + "s") is not None) if h < 24 and mi < 60 and s < 60 else None


def next_clock(text: str, zone: Zone) -> tuple[Us, re.Match[str]] | None:
    """The next time that "at half past seven", "at 5" or "at noon tomorrow" names, and where it stands in the text.

    "At five" in the afternoon is the next five o'clock there is.
    """
    for m in AT.finditer(text):
        g = m.groupdict()
        if g["hour"]:
            hour, minute = _int(g["hour"]), sum(_int(g[k] or "0") for k in ("tens", "ones"))
        elif (clock := _clock(g, "a")) is not None:
            hour, minute = clock[:2]
        else:
            continue
        if hour > 24 or minute > 59:
            continue
        exact = bool(g["a_ap"] or g["a_ap2"] or g["a_word"])
        if g["part"] and hour <= 12:
            hour, exact = hour % 12 + (0 if g["part"].lower() == "morning" else 12), True
        here = zone.local(zone.now)
        at = here.replace(hour=hour % 24, minute=minute, second=0, microsecond=0)
        if g["tomorrow"]:
            at += timedelta(days=1)
        elif at <= here:
            soon = not exact and hour < 12 and at + timedelta(hours=12) > here
            at += timedelta(hours=12 if soon else 24)
        return zone.utc(at), m
    return None


def _relday(text: str, zone: Zone) -> date:
    t, today = text.lower(), zone.today
    if "before yesterday" in t:
        return today - timedelta(days=2)
    if "yesterday" in t:
        return today - timedelta(days=1)
    if "tomorrow" in t:
        return today + timedelta(days=1)
    for i, name in enumerate(DAYS):
        if re.search(rf"\b{name[:3]}", t):
            back = (today.weekday() - i) % 7
            return today - timedelta(days=back or (7 if "last" in t else 0))
    return today


def _when(g: dict[str, str | None], tag: str, zone: Zone, default: date | None) -> tuple[datetime, bool, bool] | None:
    """(local time, to the second, day was named) of a stamp."""
    clock = _clock(g, tag) or _clock(g, tag + "X")
    if clock is None:
        return None
    day = _calendar(g, tag + "A", zone) or _calendar(g, tag + "B", zone)
    rel = g.get(f"{tag}_relA") or g.get(f"{tag}_relB")
    if day is None and rel:
        day = _relday(rel, zone)
    named = day is not None
    base = day or default or zone.today
    h, mi, s, fine = clock
    at = midnight(base) + timedelta(hours=h, minutes=mi, seconds=s)
    if not named and default is None and zone.utc(at) > zone.now:
        at -= timedelta(days=1)
    return at, fine, named


def _between(m: re.Match[str], zone: Zone) -> Span | None:
    g = m.groupdict()
    end = _when(g, "z", zone, None)
    start = _when(g, "a", zone, end[0].date() if end and end[2] else None)
    if start is not None and start[2]:
        end = _when(g, "z", zone, start[0].date())
    if start is None or end is None:
        return None
    a, z = zone.utc(start[0]), zone.utc(end[0])
    if z < a:
        z = zone.utc(end[0] + timedelta(days=1))
    return Span("range", a, z + (SECOND if end[1] else 0), m.group(0).strip())


def _hours(m: re.Match[str], zone: Zone) -> Span | None:
    """Read "between 7 and 9 this morning" and "from 2 to 4 pm yesterday"; bare hours without either are no time."""
    g = m.groupdict()
    part = (g["part"] or "").split(" ")[-1].lower()
    late = (g["ap2"] or "").lower() == "p" or part in ("afternoon", "evening")
    early = (g["ap1"] or g["ap2"] or "").lower() == "a"
    hours = [int(g["h1"]), int(g["h2"])]
    if max(hours) > 24 or not (g["ap2"] or part or g["day"]):
        return None
    if late and not early:
        hours = [h + 12 if h < 12 else h for h in hours]
    elif late and early:
        hours[1] += 12 if hours[1] < 12 else 0
    begins = midnight(_relday(g["day"] or "today", zone))
    low, high = (zone.utc(begins + timedelta(hours=h)) for h in hours)
    return Span("range", low, high, m.group(0).strip()) if low < high else None


def _point(m: re.Match[str], zone: Zone) -> Span | None:
    g = m.groupdict()
    found = _when(g, "a", zone, None)
    if found is None:
        return None
    at = zone.utc(found[0])
    text = m.group(0).strip()
    end = at + (1 if found[1] else 60) * SECOND
    bounded = _bounded(g.get("rel"), Span("point", at, end, text), zone)
    if found[2] and bounded.kind == "range" and (g["rel"] or "").lower() not in ("since", "from"):
        low, high = zone.day(zone.local(at).date())  # "before noon today" is of that day
        return replace(bounded, start=max(bounded.start, low), end=min(bounded.end, high))
    return replace(bounded, note="clock") if bounded.kind == "range" and not found[2] else bounded


def _bounded(rel: str | None, span: Span, zone: Zone) -> Span:
    """Read "before X" and "since X" as ranges; without such a word the span itself."""
    word = (rel or "").lower()
    if word in ("before", "until", "till", "by"):
        return Span("range", -(2**61), span.start if word == "before" else span.end, span.text)
    if word in ("after", "since", "from"):
        return Span("range", span.end if word == "after" else span.start, zone.now + 1, span.text)
    return span


def _day(m: re.Match[str], zone: Zone) -> Span | None:
    g = m.groupdict()
    day = _calendar(g, "a", zone)
    if day is None:
        return None
    part = g.get("part") or g.get("part2")
    return _bounded(g.get("rel"), _of_day(day, part, m.group(0).strip(), zone), zone)


def _of_day(day: date, part: str | None, text: str, zone: Zone, note: str = "") -> Span:
    if part is None:
        start, end = zone.day(day)
        return Span("day", start, end, text, note)
    low, high = PARTS[part.lower()]
    begins = midnight(day)
    return Span("range", zone.utc(begins + timedelta(hours=low)), zone.utc(begins + timedelta(hours=high)), text, note)


def _of_month(m: re.Match[str], zone: Zone) -> Span | None:
    """Read "on the 17th" as the last such day not after today."""
    day, first = int(m.group("d")), zone.today.replace(day=1)
    for _ in range(2):
        try:
            found = first.replace(day=day)
        except ValueError:
            return None
        if found <= zone.today:
            return _of_day(found, None, m.group(0), zone)
        first = (first - timedelta(days=1)).replace(day=1)
    return None


def _ago(m: re.Match[str], zone: Zone) -> Span | None:
    n, unit = _int(m.group("n")), m.group("u").lower()
    if m.group("n").lower() == "half an":
        at = zone.now - 1800 * SECOND
        return Span("range", at - 600 * SECOND, at + 600 * SECOND, m.group(0))
    if unit in ("month", "year"):
        then = zone.local(zone.now) - timedelta(days=n * (30 if unit == "month" else 365))
        return Span("range", zone.utc(then - timedelta(days=15)), zone.utc(then + timedelta(days=15)), m.group(0))
    if unit in ("day", "week"):
        day = zone.today - timedelta(days=n * (7 if unit == "week" else 1))
        return _of_day(day, None, m.group(0), zone)
    step = _UNIT_S[unit] * SECOND
    at, slack = zone.now - n * step, max(step // 2, n * step // 4)
    return Span("range", at - slack, at + slack, m.group(0), "about")


def _past(m: re.Match[str], zone: Zone) -> Span | None:
    unit, number = m.group("u").lower(), m.group("n")
    rolling = ("in the", "the past", "over", "within", "during the", "for the")
    bare = number is None and not m.group(0).lower().strip().startswith(rolling)
    if bare and unit in ("week", "month", "year"):
        return _period("last " + unit, m.group(0), zone)
    if bare and unit in ("day", "minute", "second", "min"):
        number = "1"
    n = _int(number or "1")
    if unit in ("day", "week", "month", "year"):
        days = n * {"day": 1, "week": 7, "month": 30, "year": 365}[unit]
        return Span("range", zone.day(zone.today - timedelta(days=days))[0], zone.now + 1, m.group(0))
    return Span("range", zone.now - n * _UNIT_S[unit] * SECOND, zone.now + 1, m.group(0))


def _period(words: str, text: str, zone: Zone) -> Span:
    """Read "this week", "last month", "the weekend" as whole local days; a week begins on Monday."""
    today, last = zone.today, "last" in words
    monday = today - timedelta(days=today.weekday())
    if "weekend" in words:
        start = monday + timedelta(days=5)
        if last or start > today:
            start -= timedelta(days=7)
        end = start + timedelta(days=2)
    elif "week" in words:
        start = monday - timedelta(days=7 if last else 0)
        end = start + timedelta(days=7)
    elif "month" in words:
        start = today.replace(day=1)
        start = (start - timedelta(days=1)).replace(day=1) if last else start
        end = (start + timedelta(days=32)).replace(day=1)
    else:
        start = date(today.year - (1 if last else 0), 1, 1)
        end = date(start.year + 1, 1, 1)
    return Span("range", zone.day(start)[0], zone.day(end)[0], text)


def _relative(m: re.Match[str], zone: Zone) -> Span | None:
    g, text = m.groupdict(), m.group(0).strip()
    today = zone.today
    if g["week"]:
        return _period(g["week"].lower(), text, zone)
    if g["mon"]:
        month = next(i for i, name in enumerate(MONTHS, 1) if name.startswith(g["mon"].lower()[:3]))
        year = int(g["my"]) if g["my"] else today.year - (1 if month > today.month else 0)
        start = date(year, month, 1)
        return Span("range", zone.day(start)[0], zone.day((start + timedelta(days=32)).replace(day=1))[0], text)
    if g["wd"]:
        if (g["which"] or "").lower() == "next":
            return None
        day = _relday(f"{g['which'] or ''} {g['wd']}", zone)
        note = "today is that weekday too" if day == today else ""
        return _bounded(g["rel"], _of_day(day, g["part2"], text, zone, note), zone)
    part = g["part3"] or g["part4"]
    if part:
        return _of_day(today, part, text, zone, "part")
    word = g["this"].lower()
    part = g["part"]
    if word == "last night":
        return _bounded(g["rel"], _of_day(today - timedelta(days=1), "night", text, zone), zone)
    if word == "tonight":
        return _of_day(today, "night", text, zone)
    if word.startswith("this "):
        part = word.split()[1]
    return _bounded(g["rel"], _of_day(_relday(word, zone), part, text, zone), zone)


def _now(m: re.Match[str], zone: Zone) -> Span | None:
    back = 120 if "moment ago" in m.group(0) or "just" in m.group(0) else 10
    return Span("range", zone.now - back * SECOND, zone.now + 1, m.group(0))
