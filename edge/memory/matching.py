"""Which pattern a closed episode belongs to, by rules (GROVE eq. 5: candidates in batches of ten, the first yes absorbs).

Three things are compared: the words of the subject with those of the pattern's newest subjects, the keywords, and the
embeddings.  Words that most episodes of late have in common tell little, so each weighs by its rarity there.  What
goes on from the episode before it is likely to be the same job, unless an activity that is named begins; and a pattern
that holds much of the wearer's life already is asked for more, or it would swallow the rest; none takes more than a
quarter, but for the very same in a young memory.  What then opens another pattern is alike: of patterns about as likely
the one that holds most takes the episode in, so that a job is not spread over both for good.  A life repeats itself:
where too many episodes of late opened a pattern of their own, what is told of them differs more than what was done, and
less is asked of all patterns.
Everything is read from the newest episodes, so the cost does not grow with the memory.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain

from edge.clock import US
from edge.config import Memory
from edge.memory.episodes import names
from edge.memory.text import content
from storage import Snapshot
from storage.patterns import Member
from storage.records import Episode, Pattern, Window
from storage.vectors import Vector

MATCH = 0.4  # likeness from which an episode belongs to a pattern
BATCHES = 3  # how many batches of candidates are judged at most: cost is bounded however many patterns exist
GOES_ON = 0.25  # what it adds that the episode goes on from the pattern's newest without a break
NEAR_S = 60  # seconds between two episodes that follow on one another
NAMED = 2.0  # weight of the subject when the episode names its activity; else 1
LARGE = 0.15  # share of the episodes of late above which a pattern is asked for more
ASKED = 2.0  # how much more: this times the share above LARGE
MOST = 0.25  # share that none may exceed whatever it resembles, or it would tell of a life, not of something in it
FREE = 3  # episodes that a pattern may hold all the same
CLEAR = 0.75  # likeness from which a young memory may hold more of a kind: what is the very same belongs together
YOUNG = 100  # episodes of late up to which a memory is young
SIBLING = 0.15  # likeness within which the pattern that holds most of late goes first
OPENED = 0.1  # share of the episodes of late that may open a pattern; less is asked by what is above
EASED = 0.1  # likeness that is asked less at most: what has nothing but a place in time must stay out
RECENT = 300  # episodes of late that tell what is common and what is large
LEAST = 20  # episodes below which shares are taken as of that many
SUBJECTS = 20  # newest subjects of a pattern that are compared
KEYWORDS = 24  # of an episode
PATTERN_KEYWORDS = 64


class Weights(dict[str, float]):
    """How much a word tells: the square of the logarithm of one over its share of the episodes of late."""

    def __init__(self, seen: int, common: Mapping[str, int]) -> None:
        self._seen, self._common = seen, common

    def __missing__(self, word: str) -> float:
        found = max(0.05, math.log((self._seen + 1) / (0.5 + self._common.get(word, 0)))) ** 2
        self[word] = found
        return found


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the newest episodes tell about the one that is to be matched."""

    seen: int
    common: Mapping[str, int]  # keyword -> how many of them have it
    sizes: Mapping[int, int]  # pattern -> how many of them it holds
    before: int  # the pattern that the episode goes on from, 0 for none
    eased: float = 0.0  # likeness that is asked less of every pattern
    weights: Weights = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", Weights(self.seen, self.common))

    def asked(self, pattern_id: int) -> float:
        """How much more likeness than MATCH a pattern needs: more for its size, less where few recur."""
        share = self.sizes.get(pattern_id, 0) / max(LEAST, sum(self.sizes.values()))
        return ASKED * max(0.0, share - LARGE) - self.eased

    def full(self, pattern_id: int) -> bool:
        """Whether one episode more would be too large a share of those of late."""
        return self.sizes.get(pattern_id, 0) + 1 > max(FREE, MOST * (self.seen + 1))


def surroundings(snapshot: Snapshot, episode: Episode) -> Surroundings:
    """The newest episodes known, without the episode itself."""
    recent = [m for m in snapshot.patterns.recent(RECENT + 1) if m.episode_id != episode.id][:RECENT]
    grouped = [m for m in recent if m.pattern_id]
    common = Counter(chain.from_iterable(m.keywords[:KEYWORDS] for m in grouped))
    sizes = Counter(m.pattern_id for m in grouped)
    return Surroundings(len(grouped), common, sizes, _goes_on(recent, episode), _eased(grouped))


