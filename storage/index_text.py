"""From a text to the terms it is found by: folded and stemmed words, and pairs of characters where no spaces part words.

Words are folded (case, accents) and stemmed by FTS5's tokenizer, in a table in memory that holds one word at a time;
each distinct word is asked once and remembered.  Chinese, Japanese, Korean, Thai and their like are cut to single
characters and overlapping pairs: a query of two or more of them matches by pairs.
"""

from __future__ import annotations

import re
import threading
import unicodedata

import sqlcipher3

from storage.connect import Connection

TOKENIZER = "porter unicode61 remove_diacritics 2"
MOST_TERMS = 64  # of a query
_MOST_KNOWN = 200_000  # words remembered; a life has fewer
_LONGEST = 64  # characters of a term; what is longer is noise, and noise must not fill the index

# Scripts written without spaces, or whose words take endings that no stemmer here knows.
_DENSE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_DENSE}]+|(?:(?![{_DENSE}])[^\W_][\u0300-\u036f]*)+")
_PLAIN = re.compile(r"[a-z0-9]+")  # the same where all is ASCII, at a quarter of the cost
_IS_DENSE = re.compile(rf"[{_DENSE}]")


def counted(text: str) -> dict[str, int]:
    """The terms of a text to be stored, each with how often it occurs."""
    found: dict[str, int] = {}
    known = _KNOWN
    for word in _words(text):
        for term in known.get(word) or _terms_of(word):
            found[term] = found.get(term, 0) + 1
    return found


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
