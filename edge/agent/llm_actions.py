"""What a language model may write in one round: ask for pieces of the memory, or answer from the notes it has.

Both are strict pydantic models (no extra key, no conversion), and one JSON schema made for the round at hand: only the
calls that are allowed, only notes that exist, only values of the kind the question asks for, and on the last round
nothing but an answer.  A local model is held to the schema by a grammar, a remote one by the check.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from edge.agent.forms import Form
from edge.agent.question import Query
from models.errors import OutputError

ValueKind: TypeAlias = Literal["time", "yes_no", "count", "seconds", "clock", "date", "date_list", "choice", "text"]

MOST_CALLS = 3
QUERY_CHARS, WHEN_CHARS, VALUE_CHARS = 80, 48, 120
UNKNOWN = "unknown"
AT_NOTE = "at note"
_DAYS = 31

_KINDS: dict[Form, ValueKind] = {
    "when": "time", "said_when": "time", "step_when": "time", "session": "time", "did": "yes_no", "state": "yes_no",
    "there": "yes_no", "before_than": "yes_no", "count": "count", "count_days": "count", "days_since": "count",
    "how_many": "count", "days_with": "date_list", "days_without": "date_list", "usual_time": "clock", "duration": "seconds",
}  # fmt: skip


class _Action(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Call(_Action):
    """One read of the memory: the call's name, what it looks for, when (a phrase such as "yesterday evening")."""

    tool: Annotated[str, Field(max_length=40)]
    query: Annotated[str, Field(max_length=QUERY_CHARS)]
    when: Annotated[str, Field(max_length=WHEN_CHARS)]


class Search(_Action):
    """Ask for pieces of the memory."""

    action: Literal["search"]
    calls: Annotated[list[Call], Field(min_length=1, max_length=MOST_CALLS)]


class Reply(_Action):
    """Answer: the numbers of the notes it rests on, best first, and the bare value."""

    action: Literal["answer"]
    notes: Annotated[list[int], Field(max_length=5)]
    value: str | int | list[str]


Action: TypeAlias = Search | Reply
_ACTION: TypeAdapter[Action] = TypeAdapter(Annotated[Search | Reply, Field(discriminator="action")])


def kind_of(query: Query) -> ValueKind:
    """The kind of value a question asks for."""
    if query.choices:
        return "choice"
    if query.form in ("lookup", "schedule") and query.text.lower().lstrip().startswith(
        ("when ", "what day", "what date", "which day")
    ):
        return "date"
    return _KINDS.get(query.form, "text")


def schema_for(
    kind: ValueKind, tools: Sequence[str], notes: Sequence[int], choices: Sequence[str] = (), *, calls: int, answer_only: bool,
    search_only: bool = False, told: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """The JSON schema of one round: an answer from the notes at hand, or a search; one alone where only that will do.

    `told`: the model has been given an exact value, so that "unknown" is no answer of a kind that is counted or dated.
    """
    cited = (
        {"type": "array", "items": {"enum": list(notes)}, "maxItems": 5}
        if notes
        else {"type": "array", "items": {"enum": [0]}, "maxItems": 0}
    )
    reply = _closed(
        {"action": {"const": "answer"}, "notes": cited, "value": _value(kind, choices, noted=bool(notes), told=told)}
    )
    if answer_only:
        return _wrapped(reply)
    call = _closed({
        "tool": {"enum": list(tools)},
        "query": {"type": "string", "maxLength": QUERY_CHARS},
        "when": {"type": "string", "maxLength": WHEN_CHARS},
    })  # fmt: skip
    search = _closed({
        "action": {"const": "search"}, "calls": {"type": "array", "items": call, "minItems": 1, "maxItems": calls},
    })  # fmt: skip
    return _wrapped(search) if search_only else _wrapped({"anyOf": [search, reply]})


def parsed(written: Mapping[str, Any] | str, *, calls: int) -> Action:
    """The action a model wrote; calls beyond the limit are left out.  Raises OutputError that says what is wrong."""
    try:
        whole = json.loads(written) if isinstance(written, str) else written
    except ValueError as error:
        raise OutputError(f"That is no JSON ({error}).") from error
    if not isinstance(whole, Mapping) or set(whole) != {"do"}:
        raise OutputError('That is no action: one object {"do": ...} was wanted.')
    try:
        action = _ACTION.validate_python(whole["do"])
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(str(p) for p in e['loc'])}: {e['msg']}" for e in error.errors()[:3])
        raise OutputError(f"That is no action ({told}).") from error
    return Search(action="search", calls=action.calls[:calls]) if isinstance(action, Search) else action


def _value(kind: ValueKind, choices: Sequence[str], *, noted: bool, told: bool) -> dict[str, Any]:
    unknown = {"const": UNKNOWN}
    unsure = [] if told else [UNKNOWN]
    if kind == "time":
        return {"enum": [AT_NOTE, "never", *unsure] if noted else ["never", *unsure]}
    if kind == "yes_no":
        return {"enum": ["yes", "no", *unsure]}
    if kind == "choice":
        return {"enum": list(dict.fromkeys(choices))}
    if kind in ("count", "seconds"):
        most = 10_000 if kind == "count" else 1_000_000
        number = {"type": "integer", "minimum": 0, "maximum": most}
        return number if told else {"anyOf": [number, unknown]}
    if kind == "date_list":
        day = {"type": "string", "minLength": 10, "maxLength": 10}
        days = {"type": "array", "items": day, "maxItems": _DAYS}
        return days if told else {"anyOf": [days, unknown]}
    longest = {"clock": 7, "date": 10}.get(kind, VALUE_CHARS)
    return {"type": "string", "minLength": 1, "maxLength": longest}


def _wrapped(schema: dict[str, Any]) -> dict[str, Any]:
    """Under one key: endpoints with strict schemas take no choice at the root."""
    return _closed({"do": schema})


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
