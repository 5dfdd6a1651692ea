from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

_HERE = Path(__file__).parent


def _load(name: str) -> ModuleType:
    """A helper module beside the tests, which form no package."""
    spec = importlib.util.spec_from_file_location(f"capture_{name}", _HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def media() -> ModuleType:
    """The makers of small videos and sounds (media_files.py)."""
    return _load("media_files")
