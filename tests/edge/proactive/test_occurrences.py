"""Orders that name one text for several steps."""

from __future__ import annotations

import pytest

from edge.errors import InputError
from edge.proactive.occurrences import occurrences
from edge.proactive.procedures import make

STEPS = ["pour", "heat", "stir", "heat", "stir", "rest"]


def test_an_alternation_is_unrolled() -> None:
    order = [("pour", "heat"), ("heat", "stir"), ("heat", "stir"), ("stir", "heat"), ("stir", "rest")]
    assert set(occurrences(STEPS, order)) == {(0, 1), (1, 2), (3, 4), (2, 3), (4, 5)}


def test_the_order_of_the_pairs_does_not_matter() -> None:
    order = [("stir", "rest"), ("stir", "heat"), ("heat", "stir"), ("pour", "heat")]
    assert set(occurrences(STEPS, order)) == {(0, 1), (1, 2), (3, 4), (2, 3), (4, 5)}


def test_a_step_that_repeats_itself_is_a_chain() -> None:
    steps = ["cut", "slice", "slice", "slice", "serve"]
    order = [("cut", "slice"), ("slice", "slice"), ("slice", "serve")]
    assert set(occurrences(steps, order)) == {(0, 1), (1, 2), (2, 3), (3, 4)}


def test_what_is_done_once_inside_a_circle_is_due_by_its_last_turn() -> None:
    steps = ["heat", "add", "heat", "heat", "salt"]
    found = set(occurrences(steps, [("heat", "add"), ("add", "heat"), ("heat", "salt")]))
    assert {(0, 1), (3, 4)} <= found
    assert (1, 3) in found or (1, 2) in found


def test_single_steps_are_as_they_are_named() -> None:
    assert occurrences(["a", "b", "c"], [("b", "c"), ("a", "c"), ("b", "c")]) == [(1, 2), (0, 2)]


def test_the_first_turn_needs_what_comes_before_it() -> None:
    procedure = make("sauce", STEPS, [("pour", "heat"), ("heat", "stir"), ("stir", "heat"), ("stir", "rest")])
    assert procedure.open_after(frozenset()) == [0]
    assert procedure.open_after(frozenset({0, 1})) == [2]
    assert procedure.open_after(frozenset({0, 1, 2})) == [3]


def test_a_step_that_is_not_listed_is_named_in_the_error() -> None:
    with pytest.raises(InputError, match="'boil'"):
        make("sauce", STEPS, [("boil", "heat")])
