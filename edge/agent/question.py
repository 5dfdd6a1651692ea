"""Understanding a question: its form, its act and thing, its times, its quotes, into one frozen Query.

The grammar knows English question forms, not data: "when was the last time I shut the fridge" and "when did I last close
the fridge" come out alike.  Time phrases and quotes are taken out first, so that the forms stay short.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from edge.agent.cues import USUAL, guess
from edge.agent.forms import RULES, Form
from edge.agent.wording import plain_wording
from edge.retrieval import timephrase, words
from edge.retrieval.zone import Span, Us, Zone


@dataclass(frozen=True, slots=True)
class Clause:
    """A verb phrase: the acts asked for (alternatives), the thing, the quoted words if any, the text as it stood."""

    acts: tuple[tuple[str, str], ...]
    thing: str
    quote: str
    text: str
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """A question understood.  Times in microseconds UTC; `start`/`end` None where no time was named, `asked` is when it was asked."""

    text: str
    form: Form
    clauses: tuple[Clause, ...]
    spans: tuple[Span, ...] = ()
    recording: Span | None = None
    context: str = ""
    ordinal: str = "last"
    speaker: str = ""
    negated: bool = False
    unit: str = ""
    choices: tuple[str, ...] = ()
    asked: Us = 0

    @property
    def clause(self) -> Clause:
        """The first clause; an empty one when the form has none."""
        return self.clauses[0] if self.clauses else Clause((), "", "", "")

    @property
    def start(self) -> Us | None:
        """The latest start of all named times."""
        return max((s.start for s in self.spans), default=None)

    @property
    def end(self) -> Us | None:
        """The earliest end of all named times."""
        return min((s.end for s in self.spans), default=None)


_QUOTE = re.compile(r"[\"\u201c\u201d\u00ab](.+?)[\"\u201d\u201c\u00bb](?=[\s,.?!:;)]|$)", re.DOTALL)
_RECORDING = re.compile(
    r",?\s*\b(?:in|during|from|of|within) (?:the|that) (?:recording|session|video|clip|footage)"
    r"(?: (?:that|which))? (?P<when>(?:began|started|starting|beginning|begins|starts|from|at|of|on)\b[^,?]*?)(?=[,?;]|\.(?: |$)| i (?:did|was|made|had)\b|$)",
    re.IGNORECASE,
)
_CONTEXT = re.compile(
    r"^(?:(?:while|when|as|during the time|the time) (?:i (?:(?:was|were) )?)?(?:(?:busy|working|trying) )?(?:to )?|"
    r"during (?:the )?(?:task|time|work|job)? ?(?:to |of )?)(?:last )?(?P<what>[^?\u00a7]+?), "
    r"(?P<rest>(?:how|what|which|when|where|did|who|at)\b.+)$",
    re.IGNORECASE,
)
_CONTEXT_AFTER = re.compile(
    r"^(?P<rest>(?:how|what|which)\b.*?(?:\u00a7\d.*?|how (?:often|many times)\b.*?)?),? (?:(?:when|while|as) i |while |during the (?:task|time|work) )"
    r"(?!(?:ask|said|say|told|picked|took|last|first)\w*\b)(?:(?:was|were) )?(?:(?:busy|working|trying) )?(?:to )?"
    r"(?P<what>[^?\u00a7:]+?)(?P<tail>: .*)?$",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"^(?:(?:please|hey|ok|okay|so|and|well|now|then|do you (?:still )?(?:know|remember)|i wonder|i want to know|i'd like to know|"
    r"(?:can|could|would|will) you(?: please)? (?:tell|remind|show|say|find|list|give|count)(?: to)?(?: me| us)?(?: out)?|"
    r"(?:please )?(?:tell|remind|show|list|name|give|find|count|say)(?: me| us)?(?: out)?(?: for me)?)\b[, :]*)+",
    re.IGNORECASE,
)
_AND_THEN = re.compile(
    r"^i (?:did|was doing|started|began) (?P<what>\u00a7\d)[.;,:]? ?(?:and )?what (?:did|was) i (?:do|doing|start) (?:just |right )?"
    r"(?:then|next|after(?:wards| that| it)?|(?P<b>before(?: that| it)?))$",
    re.IGNORECASE,
)
_FORGOT = re.compile(
    r"(?:did|have) i (?:forget|forgot|forgotten) to (?P<act>close|shut|lock|turn off|switch off)(?: the)? (?P<obj>.+)",
    re.IGNORECASE,
)
_CORRECTED = re.compile(  # "did I open, sorry, did I close the window"
    r"^.*?\b(?:sorry|no,? wait|wait,? no|i mean|i meant|scratch that|rather)\b[, .]+(?=(?:when|where|what|which|who|how|did|do|have|was|is)\b)",
    re.IGNORECASE,
)
_PRESENT = re.compile(r"(?:right )?now$|at the moment$", re.IGNORECASE)  # "where is it now" asks for the last place
_BARE = re.compile(  # "keys?", "my blue mug?"
    r"(?:the |my |our )?(?!(?:when|where|what|which|who|whose|why|how|did|do|does|have|has|had|is|are|was|were|am|can|could|will|would|should|yes|no|hello|thanks?|please|help|stop|ok|i|you|he|she|they|we|it)\b)[\w'-]+(?: (?!i\b|you\b|is\b|are\b|was\b|did\b)[\w'-]+){0,2}",
    re.IGNORECASE,
)
_PICKED = re.compile(
    r"^i (?:picked up|took|grabbed|lifted) (?P<o>.+?)[;.,:] ?(?:and )?where did i (?:put|place|leave) (?:it|them)(?: (?:down|back|away))?$",
    re.IGNORECASE,
)


def understand(text: str, zone: Zone, choices: tuple[str, ...] = ()) -> Query:
    """A question -> Query.  Never fails: what fits no form is a look-up of its words."""
    quotes = tuple(m.group(1).strip() for m in _QUOTE.finditer(text))
    counter = iter(range(len(quotes)))
    body = _QUOTE.sub(lambda _: f"\u00a7{next(counter)}", text)
    recording: Span | None = None
    if (m := _RECORDING.search(body)) is not None:
        points = timephrase.extract(m.group("when"), zone).spans
        if points:
            recording = points[0]
            body = body[: m.start()] + " " + body[m.end() :]
    found = timephrase.extract(body, zone)
    body, context = _normal(found.rest, quotes)
    if (m := _FORGOT.fullmatch(body)) is not None:
        state = (
            "open"
            if re.match(r"close|shut", m.group("act"), re.I)
            else "unlocked"
            if m.group("act").lower() == "lock"
            else "on"
        )
        return _query(
            text,
            "state",
            {"obj": m.group("obj"), "unit": state},
            quotes,
            found.spans,
            recording,
            context,
            choices,
            body,
        )
    body = plain_wording(body)
    usual = USUAL.search(body)
    for form, pattern in RULES:
        if usual and not form.startswith("usual"):
            continue
        if (m := pattern.fullmatch(body)) is not None:
            spans = (
                found.spans
                if form in ("now", "during")
                else tuple(s for s in found.spans if not _PRESENT.match(s.text))
            )
            return _query(text, form, m.groupdict(), quotes, spans, recording, context, choices, body)
    if (guessed := guess(body)) is not None:
        spans = tuple(s for s in found.spans if not _PRESENT.match(s.text))
        return _query(text, guessed[0], guessed[1], quotes, spans, recording, context, choices, body)
    clause = _clause(body, quotes)
    if not choices and not quotes and _BARE.fullmatch(body):
        return Query(text, "bare", (Clause(((words.key("do"), ""),), body, "", body),), found.spans, recording, context)
    return Query(text, "lookup", (clause,), found.spans, recording, context, choices=choices)


def _normal(body: str, quotes: tuple[str, ...]) -> tuple[str, str]:
    """The bare question and the context it is set in ("when I made ramen", "while I fixed the bike")."""
    body = re.sub(r"\s+", " ", body).strip(" ?.!")
    body = re.sub(r"\s*\([^)\u00a7]*\)$", "", body)  # a remark in brackets at the end
    body = re.sub(r"^[,:; ]+", "", body)
    bare = _OPENING.sub("", body)
    body = bare if re.match(r"\w", bare) else body
    body = _CORRECTED.sub("", body)
    body = re.sub(
        r",? (?:so far|up to now|until now|in all|in total|by now|now|lately|altogether|in days)(?=$|,)", "", body
    )
    body = re.sub(r"\bdays (?:so far|up to now|until now|in all|in total)\b", "days", body)
    body = body.strip(" ?.!,")
    if (m := _CONTEXT.match(body)) is not None:
        return m.group("rest").strip(" ,"), _fill(m.group("what").strip(), quotes)
    if (
        m := re.match(r"^(?P<what>\u00a7\d) is (?:something|a thing|what) i \w+.*?\. (?P<rest>.+)$", body, re.I)
    ) is not None:
        return re.sub(r"\bit\b", m.group("what"), m.group("rest"), count=1), ""
    if (m := _AND_THEN.match(body)) is not None:
        return f"what did i do {'before' if m.group('b') else 'after'} {m.group('what')}", ""
    if (m := _PICKED.match(body)) is not None:
        return f"where did i put {m.group('o')} that i picked up", ""
    if (m := _CONTEXT_AFTER.match(body)) is not None and re.match(
        r"how\b|.*\u00a7", m.group("rest") + (m.group("tail") or ""), re.I
    ):
        return (m.group("rest") + (m.group("tail") or "")).strip(" ,"), _fill(m.group("what").strip(), quotes)
    return body, ""


def _query(
    text: str, form: Form, g: Mapping[str, str | None], quotes: tuple[str, ...], spans: tuple[Span, ...],
    recording: Span | None, context: str, choices: tuple[str, ...], body: str,
) -> Query:  # fmt: skip
    clauses: tuple[Clause, ...]
    if form == "order" and len(choices) == 2:
        clauses = tuple(_clause(c, quotes) if not quotes else Clause((), "", c, c) for c in choices)
    elif form == "order":
        clauses = tuple(_clause(part, quotes) for part in _two(g["alts"] or ""))
    elif (a := g.get("a")) is not None and (b := g.get("b")) is not None:
        clauses = (_clause(a, quotes), _clause(b, quotes))
    elif g.get("obj"):
        clauses = (_clause(f"{g.get('verb') or 'put'} {g['obj']}", quotes),)
    else:
        clauses = (_clause(g.get("vp") or "", quotes),)
    ordinal = (g.get("ord") or g.get("ord2") or "").lower()
    ordinal = {
        "latest": "last",
        "most recent": "last",
        "earliest": "first",
        "most recently": "last",
        "recently": "last",
    }.get(ordinal, ordinal)
    negated = bool(g.get("not")) or body.lower().startswith(("didn't", "haven't", "hadn't"))
    unit = (g.get("unit") or g.get("unit2") or g.get("prep") or "").strip().lower()
    who = (g.get("who") or "").strip()
    return Query(text, form, clauses, spans, recording, context, ordinal, who, negated, unit, choices)


def _two(text: str) -> tuple[str, str]:
    """Two alternatives: cut at ", or ", else at the "or" nearest to the middle ("wash or rinse it or dry it")."""
    cuts = [(m.start(), m.end()) for m in re.finditer(r",\s*or\s+", text)]
    cuts = cuts or [(m.start(), m.end()) for m in re.finditer(r"\s+or\s+", text)]
    low, high = min(cuts, key=lambda c: abs(c[0] - len(text) / 2))
    return text[:low], text[high:]


def _fill(text: str, quotes: tuple[str, ...]) -> str:
    return re.sub(r"\u00a7(\d)", lambda m: quotes[int(m.group(1))], text)


_CATENATIVE = re.compile(
    r"^(?:(?:remember(?:ed)?|happen(?:ed)?|manage[d]?|get|got|have|had|try|tried|able|need(?:ed)?|want(?:ed)?|decide[d]?|forget|forgot) to|"
    r"(?:end(?:ed)? up|succeed(?:ed)? in|finish(?:ed)?|bother(?:ed)? to|start(?:ed)?|begin|began)(?= \w+ing\b)) ",
    re.IGNORECASE,
)
_BEING = re.compile(r"^((?:in|at|on|inside) (?:the|my|our|a|an|bed|work|school|home)\b)", re.IGNORECASE)
_TAIL = re.compile(
    r",? (?:before|lately|recently)$|,? (?:while|when|as|because|so that|at all|again|too|as well)\b.*$", re.IGNORECASE
)
_SPLIT = re.compile(r",\s*|\s+(?:or|and)\s+")


def _clause(text: str, quotes: tuple[str, ...]) -> Clause:
    """A verb phrase -> acts, thing, quote.  "wash, rinse or wipe the fish" has three acts and one thing."""
    text = text.strip(" ,.:;?!")
    quote = next((quotes[int(m.group(1))] for m in re.finditer(r"\u00a7(\d)", text)), "")
    bare = re.sub(r"\s*\u00a7\d\s*", " ", text).strip(" ,.:;?!")
    bare = re.sub(r"^(?:i|we) (?:was |were |have |had |did )?", "", bare, flags=re.IGNORECASE)
    bare = _BEING.sub(r"be \1", _CATENATIVE.sub("", bare))
    bare = _TAIL.sub("", bare) if not quote else bare
    acts, thing = verbs_of(bare)
    return Clause(acts, thing, quote, _fill(_CATENATIVE.sub("", text), quotes))


def verbs_of(phrase: str) -> tuple[tuple[tuple[str, str], ...], str]:
    """Split a verb phrase into its acts and the thing: "pick the cup up" -> ((pick, up),), "the cup"."""
    tokens = phrase.split()
    acts: list[tuple[str, str]] = []
    position = 0
    while position < len(tokens):
        raw = tokens[position]
        word = raw.strip(",").lower()
        more = raw.endswith(",")
        position += 1
        particle = ""
        if position < len(tokens) and not more and tokens[position].strip(",").lower() in words.PARTICLES:
            particle = tokens[position].strip(",").lower()
            more = tokens[position].endswith(",")
            position += 1
        if word:
            acts.append((words.key(word), particle))
        if more:
            if position < len(tokens) and tokens[position].lower() == "or":
                position += 1
            continue
        if position + 1 < len(tokens) and tokens[position].lower() == "or":
            position += 1
            continue
        break
    rest = tokens[position:]
    if len(acts) == 1 and not acts[0][1] and len(rest) > 1 and rest[-1].lower() in words.PARTICLES:
        acts[0] = (acts[0][0], rest.pop().lower())
    return tuple(acts), " ".join(rest)
