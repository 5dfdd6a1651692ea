"""Words made comparable: inflections, synonyms, things and their kinds, acts with directions."""

from __future__ import annotations

import pytest

from edge.retrieval import words


@pytest.mark.parametrize(
    "family",
    [
        "slice slices sliced slicing",
        "put puts putting",
        "take takes took taken taking",
        "wash washes washed washing",
        "dry dries dried drying",
        "berry berries",
        "potato potatoes",
        "knife knives",
        "box boxes",
        "stir stirs stirred stirring",
        "fridge fridges refrigerator",
        "close closed shut shutting",
        "begin began begun start started",
        "leaf leaves",
        "egg eggs",
    ],
)
def test_one_key_a_family(family: str) -> None:
    assert len({words.key(w) for w in family.split()}) == 1


@pytest.mark.parametrize(
    ("one", "other"), [("pan", "pen"), ("open", "close"), ("glass", "glue"), ("ring", "rug"), ("bed", "bee")]
)
def test_different_words_stay_apart(one: str, other: str) -> None:
    assert words.key(one) != words.key(other)


@pytest.mark.parametrize(
    ("asked", "seen", "grade"),
    [
        ("the fridge", "refrigerator", 4),
        ("my plates", "plate", 4),
        ("the drawer", "freezer drawer", 3),
        ("the fridge", "fridge door", 2),
        ("the chopping board", "cutting board", 4),
        ("the drying rack", "rack", 1),
        ("the bottle", "bottle cap", 0),
        ("lid of the pan", "pan", 0),
        ("the pan", "lid of the pan", 0),
        ("the oil", "olive oil", 3),
        ("", "plate", 0),
    ],
)
def test_things(asked: str, seen: str, grade: int) -> None:
    assert words.thing_grade(words.thing(asked), words.thing(seen)) == grade


@pytest.mark.parametrize(
    ("asked", "done", "same"),
    [
        ("pour", "pours into", True),
        ("turn on", "switched on", True),
        ("turn on", "turn off", False),
        ("turn", "turn off", False),
        ("throw away", "throw", True),
        ("put", "put down", True),
        ("open", "close", False),
    ],
)
def test_acts(asked: str, done: str, same: bool) -> None:
    assert (words.act_grade(words.act(asked), words.act(done)) >= 2) is same


def test_near_acts_share_a_row() -> None:
    assert words.act("rinse") in words.near_acts(words.act("wash"))
    assert words.act("open") not in words.near_acts(words.act("wash"))
