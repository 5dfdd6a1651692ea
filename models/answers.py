"""From what a model wrote to an object that is valid, or an error: nothing half-valid gets through, nothing is made up."""

from __future__ import annotations

import json
from typing import Any

from models.errors import OutputError
from models.roles import JsonSchema
from models.schema import parse_object, problems_of

_OPEN, _CLOSE = "<think>", "</think>"
_NOTHING = object()
_DECODER = json.JSONDecoder()


def checked(text: str, schema: JsonSchema) -> dict[str, Any]:
    """The object in `text`, valid under `schema`.  Raises OutputError that says what is wrong."""
    try:
        value = parse_object(text)
    except ValueError as error:
        raise OutputError(f"The model did not write the JSON that was asked for ({error}).") from error
    wrong = problems_of(value, schema)
    if wrong:
        raise OutputError(f"The model's JSON is not what was asked for: {'; '.join(wrong)}.")
    return value


def cut_short(text: str, schema: JsonSchema) -> dict[str, Any]:
    """The object in a text that ended too early: what is whole in it, if that alone is valid.  Raises OutputError.

    A list of the object that was not reached is empty; anything else that is required must be there.
    """
    value, _, _ = _whole_part(text, 0)
    if not isinstance(value, dict):
        raise OutputError("The model's answer was cut off before anything was whole; allow more tokens.")
    for key in schema.get("required", ()):
        if key not in value and schema["properties"][key].get("type") == "array":
            value[key] = []
    wrong = problems_of(value, schema)
    if wrong:
        raise OutputError(f"The model's answer was cut off: {'; '.join(wrong)}; allow more tokens.")
    return value


def _whole_part(text: str, at: int) -> tuple[Any, int, bool]:
    """What is whole of the value that begins at `at`, where it ends, and whether all of it is there.

    Of a cut array the whole items are kept, of a cut object the whole members and a cut container among them; a cut
    text or number is nothing (_NOTHING): nobody knows how it would have gone on.
    """
    at = _skip(text, at)
    if at >= len(text):
        return _NOTHING, at, False
    if text[at] == "[":
        items: list[Any] = []
        at = _skip(text, at + 1)
        while at < len(text) and text[at] != "]":
            item, at, whole = _whole_part(text, at)
            if not whole:
                return items, at, False
            items.append(item)
            at = _skip(text, at)
            if at < len(text) and text[at] == ",":
                at = _skip(text, at + 1)
        return items, at + 1, at < len(text)
    if text[at] == "{":
        members: dict[str, Any] = {}
        at = _skip(text, at + 1)
        while at < len(text) and text[at] != "}":
            key, at, whole = _whole_part(text, at)
            at = _skip(text, at)
            if not whole or at >= len(text) or text[at] != ":":
                return members, at, False
            value, at, whole = _whole_part(text, at + 1)
            if value is not _NOTHING:
                members[str(key)] = value
            if not whole:
                return members, at, False
            at = _skip(text, at)
            if at < len(text) and text[at] == ",":
                at = _skip(text, at + 1)
        return members, at + 1, at < len(text)
    try:
        value, end = _DECODER.raw_decode(text, at)
    except ValueError:
        return _NOTHING, len(text), False
    if end == len(text) and text[end - 1] != '"':  # a number may have gone on
        return _NOTHING, end, False
    return value, end, True


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


class Spoken:
    """Text as it is streamed, without what a reasoning model thinks aloud between <think> and </think>."""

    def __init__(self) -> None:
        self._held = ""
        self._thinking = self._began = False

    def feed(self, piece: str) -> str:
        """The next piece; what may be shown of it."""
        self._held += piece
        shown = ""
        while self._held:
            mark = _CLOSE if self._thinking else _OPEN
            before, found, after = self._held.partition(mark)
            if found:
                shown += "" if self._thinking else before
                self._held, self._thinking = after, not self._thinking
                continue
            keep = next(
                (n for n in range(min(len(mark) - 1, len(self._held)), 0, -1) if mark.startswith(self._held[-n:])), 0
            )
            free = self._held[: len(self._held) - keep]
            shown += "" if self._thinking else free
            self._held = self._held[len(self._held) - keep :]
            break
        return self._first(shown)

    def end(self) -> str:
        """What was held back and turns out to be text."""
        return "" if self._thinking else self._first(self._held)

    def _first(self, shown: str) -> str:
        """Nothing but blanks before the first word: they belong to the thinking."""
        if not self._began:
            shown = shown.lstrip()
            self._began = bool(shown)
        return shown


def spoken(text: str) -> str:
    """A whole text without the thinking."""
    filter_ = Spoken()
    return (filter_.feed(text) + filter_.end()).strip()
