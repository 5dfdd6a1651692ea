"""A language model's judgement on the memory: boundary, summary, match.  Whoever asks has rules to fall back on.

An answer that cannot be used is no answer (None): the open unit then goes on, the texts by rules stay, nothing is
matched.  What is not there (ModelDownError and its kin) is raised, so that the work can wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from edge.memory.episodes import Texts
from edge.memory.text import content
from edge.memory.thinking_prompts import (
    BOUNDARY,
    SUMMARY,
    boundary_messages,
    match_messages,
    match_schema,
    summary_messages,
)
from models.disk_queue import DiskQueue, Job
from models.errors import ModelDownError, ModelTimeoutError, NotAllowedError, OutputError
from models.roles import CallOptions, JsonSchema, Language, Message
from storage.records import Episode, Pattern, Window

BATCH = 10  # candidates judged together (GROVE)
LEAST_KNOWN = 0.5  # share of a summary's content words that its windows must hold


@dataclass
class ThinkingHealth:
    """Counts since the start: answers that were used, and those that were not by reason."""

    boundaries: int = 0
    summaries: int = 0
    matches: int = 0
    unusable: int = 0
    ungrounded: int = 0


class Consolidator:
    """Asks a Language.  As thread-safe as the model is."""

    def __init__(self, model: Language, options: CallOptions | None = None) -> None:
        self._model, self._options = model, options or CallOptions()
        self.health = ThinkingHealth()

    def same_activity(self, recent: Sequence[Window], arriving: Window) -> bool | None:
        """Whether the arriving window goes on with the open unit; None without a usable answer."""
        answer = self._ask(boundary_messages(recent, arriving), BOUNDARY, 90)
        if answer is None:
            return None
        self.health.boundaries += 1
        return bool(answer["same_activity"])

    def summarise(self, windows: Sequence[Window], by_rules: Texts) -> Texts | None:
        """The texts of an episode; None when the answer is unusable or speaks of what its windows do not hold.

        Place and description stay those of the rules: they are exact, and searched by.
        """
        answer = self._ask(summary_messages(windows), SUMMARY, 420)
        if answer is None:
            return None
        if grounded(f"{answer['subject']} {answer['summary']}", windows, by_rules) < LEAST_KNOWN:
            self.health.ungrounded += 1
            return None
        self.health.summaries += 1
        keywords = tuple(dict.fromkeys([*(k.casefold() for k in answer["keywords"]), *by_rules.keywords]))
        return replace(
            by_rules,
            subject=_clean(answer["subject"]).rstrip("."),
            summary=_clean(answer["summary"]),
            keywords=keywords[: max(24, len(by_rules.keywords))],
        )

    def belongs_to(self, episode: Episode, candidates: Sequence[Pattern]) -> Pattern | None:
        """The pattern an episode belongs to; batch by batch, the first yes counts."""
        for start in range(0, len(candidates), BATCH):
            batch = candidates[start : start + BATCH]
            answer = self._ask(match_messages(episode, batch), match_schema(len(batch)), 90)
            if answer is not None:
                self.health.matches += 1
                if answer["belongs_to"]:
                    return batch[int(answer["belongs_to"]) - 1]
        return None

    def _ask(self, messages: Sequence[Message], schema: JsonSchema, tokens: int) -> dict[str, Any] | None:
        try:
            answer = self._model.complete(messages, schema, replace(self._options, max_tokens=tokens))
        except OutputError:
            self.health.unusable += 1
            return None
        assert isinstance(answer, dict)
        return answer


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


Read = Callable[[int], tuple[Episode, Sequence[Window], Texts] | None]
Write = Callable[[Episode, Texts], None]


class LaterTexts:
    """Episodes' texts by a model, later: closed episodes wait on disk in order and are rewritten when the model is there.

    `read` gives a stored episode with its windows and its texts by rules (None: it was forgotten meanwhile), `write`
    stores the new texts.  Nothing waits for this.
    """

    def __init__(self, queue: DiskQueue, thinker: Consolidator, read: Read, write: Write) -> None:
        self.queue = queue
        self._thinker, self._read, self._write = thinker, read, write

    def add(self, episode: Episode) -> None:
        """An episode was closed."""
        self.queue.put({"episode": episode.id})

    def work(self, stop: Callable[[], bool]) -> int:
        """Do what can be done now; returns how many episodes were looked at."""
        return self.queue.drain(self._one, Unavailable, stop)

    def _one(self, job: Job) -> None:
        found = self._read(int(job.work["episode"]))
        if found is None:
            return
        episode, windows, by_rules = found
        try:
            texts = self._thinker.summarise(windows, by_rules)
        except (ModelDownError, ModelTimeoutError, NotAllowedError) as error:
            raise Unavailable(str(error)) from error
        if texts is not None:
            self._write(episode, texts)


class Unavailable(ModelDownError):
    """The model is not there now; the work keeps its place."""


def _clean(text: str) -> str:
    return " ".join(text.split())
