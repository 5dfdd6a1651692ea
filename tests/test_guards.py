"""What holds for the repository as a whole: names, sizes, bans, documents that follow from the code."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import pkgutil
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tools.gen_docs import PAGES, commands, error_classes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("edge", "models", "firmware_bridge", "storage")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MODULES = sorted(p for package in PRODUCT for p in (ROOT / package).rglob("*.py"))
OWN = [*MODULES, *sorted((ROOT / "tools").rglob("*.py")), *sorted((ROOT / "tests").rglob("*.py"))]

LONGEST = 450
LONGER = {"firmware_bridge/protocol.py": "the whole wire protocol on one page"}


def where(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("name", [*PRODUCT, "tools"])
def test_no_other_distribution_ships_our_names(name: str) -> None:
    """They are common words: a foreign wheel with a package of that name would shadow ours."""
    owners = set(importlib.metadata.packages_distributions().get(name, []))
    assert owners <= {"grove-edge"}, f"uninstall {owners}"
    found = importlib.import_module(name)
    assert ROOT in Path(next(iter(found.__path__))).resolve().parents


def test_the_wheel_holds_the_four_packages_and_nothing_else() -> None:
    assert tuple(PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]) == PRODUCT
    assert "Private :: Do Not Upload" in PROJECT["project"]["classifiers"]
    assert PROJECT["project"]["scripts"] == {"grove-edge": "edge.cli:run"}


@pytest.mark.parametrize("path", MODULES, ids=where)
def test_no_file_grows_past_what_one_can_hold_in_mind(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    limit = 500 if where(path) in LONGER else LONGEST
    assert len(text.splitlines()) <= limit
    if text.strip():
        assert "from __future__ import annotations" in text or path.name == "__init__.py"
        assert ast.get_docstring(ast.parse(text)), "a module says what it is for"


@pytest.mark.parametrize("path", OWN, ids=where)
def test_nothing_is_left_for_later(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if path != Path(__file__):
        assert not re.search(r"\b(TODO|FIXME|XXX)\b|raise NotImplementedError", text)
        assert not re.search(r"""["' (]/(root|home/\w+)/""", text), "no path of somebody's machine"


def test_clocks_are_read_in_one_file() -> None:
    bans = PROJECT["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"]
    assert {"time.time", "time.sleep", "time.monotonic", "datetime.datetime.now", "datetime.datetime.utcnow"} <= set(
        bans
    )
    assert PROJECT["tool"]["ruff"]["lint"]["select"] == ["ALL"]
    assert not {"TID", "TID251"} & set(PROJECT["tool"]["ruff"]["lint"]["ignore"])
    readers = [
        where(p)
        for p in MODULES
        if re.search(r"^\s*(import time\b|from time import)", p.read_text(encoding="utf-8"), re.M)
    ]
    assert readers == ["edge/clock.py"]


def test_drivers_and_engines_have_one_home() -> None:
    homes = {
        r"sqlite3|sqlcipher3|sqlite_vec": "storage/",
        r"onnxruntime|llama_cpp|tflite_runtime|ai_edge_litert|faster_whisper|rapidocr|wordllama|ctranslate2": "models/",
    }
    for names, home in homes.items():
        for path in MODULES:
            if re.search(rf"^\s*(import|from) ({names})\b", path.read_text(encoding="utf-8"), re.M):
                assert where(path).startswith(home), where(path)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_made_from_the_code_is_up_to_date(page: str) -> None:
    assert (ROOT / "docs" / page).read_text(encoding="utf-8") == PAGES[page](), "run python tools/gen_docs.py"


def test_every_command_is_described() -> None:
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    names = []
    for name, command, _ in commands():
        names.append(name)
        assert f"\n## {name}\n" in text
        assert command.help, name
        for parameter in command.params:
            assert getattr(parameter, "help", None), f"{name} {parameter.name}"
    assert len(names) == len(set(names)) > 15


def test_every_error_stands_in_the_documents() -> None:
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    for package in PRODUCT:
        for cls in error_classes(package):
            assert f"| `{cls.code}` |" in text
    assert "|  |" not in text, "each code says what it means"


@pytest.mark.parametrize("package", PRODUCT)
def test_every_public_name_can_be_had(package: str) -> None:
    module = importlib.import_module(package)
    for found in [
        module,
        *(importlib.import_module(m.name) for m in pkgutil.iter_modules(module.__path__, f"{package}.")),
    ]:
        for name in getattr(found, "__all__", ()):
            assert getattr(found, name) is not None, f"{found.__name__}.{name}"


def test_documents_link_to_what_is_there() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{where(page)} -> {target}"
