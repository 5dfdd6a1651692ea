"""One loader for all model tests, so that each engine starts once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from voice_support import calm

import models
from edge.clock import SystemClock
from models.roles import AudioChunk


@pytest.fixture(scope="session")
def loader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[models.Loader]:
    folder = tmp_path_factory.mktemp("models")
    options = models.LoadOptions(mono=SystemClock().mono)
    one = models.Loader(models.Registry(folder / "store", folder / "cache"), options)
    yield one
    one.close()


def _to_16k(chunks: list[AudioChunk]) -> NDArray[np.float32]:
    """Join chunks and bring them to 16 kHz by linear interpolation: plain, but enough to be understood."""
    rate = chunks[0].rate
    sound = np.concatenate([c.pcm for c in chunks]).astype(np.float32) / 32768
    times = np.arange(int(len(sound) * 16_000 / rate)) * rate / 16_000
    return np.interp(times, np.arange(len(sound)), sound).astype(np.float32)


@pytest.fixture(scope="session")
def to_16k() -> Callable[[list[AudioChunk]], NDArray[np.float32]]:
    return _to_16k


@pytest.fixture(scope="session")
def sentence() -> str:
    return "Remember that I parked the blue car on level three. Where did I leave my keys?"


@pytest.fixture(scope="session")
def spoken(loader: models.Loader, sentence: str) -> NDArray[np.float32]:
    """The sentence in the neural voice, 16 kHz, the same in each run."""
    return _to_16k(list(calm(loader).synthesize(sentence)))
