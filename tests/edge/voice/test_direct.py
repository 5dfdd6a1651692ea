from __future__ import annotations

import numpy as np

from edge.voice.direct import Direct

RATE = 16_000
SAID = np.convolve(np.random.default_rng(1).normal(size=4 * RATE), np.hanning(7), "same").astype(np.float32) * 0.1
PERSON = np.convolve(np.random.default_rng(2).normal(size=4 * RATE), np.hanning(7), "same").astype(np.float32) * 0.1


def said(place: int, count: int) -> np.ndarray:
    at = np.arange(place, place + count)
    return np.where((at >= 0) & (at < len(SAID)), SAID[np.clip(at, 0, len(SAID) - 1)], 0).astype(np.float32)


def listen(heard: np.ndarray) -> tuple[list[bool], list[float]]:
    """(whether all was explained, power of what was left) at each step of 16 ms after the first tenth of a second."""
    direct, whole, left = Direct(said, -1600, 14_400), [], []
    for end in range(2048, len(heard), 256):
        rest = direct.step(heard[:end], end, 256)
        whole.append(direct.whole)
        left.append(1.0 if rest is None else float(np.mean(np.square(rest))))
    return whole, left


def test_the_device_alone_is_explained_also_after_a_jump() -> None:
    heard = np.concatenate([said(-500, 2 * RATE) * 0.5, said(2 * RATE - 903, RATE) * 0.5])
    whole, left = listen(heard.astype(np.float32))
    jump = (2 * RATE - 2048) // 256
    assert all(whole[2:jump])
    assert all(whole[jump + 8 :])
    assert max(left[2:jump]) < 1e-6


def test_a_person_is_not_and_is_left_over() -> None:
    heard = said(-500, 3 * RATE) * np.float32(0.5)
    heard[RATE:] += PERSON[RATE : 3 * RATE]
    whole, left = listen(heard)
    begun = (RATE - 2048) // 256
    assert all(whole[2:begun])
    assert not any(whole[begun + 2 :])
    power = float(np.mean(np.square(PERSON)))
    assert abs(np.mean(left[begun + 8 :]) / power - 1) < 0.1
