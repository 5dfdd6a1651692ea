"""Exact aggregation over records: when, did I, how often, which days, how long, usually when."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from statistics import median

from edge.agent import activities, rules_facts, rules_places, rules_seen, rules_told
from edge.agent.draft import Draft, proof, spread
from edge.agent.phrases import act_done, clock_of, count_word, day_words, sentence, spoken_days, spoken_time, to_you
from edge.agent.question import Query
from edge.agent.rules_sessions import session
from edge.agent.scope import Scope
from edge.agent.view import View, day_of, label_of, seeing
from edge.retrieval import words
from edge.retrieval.skills import once
from edge.retrieval.zone import Us
from storage.records import Item

NEVER = "never"
WHOLE_DAY: Us = 72_000_000_000  # 20 hours: a scope as long is days, not a part of one
_NTH = {"second": 1, "third": 2, "fourth": 3, "fifth": 4, "sixth": 5}
LATELY = 40  # of the times of one thing, the newest: enough for the last and its proof
_OF_EVENT = re.compile(
    r"\b(?:when|what time|what day) was (?:the|my|our)\b", re.IGNORECASE
)  # "when was the piano lesson"


def when(view: View, q: Query) -> Draft | None:
    """The first or last time; "never" when the act is one that would have been seen."""
    if seeing(q.clause):
        return rules_seen.when(view, q)
    scope = view.scope(q)
    nth = _NTH.get(q.ordinal, 0)
    first = q.ordinal == "first" or bool(nth) or (scope.named and not q.ordinal)
    items = view.occurrences(q.clause, scope, None if first else LATELY)
    if not items and q.clause.quote:
        items = [i for _, i in view.alike(q.clause.quote, scope, least=0.6)[:1]]
    if not items and q.clause.quote and (found := session(view, q)) is not None:
        return found
    if not items:
        if not q.clause.acts or not (q.ordinal or q.clause.thing):
            return None
        if _OF_EVENT.search(q.text) and not q.ordinal and (told := rules_told.schedule(view, q)) is not None:
            return told
        if (own := rules_facts.own_words(view, q)) is not None:
            return own
        return Draft(
            "time",
            NEVER,
            _then(f"I have no record that you {act_done(q.clause)}", q),
            confidence=0.7,
        )
    if nth >= len(items):
        return Draft(
            "time",
            None,
            _then(f"I have seen that only {count_word(len(items))}", q),
            proof(items[-3:]),
            0.4,
        )
    item = items[nth] if first else items[-1]
    said = f"You {q.ordinal + ' ' if q.ordinal else ''}{act_done(q.clause)} {spoken_time(view, item.t)}."
    return Draft(
        "time", view.zone.iso(item.t), said, proof([item, *(i for i in items[::-1] if i is not item)][:5]), 0.95
    )


def did(view: View, q: Query) -> Draft | None:
    """Yes with the times, or no."""
    if seeing(q.clause):
        return rules_seen.did(view, q)
    scope = view.scope(q)
    items = view.occurrences(q.clause, scope)
    if not items and q.clause.quote:
        items = view.begun([i for _, i in view.alike(q.clause.quote, scope, least=0.8)], q.clause)
    if q.unit and (items or q.clause.acts):  # skipped, missed, forgotten: the other way round
        item = items[-1] if items else None
        value, told = (
            ("no", f"No: you did, {spoken_time(view, item.t)}.")
            if item
            else ("yes", _then("It seems so: I have not seen that", q))
        )
        return Draft("yes_no", value, told, proof(items[-3:]), 0.8 if items else 0.6)
    parts = [p for p in re.split(r",? and ", q.clause.thing) if p]
    if items and len(parts) > 1 and not any(words.thing(i.object) == words.thing(q.clause.thing) for i in items):
        missing = [p for p in parts if not view.occurrences(replace(q.clause, thing=p), scope)]
        if missing:
            told = f"Not all of it: I have not seen that with {to_you(' or '.join(missing))}."
            return Draft("yes_no", "no", told, proof(spread(items[::-1])), 0.7)
    if items:
        last = items[-1]
        often = f" ({count_word(len(items))})" if len(items) > 1 else ""
        return Draft("yes_no", "yes", f"Yes, {spoken_time(view, last.t)}{often}.", proof(spread(items[::-1])), 0.95)
    if not q.clause.acts and not q.clause.quote:
        return None
    return Draft("yes_no", "no", _then("No, I have not seen that", q), confidence=0.75)


def count(view: View, q: Query) -> Draft | None:
    """How often.  Every recorded event counts; the same act on the same thing at the same instant counts once."""
    scope = view.scope(q)
    items = once(view.occurrences(q.clause, scope))
    if not items and not q.clause.acts:
        return None
    said = f"{sentence(count_word(len(items)))}{', the last ' + spoken_time(view, items[-1].t) if items else ''}."
    return Draft("count", len(items), said, proof(spread(items)), 0.95 if items else 0.7)


def _days(view: View, q: Query) -> tuple[dict[str, Item], Scope]:
    scope = view.scope(q)
    found: dict[str, Item] = {}
    for item in view.occurrences(q.clause, scope):
        found.setdefault(view.days([item])[0], item)
    return found, scope


def recorded_days(view: View, scope: Scope) -> list[str]:
    """The local days on which anything was recorded within a scope."""
    days = [d.isoformat() for d in view.snap.lookup.days()]
    if scope.start is not None and scope.start > -(2**60):
        low = view.zone.local(scope.start).date().isoformat()
        days = [d for d in days if d >= low]
    if scope.end is not None:
        high = view.zone.local(min(scope.end, view.now) - 1).date().isoformat()
        days = [d for d in days if d <= high]
    return days


def days_with(view: View, q: Query) -> Draft | None:
    found, _ = _days(view, q)
    if not found and not q.clause.acts and not q.clause.quote:
        return None
    said = f"On {spoken_days(list(found))}." if found else "On no day that I have recorded."
    return Draft("date_list", sorted(found), said, proof(spread(list(found.values()))), 0.95 if found else 0.7)


def days_without(view: View, q: Query) -> Draft | None:
    found, scope = _days(view, q)
    rest = [d for d in recorded_days(view, scope) if d not in found]
    said = f"On {spoken_days(rest)}." if rest else "There is no such day: it was on every recorded day."
    return Draft("date_list", rest, said, proof(spread(list(found.values()))), 0.9)


def count_days(view: View, q: Query) -> Draft | None:
    found, scope = _days(view, q)
    if q.negated:
        rest = [d for d in recorded_days(view, scope) if d not in found]
        return Draft("count", len(rest), f"On {len(rest)} recorded days.", proof(spread(list(found.values()))), 0.9)
    if not found and not q.clause.acts and not q.clause.quote:
        return None
    said = f"On {len(found)} day{'' if len(found) == 1 else 's'}{': ' + spoken_days(sorted(found)) if found else ''}."
    return Draft("count", len(found), said, proof(spread(list(found.values()))), 0.95 if found else 0.7)


def days_since(view: View, q: Query) -> Draft | None:
    """Whole local days between the last time and the day of asking."""
    items = view.occurrences(q.clause, view.scope(q), None if q.ordinal == "first" else LATELY)
    if not items:
        return Draft("count", None, "I don't know: I have not seen it at all.", confidence=0.5)
    item = items[0] if q.ordinal == "first" else items[-1]
    days = (view.zone.today - date.fromisoformat(view.days([item])[0])).days
    return Draft("count", days, f"{sentence(day_words(days))}, {spoken_time(view, item.t)}.", proof([item]), 0.95)


def usual_time(view: View, q: Query) -> Draft | None:
    """The median over days of each day's first time, as local clock time."""
    firsts: dict[str, tuple[int, Item]] = {}
    shift = 12 * 3600 if activities.nightly(q.clause) else 0  # bedtime goes around midnight: a night is no new day
    for item in view.occurrences(q.clause, view.scope(q)):
        local = item.t // 1_000_000 + item.offset_s - shift
        firsts.setdefault(day_of(local * 1_000_000, 0), (local % 86_400 // 60, item))
    if not firsts:
        return Draft("clock", None, "I don't know: I have not seen it yet.", confidence=0.5)
    middle = int(median(m for m, _ in firsts.values()))
    # Proof: the days nearest to the median, those that show the habit best.
    near = sorted(firsts.values(), key=lambda f: (abs(f[0] - middle), f[1].t))
    middle = (middle + shift // 60) % 1440
    said = f"Usually at about {clock_of(middle)}, judging by {len(firsts)} day{'' if len(firsts) == 1 else 's'}."
    return Draft("clock", clock_of(middle), said, proof(i for _, i in near[:5]), 0.9 if len(firsts) > 2 else 0.5)


def duration(view: View, q: Query) -> Draft | None:
    """How long: an activity by its name in all over a time that was named, else its last time; a step from its beginning
    to its end (a "finished" mark, else the next thing of its kind).
    """
    scope = view.scope(q)
    clause = q.clause
    if (which := activities.meant(view, clause)) is not None:
        return _went_on(view, q, which, scope)
    starts = view.occurrences(clause, scope)
    if not starts and clause.quote:
        starts = [i for _, i in view.alike(clause.quote, scope, least=0.8)[:1]]
    if not starts:
        return None
    item = starts[-1] if q.ordinal == "last" or not scope.named else starts[0]
    end = _end_of(view, item, scope)
    if end is None:
        return Draft("seconds", None, "I don't know when it ended.", proof([item]), 0.3)
    marked = bool(clause.quote) or words.key((end.action or end.text).split(" ")[0]) in _ENDS
    if not marked:  # what is no activity has no length: the next act says nothing of it
        return Draft("seconds", None, f"I don't know: I saw it begin {spoken_time(view, item.t)}, not how long it went on.", proof([item, end]), 0.3)  # fmt: skip
    return _length(q, end.t - item.t, f"beginning {spoken_time(view, item.t)}", [item, end])


def usual_length(view: View, q: Query) -> Draft | None:
    """How long an activity usually goes on: the median of its times."""
    which = activities.meant(view, q.clause)
    times = activities.went(view, which, view.scope(q)) if which is not None else []
    if not times:
        return Draft("seconds", None, "I don't know: I have not seen how long that goes on.", confidence=0.3)
    lengths = sorted((w.end - w.begin.t, n) for n, w in enumerate(times))
    middle = times[lengths[len(lengths) // 2][1]]
    length = round(median(n for n, _ in lengths))
    found = _length(q, length, f"judging by {len(times)} time{'' if len(times) == 1 else 's'}", [middle.begin])
    return replace(found, answer=f"Usually {found.answer}", confidence=0.9 if len(times) > 2 else 0.5)


def bare(view: View, q: Query) -> Draft | None:
    """A thing and no question: where it was put, else when it was last done or seen."""
    which = activities.meant(view, q.clause)
    if which is None and (placed := rules_places.put(view, q)) is not None and placed.value is not None:
        return placed
    items = activities.occurrences(view, which, view.scope(q)) if which else view.glimpses(q.clause.text, view.scope(q))
    if not items:
        return Draft(
            "text", None, "I don't know: ask me where it is, or when or how often you did something.", confidence=0.2
        )
    said = f"The last time was {spoken_time(view, items[-1].t)}. Ask me when, where or how often."
    return Draft("time", view.zone.iso(items[-1].t), said, proof(items[::-1][:5]), 0.6)


def _went_on(view: View, q: Query, which: activities.Meant, scope: Scope) -> Draft:
    """The length of an activity: all its times in a scope that was named, cut to whole days."""
    times = activities.went(view, which, scope, last=not scope.named and q.ordinal != "first")
    if not times:
        return Draft("seconds", None, _then("I don't know: I have not seen that", q), confidence=0.3)
    if not scope.named or q.ordinal:
        times = [times[0 if q.ordinal == "first" else -1]]
    low = high = None
    if scope.named and scope.start is not None and scope.end is not None and scope.end - scope.start >= WHOLE_DAY:
        low, high = scope.start, scope.end  # a night belongs to no day: within a part of one nothing is cut off
    spans = [(max(w.begin.t, low or w.begin.t), min(w.end, high or w.end, view.now)) for w in times]
    union, reached = 0, 0
    for begin, end in sorted(spans):
        union += max(0, end - max(begin, reached))
        reached = max(reached, end)
    told = (
        f"beginning {spoken_time(view, spans[0][0])}"
        if len(spans) == 1
        else f"in {len(spans)} times, the last {spoken_time(view, spans[-1][0])}"
    )
    return _length(q, union, told, [i for w in times[-3:] for i in (w.begin, w.ended_by) if i is not None])


def _length(q: Query, length: Us, told: str, items: list[Item]) -> Draft:
    """A length in the unit that was asked for, seconds where none was."""
    seconds = round(length / 1_000_000)
    unit = q.unit.rstrip("s")
    value = round(seconds / {"minute": 60, "hour": 3600}[unit], 2) if unit in ("minute", "hour") else seconds
    return Draft("seconds", value, f"{_spoken_length(seconds)}, {told}.", proof(items), 0.9)


def _end_of(view: View, item: Item, scope: Scope) -> Item | None:
    """The item that ends another: the same words marked as finished, else the next beginning of the same kind."""
    body = item.object if item.kind == "event" else label_of(item.text)[1]
    wanted = words.plain(body)
    limit = item.t + 12 * 3_600_000_000 if scope.end is None else scope.end
    marks = [i for i in view.named(body, item.t + 1, limit) if _ends(i, wanted)]
    marks = marks or [i for i in view.named(item.text, item.t + 1, limit) if _ends(i, words.plain(item.text))]
    if marks:
        return marks[0]
    later = view.snap.trace.events(item.action, item.t + 1, limit) if item.kind == "event" else []
    if not later:
        later = [i for i in view.snap.trace.items(("caption",), item.t + 1, limit, 3) if i.text != item.text]
    return later[0] if later else None


_ENDS = frozenset(words.key(w) for w in "finish finished end ends stop stopped complete completed".split())


def _ends(item: Item, wanted: str) -> bool:
    head = words.tokens(item.action or item.text)[:1]
    return bool(head) and words.key(head[0]) in _ENDS and wanted in words.plain(item.text)


def _spoken_length(seconds: int) -> str:
    if seconds < 90:
        return f"{seconds} seconds"
    minutes = round(seconds / 60)
    if seconds < 5400:
        return (
            f"{minutes} minutes"
            if seconds % 60 == 0 or minutes >= 10
            else f"{seconds // 60} minutes {seconds % 60} seconds"
        )
    hours, minutes = divmod(minutes, 60)
    return f"{hours} hour{'' if hours == 1 else 's'}" + (f" {minutes} minutes" if minutes else "")


def _then(told: str, q: Query) -> str:
    """A sentence with the time that was asked for at its end."""
    return f"{told} {_scope_words(q)}".rstrip() + "."


def _scope_words(q: Query) -> str:
    if q.spans:
        return q.spans[0].text
    return "in that recording" if q.recording else ""
