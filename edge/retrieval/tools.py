"""The skills' calls as tools for any model: names, what they do, JSON schemas; arguments are checked strictly."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, get_args, get_origin, get_type_hints

from edge.clock import parse_time
from edge.errors import InputError
from edge.retrieval import timephrase
from edge.retrieval.skills import Skills
from edge.retrieval.zone import Us, Zone
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
        "look",
    ),
    "moment recall": ("search_moments", "moments_in_range"),
    "episode replay": ("search_episodes", "recent_episodes", "episode_moments"),
    "pattern traversal": ("search_patterns", "traverse"),
    "across": ("summarize", "anchor", "readout", "search_facts"),
}
_NOT_FOR_MODELS = frozenset(("self", "fan_out"))  # the fan-out is a setting, not a model's choice
_TIMES = ("start", "end")
_TIME = "ISO 8601 with a zone, an English time phrase such as 'yesterday evening', or microseconds UTC"


def _schema(call: Callable[..., Any]) -> dict[str, Any]:
    hints = get_type_hints(call)
    properties: dict[str, Any] = {}
    required = []
    for name, parameter in inspect.signature(call).parameters.items():
        if name in _NOT_FOR_MODELS:
            continue
        if name in _TIMES:
            properties[name] = {"type": ["string", "integer"], "description": _TIME}
        elif get_origin(hints[name]) is not None and all(isinstance(a, str) for a in get_args(hints[name])):
            properties[name] = {"enum": list(get_args(hints[name]))}
        else:
            properties[name] = {"type": "string" if hints[name] is str else "integer"}
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


TOOLS: tuple[Tool, ...] = tuple(
    Tool(skill, name, inspect.getdoc(getattr(Skills, name)) or "", _schema(getattr(Skills, name)))
    for skill, names in _SKILLS.items()
    for name in names
)
_BY_NAME = {tool.name: tool for tool in TOOLS}


def call(skills: Skills, name: str, arguments: dict[str, Any], zone: Zone | None = None) -> Any:
    """Run one call with a model's arguments; returns plain lists and dicts.

    `zone` reads time phrases; without it only ISO times and microseconds are taken.
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
    given = dict(arguments)
    for key, value in arguments.items():
        if "enum" in properties[key]:
            if value not in properties[key]["enum"]:
                raise InputError(f"{name}: {key} is one of {', '.join(properties[key]['enum'])}.")
        elif key in _TIMES:
            given[key] = _time(name, key, value, zone)
        else:
            wanted = str if properties[key]["type"] == "string" else int
            if not isinstance(value, wanted) or isinstance(value, bool):
                raise InputError(f"{name}: {key} must be {'text' if wanted is str else 'a whole number'}.")
    try:
        found = getattr(skills, name)(**given)
    except NotFound as error:
        raise InputError(str(error)) from error
    if found is None:
        return None
    return [asdict(f) for f in found] if isinstance(found, list) else asdict(found)


def _time(name: str, key: str, value: Any, zone: Zone | None) -> Us:
    """A time as a model writes it: the start of a phrase for `start`, its end for `end`."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        try:
            return parse_time(value)[0]
        except InputError as error:
            spans = timephrase.extract(value, zone).spans if zone is not None else ()
            if spans:
                return spans[0].start if key == "start" else spans[0].end
            raise InputError(f"{name}: {key} is no time ({value[:40]!r}): {_TIME}.") from error
    raise InputError(f"{name}: {key} must be a time: {_TIME}.")
