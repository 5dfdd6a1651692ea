"""Every engine the runtime may hold, at work in one process beside a language model in its own: no clash."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# In a process of its own: what the test process has imported already would hide a clash.
ALL = """
    import sys
    from pathlib import Path
    import numpy as np
    import models
    from edge.clock import SystemClock
    from models.backends.llama_model import LlamaModel
    from models.backends.llama_settings import LlamaSettings
    from models.roles import CallOptions, Message
    from tools.tiny_models import make

    folder = Path(sys.argv[1])
    mono = SystemClock().mono
    loader = models.Loader(models.Registry(folder / "store", folder / "cache"), models.LoadOptions(mono=mono))
    files = make(folder, "qwen3vl")
    llm = LlamaModel(files.model, files.mmproj, mono=mono, settings=LlamaSettings(context=2048, batch=256, threads=1))
    schema = {"type": "object", "properties": {"n": {"enum": [1, 2, 3]}}, "required": ["n"]}
    frame = np.random.default_rng(1).integers(0, 255, (240, 320, 3), dtype=np.uint8)
    quiet = np.zeros(16_000, np.float32)
    for turn in range(2):  # the second time nothing is being loaded any more
        assert llm.describe([frame], "?", schema)["n"] in (1, 2, 3)
        loader.load(models.DETECTOR).model.detect(frame)
        loader.load(models.OCR).model.read(frame)
        loader.load(models.VAD).model.speech_spans(quiet)
        loader.load(models.ASR).model.transcribe(quiet)
        loader.load(models.WAKE_WORD).model.feed((quiet * 0).astype(np.int16))
        loader.load(models.SPEAKER_EMBEDDING).model.embed_voice(quiet)
        assert loader.load(models.TEXT_EMBEDDING).model.embed(["a cup"]).shape[0] == 1
        assert sum(c.pcm.size for c in loader.load(models.TTS).model.synthesize("Hello.")) > 1000
        assert llm.complete([Message("user", "?")], schema, CallOptions(max_tokens=30))["n"] in (1, 2, 3)
    assert "llama_cpp" not in sys.modules, "llama.cpp is in the runtime's own process"
    assert llm.health()["restarts"] == 0
    llm.close()
    loader.close()
    print("all at work")
"""


@pytest.mark.skipif(
    any(importlib.util.find_spec(m) is None for m in ("llama_cpp", "gguf")),
    reason="llama-cpp-python and gguf are not installed: see tools/llama.sh",
)
def test_all_engines_work_side_by_side(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(ALL), str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "all at work" in done.stdout
