from __future__ import annotations

import shutil
from collections.abc import Iterator

import onnxruntime
import pytest

from models import Loader, LoadOptions, Registry
from tools.virtual_audio import VirtualAudio, sound_server


@pytest.fixture(scope="module")
def loader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loader]:
    """The engines of a file of tests; the voice, which draws its noise by chance, says the same in each run."""
    onnxruntime.set_seed(7)
    folder = tmp_path_factory.mktemp("models")
    one = Loader(Registry(folder / "store", folder / "cache"), LoadOptions())
    yield one
    one.close()


@pytest.fixture(scope="module")
def virtual_audio() -> Iterator[VirtualAudio]:
    for program in ("pulseaudio", "pactl", "parec"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: apt-get install pulseaudio pulseaudio-utils")
    pytest.importorskip("pyaudio", reason="PyAudio is not installed: pip install -e '.[audio]'")
    with sound_server() as audio:
        yield audio
