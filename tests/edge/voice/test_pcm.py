from __future__ import annotations

import numpy as np
import pytest

from edge.voice.pcm import blocks, level_db, resample, scale


def tone(hertz: float, rate: int, seconds: float = 1.0) -> np.ndarray:
    return (10_000 * np.sin(2 * np.pi * hertz * np.arange(int(rate * seconds)) / rate)).astype(np.int16)


@pytest.mark.parametrize(
    ("source", "target"), [(22_050, 48_000), (48_000, 16_000), (16_000, 22_050), (44_100, 48_000), (8_000, 44_100)]
)
def test_resampling_keeps_a_tone_and_its_length(source: int, target: int) -> None:
    got = resample(tone(1_000, source), source, target)
    want = tone(1_000, target)
    assert len(got) == target
    inside = slice(target // 20, -target // 20)
    error = got[inside].astype(float) - want[inside]
    assert 20 * np.log10(error.std() / 7_071) < -60


def test_what_the_new_rate_cannot_hold_is_taken_out() -> None:
    got = resample(tone(10_000, 48_000), 48_000, 16_000)
    assert level_db(got[800:-800]) < -55


def test_the_same_rate_and_nothing_pass_through() -> None:
    pcm = tone(440, 16_000)
    assert resample(pcm, 16_000, 16_000) is pcm
    assert len(resample(pcm[:0], 16_000, 48_000)) == 0


def test_a_long_sound_is_resampled_in_blocks_without_seams() -> None:
    got = resample(tone(300, 16_000, 6.0), 16_000, 48_000).astype(float)
    want = tone(300, 48_000, 6.0).astype(float)
    assert np.abs(got - want)[2_400:-2_400].max() < 30


def test_levels_blocks_and_gain() -> None:
    assert level_db(np.zeros(10, np.int16)) == -120
    assert level_db(np.zeros(0, np.int16)) == -120
    assert level_db(np.full(10, -32_768, np.int16)) == pytest.approx(0.0)
    assert [len(block) for block in blocks(np.zeros(25, np.int16), 10)] == [10, 10, 5]
    assert scale(np.array([20_000, -20_000, 10], np.int16), 2.0).tolist() == [32_767, -32_768, 20]
