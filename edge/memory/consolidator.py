"""A language model's judgement on the memory: boundary, summary, moments, match, pattern, facts.

Whoever asks has rules to fall back on.  An answer that cannot be used is no answer (None): the open unit then goes on, the
texts by rules stay, nothing is matched.  What is not there (ModelDownError and its kin) is raised, so that the work can
wait for it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from edge.config import Domain
from edge.memory.episodes import Texts
from edge.memory.facts import Draft
from edge.memory.text import content
from edge.memory.thinking_prompts import (
    BOUNDARY,
    FACTS_SCHEMA,
    MOMENTS,
    PATTERN_SCHEMA,
    SUMMARY,
    boundary_messages,
    facts_messages,
    match_messages,
    match_schema,
    moments_messages,
    moments_schema,
    pattern_messages,
    summary_messages,
)
from models.errors import InputError, OutputError
from models.roles import CallOptions, JsonSchema, Language, Message
from storage.context_records import Support
from storage.records import Episode, Moment, Pattern, Role, Utterance, Window

BATCH = 10  # candidates judged together (GROVE)
# Tokens are bounded by the schemas; the figures given to a model are for one that writes letter by letter.
LEAST_KNOWN = 0.5  # share of a summary's content words that its windows must hold
SENTENCES = 5  # of a summary at most
LONG = 36  # words of a sentence beyond which it is a list
COUNTED = 4  # numbers in a row that may still be chosen
MAIN = 5  # things that a summary has to name
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
WEIGHT = {"core": 0.85, "detail": 0.5, "context": 0.3}


@dataclass
class ThinkingHealth:
    """Counts since the start: answers that were used, and those that were not by reason."""

    boundaries: int = 0
    summaries: int = 0
    moments: int = 0
    matches: int = 0
    patterns: int = 0
    facts: int = 0
    unusable: int = 0
    ungrounded: int = 0


class Consolidator:
    """Asks a Language.  As thread-safe as the model is."""

    def __init__(self, model: Language, options: CallOptions | None = None, domain: Domain = "daily") -> None:
        self._model, self._options = model, options or CallOptions()
        self.domain: Domain = domain
        self.health = ThinkingHealth()

    def same_activity(self, recent: Sequence[Window], arriving: Window) -> bool | None:
        """Whether the arriving window goes on with the open unit; None without a usable answer."""
        answer = self._ask(boundary_messages(recent, arriving, self.domain), BOUNDARY, 600)
        if answer is None:
            return None
        self.health.boundaries += 1
        return bool(answer["same_activity"])

    def summarise(self, windows: Sequence[Window], by_rules: Texts) -> Texts | None:
        """The texts of an episode; None when the answer is unusable or speaks of what its windows do not hold.

        Place and description stay those of the rules: they are exact, and searched by.  Main things that the answer
        leaves out all the same are named in a sentence of their own.
        """
        main = main_things(windows)
        answer = self._ask(summary_messages(windows, main, self.domain), SUMMARY, 2000)
        if answer is None:
            return None
        if grounded(f"{answer['subject']} {answer['summary']}", windows, by_rules) < LEAST_KNOWN:
            self.health.ungrounded += 1
            return None
        self.health.summaries += 1
        keywords = tuple(dict.fromkeys([*(k.casefold() for k in answer["keywords"]), *by_rules.keywords]))
        subject, summary = _clean(answer["subject"]).rstrip("."), _told_once(answer["summary"], SENTENCES)
        told = set(content(f"{subject} {summary}"))
        left_out = [thing for thing in main if not set(content(thing)) <= told]
        if left_out:
            summary = f"{summary.rstrip()} Also there: {', '.join(left_out)}."
        return replace(by_rules, subject=subject, summary=summary, keywords=keywords[: max(24, len(by_rules.keywords))])

    def weigh(self, subject: str, moments: Sequence[Moment]) -> list[tuple[Role, float]] | None:
        """Role and weight of each moment of an episode; None when no part of the answer is usable."""
        judged: list[tuple[Role, float]] = []
        usable = False
        for start in range(0, len(moments), MOMENTS):
            part = moments[start : start + MOMENTS]
            answer = self._ask(moments_messages(subject, part, self.domain), moments_schema(len(part)), 200)
            if answer is None:
                judged += [(m.role, m.weight) for m in part]
                continue
            if _counts_off(answer["core"]):
                self.health.ungrounded += 1
                judged += [(m.role, m.weight) for m in part]
                continue
            usable = True
            core, context = set(answer["core"]), set(answer["context"]) - set(answer["core"])
            for n in range(1, len(part) + 1):
                role: Role = "core" if n in core else "context" if n in context else "detail"
                judged.append((role, WEIGHT[role]))
        self.health.moments += usable
        return judged if usable else None

    def belongs_to(self, episode: Episode, candidates: Sequence[Pattern]) -> Pattern | None:
        """The pattern an episode belongs to; batch by batch, the first yes counts."""
        for start in range(0, len(candidates), BATCH):
            batch = candidates[start : start + BATCH]
            answer = self._ask(match_messages(episode, batch, self.domain), match_schema(len(batch)), 600)
            if answer is not None:
                self.health.matches += 1
                if answer["belongs_to"]:
                    return batch[int(answer["belongs_to"]) - 1]
        return None

    def synthesise(self, pattern: Pattern, newest: Sequence[Episode], older: Sequence[Episode]) -> Pattern | None:
        """Title and summary of a pattern from its episodes; its figures stay.  None when the answer is unusable."""
        answer = self._ask(pattern_messages(pattern, newest, older), PATTERN_SCHEMA, 1000)
        if answer is None:
            return None
        told = " ".join(f"{e.subject} {e.summary} {e.description}" for e in (*older, *newest))
        words = content(f"{answer['title']} {answer['summary']}")
        known = set(content(told))
        if words and sum(w in known for w in words) / len(words) < LEAST_KNOWN:
            self.health.ungrounded += 1
            return None
        self.health.patterns += 1
        return replace(
            pattern, title=_clean(answer["title"]).rstrip("."), summary=_told_once(answer["summary"], 6), made_by="llm"
        )

    def facts(self, windows: Sequence[Window]) -> list[Draft]:
        """Lasting facts that were said in an episode; each quote stands in what was said, else it is left out."""
        if not any(w.speech for w in windows):
            return []
        answer = self._ask(facts_messages(windows), FACTS_SCHEMA, 2000)
        if answer is None:
            return []
        found = []
        for fact in answer["facts"]:
            said = _said(fact["quote"], windows)
            if said is None or not set(content(fact["object"])) & set(content(said[1].text)):
                self.health.ungrounded += 1
                continue
            window, utterance = said
            rests = Support(
                f"o{utterance.id}", utterance.t, window.offset_s, utterance.text[:300], window.known, window.id
            )
            who = "wearer" if fact["subject"].casefold() in ("wearer", "i", "me") else _clean(fact["subject"])
            found.append(
                Draft(fact["kind"], who, _clean(fact["relation"]), _clean(fact["object"]), rests, made_by="llm")
            )
        self.health.facts += len(found)
        return found

    def _ask(self, messages: Sequence[Message], schema: JsonSchema, tokens: int) -> dict[str, Any] | None:
        try:
            answer = self._model.complete(messages, schema, replace(self._options, max_tokens=tokens))
        except (OutputError, InputError):  # nonsense, or more than it can read
            self.health.unusable += 1
            return None
        assert isinstance(answer, dict)
        return answer


def main_things(windows: Sequence[Window], most: int = MAIN) -> tuple[str, ...]:
    """The things of an episode that most was done with, then those seen most; what a detector saw once is none of them."""
    done: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for window in windows:
        if window.made_by != "light":
            done.update(e.object for e in window.events if 0 < len(e.object.split()) <= 4)
        seen.update({e.name for e in window.entities if len(e.name.split()) <= 4})
    score = {name: 2 * done[name] + seen[name] for name in (*done, *seen)}
    ranked = sorted(score, key=lambda name: (-score[name], name))
    return tuple(name for name in ranked if score[name] > 1 or len(ranked) <= most)[:most]


def grounded(text: str, windows: Sequence[Window], by_rules: Texts) -> float:
    """Share of a text's content words that stand in what was perceived (or in the texts by rules); 1 for no words."""
    told: set[str] = set(content(f"{by_rules.subject} {by_rules.summary} {by_rules.place}"))
    for w in windows:
        parts = [w.description, w.scene, *(c.text for c in w.captions), *(u.text for u in w.speech)]
        parts += [x.text for x in w.texts] + [
            f"{e.name} {' '.join(e.attributes)} {e.location or ''}" for e in w.entities
        ]
        parts += [f"{e.subject} {e.action} {e.object}" for e in w.events]
        told.update(content(" ".join(parts)))
    words = content(text)
    return sum(w in told for w in words) / len(words) if words else 1.0


def _said(quote: str, windows: Sequence[Window]) -> tuple[Window, Utterance] | None:
    """Who said those words, and when."""
    words = content(quote)
    for window in windows:
        for utterance in window.speech:
            if words and set(words) <= set(content(utterance.text)):
                return window, utterance
    return None


def _told_once(text: str, most: int) -> str:
    """The first so many sentences, each once; small models repeat themselves until they are cut off in the middle."""
    parts = [p for p in _SENTENCE.split(_clean(text)) if p]
    if len(parts) > 1 and parts[-1][-1] not in ".!?":
        parts.pop()
    return " ".join(_brief(part) for part in list(dict.fromkeys(parts))[:most])


def _brief(told: str) -> str:
    """A sentence that lists act after act, ended at a comma; the description holds them all."""
    if len(told.split()) <= LONG:
        return told
    start = " ".join(told.split()[:LONG])
    return start[: start.rfind(",")].rstrip() + "." if "," in start else told


def _counts_off(core: Sequence[int]) -> bool:
    """Whether an answer only counts (1, 2, 3, ...) where it should choose."""
    return len(core) > COUNTED and all(b - a == 1 for a, b in pairwise(core))


def _clean(text: str) -> str:
    return " ".join(text.split())
