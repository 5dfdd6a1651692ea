"""Checking a JSON value against the part of JSON Schema that models/grammar.py enforces.

A local model cannot break its grammar; what a remote one sends must be looked at.  Strict: a key that is not named is
wrong, true is no number, and text that is no JSON is wrong (NaN, a key twice).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

PROBLEMS = 5  # told at most: enough to put right


def parse_object(text: str) -> dict[str, Any]:
    """The object a text is.  Raises ValueError where it is anything else, or not strictly JSON."""
    value = json.loads(text, parse_constant=_refuse, object_pairs_hook=_once)
    if not isinstance(value, dict):
        raise ValueError(f"a JSON object was wanted, not {type(value).__name__}")  # noqa: TRY004  one error for callers
    return value


def problems_of(value: Any, schema: Mapping[str, Any]) -> list[str]:
    """What is wrong with `value`, each with its place; empty when it is valid."""
    named = {**schema.get("definitions", {}), **schema.get("$defs", {})}
    return _check(value, schema, named, "the answer")[:PROBLEMS]


def _check(value: Any, schema: Mapping[str, Any], named: Mapping[str, Any], at: str) -> list[str]:
    if "$ref" in schema:
        return _check(value, named[str(schema["$ref"]).rsplit("/", 1)[-1]], named, at)
    if "const" in schema:
        return [] if _same(value, schema["const"]) else [f"{at} must be {schema['const']!r}"]
    if "enum" in schema:
        return [] if any(_same(value, v) for v in schema["enum"]) else [f"{at} must be one of {schema['enum']}"]
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            found = [_check(value, s, named, at) for s in schema[several]]
            return [] if any(not f for f in found) else min(found, key=len)
    kinds = schema.get("type")
    if isinstance(kinds, list):
        found = [_check(value, {**schema, "type": k}, named, at) for k in kinds]
        return [] if any(not f for f in found) else min(found, key=len)
    if kinds is not None and not _is(value, str(kinds)):
        return [f"{at} must be of type {kinds}"]
    if isinstance(value, dict):
        return _check_object(value, schema, named, at)
    if isinstance(value, list):
        return _check_array(value, schema, named, at)
    if isinstance(value, str):
        return _range(len(value), schema.get("minLength"), schema.get("maxLength"), f"the length of {at}")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _range(value, schema.get("minimum"), schema.get("maximum"), at)
    return []


def _check_object(value: dict[str, Any], schema: Mapping[str, Any], named: Mapping[str, Any], at: str) -> list[str]:
    properties = schema.get("properties", {})
    wrong = [f"{at} lacks {key}" for key in schema.get("required", ()) if key not in value]
    for key, item in value.items():
        if key in properties:
            wrong += _check(item, properties[key], named, f"{at}.{key}")
        else:
            wrong.append(f"{at} has {key}, which nobody asked for")
    return wrong


def _check_array(value: list[Any], schema: Mapping[str, Any], named: Mapping[str, Any], at: str) -> list[str]:
    heads = schema.get("prefixItems", ())
    low = len(heads) if heads else schema.get("minItems")
    high = len(heads) if heads else schema.get("maxItems")
    wrong = _range(len(value), low, high, f"the length of {at}")
    for i, item in enumerate(value):
        wrong += _check(item, heads[i] if i < len(heads) else schema.get("items", {}), named, f"{at}[{i}]")
    return wrong


def _is(value: Any, kind: str) -> bool:
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    known = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    return isinstance(value, known[kind])


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(a == b)


def _range(value: float, low: float | None, high: float | None, what: str) -> list[str]:
    wrong = [f"{what} must be at least {low}"] if low is not None and value < low else []
    return wrong + ([f"{what} must be at most {high}"] if high is not None and value > high else [])


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key comes twice")
    return made
