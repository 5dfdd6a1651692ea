from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
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


@pytest.fixture
def virtual_microphone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """PulseAudio with a null sink `micfeed` behind the default microphone, in a folder of its own."""
    for program in ("pulseaudio", "pactl", "paplay"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: apt-get install pulseaudio pulseaudio-utils")
    pytest.importorskip("pyaudio", reason="PyAudio is not installed: pip install -e '.[audio]'")
    script = _HERE.parents[2] / "tools" / "audio_sinks.sh"
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}

    def sinks(command: str) -> str:
        done = subprocess.run(["sh", script, command], env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    for variable in sinks("start").replace("export", "").split():
        name, _, value = variable.partition("=")
        monkeypatch.setenv(name, value.strip("'"))
    try:
        yield
    finally:
        sinks("stop")
