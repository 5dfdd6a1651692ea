"""The grammar says exactly what the schema says: integer ranges digit by digit, and a loud no to what it cannot enforce."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.answers import Spoken, checked, cut_short, spoken
from models.errors import OutputError
from models.grammar import GrammarError, grammar_of
from models.schema import parse_object, problems_of

THING = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "count": {"type": "integer", "minimum": 1, "maximum": 12},
        "place": {"anyOf": [{"type": "string", "maxLength": 5}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3},
    },
    "required": ["name", "count"],
}


def rule(grammar: str, name: str = "root") -> str:
    return next(line.split(" ::= ", 1)[1] for line in grammar.splitlines() if line.startswith(f"{name} ::="))


def pattern(schema: dict[str, Any]) -> re.Pattern[str]:
    """A rule of literals, classes and counts alone is a regular expression once its quotes and blanks are gone."""
    body = rule(grammar_of(schema)).replace('"."', "[.]").replace('"', "").replace(" ", "")
    return re.compile(f"(?:{body})")


@given(st.integers(-1200, 1200), st.integers(0, 1500))
def test_an_integer_range_is_exact(low: int, width: int) -> None:
    high = low + width
    range_ = pattern({"type": "integer", "minimum": low, "maximum": high})
    for value in {
        *range(low - 3, low + 4),
        *range(high - 3, high + 4),
        0,
        7,
        -7,
        99,
        100,
        1000,
        -10,
        (low + high) // 2,
    }:
        assert bool(range_.fullmatch(str(value))) == (low <= value <= high), (low, high, value)
    assert not range_.fullmatch(f"0{high}")
    assert not range_.fullmatch("-0")


@given(st.integers(-30, 30), st.integers(0, 40), st.decimals(-75, 75, places=2))
def test_a_number_range_lets_nothing_outside_through(low: int, width: int, value: Any) -> None:
    high = low + width
    range_ = pattern({"type": "number", "minimum": low, "maximum": high})
    text = str(value.normalize()) if "E" not in str(value.normalize()) else str(int(value))
    if range_.fullmatch(text):
        assert low <= float(text) <= high
    elif low < float(text) < high and text != "-0":
        raise AssertionError(f"{text} is in {low}..{high}")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "a+"},
        {"type": "object", "additionalProperties": True},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {}, "required": ["ghost"]},
        {"type": "array"},
        {"type": "array", "items": {}, "maxItems": 2},
        {"type": "array", "items": {"type": "null"}, "minItems": 4, "maxItems": 3},
        {"type": "integer", "minimum": 3, "maximum": 2},
        {"type": "integer", "exclusiveMinimum": 3},
        {"type": "number", "minimum": 0.5},
        {"allOf": [{"type": "string"}, {"maxLength": 3}]},
        {"enum": []},
        {"$ref": "#/$defs/Nowhere"},
        {"not": {"type": "string"}},
        {"type": "file"},
        {},
    ],
)
def test_what_cannot_be_enforced_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(GrammarError) as refusal:
        grammar_of(schema)
    assert refusal.value.code == "model.grammar"


def test_a_recursive_schema_has_one_rule_for_each_definition() -> None:
    schema = {
        "$defs": {
            "Tree": {
                "type": "object",
                "properties": {"leaves": {"type": "array", "items": {"$ref": "#/$defs/Tree"}, "maxItems": 2}},
                "required": ["leaves"],
            }
        },
        "$ref": "#/$defs/Tree",
    }
    grammar = grammar_of(schema)
    assert grammar.count("def-Tree ::=") == 1
    assert rule(grammar) == "def-Tree"


def test_every_rule_that_is_named_exists() -> None:
    grammar = grammar_of(
        {**THING, "properties": {**THING["properties"], "long": {"type": "string", "maxLength": 1800}}}
    )
    made = {line.split(" ::=")[0] for line in grammar.splitlines()}
    bare = re.sub(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|\{[0-9,]*\}', " ", grammar)
    used = set(re.findall(r"[A-Za-z][\w-]*", bare.replace("::=", " ")))
    assert used <= made


def test_an_answer_is_checked_key_by_key() -> None:
    assert checked('{"name":"cup","count":2,"place":null}', THING) == {"name": "cup", "count": 2, "place": None}
    for wrong in (
        '{"name":"cup"}', '{"name":"cup","count":13}', '{"name":"cup","count":true}', '{"name":"cup","count":1,"x":1}',
        '{"name":"cup","count":1,"tags":["a","c"]}', '{"name":"cup","count":1,"place":"kitchen"}', "[]", "{", "NaN",
        '{"name":"cup","count":1,"count":2}', '{"name":"c\nup","count":1}', json.dumps(THING),
    ):  # fmt: skip
        with pytest.raises(OutputError):
            checked(wrong, THING)


@given(st.data())
def test_of_a_cut_answer_only_what_is_whole_is_kept(data: st.DataObject) -> None:
    things = data.draw(
        st.lists(st.fixed_dictionaries({"name": st.text(max_size=6), "count": st.integers(1, 9)}), max_size=4)
    )
    schema = {
        "type": "object",
        "properties": {"title": {"type": "string"}, "things": {"type": "array", "items": THING}},
        "required": ["title"],
    }
    whole = {"title": "at home", "things": things}
    text = json.dumps(whole, ensure_ascii=data.draw(st.booleans()))
    cut = text[: data.draw(st.integers(0, len(text)))]
    if len(cut) < len('{"title": "at home"'):
        with pytest.raises(OutputError):
            cut_short(cut, schema)
        return
    kept = cut_short(cut, schema)
    assert not problems_of(kept, schema)
    assert kept.get("things", []) == things[: len(kept.get("things", []))]
    assert len(kept.get("things", [])) == len(things) or cut != text


def test_a_list_that_was_not_reached_is_empty_but_a_text_must_be_there() -> None:
    parts = {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "array", "items": {"type": "null"}}}
    schema = {"type": "object", "properties": parts, "required": ["a", "b", "c"]}
    assert cut_short('{"a": "x", "b": "y", "c', schema) == {"a": "x", "b": "y", "c": []}
    with pytest.raises(OutputError, match="lacks b"):
        cut_short('{"a": "x", "b": "y', schema)


def test_a_number_that_may_have_gone_on_is_not_kept() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    assert cut_short('{"n": 12', schema) == {}
    assert cut_short('{"n": 12,', schema) == {"n": 12}


@given(st.text("<>/think ab", max_size=40), st.integers(1, 5))
def test_thinking_is_left_out_wherever_the_pieces_break(text: str, size: int) -> None:
    stream = Spoken()
    pieces = [stream.feed(text[i : i + size]) for i in range(0, len(text), size)]
    assert ("".join(pieces) + stream.end()).strip() == spoken(text)


def test_thinking_is_left_out() -> None:
    assert spoken("<think>\nThe keys?\n</think>\n\nOn the table.") == "On the table."
    assert spoken("<think>no end") == ""
    assert spoken("a < b") == "a < b"


def test_only_objects_are_objects() -> None:
    with pytest.raises(ValueError, match="object"):
        parse_object("3")
