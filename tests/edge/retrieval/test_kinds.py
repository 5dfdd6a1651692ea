"""Kinds of things, and the words people use for the detector's names."""

from __future__ import annotations

import pytest

from edge.retrieval import kinds
from models.backends.nanodet import COCO


@pytest.mark.parametrize(
    ("asked", "name", "grade"),
    [
        ("the fridge", "refrigerator", 4),
        ("animals", "giraffe", 3),
        ("pet", "cat", 3),
        ("vehicle", "bicycle", 3),
        ("plant", "potted plant", 3),
        ("device", "cell phone", 3),
        ("glass", "wine glass", 3),
        ("mug", "cup", 1),
        ("people", "person", 4),
        ("dog", "hot dog", 0),
        ("animal", "hot dog", 0),
        ("bear", "teddy bear", 0),
        ("animal", "mouse", 0),
        ("cat", "dog", 0),
        ("", "dog", 0),
    ],
)
def test_grade(asked: str, name: str, grade: int) -> None:
    assert kinds.grade(asked, name) == grade


def test_a_near_synonym_counts_only_when_nothing_is_named_so() -> None:
    assert kinds.named("mug", ["cup", "mug"]) == ["mug"]
    assert kinds.named("mug", ["cup", "fork"]) == ["cup"]


def test_every_name_of_the_detector_is_known() -> None:
    assert [label for label in COCO if not kinds.detectable(label)] == []
    assert not kinds.detectable("parachute")
