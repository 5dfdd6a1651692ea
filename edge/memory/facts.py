"""Facts by rules: habits, preferences, relations, ownership and plans, each from what was said or from what recurs.

After EM2Mem's semantic memory: a fact that says the same as one of its family (same kind, subject and relation; likeness
above 0.6) adds to its support instead of standing beside it.  What only recurrence can tell stays a candidate until it
rests on three days.  A fact is retired when what it rests on is gone or is contradicted by newer words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from edge.memory.bounds import all_bounded, bounded
from edge.memory.graph import canonical, person
from edge.memory.patterns import Embed
from edge.memory.text import content, sentence
from storage import Snapshot, Transaction
from storage.context_records import Fact, FactKind, FactState, Support
from storage.records import Episode, Intention, MadeBy, Pattern, Utterance, Window
from storage.vectors import Vector

SAME = 0.6  # likeness from which two facts of a family are one
HABIT_DAYS = 3
OBJECT_WORDS = 9

_KIN = (
    "mother|father|mum|mom|dad|sister|brother|son|daughter|wife|husband|partner|girlfriend|boyfriend|friend|boss|colleague|"
    "neighbou?r|roommate|flatmate|aunt|uncle|cousin|grandmother|grandfather|grandma|grandpa|niece|nephew|doctor|dentist|"
    "teacher|dog|cat|baby|kid|manager|landlord|student|coach"
)
_NAME = r"(?P<name>[A-Z][\w'\u2019-]+)"
_END = r"(?=[.,;!?]|\s+(?:and|but|so|because|when|since|though|although)\b|$)"
_HOW = r"(?:really |absolutely |still |also |just |totally |quite |truly )*"


@dataclass(frozen=True, slots=True)
class Draft:
    """A fact on its way into the store; `alone` says that one support is enough for it to be told."""

    kind: FactKind
    subject: str
    relation: str
    object: str
    support: Support
    alone: bool = True
    key: str = ""
    made_by: MadeBy = "rules"

    @property
    def text(self) -> str:
        """The fact in words."""
        who = "The wearer" if self.subject == "wearer" else self.subject
        if self.kind == "relation":
            return sentence(
                f"{self.object} is {'the wearer' if self.subject == 'wearer' else self.subject}'s {self.relation}"
            )
        if self.kind == "habit" and self.relation == "does":
            return sentence(f"{who} often does this: {self.object}")
        if self.relation == "recurs":
            return sentence(f"This recurs: {self.object}")
        if self.relation == "recurs alike":
            return sentence(f"Something like this recurs: {self.object}")
        return sentence(f"{who} {self.relation} {self.object}")


# (kind, relation, pattern with a group "what"), tried on each sentence of each speaker
_SAID: tuple[tuple[FactKind, str, re.Pattern[str]], ...] = (
    ("preference", "dislikes", re.compile(rf"\bi {_HOW}(?:hate|dislike|can't stand|don't like|do not like) (?P<what>.+?){_END}", re.I)),
    ("preference", "likes", re.compile(rf"\bi {_HOW}(?:love|like|adore|enjoy|prefer|am into|'m into) (?P<what>(?!to know|that|it\b|you\b|how\b|what\b).+?){_END}", re.I)),
    ("preference", "likes", re.compile(r"\bmy (?:absolute )?fav(?:ou?rite|e)? (?:[\w ]{1,24}? )?(?:is|are) (?P<what>.+?)" + _END, re.I)),
    ("preference", "avoids", re.compile(rf"\bi(?:'m| am) {_HOW}allergic to (?P<what>.+?){_END}", re.I)),
    ("preference", "avoids", re.compile(rf"\bi (?:don't|do not|never) (?:eat|drink) (?P<what>.+?){_END}", re.I)),
    ("habit", "does", re.compile(r"\bi (?:usually|always|often|normally|typically) (?P<what>.+?)" + _END, re.I)),
    ("habit", "does", re.compile(r"\b(?:every (?:day|morning|evening|night|week|weekend)|on \w+days),? i (?P<what>.+?)" + _END, re.I)),
    ("ownership", "owns", re.compile(rf"\bi {_HOW}(?:bought|own|just got|got myself|have got|'ve got) (?P<what>(?:a|an|the|some|new|two|three) .+?){_END}", re.I)),
    ("ownership", "owns", re.compile(r"\b(?:this|that|it|these|those) (?:is|are|was) my (?P<what>(?!" + _KIN + r"|own\b|first|last|favou?rite|turn)[\w' -]+?)" + _END, re.I)),
    ("ownership", "owns", re.compile(r"\bthe (?P<what>[\w -]{2,30}?) (?:is|are) mine\b", re.I)),
    ("plan", "plans to", re.compile(r"\b(?:i'm|i am|we're|we are) (?:going|planning|hoping) to (?P<what>[^.;!?]+)", re.I)),
    ("plan", "plans to", re.compile(r"\b(?:i|we)(?:'ll| will) (?P<what>[^.;!?]+)", re.I)),
    ("plan", "has", re.compile(r"\b(?:i|we)(?:'ve| have)(?: got)? (?P<what>(?:a|an) (?:\w+ ){0,3}(?:appointment|meeting|interview|exam|flight|date|party|trip|reservation|class|deadline)\b[^.;!?]*)", re.I)),
)  # fmt: skip
_WHOSE = re.compile(
    rf"\b(?:this|that|it|the (?P<it>[\w -]{{2,24}}?)) (?:is|was|belongs to) (?:my |the )?(?P<who>[A-Z]\w+|{_KIN})(?:'s (?P<what>[\w -]+?))?{_END}",
    re.I,
)
_RELATED = (
    re.compile(rf"\b[Mm]y (?:\w+ )?(?P<kin>{_KIN}),? (?:is (?:called |named )?|'s name is )?{_NAME}"),
    re.compile(rf"\b{_NAME}(?:,| is) my (?:\w+ )?(?P<kin>{_KIN})\b"),
    re.compile(rf"\b(?:[Mm]eet|[Tt]his is|[Tt]hat's|[Tt]hat is) {_NAME},? my (?:\w+ )?(?P<kin>{_KIN})\b"),
)
_OPPOSITE = {"likes": "dislikes", "dislikes": "likes"}
_VAGUE = frozenset(
    "it that this them those these you him her one things thing stuff all some is are was were be when how what where why if "
    "so too very really not more most just also seeing hearing to the idea".split()
)
# Doings that become habits when they recur; opening doors does not
_HABITS = frozenset(
    content(
        "drink eat brush shower bathe shave exercise run jog walk read watch play cook bake smoke write call visit swim train "
        "practise practice meditate pray sing paint sew knit garden water feed commute cycle sleep nap groom study"
    )
)
_TIME = re.compile(
    r"\b(?:today|tonight|tomorrow|later|soon|next|this (?:morning|afternoon|evening|week|weekend|month|year|summer|winter)|on "
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|in (?:a|an|one|two|three|\d+|january|february|march|april|may|june|july|august|"
    r"september|october|november|december)\b|at (?:noon|\d)|before|after|by|weekend)",
    re.I,
)
_NOUN = re.compile(r"(?:a|an|the|their|some|this|that)\b", re.I)
_IDLE = re.compile(
    r"(?:be|keep|try|have to|get through|let you|love|miss|see|make it|stay|think|know|never|always)\b", re.I
)
_NOBODY = frozenset("this that it he she they here there and so but well now the yes no being having with both".split())
_THEIRS = {
    "my": "their",
    "i": "they",
    "i'm": "they are",
    "me": "them",
    "myself": "themselves",
    "our": "their",
    "we": "they",
}
_NO_THING = re.compile(
    r"\b(?:way|calling|focus(?:es)?|dream|passion|goal|trip|journey|companions?|possession|time|plan|idea|life|job|turn|thing|"
    r"priority|go-to|top|pick|hero|world|inspiration|happy|safe)\b",
    re.I,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def heard(window: Window) -> list[Draft]:
    """The facts stated in a window, in the order they were said; names keep the speaker who said them."""
    window = bounded(window)
    return [draft for said in window.speech for draft in _of(said, window)]


def stated(text: str, support: Support) -> list[Draft]:
    """The facts the owner states outright, resting on what `support` names."""
    window = Window("", support.t, support.t + 1, support.offset_s)
    said = Utterance(support.t, "wearer", text)
    return [replace(d, support=support, made_by="owner") for d in _of(said, window)]


def _of(said: Utterance, window: Window) -> Iterator[Draft]:
    who = person(said.speaker).name
    if who == "other":  # nobody knows whose facts these would be
        return
    for text in _SENTENCE.split(said.text):
        if text.rstrip().endswith("?"):
            continue
        rests = Support(
            f"o{said.id}" if said.id else f"w{window.id}:{said.t}", said.t, window.offset_s, text.strip()[:300],
            window.known, window.id,
        )  # fmt: skip
        for kind, relation, pattern in _SAID:
            for match in pattern.finditer(text):
                what = _object(match["what"])
                if what and _tells(kind, relation, what, match["what"]):
                    yield Draft(kind, who, relation, what, rests)
        for related in _RELATED:
            for match in related.finditer(text):
                name = re.sub(r"['\u2019]s$", "", match["name"])
                if not name.endswith("ly") and name.lower() not in _NOBODY:
                    yield Draft("relation", who, match["kin"].lower(), name, rests)
        for match in _WHOSE.finditer(text):
            thing = match["it"] or match["what"]
            owner = match["who"]
            if thing and _object(thing) and (match["what"] or "belongs to" in match[0]) and owner.lower() not in _VAGUE:
                known = owner if owner[0].isupper() else f"{'the wearer' if who == 'wearer' else who}'s {owner.lower()}"
                yield Draft("ownership", known, "owns", _object(thing), rests)


def _tells(kind: FactKind, relation: str, what: str, whole: str) -> bool:
    """Whether something said is a fact: a plan needs a time and an act, something owned is a thing."""
    if kind == "plan":
        return bool(_TIME.search(whole)) and not _IDLE.match(what) and (relation == "has" or not _NOUN.match(what))
    return kind != "ownership" or not _NO_THING.search(what)


def planned(intention: Intention) -> Draft | None:
    """The plan in an intention with a time or an occasion; None for one without."""
    if not _TIME.search(intention.due) or _IDLE.match(intention.what):
        return None
    rests = Support(
        f"i{intention.id}", intention.t, intention.offset_s, intention.quote[:300], intention.known, intention.window_id
    )
    return Draft(
        "plan", "wearer", "plans to", _object(f"{intention.what} {intention.due}"), rests, key=f"plan|i{intention.id}"
    )


def recurring(episode: Episode, windows: Sequence[Window]) -> list[Draft]:
    """What the wearer did in an episode that is a habit once it recurs, each once."""
    found: dict[str, Draft] = {}
    for window in all_bounded(windows):
        for e in window.events:
            if person(e.subject).name != "wearer":
                continue
            words = content(e.action)
            act, thing = (e.action, e.object)
            if e.action.lower().startswith(("start ", "begin ")):  # an activity by name
                words, act = content(e.object), ""
            if not set(words) & _HABITS:
                continue
            name = canonical(thing)
            what = " ".join(p for p in (act.strip().lower(), name) if p)
            key = "habit|wearer|" + " ".join(sorted(set(content(what))))
            if name and key not in found:
                rests = Support(f"e{episode.id}", e.t, window.offset_s, what, episode.known, window.id, episode.id)
                found[key] = Draft("habit", "wearer", "does", what, rests, alone=False, key=key)
    return list(found.values())


def routine(pattern: Pattern, members: Sequence[Episode]) -> list[Draft]:
    """The habit a routine is, resting on its episodes; none while it is a thread or too young."""
    if pattern.kind != "routine" or pattern.days < HABIT_DAYS:
        return []
    key = f"habit|p{pattern.id}"
    same = sum(e.subject == pattern.title for e in members) > 1  # else its title is but one of many that are alike
    return [
        Draft(
            "habit", "wearer", "recurs" if same else "recurs alike", pattern.title,
            Support(f"e{e.id}", e.t_start, e.offset_s, e.subject, max(e.known, pattern.known), None, e.id),
            alone=False, key=key,
        )
        for e in members
    ]  # fmt: skip


def settle(
    tx: Transaction, snapshot: Callable[[], Snapshot], drafts: Sequence[Draft], embed: Embed, known: int
) -> list[Fact]:
    """Take drafts into the memory: more support for a fact that is known, a new fact otherwise.

    Returns the facts that are new or have changed their state.
    """
    changed: list[Fact] = []
    for key, group in _grouped(drafts).items():
        now = snapshot()
        first = group[0]
        found, vector = now.facts.with_key(key), None
        if found is None and not first.key:
            vector = embed([first.text])[0]
            found = _same(now, first, vector)
        rests = [d.support for d in group]
        if found is not None:
            have = now.facts.rests(found.id, [s.ref for s in rests])
            rests = [s for s in rests if s.ref not in have]
            if not rests:
                continue
            state = _state(first, found, rests)
            tx.facts.support(found.id, rests, known, state)
            if state != found.state:
                changed.append(snapshot().facts.get(found.id))
            fact_id = found.id
        else:
            vector = embed([first.text])[0] if vector is None else vector
            days = len({_day(s) for s in rests})
            state = "active" if first.alone or days >= HABIT_DAYS else "candidate"
            fact = Fact(
                first.kind, first.subject, first.relation, first.object, first.text, key, state, 0, 0, 0, 0, known,
                first.made_by,
            )  # fmt: skip
            fact_id = tx.facts.add(fact, vector, rests)
            if state == "active":
                changed.append(snapshot().facts.get(fact_id))
        changed += _contradicted(tx, snapshot(), first, fact_id, known)
    return changed


def end_plan(tx: Transaction, snapshot: Snapshot, intention: Intention, known: int) -> list[Fact]:
    """The plan of an intention that was done or dropped is over."""
    fact = snapshot.facts.with_key(f"plan|i{intention.id}")
    if fact is None or fact.state == "retired":
        return []
    tx.facts.move(fact.id, "retired", known, f"it was {intention.state}")
    return [snapshot.facts.get(fact.id)]


def _same(snapshot: Snapshot, draft: Draft, vector: Vector) -> Fact | None:
    """The fact of the family that says the same: alike above SAME and about a thing of the same name."""
    family = snapshot.facts.family(draft.kind, draft.subject, draft.relation)
    own = set(content(draft.object))
    alike = [f for f in family if _about_the_same(own, set(content(f.object)))]
    vectors = snapshot.facts.vectors([f.id for f in alike])
    scored = [(float(vector @ vectors[f.id]), -f.id, f) for f in alike if f.id in vectors]
    best = max(scored, key=lambda x: x[:2], default=None)
    return best[2] if best is not None and best[0] > SAME else None


def _about_the_same(a: set[str], b: set[str]) -> bool:
    """Whether the shorter name is all but contained in the longer one."""
    small, large = sorted((a, b), key=len)
    return bool(small) and len(small & large) >= max(1, len(small) - 1) and (len(small) > 1 or small <= large)


def _state(draft: Draft, fact: Fact, rests: Sequence[Support]) -> FactState:
    if fact.state == "active" or draft.alone:
        return "active"
    return (
        "active" if fact.days + len({_day(s) for s in rests} - {_last_day(fact, rests)}) >= HABIT_DAYS else fact.state
    )


def _last_day(fact: Fact, rests: Sequence[Support]) -> int:
    return (fact.t_last + rests[0].offset_s * 1_000_000) // 86_400_000_000


def _day(support: Support) -> int:
    return (support.t + support.offset_s * 1_000_000) // 86_400_000_000


def _contradicted(tx: Transaction, snapshot: Snapshot, draft: Draft, fact_id: int, known: int) -> list[Fact]:
    """What newer words of the same person deny is retired."""
    opposite = _OPPOSITE.get(draft.relation)
    if draft.kind != "preference" or opposite is None:
        return []
    own = set(content(draft.object))
    found = []
    for fact in snapshot.facts.family("preference", draft.subject, opposite):
        if fact.state == "active" and set(content(fact.object)) == own:
            tx.facts.move(fact.id, "retired", known, f"f{fact_id} says the opposite since")
            found.append(snapshot.facts.get(fact.id))
    return found


def _grouped(drafts: Sequence[Draft]) -> dict[str, list[Draft]]:
    """Drafts by key, those of one key together, in their order."""
    found: dict[str, list[Draft]] = {}
    for d in drafts:
        key = d.key or "|".join((d.kind, d.subject.casefold(), d.relation, " ".join(sorted(set(content(d.object))))))
        found.setdefault(key, []).append(d)
    return found


def _object(text: str) -> str:
    """What a fact is about, in few words; "" when it says nothing by itself."""
    words = text.split(" - ", maxsplit=1)[0].strip(" ,.;:!?\"'-").split()
    if not words or words[0].lower() in _VAGUE or not content(text):
        return ""
    return " ".join(_THEIRS.get(w.lower(), w) for w in words[:OBJECT_WORDS])