def _eased(grouped: Sequence[Member]) -> float:
    """The share above OPENED of the newer half of some episodes, newest first, that opened a pattern; EASED at most."""
    half, newest, opened = len(grouped) // 2, 0, 0
    if len(grouped) < LEAST:
        return 0.0
    for place in range(len(grouped) - 1, -1, -1):
        pattern_id = grouped[place].pattern_id
        if pattern_id > newest:  # ids rise as patterns are opened
            opened += place < half
            newest = pattern_id
    return min(EASED, max(0.0, opened / half - OPENED))


def _goes_on(recent: Sequence[Member], episode: Episode) -> int:
    """The pattern of the newest episode from which this one goes on without a break, over such as show nothing."""
    start = episode.t_start
    for member in recent:
        if member.recording != episode.recording or member.t_start >= start:
            continue
        if start - member.t_end > NEAR_S * US:
            return 0
        if member.pattern_id:
            return member.pattern_id
        start = member.t_start
    return 0


def match(
    snapshot: Snapshot, episode: Episode, vector: Vector, text: str, memory: Memory, windows: Sequence[Window]
) -> Pattern | None:
    """The pattern that takes the episode in, or None; `windows` are the episode's own."""
    near = surroundings(snapshot, episode)
    held = names(windows)
    named = {word for name in held for word in content(name)}
    main = min(held, key=lambda name: (-held[name], name), default="")
    hits = snapshot.search("pattern", text, vector, k=memory.pattern_batch * BATCHES)
    ranked = list(
        dict.fromkeys([*(h.id for h in hits[: memory.pattern_batch - 1]), near.before, *(h.id for h in hits)])
    )
    young = near.seen < YOUNG
    ranked = [i for i in ranked if i and (young or not near.full(i))]
    for start in range(0, len(ranked), memory.pattern_batch):
        batch = ranked[start : start + memory.pattern_batch]
        patterns, vectors = snapshot.patterns.many(batch), snapshot.patterns.vectors_of(batch)
        judged = []
        for pattern_id in batch:
            pattern = patterns[pattern_id]
            subjects = snapshot.patterns.subjects(pattern_id, SUBJECTS)
            score = likeness(episode, vector, pattern, vectors.get(pattern_id), subjects, near, main)
            if score < CLEAR and near.full(pattern_id):
                continue
            if pattern_id == near.before and not (named and named.isdisjoint(_counted(subjects))):
                score += GOES_ON
            judged.append((score - near.asked(pattern_id), -pattern_id, pattern))
        asked = max([MATCH, *(score - SIBLING for score, _, _ in judged)])
        alike = [x for x in judged if x[0] >= asked]
        if alike:
            return max(alike, key=lambda x: (near.sizes.get(-x[1], 0), x[1]))[2]
    return None


def likeness(
    episode: Episode,
    vector: Vector,
    pattern: Pattern,
    pattern_vector: Vector | None,
    subjects: Sequence[str] = (),
    near: Surroundings | None = None,
    main: str = "",
) -> float:
    """How alike an episode and a pattern are, 0 to 1: subjects, keywords and embeddings, the mean of their cosines.

    `main` is the activity that the episode names, if it names one: then the subject counts more, and half of that is
    how many of the pattern's have the very name.  Without the pattern's newest subjects its title stands for them;
    without surroundings every word tells as much.
    """
    subjects = subjects or [pattern.title]
    titles = _cosine(_counted([episode.subject]), _counted(subjects), near)
    if main:
        titles = (titles + sum(main.casefold() in s.casefold() for s in subjects) / len(subjects)) / 2
    keys = _cosine(_ranked(episode.keywords, KEYWORDS), _ranked(pattern.keywords, PATTERN_KEYWORDS), near)
    meaning = max(0.0, float(vector @ pattern_vector)) if pattern_vector is not None else 0.0
    weight = NAMED if main else 1.0
    return (weight * titles + keys + meaning) / (weight + 2.0)


def _counted(subjects: Iterable[str]) -> Counter[str]:
    return Counter(chain.from_iterable(map(words, subjects)))


@lru_cache(maxsize=4096)  # the newest subjects of a life are compared again and again
def words(subject: str) -> frozenset[str]:
    """The content words of a subject."""
    return frozenset(content(subject))


@lru_cache(maxsize=1024)
def _ranked(words: tuple[str, ...], most: int) -> Mapping[str, float]:
    """Words with a weight that falls with their place."""
    return {word: (most - place) / most for place, word in enumerate(words[:most])}


def _cosine(a: Mapping[str, float], b: Mapping[str, float], near: Surroundings | None) -> float:
    tells = near.weights if near else defaultdict(lambda: 1.0)
    # fsum: the same in whatever order the words come
    both = math.fsum([a[w] * b[w] * tells[w] for w in a if w in b])
    product = math.prod([math.fsum([v * v * tells[w] for w, v in side.items()]) for side in (a, b)])
    return both / math.sqrt(product) if product else 0.0
