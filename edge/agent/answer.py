"""`ask`: a question in, an answer with its proof out.

The answer's value is exact where the memory is (times, counts, days, places, words), and None where it is not; every
answer names the windows, moments or episodes it rests on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from edge.agent import anchored_time, dispatch, doubts, followup
from edge.agent.draft import Draft
from edge.agent.glance import Glance
from edge.agent.llm_check import spoken_sentences
from edge.agent.llm_loop import SURE, Budget, Thinking, Thought
from edge.agent.question import Query, understand
from edge.agent.view import Embed, View
from edge.errors import ConfigError, QuestionError, sentence_of
from edge.logs import Log
from edge.retrieval.looking import Eyes
from edge.retrieval.zone import Us
from models.errors import ModelError
from models.roles import Language
from storage.snapshot import Snapshot

Policy: TypeAlias = Literal["auto", "rules", "llm"]
POLICIES: tuple[Policy, ...] = ("auto", "rules", "llm")
Say: TypeAlias = Callable[[str], None]

KEPT = 0.3  # confidence from which it stands when the model does not know either

_log = Log("agent")

MAX_QUESTION = 2000
EVIDENCE = 8


@dataclass(frozen=True, slots=True)
class Answer:
    """One or two spoken sentences, the value for machines, how sure, and the proof (best first).

    `query` is the question as it was understood: given to the next `ask` as `previous`, it makes follow-ups whole.
    `rounds` and `calls` are the model's rounds and the reads of the memory, `tokens` what a model read and wrote; `note`
    says why a model that was to answer did not.  `transcript` is what a model wrote in each round.
    """

    answer: str
    value: Any
    kind: str
    confidence: float
    evidence: tuple[dict[str, str], ...]
    policy: str = "rules"
    rounds: int = 1
    calls: int = 0
    latency_ms: float = field(default=0.0, compare=False)
    query: Query | None = field(default=None, compare=False)
    tokens: int = 0
    note: str = ""
    transcript: tuple[dict[str, object], ...] = field(default=(), compare=False)

    def to_json(self) -> dict[str, Any]:
        """The JSON form of `ask --json`."""
        more: dict[str, Any] = {"note": self.note} if self.note else {}
        if self.tokens:
            more["tokens"] = self.tokens
        return {
            "answer": self.answer,
            "value": self.value,
            "kind": self.kind,
            "confidence": round(self.confidence, 3),
            "evidence": list(self.evidence),
            "policy": self.policy,
            "rounds": self.rounds,
            "calls": self.calls,
            "latency_ms": self.latency_ms,
            **more,
        }


@dataclass(frozen=True, slots=True)
class Mind:
    """A language model to answer with, what a question may cost, and a clock of monotonic microseconds."""

    model: Language
    mono: Callable[[], int]
    budget: Budget = field(default_factory=Budget)


def ask(
    snapshot: Snapshot,
    question: str,
    *,
    now: Us,
    offset_s: int,
    owner: str = "",
    choices: Sequence[str] | None = None,
    embed: Embed | None = None,
    policy: Policy = "auto",
    previous: Query | None = None,
    mind: Mind | None = None,
    glance: Glance | None = None,
    eyes: Eyes | None = None,
    say: Say | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Answer:
    """Answer a question from what is known in the snapshot.

    `glance` looks through the camera of a running device for questions about now, `eyes` open stored frames again.
    Policy `rules` needs no model; `auto` asks `mind` where the rules are not sure; `llm` lets it answer in any case.
    `say` gets the spoken sentences one by one, each as soon as it stands; `cancelled` is polled while a model works.
    `now` is the time of asking in microseconds UTC, `offset_s` the wearer's UTC offset then; `owner` the wearer's name;
    `previous` what was understood of the question before ("and yesterday?" follows it for a few minutes).
    Raises QuestionError when there is no question in it, when it is too long, or when it is not English; ConfigError
    for policy `llm` without a model.
    """
    if policy not in POLICIES:
        raise QuestionError(f"There is no policy {policy!r}: use {', '.join(POLICIES)}.")
    if policy == "llm" and mind is None:
        raise ConfigError("No language model is chosen to answer: set llm.agent to local or remote, or use auto.")
    text = _checked(question)
    view = View(snapshot, now, offset_s, owner, embed, glance, eyes)
    if previous is not None and not choices:
        text = followup.whole(text, view.zone, previous)
    text, second = (text, "") if choices else doubts.first_of_two(text, view.zone)
    told = anchored_time.Told(text) if choices else anchored_time.resolve(view, text)
    text = told.text
    query = replace(understand(text, view.zone, tuple(choices or ())), asked=now)
    draft = dispatch.answer(view, query)
    note = told.note or anchored_time.guessed(query.spans, view.zone)
    if note:
        draft = replace(draft, answer=f"{draft.answer.rstrip('.')}, {note}.")
    if second:
        draft = replace(draft, answer=f"{draft.answer} Ask me the second question by itself.")
    note, spent = "", None
    if mind is not None and (policy == "llm" or (policy == "auto" and not sure(draft))):
        thinking = Thinking(view, query, mind.model, mind.budget, mono=mind.mono, cancelled=cancelled, say=say)
        try:
            thought = thinking.run(draft)
        except ModelError as error:
            note = sentence_of(error)
            _log.warning("fell_back", part="agent", cause=error)
        else:
            known = thought.draft.value is not None
            kept = SURE if policy == "llm" else KEPT
            if known or draft.value is None or draft.confidence < kept:
                _say_all(None if known else say, thought.draft.answer)
                return _finished(view, thought.draft, query, thought)
            note = "The model did not know; this is what the records say exactly."
            spent = thought
    _say_all(say, draft.answer)
    found = replace(_finished(view, draft, query), note=note)
    if spent is not None:
        found = replace(found, rounds=spent.rounds, calls=found.calls + spent.calls, tokens=spent.tokens)
    return found


def _say_all(say: Say | None, text: str) -> None:
    if say is not None:
        for part in spoken_sentences([text]):
            say(part)


def sure(draft: Draft) -> bool:
    """Whether what the rules found needs no second opinion."""
    return draft.value is not None and draft.confidence >= SURE


def _gone(snapshot: Snapshot, ref: str) -> dict[str, str]:
    """Whether what stands behind a piece of evidence was pruned, and why."""
    pruned = snapshot.retention.behind(ref)
    return {} if pruned is None else {"pruned": pruned.why}


def _finished(view: View, draft: Draft, query: Query, thought: Thought | None = None) -> Answer:
    evidence = tuple(
        {
            "kind": e.kind,
            "id": e.id,
            "t_start": view.zone.iso(e.t_start),
            "t_end": view.zone.iso(e.t_end),
            "text": e.text,
            **_gone(view.snap, e.id),
        }
        for e in draft.evidence[:EVIDENCE]
    )
    found = Answer(draft.answer, draft.value, draft.kind, draft.confidence, evidence, calls=view.calls, query=query)
    if thought is None:
        return found
    return replace(
        found, policy="llm", rounds=thought.rounds, calls=view.calls + thought.calls, tokens=thought.tokens,
        transcript=tuple(thought.transcript),
    )  # fmt: skip


_ENGLISH = frozenset(
    """a about after all am an and any are at be before been by did do does find first for from had has have how i in is it
    last long many me much my of often on or show so tell that the there these they this times to today was we were what
    when where which who whom whose why will with would yesterday you your say said going""".split()
)
_FOREIGN = frozenset(
    """el la los las un una que qué cuando cuándo donde dónde como cómo mi mis he der die das ich wann wo wie habe ist und
    nicht mein meine le les des une quand où comment mon ma mes est ce qui quoi je il lo gli che quando dove come ho sono
    wat waar wanneer hoe ik mijn het een och jag när var""".split()
)


def _checked(question: str) -> str:
    text = " ".join(str(question).replace("\x00", " ").split())
    if not text:
        raise QuestionError("The question is empty: ask something like 'when did I last open the fridge?'.")
    if len(text) > MAX_QUESTION:
        raise QuestionError(
            f"The question has {len(text)} characters, more than {MAX_QUESTION}: ask it in one or two sentences."
        )
    tokens = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", text.lower())
    if not tokens:
        raise QuestionError("There are no words in the question: ask something like 'where did I put my keys?'.")
    latin = sum(1 for c in "".join(tokens) if c < "\u0250")
    if latin < len("".join(tokens)) / 2:
        raise QuestionError("Questions are understood in English for now: please ask in English.")
    english = sum(1 for w in tokens if w in _ENGLISH)
    foreign = sum(1 for w in tokens if w in _FOREIGN)
    if english == 0 and foreign >= 2:
        raise QuestionError("Questions are understood in English for now: please ask in English.")
    return text
