"""From what a model answered to a value that its notes bear out, or the reason why it does not stand.

The evidence check of GROVE's loop: a value is taken only with notes that exist, a text only when its words and figures
stand in the notes.  A missing reference falls back to the note that fits best.  What cannot be borne out is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from edge.agent.draft import Draft
from edge.agent.llm_actions import AT_NOTE, UNKNOWN, Reply, ValueKind
from edge.agent.notebook import Notebook
from edge.agent.phrases import sentence, spoken_day, spoken_days, spoken_time, to_you
from edge.agent.question import Query
from edge.agent.view import View
from edge.retrieval import words
from edge.retrieval.evidence import Evidence

CITED = 5
SUPPORT = 0.5  # least share of a text's content words that the notes (or the question) hold
SPOKEN = 2  # sentences
_TIMELESS = frozenset(  # words of any answer, which the notes need not hold
    words.key(w)
    for w in """today yesterday morning afternoon evening night day days ago time times last first once twice answer note notes
    yes no say said show shows record memory seem seems likely according""".split()
)
_NOTHING = re.compile(
    r"^\W*(?:unknown|not known|none|null|n/?a|no (?:answer|information|record|evidence)|i (?:don'?t|do not) know)\b",
    re.I,
)
_SENTENCE = re.compile(r"(?<![A-Z]\.)(?<=[.!?])[\"')\]]*\s+(?=\S)")


class Rejected(Exception):
    """Why an answer does not stand, in words for the model."""


def settled(view: View, query: Query, kind: ValueKind, reply: Reply, notebook: Notebook, *, last: bool) -> Draft:
    """The answer as a draft; what is not known has value None.  Raises Rejected, but never on the last round."""
    cited = [e for n in dict.fromkeys(reply.notes) if (e := notebook.get(n)) is not None]
    try:
        value = _value(kind, reply.value, cited, query, notebook, view)
    except Rejected:
        if not last:
            raise
        value = None
    if value is None:
        nearest = cited or best_notes(notebook, query.text, 3)
        return Draft(_draft_kind(kind), None, unknown_words(view, nearest), tuple(nearest[:CITED]), 0.2)
    evidence = (*cited, *(e for e in best_notes(notebook, f"{query.text} {value}", CITED) if e not in cited))[:CITED]
    # A "no" or a zero rests on what was not found: the notes are what was looked at.
    sure = 0.7 if cited else 0.45
    return Draft(_draft_kind(kind), value, told(view, kind, value, evidence), evidence, sure)


def agree(one: object, other: object) -> bool:
    """Do two values say the same: equal, or of words the same but for form and a few more?"""
    if one is None or other is None or type(one) is not type(other):
        return one == other
    if isinstance(one, str) and isinstance(other, str):
        a, b = set(words.content(one)), set(words.content(other))
        return one == other or (bool(a) and bool(b) and (a <= b or b <= a))
    return one == other


def _draft_kind(kind: ValueKind) -> str:
    return "text" if kind == "choice" else kind


def _value(
    kind: ValueKind, given: object, cited: Sequence[Evidence], query: Query, notebook: Notebook, view: View
) -> object:
    if isinstance(given, str) and (given == UNKNOWN or _NOTHING.match(given)) and kind != "choice":
        return None
    if kind == "time":
        if given == AT_NOTE:
            if not cited:
                raise Rejected("The time is that of your first note: name the note.")
            return view.zone.iso(cited[0].t_start)
        return given
    if kind == "yes_no":
        if given == "yes" and not cited:
            raise Rejected('A "yes" needs the note that shows it.')
        return given
    if kind == "clock":
        m = re.search(r"\b(\d{1,2})[:.](\d{2})\b", str(given))
        if m is None:
            raise Rejected("The value is a time of day as HH:MM.")
        return f"{int(m.group(1)) % 24:02d}:{m.group(2)}"
    if kind == "date":
        return _day(str(given))
    if kind == "date_list":
        return [_day(str(d)) for d in given] if isinstance(given, list) else None
    if kind == "text":
        wrong = unsupported(str(given), notebook.text(), query.text)
        if wrong:
            raise Rejected(f"The notes do not say {', '.join(wrong)}: answer with what they say, or {UNKNOWN}.")
    return given


def _day(text: str) -> str:
    m = re.search(r"\d{4}-\d{2}-\d{2}", text)
    try:
        return date.fromisoformat(m.group(0)).isoformat() if m else _no_day()
    except ValueError:
        return _no_day()


def _no_day() -> str:
    raise Rejected("The value is a day as YYYY-MM-DD.")


def unsupported(text: str, notes: str, question: str) -> list[str]:
    """What of a text neither notes nor question bear out: every such figure, and the words when most are missing."""
    held = set(words.content(f"{notes} {question}"))
    figures = [
        f for f in re.findall(r"\d+", text) if not re.search(rf"(?<!\d)0*{int(f)}(?!\d)", notes + " " + question)
    ]
    own = words.content(text)
    missing = [w for w in dict.fromkeys(words.tokens(text)) if words.key(w) in own and words.key(w) not in held]
    missing = [w for w in missing if words.key(w) not in _TIMELESS]
    return figures or (missing if own and len(missing) > (1 - SUPPORT) * len(own) else [])


def best_notes(notebook: Notebook, text: str, count: int) -> list[Evidence]:
    """The notes that share the most words with a text, the newest of equals first."""
    asked = words.content(text)
    graded = [(words.overlap(asked, words.content(n.evidence.text)), n.number, n.evidence) for n in notebook.notes]
    return [e for score, _, e in sorted(graded, key=lambda g: (-g[0], g[1]))[:count] if score > 0]


def unknown_words(view: View, nearest: Sequence[Evidence]) -> str:
    """Say that it is not known, and what was looked at."""
    if not nearest:
        return "I don't know: nothing in the memory speaks of that."
    e = nearest[0]
    return f'I don\'t know. The nearest I have is {spoken_time(view, e.t_start)}: "{shortened(e.text)}"'


def told(view: View, kind: ValueKind, value: object, evidence: Sequence[Evidence]) -> str:
    """A spoken sentence for an exact value; for words the value itself."""
    proof = f": {to_you(shortened(evidence[0].text)).rstrip('.')}" if evidence else ""
    when = spoken_time(view, evidence[0].t_start) if evidence else ""
    if kind == "time":
        return "I have no record of that." if value == "never" else f"{sentence(when)}{proof}."
    if kind == "yes_no":
        return f"Yes, {when}{proof}." if value == "yes" and when else f"{sentence(str(value))}, as far as I have seen."
    if kind == "count" and isinstance(value, int):
        return f"{value}."
    if kind == "seconds":
        return f"{value} seconds."
    if kind == "date":
        return f"{sentence(spoken_day(view, date.fromisoformat(str(value))))}{proof}."
    if kind == "date_list" and isinstance(value, list):
        return f"{spoken_days(value)}." if value else "On no day."
    return f"{sentence(str(value).rstrip('.'))}."


def shortened(text: str, width: int = 120) -> str:
    """A text for the ear, cut at a word."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: max(text.rfind(" ", 0, width), width // 2)] + " ..."


def spoken_sentences(pieces: Iterable[str]) -> Iterator[str]:
    """Whole sentences out of the pieces of a stream, each as soon as it has ended; SPOKEN of them at most."""
    held, said = "", 0
    for piece in pieces:
        held += piece
        while (m := _SENTENCE.search(held)) is not None:
            whole, held = held[: m.start()].strip(), held[m.end() :]
            if whole:
                yield whole
                said += 1
            if said >= SPOKEN:
                return
    if held.strip():
        rest = held.strip()
        yield rest if rest[-1] in ".!?" else f"{rest}."
