"""The error tree: codes are stable and unique, sentences say what to do, the drawing is complete."""

from __future__ import annotations

import inspect

from firmware_bridge import errors


def tree() -> list[type[errors.BridgeError]]:
    return [c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, errors.BridgeError)]


def test_codes_are_unique_and_drawn() -> None:
    codes = [c.code for c in tree()]
    assert len(set(codes)) == len(codes)
    rows = [line.split() for line in (errors.__doc__ or "").splitlines()]
    drawn = {(words[i], words[i + 1]) for words in rows for i in range(len(words) - 1)}
    for kind in tree():
        assert (kind.__name__, kind.code) in drawn and kind.code.startswith("bridge.")


def test_the_text_says_what_happened_and_what_to_do() -> None:
    assert str(errors.LinkLost("serial:x: gone.")) == f"serial:x: gone. {errors.LinkLost.hint}"
    assert all(str(kind()).endswith(".") and len(kind.hint.split()) >= 5 for kind in tree())
