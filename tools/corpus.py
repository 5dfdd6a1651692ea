"""Texts for benchmarks at any size: real captions retold, with real embeddings, from a seed.

The captions come from recorded traces (JSONL, one window a line) below a folder.  A retold one keeps what happened and
changes how it is said: other verbs and nouns of the same meaning, a place, a time, what came next.  So a million texts
have the word frequencies of the captions they come from, and few of them are equal.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from models.backends.wordllama_embed import WordLlama
from models.roles import Vector

TRACES = Path(__file__).resolve().parents[2] / "shared" / "data" / "open"
_SAME = {
    "pick up": ["take", "grab", "lift"], "put down": ["set down", "place", "lay down"], "put": ["place", "set"],
    "take": ["pick up", "grab", "get"], "open": ["open up", "pull open"], "opens": ["pulls open", "is opening"],
    "close": ["shut", "push shut"], "closes": ["shuts", "is closing"], "wash": ["rinse", "clean"], "rinse": ["wash"],
    "pour": ["tip", "empty"], "turn on": ["switch on", "start"], "turn off": ["switch off", "stop"], "cut": ["slice", "chop"],
    "cutting": ["slicing"], "stir": ["mix", "whisk"], "mix": ["stir"], "check": ["look at", "inspect"], "move": ["shift"],
    "bowl": ["dish", "basin"], "cup": ["mug"], "mug": ["cup"], "fridge": ["refrigerator"], "pan": ["skillet", "frying pan"],
    "pot": ["saucepan"], "bin": ["trash"], "tap": ["faucet"], "cupboard": ["cabinet"], "cabinet": ["cupboard"],
    "cloth": ["towel", "rag"], "knife": ["blade"], "hob": ["stove"], "stove": ["hob"], "counter": ["worktop"],
    "sofa": ["couch"], "phone": ["mobile"], "bag": ["sack"], "water": ["some water"], "plate": ["dish"],
}  # fmt: skip
WHERE = ["in the kitchen", "at the table", "by the window", "near the sink", "on the left", "on the right", "in the hall",
          "at the office", "in the garden", "at home", "in the living room", "outside", "on the counter"]  # fmt: skip
_HOW = ["again", "slowly", "with the left hand", "with both hands", "carefully", "in a hurry", "once more", "a second time",
        "while talking", "after breakfast", "before lunch", "in the evening", "late at night", "early"]  # fmt: skip
_PHRASES = 200_000  # remembered with their sums: 200 MB
_PHRASE = re.compile(r"\b(" + "|".join(sorted(map(re.escape, _SAME), key=len, reverse=True)) + r")\b")


def captions(folder: Path) -> Counter[str]:
    """Distinct captions below a folder, with how often each occurs.  Raises FileNotFoundError when there is none."""
    found: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.trace.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                found.update(c["text"] for c in json.loads(line)["captions"])
    if not found:
        raise FileNotFoundError(f"There are no *.trace.jsonl below {folder}: give the folder of traces with --traces.")
    return found


class Retold:
    """An endless source of texts, the same for the same seed."""

    def __init__(self, source: Counter[str], seed: int) -> None:
        self._texts = list(source)
        weights = np.sqrt(
            np.asarray(list(source.values()), dtype=np.float64)
        )  # a life repeats less than a kitchen does
        self._edges = np.cumsum(weights / weights.sum())
        self._rng = random.Random(seed)

    def drawn(self) -> str:
        """A caption as it was written."""
        return self._texts[min(int(np.searchsorted(self._edges, self._rng.random())), len(self._texts) - 1)]

    def reworded(self, text: str, share: float = 0.5) -> str:
        """The same in other words."""
        return _PHRASE.sub(lambda m: self._rng.choice(_SAME[m[0]]) if self._rng.random() < share else m[0], text)

    def text(self) -> str:
        """One text: a caption, reworded, sometimes with where, how, and what came next."""
        return " ".join(self.parts())

    def parts(self) -> list[str]:
        """The same as the phrases that it is joined of by spaces."""
        rng = self._rng
        parts = [self.reworded(self.drawn())]
        if rng.random() < 0.5:
            parts.append(rng.choice(WHERE))
        if rng.random() < 0.4:
            parts.append(rng.choice(_HOW))
        if rng.random() < 0.45:
            parts += [rng.choice(["then", "and then", "before", "and also", "instead of"]), self.reworded(self.drawn())]
        return parts


class Bulk(WordLlama):
    """The product's default text embedding, summed for many texts at once: the same numbers up to rounding."""

    def __init__(self, weights: Path, tokenizer: Path) -> None:
        super().__init__(weights, tokenizer)
        self._known: dict[str, Vector] = {}
        self._floats = np.asarray(self._table, dtype=np.float32)

    def embed(self, texts: Sequence[str]) -> Vector:
        """Shape (n, 256), unit length; a zero row for text without a letter, digit or sign."""
        return self.joined([[t] for t in texts])

    def joined(self, texts: Sequence[Sequence[str]]) -> Vector:
        """The same for texts given as phrases that spaces join: no token crosses a space, so each is summed once."""
        new = list(dict.fromkeys(p for parts in texts for p in parts if p not in self._known))
        if len(self._known) + len(new) > _PHRASES:
            self._known.clear()
            return self.joined(texts)
        for phrase, encoding in zip(
            new, self._tokenizer.encode_batch([p.strip() for p in new], add_special_tokens=False), strict=True
        ):
            ids = np.minimum(np.asarray(encoding.ids, dtype=np.int64), len(self._floats) - 1)
            self._known[phrase] = self._floats[ids].sum(axis=0)
        made = np.zeros((len(texts), self.dim), np.float32)
        for i, parts in enumerate(texts):
            made[i] = self._known[parts[0]]
            for part in parts[1:]:
                made[i] += self._known[part]
        norms = np.linalg.norm(made, axis=1, keepdims=True)
        unit: Vector = np.divide(made, norms, out=np.zeros_like(made), where=norms > 0)
        return unit


def bulk() -> Bulk:
    """The default embedding, ready for millions of texts."""
    import wordllama

    folder = Path(wordllama.__file__).parent
    weights = next(folder.rglob("l2_supercat_256.safetensors"))
    return Bulk(weights, next(folder.rglob("l2_supercat_tokenizer_config.json")))
