"""The four error trees: codes that are stable, unique and drawn; sentences of one line."""

from __future__ import annotations

import re
import sys

import pytest

from edge.errors import GroveError, QuestionError, UsageError, code_of, sentence_of
from tools.gen_docs import PACKAGES, error_classes, trees

CLASSES = [(package, cls) for package in PACKAGES for cls in error_classes(package)]


def test_codes_are_unique_over_all_trees() -> None:
    codes = [cls.code for _, cls in CLASSES]
    assert sorted(codes) == sorted(set(codes))
    assert len(codes) > 40


@pytest.mark.parametrize(("package", "cls"), CLASSES, ids=lambda x: getattr(x, "__name__", x))
def test_each_class_is_drawn_with_its_code(package: str, cls: type) -> None:
    drawn = [(name, code) for name, code, _ in trees()[package]]
    assert (cls.__name__, cls.code) in drawn or _base_without_code(package, cls)
    assert re.fullmatch(r"[a-z]+(\.[a-z_]+)?", cls.code)


def _base_without_code(package: str, cls: type) -> bool:
    """The root of a leaf's tree may stand without its code."""
    return cls.__bases__ == (Exception,) and cls.__name__ in (sys.modules[f"{package}.errors"].__doc__ or "")


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_is_drawn_that_is_not_there(package: str) -> None:
    real = {(cls.__name__, cls.code) for cls in error_classes(package)}
    drawn = {(name, code) for name, code, _ in trees()[package]}
    assert drawn <= real


@pytest.mark.parametrize("package", PACKAGES)
def test_a_class_of_the_tree_has_a_code_of_its_own(package: str) -> None:
    module = sys.modules[f"{package}.errors"]
    own = {
        c
        for c in vars(module).values()
        if isinstance(c, type) and issubclass(c, Exception) and c.__module__ == module.__name__
    }
    assert own <= set(error_classes(package))


def test_a_code_is_read_from_any_tree_and_from_no_other() -> None:
    for _, cls in CLASSES:
        assert code_of(cls.__new__(cls)) == cls.code
    assert code_of(ValueError("x")) is None
    assert code_of(SystemExit(3)) is None


def test_a_sentence_is_one_line() -> None:
    assert sentence_of(QuestionError("What\n is\t this? ")) == "What is this?"
    assert sentence_of(ValueError()) == "ValueError"


def test_only_misuse_exits_with_two() -> None:
    for cls in (c for package, c in CLASSES if package == "edge"):
        assert issubclass(cls, GroveError)
        assert cls.exit_status == (2 if cls is UsageError else 1)
