"""The bounded loop in which a language model answers from the memory (GROVE, skill-based agentic reasoning; VAM's bounds).

Each round the model either asks for up to three pieces of evidence or answers; what comes back is deduplicated; the map
of patterns (live: the skeleton of activities) is free context.  An answer must be borne out by the notes.  The loop ends
early when the evidence suffices or nothing new turns up, and on the last round only an answer can be written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from edge.agent import llm_calls, llm_check, llm_prompts
from edge.agent.draft import Draft
from edge.agent.llm_actions import MOST_CALLS, Call, Reply, Search, kind_of, parsed, schema_for
from edge.agent.llm_check import Rejected
from edge.agent.llm_prompts import Opening
from edge.agent.notebook import Note, Notebook, harmless
from edge.agent.question import Query
from edge.agent.view import View
from edge.retrieval.skills import Skills
from models.errors import ModelError, OutputError
from models.roles import CallOptions, Language, Message, Usage

US = 1_000_000
DAY_US = 86_400 * US
ACTION_TOKENS, SPOKEN_TOKENS = 260, 90
MAP_CHARS = 90  # of one entry of the map
MAP_SHARE, NOTES_SHARE = 0.22, 0.5  # of the context
HURRY = 0.3  # of the time left: from there on only an answer is asked for

# Horizon of the memory in days: rounds, entries of the pattern map (None: all).  GROVE, A.2 and table 10.
HORIZONS: tuple[tuple[float, int, int | None], ...] = ((1.0, 8, 46), (7.0, 6, 100), (float("inf"), 12, None))
LIVE_ROUNDS, LIVE_CALLS = 3, 1
EXACT = 0.85  # confidence of the rules from which a model is asked to think again before it contradicts them
SURE = 0.6  # confidence from which a value found by rules needs no second opinion


@dataclass(frozen=True, slots=True)
class Budget:
    """What one question may cost: seconds and tokens in all, rounds (0: by horizon), the model's context in tokens."""

    seconds: float = 60.0
    tokens: int = 24_000
    rounds: int = 0
    context: int = 4096


@dataclass(slots=True)
class Thought:
    """How it went: the draft, rounds, reads of the memory, tokens, and what was written in each round."""

    draft: Draft
    rounds: int = 0
    calls: int = 0
    tokens: int = 0
    transcript: list[dict[str, object]] = field(default_factory=list)


