"""The few words of a sentence that answer a question: extraction by what the question asks for.

No parser: noun phrases are the runs of words between function words, scored by the kind asked for (a name, a place, a
number, a list), by nearness to the question's own words, and by being new.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from edge.retrieval import words

_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\S)[^.!?\n]+)*[.!?]*")
_QUOTED = re.compile(r"[\"\u201c]([^\"\u201d]{2,60})[\"\u201d]")
_TOKEN = re.compile(r"[\"\u201c\u201d]|[^\W_]+(?:[-'\u2019&.][^\W_]+)*|[,;:.!?()\u2013-]")
_NUMBER = re.compile(
    r"\b(\d[\d,.]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|once|twice|couple|several)\b",
    re.I,
)
_SPAN = re.compile(
    r"\b((?:for |about |around |over |almost |every )?(?:\d+|a|an|one|two|three|four|five|six|seven|eight|nine|ten|few|couple of|several)"
    r"[- ](?:second|minute|hour|day|week|month|year|decade)s?(?: ago)?|every (?:day|week|month|year|morning|night)|"
    r"once a \w+|twice a \w+|(?:\w+ )?times a \w+)\b",
    re.IGNORECASE,
)
_BREAKS = frozenset(
    """i you he she it we they me him her us them that which who what when where why how is are was were be been being am do
    does did done have has had having will would can could should may might must and or but so because since if while
    as than then to for with from in on at by about into onto over under after before during through like just really
    very so too also not n't never ever always already still even only there here this these those it's i'm i've i'd i'll
    you're you've that's he's she's we're we've they're let's don't didn't can't got get getting make makes made making
    take took taking go going went gone come came keep keeps kept love loves loved enjoy enjoys enjoyed want wants wanted
    need needs feel feels felt feeling think thought know knew said say says told tell see saw look looks looking helps
    help helped give gives gave try tried trying start started use used wow hey yeah yes no oh thanks thank sure awesome
    great congrats haha yep cool glad absolutely definitely actually recently currently finally been having bought
    """.split()
)
_LEAD = frozenset("a an the my your his her their our some any another this that these those its".split())
_PLACE = frozenset("in at to from near on into around inside outside by through".split())
_GREETING = re.compile(
    r"^(?:(?:hey|hi|wow|thanks|thank you|yeah|yep|oh|aww?|cool|great|congrats)[ ,!.]+)*(?:[A-Z][a-z]+[,!]+ )?", re.I
)
_MINE = re.compile(r"\b(?:i|me|my|we|us|our|i'm|i've)\b", re.I)
_YOURS = re.compile(r"\b(?:you|your|you're)\b", re.I)
_COLORS = frozenset(
    "red orange yellow green blue purple violet pink brown black white grey gray gold golden silver beige turquoise".split()
)
_FEELINGS = frozenset(
    """happy sad excited nervous anxious proud grateful thankful relieved stressed tired overwhelmed calm peaceful relaxed
    amazed inspired motivated scared afraid lonely frustrated disappointed determined hopeful free accepted blessed joyful
    energized refreshed thrilled ecstatic awed appreciative upset angry empowered fulfilled alive safe confident
    """.split()
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A run of words with where it stands in its sentence."""

    text: str
    keys: tuple[str, ...]
    at: int
    lead: str


def answer_words(question: str, passage: str) -> str:
    """The words of a passage that best answer a question; "" when nothing in it looks like an answer."""
    low = question.lower()
    asked = set(words.content(question))
    sentences = [m.group(0).strip() for m in _SENTENCE.finditer(passage) if len(m.group(0).strip()) > 2]
    statements = [s for s in sentences if not s.endswith("?")] or sentences
    told = [s for s in statements if not (_YOURS.search(s) and not _MINE.search(s))] or statements
    statements = [_GREETING.sub("", s) for s in told]
    if not statements:
        return ""
    graded = sorted(statements, key=lambda s: -len(asked & set(words.content(s))))
    best = graded[0]
    if re.match(r"(?:for )?how (?:long|often)\b", low):
        return next((m.group(1) for s in graded for m in _SPAN.finditer(s)), "")
    if re.match(r"how (?:many|much|old)\b", low) or "what number" in low:
        return next((m.group(1) for s in graded for m in _NUMBER.finditer(s)), "")
    if "color" in low or "colour" in low:
        return " and ".join(dict.fromkeys(w for w in words.tokens(" ".join(graded[:2])) if w in _COLORS))
    if re.search(r"\bfeel(?:s|ing)?\b|\bfelt\b|\bemotions?\b|\bfeelings?\b", low) and low.startswith(("how", "what")):
        found = [w for w in words.tokens(" ".join(graded[:2])) if w in _FEELINGS and words.key(w) not in asked]
        if found:
            return " and ".join(dict.fromkeys(found[:3]))
    if low.startswith("why") or " reason" in low:
        m = re.search(r"\b(?:because|'cause|cuz|since|so that|as|to) (.{6,90}?)(?:[.;!]|, (?:and|but)|$)", best, re.I)
        return m.group(1).strip() if m else _rest_after(best, asked)
    quoted = [q for s in graded[:2] for q in _QUOTED.findall(s)]
    if quoted and re.search(
        r"\b(?:book|novel|song|movie|film|title|name|called|series|game|show|track|say|said|read)", low
    ):
        return str(quoted[0])
    return _noun_answer(low, asked, graded)


