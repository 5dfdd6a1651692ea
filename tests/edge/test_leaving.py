"""A process that ends while a thread is inside an engine ends in order, with its own exit status."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import atexit, threading
import numpy as np
from edge.leaving import leave
from models import VAD, Loader, LoadOptions, Registry
from pathlib import Path
model = Loader(Registry(Path({folder!r}) / "s", Path({folder!r}) / "c"), LoadOptions()).load(VAD).model
sound, inside = np.zeros(16_000 * 65, np.float32), threading.Event()

def listen():
    while True:
        model.speech_spans(sound)
        inside.set()

if {left}:
    threading.Thread(target=listen, daemon=True).start()
    inside.wait()
    threading.Event().wait(0.1)  # it is in the next call
atexit.register(print, "registered")
print("said")
leave(3)
"""


@pytest.mark.parametrize("left", [True, False])
def test_it_ends_with_its_status_whatever_is_left_behind(left: bool, tmp_path: Path) -> None:
    program = PROGRAM.format(folder=str(tmp_path), left=left)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 3, done.stderr
    assert done.stdout.splitlines() == ["said", "registered"]
