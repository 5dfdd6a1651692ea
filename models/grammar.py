"""From a JSON schema to a GBNF grammar under which whatever a model writes is strictly valid JSON.

We build it ourselves because llama.cpp's converter lets raw control characters into strings, passes over integer ranges,
and its chat handlers answer a schema they cannot convert with "any JSON".  Here a keyword that is not understood is a
GrammarError, every string and array has an end, and keys come once each in the order of the schema.

Understood: object (properties, required, additionalProperties false), array (items, prefixItems, minItems, maxItems),
string (minLength, maxLength), integer and number (minimum, maximum), boolean, null, enum, const, anyOf, oneOf, allOf of
one, a list of types, local $ref.  Titles, descriptions, defaults and examples say nothing about the form and are skipped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from models.errors import ModelError

STRING_MAX = 400  # characters of a string whose schema gives no maxLength
ARRAY_MAX = 32  # items of an array whose schema gives no maxItems
FRACTION = 6  # digits after the point
REPEAT = 500  # times one rule repeats: llama.cpp refuses far more, so longer runs are nested
LONGEST = 20_000  # characters of a string, items of an array

SAID_ELSEWHERE = frozenset(
    "title description default examples $schema $id $defs definitions $comment discriminator".split()
)
_SPACE = '" "?'
# No control characters (C1 neither), no halves of surrogate pairs, nothing beyond Unicode, no \u: what is not ASCII is written as itself.
_CHAR = r'[^"\\\x00-\x1F\x7F-\x9F\uD800-\uDFFF\U00110000-\U001FFFFF] | "\\" ["\\/bfnrt]'


class GrammarError(ModelError):
    """The schema asks for something that cannot be enforced; the message names the place."""

    code = "model.grammar"


def grammar_of(schema: Mapping[str, Any]) -> str:
    """GBNF whose root is one value valid under `schema`.  Raises GrammarError."""
    builder = _Builder(schema)
    builder.rules["root"] = builder.value(schema, "root")
    return "\n".join(f"{name} ::= {body}" for name, body in builder.rules.items()) + "\n"


class _Builder:
    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.rules: dict[str, str] = {}
        self._named = {**schema.get("definitions", {}), **schema.get("$defs", {})}
        self._refs: dict[str, str] = {}

    def value(self, schema: Any, at: str) -> str:
        """The body of a rule for one value."""
        if not isinstance(schema, Mapping):
            raise GrammarError(f"The schema at {at} is not an object; write one with a type.")
        known = _without(schema)
        if "$ref" in known:
            return self._reference(str(known.pop("$ref")), known, at)
        if "const" in known:
            return _literal(_only(known, at, "const", "type")["const"])
        if "enum" in known:
            values = _only(known, at, "enum", "type")["enum"]
            if not values:
                raise GrammarError(f"The enum at {at} is empty.")
            return _either(_literal(v) for v in values)
        for several in ("anyOf", "oneOf", "allOf"):
            if several in known:
                options = _only(known, at, several, "type")[several]
                if several == "allOf" and len(options) != 1:
                    raise GrammarError(f"allOf at {at} joins several schemas; write them as one.")
                return _either(self._rule(o, f"{at}-{i}") for i, o in enumerate(options))
        kind = known.get("type")
        if isinstance(kind, list):
            return _either(self._rule({**known, "type": k}, f"{at}-{k}") for k in kind)
        made = {
            "object": self._object, "array": self._array, "string": self._string, "integer": self._integer,
            "number": self._number, "boolean": self._boolean, "null": self._null,
        }.get(str(kind))  # fmt: skip
        if made is None:
            raise GrammarError(f"The schema at {at} has no type that can be enforced ({kind}).")
        return made(known, at)

    def _rule(self, schema: Any, at: str) -> str:
        """A rule of its own for one value; returns its name."""
        name = _name(at)
        while name in self.rules:
            name += "x"
        self.rules[name] = ""  # its place: a recursive schema comes by again
        self.rules[name] = self.value(schema, at)
        return name

    def _reference(self, ref: str, rest: Mapping[str, Any], at: str) -> str:
        key = ref.rsplit("/", 1)[-1]
        if rest or not ref.startswith(("#/$defs/", "#/definitions/")) or key not in self._named:
            raise GrammarError(f"The reference {ref} at {at} leads nowhere, or has keywords beside it.")
        if ref not in self._refs:
            self._refs[ref] = name = _name(f"def-{key}")
            self.rules[name] = ""
            self.rules[name] = self.value(self._named[key], key)
        return self._refs[ref]

    def _object(self, schema: dict[str, Any], at: str) -> str:
        _only(schema, at, "type", "properties", "required", "additionalProperties")
        if schema.get("additionalProperties", False) is not False:
            raise GrammarError(f"The object at {at} allows other keys; name them all.")
        properties = schema.get("properties", {})
        required = set(schema.get("required", ()))
        if not required <= set(properties):
            raise GrammarError(
                f"The object at {at} requires keys without a schema: {sorted(required - set(properties))}."
            )
        pairs = [
            (f'{_literal(key)} ":" {_SPACE} {self._rule(value, f"{at}-{key}")}', key in required)
            for key, value in properties.items()
        ]
        return f'"{{" {self._members(pairs, _name(at))} "}}"'

    def _members(self, pairs: Sequence[tuple[str, bool]], name: str) -> str:
        """Keys in order, optional ones present or not, commas between those present."""
        if all(needed for _, needed in pairs):
            return f' "," {_SPACE} '.join(pair for pair, _ in pairs)
        # rest-i: what may follow once something was written; first-i: nothing was written yet.
        rest = first = '""'
        for i in range(len(pairs) - 1, -1, -1):
            pair, needed = pairs[i]
            more = self._add(f"{name}-more{i}", f'"," {_SPACE} {pair} {rest}' + ("" if needed else f" | {rest}"))
            first = self._add(f"{name}-first{i}", f"{pair} {rest}" + ("" if needed else f" | {first}"))
            rest = more
        return first

    def _add(self, name: str, body: str) -> str:
        self.rules[name] = body
        return name

    def _array(self, schema: dict[str, Any], at: str) -> str:
        _only(schema, at, "type", "items", "prefixItems", "minItems", "maxItems", "uniqueItems")
        comma = f'"," {_SPACE}'
        heads = [self._rule(s, f"{at}-at{i}") for i, s in enumerate(schema.get("prefixItems", ()))]
        if heads:
            if schema.get("items", False) is not False or schema.get("minItems", len(heads)) != len(heads):
                raise GrammarError(f"The array at {at} has fixed and free items; use one kind.")
            return f'"[" {f" {comma} ".join(heads)} "]"'
        low = _whole(schema.get("minItems", 0), at)
        high = _whole(schema.get("maxItems", max(low, ARRAY_MAX)), at)
        if not low <= high <= LONGEST:
            raise GrammarError(f"The array at {at} has no sensible length ({low} to {high}).")
        if high == 0:
            return '"[]"'
        item = self._rule(schema.get("items"), f"{at}-item")
        rest = self._repeat(f"{comma} {item}", max(0, low - 1), high - 1, f"{at}-items")
        filled = f"{item} {rest}".rstrip()
        return f'"[" {filled} "]"' if low else f'"[" ({filled})? "]"'

    def _string(self, schema: dict[str, Any], at: str) -> str:
        _only(schema, at, "type", "minLength", "maxLength")
        low = _whole(schema.get("minLength", 0), at)
        high = _whole(schema.get("maxLength", max(low, STRING_MAX)), at)
        if not low <= high <= LONGEST:
            raise GrammarError(f"The string at {at} has no sensible length ({low} to {high}).")
        self.rules["char"] = _CHAR
        return f'"\\"" {self._repeat("char", low, high, at + "-chars")} "\\""'

    def _repeat(self, what: str, low: int, high: int, at: str) -> str:
        """`what`, low to high times."""
        if high == 0:
            return ""
        if high <= REPEAT:
            return f"({what}){{{low},{high}}}"
        if low >= REPEAT:
            return f"({what}){{{REPEAT}}} {self._repeat(what, low - REPEAT, high - REPEAT, at + '-on')}".rstrip()
        # Short enough to end in this run, or a full run and on: two readings at most are open at any time.
        on = self._add(_name(f"{at}-{high}"), self._repeat(what, 0, high - REPEAT, at))
        return f"(({what}){{{low},{REPEAT - 1}}} | ({what}){{{REPEAT}}} {on})"

    def _integer(self, schema: dict[str, Any], at: str) -> str:
        _only(schema, at, "type", "minimum", "maximum")
        low, high = schema.get("minimum"), schema.get("maximum")
        if low is None and high is None:
            return '"0" | "-"? [1-9] [0-9]{0,14}'
        bottom = _whole(-(10**15) + 1 if low is None else low, at)
        top = _whole(10**15 - 1 if high is None else high, at)
        if bottom > top:
            raise GrammarError(f"The integer at {at} has no value ({bottom} to {top}).")
        return _either(_integers(bottom, top))

    def _number(self, schema: dict[str, Any], at: str) -> str:
        _only(schema, at, "type", "minimum", "maximum")
        low, high = schema.get("minimum"), schema.get("maximum")
        fraction = f'("." [0-9]{{1,{FRACTION}}})?'
        if low is None and high is None:
            return f'"-"? ("0" | [1-9] [0-9]{{0,14}}) {fraction}'
        bottom = _whole(-(10**15) + 1 if low is None else low, at)
        top = _whole(10**15 - 1 if high is None else high, at)
        if bottom > top:
            raise GrammarError(f"The number at {at} has no value ({bottom} to {top}).")
        zeros = f'("." "0"{{1,{FRACTION}}})?'
        parts = []
        if max(bottom, 0) < top:  # a.bcd with a from bottom to top - 1
            parts += [f"({_either(_integers(max(bottom, 0), top - 1))}) {fraction}"]
        if bottom < min(top, 0):  # -a.bcd
            parts += [f'"-" ({_either(_integers(max(0, -top), -bottom - 1))}) {fraction}']
        ends = [v for v in (bottom, top) if not (v == bottom and 0 <= v < top) and not (v == top and bottom < v <= 0)]
        parts += [f"({_either(_integers(v, v))}) {zeros}" for v in dict.fromkeys(ends)]
        return _either(parts)

    def _boolean(self, schema: dict[str, Any], at: str) -> str:
        _only(schema, at, "type")
        return '"true" | "false"'

    def _null(self, schema: dict[str, Any], at: str) -> str:
        _only(schema, at, "type")
        return '"null"'


def _integers(low: int, high: int) -> list[str]:
    """Rule bodies that together match exactly the integers low..high, without leading zeros."""
    if low < 0:
        below = [f'"-" ({_either(_integers(max(1, -high), -low))})'] if -low >= max(1, -high) else []
        return below + (_integers(0, high) if high >= 0 else [])
    bodies = []
    for length in range(len(str(low)), len(str(high)) + 1):
        first = max(low, 10 ** (length - 1) if length > 1 else 0)
        bodies += _same_length(str(first), str(min(high, 10**length - 1)))
    return bodies


def _same_length(low: str, high: str) -> list[str]:
    """Digit patterns for low..high, two numerals of one length."""
    if low == high:
        return [f'"{low}"']
    if len(low) == 1:
        return [f"[{low}-{high}]"]
    if low[0] == high[0]:
        return [f'"{low[0]}" ({_either(_same_length(low[1:], high[1:]))})']
    rest = len(low) - 1
    parts = []
    start, end = int(low[0]), int(high[0])
    if low[1:] != "0" * rest:
        parts.append(f'"{low[0]}" ({_either(_same_length(low[1:], "9" * rest))})')
        start += 1
    last = None
    if high[1:] != "9" * rest:
        last = f'"{high[0]}" ({_either(_same_length("0" * rest, high[1:]))})'
        end -= 1
    if start <= end:
        parts.append(f"[{start}-{end}] [0-9]{{{rest}}}")
    return parts + ([last] if last else [])


def _without(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in schema.items() if k not in SAID_ELSEWHERE}


def _only(schema: Mapping[str, Any], at: str, *known: str) -> Mapping[str, Any]:
    other = sorted(set(schema) - set(known))
    if other:
        raise GrammarError(f"The schema at {at} uses {', '.join(other)}, which cannot be enforced; leave it out.")
    return schema


def _whole(value: Any, at: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise GrammarError(f"The bound {value} at {at} is not a whole number.")
    return int(value)


def _literal(value: Any) -> str:
    """One JSON value, written exactly so."""
    text = json.dumps(value, ensure_ascii=False)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _either(bodies: Any) -> str:
    return " | ".join(bodies)


def _name(at: str) -> str:
    """A rule name: letters, figures and dashes only."""
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in at)
