"""The skills' calls as tools for any model: names, what they do, JSON schemas; arguments are checked strictly."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, get_type_hints

from edge.errors import InputError
from edge.retrieval.skills import Skills
from storage.errors import NotFound


@dataclass(frozen=True, slots=True)
class Tool:
    """One call: the skill it belongs to, its name, a sentence, a JSON schema of its arguments."""

    skill: str
    name: str
    text: str
    parameters: dict[str, Any]


_SKILLS: dict[str, tuple[str, ...]] = {
    "perception lookup": (
        "recent_captions",
        "global_captions",
        "search_text",
        "text_in_range",
        "search_events",
        "count_events",
        "search_entities",
    ),
    "moment recall": ("search_moments", "moments_in_range"),
    "episode replay": ("search_episodes", "recent_episodes", "episode_moments"),
    "pattern traversal": ("search_patterns", "traverse"),
}
_NOT_FOR_MODELS = frozenset(("self", "fan_out"))  # the fan-out is a setting, not a model's choice


def _schema(call: Callable[..., Any]) -> dict[str, Any]:
    hints = get_type_hints(call)
    properties: dict[str, Any] = {}
    required = []
    for name, parameter in inspect.signature(call).parameters.items():
        if name in _NOT_FOR_MODELS:
            continue
        kind = "string" if hints[name] is str else "integer"
        properties[name] = {"type": kind}
        if name in ("start", "end"):
            properties[name]["description"] = "microseconds UTC"
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


TOOLS: tuple[Tool, ...] = tuple(
    Tool(skill, name, inspect.getdoc(getattr(Skills, name)) or "", _schema(getattr(Skills, name)))
    for skill, names in _SKILLS.items()
    for name in names
)
_BY_NAME = {tool.name: tool for tool in TOOLS}


def call(skills: Skills, name: str, arguments: dict[str, Any]) -> Any:
    """Run one call with a model's arguments; returns plain lists and dicts.

    Raises InputError for an unknown call, an unknown, missing or wrongly typed argument, or an id that is not there.
    """
    tool = _BY_NAME.get(name)
    if tool is None:
        raise InputError(f"There is no call {name!r}: use one of {', '.join(_BY_NAME)}.")
    properties = tool.parameters["properties"]
    extra = sorted(set(arguments) - set(properties))
    missing = [r for r in tool.parameters["required"] if r not in arguments]
    if extra or missing:
        raise InputError(f"{name} takes {', '.join(properties)}; wrong: {', '.join(extra + missing)}.")
    for key, value in arguments.items():
        wanted = str if properties[key]["type"] == "string" else int
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise InputError(f"{name}: {key} must be {'text' if wanted is str else 'a whole number'}.")
    try:
        found = getattr(skills, name)(**arguments)
    except NotFound as error:
        raise InputError(str(error)) from error
    return [asdict(f) for f in found] if isinstance(found, list) else asdict(found)
