"""Whoever asks goes through here: the settings' models, the conversation so far, one answer.

    asker = Asker(config, embed=..., think=lambda: engines.language("agent"), mono=clock.mono)
    with store.snapshot(now) as snapshot:
        answer = asker.ask(snapshot, "when did I last feed the dog?", now=now, offset_s=offset, say=voice.sentence)

`say` gets the spoken sentences one by one while the rest is still being thought of; `sentences` is the same as an iterator.
A question is followed up on for a few minutes, in each conversation by itself.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from edge.agent.answer import Answer, Mind, Policy, Say, ask
from edge.agent.glance import Glance
from edge.agent.llm_loop import Budget
from edge.agent.question import Query
from edge.agent.view import Embed
from edge.config import Config
from edge.errors import GroveError, sentence_of
from edge.logs import Log
from edge.retrieval.looking import Eyes
from edge.retrieval.zone import Us
from edge.thinkers import llama_settings
from models.errors import ModelError
from models.roles import Language
from storage.snapshot import Snapshot

REMOTE_CONTEXT = 12_000  # tokens of a remote's context that are used: each is paid for again in every round

_log = Log("agent")


class Asker:
    """Answers questions; may be called from several threads, each with a snapshot of its own."""

    def __init__(
        self,
        config: Config,
        *,
        mono: Callable[[], int],
        embed: Embed | None = None,
        think: Callable[[], Language | None] | None = None,
        glance: Glance | None = None,
        eyes: Eyes | None = None,
    ) -> None:
        self._config, self._mono, self._embed, self._think, self._glance = config, mono, embed, think, glance
        self._eyes = eyes
        self._lock = threading.Lock()
        self._before: dict[str, Query] = {}
        self._guessed: dict[str, Query] = {}

    def ask(
        self,
        snapshot: Snapshot,
        question: str,
        *,
        now: Us,
        offset_s: int,
        choices: Sequence[str] | None = None,
        policy: Policy = "auto",
        conversation: str = "",
        guess: bool = False,
        say: Say | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Answer:
        """Answer one question; `conversation` names who talks, for follow-ups.  Raises QuestionError, ConfigError.

        A `guess` is not followed up on until `answered` says that its answer was wanted.
        """
        began = self._mono()
        mind, note = self._mind(policy)
        found = ask(
            snapshot, question, now=now, offset_s=offset_s, owner=self._config.owner.name, choices=choices, embed=self._embed,
            policy=policy, previous=self.previous(conversation), mind=mind, glance=self._glance, eyes=self._eyes, say=say, cancelled=cancelled,
        )  # fmt: skip
        if found.query is not None and guess:
            with self._lock:
                self._guessed[conversation] = found.query
        elif found.query is not None:
            self.remember(found.query, conversation)
        return replace(found, latency_ms=round((self._mono() - began) / 1000, 2), note=found.note or note)

    def sentences(
        self, snapshot: Snapshot, question: str, *, now: Us, offset_s: int, policy: Policy = "auto", conversation: str = "",
        guess: bool = False,
    ) -> Iterator[str]:  # fmt: skip
        """The spoken sentences as they come; closing the iterator takes the question back.

        The snapshot is read by another thread until the iterator ends: leave it alone meanwhile.  Raises as `ask` does.
        """
        said: queue.SimpleQueue[str | BaseException | None] = queue.SimpleQueue()
        stop = threading.Event()

        def work() -> None:
            try:
                self.ask(
                    snapshot, question, now=now, offset_s=offset_s, policy=policy, conversation=conversation, guess=guess,
                    say=said.put, cancelled=stop.is_set,
                )  # fmt: skip
                said.put(None)
            except BaseException as error:  # noqa: BLE001  raised again where the sentences are taken
                said.put(error)

        thread = threading.Thread(target=work, name="asking", daemon=True)
        thread.start()
        try:
            while (part := said.get()) is not None:
                if isinstance(part, BaseException):
                    raise part
                yield part
        finally:
            stop.set()
            thread.join()

    def answered(self, conversation: str = "") -> None:
        """The answer to the last guess is being given: what follows may refer to it."""
        with self._lock:
            query = self._guessed.pop(conversation, None)
            if query is not None:
                self._before[conversation] = query

    def previous(self, conversation: str = "") -> Query | None:
        """The question before in a conversation, however long ago."""
        with self._lock:
            return self._before.get(conversation)

    def remember(self, query: Query, conversation: str = "") -> None:
        """Take a question as the one before."""
        with self._lock:
            self._before[conversation] = query

    def forget(self) -> None:
        """Follow nothing any more: what was asked may name what was just erased."""
        with self._lock:
            self._before.clear()
            self._guessed.clear()

    def _mind(self, policy: Policy) -> tuple[Mind | None, str]:
        """The model of the settings with its budget; without one, why (auto goes on by rules alone)."""
        if policy == "rules" or self._think is None:
            return None, ""
        try:
            model = self._think()
        except (ModelError, GroveError) as error:
            if policy == "llm":
                raise
            _log.warning("fell_back", part="agent", cause=error)
            return None, sentence_of(error)
        return (None, "") if model is None else (Mind(model, self._mono, budget_of(self._config)), "")


def budget_of(config: Config) -> Budget:
    """What the settings let a question cost; the context is the local model's, or what is spent on a remote one."""
    llm = config.llm
    local = llama_settings(llm).context
    context = {"local": local, "remote": REMOTE_CONTEXT}.get(llm.agent, min(local, REMOTE_CONTEXT))
    return Budget(llm.agent_seconds, llm.agent_tokens, llm.agent_rounds, context)
