"""Comparing: how often a day on average, on which day most, more now or then, and what most often."""

from __future__ import annotations

from collections import Counter
from datetime import date

from edge.agent import activities
from edge.agent.draft import Draft, proof, spread
from edge.agent.phrases import count_word, sentence, spoken_day
from edge.agent.question import Query
from edge.agent.rules_times import recorded_days
from edge.agent.scope import Scope
from edge.agent.view import View
from edge.retrieval.skills import once


def average(view: View, q: Query) -> Draft | None:
    """How often a day: the times divided by the recorded days."""
    scope = view.scope(q)
    items, days = once(view.occurrences(q.clause, scope)), recorded_days(view, scope)
    if not items or not days:
        return Draft("count", None, "I don't know: I have not seen that.", confidence=0.3)
    value = round(len(items) / len(days), 2)
    said = (
        f"{value:g} times a day: {count_word(len(items))} on {len(days)} recorded day{'' if len(days) == 1 else 's'}."
    )
    return Draft("count", value, said, proof(spread(items)), 0.9)


def most_day(view: View, q: Query) -> Draft | None:
    """The day with the most (fewest) times; of equal days all are said and the last is the value."""
    scope = view.scope(q)
    items = once(view.occurrences(q.clause, scope))
    if not items:
        return Draft("date", None, "I don't know: I have not seen that.", confidence=0.3)
    counts = Counter(dict.fromkeys(recorded_days(view, scope), 0) if q.unit == "least" else {})
    counts.update(view.days([i])[0] for i in items)
    wanted = (min if q.unit == "least" else max)(counts.values())
    days = sorted(d for d, n in counts.items() if n == wanted)
    told = " and ".join(spoken_day(view, date.fromisoformat(d)) for d in days[-3:])
    said = f"{sentence(told)}: {count_word(wanted)}."
    mine = [i for i in items if view.days([i])[0] == days[-1]]
    return Draft("date", days[-1], said, proof(spread(mine or items)), 0.9 if len(days) == 1 else 0.7)


def more(view: View, q: Query) -> Draft | None:
    """Did it happen more in one time than in another; None where the question names no two times."""
    if len(q.spans) != 2:
        return Draft(
            "text", None, "I don't know which two times to compare: name both, like today or yesterday.", confidence=0.3
        )
    first, second = (once(view.occurrences(q.clause, Scope(s.start, s.end, True))) for s in q.spans)
    a, b = len(first), len(second)
    told = f"{count_word(a)} {q.spans[0].text}, {count_word(b)} {q.spans[1].text}"
    if q.ordinal == "than":
        yes = a < b if q.unit in ("less", "fewer") else a > b
        return Draft(
            "yes_no", "yes" if yes else "no", f"{'Yes' if yes else 'No'}: {told}.", proof(spread(first + second)), 0.9
        )
    if a == b:
        return Draft("text", "the same", f"The same: {told}.", proof(spread(first + second)), 0.9)
    value = q.spans[0 if (a > b) != (q.unit in ("less", "fewer")) else 1].text
    return Draft("text", value, f"{sentence(value)}: {told}.", proof(spread(first + second)), 0.9)


def favourite(view: View, q: Query) -> Draft | None:
    """What was done (made, cooked) most often, among the activities that have a name."""
    which = activities.meant(view, q.clause)
    if which is None:
        return None
    items = activities.occurrences(view, which, view.scope(q))
    if not items:
        return None
    counts = Counter(i.object for i in items)
    value, n = min(counts.items(), key=lambda c: (-c[1], c[0]))
    equal = [name for name, times in counts.items() if times == n and name != value]
    said = f"{sentence(value)}: {count_word(n)}{', as often as ' + ', '.join(equal[:3]) if equal else ''}."
    return Draft("text", value, said, proof(spread([i for i in items if i.object == value])), 0.6 if equal else 0.9)