def _rest_after(sentence: str, asked: set[str]) -> str:
    """What a sentence goes on to say after the last word of the question in it."""
    found = [m for m in _TOKEN.finditer(sentence) if words.key(m.group(0)) in asked]
    rest = sentence[found[-1].end() :] if found else ""
    return re.split(r"[.;!]|, (?:and|but)", rest)[0].strip(" ,")


def _noun_answer(low: str, asked: set[str], graded: list[str]) -> str:
    plural = bool(re.match(r"(?:what|which)(?: are| kinds? of| types? of| two| three)?\b", low)) and bool(
        re.match(r"(?:what|which) (?:are|were|\w+ ?\w*s\b|kinds? of|two|three)", low)
    )
    best: tuple[float, str] = (0.0, "")
    for rank, sentence in enumerate(graded[:3]):
        phrases = _phrases(sentence)
        anchors = [p.at for p in phrases if set(p.keys) & asked] or [
            m.start() for m in _TOKEN.finditer(sentence) if words.key(m.group(0)) in asked
        ]
        for i, phrase in enumerate(phrases):
            new = [k for k in phrase.keys if k not in asked]
            if not new or all(w in words.STOPWORDS for w in phrase.text.lower().split()):
                continue
            value = 1.0 - 0.25 * rank + 0.25 * min(len(new), 3) - 0.3 * (len(phrase.keys) - len(new))
            if anchors:
                gap = min(abs(phrase.at - a) for a in anchors)
                value += 0.8 / (1 + gap / 25)
                value += 0.2 if phrase.at > min(anchors) else 0.0
            value += _fits_kind(low, phrase)
            if value > best[0]:
                best = (value, _joined(phrases, i) if plural else phrase.text)
    return str(best[1])


def _fits_kind(low: str, phrase: Phrase) -> float:
    capital = bool(re.search(r"\b[A-Z][a-z]+", phrase.text)) and phrase.at > 0
    if low.startswith("where"):
        return (0.6 if phrase.lead in _PLACE else -0.2) + (0.3 if capital else 0.0)
    if low.startswith("who") or "name" in low:
        return 0.8 if capital else -0.2
    if re.search(r"\b(?:country|city|state|place|beach|park|band|artist|author|company|brand)\b", low):
        return 0.5 if capital else 0.0
    return 0.15 if capital else 0.0


def _phrases(sentence: str) -> list[Phrase]:
    """Runs of words between function words and punctuation; "of" and "and" between capitals stay inside."""
    found: list[Phrase] = []
    run: list[re.Match[str]] = []
    lead, last = "", ""

    def close() -> None:
        while run and run[0].group(0).lower() in _LEAD:
            run.pop(0)
        if run:
            text = sentence[run[0].start() : run[-1].end()]
            found.append(Phrase(text, words.content(text), run[0].start(), lead))
        run.clear()

    tokens = list(_TOKEN.finditer(sentence))
    for n, m in enumerate(tokens):
        word = m.group(0)
        low = word.lower().replace("\u2019", "'")
        following = tokens[n + 1].group(0) if n + 1 < len(tokens) else ""
        inside = low in ("of", "and", "&") and run and following[:1].isupper() and run[-1].group(0)[:1].isupper()
        if not inside and low == "of" and run and following:
            inside = True
        if not word[0].isalnum() or (low in _BREAKS and not inside):
            close()
            lead = low if low in _PLACE else ("" if not word[0].isalnum() else lead if low in _LEAD else "")
            last = low
            continue
        if not run:
            lead = last if last in _PLACE else ""
        run.append(m)
        last = low if low not in _LEAD else last
    close()
    return found


def _joined(phrases: list[Phrase], at: int) -> str:
    """A phrase with those listed beside it: "salads, sandwiches and desserts"."""
    low = high = at
    while high + 1 < len(phrases) and _listed(phrases[high], phrases[high + 1]):
        high += 1
    while low > 0 and _listed(phrases[low - 1], phrases[low]):
        low -= 1
    return ", ".join(p.text for p in phrases[low : high + 1])


def _listed(a: Phrase, b: Phrase) -> bool:
    return 0 < b.at - (a.at + len(a.text)) <= 6
