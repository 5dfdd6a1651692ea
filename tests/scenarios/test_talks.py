"""Conversations from life: what is said near the device, and what it says and does about it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

_SPEC = importlib.util.spec_from_file_location("talk", Path(__file__).with_name("talk.py"))
assert _SPEC is not None and _SPEC.loader is not None
talk = sys.modules["talk"] = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(talk)
TALKS: list[dict[str, Any]] = talk.load()


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory, embed: Any) -> tuple[Path, int]:
    db = tmp_path_factory.mktemp("talks") / "memory.db"
    return db, talk.remember(db, embed) + 60_000_000


@pytest.mark.parametrize("case", TALKS, ids=lambda c: f"{c['file']}: {c['name']}")
def test_conversation(case: dict[str, Any], memory: tuple[Path, int], embed: Any, tmp_path: Path) -> None:
    assert talk.faults(case, *memory, embed, tmp_path) == []


def test_a_conversation_that_goes_wrong_is_noticed(memory: tuple[Path, int], embed: Any, tmp_path: Path) -> None:
    step = {"wake": "pause recording for an hour", "says": ["half an hour"], "does": ["rest 1800"], "chime": ["gone"]}
    assert len(talk.faults({"talk": [step, {"over": "stop"}]}, *memory, embed, tmp_path)) == 4
