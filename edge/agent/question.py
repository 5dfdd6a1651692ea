"""Understanding a question: its form, its act and thing, its times, its quotes, into one frozen Query.

The grammar knows English question forms, not data: "when was the last time I shut the fridge" and "when did I last close
the fridge" come out alike.  Time phrases and quotes are taken out first, so that the forms stay short.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from edge.retrieval import timephrase, words
from edge.retrieval.timephrase import Span, Us, Zone

Form: TypeAlias = Literal[
    "when", "when_done", "did", "count", "count_days", "days_with", "days_without", "days_since", "usual_time",
    "usual_next", "duration", "order", "before_than", "next", "previous", "put", "taken_from", "said_when", "reply",
    "said_what", "text", "session", "wrong", "during", "recipe_had", "amount", "step_when", "now", "lookup",
]  # fmt: skip


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
    """A question understood.  Times in microseconds UTC; `start`/`end` None where no time was named."""

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
    r"(?: (?:that|which))? (?P<when>(?:began|started|starting|beginning|begins|starts|from|at|of|on)\b[^,?]*)",
    re.IGNORECASE,
)
_CONTEXT = re.compile(
    r"^(?:while|when|as|during the time|the time) (?:i (?:was|were) (?:busy )?(?:to )?|i (?:last )?)(?P<what>[^?]+?), "
    r"(?P<rest>(?:how|what|which|when|where|did|who|at)\b.+)$",
    re.IGNORECASE,
)
_I = r"(?:i|we)"
_AUX = r"(?:did|have|had|do|was|were|am)"
_USUAL = r"(?:usually|normally|typically|generally|most often|mostly|often|tend to|commonly|regularly)"
_EVER = r"(?:ever |already |actually |really |even )*"


def _rules() -> list[tuple[Form, re.Pattern[str]]]:
    """The forms, most special first.  Groups: vp (a verb phrase), obj, a/b (two phrases), who, ord, unit, not."""
    table: list[tuple[Form, str]] = [
        ("session", r"(?:when|at what time|what time) did i (?:start|begin|do|have|make|record) the (?:session|task|activity|recording|job|work|one)\b(?P<vp>.*\u00a7\d.*)"),
        ("session", r"(?:when|which|what)\b.*\b(?:session|task|recording|activity)\b.*\b(?:describe[ds]?|summari[sz]ed?|like this)\b(?P<vp>.*)"),
        ("days_since", rf"how (?:many days|long) (?:ago|back) (?:did|was it (?:that )?|have) ?{_I}? ?(?:(?P<ord>last|first) )?(?P<vp>.+)"),
        ("days_since", rf"how (?:many days|long) (?:is it|has it been|has passed|have passed|ago was it|is it now|passed) since {_I} (?:have )?(?:last )?(?P<vp>.+)"),
        ("count_days", rf"(?:on |in )?how many (?:different |distinct )?(?:of )?(?:the |my |these )?(?:different |distinct )?(?:recorded )?days\b.*?\b{_AUX} {_I} (?P<not>not |never )?{_EVER}(?P<vp>.+)"),
        ("days_without", rf"(?:on |in )?(?:which|what) (?:of )?(?:the |my |these )?(?:recorded )?days\b.*?\b(?:{_AUX} {_I} (?:not|never)|(?:didn't|haven't|hadn't) {_I}|(?:{_AUX} {_I} )?(?:skip(?:ped)?|miss(?:ed)?|(?:went|go|gone) without)) (?P<vp>.+?)(?: at all| even once)?"),
        ("days_without", r"(?:on )?(?:which|what) days (?:passed|went by|were there) without (?:me |my )?(?P<vp>.+)"),
        ("days_with", rf"(?:on |in )?(?:which|what) (?:of )?(?:the |my |these )?(?:recorded )?(?:days?|dates?)\b.*?\b{_AUX} {_I} {_EVER}(?P<vp>.+)"),
        ("usual_time", rf"(?:at )?(?:about |around |roughly )?(?:when|what time(?: of (?:the )?day)?|what hour)(?: of (?:the )?day)? do {_I} {_USUAL} (?:first )?(?P<vp>.+)"),
        ("usual_time", rf"(?:what(?: is|'s) (?:my|the) usual time (?:to|for|of|when i)|what time do i {_USUAL}) (?P<vp>.+)"),
        ("usual_next", rf"what (?:do|will|would) {_I} {_USUAL} (?:start|do|begin|turn to)?(?: doing| next| then| right| directly)* ?(?:next )?after (?:that )?(?P<vp>.+)"),
        ("usual_next", rf"after (?P<vp>.+?),? what do {_I} {_USUAL} (?:start|do|begin).*"),
        ("usual_next", rf"what {_USUAL} (?:comes|follows|happens) (?:next )?after (?P<vp>.+)"),
        ("count", rf"how (?:many times|often|frequently)(?: in (?:all|total))? {_AUX} {_I} {_EVER}(?P<vp>.+?)(?: in (?:all|total)| so far| until now| up to now| altogether)*"),
        ("count", r"how many (?P<obj>.+?) (?:did|have) (?:i|we) (?P<verb>\w+(?: up| out| down| away| off| on)?)(?: in (?:all|total)| so far| today)*"),
        ("wrong", r"(?:what|where|did anything|was anything) (?:went wrong|go wrong|was wrong|did i do wrong|mistake\b.*?|error\b.*?|did i get wrong|was my mistake)(?: when| while| at| in| with| during| on| for| i)*\b(?: the)?(?: step)?(?P<vp>.*)"),
        ("duration", rf"how (?:long|(?:many|much) (?P<unit>seconds?|minutes?|hours?|time)) (?:in all |altogether )?(?:did|have|was|were|had) (?:{_I}|it) (?:spend|spent|take|took|taken|need|needed|last|be|been|busy)?(?: me| on| doing| to| for| with| in)*\b ?(?P<vp>.*)"),
        ("duration", r"how long (?:was|lasted|did) (?:the |my )?(?P<vp>.+?)(?: last| take)?"),
        ("order", r"(?:which|what)(?: of (?:these|the two|them))?(?: of (?:these|the two|them))?,? ?(?:thing |step |one )?(?:did i|was|came|happened|have i)? ?(?:do|start|begin|done|come|happen)? ?(?:first|earlier|sooner)(?: of all)?[:,]? (?P<alts>.+ or .+)"),
        ("order", r"did i (?P<alts>.+ or .+?) (?:first|earlier)"),
        ("before_than", rf"did {_I} (?P<a>.+?) (?P<ord>before|after) (?:{_I} )?(?P<b>.+)"),
        ("next", r"(?:what|which|(?:what|which) (?:\w+[- ]?){0,2}?(?:step|activity|action|thing|task|one))(?: else)? (?:did|was|have) (?:i|we) (?:do|doing|done|start|started|begin|begun|take|perform|turn to)?(?: doing)?(?: next| then| right| just| immediately| directly| straight| shortly)* ?after(?:wards)?\b(?P<vp>.*)"),
        ("previous", r"(?:what|which|(?:what|which) (?:\w+[- ]?){0,2}?(?:step|activity|action|thing|task|one))(?: else)? (?:did|was|have|had) (?:i|we) (?:been )?(?:do|doing|done|start|started|begin|begun|take|perform)?(?: doing)?(?: right| just| immediately| directly| straight| shortly)* ?before(?:hand)?\b(?P<vp>.*)"),
        ("next", r"what (?:came|happened|followed|was)(?: next| right| just| immediately| directly)* ?(?:after)?\b (?P<vp>.*\u00a7\d.*)"),
        ("next", r"after (?P<vp>.+?),? (?:what|which \w+) did i (?:do|start|begin)(?: next| then)?"),
        ("previous", r"before (?P<vp>.+?),? (?:what|which \w+) (?:did|had) i (?:do|done|start|begin)"),
        ("taken_from", r"(?:from )?where (?:had|did|have) i (?:taken?|took|got(?:ten)?|get|picked? up|pick up|fetch(?:ed)?|bring|brought) (?P<obj>.+?)(?: (?:up )?from| out of)?(?: (?:before|when|that) i (?:put|placed|set) (?:it|them) (?:down|back|away)?.*)?"),
        ("put", r"where (?:did|have|had) i (?:(?P<ord>last|first) )?(?:put|place|placed|leave|left|set|lay|laid|store|stored|stow|hang|hung|drop|dropped|park|parked|hide|hid)(?: (?:down|back|away))? (?P<obj>.+?)(?: (?:down|back|away|last))?(?: (?:that|which|after|when) i (?:had )?(?:pick|picked|took|take|taken|grabbed)\b.*)?"),
        ("put", r"where (?:is|are|was|were|'s|did|have|can|could) (?:i )?(?:(?:last )?(?:see|seen|find|saw|found) )?(?P<obj>(?:the|my|our|those|these|that|this|a|an|all)\b.+?)(?: (?:now|last|seen|kept|put|located|left|stored|last seen))*"),
        ("said_when", r"(?:when|at what time|what time) (?:did|was it that) (?P<who>.+?) (?:tell|told|say|said|ask|asked|mention|mentioned|answer|answered|remark|reply|explain)(?: (?:to )?(?:me|us))?(?: that)?[:,]? ?(?P<vp>\u00a7\d)"),
        ("reply", r"what (?:did|was) (?P<who>.+?) (?:answer|reply|respond|say|said|answered)(?: back)?(?: to me)?,? (?:when|after|as) (?:i|we|\w+) (?:had )?(?:ask|asked|say|said|told|tell|replied|mentioned)(?: \w+)?[:,]? ?(?P<vp>\u00a7\d)"),
        ("reply", r"what was (?P<who>.+?)(?:'s)? (?:answer|reply|response) (?:to|when i (?:asked|said))[:,]? ?(?P<vp>\u00a7\d)"),
        ("now", r"(?:what(?:'s| is| does| am| are)|who(?:'s| is)) (?P<vp>(?:this|that|it|i (?:holding|doing|looking at|seeing)|in front of me|in my hands?|talking|speaking|happening|going on)\b.*)"),
        ("amount", r"(?:what was the |what's the |what is the )?(?:exact )?(?:how much|quantity|amount|weight)(?: of)? (?P<a>.+?) (?:used|was used|went|put|added|did i (?:use|weigh|add|put))(?: in(?:to)?| for| to)? (?P<b>.+)"),
        ("amount", r"how (?:much|many grams)(?: of)? ?(?P<a>.*?) ?did i (?:weigh|measure|use|add)(?: out)?(?: of)? ?(?P<b>.*)"),
        ("text", r"what (?:did|does|do|was|is) (?:(?:written|printed|shown|displayed) on )?(?P<obj>(?:the|that|this|my|a|an)\b.+?)(?: (?:say|read|show|display|tell me|state)s?)?(?: when\b.*| at the (?:start|beginning|end)\b.*)?"),
        ("said_what", r"what (?:did|have|has) (?P<who>(?!i\b|we\b)[\w ']+?) (?:say|said|tell|told|mention|ask|explain)(?: (?:to )?(?:me|us))?(?: about)? ?(?P<vp>.*)"),
        ("recipe_had", r"which of (?:these|the following) ingredients? (?:is|are|was|were) (?P<not>not )?(?:used|in|part of|needed)(?: in| for| to make)? (?P<vp>.+)"),
        ("step_when", r"when did i (?:perform|do|carry out) (?:the )?(?P<prep>prep(?:aration)? for |prepare )?(?:the )?(?:step )?(?P<vp>.+)"),
        ("step_when", r"which of (?:these|the following) time segments? (?:belongs?|corresponds?|matches)(?: to)? (?:the )?(?P<vp>.+)"),
        ("step_when", r"when was (?:the )?(?:ingredient )?(?P<vp>.+? (?:added|put) to .+)"),
        ("when", rf"(?:at )?(?:when|what time|what hour)(?: exactly)? {_AUX} {_I} (?:(?P<ord>last|first) )?{_EVER}(?P<vp>.+?)(?: for the (?P<ord2>last|first) time)?"),
        ("when", rf"(?:when|what time|what)(?: was|'s| is) the (?P<ord>last|first|latest|earliest|most recent) time (?:that |when )?{_I} (?:have )?(?P<vp>.+)"),
        ("when", r"(?:at what time|when) was (?P<obj>.+?) (?:(?P<ord>last|first) )?(?P<verb>\w+(?:ed|en|t|g|k|n))(?: by me)?"),
        ("during", r"(?:what|which)\b.*\b(?:did|was|were|am|have|had) i (?:do|doing|done|busy with|up to|perform|make|making)\b(?P<vp>.*)"),
        ("during", r"what (?:happened|was happening|went on|was going on|did i see|was there)\b(?P<vp>.*)"),
        ("did", rf"(?:did|have|had|was|were) {_I} (?P<not>not |never )?{_EVER}(?P<vp>.+?)(?: at all| yet)?"),
        ("did", rf"(?:didn't|haven't|hadn't) {_I} {_EVER}(?P<vp>.+?)(?: at all| yet)?"),
    ]  # fmt: skip
    return [(form, re.compile(pattern, re.IGNORECASE)) for form, pattern in table]


_RULES = _rules()


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
    body = re.sub(r"\s+", " ", found.rest).strip(" ?.!")
    body = re.sub(
        r"^(?:(?:please|hey|ok|okay|so|and|well|can you tell me|could you tell me|tell me|do you know|i wonder)[, ]+)+",
        "",
        body,
        flags=re.I,
    )
    body = re.sub(r"^[,:; ]+", "", body)
    body = re.sub(r" (?:so far|up to now|until now|in all|in total)\b", "", body) if "days" in body else body
    context = ""
    if (m := _CONTEXT.match(body)) is not None:
        context, body = m.group("what").strip(), m.group("rest").strip(" ,")
    elif (
        m := re.match(r"^(?P<what>\u00a7\d) is (?:something|a thing|what) i \w+.*?\. (?P<rest>.+)$", body, re.I)
    ) is not None:
        quoted = m.group("what")
        body = re.sub(r"\bit\b", quoted, m.group("rest"), count=1)
    for form, pattern in _RULES:
        if (m := pattern.fullmatch(body)) is not None:
            return _query(text, form, m, quotes, found.spans, recording, context, choices, body)
    clause = _clause(body, quotes)
    return Query(text, "lookup", (clause,), found.spans, recording, _fill(context, quotes), choices=choices)


def _query(
    text: str, form: Form, m: re.Match[str], quotes: tuple[str, ...], spans: tuple[Span, ...],
    recording: Span | None, context: str, choices: tuple[str, ...], body: str,
) -> Query:  # fmt: skip
    g = m.groupdict()
    clauses: tuple[Clause, ...]
    if form == "order" and len(choices) == 2:
        clauses = tuple(_clause(c, quotes) if not quotes else Clause((), "", c, c) for c in choices)
    elif form == "order":
        clauses = tuple(_clause(part, quotes) for part in _two(g["alts"]))
    elif g.get("a") is not None and g.get("b") is not None:
        clauses = (_clause(g["a"], quotes), _clause(g["b"], quotes))
    elif g.get("obj"):
        clauses = (_clause(f"{g.get('verb') or 'put'} {g['obj']}", quotes),)
    else:
        clauses = (_clause(g.get("vp") or "", quotes),)
    ordinal = (g.get("ord") or g.get("ord2") or "").lower()
    ordinal = {"latest": "last", "most recent": "last", "earliest": "first"}.get(ordinal, ordinal)
    negated = bool(g.get("not")) or body.lower().startswith(("didn't", "haven't", "hadn't"))
    unit = (g.get("unit") or g.get("prep") or "").strip().lower()
    who = (g.get("who") or "").strip()
    return Query(text, form, clauses, spans, recording, _fill(context, quotes), ordinal, who, negated, unit, choices)


def _two(text: str) -> tuple[str, str]:
    """Two alternatives: cut at ", or ", else at the "or" nearest to the middle ("wash or rinse it or dry it")."""
    cuts = [(m.start(), m.end()) for m in re.finditer(r",\s*or\s+", text)]
    cuts = cuts or [(m.start(), m.end()) for m in re.finditer(r"\s+or\s+", text)]
    low, high = min(cuts, key=lambda c: abs(c[0] - len(text) / 2))
    return text[:low], text[high:]


def _fill(text: str, quotes: tuple[str, ...]) -> str:
    return re.sub(r"\u00a7(\d)", lambda m: quotes[int(m.group(1))], text)


_TAIL = re.compile(r",? (?:while|when|as|because|so that|at all|again|too|as well)\b.*$", re.IGNORECASE)
_SPLIT = re.compile(r",\s*|\s+(?:or|and)\s+")


def _clause(text: str, quotes: tuple[str, ...]) -> Clause:
    """A verb phrase -> acts, thing, quote.  "wash, rinse or wipe the fish" has three acts and one thing."""
    text = text.strip(" ,.:;?!")
    quote = next((quotes[int(m.group(1))] for m in re.finditer(r"\u00a7(\d)", text)), "")
    bare = re.sub(r"\s*\u00a7\d\s*", " ", text).strip(" ,.:;?!")
    bare = re.sub(r"^(?:i|we) (?:was |were |have |had |did )?", "", bare, flags=re.IGNORECASE)
    bare = _TAIL.sub("", bare) if not quote else bare
    acts, thing = verbs_of(bare)
    return Clause(acts, thing, quote, _fill(text, quotes))


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