class Thinking:
    """One question, one model.  `mono` gives monotonic microseconds; `cancelled` is polled; `say` gets each sentence."""

    def __init__(
        self, view: View, query: Query, model: Language, budget: Budget, *, mono: Callable[[], int],
        cancelled: Callable[[], bool] | None = None, say: Callable[[str], None] | None = None,
    ) -> None:  # fmt: skip
        self._view, self._query, self._model, self._budget = view, query, model, budget
        self._mono, self._cancelled, self._say = mono, cancelled, say
        self._began = mono()
        self._skills = Skills(view.snap, view.embed, view.eyes)
        self._book = Notebook(view.zone)
        self._kind = kind_of(query)
        self._live = query.form == "now"
        self._asked: set[tuple[str, str, str]] = set()
        self._tokens = 0
        self._turns: list[Message] = []
        self._visible: list[list[int]] = []  # numbers of the notes each user message shows
        self._transcript: list[dict[str, object]] = []
        rounds, self._map_entries = horizon(view, live=self._live)
        self._rounds = budget.rounds or rounds
        self._most = LIVE_CALLS if self._live else MOST_CALLS
        pictures = bool(view.snap.trace.keyframes())
        tools = llm_calls.LIVE if self._live else tuple(llm_calls.CALLS)
        self._tools = tuple(t for t in tools if pictures or t != "look")

    def run(self, seed: Draft | None = None) -> Thought:
        """Think to an answer.  `seed`: what the rules found, whose evidence is free.  Raises ModelError."""
        stale, round_ = 0, 0
        self._open(seed)
        blind = seed is None or seed.value is None
        doubted = blind or seed is None or seed.confidence < EXACT or self._query.form == "lookup"
        while True:
            round_ += 1
            last = round_ >= self._rounds or self._hurried() or stale > 1
            # Small models answer too soon: while nothing was found yet the first round can only search.
            written = self._round(
                last, search_only=blind and round_ == 1 and not last and not self._live, told=not doubted
            )
            if isinstance(written, Reply):
                try:
                    draft = llm_check.settled(self._view, self._query, self._kind, written, self._book, last=last)
                    if seed is not None and not doubted and not last and not llm_check.agree(draft.value, seed.value):
                        doubted = True  # once: it may insist
                        raise Rejected(
                            f"The exact look-up over all records says {seed.value}: answer that, or with the note that proves it wrong."
                        )
                except Rejected as reason:
                    self._note(round_, written.model_dump(), str(reason))
                    stale += 1
                    self._told([], str(reason), round_ + 1)
                    continue
                self._note(round_, written.model_dump(), "")
                return self._finish(draft, round_)
            if isinstance(written, Search):
                new = self._search(written.calls)
                self._note(round_, written.model_dump(), f"{len(new)} new")
            else:
                new = self._book.add(
                    llm_calls.permissive(self._skills, self._query.text, self._query.start, self._query.end)
                )
                self._note(round_, None, f"no usable action; {len(new)} new from the question's own words")
                if last:
                    nearest = llm_check.best_notes(self._book, self._query.text, 3)
                    told = llm_check.unknown_words(self._view, nearest)
                    return self._finish(Draft("text", None, told, tuple(nearest), 0.1), round_)
            stale = 0 if new else stale + 1
            self._told(
                new,
                "" if isinstance(written, Search) else "That was no action; here is what your words find.",
                round_ + 1,
            )

    # -- rounds ------------------------------------------------------------------------------------------------------

    def _open(self, seed: Draft | None) -> None:
        """The free context: map or skeleton, the rules' evidence, for the present the captions of the last seconds."""
        if self._live:
            self._book.add(self._skills.recent_captions(10, 8))
        if seed is not None:
            self._book.add(seed.evidence, 6)
        room = round(self._budget.context * llm_prompts.CHARS_PER_TOKEN * MAP_SHARE)
        zone, trace = self._view.zone, self._view.snap.trace
        first, last = trace.windows(limit=1), trace.last()
        covers = "nothing yet"
        if first and last is not None:
            covers = f"{zone.local(first[0].t_start):%d %b %Y %H:%M} to {zone.local(last.t_end):%d %b %Y %H:%M}"
        notes = list(self._book.notes)
        told = Opening(
            f"{zone.local(self._view.now):%A %d %B %Y, %H:%M}", covers, self._map(room), self._lines(notes),
            harmless(self._query.text, 600), self._kind, tuple(harmless(c, 200) for c in self._query.choices),
            "Activities that ended" if self._live else "What recurs in this memory",
            "" if seed is None or seed.value is None else llm_prompts.exact(harmless(seed.answer, 240), harmless(str(seed.value), 80), reliable=seed.confidence >= SURE),
        )  # fmt: skip
        self._turns = [
            Message("system", llm_prompts.task(llm_calls.manual(self._tools))),
            Message("user", llm_prompts.opening(told, llm_prompts.round_line(1, self._rounds, self._most))),
        ]
        self._visible = [[n.number for n in notes]]

    def _map(self, room: int) -> str:
        """Titles of patterns with how often and when, the steadiest first; live the newest activities instead."""
        lines: list[str] = []
        if self._live:
            lines = [
                f"{self._view.zone.local(e.t_start):%H:%M}-{self._view.zone.local(e.t_end):%H:%M} {harmless(e.subject, MAP_CHARS)}"
                for e in self._view.snap.episodes.recent(12)
            ]
        else:
            found = sorted(self._view.snap.patterns.all(), key=lambda p: (-p.recurrence, -p.known))[: self._map_entries]
            lines = [f"{harmless(p.title, MAP_CHARS)} ({p.recurrence}x, {p.days} days)" for p in found]
        kept: list[str] = []
        for line in lines:
            room -= len(line) + 1
            if room < 0:
                break
            kept.append(line)
        return "\n".join(kept)

    def _round(self, last: bool, *, search_only: bool, told: bool) -> Reply | Search | None:
        """What the model writes, mended once; None when it writes no usable action."""
        shown = [n for part in self._visible for n in part]
        schema = schema_for(
            self._kind, self._tools, shown, self._query.choices, calls=self._most, answer_only=last, search_only=search_only,
            told=told,
        )  # fmt: skip
        turns = self._turns
        for _ in range(2):
            try:
                written = self._model.complete(turns, schema, self._options(ACTION_TOKENS))
                action = parsed(written, calls=self._most)
            except OutputError as error:
                turns = [
                    *self._turns,
                    Message("assistant", "{}"),
                    Message("user", f"{harmless(str(error), 300)} Write one object."),
                ]
                continue
            if last and isinstance(action, Search):
                continue
            self._turns = [*self._turns, Message("assistant", '{"do": ' + action.model_dump_json() + "}")]
            return action
        return None

    def _search(self, calls: list[Call]) -> list[Note]:
        new: list[Note] = []
        for call in calls:
            mark = (call.tool, call.query.lower().strip(), call.when.lower().strip())
            if mark in self._asked or call.tool not in self._tools:
                continue
            self._asked.add(mark)
            new += self._book.add(llm_calls.run(self._skills, call, self._view, self._book), llm_calls.IN_RANGE)
        return new

    def _told(self, new: list[Note], remark: str, round_: int) -> None:
        """Add the notes of a round behind the conversation, which stays within the model's context."""
        last = round_ >= self._rounds or self._hurried()
        line = llm_prompts.round_line(self._rounds if last else round_, self._rounds, self._most)
        message = Message("user", llm_prompts.more(self._lines(new), line, remark))
        if self._turns[-1].role == "user":  # nothing usable was written in between
            message = Message("user", f"{self._turns[-1].content}\n\n{message.content}")
            self._turns = [*self._turns[:-1], message]
            self._visible[-1] = [*self._visible[-1], *(n.number for n in new)]
        else:
            self._turns = [*self._turns, message]
            self._visible.append([n.number for n in new])
        limit = self._budget.context - ACTION_TOKENS - 40
        while llm_prompts.tokens([t.content for t in self._turns]) > limit and len(self._turns) > 4:
            del self._turns[2:4]  # the oldest round: what it showed cannot be cited any more
            del self._visible[1]

    def _lines(self, notes: list[Note]) -> str:
        room = round(self._budget.context * llm_prompts.CHARS_PER_TOKEN * NOTES_SHARE)
        chars = max(60, min(180, room // max(1, len(notes))))
        return self._book.lines(notes, chars)

    # -- cost --------------------------------------------------------------------------------------------------------

    def _left(self) -> float:
        return self._budget.seconds - (self._mono() - self._began) / US

    def _hurried(self) -> bool:
        """Is so much of the time or of the tokens spent that only an answer is still in reach?"""
        return self._left() < HURRY * self._budget.seconds or self._tokens > (1 - HURRY) * self._budget.tokens

    def _options(self, tokens: int) -> CallOptions:
        return CallOptions(
            max_tokens=tokens, timeout_s=max(1.0, self._left()), cancelled=self._cancelled, meter=self._meter
        )

    def _meter(self, usage: Usage) -> None:
        self._tokens += usage.prompt_tokens + usage.completion_tokens

    # -- the end -----------------------------------------------------------------------------------------------------

    def _finish(self, draft: Draft, rounds: int) -> Thought:
        if draft.value is not None and self._kind == "text":
            draft = self._worded(draft)
        elif (
            draft.value is not None and self._say is not None
        ):  # what is not known the caller says, if it has no better
            for part in llm_check.spoken_sentences([draft.answer]):
                self._say(part)
        return Thought(draft, rounds, self._skills.calls, self._tokens, self._transcript)

    def _worded(self, draft: Draft) -> Draft:
        """The answer in the model's own sentences, each said as soon as it stands; one that the notes do not bear out ends it."""
        notes = self._book.text()
        cited = self._book.lines([n for n in self._book.notes if n.evidence in draft.evidence])
        rule, message = llm_prompts.speaking(harmless(self._query.text, 600), str(draft.value), cited)
        said: list[str] = []
        try:
            pieces = self._model.stream(
                [Message("system", rule), Message("user", message)], self._options(SPOKEN_TOKENS)
            )
            for part in llm_check.spoken_sentences(pieces):
                if llm_check.unsupported(part, f"{notes} {draft.value}", self._query.text):
                    break
                said.append(part)
                if self._say is not None:
                    self._say(part)
        except ModelError as error:  # the value stands: it is said plainly
            self._transcript.append({"speaking": str(error)})
        if not said:
            said = [draft.answer]
            if self._say is not None:
                self._say(draft.answer)
        return Draft(draft.kind, draft.value, " ".join(said), draft.evidence, draft.confidence)

    def _note(self, round_: int, wrote: object, outcome: str) -> None:
        self._transcript.append({"round": round_, "wrote": wrote, "outcome": outcome, "tokens": self._tokens})


def horizon(view: View, *, live: bool) -> tuple[int, int | None]:
    """Rounds and entries of the map for a memory: by the days it covers, fewer for a question about the present."""
    first, last = view.snap.trace.windows(limit=1), view.snap.trace.last()
    days = 0.0 if not first or last is None else (last.t_end - first[0].t_start) / DAY_US
    rounds, entries = next((r, e) for limit, r, e in HORIZONS if days <= limit)
    return (LIVE_ROUNDS if live else rounds), entries
