"""Sentences that state something about a topic: what was said aloud, and what stood written, best first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from edge.agent import boards
from edge.agent.scope import Scope
from edge.agent.view import View
from edge.retrieval import words
from storage.records import Item

OCCURRENCES = 400  # of a word, the newest
LIKELY = 40
COVERED = 0.6  # least share of the topic's words in a sentence
HALF = 0.5  # enough when the first word is among them: "the train" of "the train leave"

_SENTENCE = re.compile(r"[^.!?;]+(?:[.](?=\S)[^.!?;]+)*[.!?]*")
# Words of a question that name no topic.
_ASKING = frozenset(
    words.key(w)
    for w in """when what which where who how long time day date room place happen start begin take go come still again next
    tell say said told mention scheduled planned supposed held located situated""".split()
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence, the item it came from, and the share of the topic's words in it."""

    text: str
    item: Item
    covered: float


def topic_of(text: str) -> tuple[str, ...]:
    """The words of a question that name what it is about, else all that carry meaning."""
    told = [w for w in words.tokens(words.same_phrases(text)) if w not in words.STOPWORDS]
    return tuple(dict.fromkeys(w for w in told if words.key(w) not in _ASKING)) or tuple(dict.fromkeys(told))


def spoken(view: View, topic: tuple[str, ...], scope: Scope, *, questions: bool = False) -> Iterator[Statement]:
    """What was said about a topic, questions left out (or nothing but them): the sentences with most of its words first, the newest of those."""
    shared: Counter[int] = Counter()
    for word in topic:
        view.calls += 1
        hits = view.snap.lookup.times_of(word, scope.start, scope.end, OCCURRENCES)
        shared.update(item_id for _, item_id, kind in hits if kind == "speech")
    best = sorted(shared, key=lambda i: (-shared[i], -i))[:LIKELY]
    keys = _keys(" ".join(topic))
    found = []
    for item in view.snap.trace.items_by_id(best).values():
        for m in _SENTENCE.finditer(item.text):
            said = m.group(0).strip()
            covered = _covered(topic, keys, said)
            if covered and said.endswith("?") == questions:
                found.append(Statement(said, item, covered))
    yield from sorted(found, key=lambda s: (-s.covered, -s.item.t))


def written(view: View, topic: tuple[str, ...], scope: Scope) -> Iterator[Statement]:
    """What stood written about a topic: the boards with most of its words first, the newest of those."""
    frames = boards.read(view, scope.start, scope.end, topic)
    keys = _keys(" ".join(topic))
    found = []
    for board in boards.boards(frames):
        covered = _covered(topic, keys, board.text)
        if covered:
            full = max(board.frames, key=lambda f: (len(set(f.lines) & set(board.lines)), f.t))
            found.append(Statement(board.text, full.item, covered))
    yield from sorted(found, key=lambda s: (-s.covered, -s.item.t))


def _covered(topic: tuple[str, ...], keys: frozenset[str], text: str) -> float:
    """The share of a topic in a text; 0 when it is too small: less than most, or than half with the first word."""
    held = keys & _keys(text)
    share = len(held) / len(keys) if keys else 0.0
    return share if share >= COVERED or (share >= HALF and words.key(topic[0]) in held) else 0.0


def _keys(text: str) -> frozenset[str]:
    """The keys of a text's words; "leaves" counts as what a train does too, whatever trees have."""
    return frozenset(words.keys(re.sub(r"\bleaves\b", "leave", text, flags=re.IGNORECASE)))
