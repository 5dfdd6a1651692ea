"""An engine that keeps a diary of its use for its makers is told not to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_engine_writes_about_us(tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    env |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    code = "from models.backends.onnx_session import _engine; _engine(); import faster_whisper, rapidocr"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, check=True, timeout=120)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
