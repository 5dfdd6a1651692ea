"""From a text to the terms it is found by: folded and stemmed words, and pairs of characters where no spaces part words.

Words are folded (case, accents) and stemmed by FTS5's tokenizer, in a table in memory that holds one word at a time;
each distinct word is asked once and remembered.  Chinese, Japanese, Korean, Thai and their like are cut to single
characters and overlapping pairs: a query of two or more of them matches by pairs.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import sqlcipher3

from storage.connect import Connection

Ints = npt.NDArray[np.int64]

TOKENIZER = "porter unicode61 remove_diacritics 2"
MOST_TERMS = 64  # of a query
_MOST_KNOWN = 200_000  # words remembered; a life has fewer
_LONGEST = 64  # characters of a term; what is longer is noise, and noise must not fill the index

# Scripts written without spaces, or whose words take endings that no stemmer here knows.
_DENSE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_DENSE}]+|(?:(?![{_DENSE}])[^\W_][\u0300-\u036f]*)+")
_PLAIN = re.compile(r"[a-z0-9]+")  # the same where all is ASCII, at a quarter of the cost
_PART = "\x1e"  # stands between texts that are cut together
_PLAIN_OR_PART = re.compile(rf"[a-z0-9]+|{_PART}")
_IS_DENSE = re.compile(rf"[{_DENSE}]")


def counted(text: str) -> dict[str, int]:
    """The terms of a text to be stored, each with how often it occurs."""
    found: dict[str, int] = {}
    known = _KNOWN
    for word in _words(text):
        for term in known.get(word) or _terms_of(word):
            found[term] = found.get(term, 0) + 1
    return found


def occurrences(texts: Sequence[str]) -> tuple[list[str], Ints, Ints, Ints]:
    """What `counted` says of many texts at once: the terms; and for each term of a text its number, the text's, how often.

    Texts of ASCII alone, which most are, are cut together; each of their words is one term.
    """
    plain = [i for i, text in enumerate(texts) if text.isascii() and _PART not in text]
    found = _PLAIN_OR_PART.findall(_PART.join(texts[i] for i in plain).lower())
    numbers: dict[str, int] = {}
    lookup = {
        word: numbers.setdefault((_KNOWN.get(word) or _terms_of(word))[0], len(numbers))
        for word in dict.fromkeys(found)
        if word != _PART
    }
    lookup[_PART] = -1
    held = np.fromiter(map(lookup.__getitem__, found), np.int64, len(found))
    parts = held < 0
    where = np.asarray(plain, dtype=np.int64)[np.cumsum(parts)[~parts]] if plain else held
    keys, often = np.unique((where << 32) | held[~parts], return_counts=True)
    rest = sorted(set(range(len(texts))).difference(plain))
    more = [(i << 32 | numbers.setdefault(t, len(numbers)), n) for i in rest for t, n in counted(texts[i]).items()]
    keys = np.concatenate((keys, np.asarray([k for k, _ in more], dtype=np.int64)))
    often = np.concatenate((often, np.asarray([n for _, n in more], dtype=np.int64)))
    order = np.argsort(keys)
    keys, often = keys[order], often[order]
    return list(numbers), keys & 0xFFFFFFFF, keys >> 32, often


def terms(text: str) -> tuple[str, ...]:
    """The terms a query is looked up by, each once, in the order of the alphabet; at most MOST_TERMS."""
    found: set[str] = set()
    for word in _words(text):
        if _IS_DENSE.match(word):
            found.update(_pairs(word) if len(word) > 1 else (word,))
        else:
            found.update(_KNOWN.get(word) or _terms_of(word))
    return tuple(sorted(found)[:MOST_TERMS])


def sequence(text: str) -> tuple[str, ...]:
    """The terms of a text in their order, for matching phrases; scripts without spaces give their single characters."""
    found: list[str] = []
    for word in _words(text):
        found += word if _IS_DENSE.match(word) else _KNOWN.get(word) or _terms_of(word)
    return tuple(found)


def _words(text: str) -> list[str]:
    return (_PLAIN if text.isascii() else _WORD).findall(text.lower())


def _terms_of(word: str) -> tuple[str, ...]:
    """The terms of one word, remembered."""
    if _IS_DENSE.match(word):
        return (*word, *_pairs(word))  # not remembered: a run of such characters is a phrase, and phrases never end
    with _LOCK:
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        clean = unicodedata.normalize("NFC", word).encode("utf-8", "replace").decode()
        _SCRATCH.execute("DELETE FROM scratch")
        _SCRATCH.execute("INSERT INTO scratch VALUES (?)", (clean,))
        found = tuple(row[0][:_LONGEST] for row in _SCRATCH.execute("SELECT term FROM words"))
        _KNOWN[word] = found
    return found


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)]


def _scratch() -> Connection:
    db = sqlcipher3.connect(":memory:", check_same_thread=False, isolation_level=None)
    db.execute(f"CREATE VIRTUAL TABLE scratch USING fts5(text, tokenize='{TOKENIZER}')")
    db.execute("CREATE VIRTUAL TABLE words USING fts5vocab('scratch', 'instance')")
    return db


_LOCK = threading.Lock()
_KNOWN: dict[str, tuple[str, ...]] = {}
_SCRATCH = _scratch()
