"""Plain look-up: the present, and anything else that is answered by the best matching words of the memory."""

from __future__ import annotations

from edge.agent.draft import Draft, proof
from edge.agent.phrases import spoken_time
from edge.agent.question import Query
from edge.agent.view import View
from edge.retrieval import words

PRESENT_US = 10_000_000


def now(view: View, q: Query) -> Draft | None:
    """The present: the newest window and the captions of the last ten seconds."""
    last = view.snap.trace.last()
    view.calls += 1
    if last is None:
        return Draft("text", None, "I don't know: nothing has been recorded yet.", confidence=0.2)
    items = view.snap.trace.items(("caption", "event", "text", "speech"), last.t_end - 3 * PRESENT_US, last.t_end + 1)
    recent = [i for i in items if i.t >= last.t_end - PRESENT_US] or items
    kind = (
        "text"
        if "say" in q.text or "read" in q.text or "written" in q.text
        else "speech"
        if "talking" in q.text or "speaking" in q.text
        else ""
    )
    chosen = [i for i in items if i.kind == kind] if kind else recent
    if not chosen:
        return Draft("text", None, "I don't know: I see nothing that tells.", confidence=0.2)
    item = chosen[-1]
    value = item.speaker if kind == "speech" else item.text
    return Draft("text", value, f"{value}.", proof(chosen[::-1][:5]), 0.6)


def lookup(view: View, q: Query) -> Draft:
    """The best matching sentence of the memory, with how sure; no value when the match is weak."""
    scope = view.scope(q)
    asked = words.content(q.text)
    hits = view.snap.search("item", q.text, k=10, start=scope.start, end=scope.end) if asked else []
    view.calls += 1
    found = view.snap.trace.items_by_id([h.id for h in hits])
    items = [found[h.id] for h in hits if h.id in found]
    if not items:
        return Draft("text", None, "I don't know: nothing in the memory speaks of that.", confidence=0.1)
    best = max(items, key=lambda i: len(set(asked) & set(words.content(i.text))))
    share = len(set(asked) & set(words.content(best.text))) / max(1, len(asked))
    ranked = [best, *(i for i in items if i is not best)]
    if share < 0.5:
        said = f"I don't know. The nearest I have is {spoken_time(view, best.t)}: {best.text}"
        return Draft("text", None, said, proof(ranked[:5]), 0.2)
    return Draft("text", best.text, f"{spoken_time(view, best.t).capitalize()}: {best.text}", proof(ranked[:5]), 0.4)
