"""SQL lives in storage alone, and there each stratum's rows are written by its own file or by what goes across them all."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SQL = re.compile(
    r"\b(SELECT\s[^.]*\sFROM\s|INSERT\s+(OR \w+ )?INTO\s|DELETE FROM\s|UPDATE \w+ SET\s|(CREATE|DROP) (VIRTUAL )?TABLE|"
    r"PRAGMA \w+|ATTACH )"
)
WRITES = re.compile(r"(?:INSERT (?:OR \w+ )?INTO|UPDATE|DELETE FROM) (\w+)\b(?! AFTER)")

# stratum -> its file
HOMES = {
    "window item entity keyframe gap": "trace.py",
    "episode": "episodes.py",
    "moment": "moments.py",
    "pattern pattern_version edge": "patterns.py",
    "intention intention_version": "intentions.py",
    "service decision cursor": "services.py",
    "health_event": "health.py",
    "view": "views.py",
    "node alias relation": "graph.py",
    "fact fact_version fact_support": "facts.py",
    "correction correction_version correction_effect": "corrections.py",
    "procedure procedure_version": "procedures.py",
    "standing standing_event": "standing.py",
    "wish feedback power_event": "patience.py",
    "keyframe_look": "looks.py",
}
# A window comes in one piece, the looks of its frames with it.
GUESTS = {("trace.py", "keyframe_look")}
# What goes across all strata by its nature, each with what it is.
ACROSS = {
    "migrations": "the schema", "steps/": "the schema", "erase": "taking rows away for good", "rewind": "taking back an end",
    "merge": "taking another memory in", "retention": "tiers and budgets", "index": "what searches read",
}  # fmt: skip


def texts(path: Path) -> list[str]:
    """The strings of a module that are not its documentation, parts of f-strings among them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    told = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told
    ]


@pytest.mark.parametrize("package", ["edge", "models", "firmware_bridge"])
def test_no_sql_outside_storage(package: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}: {text[:60]}"
        for path in (ROOT / package).rglob("*.py")
        for text in texts(path)
        if SQL.search(text)
    ]
    assert found == []


def test_this_test_would_see_it() -> None:
    for text in (
        "SELECT id FROM window",
        "INSERT OR IGNORE INTO pin VALUES",
        "PRAGMA user_version",
        "UPDATE window SET a = 1",
    ):
        assert SQL.search(text)
    assert not SQL.search("Select a file from the list.")
    assert WRITES.findall("INSERT INTO episode(id)") == ["episode"]


def test_each_stratum_is_written_by_its_own_file() -> None:
    home = {table: file for tables, file in HOMES.items() for table in tables.split()}
    wrong = []
    for path in sorted((ROOT / "storage").rglob("*.py")):
        name = path.relative_to(ROOT / "storage").as_posix()
        if any(name.startswith(part) for part in ACROSS):
            continue
        for text in texts(path):
            wrong += [
                f"{name} writes {t}"
                for t in WRITES.findall(text)
                if t in home and home[t] != name and (name, t) not in GUESTS
            ]
    assert wrong == []


def test_every_file_named_here_is_there() -> None:
    for file in HOMES.values():
        assert (ROOT / "storage" / file).is_file()
