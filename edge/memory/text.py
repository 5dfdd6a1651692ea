"""Words as the memory compares them: content words, a light lemma, phrases for people to read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from functools import lru_cache

from edge.clock import US, local

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
STOP = frozenset(  # as prose: easier to read and extend than a list
    "a an and are as at be been being but by can could did do does for from had has have he her hers him his i if in into "
    "is it its just me my of off on onto or our out over she so some such than that the their them then there these they "
    "this those through to too under up us very was we were what when where which while who will with would you your "
    "wearer camera finished starts started start begins while also not no yes".split()
)
_PHRASE = frozenset(
    "about along and around as at before behind between by for from in inside into near of off on onto or over past so that then through to towards "
    "under until using with".split()
)
LONGEST = 60  # letters of a word that means something
_DOUBLED = re.compile(r"([bdgmnprt])\1$")


@lru_cache(maxsize=65536)
def lemma(word: str) -> str:
    """A light stem for comparing: plural and -ing/-ed endings go; not meant to be read."""
    w = word.lower().split("'")[0].split("\u2019")[0]
    if len(w) > 4 and w.endswith("ies"):
        return w[:-3] + "y"
    if len(w) > 4 and w.endswith(("ches", "shes", "sses", "xes", "zes", "oes")):
        return w[:-2]
    if len(w) > 3 and w.endswith("s") and not w.endswith(("ss", "us", "is")):
        w = w[:-1]
    for ending in ("ing", "ed"):
        if len(w) > len(ending) + 3 and w.endswith(ending):
            stem = w[: -len(ending)]
            return _DOUBLED.sub(r"\1", stem).rstrip("e")
    return w.rstrip("e") if len(w) > 4 else w


def words(text: str) -> list[str]:
    """The words of a text as they stand, in order."""
    return _WORD.findall(text)


def content(text: str) -> list[str]:
    """The content words of a text as lemmas, in order, with repeats."""
    return [lemma(w) for w in _WORD.findall(text) if 1 < len(w) <= LONGEST and w.lower() not in STOP]


def worded(lemmas: Iterable[str], text: str) -> list[str]:
    """Lemmas as a text writes them; as they are where it does not hold them."""
    found = []
    for stem in lemmas:
        near = re.finditer(rf"\b{re.escape(stem)}\w{{0,4}}", text, re.IGNORECASE)
        found.append(next((m[0].lower() for m in near if lemma(m[0]) == stem), stem))
    return found


def listed(things: Iterable[str], most: int = 6) -> str:
    """Things in a row, as in: a, b and c; what is beyond `most` is counted."""
    items = list(things)
    if len(items) > most:
        items = [*items[:most], f"{len(items) - most} more"]
    if len(items) <= 1:
        return "".join(items)
    return ", ".join(items[:-1]) + " and " + items[-1]


def telling(text: str) -> bool:
    """Whether a read text says something in words: not a clock, a number or a fragment."""
    letters = sum(c.isalpha() for c in text)
    return letters >= 4 and letters > sum(c.isdigit() for c in text)


def counted(name: str, count: int) -> str:
    """A thing with its number, in the plural where it is one."""
    if count <= 1:
        return name
    ending = "es" if name.endswith(("s", "sh", "ch", "x")) else "s"
    return f"{count} {name if name.endswith('people') else name + ending}"


def sentence(text: str) -> str:
    """The text with a capital first and a full stop last."""
    text = " ".join(text.split())
    if not text:
        return ""
    return text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")


def clock(t: int, offset_s: int) -> str:
    """Local HH:MM:SS."""
    return local(t, offset_s).strftime("%H:%M:%S")


def day(t: int, offset_s: int) -> str:
    """Local day in words: Monday 2 March 2026."""
    moment = local(t, offset_s)
    return f"{moment:%A} {moment.day} {moment:%B %Y}"


def span(start: int, end: int) -> str:
    """A length of time in words."""
    seconds = round((end - start) / US)
    if seconds < 90:
        return f"{seconds} seconds"
    if seconds < 5400:
        return f"{round(seconds / 60)} minutes"
    return str(timedelta(seconds=seconds // 60 * 60))[:-3] + " hours"


def shortened(text: str, most: int) -> str:
    """At most `most` words of a text."""
    parts = text.split()
    return text.strip() if len(parts) <= most else " ".join(parts[:most])


def headline(text: str, least: int, most: int) -> str:
    """At most `most` words of a text, ending where a phrase ends if that leaves at least `least`."""
    parts = text.split()
    if len(parts) <= most:
        return text.strip()
    ends = (i for i in range(most, least - 1, -1) if parts[i].lower() in _PHRASE or parts[i - 1][-1] in ",;:.")
    whole = parts[: next(ends, most)]
    while len(whole) > least and whole[-1].lower().strip(",") in STOP | _PHRASE:
        whole.pop()
    return " ".join(whole).rstrip(",;:")
